package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func TestPingIsAnsweredByPong(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	w := s.OpenSocket()
	pings := func() {
		t.Helper()
		for _, payload := range []string{`{}`, `{"a":[1,"ü",null]}`} {
			w.Send(`{"type":"ping","payload":` + payload + `}`)
			w.Want("pong", "", payload)
		}
		w.Send(`{"type":"ping"}`)
		w.Want("pong", "", "")
		w.Send(`{"type":"ping","payload":null}`)
		w.Want("pong", "", "")
		w.Send(`{"type":"pong","payload":{}}`)
	}
	pings()
	w.Begin("")
	pings()
}

func TestInvalidOperationGetsOneError(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t")
	w := s.Socket("")
	w.Watch("watcher", id)
	for payload, code := range map[string]string{
		`{"query":"{"}`:            "GRAPHQL_PARSE_FAILED",
		`{"query":"{ nothing }"}`:  "GRAPHQL_VALIDATION_FAILED",
		`{"query":"subscription"}`: "GRAPHQL_PARSE_FAILED",
		`{"query":"query A { __typename }","operationName":"B"}`:                          "GRAPHQL_VALIDATION_FAILED",
		`{"query":"query($n: Int!) { articles(page: $n) { id } }","variables":{"n":"x"}}`: "GRAPHQL_VALIDATION_FAILED",
		`{"query":"subscription { articleChanged(ids: [1]) {` + aliases(16) + `} }"}`:     "ALIAS_LIMIT_EXCEEDED",
		`{"documentId":"` + hashOf("nowhere") + `"}`:                                      "PERSISTED_QUERY_NOT_FOUND",
	} {
		w.Send(`{"type":"subscribe","id":"bad","payload":` + payload + `}`)
		w.Subscribe("barrier", `{ __typename }`, "")
		byID := w.Until(sitetest.Finished("bad", "barrier"))
		n := s.VoteUp(id)
		w.Subscribe("barrier", `{ __typename }`, "")
		for id, more := range w.Until(func(byID map[string][]sitetest.Message) bool {
			events := byID["watcher"]
			return sitetest.Finished("barrier")(byID) && len(events) > 0 && sitetest.VotesOf(t, string(events[len(events)-1].Payload)) == n
		}) {
			byID[id] = append(byID[id], more...)
		}
		bad := byID["bad"]
		var errs []sitetest.Error
		if len(bad) != 1 || bad[0].Type != "error" || json.Unmarshal(bad[0].Payload, &errs) != nil || len(errs) == 0 || errs[0].Extensions.Code != code {
			t.Errorf("%s: got %v, want one error %s", payload, bad, code)
		}
	}
}

func TestFailedSubscriptionReportsAnErrorAndCompletes(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	w := s.Socket("")
	ids := strings.TrimSuffix(strings.Repeat("1, ", 101), ", ")
	for _, field := range []string{`articleChanged(ids: [])`, `articleChanged(ids: ["1", "x"])`, `articleChanged(ids: [` + ids + `])`,
		`articlePosted(group: "interesting")`, `articlePosted(group: "")`, `articlePosted(group: "a b")`} {
		query := `subscription { ` + field + ` { __typename } }`
		w.Subscribe("a", query, "")
		f := w.Read()
		if a := decoded(t, f.Payload); f.Type != "next" || f.ID != "a" || len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" || a.Data != nil {
			t.Errorf("%.50s: got %v, want BAD_USER_INPUT", field, f)
		}
		w.Want("complete", "a", "")

		e := s.Stream(query)
		name, data := e.Next()
		if name != "next" || sitetest.CodeOf(t, data) != "BAD_USER_INPUT" {
			t.Errorf("%.50s: got %s %s, want BAD_USER_INPUT", field, name, data)
		}
		e.Want("complete", "")
	}
}

func decoded(t *testing.T, payload []byte) (a sitetest.Answer) {
	t.Helper()
	if err := json.Unmarshal(payload, &a); err != nil {
		t.Fatalf("want a GraphQL response: %v, got %s", err, payload)
	}
	return a
}

