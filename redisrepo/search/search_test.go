package search_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/search"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// searching is an option for a site whose search knows titles and texts.
var searching = redisrepo.WithSearch(search.Options{Titles: true, Texts: true, Memory: 1 << 30})

// opened is the time at which the clock of every site starts.
var opened = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// testSite is a process of a site with a Redis of its own. Its clock moves only when the test moves it.
type testSite struct {
	*redisrepo.Repo
	t      *testing.T
	ctx    context.Context
	client *redis.Client
	clock  *atomic.Int64 // since opened
	links  *atomic.Int64
}

func newSite(t *testing.T, options ...redisrepo.Option) *testSite {
	t.Helper()
	s := &testSite{t: t, ctx: t.Context(), client: redistest.Start(t).Client, clock: new(atomic.Int64), links: new(atomic.Int64)}
	return s.process(options...)
}

// process returns another process of the site.
func (s *testSite) process(options ...redisrepo.Option) *testSite {
	s.t.Helper()
	other := *s
	other.client = redis.NewClient(s.client.Options())
	s.t.Cleanup(func() { _ = other.client.Close() })
	clock := func() time.Time { return opened.Add(time.Duration(s.clock.Load())) }
	other.Repo = require.Value(redisrepo.New(s.ctx, other.client, site.DefaultRules(), append(options, redisrepo.WithClock(clock))...))(s.t)
	return &other
}

func (s *testSite) advance(d time.Duration) { s.clock.Add(int64(d)) }

// post posts an article with a link of its own.
func (s *testSite) post(title string, groups ...string) *site.Article {
	s.t.Helper()
	d := site.Draft{Title: title, Link: new(fmt.Sprint("https://example.com/", s.links.Add(1))), Groups: groups}
	return require.Value(s.Post(s.ctx, "alice", d))(s.t)
}

func (s *testSite) retitle(id site.ArticleID, title string) {
	s.t.Helper()
	require.Value(s.Edit(s.ctx, id, moderator, redisrepo.Edit{Title: &title}))(s.t)
}

func (s *testSite) delete(id site.ArticleID) {
	s.t.Helper()
	require.Value(s.Delete(s.ctx, id, moderator, site.Why{}))(s.t)
}

func (s *testSite) undelete(id site.ArticleID) {
	s.t.Helper()
	require.Value(s.Undelete(s.ctx, id, moderator))(s.t)
}

var moderator = site.Actor{Name: "mod", Moderator: true}

// following runs the search of the process until the test ends, and waits until it is ready.
func (s *testSite) following() *testSite {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		s.Search.Follow(ctx, func(int, int) {}, func(err error) { s.t.Logf("search: %v", err) })
	})
	s.t.Cleanup(func() { stop(); running.Wait() })
	require.Eventually(s.t, "search is ready", func() bool { return s.Search.Status().Ready })
	return s
}

func nobodyLeftOut(site.UserName) bool { return false }

// find returns all results of a query, read in pages.
func (s *testSite) find(q search.Query) (found []site.ArticleID, tiers []search.Tier) {
	s.t.Helper()
	if q.Order == 0 {
		q.Order = search.Best
	}
	for {
		r := require.Value(s.Search.Search(s.ctx, q, nobodyLeftOut))(s.t)
		for _, h := range r.Hits {
			found, tiers = append(found, h.ID), append(tiers, h.Tier)
		}
		if !r.Info.HasNextPage {
			if r.Total != len(found) {
				s.t.Errorf("%+v: Total = %d, but pages have %d", q, r.Total, len(found))
			}
			return found, tiers
		}
		q.After = r.Info.EndCursor
	}
}

func (s *testSite) wantFound(query string, want ...site.ArticleID) {
	s.t.Helper()
	if got, _ := s.find(search.Query{Text: query}); !slices.Equal(got, want) {
		s.t.Errorf("search for %q: got %v, want %v", query, got, want)
	}
}

