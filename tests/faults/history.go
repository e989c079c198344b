package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// register is something that the clients set and the store keeps: a user's vote on an article, whether the article
// is in a group, or whether it exists. One client alone sets it, one request at a time.
type register struct {
	kind    string // vote, group or article
	article int
	title   string // the number alone may be given to another article after the store went back in time
	of      string // the user or the group
}

// write is an attempt to set a register, from the first request to the response of the last one: an attempt without a
// response is repeated. So a late copy of a request never sets anything but what its write sets.
type write struct {
	value      string
	start, end time.Duration
	uncertain  bool // the last response was a refusal, or the run ended, after requests without a response
}

// rollback is a time that the store has forgotten: at to it was what it had been at from.
type rollback struct{ from, to time.Duration }

// history is what the clients know, and thus what the store must have.
type history struct {
	began time.Time

	mu        sync.Mutex
	writes    map[register][]write
	rollbacks []rollback
	titles    map[int][]write // the articles that got a number; value is the title
	problems  []problem
	active    map[event]bool // the faults that have begun and not ended
}

// Rules that are checked at several places.
const (
	unavailable = "a fault of Redis is UNAVAILABLE or TIMEOUT"
	works       = "the faults themselves work"
)

// problem is the violation of a rule.
type problem struct{ rule, text string }

func newHistory() *history {
	return &history{began: time.Now(), writes: map[register][]write{}, titles: map[int][]write{}, active: map[event]bool{}}
}

func (h *history) now() time.Duration { return time.Since(h.began) }

func (h *history) add(r register, w write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes[r] = append(h.writes[r], w)
	if r.kind == "article" && w.value == present {
		h.titles[r.article] = append(h.titles[r.article], write{value: r.title, start: w.start, end: w.end})
	}
}

// forget notes that the store is about to forget what it was given since from. end notes that it did.
func (h *history) forget(from time.Duration) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rollbacks = append(h.rollbacks, rollback{from, math.MaxInt64})
	i := len(h.rollbacks) - 1
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.rollbacks[i].to = h.now()
	}
}

// fail notes the violation of a rule.
func (h *history) fail(rule, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := fmt.Sprintf("%9.3fs ", h.now().Seconds()) + fmt.Sprintf(format, args...)
	for e := range h.active {
		text += "\n    during " + e.String()
	}
	h.problems = append(h.problems, problem{rule, text})
}

// during notes that a fault is active until end is called.
func (h *history) during(e event) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active[e] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.active, e)
	}
}

// forgotten reports whether the store may have forgotten a write. The caller holds mu.
func (h *history) forgotten(w write) bool {
	return slices.ContainsFunc(h.rollbacks, func(r rollback) bool { return w.start <= r.to && w.end >= r.from })
}

// possible returns the values that a register may have. The first one is what it has before any write.
func (h *history) possible(r register) (values []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	values = []string{""}
	for _, w := range h.writes[r] {
		if !w.uncertain && !h.forgotten(w) {
			values = values[:0]
		}
		if !slices.Contains(values, w.value) {
			values = append(values, w.value)
		}
	}
	return values
}

// titleAt returns the title that an article must have had during a read, or "" if several are possible.
func (h *history) titleAt(article int, start, end time.Duration) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	titles := h.titles[article]
	if len(titles) == 0 {
		return ""
	}
	last := titles[len(titles)-1]
	for _, t := range titles {
		if t.end > last.end {
			last = t
		}
	}
	if last.end > start || h.forgotten(write{start: last.start, end: end}) {
		return ""
	}
	return last.value
}

