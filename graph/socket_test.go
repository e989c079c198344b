package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redistest"
)

func TestPingsAreAnswered(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	w := s.open()
	pings := func() {
		t.Helper()
		for _, payload := range []string{`{}`, `{"a":[1,"ü",null]}`} {
			w.send(`{"type":"ping","payload":` + payload + `}`)
			w.want("pong", "", payload)
		}
		w.send(`{"type":"ping"}`)
		w.want("pong", "", "")
		w.send(`{"type":"ping","payload":null}`)
		w.want("pong", "", "")
		w.send(`{"type":"pong","payload":{}}`)
	}
	pings()
	w.begin("")
	pings()
}

// until reads messages until done is satisfied, and sorts them by id.
func (w *wire) until(done func(map[string][]frame) bool) map[string][]frame {
	w.t.Helper()
	byID := map[string][]frame{}
	for !done(byID) {
		f := w.read()
		byID[f.ID] = append(byID[f.ID], f)
	}
	return byID
}

// finished is the condition that operations have ended.
func finished(ids ...string) func(map[string][]frame) bool {
	return func(byID map[string][]frame) bool {
		for _, id := range ids {
			if n := len(byID[id]); n == 0 || byID[id][n-1].Type == "next" {
				return false
			}
		}
		return true
	}
}

func TestAnInvalidOperationIsOneError(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	id := s.post("alice", "t")
	w := s.socket("")
	w.watch("watcher", id)
	for payload, code := range map[string]string{
		`{"query":"{"}`:            "GRAPHQL_PARSE_FAILED",
		`{"query":"{ nothing }"}`:  "GRAPHQL_VALIDATION_FAILED",
		`{"query":"subscription"}`: "GRAPHQL_PARSE_FAILED",
		`{"query":"query A { __typename }","operationName":"B"}`:                          "GRAPHQL_VALIDATION_FAILED",
		`{"query":"query($n: Int!) { articles(page: $n) { id } }","variables":{"n":"x"}}`: "GRAPHQL_VALIDATION_FAILED",
		`{"query":"subscription { articleChanged(ids: [1]) {` + aliases(16) + `} }"}`:     "ALIAS_LIMIT_EXCEEDED",
		`{"documentId":"` + hashOf("nowhere") + `"}`:                                      "PERSISTED_QUERY_NOT_FOUND",
	} {
		w.send(`{"type":"subscribe","id":"bad","payload":` + payload + `}`)
		w.start("barrier", `{ __typename }`, "")
		byID := w.until(finished("bad", "barrier"))
		n := s.up(id)
		w.start("barrier", `{ __typename }`, "")
		for id, more := range w.until(func(byID map[string][]frame) bool {
			events := byID["watcher"]
			return finished("barrier")(byID) && len(events) > 0 && votesOf(t, string(events[len(events)-1].Payload)) == n
		}) {
			byID[id] = append(byID[id], more...)
		}
		bad := byID["bad"]
		var errs []gqlError
		if len(bad) != 1 || bad[0].Type != "error" || json.Unmarshal(bad[0].Payload, &errs) != nil || len(errs) == 0 || errs[0].Extensions.Code != code {
			t.Errorf("%s is answered %v, want one error %s", payload, bad, code)
		}
	}
}

func TestASubscriptionThatCannotBeginSaysSoAndCompletes(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	w := s.socket("")
	ids := strings.TrimSuffix(strings.Repeat("1, ", 101), ", ")
	for _, field := range []string{`articleChanged(ids: [])`, `articleChanged(ids: ["1", "x"])`, `articleChanged(ids: [` + ids + `])`,
		`articlePosted(group: "interesting")`, `articlePosted(group: "")`, `articlePosted(group: "a b")`} {
		query := `subscription { ` + field + ` { id } }`
		w.start("a", query, "")
		f := w.read()
		if a := decoded(t, f.Payload); f.Type != "next" || f.ID != "a" || len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" || a.Data != nil {
			t.Errorf("%.50s: %v", field, f)
		}
		w.want("complete", "a", "")

		e := s.stream(query)
		name, data := e.next()
		if name != "next" || codeOf(t, data) != "BAD_USER_INPUT" {
			t.Errorf("%.50s: %s %s", field, name, data)
		}
		e.want("complete", "")
	}
}

func decoded(t *testing.T, payload []byte) (a answer) {
	t.Helper()
	if err := json.Unmarshal(payload, &a); err != nil {
		t.Fatalf("%v: %s", err, payload)
	}
	return a
}

func TestQueriesAndMutationsOverASocket(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	id := s.post("alice", "t")
	w := s.socket("", "X-User-ID", "bob")
	once := func(payload, want string) {
		t.Helper()
		w.send(`{"type":"subscribe","id":"a","payload":` + payload + `}`) // the same id every time: it is free again
		w.want("next", "a", want)
		w.want("complete", "a", "")
	}
	once(`{"query":"mutation($a: ID!) { vote(input: {article: $a}) { article { votes viewerVote } userErrors { code } } }","variables":{"a":"`+id+`"}}`,
		`{"data":{"vote":{"article":{"votes":2,"viewerVote":"UP"},"userErrors":[]}}}`)
	once(`{"query":"query A { __typename } query B { article(id: 1) { votes } }","operationName":"B","extensions":null}`, `{"data":{"article":{"votes":2}}}`)
	const text = `{ viewer { id } }`
	once(fmt.Sprintf(`{"query":%q,%s}`, text, persisted(hashOf(text))), `{"data":{"viewer":{"id":"user:bob"}}}`)
	once(`{`+persisted(hashOf(text))+`}`, `{"data":{"viewer":{"id":"user:bob"}}}`)
	once(`{"documentId":"sha256:`+hashOf(text)+`"}`, `{"data":{"viewer":{"id":"user:bob"}}}`)
	for _, query := range []string{`{ article(id: "x") { id } }`, `mutation { vote(input: {article: "2"}) { article { id } userErrors { code field } } }`} {
		once(fmt.Sprintf(`{"query":%q}`, query), s.raw("bob", query))
	}
}

func TestAnIDIsFreeAfterComplete(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	id := s.post("alice", "t")
	w := s.socket("")
	w.watch("stays", id)
	w.watch("goes", id)
	w.send(`{"type":"complete","id":"goes"}`)
	w.send(`{"type":"complete","id":"never was"}`)
	w.send(`{"type":"ping"}`)
	w.until(func(byID map[string][]frame) bool { return len(byID[""]) == 1 })
	for range 3 {
		n := s.up(id)
		w.start("barrier", `{ __typename }`, "")
		byID := w.until(func(byID map[string][]frame) bool {
			told := len(byID["stays"]) > 0 && votesOf(t, string(byID["stays"][len(byID["stays"])-1].Payload)) == n
			return told && finished("barrier")(byID)
		})
		if late := byID["goes"]; len(late) > 0 {
			t.Fatalf("after the client completed it: %v", late)
		}
	}
	w.watch("goes", id)
}

func TestASubscriptionHasOneField(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	w := s.socket("")
	w.start("a", `subscription { a: articlePosted { id } b: articlePosted { id } }`, "")
	f := w.read()
	var errs []gqlError
	if f.Type != "error" || json.Unmarshal(f.Payload, &errs) != nil || len(errs) == 0 || errs[0].Extensions.Code != "GRAPHQL_VALIDATION_FAILED" {
		t.Errorf("%s %s", f.Type, f.Payload)
	}
	if log := s.log.String(); log != "" {
		t.Errorf("what clients get wrong is no fault of the server: %s", log)
	}
}