// vocabulary makes texts whose words are near each other, begin each other, and are written in several ways.
var vocabulary = strings.Fields("go Go golang gopher gophers go2 the The of Über uber über Straße strasse Straßen München Muenchen munchen café cafe redis Redis redisearch rediss C++ c don't 東京 京都 東京都 2016 release released releases")

func randomText(r *rand.Rand, most int) string {
	text := vocabulary[r.IntN(len(vocabulary))]
	for range r.IntN(most) {
		text += []string{" ", ", ", "-", " / "}[r.IntN(4)] + vocabulary[r.IntN(len(vocabulary))]
	}
	return text
}

// scan is a second implementation of search: it looks at every article.
type scan struct {
	query []scanned
	whole []string
}

type scanned struct {
	words   []string
	quoted  bool
	lastOne bool
}

var (
	scanToken = regexp.MustCompile(`[東京都]|[\p{Latin}\p{M}\p{Nd}]+`)
	plain     = strings.NewReplacer("ü", "u", "é", "e", "ß", "ss")
)

func scanWords(text string) []string {
	return scanToken.FindAllString(plain.Replace(strings.ToLower(text)), -1)
}

// scanQuery parses words and phrases; a run without a separator is a phrase.
func scanQuery(text string) (q scan) {
	for i, part := range strings.Split(text, `"`) {
		quoted := i%2 == 1 && i < strings.Count(text, `"`)
		pieces := strings.FieldsFunc(part, func(c rune) bool { return strings.ContainsRune(" ,-/+'", c) })
		if quoted {
			pieces = []string{strings.Join(pieces, " ")}
		}
		for _, piece := range pieces {
			if words := scanWords(piece); len(words) > 0 {
				q.whole = append(q.whole, words...)
				if !slices.ContainsFunc(q.query, func(s scanned) bool { return slices.Equal(s.words, words) }) {
					q.query = append(q.query, scanned{words: words, quoted: quoted})
				}
			}
		}
	}
	if len(q.query) > 0 {
		q.query[len(q.query)-1].lastOne = true
	}
	return q
}

func (q scanned) in(text []string) bool {
	return strings.Contains(" "+strings.Join(text, " ")+" ", " "+strings.Join(q.words, " ")+" ")
}

// distance is the Levenshtein distance, in which two swapped letters are one change if nothing else is changed.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	for i := 1; i < len(x); i++ {
		x[i-1], x[i] = x[i], x[i-1]
		if string(x) == b {
			return 1
		}
		x[i-1], x[i] = x[i], x[i-1]
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0]++
		for j := range y {
			cost := before
			if x[i] != y[j] {
				cost++
			}
			before, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}

// place returns how well an article matches in a stage; the least is the best, and -1 is no match.
func (q scan) place(stage int, title, text []string) int {
	missing, isNear, begins := 0, true, false
	for _, w := range q.query {
		if w.in(title) || w.in(text) {
			continue
		}
		missing++
		one := len(w.words) == 1 && !w.quoted
		all := slices.Concat(title, text)
		isNear = isNear && one && utf8.RuneCountInString(w.words[0]) >= 4 && slices.ContainsFunc(all, func(t string) bool { return distance(t, w.words[0]) <= 1 })
		begins = begins || w.lastOne && one && utf8.RuneCountInString(w.words[0]) >= 2 && slices.ContainsFunc(all, func(t string) bool { return strings.HasPrefix(t, w.words[0]) })
	}
	joined := scanned{words: q.whole}
	switch {
	case stage == 1 && isNear:
		return 4
	case stage == 1:
		return -1
	case missing == 0 && slices.Equal(title, q.whole):
		return 0
	case missing == 0 && (joined.in(title) || joined.in(text)):
		return 1
	case missing == 0:
		return 2
	case stage == 0 && missing == 1 && begins:
		return 3
	case stage == 2 && 2*(len(q.query)-missing) >= len(q.query):
		return 4 + missing
	}
	return -1
}

