package events_test

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
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// Each change has one event, and what changes nothing has none.
func TestChangesHaveEvents(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		id := s.MustPost("alice", "go", "redis").ID
		for range 2 { // the second time nothing changes
			s.MustVote(id, "bob", site.Up)
		}
		s.MustVote(id, "bob", site.Down)
		s.MustVote(id, "bob", site.None)
		for range 2 {
			require.Value(s.Regroup(s.Ctx, id, repotest.Alice(), []string{"c"}, []string{"go"}))(t)
			require.Value(s.Edit(s.Ctx, id, repotest.Alice(), redisrepo.Edit{Title: new("other")}))(t)
		}
		require.Value(s.Edit(s.Ctx, id, repotest.Moderator, redisrepo.Edit{Title: new("third"), Groups: []string{"d"}}))(t)
		require.Value(s.Edit(s.Ctx, id, repotest.Alice(), redisrepo.Edit{Groups: []string{}}))(t)
		for range 2 {
			s.MustDelete(id, repotest.Moderator)
		}
		for range 2 {
			require.Value(s.Undelete(s.Ctx, id, repotest.Moderator))(t)
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
		want = strings.ReplaceAll(want, "MODERATOR", string(repotest.Moderator.Name))
		if got := s.Story(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		s.WantClean()
	})
}

func TestMilestonesFollowTheirVotes(t *testing.T) {
	t.Parallel()
	g := repotest.New(t, func(r *site.Rules) { r.Milestones = []int{2, 5, 6} })
	id := g.MustPost("alice", "go", "redis").ID
	for _, voter := range []site.UserName{"warm", "first", "v0", "v1", "v2"} {
		g.MustVote(id, voter, site.Up)
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
	if got := g.Story(); got != strings.ReplaceAll(want, "ID", id.String()) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// milestones returns the events of that kind: the net votes of each.
func milestones(s *repotest.Site) (numbers []int) {
	s.T.Helper()
	for _, e := range s.Events(nil, events.MaxEvents, events.EventMilestone).Edges {
		numbers = append(numbers, *e.Node.Milestone)
	}
	return numbers
}

func TestMilestonesAreReachedOnce(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.Milestones = []int{2, 3, 4} })
	id := s.MustPost("alice").ID
	want := func(when string, numbers ...int) {
		t.Helper()
		if got := milestones(s); fmt.Sprint(got) != fmt.Sprint(numbers) {
			t.Errorf("%s: got milestones %v, want %v", when, got, numbers)
		}
	}
	want("after the post")
	s.MustVote(id, "a", site.Up)
	want("2 votes", 2)
	s.MustVote(id, "a", site.Down)
	s.MustVote(id, "a", site.Up)
	want("2 votes again", 2)
	s.MustVote(id, "b", site.Down)
	s.MustVote(id, "c", site.Up)
	s.MustVote(id, "b", site.Up) // from 2 to 4
	want("two votes at once", 2, 3, 4)
	s.WantClean()

	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.Milestones = []int{1, 3, 5} })
	s.MustVote(id, "a", site.None)
	s.MustVote(id, "a", site.Up)
	s.MustVote(id, "d", site.Up)
	want("other milestones", 2, 3, 4, 5)

	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.Milestones = nil })
	s.MustVote(id, "e", site.Up)
	want("no milestones", 2, 3, 4, 5)
}

func TestImportsHaveNoEvents(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustImport(repotest.Old(7, time.Hour, 9))
	s.MustVote(7, "bob", site.Up)
	if got := s.Story(); strings.Contains(got, "posted") || !strings.Contains(got, "voted article:7 r2 votes 10-0") || len(milestones(s)) != 1 {
		t.Errorf("got %s, want the vote and its milestone", got)
	}
}

func TestSitesWithoutAFeedWriteNone(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.Events, r.Milestones = 0, []int{1, 2} }, repotest.One)
	id := s.MustPost("alice", "go").ID
	s.MustVote(id, "bob", site.Up)
	s.MustDelete(id, repotest.Moderator)
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	_, err := s.Log.Events(s.Ctx, nil, nil, nil)
	if repotest.WantRefused(t, err, "INVALID"); s.Raw.HExists(s.Ctx, "article:1", "milestone").Val() {
		t.Error("a site without events has a feed, or milestones")
	}
}

