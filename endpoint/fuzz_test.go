package endpoint

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

func FuzzNegotiate(f *testing.F) {
	for _, accept := range []string{
		"", "*/*", "application/json", "text/event-stream", "text/*;q=0.5, application/graphql-response+json;q=0.9",
		"application/json;q=0, */*;q=0.1", "application/json;q=NaN", "APPLICATION/JSON;Q=1", `application/json;a="b,c"`, ",,;q=",
	} {
		f.Add(accept)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		a := negotiate([]string{accept})
		if a.media != mediaJSON && a.media != mediaGraphQL {
			t.Errorf("got media type %q", a.media)
		}
		if a.eventsFirst && !a.events || a.events && !a.ok {
			t.Errorf("got %+v, want events if eventsFirst, and ok if events", a)
		}
		for _, offer := range []string{mediaJSON, mediaGraphQL, mediaEvents} {
			if quality, _ := qualityOf(offer, accept); !(quality >= 0 && quality <= 1) {
				t.Errorf("quality of %s: got %v, want 0 to 1", offer, quality)
			}
		}
		if lines := negotiate(strings.Split(accept, ",")); lines != a {
			t.Errorf("got %+v for one header, but %+v for one header per range", a, lines)
		}
		if more := negotiate([]string{accept, "application/unknown"}); accept != "" && more != a {
			t.Errorf("got %+v, but %+v with an unknown range", a, more)
		}
	})
}

func FuzzMessage(f *testing.F) {
	for _, text := range []string{
		`{"type":"connection_init"}`, `{"type":"connection_init","payload":{"Authorization":"Bearer x"}}`, `{"type":"ping","payload":null}`,
		`{"type":"subscribe","id":"1","payload":{"query":"{ a }","variables":{"n":1e400}}}`, `{"type":"complete","id":"1","payload":[]}`,
		`{"TYPE":"ping"}`, `{"type":"ping","type":"pong"}`, `{"type":"subscribe","id":"\ud800","payload":{"documentId":"sha256:"}}`, `[]`, `null`, "\xff",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, payload, problem := parseMessage(data)
		if problem != "" {
			return
		}
		kind, id := m.text("type"), m.text("id")
		if (kind == typeSubscribe || kind == typeComplete) && id == "" {
			t.Errorf("%s is accepted without an id", kind)
		}
		again, payloadAgain, problem := parseMessage(asJSON(m))
		if problem != "" || again.text("type") != kind || again.text("id") != id || !reflect.DeepEqual(payloadAgain, payload) {
			t.Errorf("%s: got %s when printed and parsed again: %s", data, asJSON(again), problem)
		}
		if kind == typeSubscribe {
			params, problem := parseSubscribe(m)
			if problem == "" && params.Query == "" && params.Extensions[persistedExtension] == nil {
				t.Errorf("%s: accepted without a document", data)
			}
		}
		answer := appendMessage(nil, typeNext, asJSON(id), m["payload"])
		if !json.Valid(answer) || !utf8.Valid(answer) {
			t.Errorf("got message %s, want JSON", answer)
		}
	})
}

// The document cache estimates the number of tokens. The estimate must be at least half of what the parser
// counts.
func FuzzCountTokens(f *testing.F) {
	for _, text := range []string{`{a}`, `{a(b:1 c:"d e")}`, "{a #b\n}", `{a(b:"""c""")}`, `query Q($n: [Int!]! = [1,2]) { ...F @d }`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parser.ParseQuery(&ast.Source{Input: text}); err != nil {
			return
		}
		if _, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, 2*countTokens(text)+1); err != nil {
			t.Errorf("%q: got an estimate of %d tokens, want at least half of their number: %v", text, countTokens(text), err)
		}
	})
}

func FuzzClientAddress(f *testing.F) {
	for _, header := range []string{
		"", "198.51.100.1", "10.0.0.1, 10.0.0.2", "198.51.100.1:80, 10.0.0.1", "[2001:db8::1]:80", "::ffff:10.0.0.1", "fe80::1%eth0", "unknown, 10.0.0.1", ",",
	} {
		f.Add(header)
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, header string) {
		at := func(remote string, forwarded ...string) netip.Addr {
			return clientAddress(&http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": forwarded}}, proxies)
		}
		client := netip.MustParseAddr("203.0.113.7")
		if got := at("203.0.113.7:99", header); got != client {
			t.Errorf("connected directly: got %v, want %v", got, client)
		}
		if got := at("10.0.0.1:99", header, client.String()+", 10.0.0.2"); got != client {
			t.Errorf("through two proxies: got %v, want %v", got, client)
		}
		got := at("10.0.0.1:99", header)
		if !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Errorf("got address %v, want a valid one without a zone that is not IPv4 in IPv6", got)
		}
		// The address is one of the header's, or a proxy.
		if !proxies[0].Contains(got) && !slices.ContainsFunc(strings.Split(header, ","), func(hop string) bool { a, ok := parseHop(hop); return ok && a == got }) {
			t.Errorf("got %v, want an address of the header or of a proxy", got)
		}
	})
}

func FuzzReadQuery(f *testing.F) {
	for _, query := range []string{
		"query={a}", "query=%7Ba%7D&variables={}&operationName=A", "documentId=sha256:x", "extensions={}", "variables=[]&query=a", "query=%ff", "a;b", "query=a&query=b",
	} {
		f.Add(query)
	}
	transport := &httpTransport{transport: transport{bodyLimit: 1 << 20, exec: &executor{requests: newRequests(), slots: newSlots(NewAccounts(), 0)}}}
	f.Fuzz(func(t *testing.T, raw string) {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.URL.RawQuery = raw
		params, refused := transport.read(httptest.NewRecorder(), req, &operation{})
		if refused != nil {
			if refused.status < 400 || refused.code == "" {
				t.Errorf("got a refusal with %d %q, want an error status and a code", refused.status, refused.code)
			}
			return
		}
		if !utf8.ValidString(params.Query) || !utf8.ValidString(params.OperationName) {
			t.Errorf("got query %q, want UTF-8", params.Query)
		}
		// The same request by POST is parsed alike.
		body := asJSON(map[string]any{"query": params.Query, "operationName": params.OperationName, "variables": params.Variables, "extensions": params.Extensions})
		post := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
		post.Header.Set("Content-Type", mediaJSON)
		posted, refused := transport.read(httptest.NewRecorder(), post, &operation{})
		if refused != nil || posted.Query != params.Query || posted.OperationName != params.OperationName ||
			len(posted.Variables) != len(params.Variables) || len(params.Variables) > 0 && !reflect.DeepEqual(posted.Variables, params.Variables) {
			t.Errorf("by POST, %s: got %+v, refused: %v, want the same as by GET", body, posted, refused)
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add(strings.Repeat("x", maxMessage+1))
	f.Add(strings.Repeat("é", maxMessage))
	f.Add(strings.Repeat("\x80", 2*maxMessage))
	f.Fuzz(func(t *testing.T, message string) {
		short := cutTo(message, maxMessage)
		if len(short) > maxMessage+len("...") || utf8.ValidString(message) && !utf8.ValidString(short) || len(message) <= maxMessage && short != message {
			t.Errorf("%q: got %q", message, short)
		}
		if reason := cutReason(message); len(reason) > 90 || !utf8.ValidString(reason) && utf8.ValidString(message) {
			t.Errorf("%q: got the close reason %q", message, reason)
		}
	})
}
