package endpoint_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// sharing shares answers for so long that only a change ends it.
func sharing(o *endpoint.Options) { o.SharedAnswers = time.Hour }

const frontPage = `{ articles { id title votes poster { name } } }`

// However many callers ask, over either transport, equal queries are executed once until something changes.
func TestEqualQueriesAreExecutedOnce(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sharing)
	s.PostMany("alice", 25)
	s.StopListening()
	sockets := []*sitetest.Socket{s.Socket(""), s.Socket(`{"X-User-ID":"bob"}`)}
	ask := func(want string, requests ...string) {
		t.Helper()
		s.Trips.Reset()
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				_, body := s.PostJSON(requests[i%len(requests)], "X-User-ID", []string{"alice", "bob", "carol"}[i%3])
				if !strings.HasPrefix(body, `{"data":`) {
					t.Errorf("got %s, want data", body)
				}
			})
		}
		all.Wait()
		for i, socket := range sockets {
			socket.Send(fmt.Sprintf(`{"type":"subscribe","id":"%d","payload":%s}`, i, requests[0]))
			if m := socket.Read(); m.Type != "next" || !strings.HasPrefix(string(m.Payload), `{"data":`) {
				t.Errorf("on a socket: got %v, want data", m)
			}
			socket.Want("complete", fmt.Sprint(i), "")
		}
		if _, commands := s.Trips.Read(); sitetest.Tally(commands) != want {
			t.Errorf("%v: got %s, want %s", requests, sitetest.Tally(commands), want)
		}
	}
	query := func(text string) string { return fmt.Sprintf(`{"query":%q}`, text) }
	ask("hgetall 25, zrange 1", query(frontPage))
	ask("", query(frontPage), query(`{ __typename user(name: "bob") { name } __schema { queryType { name } } }`))
	ask("hgetall 2", query(`{ article(id: 1) { id } }`), query(`{ article(id: 1) { title } }`))
	const named = `{"query":"query A { article(id: 2) { id } } query B { article(id: 2) { title } }","operationName":"%s"}`
	ask("hgetall 2", fmt.Sprintf(named, "A"), fmt.Sprintf(named, "B"))
	const varied = `{"query":"query($id: ID!) { article(id: $id) { id } }","variables":{"id":%s}}`
	ask("hgetall 4", fmt.Sprintf(varied, `"4"`), fmt.Sprintf(varied, `"5"`), fmt.Sprintf(varied, `4`), fmt.Sprintf(varied, `"6"`))
	s.Vote("bob", "article:3", "UP")
	ask("hgetall 25, zrange 1", query(frontPage))
}

// A query with a field that depends on the caller is executed for each, and an answer of one never reaches another.
func TestAnswersForOneCallerAreNotShared(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sharing, sitetest.WithRates(endpoint.Rates{
		Cost: endpoint.Rate{Most: 1000, Window: time.Hour}, Addresses: 1000,
	}))
	s.Post("alice", "t")
	queries := map[string]func(user string) string{
		`{ viewer { name } }`: func(user string) string { return fmt.Sprintf(`{"data":{"viewer":{"name":%q}}}`, user) },
		`{ article(id: 1) { ...own } } fragment own on Article { viewerVote }`: func(user string) string {
			return fmt.Sprintf(`{"data":{"article":{"viewerVote":%q}}}`, map[string]string{"alice": "UP", "bob": "NONE", "mod": "NONE"}[user])
		},
		`query($with: Boolean = true) { __typename viewer @include(if: $with) { name } }`: func(user string) string {
			return fmt.Sprintf(`{"data":{"__typename":"Query","viewer":{"name":%q}}}`, user)
		},
	}
	var all sync.WaitGroup
	for i := range 90 {
		user := []string{"alice", "bob", "mod"}[i%3]
		all.Go(func() {
			for query, want := range queries {
				body := ""
				for body == "" || strings.Contains(body, `"UNAVAILABLE"`) { // a busy machine refuses some of so many at once
					_, body = s.PostJSON(fmt.Sprintf(`{"query":%q}`, query), "X-User-ID", user)
				}
				if body != want(user) {
					t.Errorf("%s by %s: got %s, want %s", query, user, body, want(user))
				}
			}
		})
	}
	all.Wait()
	// Two queries cost different amounts of the quotas of two users.
	const quota = `{"query":"{ rateLimit { cost remaining } }"}`
	_, alice := s.PostJSON(quota, "X-User-ID", "alice")
	_, again := s.PostJSON(quota, "X-User-ID", "alice")
	if _, fresh := s.PostJSON(quota, "X-User-ID", "dave"); alice == again || fresh == again {
		t.Errorf("rateLimit: got %s, then %s, and %s for another user, want three different answers", alice, again, fresh)
	}
	const log = `{"query":"{ moderationLog { nodes { by } } }"}`
	if _, body := s.PostJSON(log, "X-User-ID", "mod", "X-User-Roles", "moderator"); body != `{"data":{"moderationLog":{"nodes":[]}}}` {
		t.Errorf("the log for a moderator: got %s", body)
	}
	if _, body := s.PostJSON(log, "X-User-ID", "bob"); sitetest.CodeOf(t, body) != "FORBIDDEN" {
		t.Errorf("the log for another user: got %s, want FORBIDDEN", body)
	}
}

