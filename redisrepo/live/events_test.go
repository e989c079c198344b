package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func watchEvents(s *repotest.Site, after string, kinds ...events.EventKind) *live.Watch {
	s.T.Helper()
	w := require.Value(s.Live.WatchEvents(s.Ctx, "after", after, kinds))(s.T)
	s.T.Cleanup(w.Close)
	return w
}

// takeEvents takes n events, and returns them as "article.revision", the first one after a gap with a !, and the cursor
// after them.
func takeEvents(t *testing.T, w *live.Watch, n int) (text, cursor string) {
	t.Helper()
	var texts []string
	for range n {
		d := delivery(t, w)
		e, gap := d.Event(), ""
		if e.Gap {
			gap = "!"
		}
		texts, cursor = append(texts, fmt.Sprintf("%s%d.%d", gap, e.Node.Article, e.Node.Revision)), d.Cursor()
		d.Done(true)
	}
	return strings.Join(texts, " "), cursor
}

func TestEventsGoOnAfterACursor(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		l := listen(s.Reopened(s.Client(), nil, redisrepo.WithPartitions(len(tags))), tags...)
		s.AddEvents("1000 posted 1 1")
		watcher := watchEvents(l.Site, "")
		page := s.Events(nil, 1)
		for len(page.Edges) == 0 { // the entries of listen, which are no events, may be more than a page looks at
			page = s.Events(page.PageInfo.EndCursor, 1)
		}
		after := *page.PageInfo.EndCursor
		var want []string
		for i := range 350 { // more than a watch holds
			s.AddEvents(fmt.Sprintf("%d voted %d %d", 2000+i, 1+i%2, 2+i/2))
			want = append(want, fmt.Sprintf("%d.%d", 1+i%2, 2+i/2))
		}
		late := watchEvents(l.Site, after)
		if late.Cursor() != after {
			t.Error("the cursor of a watch that has delivered nothing is not the one that it began with")
		}
		if got, _ := takeEvents(t, watcher, 350); got != strings.Join(want, " ") {
			t.Errorf("live: got %s", got)
		}
		got, cursor := takeEvents(t, late, 123)
		rest, _ := takeEvents(t, watchEvents(l.Site, cursor), 350-123)
		if got+" "+rest != strings.Join(want, " ") {
			t.Errorf("in two parts: got %s and %s", got, rest)
		}
		s.AddEvents("5000 deleted 2 500")
		for name, w := range map[string]*live.Watch{"live": watcher, "from the end": watchEvents(l.Site, late.Cursor())} {
			if name == "from the end" {
				takeEvents(t, w, 350-123)
			}
			if got, _ := takeEvents(t, w, 1); got != "2.500" {
				t.Errorf("%s: got %s, want 2.500, nothing twice", name, got)
			}
		}
		l.wantReports(0)
	})
}

func TestWatchOfALostMomentHasAGap(t *testing.T) {
	t.Parallel()
	l := listen(repotest.New(t, nil, repotest.One))
	l.AddEvents("100000 posted 1 1")
	w := watchEvents(l.Site, "")
	l.AddEvents("100001 voted 1 2")
	takeEvents(t, w, 1)
	l.Raw.XDel(l.Ctx, "events:", "100001-0")
	l.AddEvents("100005 voted 1 2", "100006 voted 1 3")
	if got, _ := takeEvents(t, w, 3); got != "!1.1 1.2 1.3" {
		t.Errorf("got %s, want a gap and the 10 s before it", got)
	}
}

func TestWatchThatIsTooSlowHasAGap(t *testing.T) {
	t.Parallel()
	l := listen(repotest.New(t, func(r *site.Rules) { r.Events = 3 }, repotest.One))
	l.AddEvents("1000 posted 1 1")
	w := watchEvents(l.Site, "")
	for i := range 10 {
		l.AddEvents(fmt.Sprintf("%d voted 1 %d", 2000+i, i+2))
	}
	l.Raw.XTrimMaxLen(l.Ctx, "events:", 3)
	if got, _ := takeEvents(t, w, 3); got != "!1.9 1.10 1.11" {
		t.Errorf("got %s, want a gap and what is kept", got)
	}
	if _, err := l.Live.WatchEvents(l.Ctx, "after", w.Cursor(), nil); err != nil {
		t.Errorf("after the gap: %v", err)
	}
}