func TestSearchAgreesWithAPlainScan(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 2))
	s := newSite(t, searching)
	var all []*site.Article
	for range 300 {
		d := site.Draft{Title: randomText(r, 4), Link: new(fmt.Sprint("https://example.com/", s.links.Add(1))), Groups: []string{[]string{"go", "news"}[r.IntN(2)]}}
		if r.IntN(3) == 0 {
			d.Text = new(randomText(r, 30))
		}
		s.advance(time.Second)
		all = append(all, require.Value(s.Post(s.ctx, site.UserName(fmt.Sprint("u", r.IntN(5))), d))(t))
	}
	s.following()
	for range 150 {
		a := all[r.IntN(len(all))]
		switch r.IntN(3) {
		case 0:
			_, _ = s.Vote(s.ctx, a.ID, site.UserName(fmt.Sprint("v", r.IntN(100))), site.Up, "") // unless it is deleted
		case 1:
			_, _ = s.Edit(s.ctx, a.ID, moderator, redisrepo.Edit{Title: new(randomText(r, 4))}) // unless it is deleted
		default:
			if _, err := s.Delete(s.ctx, a.ID, moderator, site.Why{}); err == nil && r.IntN(2) == 0 {
				s.undelete(a.ID)
			}
		}
	}
	ids := make([]site.ArticleID, len(all))
	for i, a := range all {
		ids[i] = a.ID
	}
	articles, _ := s.Articles.ArticlesByID(s.ctx, ids)
	articles = slices.DeleteFunc(articles, func(a *site.Article) bool { return a == nil })
	for range programtest.Size(1000, 5000) {
		q := search.Query{Text: randomText(r, 3), Order: search.Order(1 + r.IntN(4)), First: new(1 + r.IntN(100))}
		if r.IntN(4) == 0 {
			q.Text = `"` + q.Text + `" ` + randomText(r, 2)
		}
		if text := []rune(q.Text); r.IntN(3) == 0 { // a wrong letter, or a beginning
			q.Text = string(text[:1+r.IntN(len(text))])
			if r.IntN(2) == 0 {
				text[r.IntN(len(text))] = 'e'
				q.Text = string(text)
			}
		}
		if r.IntN(4) == 0 {
			q.Filter = search.Filter{Groups: []site.GroupName{"go"}, MinVotes: new(r.IntN(3)), Posters: []site.UserName{"u1", "u2"}}
		}
		want := scanAll(q, articles)
		if got, _ := s.find(q); !slices.Equal(got, want) {
			t.Fatalf("search for %+v:\ngot  %v\nwant %v", q, got, want)
		}
	}
}

// scanAll returns the articles that match, in their order.
func scanAll(q search.Query, articles []*site.Article) []site.ArticleID {
	parsed := scanQuery(q.Text)
	type hit struct {
		*site.Article
		place int
	}
	var hits []hit
	for stage := 0; stage < 3 && len(hits) == 0 && len(parsed.query) > 0; stage++ {
		for _, a := range articles {
			place := parsed.place(stage, scanWords(a.Title), scanWords(site.Value(a.Text)))
			f := q.Filter
			if place < 0 || f.Groups != nil && (a.Groups[0] != "go" || a.Votes < *f.MinVotes || a.Poster.Name != "u1" && a.Poster.Name != "u2") {
				continue
			}
			hits = append(hits, hit{a, place})
		}
	}
	key := func(h hit) float64 {
		switch q.Order {
		case search.ByVotes:
			return float64(h.Votes)
		case search.ByTime:
			return float64(h.CreatedAt.Unix())
		default:
			return h.Score
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		byPlace := 0
		if q.Order == search.Best {
			byPlace = cmp.Compare(a.place, b.place)
		}
		return cmp.Or(byPlace, cmp.Compare(key(b), key(a)), cmp.Compare(b.ID.String(), a.ID.String()))
	})
	var ids []site.ArticleID
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// What another process has done before a search is in its results.
func TestSearchSeesWhatHappenedBefore(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, redisrepo.WithPartitions(partitions), searching)
			other := s.process(searching).following()
			for i := range 10 {
				before, after := fmt.Sprint("first", i), fmt.Sprint("second", i)
				a := s.post(before, "go")
				other.wantFound(before, a.ID)
				s.retitle(a.ID, after)
				other.wantFound(after, a.ID)
				other.wantFound(before)
				s.delete(a.ID)
				other.wantFound(after)
				s.undelete(a.ID)
				other.wantFound(after, a.ID)
				require.Value(s.Regroup(s.ctx, a.ID, moderator, []string{"news"}, []string{"go"}))(t)
				got, _ := other.find(search.Query{Text: after, Filter: search.Filter{NotGroups: []site.GroupName{"go"}}})
				if !slices.Equal(got, []site.ArticleID{a.ID}) {
					t.Errorf("by its group, %v is found; want %v", got, a.ID)
				}
				s.delete(a.ID)
			}
		})
	}
}

