package benchmarks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// BenchmarkSite measures a front page of 25 articles and a vote at four sizes of a site: through the GraphQL
// handler, through redisrepo alone, and, as the upper bound, through a bare net/http handler that does the
// same work in Redis and responds with the same fields. The only socket is the one to Redis.
func BenchmarkSite(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the server does by default
	for _, articles := range []int{1_000, 100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(articles), func(b *testing.B) {
			client, repo := benchSite(b, articles)
			options := endpoint.DefaultOptions()
			options.SharedAnswers = 0 // each page is read
			options.Identity = require.Value(identity.New(b.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(b)
			handler := graph.NewHandler(repo, graph.Site{}, slog.New(slog.DiscardHandler), options)

			page := request(b, `{ articles { id title link score votes createdAt poster { name } } }`)
			b.Run("page/handler", func(b *testing.B) { serveEach(b, handler, func(int) *http.Request { return page() }) })
			b.Run("page/bare", func(b *testing.B) { serveEach(b, barePage(client), func(int) *http.Request { return page() }) })
			b.Run("page/repository", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ids, err := repo.Lists.List(b.Context(), lists.AllArticles(site.ByScore, site.Descending), 1, nil)
					if err != nil || len(ids) != 25 {
						b.Fatal(len(ids), err)
					}
					if _, errs := repo.Articles.ArticlesByID(b.Context(), ids); errs[0] != nil {
						b.Fatal(errs[0])
					}
				}
			})

			newest := site.ArticleID(min(articles, mostImported))
			vote := request(b, fmt.Sprintf(`mutation { vote(input: {article: %d}) { article { id votes score } changed } }`, newest))
			voter := 0
			next := func(kind string) string { voter++; return fmt.Sprint(kind, voter) }
			b.Run("vote/handler", func(b *testing.B) {
				serveEach(b, handler, func(int) *http.Request {
					req := vote()
					req.Header.Set("X-User-ID", next("a"))
					return req
				})
			})
			b.Run("vote/bare", func(b *testing.B) {
				serveEach(b, bareVote(repo, newest), func(int) *http.Request {
					req := vote()
					req.Header.Set("X-User-ID", next("b"))
					return req
				})
			})
			b.Run("vote/repository", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					require.Value(repo.Vote(b.Context(), newest, site.UserName(next("c")), site.Up, ""))(b)
				}
			})
		})
	}
}

// benchSite returns a site with articles, and its Redis.
func benchSite(b testing.TB, articles int) (*redis.Client, *redisrepo.Repo) {
	b.Helper()
	client := redistest.Start(b).Client
	repo := require.Value(redisrepo.New(b.Context(), client, site.DefaultRules()))(b)
	importArticles(b, repo, min(articles, mostImported))
	for first := mostImported + 1; first <= articles; first += 1000 {
		storeOlder(b, client, first)
	}
	return client, repo
}

// mostImported is how many articles of a site are imported. The others are older, and stored without what no page of the newest
// articles reads: an import of ten million takes half an hour.
const mostImported = 1_000_000

// storeOlder stores 1,000 articles of ten years ago.
func storeOlder(b testing.TB, client *redis.Client, first int) {
	b.Helper()
	posted := time.Now().Add(-10 * 365 * 24 * time.Hour).Unix()
	_, err := client.Pipelined(b.Context(), func(pipe redis.Pipeliner) error {
		for id := first; id < first+1000; id++ {
			member, poster := fmt.Sprint("article:", id), fmt.Sprint("user:poster", id%5000)
			pipe.HSet(b.Context(), member, "title", fmt.Sprint("An article of usual length, number ", id), "link", fmt.Sprint("https://example.org/", id), "poster", poster, "time", posted, "votes", 1)
			pipe.ZAdd(b.Context(), "time:", redis.Z{Score: float64(posted), Member: member})
			pipe.ZAdd(b.Context(), "score:", redis.Z{Score: float64(posted + 432), Member: member})
		}
		return nil
	})
	require.NoError(b, err)
}

// importArticles imports articles, the newest of them posted now.
func importArticles(b testing.TB, repo *redisrepo.Repo, articles int) {
	b.Helper()
	now, random := time.Now(), rand.New(rand.NewPCG(1, 1))
	batch := make([]redisrepo.Imported, 0, 1000)
	for i := range articles {
		link := fmt.Sprintf("https://example.org/%d", i)
		batch = append(batch, redisrepo.Imported{
			ID: site.ArticleID(i + 1), Poster: site.UserName(fmt.Sprint("poster", i%5000)),
			PostedAt: now.Add(-time.Duration(articles-i-1) * 10 * time.Minute), Votes: random.IntN(100),
			Draft: site.Draft{Title: fmt.Sprint("An article of usual length, number ", i), Link: &link, Groups: groups(i)},
		})
		if len(batch) < cap(batch) && i < articles-1 {
			continue
		}
		_, errs := repo.Import(b.Context(), batch)
		require.NoError(b, errors.Join(errs...))
		batch = batch[:0]
	}
}

// groups are those of an article of benchSite: none, or one that has a fifth of all.
func groups(i int) []string {
	if i%5 == 0 {
		return []string{"fifth"}
	}
	return nil
}

// request returns a function that makes requests of one query.
func request(b *testing.B, query string) func() *http.Request {
	b.Helper()
	body := require.Value(json.Marshal(map[string]string{"query": query}))(b)
	return func() *http.Request {
		req := httptest.NewRequest(http.MethodPost, "/query", bytes.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		return req
	}
}

func serveEach(b *testing.B, handler http.Handler, next func(int) *http.Request) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		res := httptest.NewRecorder()
		handler.ServeHTTP(res, next(i))
		if res.Code != http.StatusOK || bytes.Contains(res.Body.Bytes(), []byte(`"errors"`)) {
			b.Fatal(res.Code, res.Body)
		}
	}
}

// barePage responds with the fields of the benchmark's query, without GraphQL and without redisrepo.
func barePage(client redis.UniversalClient) http.Handler {
	type row struct{ ID, Title, Link, Score, Votes, CreatedAt, Poster string }
	page := func(ctx context.Context) ([]row, error) {
		ranked, err := client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: "score:", Start: 0, Stop: 24, Rev: true}).Result()
		if err != nil {
			return nil, err
		}
		hashes := make([]*redis.MapStringStringCmd, len(ranked))
		_, err = client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, z := range ranked {
				hashes[i] = pipe.HGetAll(ctx, z.Member.(string))
			}
			return nil
		})
		rows := make([]row, len(ranked))
		for i, z := range ranked {
			h := hashes[i].Val()
			rows[i] = row{z.Member.(string), h["title"], h["link"], fmt.Sprint(z.Score), h["votes"], h["time"], h["poster"]}
		}
		return rows, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rows, err := page(req.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(rows)
	})
}

func bareVote(repo *redisrepo.Repo, id site.ArticleID) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		result, err := repo.Vote(req.Context(), id, site.UserName(req.Header.Get("X-User-ID")), site.Up, "")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"id": result.Article.ID, "votes": result.Article.Votes, "score": result.Article.Score, "changed": result.Changed})
	})
}

// What a request may allocate, from the handler to the driver of Redis and back. Times differ between machines, these
// counts do not; the race detector adds raced.
const (
	maxPageAllocations      = 308
	maxVoteAllocations      = 53
	maxSharedAllocations    = 9
	maxOwnAllocations       = 538 // with viewerVote
	maxOwnSharedAllocations = 300
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
	options.Identity = require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
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
