package redisrepo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Listing says which articles are listed, and in which order. Make one with
// Site, InGroup or PostedBy.
type Listing struct {
	order     Order
	direction Direction
	group     GroupName // empty: all of the site
	poster    UserName  // set: what the user posted, newest first
}

// Site lists all articles.
func Site(o Order, d Direction) Listing { return Listing{order: o, direction: d} }

// InGroup lists the articles of a group. Any name that parses is a group; most are empty.
func InGroup(name GroupName, o Order, d Direction) Listing {
	return Listing{order: o, direction: d, group: name}
}

// PostedBy lists the user's own articles, newest first. Articles that the
// book's code posted are found from their first vote or regrouping here on.
func PostedBy(user UserName) Listing {
	return Listing{order: ByTime, direction: Descending, poster: user}
}

// List returns one page of a listing, from page 1. A nil size is the site's
// PageSize. Articles with equal scores or times are sorted by the bytes of
// their ids. A page past the end is empty.
//
// It refuses with Invalid a page below 1 and a size outside 1 to MaxPageSize.
func (r *Repo) List(ctx context.Context, l Listing, page int, size *int) ([]ArticleID, error) {
	count := r.rules.PageSize
	if size != nil {
		count = *size
	}
	if page < 1 {
		return nil, refuse(Invalid, "page", "pages are counted from 1: there is no page %d", page)
	}
	if count < 1 || count > MaxPageSize {
		return nil, refuse(Invalid, "pageSize", "a page has 1 to %d articles, not %d", MaxPageSize, count)
	}
	first := min(page-1, math.MaxInt32) * count // there are fewer articles than that
	from := first
	if len(r.partitions) > 1 {
		from = 0 // any of the articles before the page may be in any partition
	}
	ranked, err := r.ranked(ctx, l, from, first+count-1)
	if err != nil {
		return nil, storeError("list", err)
	}
	ranked = ranked[min(first-from, len(ranked)):]
	ids := make([]ArticleID, 0, count)
	for _, z := range ranked[:min(count, len(ranked))] {
		id, err := ParseArticleID(z.Member.(string))
		if err != nil {
			return nil, fmt.Errorf("listing holds a foreign member: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// ranked reads the ranks from first to last in every partition, in one round
// trip, and merges them.
func (r *Repo) ranked(ctx context.Context, l Listing, first, last int) ([]redis.Z, error) {
	replies := make([]func() ([]redis.Z, error), len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			replies[i] = r.queueRange(ctx, pipe, p, l, first, last)
		}
	})
	if err != nil {
		return nil, err
	}
	merged, err := replies[0]()
	if err != nil || len(replies) == 1 {
		return merged, err
	}
	for _, reply := range replies[1:] {
		more, err := reply()
		if err != nil {
			return nil, err
		}
		merged = append(merged, more...)
	}
	slices.SortFunc(merged, func(a, b redis.Z) int {
		c := cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.Member.(string), b.Member.(string)))
		if l.direction == Descending {
			return -c
		}
		return c
	})
	return merged, nil
}

// queueRange puts the reading of one partition into the pipeline, and returns
// what gives the reply once that has run.
func (r *Repo) queueRange(ctx context.Context, pipe redis.Pipeliner, p partition, l Listing, first, last int) func() ([]redis.Z, error) {
	if l.group == "" {
		key := p.ranking(l.order)
		if l.poster != "" {
			key = p.posted(l.poster)
		}
		return pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: key, Start: first, Stop: last, Rev: l.direction == Descending}).Result
	}
	reverse, indexed := "", l.group
	if l.direction == Descending {
		reverse = "REV"
	}
	if l.group == interesting {
		indexed = "" // kept by the scripts, and not one of the site's groups
	}
	keys := []string{p.listing(l.order, l.group), p.group(l.group), p.ranking(l.order), p.groups()}
	members := groupScript.EvalSha(ctx, pipe, keys, r.rules.GroupCacheTTL.Milliseconds(), first, last, reverse, string(indexed))
	return func() ([]redis.Z, error) { return scored(members) }
}

// scored reads the reply of group.lua: members and scores in turn.
func scored(members *redis.Cmd) ([]redis.Z, error) {
	values, err := members.StringSlice()
	if err != nil {
		return nil, err
	}
	ranked := make([]redis.Z, 0, len(values)/2)
	for i := 0; i+1 < len(values); i += 2 {
		score, err := strconv.ParseFloat(values[i+1], 64)
		if err != nil {
			return nil, err
		}
		ranked = append(ranked, redis.Z{Member: values[i], Score: score})
	}
	return ranked, nil
}
