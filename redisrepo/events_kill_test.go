package redisrepo_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
)

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
	page, err := r.Events(r.ctx, &r.cursor, nil, new(1+r.random.IntN(200)))
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
	w, err := r.WatchEvents(r.ctx, "after", r.cursor, nil)
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
func TestKilledConsumersSeeEveryRevision(t *testing.T) {
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
					_, err = s.Delete(s.ctx, id, moderator)
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
	limit := time.Now().Add(patience)
	for range rounds {
		enough := acknowledged.Load() + changesBetween
		eventually(t, "acknowledged changes", func() bool { return acknowledged.Load() >= enough || time.Now().After(limit) })
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
		if found, _ := fresh.ArticlesByID(s.ctx, []site.ArticleID{id}); found[0] != nil && found[0].Revision() != newest {
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
