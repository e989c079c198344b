package endpoint_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

func TestPingIsAnsweredByPong(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	w := s.Socket("")
	w.Subscribe("a", `subscription { a: articlePosted { node { id } } b: articlePosted { node { id } } }`, "")
	f := w.Read()
	var errs []sitetest.Error
	if f.Type != "error" || json.Unmarshal(f.Payload, &errs) != nil || len(errs) == 0 || errs[0].Extensions.Code != "GRAPHQL_VALIDATION_FAILED" {
		t.Errorf("got %s %s, want GRAPHQL_VALIDATION_FAILED", f.Type, f.Payload)
	}
	if log := s.Log.String(); log != "" {
		t.Errorf("got log %s, want nothing logged for client errors", log)
	}
}
