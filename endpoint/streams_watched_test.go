package endpoint_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// subscribeTo subscribes to articles that need not exist, and returns the code of the refusal, or "".
func subscribeTo(t *testing.T, w *sitetest.Socket, id, fields string, articles int) string {
	t.Helper()
	var ids []string
	for i := range articles {
		ids = append(ids, fmt.Sprint(i+1))
	}
	w.Subscribe(id, `subscription($ids: [ID!]!) { articleChanged(ids: $ids) { `+fields+` } }`, `{"ids":[`+strings.Join(ids, ",")+`]}`)
	w.Subscribe(id+" begun", `{ __typename }`, "") // operations begin one after another
	byID := w.Until(sitetest.Finished(id + " begun"))
	if len(byID[id]) == 0 {
		return ""
	}
	var errs []sitetest.Error
	if err := json.Unmarshal(byID[id][0].Payload, &errs); err != nil || byID[id][0].Type != "error" {
		t.Fatalf("%s: got %v, want no message or an error", id, byID[id])
	}
	return errs[0].Extensions.Code
}

func TestWatchedArticlesAreLimited(t *testing.T) {
	t.Parallel()
	const code = "WATCH_LIMIT_EXCEEDED"
	for owner, set := range map[string]func(*endpoint.StreamLimits){
		"this server":  func(l *endpoint.StreamLimits) { l.Watched = 50 },
		"your address": func(l *endpoint.StreamLimits) { l.WatchedPerAddress = 50 },
		"bob":          func(l *endpoint.StreamLimits) { l.WatchedPerViewer = 50 },
	} {
		t.Run(owner, func(t *testing.T) {
			t.Parallel()
			s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { set(&o.Streams) })
			first, second := s.Socket("", "X-User-ID", "bob"), s.Socket("", "X-User-ID", "bob")
			if got := subscribeTo(t, first, "a", "id", 40); got != "" {
				t.Errorf("40 of 50: got %s, want a subscription", got)
			}
			if got := subscribeTo(t, second, "b", "id", 11); got != code {
				t.Errorf("51 of 50: got %q, want %s", got, code)
			}
			if got := subscribeTo(t, second, "c", "id", 10); got != "" {
				t.Errorf("50 of 50: got %s, want a subscription", got)
			}
			res, body := s.Get(`subscription { articleChanged(ids: ["1"]) { id } }`, "Accept", "text/event-stream", "X-User-ID", "bob")
			var a sitetest.Answer
			if err := json.Unmarshal([]byte(body), &a); err != nil || res.StatusCode != 429 || len(a.Errors) != 1 || a.Errors[0].Extensions.Code != code ||
				a.Errors[0].Extensions.Asked != 51 || a.Errors[0].Extensions.Allowed != 50 || !strings.Contains(a.Errors[0].Message, owner) {
				t.Errorf("an event stream: got %d %s, want 429 %s for %s", res.StatusCode, body, code, owner)
			}
			if _, body := s.PostJSON(`{"query":"{ __typename }"}`); body != `{"data":{"__typename":"Query"}}` {
				t.Errorf("a query: got %s, want an answer", body)
			}
			if log := s.Log.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
				t.Errorf("got the log %s, want no line about a refusal", log)
			}
			// What has ended makes room.
			first.Send(`{"type":"complete","id":"a"}`)
			if got := subscribeTo(t, first, "d", "id", 40); got != "" {
				t.Errorf("after a subscription was completed: got %s, want a subscription", got)
			}
			_ = second.Conn.CloseNow()
			sitetest.Eventually(t, "an event stream replaces the subscription of a closed socket", func() bool {
				e := s.Stream(`subscription { articleChanged(ids: ["1"]) { id } }`, "X-User-ID", "bob")
				defer e.Cancel()
				return e.Res.StatusCode == 200
			})
			sitetest.Eventually(t, "a subscription replaces the cancelled event streams", func() bool {
				return subscribeTo(t, s.Socket("", "X-User-ID", "bob"), "e", "id", 10) == ""
			})
		})
	}
}

func TestMemoryOfSubscriptionsIsLimited(t *testing.T) {
	t.Parallel()
	const code = "WATCH_LIMIT_EXCEEDED"
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Streams.Memory = 5 * 100_000 })
	w := s.Socket("")
	for i := range 10 { // they share a document
		if got := subscribeTo(t, w, fmt.Sprint("same", i), "id", 1); got != "" {
			t.Errorf("the same document, %d: got %s, want a subscription", i, got)
		}
	}
	refused := 0
	for i := range 10 {
		if got := subscribeTo(t, w, fmt.Sprint("other", i), fmt.Sprintf("a%d: id", i)+strings.Repeat(" title", 100), 1); got == code {
			refused++
		} else if got != "" {
			t.Errorf("another document, %d: got %s, want a subscription or %s", i, got, code)
		}
	}
	if refused == 0 || refused == 10 {
		t.Errorf("of 10 different documents: got %d refused, want some", refused)
	}
	_ = w.Conn.CloseNow()
}

func TestSubscriptionIsChargedForItsArticles(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Limits.Cost = 100 })
	w := s.Socket("")
	if got := subscribeTo(t, w, "a", "id title votes", 25); got != "" {
		t.Errorf("25 articles of 3 fields: got %s, want a subscription for 100 points", got)
	}
	if got := subscribeTo(t, w, "b", "id title votes", 26); got != "COMPLEXITY_LIMIT_EXCEEDED" {
		t.Errorf("26 articles of 3 fields: got %q, want COMPLEXITY_LIMIT_EXCEEDED", got)
	}
}

// Sockets without subscriptions take memory, too.
func TestMemoryOfSocketsIsLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Streams.Memory = 5 * 10_000 })
	first := s.Socket("")
	_ = s.Socket("")
	if _, status, code := tryOpen(s); status != 429 || code != "WATCH_LIMIT_EXCEEDED" {
		t.Errorf("a third socket: got %d %s, want 429 WATCH_LIMIT_EXCEEDED", status, code)
	}
	_ = first.Conn.CloseNow()
	sitetest.Eventually(t, "another socket replaces the closed one", func() bool {
		_, status, _ := tryOpen(s)
		return status == 101
	})
}