func TestWatchOfEventsSurvivesAnOutage(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	var down atomic.Bool
	refusing := redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		if down.Load() && slices.ContainsFunc(commands, func(c redis.Cmder) bool { return c.Name() == "xrange" }) {
			return redistest.Fail(errCut, commands)
		}
		return send(ctx, commands)
	})
	l := listen(s.Reopened(s.Client(refusing), nil, repotest.One))
	w := watchEvents(l.Site, "")
	down.Store(true)
	s.AddEvents("1000 posted 1 1")
	for w.CatchUp(t.Context()) == nil { // from before
		await(t, w.Wake(), "a signal")
	}
	down.Store(false)
	if got, _ := takeEvents(t, w, 1); got != "1.1" {
		t.Errorf("got %s, want 1.1", got)
	}
}

// Watches that are up to date read the feed together.
func TestWatchesOfEventsShareReads(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	var reads atomic.Int64
	count := redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			if c.Name() == "xrange" {
				reads.Add(1)
			}
		}
	})
	l := listen(s.Reopened(s.Client(count), nil, repotest.One))
	watches := make([]*live.Watch, 100)
	for i := range watches {
		watches[i] = watchEvents(l.Site, "")
	}
	for round := range 3 {
		before := reads.Load()
		for i := range 20 {
			s.AddEvents(fmt.Sprintf("%d voted 1 %d", 1000*round+i+1, 20*round+i+1))
		}
		for _, w := range watches {
			takeEvents(t, w, 20)
		}
		if n := reads.Load() - before; n > 70 {
			t.Errorf("%d reads for 100 watches of 20 events", n)
		}
	}
}

func TestWatchOfEventsIsRefused(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	if _, err := s.Live.WatchEvents(s.Ctx, "Last-Event-ID", "x", nil); !errors.As(err, new(site.Refusal)) || !strings.Contains(err.Error(), "Last-Event-ID") {
		t.Errorf("no cursor: got %v, want a refusal that names the header", err)
	}
	off := s.Reopened(s.Server.Client, func(r *site.Rules) { r.Events = 0 }, repotest.One)
	if _, err := off.Live.WatchEvents(s.Ctx, "after", "", nil); !errors.As(err, new(site.Refusal)) {
		t.Errorf("without events: got %v, want a refusal", err)
	}
}

// A watch that has read everything shares no read of before the next event.
func TestIdleWatchGetsTheNextEvent(t *testing.T) {
	t.Parallel()
	l := listen(repotest.New(t, nil, repotest.One))
	w := watchEvents(l.Site, "")
	for i := range 3 {
		for w.Behind() {
			if _, ok := w.Take(); ok || w.CatchUp(t.Context()) != nil {
				t.Fatal("there is nothing to take")
			}
		}
		l.AddEvents(fmt.Sprintf("%d voted 1 %d", 1000+i, i+1))
		if got, _ := takeEvents(t, w, 1); got != fmt.Sprintf("1.%d", i+1) {
			t.Errorf("got %s, want 1.%d", got, i+1)
		}
	}
}

// A watch that resumes gets all events at once, also where one that follows them live had a read for each.
func TestResumedWatchSharesNoReadOfAFewEvents(t *testing.T) {
	t.Parallel()
	l := listen(repotest.New(t, nil, repotest.One))
	live := watchEvents(l.Site, "")
	var cursors []string
	for i := range 4 {
		l.AddEvents(fmt.Sprintf("%d voted 1 %d", 1000+i, i+1))
		_, cursor := takeEvents(t, live, 1)
		cursors = append(cursors, cursor)
	}
	late := watchEvents(l.Site, cursors[0])
	require.NoError(t, late.CatchUp(t.Context()))
	for n := range 3 {
		d, ok := late.Take()
		if !ok || d.Event().Node.Revision != n+2 {
			t.Fatalf("took event %d: %t", n+2, ok)
		}
		d.Done(true)
	}
}

// watchedVote returns the user's position on a watched article and the round trips that reading it took.
func watchedVote(l *listener, counted *repotest.Counter, user site.UserName, a *site.Article) (site.Vote, int) {
	l.T.Helper()
	counted.Reset()
	vote, err := l.Live.WatchedVote(l.Ctx, user, a)
	if err != nil || vote == nil {
		l.T.Fatalf("WatchedVote of %s: %v, %v", user, vote, err)
	}
	return *vote, counted.Reset().Trips
}

