package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/endpoint/plan"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/tests/require"
)

// blocking serves a schema whose queries named Slow run until the test lets them end, until their context ends, or, if
// named Panic, until they panic. Documents with a query named Long take until then to be read.
type blocking struct {
	t       *testing.T
	handler http.Handler
	reading atomic.Int64 // how many documents with a query named Long were begun to be read
	end     chan struct{}
	wait    sync.WaitGroup
}

func newBlocking(t *testing.T, slots int, timeout time.Duration) *blocking {
	t.Helper()
	o := endpoint.DefaultOptions()
	o.MaxConcurrent, o.Timeout = slots, timeout
	o.Identity = require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
	b := &blocking{t: t, end: make(chan struct{})}
	b.handler = endpoint.New(endpoint.Schema{
		ExecutableSchema: graph.NewExecutableSchema(graph.Config{}),
		Compile: func(operation *ast.OperationDefinition, _ ast.FragmentDefinitionList) endpoint.Executable {
			if operation.Name == "Long" {
				b.reading.Add(1)
				<-b.end
			}
			return endpoint.Executable{Execute: func(ctx context.Context, _ plan.Request) *graphql.Response {
				switch operation.Name {
				case "Slow":
					select {
					case <-b.end:
					case <-ctx.Done():
					}
				case "Panic":
					panic(errors.New("a panic"))
				}
				return &graphql.Response{Data: []byte("null")}
			}}
		},
	}, nil, slog.New(slog.DiscardHandler), o)
	return b
}

// ask sends a document and returns the response once it is there, or the test's bubble is idle.
func (b *blocking) ask(ctx context.Context, document string) asked {
	b.t.Helper()
	res := asked{httptest.NewRecorder(), make(chan struct{})}
	res.Code = 0
	req := post(`{"query":"`+document+`"}`, "alice").WithContext(ctx)
	b.wait.Go(func() {
		defer close(res.done)
		b.handler.ServeHTTP(res, req)
	})
	synctest.Wait()
	return res
}

// asked is a response that may not be there yet.
type asked struct {
	*httptest.ResponseRecorder
	done chan struct{}
}

func (a asked) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

const (
	slowQuery    = `query Slow { articles { id } }`
	slowMutation = `mutation Slow { vote(input: {article: 1}) { changed } }`
	quickQuery   = `query Quick { articles { id } }`
)

// Beyond the bound, operations wait for half a second and are then refused. Mutations have a share of their own.
func TestOperationsBeyondTheBoundAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(t, 4, 5*time.Second)
		for range 3 {
			b.ask(t.Context(), slowQuery)
		}
		waiting, unknown := b.ask(t.Context(), quickQuery), b.ask(t.Context(), `query Unknown { articles { number } }`)
		vote := b.ask(t.Context(), `mutation Vote { vote(input: {article: 1}) { changed } }`)
		if vote.Code != 200 {
			t.Errorf("got %d %s for a mutation while queries wait, want 200", vote.Code, vote.Body)
		}
		if waiting.isDone() {
			t.Errorf("got %s, want it to wait", waiting.Body)
		}
		<-time.After(time.Second) // of the bubble
		synctest.Wait()
		for _, res := range []asked{waiting, unknown} {
			const want = `{"errors":[{"message":"the server is busy: try again","extensions":{"code":"UNAVAILABLE","retryAfterSeconds":1}}]}`
			if res.Code != 503 || res.Body.String() != want || res.Header().Get("Retry-After") != "1" || res.Header().Get("Content-Type") != typeJSON {
				t.Errorf("got %d %v %s, want 503 with Retry-After and %s", res.Code, res.Header(), res.Body, want)
			}
		}
		close(b.end)
		b.wait.Wait()
		if again := b.ask(t.Context(), quickQuery); again.Code != 200 {
			t.Errorf("got %d %s afterwards, want 200", again.Code, again.Body)
		}
		b.wait.Wait()
	})
}

