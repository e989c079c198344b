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
	id sourceID
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
	all := []source{{sourceID{secProfile, 0, 0}, e.readProfile}}
	var keys []string // of the sources that are lists of the user; empty: read it anyway
	keys = append(keys, "")
	list := func(section, month, partition int, key string, step int, own bool, from string, add func(context.Context, []redis.Z) (int, error)) {
		all = append(all, source{sourceID{section, month, partition}, e.list(key, step, from, add)})
		if !own {
			key = ""
		}
		keys = append(keys, key)
	}
	for i, p := range e.store.Partitions {
		list(secPosted, 0, i, p.Posted(e.user), articlesStep, true, "-inf", e.addPosted)
	}
	for i, p := range e.store.Partitions {
		list(secDeleted, 0, i, p.Deleted(), lookedStep, false, "-inf", e.addDeleted)
	}
	first, last := e.casts.Months()
	for month := first; month <= last; month++ {
		for i, p := range e.store.Partitions {
			list(secCast, int(month), i, p.Cast(e.user, month), votesStep, true, "-inf", e.addCast)
		}
	}
	for i, p := range e.store.Partitions {
		list(secRecent, 0, i, p.Ranking(site.ByTime), votesStep, false, site.Number(e.casts.OldestVoters()), e.addRecent)
	}
	home, atHome := e.store.HomeIndex(e.user), e.store.Home(e.user)
	list(secReported, 0, home, atHome.Reported(e.user), articlesStep, true, "-inf", e.addReported)
	for i := range e.store.Partitions {
		all = append(all, source{sourceID{secModeration, 0, i}, e.moderation(i)})
		keys = append(keys, "")
	}
	list(secSaved, 0, home, atHome.Saved(e.user), votesStep, true, "-inf", e.addSaved)
	exist := make([]*redis.IntCmd, len(all))
	err := e.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, key := range keys {
			if key != "" {
				exist[i] = pipe.ZCard(ctx, key)
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
			var found *redis.ZSliceCmd
			err := e.store.Read(ctx, func(pipe redis.Pipeliner) {
				found = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: key, ByScore: true, Start: score, Stop: "+inf", Count: int64(count)})
			})
			if err != nil {
				return "", false, err
			}
			members := found.Val()
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
		var found *redis.XMessageSliceCmd
		err := e.store.Read(ctx, func(pipe redis.Pipeliner) {
			found = pipe.XRangeN(ctx, e.store.Partitions[partition].Moderation(), from, "+", lookedStep)
		})
		if err != nil || len(found.Val()) == 0 {
			return after, false, err
		}
		entries := found.Val()
		return entries[len(entries)-1].ID, len(entries) == lookedStep, e.addModeration(ctx, partition, entries)
	}
}
