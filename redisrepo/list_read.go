package redisrepo

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// listRequest is a request for a page of a listing, by cursors or by rank.
type listRequest struct {
	request[cursor]
	skip     int  // articles to skip at the start of the listing; only without cursors
	needEnds bool // whether hasPrevious and hasNext of the page are needed
	kept     bool // whether the listing of a group is probably stored
}

// ranked are consecutive articles of a listing.
type ranked struct {
	start int // rank of the first article
	total int // number of articles in the listing
	items []redis.Z

	missing bool // the listing of a group is not stored, against expectation
}

// readListing reads a page in the only partition. along, if it is not nil, queues more commands.
func (r *Repo) readListing(ctx context.Context, l Listing, q listRequest, along func(redis.Pipeliner)) (found ranked, err error) {
	var reply func() (ranked, error)
	err = r.readListings(ctx, l, func(pipe redis.Pipeliner) {
		reply = r.queueListing(ctx, pipe, r.partitions[0], l, q)
		if along != nil {
			along(pipe)
		}
	})
	if err != nil {
		return ranked{}, err
	}
	if !r.kept.has(l) {
		r.kept.add(l)
	}
	return reply()
}

// walk reads a page by cursors.
func (r *Repo) walk(ctx context.Context, l Listing, q listRequest) (page[redis.Z], error) {
	if len(r.partitions) > 1 {
		return r.walkPartitions(ctx, l, q)
	}
	found, err := r.readListing(ctx, l, q, nil)
	return newPage(found.items, q.size, q.last, found.start > 0, found.start+len(found.items) < found.total), err
}

// sort sorts as Redis does: by score, then by the bytes of the member.
func (l Listing) sort(items []redis.Z) {
	slices.SortFunc(items, func(a, b redis.Z) int {
		return l.compare(placeOf(a), placeOf(b))
	})
}

func (l Listing) compare(a, b cursor) int {
	c := cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.member, b.member))
	if l.direction == Descending {
		return -c
	}
	return c
}

// queueListing queues the command that reads one partition, and returns a function for its reply.
func (r *Repo) queueListing(ctx context.Context, pipe redis.Pipeliner, p partition, l Listing, q listRequest) func() (ranked, error) {
	if (l.group == "" || q.kept) && !q.needEnds {
		missing := queueMissing(ctx, pipe, p, l)
		items := pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: l.key(p), Start: q.skip, Stop: q.skip + q.size - 1, Rev: l.direction == Descending})
		return func() (ranked, error) { return ranked{items: items.Val(), missing: missing()}, items.Err() }
	}
	reply := r.callListing(ctx, pipe, p, l, q)
	return func() (ranked, error) { return parseRanked(reply) }
}

// queueMissing queues the commands that find out whether a partition has a group, but not its complete listing.
func queueMissing(ctx context.Context, pipe redis.Pipeliner, p partition, l Listing) func() bool {
	if l.group == "" {
		return func() bool { return false }
	}
	there, isBuilding := pipe.Exists(ctx, l.key(p), p.group(l.group)), queueBuilding(ctx, pipe, l.key(p))
	return func() bool { return there.Val() == 1 || isBuilding.Val() > 0 }
}

// callListing queues a call of listing.lua. With cursors in wanted it replies their ranks.
func (r *Repo) callListing(ctx context.Context, pipe redis.Pipeliner, p partition, l Listing, q listRequest, wanted ...cursor) *redis.Cmd {
	key := l.key(p)
	keys, reverse, end := []string{key}, "", "FIRST"
	if l.group != "" {
		keys = append(keys, p.group(l.group), p.ranking(l.order), p.groups(), p.sizes())
	}
	if l.direction == Descending {
		reverse = "REV"
	}
	if q.last {
		end = "LAST"
	}
	compares := "1"
	if r.kept.has(l) {
		compares = ""
	}
	afterScore, afterMember := q.after.args()
	beforeScore, beforeMember := q.before.args()
	args := []any{
		reverse,                              // ARGV[1]
		q.size,                               // ARGV[2]
		end,                                  // ARGV[3]
		q.skip,                               // ARGV[4]
		afterScore,                           // ARGV[5]
		afterMember,                          // ARGV[6]
		beforeScore,                          // ARGV[7]
		beforeMember,                         // ARGV[8]
		r.rules.GroupCacheTTL.Milliseconds(), // ARGV[9]
		string(l.indexed()),                  // ARGV[10]
		r.mostSmall,                          // ARGV[11]
		compares,                             // ARGV[12]
		r.kept.unrankedOf(key),               // ARGV[13]
	}
	for _, c := range wanted {
		score, member := c.args()
		args = append(args, score, member) // ARGV[14...]
	}
	return listingScript.EvalSha(ctx, pipe, keys, args...)
}

func (l Listing) key(p partition) string {
	switch {
	case l.group != "":
		return p.listing(l.order, l.group)
	case l.poster != "":
		return p.posted(l.poster)
	case l.host != "":
		return p.host(l.host)
	default:
		return p.ranking(l.order)
	}
}

// parseRanked parses the reply of listing.lua.
func parseRanked(c *redis.Cmd) (ranked, error) {
	values, err := c.Slice()
	if err != nil {
		return ranked{}, err
	}
	if len(values)%2 != 0 || len(values) == 0 {
		return ranked{}, errNoStatus
	}
	start, _ := values[0].(int64)
	total, _ := values[1].(int64)
	found := ranked{start: int(start), total: int(total), items: make([]redis.Z, 0, len(values)/2-1)}
	for pairs := values[2:]; len(pairs) > 0; pairs = pairs[2:] {
		text, _ := pairs[1].(string)
		score, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return ranked{}, err
		}
		found.items = append(found.items, redis.Z{Member: pairs[0], Score: score})
	}
	return found, nil
}
