package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// auditor is a moderator.
const auditor = "auditor"

// happened is an event of the change feed. The time tells the events of two articles with one number apart.
type happened struct {
	article, revision int
	kind              string
	votes, downvotes  int
	by                string
	at                int64 // Unix milliseconds
}

// edge is an event as the API shows it.
type edge struct {
	Cursor string
	Gap    bool
	Node   struct {
		Kind                       string
		ArticleID                  string `json:"articleId"`
		Revision, Votes, Downvotes int
		By                         struct{ Name string }
		At                         time.Time
	}
}

const edgeFields = `{ cursor gap node { kind articleId revision votes downvotes by { name } at } }`

func (e edge) happened() happened {
	article, _ := strconv.Atoi(strings.TrimPrefix(e.Node.ArticleID, "article:"))
	return happened{article, e.Node.Revision, strings.ToLower(e.Node.Kind), e.Node.Votes, e.Node.Downvotes, e.Node.By.Name, e.Node.At.UnixMilli()}
}

// consumer reads the change feed. It acts on an event and then stores its cursor, and is killed at random: before it
// acts, or between the two. It goes on from the stored cursor.
type consumer struct {
	*site
	name   string
	random *rand.Rand

	mu     sync.Mutex
	acted  map[happened]int // how often it acted
	kills  int
	gaps   int
	stored progress
}

// progress is what the consumer stores together: it survives being killed.
type progress struct {
	cursor string
	last   map[int]int // the last revision of each article, since the last gap
	gapped bool
}

func (c *consumer) run(ctx context.Context) {
	for ctx.Err() == nil {
		server := c.servers[c.random.IntN(len(c.servers))]
		if c.random.IntN(2) == 0 {
			c.poll(ctx, server)
		} else {
			life, cancel := context.WithTimeout(ctx, time.Duration(c.random.Int64N(int64(2*time.Second))))
			c.follow(life, server)
			cancel()
		}
		pause(ctx, time.Duration(c.random.Int64N(int64(200*time.Millisecond))))
	}
}

// poll reads a page.
func (c *consumer) poll(ctx context.Context, server *server) {
	r, ok := c.ask(ctx, server, auditor, fmt.Sprintf(`{ events(after: %q, first: %d) { edges %s pageInfo { endCursor } gap } }`,
		c.stored.cursor, 1+c.random.IntN(300), edgeFields))
	if !ok {
		return
	}
	for _, e := range r.Data.Events.Edges {
		if !c.take(e) {
			return
		}
	}
	if r.Data.Events.Gap && len(r.Data.Events.Edges) == 0 { // else the first edge says so
		c.noteGap()
	}
	c.stored.cursor = r.Data.Events.PageInfo.EndCursor
}

// follow reads an event stream until it ends, or the consumer is killed.
func (c *consumer) follow(ctx context.Context, server *server) {
	if c.stored.cursor == "" { // it would begin at the end
		return
	}
	subscription := fmt.Sprintf(`subscription { event(after: %q) %s }`, c.stored.cursor, edgeFields)
	c.stream(ctx, server, auditor, subscription, func() {}, func(r response) bool {
		return r.Data.Event == nil || c.take(*r.Data.Event)
	})
}

// noteGap forgets the revisions: those of another store follow.
func (c *consumer) noteGap() {
	c.gaps++
	c.stored.last, c.stored.gapped = map[int]int{}, true
}

// take acts on an event. It returns false if the consumer is killed.
func (c *consumer) take(e edge) bool {
	h := e.happened()
	dies := c.random.IntN(400)
	if dies == 0 {
		c.kills++
		return false
	}
	if e.Gap {
		c.noteGap()
	}
	last, known := c.stored.last[h.article]
	ordered := h.revision == last+1 || h.kind == "milestone" && h.revision == last
	if !ordered && (known || !c.stored.gapped) {
		c.history.fail("the events of an article are in the order of its revisions", "Consumer %s got %+v after revision %d", c.name, h, last)
	}
	c.mu.Lock()
	c.acted[h]++
	c.mu.Unlock()
	if dies == 1 {
		c.kills++
		return false
	}
	c.stored.cursor, c.stored.last[h.article] = e.Cursor, h.revision
	return true
}

// feed reads the streams of events, without the program's code.
func feed(ctx context.Context, client redis.UniversalClient, tags []string) (all []happened, err error) {
	for _, tag := range tags {
		entries, err := client.XRange(ctx, tag+"events:", "-", "+").Result()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			number := func(field string) int {
				n, _ := strconv.Atoi(fmt.Sprint(e.Values[field]))
				return n
			}
			milliseconds, _, _ := strings.Cut(e.ID, "-")
			at, _ := strconv.ParseInt(milliseconds, 10, 64)
			all = append(all, happened{number("article"), number("revision"), fmt.Sprint(e.Values["kind"]), number("votes"),
				number("downvotes"), fmt.Sprint(e.Values["by"]), at})
		}
	}
	return all, nil
}

// compareFeed fails for each revision of an article without an event.
func (h *history) compareFeed(store map[int]*stored, events []happened) {
	revisions := map[int][]int{}
	for _, e := range events {
		if e.kind != "milestone" {
			revisions[e.article] = append(revisions[e.article], e.revision)
		}
	}
	for id, article := range store {
		var want []int
		for n := range article.revision {
			want = append(want, n+1)
		}
		if !slices.Equal(revisions[id], want) {
			h.fail("every revision has its event", "%d has %d revisions, and events of %v%s", id, article.revision, revisions[id], h.story(id, ""))
		}
	}
}

// compareConsumers waits until each consumer has acted on every event, and fails for those that never do.
func (s *site) compareConsumers(ctx context.Context, consumers []*consumer, events []happened) (missed int) {
	for _, c := range consumers {
		for len(c.missed(events)) > 0 && ctx.Err() == nil {
			pause(ctx, 100*time.Millisecond)
		}
		left := c.missed(events)
		missed += len(left)
		for _, e := range left[:min(3, len(left))] {
			s.history.fail("a consumer acts on every event", "Consumer %s never got %+v%s", c.name, e, s.history.story(e.article, ""))
		}
	}
	return missed
}

func (c *consumer) missed(events []happened) (left []happened) {
	c.mu.Lock()
	acted := maps.Clone(c.acted)
	c.mu.Unlock()
	for _, e := range events {
		if acted[e] == 0 {
			left = append(left, e)
		}
	}
	return left
}
