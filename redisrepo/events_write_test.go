package redisrepo_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// story returns all events of the feed, one a line.
func (s *testSite) story() string {
	s.t.Helper()
	var lines []string
	after := ""
	for more := true; more; {
		page := s.events(&after, events.MaxEvents)
		for _, e := range page.Edges {
			n := e.Node
			line := fmt.Sprintf("%s %v r%d votes %d-%d score %.0f by %s", n.Kind, n.Article, n.Revision, n.Votes+n.Downvotes, n.Downvotes, n.Score-float64(opened.Unix()), n.By.Name)
			if n.Direction != nil {
				line += fmt.Sprintf(" direction %d", *n.Direction)
			}
			if n.Groups != nil {
				line += fmt.Sprintf(" groups %v", n.Groups)
			}
			if n.Milestone != nil {
				line += fmt.Sprintf(" milestone %d", *n.Milestone)
			}
			lines = append(lines, line)
			if now := s.raw.Time(s.ctx).Val(); n.At.After(now) || n.At.Before(now.Add(-time.Minute)) {
				s.t.Errorf("%s: at %v, now is %v", line, n.At, now)
			}
		}
		after, more = *page.PageInfo.EndCursor, page.PageInfo.HasNextPage
	}
	return strings.Join(lines, "\n")
}

// Each change has one event, and what changes nothing has none.
func TestChangesHaveEvents(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		id := s.post("alice", "go", "redis").ID
		for range 2 { // the second time nothing changes
			s.vote(id, "bob", up)
		}
		s.vote(id, "bob", down)
		s.vote(id, "bob", none)
		for range 2 {
			require.Value(s.Regroup(s.ctx, id, alice(), []string{"c"}, []string{"go"}))(t)
			require.Value(s.Edit(s.ctx, id, alice(), redisrepo.Edit{Title: new("other")}))(t)
		}
		require.Value(s.Edit(s.ctx, id, moderator, redisrepo.Edit{Title: new("third"), Groups: []string{"d"}}))(t)
		require.Value(s.Edit(s.ctx, id, alice(), redisrepo.Edit{Groups: []string{}}))(t)
		for range 2 {
			s.delete(id, moderator)
		}
		for range 2 {
			require.Value(s.Undelete(s.ctx, id, moderator))(t)
		}
		want := strings.ReplaceAll(`posted ID r1 votes 1-0 score 432 by alice groups [go redis]
voted ID r2 votes 2-0 score 864 by bob direction 1
voted ID r3 votes 1-1 score 0 by bob direction -1
voted ID r4 votes 1-0 score 432 by bob direction 0
regrouped ID r5 votes 1-0 score 432 by alice groups [c redis]
edited ID r6 votes 1-0 score 432 by alice groups [c redis]
edited ID r7 votes 1-0 score 432 by MODERATOR groups [d]
regrouped ID r8 votes 1-0 score 432 by alice groups []
deleted ID r9 votes 1-0 score 432 by MODERATOR
undeleted ID r10 votes 1-0 score 432 by MODERATOR groups []`, "ID", id.String())
		want = strings.ReplaceAll(want, "MODERATOR", string(moderator.Name))
		if got := s.story(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		s.wantClean()
	})
}

func TestMilestonesFollowTheirVotes(t *testing.T) {
	t.Parallel()
	g := newSite(t, func(r *site.Rules) { r.Milestones = []int{2, 5, 6} })
	id := g.post("alice", "go", "redis").ID
	for _, voter := range []site.UserName{"warm", "first", "v0", "v1", "v2"} {
		g.vote(id, voter, up)
	}
	want := `posted ID r1 votes 1-0 score 432 by alice groups [go redis]
voted ID r2 votes 2-0 score 864 by warm direction 1
milestone ID r2 votes 2-0 score 864 by warm milestone 2
voted ID r3 votes 3-0 score 1296 by first direction 1
voted ID r4 votes 4-0 score 1728 by v0 direction 1
voted ID r5 votes 5-0 score 2160 by v1 direction 1
milestone ID r5 votes 5-0 score 2160 by v1 milestone 5
voted ID r6 votes 6-0 score 2592 by v2 direction 1
milestone ID r6 votes 6-0 score 2592 by v2 milestone 6`
	if got := g.story(); got != strings.ReplaceAll(want, "ID", id.String()) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// milestones returns the events of that kind: the net votes of each.
func (s *testSite) milestones() (numbers []int) {
	s.t.Helper()
	for _, e := range s.events(nil, events.MaxEvents, events.EventMilestone).Edges {
		numbers = append(numbers, *e.Node.Milestone)
	}
	return numbers
}

func TestMilestonesAreReachedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Milestones = []int{2, 3, 4} })
	id := s.post("alice").ID
	want := func(when string, numbers ...int) {
		t.Helper()
		if got := s.milestones(); fmt.Sprint(got) != fmt.Sprint(numbers) {
			t.Errorf("%s: got milestones %v, want %v", when, got, numbers)
		}
	}
	want("after the post")
	s.vote(id, "a", up)
	want("2 votes", 2)
	s.vote(id, "a", down)
	s.vote(id, "a", up)
	want("2 votes again", 2)
	s.vote(id, "b", down)
	s.vote(id, "c", up)
	s.vote(id, "b", up) // from 2 to 4
	want("two votes at once", 2, 3, 4)
	s.wantClean()

	s = s.reopened(s.server.Client, func(r *site.Rules) { r.Milestones = []int{1, 3, 5} })
	s.vote(id, "a", none)
	s.vote(id, "a", up)
	s.vote(id, "d", up)
	want("other milestones", 2, 3, 4, 5)

	s = s.reopened(s.server.Client, func(r *site.Rules) { r.Milestones = nil })
	s.vote(id, "e", up)
	want("no milestones", 2, 3, 4, 5)
}

func TestImportsHaveNoEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.imports(old(7, time.Hour, 9))
	s.vote(7, "bob", up)
	if got := s.story(); strings.Contains(got, "posted") || !strings.Contains(got, "voted article:7 r2 votes 10-0") || len(s.milestones()) != 1 {
		t.Errorf("got %s, want the vote and its milestone", got)
	}
}

func TestSitesWithoutAFeedWriteNone(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Events, r.Milestones = 0, []int{1, 2} }, one)
	id := s.post("alice", "go").ID
	s.vote(id, "bob", up)
	s.delete(id, moderator)
	require.NoError(t, s.Views.CatchUpAll(s.ctx))
	_, err := s.Log.Events(s.ctx, nil, nil, nil)
	if wantRefused(t, err, "INVALID"); s.raw.HExists(s.ctx, "article:1", "milestone").Val() {
		t.Error("a site without events has a feed, or milestones")
	}
}

// EVENTS bounds the stream, about.
func TestFeedDropsItsOldestEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Events = 200 }, one)
	s.Views.Young = 0
	id := s.post("alice").ID
	first := s.events(nil, 1).Edges[0].Cursor()
	for i := range 600 {
		s.vote(id, site.UserName(fmt.Sprint("v", i)), up)
	}
	require.NoError(t, s.Views.CatchUpAll(s.ctx))
	if n := s.raw.XLen(s.ctx, "events:").Val(); n != 200 {
		t.Errorf("the feed has %d events, want 200", n)
	}
	if _, err := s.Log.Events(s.ctx, &first, nil, nil); err == nil {
		t.Error("a cursor of the first event is not expired")
	}
	s.wantClean()
}

// reader is a consumer of the change feed that stores its cursor after it has acted on an event. It is killed at random.
type reader struct {
	*listener
	random *rand.Rand
	acted  map[string]bool
	kills  int

	cursor string // stored, and with it the next:
	last   map[site.ArticleID]int
	gapped bool
}

// take acts on an event. It returns false if the reader is killed before it acts, or before it stores the cursor.
func (r *reader) take(e *events.EventEdge) bool {
	n := e.Node
	dies := r.random.IntN(100)
	if r.kills += 1 - min(dies/2, 1); dies == 0 {
		return false
	}
	if e.Gap {
		r.last, r.gapped = map[site.ArticleID]int{}, true
	}
	last, known := r.last[n.Article]
	if ordered := n.Revision == last+1 || n.Milestone != nil && n.Revision == last; !ordered && (known || !r.gapped) {
		r.t.Errorf("%s of %v, revision %d, came after revision %d", n.Kind, n.Article, n.Revision, last)
	}
	r.acted[fmt.Sprint(n.Kind, n.Article, n.Revision, n.At.UnixMilli())] = true
	if dies == 1 {
		return false
	}
	r.cursor, r.last[n.Article] = e.Cursor(), n.Revision
	return true
}

// poll reads a page. It reports whether others follow, or it failed.
func (r *reader) poll() (more bool) {
	page, err := r.Log.Events(r.ctx, &r.cursor, nil, new(1+r.random.IntN(200)))
	if err != nil {
		return true
	}
	for _, e := range page.Edges {
		if !r.take(e) {
			return true
		}
	}
	r.cursor = *page.PageInfo.EndCursor
	return page.PageInfo.HasNextPage
}

