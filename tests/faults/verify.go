package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

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
			query := `{ nodes(ids: ` + list(batch) + `) { ... on Article ` + fields + ` } }`
			r, ok := s.ask(ctx, server, "", query)
			for !ok && ctx.Err() == nil {
				pause(ctx, 100*time.Millisecond)
				r, ok = s.ask(ctx, server, "", query)
			}
			for i, id := range batch {
				if i >= len(r.Data.Nodes) || r.Data.Nodes[i] == nil || !store[id].shows(*r.Data.Nodes[i]) {
					s.history.fail("every server shows what is stored", "Server %s shows %d otherwise than %+v: %+v%s", server.name, id, *store[id], r.Data.Nodes, s.history.story(id, ""))
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