func TestQueriesAndMutationsRunOverASocket(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t")
	w := s.Socket("", "X-User-ID", "bob")
	once := func(payload, want string) {
		t.Helper()
		w.Send(`{"type":"subscribe","id":"a","payload":` + payload + `}`) // the same id every time: it is free again
		w.Want("next", "a", want)
		w.Want("complete", "a", "")
	}
	once(`{"query":"mutation($a: ID!) { vote(input: {article: $a}) { article { votes viewerVote } userErrors { code } } }","variables":{"a":"`+id+`"}}`,
		`{"data":{"vote":{"article":{"votes":2,"viewerVote":"UP"},"userErrors":[]}}}`)
	once(`{"query":"query A { __typename } query B { article(id: 1) { votes } }","operationName":"B","extensions":null}`, `{"data":{"article":{"votes":2}}}`)
	const text = `{ viewer { id } }`
	once(fmt.Sprintf(`{"query":%q,%s}`, text, persisted(hashOf(text))), `{"data":{"viewer":{"id":"user:bob"}}}`)
	once(`{`+persisted(hashOf(text))+`}`, `{"data":{"viewer":{"id":"user:bob"}}}`)
	once(`{"documentId":"sha256:`+hashOf(text)+`"}`, `{"data":{"viewer":{"id":"user:bob"}}}`)
	for _, query := range []string{`{ article(id: "x") { id } }`, `mutation { vote(input: {article: "2"}) { article { id } userErrors { code field } } }`} {
		once(fmt.Sprintf(`{"query":%q}`, query), s.AskText("bob", query))
	}
}

func TestOperationIDIsFreeAfterComplete(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t")
	w := s.Socket("")
	w.Watch("stays", id)
	w.Watch("goes", id)
	w.Send(`{"type":"complete","id":"goes"}`)
	w.Send(`{"type":"complete","id":"never was"}`)
	w.Send(`{"type":"ping"}`)
	w.Until(func(byID map[string][]sitetest.Message) bool { return len(byID[""]) == 1 })
	for range 3 {
		n := s.VoteUp(id)
		w.Subscribe("barrier", `{ __typename }`, "")
		byID := w.Until(func(byID map[string][]sitetest.Message) bool {
			received := len(byID["stays"]) > 0 && sitetest.VotesOf(t, string(byID["stays"][len(byID["stays"])-1].Payload)) == n
			return received && sitetest.Finished("barrier")(byID)
		})
		if late := byID["goes"]; len(late) > 0 {
			t.Fatalf("after complete: got %v, want no message", late)
		}
	}
	w.Watch("goes", id)
}

func TestSubscriptionWithTwoFieldsIsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	w := s.Socket("")
	w.Subscribe("a", `subscription { a: articlePosted { node { id } } b: articlePosted { node { id } } }`, "")
	f := w.Read()
	var errs []sitetest.Error
	if f.Type != "error" || json.Unmarshal(f.Payload, &errs) != nil || len(errs) == 0 || errs[0].Extensions.Code != "GRAPHQL_VALIDATION_FAILED" {
		t.Errorf("got %s %s, want GRAPHQL_VALIDATION_FAILED", f.Type, f.Payload)
	}
	s.WantNoLog()
}

const (
	begin   = `{"type":"connection_init"}`
	request = `{"type":"subscribe","id":"a","payload":{"query":"subscription { articlePosted { node { id } } }"}}`
)

