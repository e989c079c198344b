package lists

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// ListRequest is a request for a page of a listing, by cursors or by rank.
type ListRequest struct {
	site.Request[site.Cursor]
	skip     int  // articles to skip at the start of the listing; only without cursors
	needEnds bool // whether hasPrevious and hasNext of the page are needed
}

// Ranked is consecutive articles of a listing.
type Ranked struct {
	start int // rank of the first article
	total int // number of articles in the listing
	Items []redis.Z

	lacking int    // entries of the log that the stored listing did not have
	seen    string // the last entry of the log that it has now
}

// readListing reads a page in the only partition. along, if it is not nil, queues more commands.
func (r *Lists) readListing(ctx context.Context, l Listing, q ListRequest, along func(redis.Pipeliner)) (found Ranked, err error) {
	var reply func() (Ranked, error)
	err = r.ReadListings(ctx, l, func(pipe redis.Pipeliner) {
		reply = r.queueListing(ctx, pipe, r.store.Partitions[0], l, q)
		if along != nil {
			along(pipe)
		}
	})
	if err != nil {
		return Ranked{}, err
	}
	return reply()
}

// walk reads a page by cursors.
func (r *Lists) walk(ctx context.Context, l Listing, q ListRequest) (site.Page[redis.Z], error) {
	if len(r.store.Partitions) > 1 {
		return r.walkPartitions(ctx, l, q, false)
	}
	found, err := r.readListing(ctx, l, q, nil)
	return site.NewPage(found.Items, q.Size, q.Last, found.start > 0, found.start+len(found.Items) < found.total), err
}

// Sorting sorts as Redis does: by score, then by the bytes of the member.
func (l Listing) Sorting(items []redis.Z) {
	slices.SortFunc(items, func(a, b redis.Z) int {
		return l.Compare(PlaceOf(a), PlaceOf(b))
	})
}

// Compare orders places as the listing does.
func (l Listing) Compare(a, b site.Cursor) int {
	if l.direction == site.Descending {
		return b.Compare(a)
	}
	return a.Compare(b)
}

// queueListing queues the command that reads one partition, and returns a function for its reply.
func (r *Lists) queueListing(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, l Listing, q ListRequest) func() (Ranked, error) {
	if l.group == "" && !q.needEnds {
		items := pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: l.key(p), Start: q.skip, Stop: q.skip + q.Size - 1, Rev: l.direction == site.Descending})
		return func() (Ranked, error) { return Ranked{Items: items.Val()}, items.Err() }
	}
	reply := r.CallListing(ctx, pipe, p, l, q)
	return func() (Ranked, error) {
		found, err := ParseRanked(reply)
		if err == nil && l.follows() {
			r.seen.Add(part{p, l}, seenListing{found.seen, time.Now()})
			if found.total == 0 { // an empty one is not stored
				r.seen.Remove(part{p, l})
			}
			r.views.Found(found.lacking)
		}
		return found, err
	}
}

// isBuilding reports whether the first member of a listing says that it is not complete, see gather.lua.
func isBuilding(first []string) bool {
	return len(first) > 0 && strings.HasPrefix(first[0], "building:")
}

// CallListing queues a call of listing.lua. With cursors in wanted it replies their ranks.
func (r *Lists) CallListing(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, l Listing, q ListRequest, wanted ...site.Cursor) *redis.Cmd {
	key := l.key(p)
	keys, reverse, end := []string{key}, "", "FIRST"
	if l.group != "" {
		keys = append(keys, p.Group(l.group), p.Ranking(l.order))
	}
	if l.follows() {
		keys = append(keys, p.Views(), p.Events())
	}
	if l.direction == site.Descending {
		reverse = "REV"
	}
	if q.Last {
		end = "LAST"
	}
	afterScore, afterMember := q.After.Args()
	beforeScore, beforeMember := q.Before.Args()
	args := []any{
		reverse,      // ARGV[1]
		q.Size,       // ARGV[2]
		end,          // ARGV[3]
		q.skip,       // ARGV[4]
		afterScore,   // ARGV[5]
		afterMember,  // ARGV[6]
		beforeScore,  // ARGV[7]
		beforeMember, // ARGV[8]
		r.store.Rules.GroupCacheTTL.Milliseconds(), // ARGV[9]
		r.mostSmall,       // ARGV[10]
		r.seenEntry(p, l), // ARGV[11]
		mostLacking,       // ARGV[12]
	}
	for _, c := range wanted {
		score, member := c.Args()
		args = append(args, score, member) // ARGV[13...]
	}
	return listingScript.EvalSha(ctx, pipe, keys, args...)
}

