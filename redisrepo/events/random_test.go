package events_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/programtest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// Consumers of the feed get each event once, and a gap if and only if the store has lost an event that they had, whatever the
// feed drops on purpose: entries that are no events, and events beyond those that it keeps, which expire a cursor before them.
func TestRandomHistoriesHaveGapsOnlyWhereEventsAreLost(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 16} {
		for seed := range programtest.Size[uint64](3, 30) {
			t.Run(fmt.Sprintf("%d partitions, seed %d", partitions, seed), func(t *testing.T) {
				t.Parallel()
				h := newFeedHistory(t, partitions, seed)
				for h.step = range 250 {
					h.change()
					h.look()
					for _, c := range h.consumers {
						if h.random.IntN(12) == 0 {
							h.read(c)
						}
					}
				}
				for _, c := range h.consumers {
					h.read(c)
				}
			})
		}
	}
}

// feedHistory is a site with a random history.
type feedHistory struct {
	*repotest.Site
	random    *rand.Rand
	options   []redisrepo.Option
	step      int
	number    site.ArticleID // no article has a higher one
	articles  []site.ArticleID
	consumers []*feedConsumer

	all     [][]redis.XMessage // by partition: all events so far, in their order
	dropped []int              // how many of them the feed has dropped
	last    []string           // id of the last entry that was looked at
	saved   *savedStore
}

// savedStore is the store at a moment.
type savedStore struct {
	dumps    map[string]string
	ttls     map[string]time.Duration
	events   []int // by partition: how many events there were
	last     []string
	articles []site.ArticleID
	number   site.ArticleID
}

// feedConsumer is a consumer of some kinds.
type feedConsumer struct {
	name  string
	kinds []events.EventKind
	watch bool // it subscribes, and so has only cursors of the events that it got
	short bool // it reads one short page at a time
	after string

	least, most []int // by partition: the cursor is after so many events; there may be a range
	lost        bool  // the store has lost some of the first
	maybe       bool  // it may have
}

func newFeedHistory(t *testing.T, partitions int, seed uint64) *feedHistory {
	h := &feedHistory{random: rand.New(rand.NewPCG(seed, uint64(partitions))), options: []redisrepo.Option{redisrepo.WithPartitions(partitions)}, number: 5000}
	h.Site = repotest.New(t, func(r *site.Rules) { r.Events, r.Milestones = 8+h.random.IntN(30), []int{2, 3} }, h.options...)
	require.NoError(t, h.Views.CatchUpAll(h.Ctx))
	h.all, h.dropped, h.last = make([][]redis.XMessage, partitions), make([]int, partitions), make([]string, partitions)
	for i, kinds := range [][]events.EventKind{nil, nil, {events.EventMilestone}, {events.EventVoted}, {events.EventPosted, events.EventEdited}, {events.EventDeleted}} {
		for _, watch := range []bool{false, true} {
			c := &feedConsumer{name: fmt.Sprintf("consumer %v %v %v", i, kinds, watch), kinds: kinds, watch: watch, short: i == 1, least: make([]int, partitions), most: make([]int, partitions)}
			h.consumers = append(h.consumers, c)
			h.begin(c)
		}
	}
	return h
}

func (h *feedHistory) article() site.ArticleID {
	if len(h.articles) == 0 {
		return h.posted()
	}
	return h.articles[h.random.IntN(len(h.articles))]
}

func (h *feedHistory) posted() site.ArticleID {
	id := h.MustPost(repotest.Users[h.random.IntN(3)], "a").ID
	h.articles, h.number = append(h.articles, id), max(h.number, id)
	return id
}