// Each caller is charged, and refused by its own quota, also for an answer that is there already.
func TestSharedAnswersAreChargedAndLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sharing, sitetest.WithRates(endpoint.Rates{
		Cost: endpoint.Rate{Most: 60, Window: time.Hour}, Addresses: 1000,
	}))
	const query = `{"query":"{ articles(pageSize: 9) { id } }"}` // 19 points or fewer
	for _, user := range []string{"alice", "bob"} {
		for i, status := range []int{200, 200, 200, 429} {
			res, body := s.PostJSON(query, "X-User-ID", user)
			if res.StatusCode != status || res.Header.Get("RateLimit") == "" {
				t.Errorf("%s, request %d: got %d %q %s, want %d and the quota", user, i+1, res.StatusCode, res.Header.Get("RateLimit"), body, status)
			}
		}
	}
}

// hold is a hook that holds back each pipeline that begins with a command until the test decides what becomes of it.
type hold struct {
	name  string
	began chan context.Context // of a pipeline that is held
	end   chan error           // nil: it is sent
}

func (h *hold) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	if commands[0].Name() != h.name {
		return send(ctx, commands)
	}
	h.began <- ctx
	var err error
	select {
	case err = <-h.end:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return send(ctx, commands)
	}
	return redistest.Fail(err, commands)
}

// A failure is not kept, and neither is what a caller left behind who did not wait for the end.
func TestFailuresAndAbandonedQueriesAreNotShared(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sharing)
	s.Post("alice", "t")
	const query = `{"query":"{ article(id: 1) { title } }"}`
	h := &hold{"hgetall", make(chan context.Context, 100), make(chan error)}
	s.Client.AddHook(redistest.Hook(h.hook))
	answers := make(chan string)
	ask := func() {
		_, body := s.PostJSON(query)
		answers <- body
	}
	go ask()
	<-h.began
	h.end <- io.EOF
	if body := <-answers; sitetest.CodeOf(t, body) != "UNAVAILABLE" {
		t.Errorf("got %s, want UNAVAILABLE", body)
	}

	ctx, leave := context.WithCancel(t.Context())
	req := require.Value(http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(query)))(t)
	req.Header.Set("Content-Type", "application/json")
	left := make(chan error)
	go func() {
		res, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			_ = res.Body.Close()
		}
		left <- err
	}()
	alone := <-h.began
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v for a caller that left, want that it left", err)
	}
	<-alone.Done() // the query of the only caller ends with it

	for range 20 {
		go ask()
	}
	for done := 0; done < 20; {
		select {
		case <-h.began:
			h.end <- nil
		case body := <-answers:
			done++
			if body != `{"data":{"article":{"title":"t"}}}` {
				t.Errorf("got %s, want the title", body)
			}
		}
	}
}

// What a caller gets is what its own media type, transport and compression ask for.
func TestSharedAnswersHaveTheFormThatEachCallerAccepts(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sharing)
	s.PostMany("alice", 25)
	_, plain := s.Get(frontPage)
	if len(plain) < 1024 {
		t.Fatalf("got %s, want a page", plain)
	}
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			media := []string{"application/json", "application/graphql-response+json"}[i%2]
			coding := []string{"identity", "gzip", "zstd"}[i/2%3]
			res, body := s.Get(frontPage, "Accept", media, "Accept-Encoding", coding)
			read := []byte(body)
			switch coding {
			case "gzip":
				read = require.Value(io.ReadAll(require.Value(gzip.NewReader(strings.NewReader(body)))(t)))(t)
			case "zstd":
				read = require.Value(io.ReadAll(require.Value(zstd.NewReader(strings.NewReader(body)))(t)))(t)
			}
			got := res.Header
			if string(read) != plain || got.Get("Content-Encoding") != strings.TrimPrefix(coding, "identity") || got.Get("Content-Type") != media+"; charset=utf-8" ||
				got.Get("Content-Length") != fmt.Sprint(len(body)) || coding != "identity" && len(body) > len(plain)/2 {
				t.Errorf("%s, %q: got %v and %d of %d bytes", media, coding, got, len(body), len(plain))
			}
		})
	}
	all.Wait()
	events := s.Stream(frontPage)
	events.Comment()
	events.Want("next", plain)
}
