package rankings_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// frontWalk is random writes on a site with a random clock, and what an observer saw at each full hour.
type frontWalk struct {
	*repotest.Site
	*rand.Rand
	articles []site.ArticleID
	seen     map[int64]string // by hour, as frontText writes a page
	first    int64            // the first hour that is known
	best     map[site.ArticleID]rankings.BestRank
}

// oneHourIn are rules with which many articles tie, and move often.
func oneHourIn(r *site.Rules) {
	r.VoteScore, r.LinkWindow, r.FrontPages, r.VotingWindow = 600, 0, 1000*time.Hour, 1000*time.Hour
}

func newFrontWalk(s *repotest.Site, seed uint64) *frontWalk {
	w := &frontWalk{Site: s, Rand: rand.New(rand.NewPCG(seed, 0)), seen: map[int64]string{}, first: hourAt(s) + 1,
		best: map[site.ArticleID]rankings.BestRank{}}
	for range 60 + w.IntN(80) { // more or fewer than a page
		w.articles = append(w.articles, w.MustPost("alice").ID)
	}
	return w
}

func hourAt(s *repotest.Site) int64 { return s.Clock.Now().Unix() / 3600 }

func timeOf(hour int64) time.Time { return time.Unix(3600*hour, 0).UTC() }

func (w *frontWalk) step() {
	id := w.articles[w.IntN(len(w.articles))]
	switch n := w.IntN(100); {
	case n < 60:
		user := site.UserName(fmt.Sprint("user", w.IntN(5)))
		_, err := w.Vote(w.Ctx, id, user, site.Vote(w.IntN(3)-1), "")
		w.fine(err)
	case n < 65:
		w.articles = append(w.articles, w.MustPost("bob").ID)
	case n < 70:
		_, err := w.Delete(w.Ctx, id, repotest.Moderator, site.Why{})
		w.fine(err)
	case n < 75:
		_, err := w.Undelete(w.Ctx, id, repotest.Moderator)
		w.fine(err)
	case n < 77:
		w.pass(w.Clock.Now().Add(time.Duration(w.IntN(5)) * time.Hour))
	default:
		w.pass(w.Clock.Now().Add(time.Duration(w.IntN(10)) * time.Minute))
	}
}

// fine accepts that an article is deleted.
func (w *frontWalk) fine(err error) {
	if err != nil && !strings.Contains(err.Error(), "there is no article") {
		w.T.Fatal(err)
	}
}

// pass sets the clock. The observer looks at each full hour until then.
func (w *frontWalk) pass(until time.Time) {
	w.T.Helper()
	for hour := hourAt(w.Site) + 1; hour <= until.Unix()/3600; hour++ {
		w.Clock.Set(timeOf(hour).Sub(repotest.Opened))
		size := 100
		ids := require.Value(w.Lists.List(w.Ctx, lists.AllArticles(site.ByScore, site.Descending), 1, &size))(w.T)
		articles, errs := w.Articles.ArticlesByID(w.Ctx, ids)
		require.NoError(w.T, errors.Join(errs...))
		page := &rankings.FrontPage{At: timeOf(hour)}
		for i, id := range ids {
			page.Places = append(page.Places, &rankings.FrontPlace{ID: id, Rank: i + 1, Score: articles[i].Score})
			if before, known := w.best[id]; !known || i+1 < before.Rank {
				w.best[id] = rankings.BestRank{Rank: i + 1, At: page.At}
			}
		}
		w.seen[hour] = frontText(page)
		if w.IntN(2) == 0 { // also while nothing was written since
			w.wantPage(hour)
		}
	}
	w.Clock.Set(until.Sub(repotest.Opened))
}

// frontText writes a front page without SavedAt.
func frontText(page *rankings.FrontPage) string {
	if page == nil {
		return "no page"
	}
	var b strings.Builder
	fmt.Fprint(&b, page.At.Format(time.RFC3339))
	for _, place := range page.Places {
		fmt.Fprintf(&b, "\n%d %v %.17g", place.Rank, place.ID, place.Score)
	}
	return b.String()
}

func (w *frontWalk) wantPage(hour int64) {
	w.T.Helper()
	at := timeOf(hour).Add(time.Duration(w.IntN(3600)) * time.Second)
	page := require.Value(w.Rankings.FrontPage(w.Ctx, at))(w.T)
	if got := frontText(page); got != w.seen[hour] {
		w.T.Fatalf("FrontPage(%v) =\n%s\nwant\n%s", at, got, w.seen[hour])
	}
	for later := hour; later <= page.SavedAt.Unix()/3600; later++ {
		_, got, _ := strings.Cut(w.seen[later], "\n")
		if _, want, _ := strings.Cut(w.seen[hour], "\n"); got != want {
			w.T.Errorf("FrontPage(%v).SavedAt = %v, but at %v the page was another", at, page.SavedAt, timeOf(later))
		}
	}
}

