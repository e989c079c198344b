package endpoint_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// observed are the outcomes that an observer was notified of.
type observed struct {
	mu     sync.Mutex
	begun  int
	all    chan endpoint.Outcome
	viewer []string
}

type observedKey struct{}

func (o *observed) observer(t *testing.T) endpoint.Observer {
	o.all = make(chan endpoint.Outcome, 1000)
	return endpoint.Observer{
		Begin: func(ctx context.Context) context.Context {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.begun++
			return context.WithValue(ctx, observedKey{}, o)
		},
		End: func(ctx context.Context, outcome endpoint.Outcome) {
			if ctx.Value(observedKey{}) != o {
				t.Error("the context of End is not that of Begin")
			}
			o.mu.Lock()
			o.viewer = append(o.viewer, string(endpoint.ViewerOf(ctx).Name))
			o.mu.Unlock()
			o.all <- outcome
		},
	}
}

// next returns the next outcome, as text.
func (o *observed) next(t *testing.T) string {
	t.Helper()
	select {
	case outcome := <-o.all:
		if outcome.Began.IsZero() || outcome.Duration <= 0 && outcome.Code != "USER_NAME_INVALID" && outcome.Code != "BAD_REQUEST" {
			t.Errorf("got %+v, want a beginning and a duration", outcome)
		}
		source := map[endpoint.Source]string{endpoint.Refused: "refused", endpoint.Executed: "executed", endpoint.Shared: "shared"}[outcome.Source]
		return fmt.Sprintf("%s %q %s %s %q %d bytes", outcome.Kind, outcome.Name, outcome.Transport, source, outcome.Code, outcome.Bytes)
	case <-time.After(require.Timeout):
		t.Fatal("an observer was not notified")
		return ""
	}
}

func TestObserversAreNotifiedOfEachOperation(t *testing.T) {
	t.Parallel()
	o := &observed{}
	s := sitetest.Open(t, func(options *endpoint.Options) {
		options.Observers = []endpoint.Observer{{}, o.observer(t), {End: func(context.Context, endpoint.Outcome) {}}}
		options.SharedAnswers = time.Minute
	})
	id := s.Post("alice", "An article")
	if got := o.next(t); !strings.HasPrefix(got, `mutation "" http executed ""`) || o.viewer[0] != "alice" {
		t.Errorf("a post: got %s by %s", got, o.viewer)
	}
	s.StopListening() // the message of the post would end what is shared
	const front = `query Front { articles { title } }`
	for _, each := range []struct {
		send func() string // returns the body of the response
		want string
	}{
		{func() string { return s.AskText("", front) }, `query "Front" http executed ""`},
		{func() string { return s.AskText("", front) }, `query "Front" http shared ""`},
		{func() string { return s.AskText("", `query Wrong { nothing }`) }, ` "" http refused "GRAPHQL_VALIDATION_FAILED"`},
		{func() string { return s.AskText("", `{`) }, ` "" http refused "GRAPHQL_PARSE_FAILED"`},
		{func() string { return s.AskText("", `query Big { articles(pageSize: 101) { id } }`) }, `query "Big" http executed "BAD_USER_INPUT"`},
		{func() string { _, body := s.PostJSON(`[]`); return body }, ` "" http refused "BAD_REQUEST"`},
		{func() string { _, body := s.PostJSON(`{}`, "X-User-ID", "a\u200bb"); return body }, ` "" http refused "USER_NAME_INVALID"`},
		{func() string { _, body := s.Get("mutation M { __typename }"); return body }, `mutation "M" http refused "METHOD_NOT_ALLOWED"`},
		{func() string {
			_, body := s.Send(http.MethodPost, "", `{"query":"query E { __typename }"}`, "Content-Type", "application/json", "Accept", "text/event-stream")
			return strings.Split(strings.Split(body, "data: ")[1], "\n")[0]
		}, `query "E" sse executed ""`},
	} {
		body := each.send()
		if got, want := o.next(t), fmt.Sprintf("%s %d bytes", each.want, len(body)); got != want {
			t.Errorf("got %s, want %s for %s", got, want, body)
		}
	}
	s.Get(front)
	if got := o.next(t); !strings.HasPrefix(got, `query "Front" http shared ""`) {
		t.Errorf("a GET: got %s", got)
	}

	stream := s.Stream(`subscription Posted { articlePosted { node { title } } }`)
	stream.Comment()
	if got, want := o.next(t), `subscription "Posted" sse executed "" 0 bytes`; got != want {
		t.Errorf("an event stream: got %s, want %s", got, want)
	}
	w := s.Socket("")
	for _, each := range []struct{ query, want string }{
		{`subscription Changed { articleChanged(ids: ["` + id + `"]) { title } }`, `subscription "Changed" websocket executed "" 0 bytes`},
		{`subscription Wrong { articleChanged(ids: ["?"]) { title } }`, `subscription "Wrong" websocket refused "BAD_USER_INPUT" 0 bytes`},
		{`{ __typename }`, `query "" websocket executed "" 31 bytes`},
		{`{ nothing }`, ` "" websocket refused "GRAPHQL_VALIDATION_FAILED" 0 bytes`},
	} {
		w.Subscribe("op", each.query, "")
		if got := o.next(t); got != each.want {
			t.Errorf("%s: got %s, want %s", each.query, got, each.want)
		}
		w.Send(`{"type":"complete","id":"op"}`)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) > 0 || o.begun != len(o.viewer) {
		t.Errorf("got %d beginnings and %d ends, want as many", o.begun, len(o.viewer))
	}
}