// While another process changes articles, no search that begins after a change has an article that was deleted, in another
// group, or by its former title.
func TestSearchNeverShowsWhatMustNotBeSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t, searching)
	other := s.process(searching).following()
	const articles = 10
	ids := map[site.ArticleID]int{}
	var changes [articles]atomic.Int64 // an odd number of changes: the searches below must not find it
	for i := range articles {
		ids[s.post("common words", "go").ID] = i
	}
	done := make(chan struct{})
	var searches sync.WaitGroup
	for range 3 {
		searches.Go(func() {
			q := search.Query{Text: "common words", Order: search.Best, Filter: search.Filter{Groups: []site.GroupName{"go"}}}
			for {
				select {
				case <-done:
					return
				default:
				}
				var before [articles]int64
				for i := range changes {
					before[i] = changes[i].Load()
				}
				r, err := other.Search.Search(s.ctx, q, nobodyLeftOut)
				if err != nil {
					t.Errorf("search: %v", err)
					return
				}
				for _, h := range r.Hits {
					if i := ids[h.ID]; before[i]%2 == 1 && changes[i].Load() == before[i] {
						t.Errorf("%v is found though it must not be seen", h.ID)
					}
				}
			}
		})
	}
	for range programtest.Size(3, 30) {
		for id, i := range ids {
			hide := func(change func()) {
				change()
				changes[i].Add(1)
			}
			show := func(change func()) {
				changes[i].Add(1)
				change()
				if found, _ := other.find(search.Query{Text: "common words", Filter: search.Filter{Groups: []site.GroupName{"go"}}}); !slices.Contains(found, id) {
					t.Errorf("%v is not found after it is shown again", id)
				}
			}
			hide(func() { s.delete(id) })
			show(func() { s.undelete(id) })
			hide(func() { s.retitle(id, "other text") })
			show(func() { s.retitle(id, "common words") })
			hide(func() { require.Value(s.Regroup(s.ctx, id, moderator, []string{"news"}, []string{"go"}))(t) })
			show(func() { require.Value(s.Regroup(s.ctx, id, moderator, []string{"go"}, []string{"news"}))(t) })
		}
	}
	close(done)
	searches.Wait()
}

func TestSearchFindsImportsAndForgetsWhatTheStoreLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, redisrepo.WithPartitions(1), searching).following()
	first := s.post("title")
	imported := redisrepo.Imported{ID: 1_000_000_007, Poster: "bob", PostedAt: opened.Add(-time.Hour), Votes: 3, Draft: site.Draft{Title: "imported while it runs"}}
	_, errs := s.Import(s.ctx, []redisrepo.Imported{imported})
	require.NoError(t, errors.Join(errs...))
	s.advance(time.Minute)
	require.Eventually(t, "the import is found", func() bool {
		got, _ := s.find(search.Query{Text: "imported while"})
		return slices.Equal(got, []site.ArticleID{imported.ID})
	})
	s.wantFound("title", first.ID)

	// A store that has lost its log has lost the place of the index. The article behind its back has another title now.
	require.NoError(t, s.client.HSet(s.ctx, "article:1000000007", "title", "renamed beside the log").Err())
	require.NoError(t, s.client.Del(s.ctx, "events:").Err())
	s.post("another")
	require.Eventually(t, "all articles are read again", func() bool {
		got, _ := s.find(search.Query{Text: "renamed beside the log"})
		return slices.Equal(got, []site.ArticleID{imported.ID})
	})
}

