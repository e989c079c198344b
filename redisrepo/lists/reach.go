package lists

import (
	"context"
	"math"
	"sort"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
)

// MaxRank is the lowest place that VotesToReach accepts.
const MaxRank = 1000

// VotesToReach returns for each article how many more net votes, with all others unchanged, would put it at a rank
// among all articles, from 1: 0 if it is there or above. It is nil for a deleted article, and if math.MaxInt32 votes
// are not enough, as with Capped. The Refusal is Invalid for a place outside 1 to MaxRank. It takes one round trip,
// with several partitions rarely two.
func (r *Lists) VotesToReach(ctx context.Context, articles []*site.Article, rank int) ([]*int32, error) {
	if rank < 1 || rank > MaxRank {
		return nil, site.Refuse(site.Invalid, "rank", "rank is between 1 and %d, not %d", MaxRank, rank)
	}
	holder, err := r.atRank(ctx, rank)
	if err != nil {
		return nil, failover.Wrap("read a place", err)
	}
	needed := make([]*int32, len(articles))
	for i, a := range articles {
		needed[i] = r.votesToPass(a, holder)
	}
	return needed, nil
}

// atRank returns the place in the ranking of the article that has a rank, or nil if there are fewer.
func (r *Lists) atRank(ctx context.Context, rank int) (*site.Cursor, error) {
	l := AllArticles(site.ByScore, site.Descending)
	if len(r.store.Partitions) == 1 {
		found, err := r.store.Client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: l.key(r.store.Partitions[0]), Start: rank - 1, Stop: rank - 1, Rev: true}).Result()
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return new(PlaceOf(found[0])), nil
	}
	items, _, err := r.merge(ctx, l, r.partsOf(l), rank, func(pipe redis.Pipeliner, i, size int, _ bool) func() (run, error) {
		reply := pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: l.key(r.store.Partitions[i]), Start: 0, Stop: size - 1, Rev: true})
		return func() (run, error) {
			return run{items: reply.Val(), more: len(reply.Val()) == size}, reply.Err()
		}
	})
	if err != nil || len(items) < rank {
		return nil, err
	}
	return new(PlaceOf(items[rank-1])), nil
}

// votesToPass returns how many more votes put an article at a place, or above it. What votes are worth never falls with
// their number, so a binary search finds it.
func (r *Lists) votesToPass(a *site.Article, holder *site.Cursor) *int32 {
	if a.DeletedAt != nil {
		return nil
	}
	if holder == nil {
		return new(int32(0))
	}
	member := a.ID.String()
	passes := func(more int) bool {
		score := a.Stored.PostedAt + r.store.Rules.Worth(float64(a.Votes+more))
		return score > holder.Score || score == holder.Score && member >= holder.Member
	}
	if !passes(math.MaxInt32) {
		return nil
	}
	return new(int32(sort.Search(math.MaxInt32, passes))) // #nosec G115 -- at most MaxInt32
}