// compare compares all hours with what the observer saw.
func (w *frontWalk) compare() {
	w.T.Helper()
	for hour := w.first; hour <= hourAt(w.Site); hour++ {
		w.wantPage(hour)
	}
	for _, hour := range []int64{w.first - 1, hourAt(w.Site) + 1, 0, -1 << 40} {
		if page, err := w.Rankings.FrontPage(w.Ctx, timeOf(hour)); page != nil || err != nil {
			w.T.Errorf("FrontPage(%v) = %s, %v, want none", timeOf(hour), frontText(page), err)
		}
	}
	w.compareRanks(48)
	best := require.Value(w.Rankings.BestRanks(w.Ctx, w.articles))(w.T)
	for i, id := range w.articles {
		want, known := w.best[id]
		if got := best[i]; known != (got != nil) || known && *got != want {
			w.T.Errorf("best rank of %v = %+v, want %+v, %t", id, got, want, known)
		}
	}
	w.WantClean()
}

// compareRanks compares the ranks at the last hours with what the observer saw.
func (w *frontWalk) compareRanks(hours int) {
	w.T.Helper()
	ranks := require.Value(w.Rankings.FrontRanks(w.Ctx, hours))(w.T)
	for _, id := range w.articles {
		got, want := "", ""
		for _, at := range ranks.Of(id) {
			got += at.At.Format(" 02T15:")
			if at.Rank != nil {
				got += fmt.Sprint(*at.Rank)
			}
		}
		for hour := max(w.first, hourAt(w.Site)-int64(hours)+1); hour <= hourAt(w.Site); hour++ {
			want += timeOf(hour).Format(" 02T15:")
			for line := range strings.SplitSeq(w.seen[hour], "\n") {
				if words := strings.Fields(line); len(words) == 3 && words[1] == id.String() {
					want += words[0]
				}
			}
		}
		if got != want {
			w.T.Fatalf("ranks of %v =%s, want%s", id, got, want)
		}
	}
}

func TestFrontPagesAreThoseOfAnObserver(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, func(*site.Rules), ...redisrepo.Option) *repotest.Site{"redis": repotest.New, "memory": repotest.Embedded} {
		for _, partitions := range []int{1, 2, 4} {
			t.Run(fmt.Sprint(name, " ", partitions), func(t *testing.T) {
				t.Parallel()
				w := newFrontWalk(open(t, oneHourIn, redisrepo.WithPartitions(partitions)), uint64(partitions))
				for step := range programtest.Size(400, 1000) {
					if w.step(); step%200 == 199 {
						w.compare()
					}
				}
			})
		}
	}
}

// A server that is killed while votes are cast has the pages that it had before, and saves the next ones.
func TestFrontPagesSurviveAKilledServer(t *testing.T) { // with the race detector
	t.Parallel()
	w := newFrontWalk(repotest.New(t, oneHourIn), 7)
	w.Server.Own()
	for range 6 {
		for range 60 {
			w.step()
		}
		w.pass(w.Clock.Now().Add(time.Hour))
		done := make(chan struct{})
		go func() {
			defer close(done)
			repotest.Together(8, func(i int) { // no matter which are counted
				_, _ = w.Vote(w.Ctx, w.articles[i], site.UserName(fmt.Sprint("user", i)), site.Up, "")
				_, _ = w.Vote(w.Ctx, w.articles[i], site.UserName(fmt.Sprint("user", i)), site.Down, "")
			})
		}()
		w.Server.Kill()
		w.Server.Restart()
		<-done
		require.Eventually(t, "the server", func() bool { _, err := check.Check(t.Context(), w.Repo, func(string) {}); return err == nil })
		w.compare()
	}
}

