package endpoint

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
)

func TestDocumentCacheIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	c := newDocumentCache[string, int]()
	add := func(text string, value int) { c.add(text, value, len(text), perToken*countTokens(text)) }
	long := "#" + strings.Repeat("x", maxDocument-10)
	for i := range 2000 {
		add(fmt.Sprint(long, i), i)
		add(fmt.Sprint(long, i), i) // twice counts once
	}
	if n := c.entries.Len(); c.bytes > documentBytes || n < documentBytes/(maxDocument+perDocument+2*perToken) {
		t.Errorf("got %d long documents of %d bytes, want a full cache of at most %d bytes", n, c.bytes, documentBytes)
	}
	if _, ok := c.get(long + "1999"); !ok {
		t.Error("the newest document is missing")
	}
	if _, ok := c.get(long + "0"); ok {
		t.Error("the oldest document was not dropped")
	}
	add(long+long, 1)
	if _, ok := c.get(long + long); ok {
		t.Error("a document that is too long was kept")
	}
	for i := range 100_000 {
		add(fmt.Sprint(i), i)
	}
	if n := c.entries.Len(); n > documentBytes/perDocument || c.bytes > documentBytes {
		t.Errorf("got %d short documents of %d bytes, want at most %d bytes", n, c.bytes, documentBytes)
	}
	sum := 0
	for _, key := range c.entries.Keys() {
		e, _ := c.entries.Peek(key)
		sum += e.bytes
	}
	if sum != c.bytes {
		t.Errorf("got a count of %d bytes, want %d", c.bytes, sum)
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, " \n,": 0, "{a}": 3, `query Q($n: Int = 5) { a_b(c: [1, 2]) { ...d } }`: 27, "ä ö": 2} {
		if got := countTokens(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestKnownRequestsAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	all := newRequests()
	add := func(text, query string) {
		all.add(&request{raw: requestKey{http.MethodPost, text}, RawParams: graphql.RawParams{Query: query}}, &operation{asked: &graphql.OperationContext{}})
	}
	variables := strings.Repeat("x", 1000)
	for i := range 2000 {
		add(fmt.Sprint(variables, i), "{ a }")
	}
	// Their text is a part of what variables take.
	if n := all.known.entries.Len(); all.known.bytes > requestBytes || n > requestBytes/(perVariable*len(variables)) || n < 50 {
		t.Errorf("got %d requests of %d bytes with variables, want at most %d bytes", n, all.known.bytes, requestBytes)
	}
	for i := range 20_000 {
		add(fmt.Sprint("short", i), "short")
	}
	if n := all.known.entries.Len(); all.known.bytes > requestBytes || n < requestBytes/(2*perRequest) {
		t.Errorf("got %d short requests of %d bytes, want a full cache of at most %d bytes", n, all.known.bytes, requestBytes)
	}
	long := strings.Repeat("y", maxDocument+1)
	add(long, long)
	if _, ok := all.get(requestKey{http.MethodPost, long}); ok {
		t.Error("a request that is too long was kept")
	}
	if _, ok := all.get(requestKey{http.MethodGet, "short19999"}); ok {
		t.Error("a GET got the request of a POST")
	}
	if _, ok := all.get(requestKey{http.MethodPost, "short19999"}); !ok {
		t.Error("the newest request is missing")
	}
}
