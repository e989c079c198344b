package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func pointsOf(most int) func(*endpoint.Options) {
	return sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: most, Window: time.Minute}, Addresses: 10})
}

var rateHeader = regexp.MustCompile(`^"cost";r=(\d+);t=(\d+), "cost-address";r=(\d+);t=(\d+)$`)

// left parses the header RateLimit: the points that the user and the address have left, and the seconds until
// both are reset.
func left(t *testing.T, header http.Header) (user, address, seconds int) {
	t.Helper()
	m := rateHeader.FindStringSubmatch(header.Get("RateLimit"))
	if m == nil {
		t.Fatalf("got RateLimit %q, want it to match %s", header.Get("RateLimit"), rateHeader)
	}
	numbers := make([]int, len(m))
	for i, text := range m[1:] {
		numbers[i+1], _ = strconv.Atoi(text)
	}
	return numbers[1], numbers[3], max(numbers[2], numbers[4])
}

func TestComplexityPointsAreLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, pointsOf(20))
	const policy = `"cost";q=20;w=60, "cost-address";q=200;w=60`
	const query = `{ rateLimit { limit cost remaining } viewer { name } }` // 1 + 3, and 1 + 1
	bob := []string{"X-User-ID", "bob"}
	for i := 1; i <= 3; i++ {
		res, body := s.Get(query, bob...)
		want := fmt.Sprintf(`{"data":{"rateLimit":{"limit":20,"cost":6,"remaining":%d},"viewer":{"name":"bob"}}}`, 20-6*i)
		user, address, seconds := left(t, res.Header)
		if body != want || res.Header.Get("RateLimit-Policy") != policy || user != 20-6*i || address != 200-6*i || seconds < 1 || seconds > 60 || res.Header.Get("Retry-After") != "" {
			t.Errorf("got %s %v\nwant %s", body, res.Header, want)
		}
	}
	// Only 2 points are left: each of these operations costs more. Refused operations cost nothing.
	for name, send := range map[string]func(header ...string) (*http.Response, string){
		"GET": func(header ...string) (*http.Response, string) { return s.Get(query, append(header, bob...)...) },
		"HEAD": func(header ...string) (*http.Response, string) {
			return s.Send(http.MethodHead, "?query="+url.QueryEscape(query), "", append(header, bob...)...)
		},
		"POST": func(header ...string) (*http.Response, string) {
			return s.PostJSON(`{"query":"`+query+`"}`, append(header, bob...)...)
		},
		"mutation": func(header ...string) (*http.Response, string) {
			return s.PostJSON(`{"query":"mutation { vote(input: {article: 1}) { changed previous userErrors { code } } }"}`, append(header, bob...)...)
		},
		"subscription": func(header ...string) (*http.Response, string) {
			return s.Get(`subscription { articlePosted { node { id title score } } }`, append(header, "Accept", "text/event-stream", "X-User-ID", "bob")...)
		},
	} {
		for _, accept := range []string{"application/json", "application/graphql-response+json", "text/event-stream"} {
			res, body := send("Accept", accept)
			wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
			user, address, seconds := left(t, res.Header)
			if res.StatusCode != 429 || err != nil || wait < 1 || wait > 60 || user != 2 || address != 182 || seconds < wait || res.Header.Get("RateLimit-Policy") != policy {
				t.Errorf("%s as %s: got %d %v, want 429 and what is left", name, accept, res.StatusCode, res.Header)
			}
			want := fmt.Sprintf(`{"errors":[{"message":"rate limit exceeded: try again in %d s","extensions":{"code":"RATE_LIMITED"}}]}`, wait)
			if name != "HEAD" && body != want || strings.Contains(res.Header.Get("Content-Type"), "event") {
				t.Errorf("%s as %s: got %s %s\nwant %s", name, accept, res.Header.Get("Content-Type"), body, want)
			}
		}
	}
	if res, body := s.Get(`{ viewer { name } }`, bob...); res.StatusCode != 200 || body != `{"data":{"viewer":{"name":"bob"}}}` {
		t.Errorf("an operation of 2 points: got %d %s, want 200", res.StatusCode, body)
	}
	if res, body := s.Get(query, "X-User-ID", "carol"); res.StatusCode != 200 {
		t.Errorf("another user: got %d %s, want 200", res.StatusCode, body)
	}
	res, body := s.Get(query)
	if want := `{"data":{"rateLimit":{"limit":200,"cost":6,"remaining":168},"viewer":null}}`; body != want || !strings.HasPrefix(res.Header.Get("RateLimit"), `"cost-address";r=168;t=`) {
		t.Errorf("anonymous: got %s %q, want %s", body, res.Header.Get("RateLimit"), want)
	}
}

