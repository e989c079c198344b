package redisrepo_test

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
	"frontpage/tests/require"
)

func (s *testSite) watchEvents(after string, kinds ...events.EventKind) *live.Watch {
	s.t.Helper()
	w := require.Value(s.Live.WatchEvents(s.ctx, "after", after, kinds))(s.t)
	s.t.Cleanup(w.Close)
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
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		l := s.reopened(s.client(), nil, redisrepo.WithPartitions(len(tags))).listen(tags...)
		s.addEvents(entry{"1000", "posted", 1, 1})
		watcher := l.watchEvents("")
		page := s.events(nil, 1)
		for len(page.Edges) == 0 { // the entries of listen, which are no events, may be more than a page looks at
			page = s.events(page.PageInfo.EndCursor, 1)
		}
		after := *page.PageInfo.EndCursor
		var want []string
		for i := range 350 { // more than a watch holds
			s.addEvents(entry{fmt.Sprint(2000 + i), "voted", 1 + i%2, 2 + i/2})
			want = append(want, fmt.Sprintf("%d.%d", 1+i%2, 2+i/2))
		}
		late := l.watchEvents(after)
		if late.Cursor() != after {
			t.Error("the cursor of a watch that has delivered nothing is not the one that it began with")
		}
		if got, _ := takeEvents(t, watcher, 350); got != strings.Join(want, " ") {
			t.Errorf("live: got %s", got)
		}
		got, cursor := takeEvents(t, late, 123)
		rest, _ := takeEvents(t, l.watchEvents(cursor), 350-123)
		if got+" "+rest != strings.Join(want, " ") {
			t.Errorf("in two parts: got %s and %s", got, rest)
		}
		s.addEvents(entry{"5000", "deleted", 2, 500})
		for name, w := range map[string]*live.Watch{"live": watcher, "from the end": l.watchEvents(late.Cursor())} {
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
	l := newSite(t, nil, one).listen()
	l.addEvents(entry{"100000", "posted", 1, 1})
	w := l.watchEvents("")
	l.addEvents(entry{"100001", "voted", 1, 2})
	takeEvents(t, w, 1)
	l.raw.XDel(l.ctx, "events:", "100001-0")
	l.addEvents(entry{"100005", "voted", 1, 2}, entry{"100006", "voted", 1, 3})
	if got, _ := takeEvents(t, w, 3); got != "!1.1 1.2 1.3" {
		t.Errorf("got %s, want a gap and the 10 s before it", got)
	}
}

func TestWatchThatIsTooSlowHasAGap(t *testing.T) {
	t.Parallel()
	l := newSite(t, func(r *site.Rules) { r.Events = 3 }, one).listen()
	l.addEvents(entry{"1000", "posted", 1, 1})
	w := l.watchEvents("")
	for i := range 10 {
		l.addEvents(entry{fmt.Sprint(2000 + i), "voted", 1, i + 2})
	}
	l.raw.XTrimMaxLen(l.ctx, "events:", 3)
	if got, _ := takeEvents(t, w, 3); got != "!1.9 1.10 1.11" {
		t.Errorf("got %s, want a gap and what is kept", got)
	}
	if _, err := l.Live.WatchEvents(l.ctx, "after", w.Cursor(), nil); err != nil {
		t.Errorf("after the gap: %v", err)
	}
}

func TestWatchOfEventsSurvivesAnOutage(t *testing.T) { // with the race detector
	t.Parallel()
	s := newSite(t, nil, one)
	var down atomic.Bool
	refusing := redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		if down.Load() && slices.ContainsFunc(commands, func(c redis.Cmder) bool { return c.Name() == "xrange" }) {
			return redistest.Fail(errCut, commands)
		}
		return send(ctx, commands)
	})
	l := s.reopened(s.client(refusing), nil, one).listen()
	w := l.watchEvents("")
	down.Store(true)
	s.addEvents(entry{"1000", "posted", 1, 1})
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
	s := newSite(t, nil, one)
	var reads atomic.Int64
	count := redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			if c.Name() == "xrange" {
				reads.Add(1)
			}
		}
	})
	l := s.reopened(s.client(count), nil, one).listen()
	watches := make([]*live.Watch, 100)
	for i := range watches {
		watches[i] = l.watchEvents("")
	}
	for round := range 3 {
		before := reads.Load()
		for i := range 20 {
			s.addEvents(entry{fmt.Sprint(1000*round + i + 1), "voted", 1, 20*round + i + 1})
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
	s := newSite(t, nil, one)
	if _, err := s.Live.WatchEvents(s.ctx, "Last-Event-ID", "x", nil); !errors.As(err, new(site.Refusal)) || !strings.Contains(err.Error(), "Last-Event-ID") {
		t.Errorf("no cursor: got %v, want a refusal that names the header", err)
	}
	off := s.reopened(s.server.Client, func(r *site.Rules) { r.Events = 0 }, one)
	if _, err := off.Live.WatchEvents(s.ctx, "after", "", nil); !errors.As(err, new(site.Refusal)) {
		t.Errorf("without events: got %v, want a refusal", err)
	}
}

// A watch that has read everything shares no read of before the next event.
func TestIdleWatchGetsTheNextEvent(t *testing.T) {
	t.Parallel()
	l := newSite(t, nil, one).listen()
	w := l.watchEvents("")
	for i := range 3 {
		for w.Behind() {
			if _, ok := w.Take(); ok || w.CatchUp(t.Context()) != nil {
				t.Fatal("there is nothing to take")
			}
		}
		l.addEvents(entry{fmt.Sprint(1000 + i), "voted", 1, i + 1})
		if got, _ := takeEvents(t, w, 1); got != fmt.Sprintf("1.%d", i+1) {
			t.Errorf("got %s, want 1.%d", got, i+1)
		}
	}
}

// A watch that resumes gets all events at once, also where one that follows them live had a read for each.
func TestResumedWatchSharesNoReadOfAFewEvents(t *testing.T) {
	t.Parallel()
	l := newSite(t, nil, one).listen()
	live := l.watchEvents("")
	var cursors []string
	for i := range 4 {
		l.addEvents(entry{fmt.Sprint(1000 + i), "voted", 1, i + 1})
		_, cursor := takeEvents(t, live, 1)
		cursors = append(cursors, cursor)
	}
	late := l.watchEvents(cursors[0])
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
func watchedVote(l *listener, counted *counter, user site.UserName, a *site.Article) (site.Vote, int) {
	l.t.Helper()
	counted.reset()
	vote, err := l.Live.WatchedVote(l.ctx, user, a)
	if err != nil || vote == nil {
		l.t.Fatalf("WatchedVote of %s: %v, %v", user, vote, err)
	}
	return *vote, counted.reset().trips
}

func TestWatchedVoteIsReadOnce(t *testing.T) {
	t.Parallel()
	other, counted := newSite(t, nil), new(counter)
	id := other.post("alice").ID
	l := other.reopened(other.client(redistest.Before(func(commands ...redis.Cmder) {
		if name := commands[0].Name(); name != "xrange" && name != "hmget" { // of the log
			counted.add(commands...)
		}
	})), nil).listen()
	w := l.watch(id)
	a := l.article(id)
	if vote, trips := watchedVote(l, counted, "bob", a); vote != none || trips != 1 {
		t.Errorf("WatchedVote of bob = %d in %d round trips, want 0 in 1", vote, trips)
	}
	if vote, trips := watchedVote(l, counted, "alice", a); vote != up || trips != 1 {
		t.Errorf("WatchedVote of alice = %d in %d round trips, want 1 in 1", vote, trips)
	}
	// Until a message has arrived, a cached position may be outdated.
	other.vote(id, "carol", up)
	next(t, w)
	for _, user := range []site.UserName{"bob", "alice"} {
		watchedVote(l, counted, user, a)
	}
	for _, step := range []struct {
		by   *testSite
		vote site.Vote
	}{{other, up}, {l.testSite, down}, {other, none}, {l.testSite, up}, {other, down}} {
		step.by.vote(id, "bob", step.vote)
		for next(t, w).Votes != 2+int(step.vote) {
			continue
		}
		want := 0
		if step.by == l.testSite { // replies of one process may arrive in another order than their votes
			want = 1
		}
		if vote, trips := watchedVote(l, counted, "bob", a); vote != step.vote || trips != want {
			t.Errorf("WatchedVote of bob after the vote = %d in %d round trips, want %d in %d", vote, trips, step.vote, want)
		}
		if vote, trips := watchedVote(l, counted, "alice", a); vote != up || trips != 0 {
			t.Errorf("WatchedVote of alice after the vote = %d in %d round trips, want 1 in 0", vote, trips)
		}
	}
}

func TestOwnVoteUpdatesTheWatchedVoteAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil) // without Listen
	a := s.post("alice")
	require.Value(s.Live.WatchArticles(s.ctx, []site.ArticleID{a.ID}))(t)
	for _, want := range []site.Vote{none, up, down, none} {
		s.vote(a.ID, "bob", want)
		if vote, err := s.Live.WatchedVote(s.ctx, "bob", a); err != nil || *vote != want {
			t.Errorf("WatchedVote = %v, %v, want %d", vote, err, want)
		}
	}
}