// Of writes that come from many callers around a full hour, those that begin after it are not on its page, and those that
// were confirmed before it are: the page is the ranking between two of the writes.
func TestFrontPageOfManyWritersIsTheRankingBetweenTwoWrites(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, oneHourIn, repotest.One)
	const writers = 8
	var ids []site.ArticleID
	scores := map[string]string{} // by member
	for range 30 {
		a := s.MustPost("alice")
		ids = append(ids, a.ID)
		scores[a.ID.String()] = fmt.Sprintf("%.17g", a.Score)
	}
	logged := s.Logged()

	// A write is known by its voter, since each user votes once.
	var mu sync.Mutex
	begun, confirmed := map[string]int64{}, map[string]int64{} // hours by the clock before and after the write
	const hours, perHour = 12, 40
	for range hours {
		turn := hourAt(s)
		repotest.Together(writers+1, func(i int) {
			if i == writers {
				s.Clock.Set(timeOf(turn + 1).Sub(repotest.Opened))
				return
			}
			for n := range perHour {
				voter := fmt.Sprint("voter-", turn, "-", i, "-", n)
				mu.Lock()
				begun["user:"+voter] = hourAt(s)
				mu.Unlock()
				s.MustVote(ids[(i*7+n*3)%len(ids)], site.UserName(voter), site.Vote(1-2*(n%2)))
				mu.Lock()
				confirmed["user:"+voter] = hourAt(s)
				mu.Unlock()
			}
		})
	}
	type write struct{ member, score, voter string }
	var writes []write
	for _, text := range logged() {
		lines := strings.Split(text, "\n")
		if len(lines) == 1 { // a milestone
			continue
		}
		words := strings.Fields(lines[0])
		_, voter, _ := strings.Cut(lines[1], " ")
		writes = append(writes, write{member: words[1], score: words[5], voter: voter})
	}
	for hour := repotest.Opened.Unix()/3600 + 1; hour < hourAt(s); hour++ {
		page, err := s.Rankings.FrontPage(s.Ctx, timeOf(hour))
		if err != nil || page == nil {
			t.Fatalf("FrontPage(%v) = %v, %v", timeOf(hour), page, err)
		}
		got := map[string]string{}
		for _, place := range page.Places {
			got[place.ID.String()] = fmt.Sprintf("%.17g", place.Score)
		}
		state, found, first := maps.Clone(scores), false, 0 // first: the number of writes that must be on the page
		for i, w := range writes {
			if confirmed[w.voter] < hour {
				first = i + 1
			}
		}
		for i, w := range append(slices.Clone(writes), write{}) {
			found = found || i >= first && maps.Equal(state, got)
			if begun[w.voter] >= hour {
				break
			}
			state[w.member] = w.score
		}
		if !found {
			t.Errorf("FrontPage(%v) is not the ranking between the writes before and after it", timeOf(hour))
		}
	}
	s.WantClean()
}

func TestFrontPagesEndWithTheirTime(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.FrontPages = 10 * time.Hour }, repotest.One)
	for range 30 {
		s.MustPost("alice")
		s.Clock.Advance(time.Hour)
	}
	if n := s.Do("ZCARD front:"); n != int64(11) {
		t.Errorf("%d pages are kept, want 11", n)
	}
	for hours, want := range map[time.Duration]bool{-1: false, 0: true, 11: true, 12: false} {
		page, err := s.Rankings.FrontPage(s.Ctx, s.Clock.Now().Add(-hours*time.Hour))
		if err != nil || (page != nil) != want {
			t.Errorf("page of %d hours ago = %v, %v, want one: %t", hours, page, err, want)
		}
	}
	s.WantClean()
}

func TestNoPagesAreSavedWithoutFrontPages(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.FrontPages = 0 })
	a := s.MustPost("alice")
	s.Clock.Advance(2 * time.Hour)
	s.MustVote(a.ID, "bob", site.Up)
	if dump := s.Dump(); strings.Contains(dump, "front:") || strings.Contains(dump, "best:") {
		t.Errorf("the store has front pages:\n%s", dump)
	}
	page, err := s.Rankings.FrontPage(s.Ctx, s.Clock.Now())
	best, bestErr := s.Rankings.BestRanks(s.Ctx, []site.ArticleID{a.ID})
	ranks, ranksErr := s.Rankings.FrontRanks(s.Ctx, 24)
	if page != nil || best[0] != nil || len(ranks.Of(a.ID)) > 0 || err != nil || bestErr != nil || ranksErr != nil {
		t.Errorf("page %v, best rank %v, ranks %v, want none", page, best[0], ranks.Of(a.ID))
	}
}

func TestNoFrontPageIsOverwrittenWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One) // a partition without a write in the hour has saved none
	a, b := s.MustPost("alice"), s.MustPost("alice")
	s.Clock.Advance(3 * time.Hour)
	s.MustVote(a.ID, "bob", site.Up) // saves the page
	at := s.Clock.Now()
	before := require.Value(s.Rankings.FrontPage(s.Ctx, at))(t)
	s.Clock.Advance(-2 * time.Hour)
	s.MustVote(b.ID, "bob", site.Up)
	s.MustVote(b.ID, "carol", site.Up)
	s.Clock.Advance(2 * time.Hour)
	s.MustVote(b.ID, "dave", site.Up)
	after, err := s.Rankings.FrontPage(s.Ctx, at)
	if err != nil || frontText(after) != frontText(before) {
		t.Errorf("FrontPage = %s, %v, want %s as before", frontText(after), err, frontText(before))
	}
	s.WantClean()
}

