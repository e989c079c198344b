package endpoint

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
)

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
