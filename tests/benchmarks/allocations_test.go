package benchmarks_test

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
)

// What a request may allocate, from the handler to the driver of Redis and back. Times differ between machines, these
// counts do not; the race detector adds raced.
const (
	maxPageAllocations      = 420
	maxVoteAllocations      = 85
	maxSharedAllocations    = 15
	maxOwnAllocations       = 620 // with viewerVote
	maxOwnSharedAllocations = 370
)

// unread is a ResponseWriter that keeps the status alone.
type unread struct {
	header http.Header
	status int
}

func (u *unread) Header() http.Header            { return u.header }
func (u *unread) WriteHeader(status int)         { u.status = status }
func (u *unread) Write(body []byte) (int, error) { return len(body), nil }

// allocations returns what the handler allocates for a request, at least, since other goroutines allocate as well. next
// returns the user and the body of each.
func allocations(t *testing.T, handler http.Handler, next func() (user, body string)) float64 {
	t.Helper()
	const runs = 30
	var requests []*http.Request
	for range 2 * runs { // AllocsPerRun runs a first time, to warm up
		user, body := next()
		req := httptest.NewRequest(http.MethodPost, "/query", nil)
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-User-ID", user)
		requests = append(requests, req)
	}
	least := math.Inf(1)
	for range runs {
		least = min(least, testing.AllocsPerRun(1, func() {
			to := &unread{header: http.Header{}}
			handler.ServeHTTP(to, requests[0])
			requests = requests[1:]
			if to.status != http.StatusOK {
				t.Fatalf("got status %d", to.status)
			}
		}))
	}
	return least
}

func TestPagesAndVotesAllocateLittle(t *testing.T) {
	_, repo := benchSite(t, 1000)
	options := endpoint.DefaultOptions()
	options.SharedAnswers = 0 // each page is executed
	var err error
	if options.Identity, err = identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}); err != nil {
		t.Fatal(err)
	}
	handler := graph.NewHandler(repo, graph.Site{}, slog.New(slog.DiscardHandler), options)
	const page = `{"query":"{ articles { id title link score votes createdAt poster { name } } }"}`
	if got := allocations(t, handler, func() (string, string) { return "", page }); got > maxPageAllocations+raced {
		t.Errorf("a page of 25 articles: got %v allocations, want at most %d", got, maxPageAllocations+raced)
	}
	shared := options
	shared.SharedAnswers = time.Hour
	if got := allocations(t, graph.NewHandler(repo, graph.Site{}, slog.New(slog.DiscardHandler), shared), func() (string, string) { return "", page }); got > maxSharedAllocations+raced {
		t.Errorf("a page that is shared: got %v allocations, want at most %d", got, maxSharedAllocations+raced)
	}
	const own = `{"query":"{ articles { id title link score votes createdAt poster { name } viewerVote } }"}`
	user := 0
	anyUser := func() (string, string) { user++; return fmt.Sprint("user", user), own }
	if got := allocations(t, handler, anyUser); got > maxOwnAllocations+raced {
		t.Errorf("a page with viewerVote: got %v allocations, want at most %d", got, maxOwnAllocations+raced)
	}
	if got := allocations(t, graph.NewHandler(repo, graph.Site{}, slog.New(slog.DiscardHandler), shared), anyUser); got > maxOwnSharedAllocations+raced {
		t.Errorf("a page with viewerVote whose articles are shared: got %v allocations, want at most %d", got, maxOwnSharedAllocations+raced)
	}
	voter := 0
	vote := `{"query":"mutation V($a: ID!) { vote(input: {article: $a}) { changed article { id votes } } }","variables":{"a":"article:1000"}}`
	if got := allocations(t, handler, func() (string, string) { voter++; return fmt.Sprint("voter", voter), vote }); got > maxVoteAllocations+raced {
		t.Errorf("a vote: got %v allocations, want at most %d", got, maxVoteAllocations+raced)
	}
}
