package redisrepo

import (
	"cmp"
	"context"
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
	e := extent{most: count, skip: first}
	if len(r.partitions) > 1 {
		e = extent{most: first + count} // any of the articles before the page may be in any partition
	}
	part, err := r.read(ctx, l, e)
	if err != nil {
		return nil, storeError("list", err)
	}
	ids := make([]ArticleID, 0, count)
	for _, z := range part.ranked[min(first-e.skip, len(part.ranked)):] {
		if id, ok := articleOf(z); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// articleOf is false for a member that is no article. Nobody but a stranger to
// these keys can have put it there: Check reports it, and readers pass over it.
func articleOf(z redis.Z) (ArticleID, bool) {
	member := z.Member.(string)
	id, err := ParseArticleID(member)
	return id, err == nil && strings.HasPrefix(member, articlePrefix)
}

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
	if l.group == interesting {
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