// story lists what happened to the articles of a number, or only the post and what concerns one user or group, for the report of a
// violation.
func (h *history) story(article int, of string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	type line struct {
		at   time.Duration
		text string
	}
	var lines []line
	for r, writes := range h.writes {
		for _, w := range writes {
			if r.article == article && (of == "" || r.of == "" || r.of == of) {
				lines = append(lines, line{w.start, fmt.Sprintf("%9.3f-%.3fs %s %q %s = %q uncertain=%v forgotten=%v",
					w.start.Seconds(), w.end.Seconds(), r.kind, r.title, r.of, w.value, w.uncertain, h.forgotten(w))})
			}
		}
	}
	for _, r := range h.rollbacks {
		lines = append(lines, line{r.from, fmt.Sprintf("%9.3f-%.3fs forgotten by the store", r.from.Seconds(), r.to.Seconds())})
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	var text strings.Builder
	for _, l := range lines[max(0, len(lines)-60):] {
		text.WriteString("\n    " + l.text)
	}
	return text.String()
}

// stored is an article as Redis has it, read without the program's code.
type stored struct {
	title            string
	revision         int
	votes, downvotes int
	groups           []string
	up, down         []string
}

func (s *stored) shows(a answer) bool {
	var groups []string
	for _, g := range a.Groups {
		groups = append(groups, g.Name)
	}
	return a.Title == s.title && a.Votes == s.votes && a.Upvotes == s.votes+s.downvotes && slices.Equal(groups, s.groups) && a.DeletedAt == ""
}

// position is the vote of a user.
func (s *stored) position(user string) string {
	switch up, down := slices.Contains(s.up, "user:"+user), slices.Contains(s.down, "user:"+user); {
	case up && down:
		return "UP and DOWN"
	case up:
		return "UP"
	case down:
		return "DOWN"
	}
	return ""
}

// load reads all articles that are not deleted, from all partitions.
func load(ctx context.Context, client redis.UniversalClient, tags []string) (map[int]*stored, error) {
	articles := map[int]*stored{}
	for _, tag := range tags {
		members, err := client.ZRange(ctx, tag+"time:", 0, -1).Result()
		if err != nil {
			return nil, err
		}
		for batch := range slices.Chunk(members, 500) {
			hashes, up, down := make([]*redis.MapStringStringCmd, len(batch)), make([]*redis.StringSliceCmd, len(batch)), make([]*redis.StringSliceCmd, len(batch))
			_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for i, member := range batch {
					number := strings.TrimPrefix(member, "article:")
					hashes[i], up[i], down[i] = pipe.HGetAll(ctx, tag+member), pipe.SMembers(ctx, tag+"voted:"+number), pipe.SMembers(ctx, tag+"downvoted:"+number)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			for i, member := range batch {
				id, _ := strconv.Atoi(strings.TrimPrefix(member, "article:"))
				hash := hashes[i].Val()
				votes, _ := strconv.Atoi(hash["votes"])
				downvotes, _ := strconv.Atoi(hash["downvotes"])
				revision, _ := strconv.Atoi(hash["revision"])
				articles[id] = &stored{hash["title"], revision, votes, downvotes, strings.Fields(hash["groups"]), up[i].Val(), down[i].Val()}
			}
		}
	}
	return articles, nil
}

// compare fails for each acknowledged write that the store does not have, and for what no client wrote.
func (h *history) compare(store map[int]*stored) {
	titles := map[string]int{}
	for id, has := range store {
		if first, twice := titles[has.title]; twice {
			h.fail("a post is stored once", "%q is %d and %d%s%s", has.title, first, id, h.story(first, ""), h.story(id, ""))
		}
		titles[has.title] = id
		if has.votes != len(has.up)-len(has.down) || has.downvotes != len(has.down) {
			h.fail("votes are the sum of the voters", "%d has %d votes, %d upvoters and %d downvoters%s", id, has.votes, len(has.up), len(has.down), h.story(id, ""))
		}
		for _, voter := range slices.Concat(has.up, has.down) {
			of := register{kind: "vote", article: id, title: has.title, of: strings.TrimPrefix(voter, "user:")}
			if h.writes[of] == nil {
				h.fail("every vote was cast", "%s on %d%s", voter, id, h.story(id, of.of))
			}
		}
	}
	for r := range h.writes {
		has, value := store[r.article], ""
		ours := has != nil && has.title == r.title
		switch {
		case r.kind == "article" && ours:
			value = present
		case r.kind == "article":
		case !ours:
			continue // the rule for the article itself says whether it has to exist
		case r.kind == "vote":
			value = has.position(r.of)
		case slices.Contains(has.groups, r.of):
			value = present
		}
		if possible := h.possible(r); !slices.Contains(possible, value) {
			h.fail("an acknowledged write is stored", "%s %s of %q is %q, want one of %q%s", r.kind, r.of, r.title, value, possible, h.story(r.article, r.of))
		}
	}
}

// compareServers fails for each article that a server shows otherwise than the store has it.
func (s *site) compareServers(ctx context.Context, store map[int]*stored) {
	ids := slices.Sorted(maps.Keys(store))
	for _, server := range s.servers {
		for batch := range slices.Chunk(ids, 100) {
			nodes := s.nodes(ctx, server, batch)
			for i, id := range batch {
				if i >= len(nodes) || nodes[i] == nil || !store[id].shows(*nodes[i]) {
					s.history.fail("every server shows what is stored", "Server %s shows %d otherwise than %+v: %+v%s", server.name, id, *store[id], nodes, s.history.story(id, ""))
				}
			}
		}
	}
}

// compareWatchers waits until each watcher sees what is stored, and fails for those that never do.
func (s *site) compareWatchers(ctx context.Context, watchers []*watcher, store map[int]*stored) (stale, missed int) {
	for _, w := range watchers {
		for (!w.isConnected() || len(w.stale(store))+len(w.missed(store)) > 0) && ctx.Err() == nil {
			pause(ctx, 100*time.Millisecond)
		}
		lateIDs, missedIDs := w.stale(store), w.missed(store)
		stale, missed = stale+len(lateIDs), missed+len(missedIDs)
		for _, id := range lateIDs[:min(3, len(lateIDs))] {
			s.history.fail("a watcher's last event is what is stored", "Watcher %s of server %s was shown %+v of %d, stored is %+v%s", w.name, w.server.name, w.shown[id], id, *store[id], s.history.story(id, "-"))
		}
		for _, id := range missedIDs[:min(3, len(missedIDs))] {
			s.history.fail("every new article is announced", "Watcher %s of server %s, connected since %.3fs, missed %d%s", w.name, w.server.name, w.connected.Seconds(), id, s.history.story(id, "-"))
		}
	}
	return stale, missed
}

// check runs the program's own check of the store.
func (h *history) check(program, url string) {
	cmd := exec.Command(program, "check")
	cmd.Env = []string{"REDIS_URL=" + url}
	if out, err := cmd.CombinedOutput(); err != nil {
		h.fail("check finds no inconsistency", "%v\n%s", err, out)
	}
}

// String returns the counts as a line of the summary.
func (c *counts) String() string {
	return fmt.Sprintf("%d requests: %d writes acknowledged, %d refused, %d without an answer; slowest %.2f s",
		c.requests.Load(), c.acknowledged.Load(), c.refused.Load(), c.unknown.Load(), time.Duration(c.slowest.Load()).Seconds())
}