// resetAt is the end of the window, rounded up to a second: a client that waits for it does not come too early.
func TestResetAtMatchesTheEndOfTheWindow(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), pointsOf(2000))
	for range 10 { // at different fractions of a second
		a := s.Ask("bob", `{ rateLimit { resetAt } }`)
		asked := time.Now()
		resets := asked.Add(client.PTTL(t.Context(), "rate:cost:user:bob").Val())
		shown, err := time.Parse(time.RFC3339, a.Data["rateLimit"].(map[string]any)["resetAt"].(string))
		if err != nil || shown.Before(resets.Add(-10*time.Millisecond)) || shown.After(resets.Add(1100*time.Millisecond)) {
			t.Errorf("got resetAt %v, %v, want at most a second after %v", shown, err, resets)
		}
	}
}

func TestComplexityPointsAreLimitedOnASocket(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	sitetest.Import(t, client, "poster", 1)
	s := sitetest.New(t, client, site.DefaultRules(), pointsOf(8))
	const id = "article:1"
	w := s.Socket(`{"X-User-ID":"bob"}`)
	w.Subscribe("watch", `subscription { articleChanged(ids: [1]) { votes } }`, "") // 2
	w.Subscribe("a", `{ rateLimit { cost remaining } }`, "")                        // 3
	if f := w.Read(); f.Type != "next" || f.ID != "a" || !strings.Contains(string(f.Payload), `{"data":{"rateLimit":{"cost":3,"remaining":`) {
		t.Errorf("got %s %s %s, want the cost of the query", f.Type, f.ID, f.Payload)
	}
	w.Want("complete", "a", "")
	for began := time.Now(); sitetest.RateCount(t, client, "cost:user:bob") != 5; { // both are charged, in either order
		if time.Since(began) > require.Timeout {
			t.Fatal("the two operations were not charged")
		}
	}
	for _, query := range []string{`{ a: rateLimit { cost } b: rateLimit { cost } }`, `mutation { vote(input: {article: 1}) { changed previous userErrors { code } } }`, `subscription { articlePosted { node { id title text } } }`} {
		w.Subscribe("b", query, "")
		f := w.Read()
		var wait int
		if _, err := fmt.Sscanf(string(f.Payload), `[{"message":"rate limit exceeded: try again in %d s","extensions":{"code":"RATE_LIMITED"}}]`, &wait); f.Type != "error" || f.ID != "b" || err != nil || wait < 1 || wait > 60 {
			t.Errorf("%s: got %s %s %s, want RATE_LIMITED", query, f.Type, f.ID, f.Payload)
		}
	}
	// The socket and its subscription stay open: events cost nothing.
	for i := range 3 {
		s.Vote(fmt.Sprint("voter ", i), id, "UP")
	}
	w.ReadVotes("watch", 4)
	w.Send(`{"type":"ping"}`)
	w.Want("pong", "", "")
	s.Want("", `{ article(id: 1) { votes } }`, `{"article": {"votes": 4}}`)
}

func TestRequestsWithoutDocumentCostNothing(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 1000, Window: time.Minute}, Addresses: 10}))
	for _, refused := range [][]string{
		{http.MethodGet, "", ""}, {http.MethodPut, "", ""}, {http.MethodPost, "", "not JSON"}, {http.MethodPost, "", `{"query":5}`}, {http.MethodOptions, "", ""},
		{http.MethodGet, "?extensions=" + url.QueryEscape(`{"persistedQuery":{"version":1,"sha256Hash":"`+strings.Repeat("0", 64)+`"}}`), ""},
	} {
		if res, body := s.Send(refused[0], refused[1], refused[2], "X-User-ID", "bob", "Content-Type", "application/json"); res.Header.Get("RateLimit") != "" {
			t.Errorf("%v: got %s %v, want no RateLimit", refused, body, res.Header)
		}
	}
	s.Get(whoAmI, "X-User-ID", strings.Repeat("u", 65))
	if keys := sitetest.RateKeys(t, client); len(keys) > 0 {
		t.Errorf("got the counters %v, want none", keys)
	}
}

// A document that is refused costs what reading it takes, over each transport, and counts as no vote.
func TestRefusedDocumentsCostTheirTokensAndBytes(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{
		Cost: endpoint.Rate{Most: 5000, Window: time.Minute}, Votes: endpoint.Rate{Most: 10, Window: time.Minute}, Addresses: 10}))
	for i, tt := range []struct {
		query string
		cost  int
	}{
		{`{ viewer {`, 1},
		{`{ nothing }`, 1},
		{`{` + strings.Repeat(" a", 98) + `}`, 11},
		{`{` + strings.Repeat("a", 5000) + `}`, 1 + 5},          // 3 tokens
		{`{` + strings.Repeat(" ...f", 370) + `}`, 1 + 148 + 1}, // a spread has 4 signs
		{`{` + strings.Repeat(" a", 2000) + `}`, 1 + 150 + 4},   // no more than the limit of tokens is read
		{`{ articles(pageSize: 100) { groups { articles(pageSize: 100) { groups { name } } } } }`, 1 + 2},
		{`mutation { vote(input: {article: 1}) { nothing } }`, 1 + 1},
		{`subscription { a: articlePosted { cursor } b: articlePosted { cursor } }`, 1 + 1},
	} {
		user := fmt.Sprint("user", i)
		s.PostJSON(fmt.Sprintf(`{"query":%q}`, tt.query), "X-User-ID", user)
		w := s.Socket(fmt.Sprintf(`{"X-User-ID":%q}`, user))
		w.Subscribe("a", tt.query, "")
		if f := w.Read(); f.Type != "error" {
			t.Errorf("%.80s: got %v, want an error", tt.query, f)
		}
		if got := sitetest.RateCount(t, client, "cost:user:"+user); got < 2*tt.cost || got > 2*tt.cost+1 { // a body has up to 1,000 bytes more
			t.Errorf("%.80s, twice: got %d points, want %d", tt.query, got, 2*tt.cost)
		}
		if votes := sitetest.RateCount(t, client, "votes:user:"+user); votes != 0 {
			t.Errorf("%.80s: got %d votes, want none", tt.query, votes)
		}
	}
}

