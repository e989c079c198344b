package redisrepo

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// extent says which part of a listing is read.
type extent struct {
	most          int    // articles
	skip          int    // articles to pass over at the beginning
	last          bool   // the last ones of the part, not the first
	after, before *place // what the part lies between; nil: the ends of the listing
	walked        bool   // whether it matters what lies before and behind
}

// part is what was read of a listing.
type part struct {
	ranked         []redis.Z
	before, behind bool // whether the listing has more on either side
}

// read reads a part in every partition, in one round trip, and merges them.
func (r *Repo) read(ctx context.Context, l Listing, e extent) (part, error) {
	replies := make([]func() (slice, error), len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			replies[i] = r.queueRead(ctx, pipe, p, l, e)
		}
	})
	if err != nil {
		return part{}, err
	}
	var all slice
	for _, reply := range replies {
		s, err := reply()
		if err != nil {
			return part{}, err
		}
		all.start += s.start
		all.size += s.size
		all.ranked = append(all.ranked, s.ranked...)
	}
	if len(r.partitions) > 1 {
		l.sort(all.ranked)
	}
	return all.cut(e), nil
}

// slice is what one partition, or all of them, have of an extent: the articles
// from rank start on, of a listing of that size. Of the extent's most articles
// all may be in one partition, so several have more than that together.
type slice struct {
	start, size int
	ranked      []redis.Z
}

func (s slice) cut(e extent) part {
	more := max(0, len(s.ranked)-e.most)
	if e.last {
		end := s.start + len(s.ranked)
		return part{ranked: s.ranked[more:], before: s.start+more > 0, behind: end < s.size}
	}
	end := s.start + len(s.ranked) - more
	return part{ranked: s.ranked[:len(s.ranked)-more], before: s.start > 0, behind: end < s.size}
}

// sort is the order of Redis: by score, then by the bytes of the member.
func (l Listing) sort(ranked []redis.Z) {
	slices.SortFunc(ranked, func(a, b redis.Z) int {
		c := cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.Member.(string), b.Member.(string)))
		if l.direction == Descending {
			return -c
		}
		return c
	})
}

// queueRead puts the reading of one partition into the pipeline, and returns
// what gives the reply once that has run.
func (r *Repo) queueRead(ctx context.Context, pipe redis.Pipeliner, p partition, l Listing, e extent) func() (slice, error) {
	key := l.key(p)
	if l.group == "" && !e.walked {
		ranked := pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: key, Start: e.skip, Stop: e.skip + e.most - 1, Rev: l.direction == Descending})
		return func() (slice, error) { return slice{ranked: ranked.Val()}, ranked.Err() }
	}
	keys, reverse, end, indexed := []string{key}, "", "FIRST", l.group
	if l.group != "" {
		keys = append(keys, p.group(l.group), p.ranking(l.order), p.groups())
	}
	if l.direction == Descending {
		reverse = "REV"
	}
	if e.last {
		end = "LAST"
	}
	if l.group == Interesting {
		indexed = "" // kept by the scripts, and not one of the site's groups
	}
	after, afterMember := e.after.args()
	before, beforeMember := e.before.args()
	reply := listingScript.EvalSha(ctx, pipe, keys, reverse, e.most, end, e.skip, after, afterMember, before, beforeMember,
		r.rules.GroupCacheTTL.Milliseconds(), string(indexed))
	return func() (slice, error) { return parseSlice(reply) }
}

func (l Listing) key(p partition) string {
	switch {
	case l.group != "":
		return p.listing(l.order, l.group)
	case l.poster != "":
		return p.posted(l.poster)
	default:
		return p.ranking(l.order)
	}
}

// parseSlice reads the reply of listing.lua.
func parseSlice(c *redis.Cmd) (slice, error) {
	values, err := c.Slice()
	if err != nil {
		return slice{}, err
	}
	if len(values)%2 != 0 || len(values) == 0 {
		return slice{}, errNoStatus
	}
	start, _ := values[0].(int64)
	size, _ := values[1].(int64)
	s := slice{start: int(start), size: int(size), ranked: make([]redis.Z, 0, len(values)/2-1)}
	for pairs := values[2:]; len(pairs) > 0; pairs = pairs[2:] {
		text, _ := pairs[1].(string)
		score, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return slice{}, err
		}
		s.ranked = append(s.ranked, redis.Z{Member: pairs[0], Score: score})
	}
	return s, nil
}
