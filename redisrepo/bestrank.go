package redisrepo

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
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
	first hour
	pages []rankedHours
}

// rankedHours are the articles of a page by rank, at some hours in a row.
type rankedHours struct {
	hours int
	ids   []ArticleID
}

// FrontRanks reads the ranks of the last full hours, 1 to MaxFrontHours, including the one that has just passed. Hours
// whose page is not known are left out: see FrontPage. The Refusal for another number of hours is Invalid.
func (r *Repo) FrontRanks(ctx context.Context, hours int) (*FrontRanks, error) {
	if hours < 1 || hours > MaxFrontHours {
		return nil, refuse(Invalid, "hours", "hours is between 1 and %d, not %d", MaxFrontHours, hours)
	}
	now := r.thisHour()
	first := now - hour(hours) + 1
	pages, err := r.readFront(ctx, first, strconv.FormatInt(int64(now), 10))
	if err != nil {
		return nil, storeError("read front pages", err)
	}
	ranks := &FrontRanks{first: pages.first}
	pages.each(func(from, to hour, items []redis.Z) {
		ranks.pages = append(ranks.pages, rankedHours{hours: int(min(to, pages.last)-from) + 1, ids: idsOf(items)})
	})
	return ranks, nil
}

func idsOf(items []redis.Z) []ArticleID {
	ids := make([]ArticleID, 0, len(items))
	for _, z := range items {
		if id, ok := articleOf(z); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// Of returns the ranks of an article, the oldest first.
func (f *FrontRanks) Of(id ArticleID) []*RankAt {
	ranks, h := []*RankAt{}, f.first
	for _, page := range f.pages {
		var rank *int
		for i, other := range page.ids {
			if other == id {
				rank = new(i + 1)
			}
		}
		for range page.hours {
			ranks = append(ranks, &RankAt{At: h.time(), Rank: rank})
			h++
		}
	}
	return ranks
}

// Bytes is about how much memory the ranks take.
func (f *FrontRanks) Bytes() int {
	n := 100
	for _, page := range f.pages {
		n += 40 + 8*cap(page.ids)
	}
	return n
}

// bestRanks is what this process knows of the hours that are entered.
type bestRanks struct {
	turn  chan struct{} // of the call that uses what follows
	until hour          // entered in all partitions; 0: not known
}

// hoursTogether is how many hours are entered in one step.
const hoursTogether = 7 * 24

// perRank is the distance of two ranks in best:, which leaves room for the hour.
const perRank = 10_000_000

// BestRanks returns for each article its best rank at a full hour since the site saves front pages, the current hour
// included, or nil if it was never among the first 100. The pages of hours that were dropped before any call, because they
// were older than Rules.FrontPages, are not included. While the store refuses writes, those since it does may be missing.
func (r *Repo) BestRanks(ctx context.Context, ids []ArticleID) ([]*BestRank, error) {
	best := make([]*BestRank, len(ids))
	if r.rules.FrontPages == 0 || len(ids) == 0 {
		return best, nil
	}
	if err := r.enterRanks(ctx); err != nil && !errors.Is(err, ErrReadOnly) {
		return nil, err
	}
	members, at := make([][]string, len(r.partitions)), make([][]int, len(r.partitions))
	for i, id := range ids {
		p := r.index(id)
		members[p], at[p] = append(members[p], id.String()), append(at[p], i)
	}
	replies := make([]*redis.FloatSliceCmd, len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			if len(members[i]) > 0 {
				replies[i] = pipe.ZMScore(ctx, p.best(), members[i]...)
			}
		}
	})
	if err != nil {
		return nil, storeError("read best ranks", err)
	}
	for i, reply := range replies {
		if reply == nil {
			continue
		}
		for j, score := range reply.Val() {
			if score >= perRank {
				best[at[i][j]] = &BestRank{Rank: int(score) / perRank, At: hour(math.Mod(score, perRank)).time()}
			}
		}
	}
	return best, nil
}

// enterRanks enters the hours up to the last full one that are not in the best ranks yet.
func (r *Repo) enterRanks(ctx context.Context) error {
	select {
	case r.best.turn <- struct{}{}:
		defer func() { <-r.best.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now := r.thisHour()
	for r.best.until < now {
		if err := r.mayWrite(ctx); err != nil {
			return err
		}
		more, err := r.enterSomeRanks(ctx)
		if err != nil {
			return storeError("enter best ranks", err)
		}
		if !more {
			return nil
		}
	}
	return nil
}

// enterSomeRanks enters the next hours, and reports whether there may be more.
func (r *Repo) enterSomeRanks(ctx context.Context) (more bool, err error) {
	clocks := make([]*redis.SliceCmd, len(r.partitions))
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			clocks[i] = pipe.HMGet(ctx, p.clock(""), "ranked", "front_since")
		}
	})
	if err != nil {
		return false, err
	}
	first, since := hour(math.MaxInt64), hour(0)
	before := make([]string, len(clocks))
	for i, clock := range clocks {
		before[i] = reply(clock.Val()).text(0)
		known, err := strconv.ParseInt(reply(clock.Val()).text(1), 10, 64)
		if err != nil {
			return false, nil // no page is known
		}
		ranked, _ := strconv.ParseInt(before[i], 10, 64)
		first, since = min(first, hour(ranked)+1), max(since, hour(known))
	}
	first = max(first, since)
	pages, err := r.readFront(ctx, first, strconv.FormatInt(int64(first)+hoursTogether-1, 10))
	if err != nil {
		return false, err
	}
	if pages.first > pages.last {
		r.best.until = first - 1
		return false, nil
	}
	best := bestOf(pages)
	replies := make([]*redis.Cmd, len(r.partitions))
	err = r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			args := []any{
				before[i],         // ARGV[1] before
				int64(pages.last), // ARGV[2] last
			}
			for id, score := range best {
				if r.index(id) == i {
					args = append(args, score, id.String()) // ARGV[3...]
				}
			}
			keys := []string{
				p.best(),    // KEYS[1] best
				p.clock(""), // KEYS[2] clock
			}
			replies[i] = bestRankScript.EvalSha(ctx, pipe, keys, args...)
		}
	})
	if err != nil {
		return false, err
	}
	for _, command := range replies {
		answer, err := statusReply(command)
		if err != nil || answer.status() == "STALE" {
			return err == nil, err // another process enters them: look again
		}
	}
	r.best.until = pages.last
	return true, nil
}

// bestOf returns the members' scores in best: that the pages lead to.
func bestOf(pages frontPages) map[ArticleID]int64 {
	best := map[ArticleID]int64{}
	pages.each(func(from, _ hour, items []redis.Z) {
		for i, z := range items {
			id, ok := articleOf(z)
			score := int64(i+1)*perRank + int64(from)
			if before, known := best[id]; ok && (!known || score < before) {
				best[id] = score
			}
		}
	})
	return best
}