func TestWatchedVoteIsReadAgainAfterAnOutage(t *testing.T) {
	t.Parallel()
	l, other, f := cutSite(t)
	id := other.post("alice").ID
	w := l.watch(id)
	a := l.article(id)
	if vote, err := l.Live.WatchedVote(l.ctx, "bob", a); err != nil || *vote != none {
		t.Fatalf("WatchedVote = %v, %v, want none", vote, err)
	}
	l.cut(f)
	other.vote(id, "bob", up)
	f.dial.Store(false)
	if got := next(t, w); got.Votes != 2 {
		t.Errorf("delivered %d votes, want 2", got.Votes)
	}
	if vote, err := l.Live.WatchedVote(l.ctx, "bob", a); err != nil || *vote != up {
		t.Errorf("WatchedVote after the outage = %v, %v, want up", vote, err)
	}
}

func TestWatchedVoteIsForgottenWithTheVoters(t *testing.T) {
	t.Parallel()
	s := newSite(t, noFeatures)
	a := s.post("alice")
	require.Value(s.Live.WatchArticles(s.ctx, []site.ArticleID{a.ID}))(t)
	if vote, err := s.Live.WatchedVote(s.ctx, "alice", a); err != nil || *vote != up {
		t.Fatal(vote, err)
	}
	s.clock.set(2 * week)
	if vote, err := s.Live.WatchedVote(s.ctx, "alice", a); err != nil || vote != nil {
		t.Errorf("WatchedVote = %v, %v, want none known", vote, err)
	}
}