// follow watches until the reader is killed or over is closed.
func (r *reader) follow(over <-chan struct{}) {
	w, err := r.Live.WatchEvents(r.ctx, "after", r.cursor, nil)
	if err != nil {
		return
	}
	defer w.Close()
	for {
		for d, ok := w.Take(); ok; d, ok = w.Take() {
			if !r.take(d.Event()) {
				return
			}
		}
		if w.Behind() && w.CatchUp(r.ctx) == nil {
			continue
		}
		select {
		case <-w.Wake():
		case <-over:
			return
		}
	}
}

// Consumers that are killed see every revision of every article, in order, while Redis is killed, too.
func TestKilledConsumersSeeEveryRevision(t *testing.T) { // with the race detector
	t.Parallel()
	const rounds, changesBetween = 3, 600
	s := newSite(t, func(r *site.Rules) { r.Milestones = []int{3, 6} })
	s.server.Own()
	l := s.reopened(s.client(), nil).listen()
	start := *s.events(nil, 1).PageInfo.EndCursor
	var acknowledged atomic.Int64
	over := make(chan struct{})
	ended := func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	}
	var writers, following sync.WaitGroup
	for worker := range 4 {
		random := rand.New(rand.NewPCG(1, uint64(worker))) // #nosec G115 -- not negative
		writers.Go(func() {
			var own []site.ArticleID
			for i := 0; !ended(); i++ {
				if len(own) == 0 || random.IntN(20) == 0 {
					a, err := s.Post(s.ctx, "alice", site.Draft{Title: "t", Text: new("t"), Groups: []string{"go"}})
					if err != nil {
						continue
					}
					own = append(own, a.ID)
				}
				id := own[random.IntN(len(own))]
				var err error
				switch n := random.IntN(20); n {
				case 0:
					_, err = s.Delete(s.ctx, id, moderator, site.Why{})
				case 1, 2:
					_, err = s.Undelete(s.ctx, id, moderator)
				case 3:
					_, err = s.Regroup(s.ctx, id, alice(), []string{fmt.Sprint("g", random.IntN(3))}, []string{fmt.Sprint("g", random.IntN(3))})
				default:
					_, err = s.Vote(s.ctx, id, site.UserName(fmt.Sprint(worker, "-", random.IntN(9))), site.Vote(random.IntN(3)-1), "")
				}
				if err == nil {
					acknowledged.Add(1)
				}
			}
		})
	}
	var readers []*reader
	for i := range 2 {
		r := &reader{listener: l, random: rand.New(rand.NewPCG(2, uint64(i))), acted: map[string]bool{}, cursor: start, last: map[site.ArticleID]int{}} // #nosec G115 -- not negative
		readers = append(readers, r)
		following.Go(func() {
			for !ended() {
				if r.random.IntN(2) == 0 {
					r.poll()
				} else {
					r.follow(over)
				}
			}
		})
	}
	limit := time.Now().Add(require.Timeout)
	for range rounds {
		enough := acknowledged.Load() + changesBetween
		require.Eventually(t, "acknowledged changes", func() bool { return acknowledged.Load() >= enough || time.Now().After(limit) })
		s.server.Kill()
		s.server.Restart()
	}
	close(over)
	writers.Wait()
	following.Wait()

	fresh := s.reopened(s.client(), nil)
	kept, revisions := map[string]bool{}, map[site.ArticleID]int{}
	after := ""
	for more := true; more; {
		page := fresh.events(&after, events.MaxEvents)
		for _, e := range page.Edges {
			kept[fmt.Sprint(e.Node.Kind, e.Node.Article, e.Node.Revision, e.Node.At.UnixMilli())] = true
			revisions[e.Node.Article] = e.Node.Revision
		}
		after, more = *page.PageInfo.EndCursor, page.PageInfo.HasNextPage
	}
	for id, newest := range revisions {
		if found, _ := fresh.Articles.ArticlesByID(s.ctx, []site.ArticleID{id}); found[0] != nil && found[0].Revision() != newest {
			t.Errorf("%v has %d revisions, and events up to %d", id, found[0].Revision(), newest)
		}
	}
	for i, r := range readers {
		for r.poll() {
			continue
		}
		missed := 0
		for e := range kept {
			if !r.acted[e] {
				missed++
				t.Logf("missed %s", e)
			}
		}
		if missed > 0 || r.kills < 5 {
			t.Errorf("reader %d was killed %d times and missed %d of %d events", i, r.kills, missed, len(kept))
		}
	}
	if len(kept) < rounds*changesBetween/4 {
		t.Errorf("only %d events", len(kept))
	}
	fresh.wantClean()
}