// Unknown documents are read in turns, on half of the CPUs: known ones find another one.
func TestUnknownDocumentsAreReadInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(t, 4, 5*time.Second)
		b.ask(t.Context(), quickQuery)
		atOnce := max(1, runtime.GOMAXPROCS(0)/2)
		all := make([]asked, atOnce+2)
		for i := range all {
			all[i] = b.ask(t.Context(), fmt.Sprintf(`query Long { articles(page: %d) { id } }`, i+1))
		}
		if got := b.reading.Load(); got != int64(atOnce) {
			t.Errorf("%d documents are read at one time, want %d", got, atOnce)
		}
		if res := b.ask(t.Context(), quickQuery); res.Code != 200 {
			t.Errorf("got %d %s for a known document, want 200 at once", res.Code, res.Body)
		}
		close(b.end)
		b.wait.Wait()
		for _, res := range all {
			if res.Code != 200 {
				t.Errorf("got %d %s, want 200 in the end", res.Code, res.Body)
			}
		}
	})
}

// Whatever ends an operation, its slot is free afterwards.
func TestEveryEndOfAnOperationFreesItsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(t, 1, time.Second)
		for range 3 {
			if res := b.ask(t.Context(), `query Panic { articles { id } }`); res.Code != 500 {
				t.Errorf("got %d %s after a panic, want 500", res.Code, res.Body)
			}
			ctx, cancel := context.WithCancel(t.Context())
			b.ask(ctx, slowQuery)
			left := b.ask(ctx, quickQuery) // waits for the slot
			cancel()
			synctest.Wait()
			if left.Code != 503 || !strings.Contains(left.Body.String(), "cancelled") {
				t.Errorf("got %d %s after a wait that was cancelled, want 503", left.Code, left.Body)
			}
			b.ask(t.Context(), slowMutation)
			<-time.After(2 * time.Second) // of the bubble: it is cut off
			if res := b.ask(t.Context(), quickQuery); res.Code != 200 {
				t.Errorf("got %d %s, want 200: the slot is free", res.Code, res.Body)
			}
		}
		b.wait.Wait()
	})
}

// What is refused because too many wait is not parsed.
func TestRefusalsBeyondTheQueueDoNotParse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(t, 1, 5*time.Second)
		b.ask(t.Context(), slowQuery)
		for range 32 {
			b.ask(t.Context(), quickQuery)
		}
		var beyond []asked
		for _, document := range []string{`query Unseen { articles { title } }`, `not even a document`} {
			beyond = append(beyond, b.ask(t.Context(), document))
		}
		invalidMutation := b.ask(t.Context(), `mutation { nothing }`)
		if invalidMutation.Code != 200 || !strings.Contains(invalidMutation.Body.String(), "GRAPHQL_VALIDATION_FAILED") {
			t.Errorf("got %d %s for a mutation, which has a queue of its own", invalidMutation.Code, invalidMutation.Body)
		}
		<-time.After(time.Second)
		synctest.Wait()
		for _, res := range beyond {
			if res.Code != 503 || !strings.Contains(res.Body.String(), "UNAVAILABLE") {
				t.Errorf("got %d %s, want 503", res.Code, res.Body)
			}
		}
		close(b.end)
		b.wait.Wait()
	})
}

// Operations over WebSocket and as event streams are bounded as well.
func TestOperationsOfStreamsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(t, 1, 5*time.Second)
		b.ask(t.Context(), slowQuery)
		res := httptest.NewRecorder()
		req := post(`{"query":"`+quickQuery+`"}`, "alice")
		req.Header.Set("Accept", "text/event-stream")
		b.wait.Go(func() { b.handler.ServeHTTP(deadlines{res}, req) })
		<-time.After(time.Second)
		synctest.Wait()
		if body, _ := io.ReadAll(res.Body); !strings.Contains(string(body), "UNAVAILABLE") {
			t.Errorf("got %s, want the refusal as an event", body)
		}
		close(b.end)
		b.wait.Wait()
	})
}

// deadlines is a ResponseWriter of an event stream.
type deadlines struct{ *httptest.ResponseRecorder }

func (deadlines) SetReadDeadline(time.Time) error  { return nil }
func (deadlines) SetWriteDeadline(time.Time) error { return nil }