func TestProtocolErrorClosesTheSocketWithItsCode(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	limit := int(endpoint.DefaultOptions().BodyLimit)
	tests := []struct {
		name     string
		messages []string
		code     websocket.StatusCode
	}{
		{"subscribe before init", []string{request}, 4401},
		{"a second init", []string{begin, begin}, 4429},
		{"a second init with a payload", []string{begin, `{"type":"connection_init","payload":{}}`}, 4429},
		{"an id in use", []string{begin, request, request}, 4409},
		{"a long id in use", []string{begin, strings.Replace(request, `"a"`, `"`+strings.Repeat("ü", 500)+`"`, 1), strings.Replace(request, `"a"`, `"`+strings.Repeat("ü", 500)+`"`, 1)}, 4409},
		{"not JSON", []string{"x"}, 4400},
		{"an empty message", []string{""}, 4400},
		{"truncated JSON", []string{begin[:20]}, 4400},
		{"two JSON values", []string{begin + begin}, 4400},
		{"an array", []string{"[" + begin + "]"}, 4400},
		{"null", []string{"null"}, 4400},
		{"a number", []string{"5"}, 4400},
		{"a string", []string{`"ping"`}, 4400},
		{"no type", []string{"{}"}, 4400},
		{"a number as type", []string{`{"type":5}`}, 4400},
		{"an unknown type", []string{`{"type":"start","id":"a"}`}, 4400},
		{"next from a client", []string{begin, `{"type":"next","id":"a","payload":{}}`}, 4400},
		{"error from a client", []string{begin, `{"type":"error","id":"a","payload":[]}`}, 4400},
		{"connection_ack from a client", []string{begin, `{"type":"connection_ack"}`}, 4400},
		{"invalid UTF-8", []string{begin, "{\"type\":\"ping\",\"payload\":{\"x\":\"\xff\"}}"}, 4400},
		{"init with an array", []string{`{"type":"connection_init","payload":[]}`}, 4400},
		{"ping with an array", []string{`{"type":"ping","payload":[]}`}, 4400},
		{"ping with a string", []string{begin, `{"type":"ping","payload":"x"}`}, 4400},
		{"complete without an id", []string{begin, `{"type":"complete"}`}, 4400},
		{"subscribe without an id", []string{begin, `{"type":"subscribe","payload":{"query":"{ __typename }"}}`}, 4400},
		{"an empty id", []string{begin, `{"type":"subscribe","id":"","payload":{"query":"{ __typename }"}}`}, 4400},
		{"a number as id", []string{begin, `{"type":"subscribe","id":1,"payload":{"query":"{ __typename }"}}`}, 4400},
		{"no payload", []string{begin, `{"type":"subscribe","id":"a"}`}, 4400},
		{"null as payload", []string{begin, `{"type":"subscribe","id":"a","payload":null}`}, 4400},
		{"a text as payload", []string{begin, `{"type":"subscribe","id":"a","payload":"{ __typename }"}`}, 4400},
		{"no query", []string{begin, `{"type":"subscribe","id":"a","payload":{"variables":{}}}`}, 4400},
		{"a number as query", []string{begin, `{"type":"subscribe","id":"a","payload":{"query":5}}`}, 4400},
		{"variables as array", []string{begin, `{"type":"subscribe","id":"a","payload":{"query":"{ __typename }","variables":[]}}`}, 4400},
		{"extensions as text", []string{begin, `{"type":"subscribe","id":"a","payload":{"query":"{ __typename }","extensions":"x"}}`}, 4400},
		{"a number as operationName", []string{begin, `{"type":"subscribe","id":"a","payload":{"query":"{ __typename }","operationName":5}}`}, 4400},
		{"too large", []string{begin, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", limit) + `"}}`}, 1009},
	}
	for _, tt := range tests {
		w := s.OpenSocket()
		for _, text := range tt.messages {
			w.Send(text)
		}
		before, how := w.ReadClose()
		if how.Code != tt.code || how.Reason == "" || !utf8.ValidString(how.Reason) {
			t.Errorf("%s: got %d %q, want %d", tt.name, how.Code, how.Reason, tt.code)
		}
		acks := 0
		if tt.messages[0] == begin {
			acks = 1
		}
		if len(before) != acks || acks == 1 && before[0].Type != "connection_ack" {
			t.Errorf("%s: got %v before the close, want %d acknowledgements", tt.name, before, acks)
		}
	}
	for _, data := range []string{"\x00\x01\xfe\xff", begin} {
		w := s.OpenSocket()
		require.NoError(t, w.Conn.Write(t.Context(), websocket.MessageBinary, []byte(data)))
		if before, how := w.ReadClose(); how.Code != 4400 || len(before) > 0 {
			t.Errorf("a binary message %q: got %v, %v, want 4400", data, before, how)
		}
	}
	w := s.Socket("")
	w.Send(`{"type":"ping","payload":{"x":"` + strings.Repeat("x", limit-100) + `"}}`)
	if f := w.Read(); f.Type != "pong" || len(f.Payload) != limit-100+len(`{"x":""}`) {
		t.Errorf("the largest message: got %.100v, want a pong with its payload", f)
	}
}

func TestSocketNeedsTheSubprotocol(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for _, offered := range [][]string{nil, {"graphql-ws"}} {
		conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: offered})
		require.NoError(t, err)
		if _, how := s.SocketOver(conn).ReadClose(); how.Code != 4406 {
			t.Errorf("offered %v: got %v, want 4406", offered, how)
		}
	}
	conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: []string{"graphql-ws", sitetest.Subprotocol}})
	if err != nil || conn.Subprotocol() != sitetest.Subprotocol {
		t.Fatal(err)
	}
	s.SocketOver(conn).Begin("")
}

func TestSocketWithoutInitIsClosed(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	began := s.Socket("")
	late := s.OpenSocket()
	late.Send(`{"type":"ping"}`)
	late.Want("pong", "", "")
	opened := time.Now()
	if _, how := late.ReadClose(); how.Code != 4408 {
		t.Errorf("got %v, want 4408", how)
	}
	if took := time.Since(opened); took < 2*time.Second {
		t.Errorf("closed after %v, want at least 2s", took)
	}
	began.Send(`{"type":"ping"}`) // older than 3 s and still open
	began.Want("pong", "", "")
}

func TestSocketThatAnswersPingsStaysOpen(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Streams.Ping = 250 * time.Millisecond })
	id := s.Post("alice", "t")
	pings := make(chan struct{}, 100)
	conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}, OnPingReceived: func(context.Context, []byte) bool {
		pings <- struct{}{}
		return true
	}})
	require.NoError(t, err)
	w := s.SocketOver(conn)
	w.Begin("")
	w.Watch("a", id)
	events := make(chan sitetest.Message)
	go func() {
		f, _ := w.TryRead()
		events <- f
	}()
	for i := range 12 {
		select {
		case <-pings:
		case f := <-events:
			t.Fatalf("after %d pings: got %v, want no message", i, f)
		case <-time.After(require.Timeout):
			t.Fatalf("got %d pings, want 12", i)
		}
	}
	n := s.VoteUp(id)
	if f := <-events; sitetest.VotesOf(t, string(f.Payload)) != n {
		t.Errorf("got %v, want %d votes", f, n)
	}
}

func TestInitPayloadOverridesHandshakeIdentity(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t")
	for _, tt := range []struct{ payload, header, want string }{
		{"", "", "null"},
		{`null`, "bob", `{"name":"bob"}`},
		{`{"X-User-ID":"carol"}`, "", `{"name":"carol"}`},
		{`{"x-user-id":"carol"}`, "bob", `{"name":"carol"}`},
	} {
		var header []string
		if tt.header != "" {
			header = []string{"X-User-ID", tt.header}
		}
		w := s.Socket(tt.payload, header...)
		w.Subscribe("a", `{ viewer { name } }`, "")
		w.Want("next", "a", `{"data":{"viewer":`+tt.want+`}}`)
	}

	s.Vote("bob", id, "UP")
	bob, carol := s.Socket(`{"X-User-ID":"bob"}`), s.Socket("", "X-User-ID", "carol")
	for _, w := range []*sitetest.Socket{bob, carol} {
		w.Subscribe("a", `subscription { articleChanged(ids: [1]) { votes viewerVote viewerCanVote } }`, "")
	}
	bob.Settle(id, "a")
	n := carol.Settle(id, "a")
	bob.ReadVotes("a", n)
	s.Vote("carol", id, "DOWN")
	bob.Want("next", "a", fmt.Sprintf(`{"data":{"articleChanged":{"votes":%d,"viewerVote":"UP","viewerCanVote":true}}}`, n-1))
	carol.Want("next", "a", fmt.Sprintf(`{"data":{"articleChanged":{"votes":%d,"viewerVote":"DOWN","viewerCanVote":true}}}`, n-1))
}

func TestOnlyAllowedOriginsMayOpenSockets(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	closed := sitetest.New(t, client, site.DefaultRules())
	some := sitetest.New(t, client, site.DefaultRules(), func(o *endpoint.Options) {
		o.Origins = []string{"https://friend.example", "https://*.friends.example"}
	})
	all := sitetest.New(t, client, site.DefaultRules(), func(o *endpoint.Options) { o.Origins = []string{"*"} })
	accepted := func(s *sitetest.Site, origin string) bool {
		var header []string
		if origin != "" {
			header = []string{"Origin", origin}
		}
		conn, res, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}}, header...)
		if err == nil {
			s.SocketOver(conn).Begin("")
		} else if res == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: got %v, want 403", origin, err)
		}
		return err == nil
	}
	got := map[string][3]bool{}
	want := map[string][3]bool{
		"":                            {true, true, true},
		"own":                         {true, true, true},
		"https://friend.example":      {false, true, true},
		"https://a.friends.example":   {false, true, true},
		"http://friend.example":       {false, false, true},
		"https://friend.example:8443": {false, false, true},
		"https://foe.example":         {false, false, true},
		"https://friends.example":     {false, false, true},
		"http://127.0.0.1:1":          {false, false, true},
		"null":                        {false, false, true},
	}
	for origin := range want {
		var row [3]bool
		for i, s := range []*sitetest.Site{closed, some, all} {
			sent := origin
			if origin == "own" {
				sent = s.URL
			}
			row[i] = accepted(s, sent)
		}
		got[origin] = row
	}
	for origin := range want {
		if !reflect.DeepEqual(got[origin], want[origin]) {
			t.Errorf("from %q, without allowed origins, with some and with *: got %v, want %v", origin, got[origin], want[origin])
		}
	}
}

func TestIPv6OriginMayOpenSockets(t *testing.T) {
	t.Parallel()
	const origin = "http://[::1]:3000"
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Origins = []string{origin} })
	if res, _ := s.PostJSON(`{"query":"{__typename}"}`, "Origin", origin); res.Header.Get("Access-Control-Allow-Origin") != origin {
		t.Errorf("over HTTP: got %v, want the origin to be allowed", res.Header)
	}
	conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}}, "Origin", origin)
	require.NoError(t, err)
	s.SocketOver(conn).Begin("")
}