func TestSearchSaysWhenItIsNotReadyOrOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, searching)
	q := search.Query{Text: "title", Order: search.Best}
	if _, err := s.Search.Search(s.ctx, q, nobodyLeftOut); !errors.As(err, new(search.NotReady)) {
		t.Errorf("before the index is built: %v, want NotReady", err)
	}
	off := s.process()
	if _, err := off.Search.Search(s.ctx, q, nobodyLeftOut); !errors.As(err, new(site.Refusal)) || off.Search.On() {
		t.Errorf("without search: %v, want a Refusal", err)
	}
	off.Search.Follow(s.ctx, func(int, int) {}, func(error) {}) // returns at once
	s.following()
	for _, text := range []string{"", " \t", strings.Repeat("ä", search.MaxQuery+1)} {
		q.Text = text
		if _, err := s.Search.Search(s.ctx, q, nobodyLeftOut); !errors.As(err, new(site.Refusal)) {
			t.Errorf("%q: %v, want a Refusal", text, err)
		}
	}
	for _, text := range []string{"?!", `"`, `""`, strings.Repeat("ä", search.MaxQuery), strings.Repeat("a ", search.MaxQuery/2)} {
		s.wantFound(text)
	}
}

// A cursor is good at each process, and for its query only.
func TestCursorsOfSearchBelongToTheirQuery(t *testing.T) {
	t.Parallel()
	s := newSite(t, searching).following()
	other := s.process(searching).following()
	for range 5 {
		s.advance(time.Second)
		s.post("title")
	}
	q := search.Query{Text: "titel", Order: search.Best, First: new(2)} // a wrong spelling: pages stay with it
	first := require.Value(s.Search.Search(s.ctx, q, nobodyLeftOut))(t)
	if first.Suggestion != "title" || first.Total != 5 {
		t.Errorf("got suggestion %q and %d results, want title and 5", first.Suggestion, first.Total)
	}
	q.After = first.Info.EndCursor
	second := require.Value(other.Search.Search(s.ctx, q, nobodyLeftOut))(t)
	if len(second.Hits) != 2 || !second.Info.HasPreviousPage || second.Hits[0].ID >= first.Hits[1].ID {
		t.Errorf("the second page is %+v after %+v", second.Hits, first.Hits)
	}
	q.Text = "title"
	if _, err := s.Search.Search(s.ctx, q, nobodyLeftOut); !errors.As(err, new(site.Refusal)) {
		t.Errorf("a cursor of another query: %v, want a Refusal", err)
	}
}

func TestSimilarArticlesHaveHalfOfTheWords(t *testing.T) {
	t.Parallel()
	s := newSite(t, searching).following()
	same, near := s.post("Go 1.26 is released").ID, s.post("Go 1.27 is released today").ID
	s.post("Rust and its friends")
	r := require.Value(s.Search.Similar(s.ctx, "go 1.26 IS released", 5, nobodyLeftOut))(t)
	if len(r.Hits) != 2 || r.Hits[0].ID != same || r.Hits[1].ID != near {
		t.Errorf("got %+v, want %v and %v", r.Hits, same, near)
	}
	if r := require.Value(s.Search.Similar(s.ctx, "go 1.26 IS released", 5, func(site.UserName) bool { return true }))(t); len(r.Hits) != 0 {
		t.Errorf("articles of posters that are left out: %+v", r.Hits)
	}
}