// A valid document costs what reading it takes at least, but only where the process does not know it.
func TestNewDocumentCostsItsTokensAtLeast(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 5000, Window: time.Minute}, Addresses: 10}))
	mutation, query := `mutation M { vote(input: {article: 1}) { changed } }`, `{ __typename } #`+strings.Repeat(" word", 26)
	for _, tt := range []struct {
		query string
		cost  int // in all
	}{
		{query, 4}, {query, 4 + 1}, {mutation, 5 + 2}, {mutation, 7}, // GET runs no mutation
	} {
		s.Get(tt.query, "X-User-ID", "carol")
		if got := sitetest.RateCount(t, client, "cost:user:carol"); got != tt.cost {
			t.Errorf("%s: got %d points in all, want %d", tt.query, got, tt.cost)
		}
	}
}

// A client without points gets no other document validated: known ones still run while their cost is left.
func TestNoDocumentIsReadForWhomPointsAreSpent(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 30, Window: time.Hour}, Addresses: 10}))
	known, bad := `{ __typename }`, `{`+strings.Repeat(" a", 198)+`}`
	for i, tt := range []struct {
		query, user string
		status      int
	}{
		{known, "alice", 200}, {bad, "alice", 200}, {bad, "alice", 429}, {known, "alice", 200}, {`{ a: __typename }`, "alice", 429}, {`{ b: __typename }`, "bob", 200},
	} {
		res, body := s.Get(tt.query, "X-User-ID", tt.user)
		if res.StatusCode != tt.status || (res.Header.Get("Retry-After") != "") != (tt.status == 429) {
			t.Errorf("request %d: got %d %.100s, want %d", i, res.StatusCode, body, tt.status)
		}
	}
}

func TestRateLimitsFailClosedWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t).Own()
	s := sitetest.New(t, server.Client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 1000, Window: time.Minute}, Votes: endpoint.Rate{Most: 10, Window: time.Minute}, Addresses: 10}))
	w := s.Socket(`{"X-User-ID":"bob"}`)
	server.Kill()
	for _, query := range []string{whoAmI, `mutation { vote(input: {article: 1}) { changed userErrors { code } } }`} {
		for _, accept := range []string{"application/json", "text/event-stream"} {
			res, body := s.PostJSON(fmt.Sprintf(`{"query":%q}`, query), "X-User-ID", "bob", "Accept", accept)
			if res.StatusCode != 503 || sitetest.CodeOf(t, body) != "UNAVAILABLE" || strings.Contains(body, "data") || strings.Contains(body, server.Socket()) || res.Header.Get("RateLimit") != "" {
				t.Errorf("%s: got %d %s, want 503 UNAVAILABLE", query, res.StatusCode, body)
			}
		}
		w.Subscribe("a", query, "")
		if f := w.Read(); f.Type != "error" || !strings.Contains(string(f.Payload), `"UNAVAILABLE"`) {
			t.Errorf("%s: got %s %s, want UNAVAILABLE", query, f.Type, f.Payload)
		}
	}
	server.Restart()
	if keys := sitetest.RateKeys(t, server.Client); len(keys) > 0 {
		t.Errorf("got the counters %v, want none", keys)
	}
	require.Eventually(t, "the store is available again", func() bool {
		res, _ := s.Get(whoAmI, "X-User-ID", "bob")
		return res.StatusCode == 200
	})
}

// Only operations cost points. Connections are limited as streams.
func TestHandshakeCostsNoPoints(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), pointsOf(1))
	ctx, cancel := context.WithTimeout(t.Context(), require.Timeout)
	defer cancel()
	for range 5 {
		conn, res, err := websocket.Dial(ctx, s.URL, &websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}, HTTPHeader: http.Header{"X-User-Id": {"bob"}}})
		if err != nil {
			text, _ := io.ReadAll(res.Body)
			t.Fatalf("handshake: got %v, %s, want 101", err, text)
		}
		s.SocketOver(conn).Begin("")
	}
	if keys := sitetest.RateKeys(t, client); len(keys) > 0 {
		t.Errorf("got the counters %v, want none", keys)
	}
}