func TestRanksOfTooManyHoursAreRefused(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	for _, hours := range []int{0, -1, 721} {
		_, err := s.Rankings.FrontRanks(s.Ctx, hours)
		repotest.WantRefused(t, err, "INVALID hours")
	}
}

func TestWriteThatCannotSaveTheFrontPageChangesNothing(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 1 }, repotest.One)
	s.MustPost("alice", "go")
	s.MustDelete(s.MustPost("alice").ID, repotest.Moderator)
	s.Clock.Advance(time.Hour)
	s.Do("SET front: x")
	before := s.Dump()
	for what, write := range map[string]func() error{
		"vote":     func() error { _, err := s.Vote(s.Ctx, 1, "bob", site.Up, ""); return err },
		"delete":   func() error { _, err := s.Delete(s.Ctx, 1, repotest.Moderator, site.Why{}); return err },
		"undelete": func() error { _, err := s.Undelete(s.Ctx, 2, repotest.Moderator); return err },
		"import": func() error {
			_, errs := s.Import(s.Ctx, []redisrepo.Imported{repotest.Old(3, time.Hour, 5)})
			return errs[0]
		},
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%s: err = %v, want WRONGTYPE", what, err)
		}
		s.WantStore(before, what, ":")
	}
}

func TestExportKeepsFrontPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to int }{{1, 1}, {1, 4}, {4, 2}} {
		t.Run(fmt.Sprint(tt.from, " to ", tt.to), func(t *testing.T) {
			t.Parallel()
			w := newFrontWalk(repotest.New(t, oneHourIn, redisrepo.WithPartitions(tt.from)), 3)
			for range 2 {
				for range programtest.Size(100, 300) {
					w.step()
				}
				w.compare()
				w.Site = moved(w.Site, redisrepo.WithPartitions(tt.to))
				w.compare()
			}
		})
	}
}

// Front pages are remembered only since the feature is on: what they were before cannot be known.
func TestFrontPagesBeginAgainWhenTheyAreSwitchedOn(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice")
	s.Clock.Advance(time.Hour)
	s.MustVote(a.ID, "bob", site.Up)
	require.Value(s.Rankings.BestRanks(s.Ctx, []site.ArticleID{a.ID}))(t)
	first := s.Clock.Now()
	without := s.Reopened(s.Client(), func(r *site.Rules) { r.FrontPages = 0 })
	if keys, fields := s.Do("EXISTS front: best:"), s.Do("HMGET clock: front front_since ranked"); keys != int64(0) || fmt.Sprint(fields) != "[<nil> <nil> <nil>]" {
		t.Errorf("the store has %v keys of front pages, and the fields %v", keys, fields)
	}
	without.MustVote(a.ID, "carol", site.Up)
	again := without.Reopened(s.Client(), func(r *site.Rules) { r.FrontPages = time.Hour })
	for _, at := range []time.Time{first, s.Clock.Now()} {
		if page, err := again.Rankings.FrontPage(s.Ctx, at); page != nil || err != nil {
			t.Errorf("FrontPage(%v) = %s, %v, want none", at, frontText(page), err)
		}
	}
	s.Clock.Advance(time.Hour)
	if page, err := again.Rankings.FrontPage(s.Ctx, s.Clock.Now()); page == nil || err != nil {
		t.Errorf("FrontPage after the next full hour = %v, %v, want one", page, err)
	}
	again.WantClean()
}

// A front page is saved before votes are taken out, and past ones and best ranks stay.
func TestVoidedVotesLeavePastFrontPages(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.Clock.Set(10 * time.Minute)
	s.MustPost("alice")
	s.MustPost("alice")
	s.MustVote(1, "eve", site.Up)
	s.Clock.Advance(time.Hour)
	require.Value(s.Void(1, true, "eve"))(t)
	page := require.Value(s.Rankings.FrontPage(s.Ctx, s.Clock.Now().Truncate(time.Hour)))(t)
	if got := frontText(page); !strings.Contains(got, "1") || page.Places[0].ID != 1 {
		t.Errorf("the front page is %s, want article:1 first, as it was", got)
	}
	s.WantList(lists.AllArticles(site.ByScore, site.Descending), 2, 1)
	s.WantClean()
}