func (l Listing) key(p keys.Partition) string {
	switch {
	case l.group != "":
		return p.Listing(l.order, l.group)
	case l.own != "":
		return p.Key(l.own)
	default:
		return p.Ranking(l.order)
	}
}

// ParseRanked parses the reply of listing.lua.
func ParseRanked(c *redis.Cmd) (Ranked, error) {
	values, err := c.Slice()
	if err != nil {
		return Ranked{}, err
	}
	end := len(values) - 2
	if len(values)%2 != 0 || end < 2 {
		return Ranked{}, wire.ErrNoStatus
	}
	answer := wire.Reply(values)
	found := Ranked{start: int(answer.Number(0)), total: int(answer.Number(1)), lacking: int(answer.Number(end)), seen: answer.Text(end + 1), Items: make([]redis.Z, 0, end/2-1)}
	for i := 2; i < end; i += 2 {
		score, err := strconv.ParseFloat(answer.Text(i+1), 64)
		if err != nil {
			return Ranked{}, err
		}
		found.Items = append(found.Items, redis.Z{Member: values[i], Score: score})
	}
	return found, nil
}

// Count returns the number of articles in a listing, in one round trip.
func (r *Lists) Count(ctx context.Context, l Listing) (int, error) {
	if l.group != "" {
		counts, err := r.articles.ArticleCounts(ctx, []site.GroupName{l.group})
		if err != nil {
			return 0, err
		}
		return counts[0], nil
	}
	n, err := r.store.Sum(ctx, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd { return pipe.ZCard(ctx, l.key(p)) })
	return n, failover.Wrap("count articles", err)
}

// FirstArticles returns the first articles of a listing, in its order. known are up to MaxPageSize articles that the
// caller expects: it takes one round trip if they include all, and two otherwise. Articles that cannot be decoded are
// left out.
func (r *Lists) FirstArticles(ctx context.Context, l Listing, count int, known []site.ArticleID) ([]*site.Article, error) {
	read := make(map[site.ArticleID]*redis.MapStringStringCmd, len(known))
	ids, err := r.listIDs(ctx, l, 0, count, func(pipe redis.Pipeliner) {
		for _, id := range known[:min(len(known), site.MaxPageSize)] {
			read[id] = pipe.HGetAll(ctx, r.store.Partition(id).Article(id))
		}
	})
	if err != nil && len(known) > 0 && !errors.Is(err, failover.ErrUnavailable) { // perhaps one of the articles cannot be read
		return r.FirstArticles(ctx, l, count, nil)
	}
	if err != nil {
		return nil, err
	}
	found, errs := make([]*site.Article, len(ids)), make([]error, len(ids))
	var unread []int
	var missing []site.ArticleID
	for i, id := range ids {
		if hash := read[id]; hash != nil {
			found[i], errs[i] = r.articles.ObserveHash(id, articles.HashOf(hash.Val()), len(hash.Val()), new(articles.Decoded))
		} else {
			unread, missing = append(unread, i), append(missing, id)
		}
	}
	rest, restErrs := r.articles.ReadArticles(ctx, missing)
	for j, i := range unread {
		found[i], errs[i] = rest[j], restErrs[j]
	}
	if err := articles.Unanswered(errs); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(a *site.Article) bool { return a == nil || a.DeletedAt != nil }), nil
}
