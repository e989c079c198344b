package rankings

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// The best rank of an article depends on the pages of all partitions, so no script that saves a page can know it.
// Instead, BestRanks first enters the hours since its last call into best:, once an hour for the whole site. Past pages
// do not change, so it does not matter which process enters an hour, or how often.

// RankAt is an article's rank on the front page of a full hour.
type RankAt struct {
	At   time.Time
	Rank *int // from 1; nil: it was not among the first 100
}

// BestRank is the best rank of an article on the front page of a full hour.
type BestRank struct {
	Rank int       // from 1
	At   time.Time // the first full hour at which it had that rank
}

// FrontRanks are the ranks of all articles on the front pages of consecutive hours.
type FrontRanks struct {
	first site.Hour
	pages []rankedHours
}

// rankedHours are the articles of a page by rank, at some hours in a row.
type rankedHours struct {
	hours int
	ids   []site.ArticleID
}

// FrontRanks reads the ranks of the last full hours, 1 to MaxFrontHours, including the one that has just passed. Hours
// without a known page are left out, see FrontPage. The Refusal for another number of hours is Invalid.
func (r *Rankings) FrontRanks(ctx context.Context, hours int) (*FrontRanks, error) {
	if hours < 1 || hours > MaxFrontHours {
		return nil, site.Refuse(site.Invalid, "hours", "hours is between 1 and %d, not %d", MaxFrontHours, hours)
	}
	now := r.store.ThisHour()
	first := now - site.Hour(hours) + 1
	pages, err := r.ReadFront(ctx, first, strconv.FormatInt(int64(now), 10))
	if err != nil {
		return nil, failover.Wrap("read front pages", err)
	}
	ranks := &FrontRanks{first: pages.first}
	pages.each(func(from, to site.Hour, items []redis.Z) {
		ranks.pages = append(ranks.pages, rankedHours{hours: int(min(to, pages.last)-from) + 1, ids: lists.IDsOf(items)})
	})
	return ranks, nil
}

// Of returns the ranks of an article, the oldest first.
func (f *FrontRanks) Of(id site.ArticleID) []*RankAt {
	ranks, h := []*RankAt{}, f.first
	for _, page := range f.pages {
		var rank *int
		if i := slices.Index(page.ids, id); i >= 0 {
			rank = new(i + 1)
		}
		for range page.hours {
			ranks = append(ranks, &RankAt{At: h.Time(), Rank: rank})
			h++
		}
	}
	return ranks
}

// Bytes estimates the memory of the ranks.
func (f *FrontRanks) Bytes() int {
	n := 100
	for _, page := range f.pages {
		n += 40 + 8*cap(page.ids)
	}
	return n
}

// bestRanks is what this process knows of the hours that are entered.
type bestRanks struct {
	turn  *semaphore.Weighted // for the call that uses what follows
	until site.Hour           // entered in all partitions; 0: not known
}

// HoursTogether is how many hours are entered in one step.
const HoursTogether = 7 * 24

// PerRank is the distance of two ranks in best:, which leaves room for the hour.
const PerRank = 10_000_000

// BestRanks returns for each article its best rank at a full hour since the site saves front pages, the current hour
// included, or nil if it was never among the first 100. Pages that were dropped before any call, because they were
// older than Rules.FrontPages, are not included. While the store refuses writes, later hours may be missing.
func (r *Rankings) BestRanks(ctx context.Context, ids []site.ArticleID) ([]*BestRank, error) {
	best := make([]*BestRank, len(ids))
	if r.store.Rules.FrontPages == 0 || len(ids) == 0 {
		return best, nil
	}
	if err := r.enterRanks(ctx); err != nil && !errors.Is(err, failover.ErrReadOnly) {
		return nil, err
	}
	scores, err := wire.ReadEach(ctx, r.store, ids, func(pipe redis.Pipeliner, id site.ArticleID) *redis.FloatCmd {
		return pipe.ZScore(ctx, r.store.Partition(id).Best(), id.String())
	})
	if err != nil {
		return nil, failover.Wrap("read best ranks", err)
	}
	for i, reply := range scores {
		if score := reply.Val(); score >= PerRank {
			best[i] = &BestRank{Rank: int(score) / PerRank, At: site.Hour(math.Mod(score, PerRank)).Time()}
		}
	}
	return best, nil
}

// enterRanks enters the hours up to the last full one that are not in the best ranks yet.
func (r *Rankings) enterRanks(ctx context.Context) error {
	if err := r.best.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.best.turn.Release(1)
	now := r.store.ThisHour()
	for r.best.until < now {
		if err := r.store.MayWrite(ctx); err != nil {
			return err
		}
		more, err := r.enterSomeRanks(ctx)
		if err != nil {
			return failover.Wrap("enter best ranks", err)
		}
		if !more {
			return nil
		}
	}
	return nil
}

// enterSomeRanks enters the next hours, and reports whether there may be more.
func (r *Rankings) enterSomeRanks(ctx context.Context) (more bool, err error) {
	clocks, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.SliceCmd {
		return pipe.HMGet(ctx, p.Clock(""), "ranked", "front_since")
	})
	if err != nil {
		return false, err
	}
	first, since := site.Hour(math.MaxInt64), site.Hour(0)
	before := make([]string, len(clocks))
	for i, clock := range clocks {
		before[i] = wire.Reply(clock.Val()).Text(0)
		known, err := strconv.ParseInt(wire.Reply(clock.Val()).Text(1), 10, 64)
		if err != nil {
			return false, nil // no page is known
		}
		ranked, _ := strconv.ParseInt(before[i], 10, 64)
		first, since = min(first, site.Hour(ranked)+1), max(since, site.Hour(known))
	}
	first = max(first, since)
	pages, err := r.ReadFront(ctx, first, strconv.FormatInt(int64(first)+HoursTogether-1, 10))
	if err != nil {
		return false, err
	}
	if pages.first > pages.last {
		r.best.until = first - 1
		return false, nil
	}
	best := BestOf(pages)
	replies := make([]*redis.Cmd, len(r.store.Partitions))
	err = r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			args := []any{
				before[i],         // ARGV[1] before
				int64(pages.last), // ARGV[2] last
			}
			for id, score := range best {
				if r.store.Index(id) == i {
					args = append(args, score, id.String()) // ARGV[3...]
				}
			}
			keys := []string{
				p.Best(),    // KEYS[1] best
				p.Clock(""), // KEYS[2] clock
			}
			replies[i] = bestRankScript.EvalSha(ctx, pipe, keys, args...)
		}
	})
	if err != nil {
		return false, err
	}
	for _, command := range replies {
		answer, err := wire.StatusReply(command)
		if err != nil || answer.Status() == "STALE" {
			return err == nil, err // another process enters them: look again
		}
	}
	r.best.until = pages.last
	return true, nil
}

// BestOf computes the scores in best: from pages, by article.
func BestOf(pages FrontPages) map[site.ArticleID]int64 {
	best := map[site.ArticleID]int64{}
	pages.each(func(from, _ site.Hour, items []redis.Z) {
		for i, z := range items {
			id, ok := lists.ArticleOf(z)
			score := int64(i+1)*PerRank + int64(from)
			if before, known := best[id]; ok && (!known || score < before) {
				best[id] = score
			}
		}
	})
	return best
}
