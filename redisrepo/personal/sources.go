package personal

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// The sections of an export, in its order.
const (
	secProfile = iota
	secPosted
	secDeleted
	secCast
	secRecent
	secReported
	secModeration
	secSaved
)

var sections = []string{"profile", "posted", "deleted", "cast", "recent", "reported", "moderation", "saved"}

// sourceID names a source in the order of an export.
type sourceID struct{ section, month, partition int }

func (id sourceID) String() string {
	return fmt.Sprintf("%d.%d.%d", id.section, id.month, id.partition)
}

func (id sourceID) compare(other sourceID) int {
	return cmp.Or(cmp.Compare(id.section, other.section), cmp.Compare(id.month, other.month), cmp.Compare(id.partition, other.partition))
}

func parseSourceID(text string) (id sourceID, err error) {
	if _, err = fmt.Sscanf(text, "%d.%d.%d", &id.section, &id.month, &id.partition); err == nil && id.String() != text {
		err = strconv.ErrSyntax
	}
	return id, err
}

// source is something that is read in steps.
type source struct {
	id  sourceID
	key string // the list of the user; empty: there is something to read in any case
	// read reads the next step after one, empty for the first, and reports whether there are more.
	read func(ctx context.Context, after string) (next string, more bool, err error)
}

// How many members, or entries, a step reads.
const (
	articlesStep = 50
	votesStep    = 500
	lookedStep   = 1000 // of what is mostly not the user's
)

// sources returns what is to be read of the user, in the order of the export. Lists of the user that do not exist are left out: it
// takes one round trip.
func (e *export) sources(ctx context.Context) ([]source, error) {
	all := []source{{read: e.readProfile}}
	own := func(section, month, partition int, key string, step int, add func(context.Context, []redis.Z) (int, error)) {
		all = append(all, source{sourceID{section, month, partition}, key, e.list(key, step, "-inf", add)})
	}
	for i, p := range e.store.Partitions {
		own(secPosted, 0, i, p.Posted(e.user), articlesStep, e.addPosted)
	}
	for i, p := range e.store.Partitions {
		all = append(all, source{sourceID{secDeleted, 0, i}, "", e.list(p.Deleted(), lookedStep, "-inf", e.addDeleted)})
	}
	first, last := e.casts.Months()
	for month := first; month <= last; month++ {
		for i, p := range e.store.Partitions {
			own(secCast, int(month), i, p.Cast(e.user, month), votesStep, e.addCast)
		}
	}
	for i, p := range e.store.Partitions {
		all = append(all, source{sourceID{secRecent, 0, i}, "", e.list(p.Ranking(site.ByTime), votesStep, site.Number(e.casts.OldestVoters()), e.addRecent)})
	}
	home, atHome := e.store.HomeIndex(e.user), e.store.Home(e.user)
	own(secReported, 0, home, atHome.Reported(e.user), articlesStep, e.addReported)
	for i := range e.store.Partitions {
		all = append(all, source{sourceID{secModeration, 0, i}, "", e.moderation(i)})
	}
	own(secSaved, 0, home, atHome.Saved(e.user), votesStep, e.addSaved)
	exist := make([]*redis.IntCmd, len(all))
	err := e.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, s := range all {
			if s.key != "" {
				exist[i] = pipe.ZCard(ctx, s.key)
			}
		}
	})
	existing := all[:0]
	for i, s := range all {
		if exist[i] == nil || exist[i].Val() > 0 {
			existing = append(existing, s)
		}
	}
	return existing, err
}

// list returns the steps of a sorted set from a score on, in its order: by score, then by the bytes of the member. add returns how
// many of the members it has added, at least one.
func (e *export) list(key string, step int, from string, add func(context.Context, []redis.Z) (int, error)) func(context.Context, string) (string, bool, error) {
	return func(ctx context.Context, after string) (string, bool, error) {
		score, last, began := strings.Cut(after, " ")
		if !began {
			score = from
		}
		for count := step; ; count *= 4 { // more, if so many have the score of the last one
			members, err := e.store.Client.ZRangeArgsWithScores(wire.Reading(ctx), redis.ZRangeArgs{Key: key, ByScore: true, Start: score, Stop: "+inf", Count: int64(count)}).Result()
			if err != nil {
				return "", false, err
			}
			whole := len(members) < count
			for began && len(members) > 0 && site.Number(members[0].Score) == score && members[0].Member.(string) <= last {
				members = members[1:]
			}
			if len(members) == 0 && !whole {
				continue
			}
			if len(members) == 0 {
				return after, false, nil
			}
			done, err := add(ctx, members)
			if err != nil {
				return "", false, err
			}
			end := members[done-1]
			return site.Number(end.Score) + " " + end.Member.(string), !whole || done < len(members), nil
		}
	}
}

// moderation returns the steps of the moderation log of a partition, the oldest entry first.
func (e *export) moderation(partition int) func(context.Context, string) (string, bool, error) {
	return func(ctx context.Context, after string) (string, bool, error) {
		from := "-"
		if after != "" {
			from = "(" + wire.ParseEntryID(after).String()
		}
		entries, err := e.store.Client.XRangeN(wire.Reading(ctx), e.store.Partitions[partition].Moderation(), from, "+", lookedStep).Result()
		if err != nil || len(entries) == 0 {
			return after, false, err
		}
		return entries[len(entries)-1].ID, len(entries) == lookedStep, e.addModeration(ctx, partition, entries)
	}
}