// change does something at random.
func (h *feedHistory) change() {
	switch n := h.random.IntN(100); {
	case n < 15:
		h.posted()
	case n < 50:
		_, err := h.Vote(h.Ctx, h.article(), repotest.Users[h.random.IntN(len(repotest.Users))], []site.Vote{site.Up, site.Up, site.Down, site.None}[h.random.IntN(4)], "")
		if err != nil && !errors.As(err, new(site.Refusal)) {
			h.T.Fatal(err)
		}
	case n < 54:
		_, err := h.Delete(h.Ctx, h.article(), repotest.Moderator, site.Why{})
		if err != nil && !errors.As(err, new(site.Refusal)) {
			h.T.Fatal(err)
		}
	case n < 66: // entries that are no events
		for range 1 + h.random.IntN(4) {
			h.number++
			h.MustImport(redisrepo.Imported{ID: h.number, Poster: "zoe", PostedAt: h.Clock.Now().Add(-time.Hour), Votes: 1, Draft: h.Fresh("a")})
		}
	case n < 86: // time passes by the clock of Redis: hours, or almost what the log keeps in any case
		ahead := []time.Duration{time.Second, 9 * time.Second, 11 * time.Second, 3 * time.Hour}[h.random.IntN(4)]
		h.Clock.Advance(ahead / 1000)
		for _, tag := range h.Tags() {
			if newest := h.Raw.XRevRangeN(h.Ctx, tag+"events:", "+", "-", 1).Val(); len(newest) > 0 && h.random.IntN(4) > 0 {
				at := max(int64(wire.ParseEntryID(newest[0].ID).Milliseconds), time.Now().UnixMilli())           // #nosec G115 -- a time
				_ = h.Raw.Do(h.Ctx, "XSETID", tag+"events:", fmt.Sprintf("%d-0", at+ahead.Milliseconds())).Err() // unless it is there already
			}
		}
	case n < 92:
		require.NoError(h.T, h.Views.CatchUpAll(h.Ctx))
	case n < 94: // a restart with other rules
		h.Site = h.Reopened(h.Client(), func(r *site.Rules) { r.VoteScore = 400 + h.random.IntN(50) }, h.options...)
	case n < 96:
		h.save()
	case n < 98 && h.saved != nil:
		h.restore()
	case n == 99:
		require.Value(erase.User(h.Ctx, h.Repo, string(repotest.Users[h.random.IntN(len(repotest.Users))]), erase.Options{}))(h.T)
	}
}

// look notes which events there are.
func (h *feedHistory) look() {
	for i, tag := range h.Tags() {
		found := require.Value(h.Raw.XRange(h.Ctx, tag+"events:", "-", "+").Result())(h.T)
		kept := 0
		for _, m := range found {
			switch {
			case wire.IsHidden(m):
			case h.last[i] == "" || wire.ParseEntryID(m.ID).Compare(wire.ParseEntryID(h.last[i])) > 0:
				h.all[i] = append(h.all[i], m)
				kept++
			default:
				kept++
			}
		}
		if len(found) > 0 {
			h.last[i] = found[len(found)-1].ID
		}
		h.dropped[i] = len(h.all[i]) - kept
	}
}

func (h *feedHistory) save() {
	h.look()
	h.saved = &savedStore{dumps: map[string]string{}, ttls: map[string]time.Duration{}, last: slices.Clone(h.last), articles: slices.Clone(h.articles), number: h.number}
	for _, all := range h.all {
		h.saved.events = append(h.saved.events, len(all))
	}
	for _, key := range h.Raw.Keys(h.Ctx, "*").Val() {
		h.saved.dumps[key], h.saved.ttls[key] = h.Raw.Dump(h.Ctx, key).Val(), max(h.Raw.PTTL(h.Ctx, key).Val(), 0)
	}
}

// restore takes the store back to what was saved, in all partitions or in some.
func (h *feedHistory) restore() {
	some := h.random.IntN(len(h.all)) // a failover of one shard takes back some partitions only
	isBack := func(i int) bool { return some%2 == 0 || i%2 == some%4/2 }
	for _, key := range h.Raw.Keys(h.Ctx, "*").Val() {
		if isBack(h.partitionOf(key)) {
			h.Raw.Del(h.Ctx, key)
		}
	}
	for key, dump := range h.saved.dumps {
		if isBack(h.partitionOf(key)) {
			require.NoError(h.T, h.Raw.Restore(h.Ctx, key, h.saved.ttls[key], dump).Err())
		}
	}
	for i, n := range h.saved.events {
		if !isBack(i) {
			continue
		}
		for _, c := range h.consumers {
			c.lost, c.maybe = c.lost || c.least[i] > n, c.maybe || c.most[i] > n
		}
		h.all[i], h.last[i] = h.all[i][:n], h.saved.last[i]
	}
	h.articles = slices.DeleteFunc(h.articles, func(id site.ArticleID) bool {
		_, errs := h.Articles.ArticlesByID(h.Ctx, []site.ArticleID{id})
		return errs[0] != nil
	})
	h.Clock.Advance(time.Second)
	h.Site = h.Reopened(h.Client(), nil, h.options...)
}

func (h *feedHistory) partitionOf(key string) int {
	return max(slices.IndexFunc(h.Tags(), func(tag string) bool { return tag != "" && strings.HasPrefix(key, tag) }), 0)
}