// EVENTS bounds the stream, about.
func TestFeedDropsItsOldestEvents(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.Events = 200 }, repotest.One)
	s.Views.Young = 0
	id := s.MustPost("alice").ID
	first := s.Events(nil, 1).Edges[0].Cursor()
	for i := range 600 {
		s.MustVote(id, site.UserName(fmt.Sprint("v", i)), site.Up)
	}
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	if n := s.Raw.XLen(s.Ctx, "events:").Val(); n != 200 {
		t.Errorf("the feed has %d events, want 200", n)
	}
	if _, err := s.Log.Events(s.Ctx, &first, nil, nil); err == nil {
		t.Error("a cursor of the first event is not expired")
	}
	s.WantClean()
}

// reader is a consumer of the change feed that stores its cursor after it has acted on an event. It is killed at random.
type reader struct {
	*repotest.Site
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
		r.T.Errorf("%s of %v, revision %d, came after revision %d", n.Kind, n.Article, n.Revision, last)
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
	page, err := r.Log.Events(r.Ctx, &r.cursor, nil, new(1+r.random.IntN(200)))
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
	w, err := r.Live.WatchEvents(r.Ctx, "after", r.cursor, nil)
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
		if w.Behind() && w.CatchUp(r.Ctx) == nil {
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
	s := repotest.New(t, func(r *site.Rules) { r.Milestones = []int{3, 6} })
	s.Server.Own()
	l := s.Reopened(s.Client(), nil)
	l.Listens()
	start := *s.Events(nil, 1).PageInfo.EndCursor
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
					a, err := s.Post(s.Ctx, "alice", site.Draft{Title: "t", Text: new("t"), Groups: []string{"go"}})
					if err != nil {
						continue
					}
					own = append(own, a.ID)
				}
				id := own[random.IntN(len(own))]
				var err error
				switch n := random.IntN(20); n {
				case 0:
					_, err = s.Delete(s.Ctx, id, repotest.Moderator, site.Why{})
				case 1, 2:
					_, err = s.Undelete(s.Ctx, id, repotest.Moderator)
				case 3:
					_, err = s.Regroup(s.Ctx, id, repotest.Alice(), []string{fmt.Sprint("g", random.IntN(3))}, []string{fmt.Sprint("g", random.IntN(3))})
				default:
					_, err = s.Vote(s.Ctx, id, site.UserName(fmt.Sprint(worker, "-", random.IntN(9))), site.Vote(random.IntN(3)-1), "")
				}
				if err == nil {
					acknowledged.Add(1)
				}
			}
		})
	}
	var readers []*reader
	for i := range 2 {
		r := &reader{Site: l, random: rand.New(rand.NewPCG(2, uint64(i))), acted: map[string]bool{}, cursor: start, last: map[site.ArticleID]int{}} // #nosec G115 -- not negative
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
		s.Server.Kill()
		s.Server.Restart()
	}
	close(over)
	writers.Wait()
	following.Wait()

	fresh := s.Reopened(s.Client(), nil)
	kept, revisions := map[string]bool{}, map[site.ArticleID]int{}
	after := ""
	for more := true; more; {
		page := fresh.Events(&after, events.MaxEvents)
		for _, e := range page.Edges {
			kept[fmt.Sprint(e.Node.Kind, e.Node.Article, e.Node.Revision, e.Node.At.UnixMilli())] = true
			revisions[e.Node.Article] = e.Node.Revision
		}
		after, more = *page.PageInfo.EndCursor, page.PageInfo.HasNextPage
	}
	for id, newest := range revisions {
		if found, _ := fresh.Articles.ArticlesByID(s.Ctx, []site.ArticleID{id}); found[0] != nil && found[0].Revision() != newest {
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
	fresh.WantClean()
}