func TestWatchedVoteIsReadOnce(t *testing.T) {
	t.Parallel()
	other, counted := repotest.New(t, nil), new(repotest.Counter)
	id := other.MustPost("alice").ID
	l := listen(other.Reopened(other.Client(redistest.Before(func(commands ...redis.Cmder) {
		if name := commands[0].Name(); name != "xrange" && name != "hmget" { // of the log
			counted.Add(commands...)
		}
	})), nil))
	w := l.watch(id)
	a := l.Article(id)
	if vote, trips := watchedVote(l, counted, "bob", a); vote != site.None || trips != 1 {
		t.Errorf("WatchedVote of bob = %d in %d round trips, want 0 in 1", vote, trips)
	}
	if vote, trips := watchedVote(l, counted, "alice", a); vote != site.Up || trips != 1 {
		t.Errorf("WatchedVote of alice = %d in %d round trips, want 1 in 1", vote, trips)
	}
	// Until a message has arrived, a cached position may be outdated.
	other.MustVote(id, "carol", site.Up)
	next(t, w)
	for _, user := range []site.UserName{"bob", "alice"} {
		watchedVote(l, counted, user, a)
	}
	for _, step := range []struct {
		by   *repotest.Site
		vote site.Vote
	}{{other, site.Up}, {l.Site, site.Down}, {other, site.None}, {l.Site, site.Up}, {other, site.Down}} {
		step.by.MustVote(id, "bob", step.vote)
		for next(t, w).Votes != 2+int(step.vote) {
			continue
		}
		want := 0
		if step.by == l.Site { // replies of one process may arrive in another order than their votes
			want = 1
		}
		if vote, trips := watchedVote(l, counted, "bob", a); vote != step.vote || trips != want {
			t.Errorf("WatchedVote of bob after the vote = %d in %d round trips, want %d in %d", vote, trips, step.vote, want)
		}
		if vote, trips := watchedVote(l, counted, "alice", a); vote != site.Up || trips != 0 {
			t.Errorf("WatchedVote of alice after the vote = %d in %d round trips, want 1 in 0", vote, trips)
		}
	}
}

func TestOwnVoteUpdatesTheWatchedVoteAtOnce(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil) // without Listen
	a := s.MustPost("alice")
	require.Value(s.Live.WatchArticles(s.Ctx, []site.ArticleID{a.ID}))(t)
	for _, want := range []site.Vote{site.None, site.Up, site.Down, site.None} {
		s.MustVote(a.ID, "bob", want)
		if vote, err := s.Live.WatchedVote(s.Ctx, "bob", a); err != nil || *vote != want {
			t.Errorf("WatchedVote = %v, %v, want %d", vote, err, want)
		}
	}
}

func TestWatchedVoteIsReadAgainAfterAnOutage(t *testing.T) {
	t.Parallel()
	l, other, f := cutSite(t)
	id := other.MustPost("alice").ID
	w := l.watch(id)
	a := l.Article(id)
	if vote, err := l.Live.WatchedVote(l.Ctx, "bob", a); err != nil || *vote != site.None {
		t.Fatalf("WatchedVote = %v, %v, want none", vote, err)
	}
	l.cut(f)
	other.MustVote(id, "bob", site.Up)
	f.dial.Store(false)
	if got := next(t, w); got.Votes != 2 {
		t.Errorf("delivered %d votes, want 2", got.Votes)
	}
	if vote, err := l.Live.WatchedVote(l.Ctx, "bob", a); err != nil || *vote != site.Up {
		t.Errorf("WatchedVote after the outage = %v, %v, want up", vote, err)
	}
}

func TestWatchedVoteIsForgottenWithTheVoters(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, repotest.NoFeatures)
	a := s.MustPost("alice")
	require.Value(s.Live.WatchArticles(s.Ctx, []site.ArticleID{a.ID}))(t)
	if vote, err := s.Live.WatchedVote(s.Ctx, "alice", a); err != nil || *vote != site.Up {
		t.Fatal(vote, err)
	}
	s.Clock.Set(2 * repotest.Week)
	if vote, err := s.Live.WatchedVote(s.Ctx, "alice", a); err != nil || vote != nil {
		t.Errorf("WatchedVote = %v, %v, want none known", vote, err)
	}
}