// begin has a consumer read the feed from its beginning.
func (h *feedHistory) begin(c *feedConsumer) {
	h.look()
	c.after, c.lost, c.maybe = "", false, false
	first := 1000
	after := *h.Events(nil, first, c.kinds...).PageInfo.EndCursor
	c.after = after
	for i, all := range h.all {
		c.least[i], c.most[i] = len(all), len(all)
	}
}

// read has a consumer read what follows its cursor, and compares it with the history.
func (h *feedHistory) read(c *feedConsumer) {
	h.T.Helper()
	isExpired, mayBeExpired := false, false
	for i, n := range h.dropped {
		isExpired, mayBeExpired = isExpired || n > c.most[i], mayBeExpired || n > c.least[i]
	}
	edges, gap, end, atEnd, err := h.readFrom(c)
	switch {
	case errors.As(err, new(*events.ExpiredError)):
		if !mayBeExpired && !c.maybe {
			h.T.Fatalf("step %d, %s: %v, but nothing is lost", h.step, c.name, err)
		}
		h.begin(c)
		return
	case err != nil:
		h.T.Fatal(err)
	case isExpired && !c.maybe:
		h.T.Fatalf("step %d, %s: the cursor is not expired, though events after it were dropped", h.step, c.name)
	case c.lost && !gap:
		h.T.Fatalf("step %d, %s: there is no gap, though an event is lost", h.step, c.name)
	case gap && !c.maybe:
		h.T.Fatalf("step %d, %s: there is a gap, but nothing is lost", h.step, c.name)
	case gap || c.maybe:
		h.begin(c)
		return
	}
	h.compare(c, edges, atEnd)
	c.after = end
}

// readFrom reads events after the consumer's cursor.
func (h *feedHistory) readFrom(c *feedConsumer) (edges []*events.EventEdge, gap bool, end string, atEnd bool, err error) {
	if c.watch {
		w, err := h.Live.WatchEvents(h.Ctx, "after", c.after, c.kinds)
		if err != nil {
			return nil, false, "", false, err
		}
		defer w.Close()
		for w.Behind() {
			require.NoError(h.T, w.CatchUp(h.Ctx))
			for d, ok := w.Take(); ok; d, ok = w.Take() {
				edges, gap = append(edges, d.Event()), gap || d.Event().Gap
				d.Cursor()
				d.Done(true)
			}
		}
		if b := require.Value(h.gapOf(c))(h.T); len(edges) == 0 { // it comes with the next event
			gap = b
		}
		return edges, gap, w.Cursor(), false, nil
	}
	end = c.after
	for {
		first := 1 + h.random.IntN(20)
		page, err := h.Log.Events(h.Ctx, &end, c.kinds, &first)
		if err != nil {
			return nil, false, "", false, err
		}
		edges, gap, end = append(edges, page.Edges...), gap || page.Gap, *page.PageInfo.EndCursor
		if atEnd = !page.PageInfo.HasNextPage; atEnd || c.short {
			return edges, gap, end, atEnd, nil
		}
	}
}

// gapOf reports whether reading after the cursor has a gap.
func (h *feedHistory) gapOf(c *feedConsumer) (bool, error) {
	page, err := h.Log.Events(h.Ctx, &c.after, c.kinds, new(1))
	return page.Gap, err
}

// compare fails the test unless the edges are the next events of the consumer's kinds, of each partition in their order, and notes
// where the consumer is.
func (h *feedHistory) compare(c *feedConsumer, edges []*events.EventEdge, atEnd bool) {
	h.T.Helper()
	for i, all := range h.all {
		var got []string
		for _, e := range edges {
			if h.Store.Index(e.Node.Article) == i {
				got = append(got, e.Node.EntryID())
			}
		}
		var want []string
		next := c.least[i]
		for n, m := range all[c.least[i]:] {
			if kind, _ := m.Values["kind"].(string); len(c.kinds) == 0 || slices.Contains(c.kinds, events.EventKind(kind)) {
				if want = append(want, m.ID); len(want) == len(got) {
					next = c.least[i] + n + 1
				}
			}
		}
		if isWhole := atEnd || c.watch; isWhole && !slices.Equal(got, want) || !isWhole && !slices.Equal(got, want[:min(len(got), len(want))]) {
			h.T.Fatalf("step %d, %s: got %v of partition %d, want %v", h.step, c.name, got, i, want)
		}
		switch {
		case atEnd:
			c.least[i], c.most[i] = len(all), len(all)
		case len(edges) > 0:
			c.least[i], c.most[i] = next, len(all)
			if len(c.kinds) == 0 && !c.watch {
				c.most[i] = next
			}
		}
	}
}
