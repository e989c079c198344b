package rankings

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// FrontSince returns the first hour whose front page is known, which may come yet; 0: the site keeps no front pages.
func (r *Rankings) FrontSince(ctx context.Context) (since site.Hour, err error) {
	clocks, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.StringCmd {
		return pipe.HGet(ctx, p.Clock(""), "front_since")
	})
	for _, clock := range clocks {
		hour, unknown := clock.Int64()
		if unknown != nil || r.store.Rules.FrontPages == 0 {
			return 0, err
		}
		since = max(since, site.Hour(hour))
	}
	return since, failover.Wrap("read front pages", err)
}

// PastPages calls visit with the front pages of past hours, the oldest first. Each is that of its hour and of the hours since the
// page before. Two pages in a row differ, and the last one differs from the ranking.
func (r *Rankings) PastPages(ctx context.Context, since site.Hour, visit func(SavedPage) error) error {
	var page *SavedPage // the last one, which may go on
	last := r.store.ThisHour()
	for first := since; first <= last; first += HoursTogether {
		pages, err := r.ReadFront(ctx, first, strconv.FormatInt(int64(min(first+HoursTogether-1, last)), 10))
		if err != nil {
			return failover.Wrap("read front pages", err)
		}
		pages.each(func(_, to site.Hour, items []redis.Z) {
			if page != nil && !slices.Equal(page.Items, items) && err == nil {
				err = visit(*page)
			}
			page = &SavedPage{min(to, pages.last), slices.Clone(items)}
		})
		if err != nil {
			return err
		}
	}
	now, err := r.present(ctx)
	if err != nil || page == nil || slices.Equal(page.Items, now) {
		return failover.Wrap("read the front page", err)
	}
	return visit(*page)
}

// present returns the first articles of the ranking.
func (r *Rankings) present(ctx context.Context) (items []redis.Z, err error) {
	parts, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.ZSliceCmd {
		return pipe.ZRevRangeWithScores(ctx, p.Ranking(site.ByScore), 0, FrontPageSize-1)
	})
	for _, part := range parts {
		items = append(items, part.Val()...)
	}
	lists.AllArticles(site.ByScore, site.Descending).Sorting(items)
	return items[:min(FrontPageSize, len(items))], err
}

// PutPastPages stores pages of PastPages in a store that no process serves yet.
func (r *Rankings) PutPastPages(ctx context.Context, pages []SavedPage) error {
	return r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, page := range pages {
			parts := make([]SavedPage, len(r.store.Partitions))
			for _, z := range page.Items {
				if id, ok := lists.ArticleOf(z); ok {
					part := &parts[r.store.Index(id)]
					part.Items = append(part.Items, z)
				}
			}
			for i, part := range parts {
				part.Hour = page.Hour
				pipe.ZAdd(ctx, r.store.Partitions[i].Front(), redis.Z{Member: part.Text(), Score: float64(page.Hour)})
			}
		}
	})
}

// SetPast records from when on front pages are known, and the hour of the last one of PutPastPages, and enters their ranks into the
// best ranks. Pages that were saved since are dropped: they are of a store that was being filled.
func (r *Rankings) SetPast(ctx context.Context, since, last site.Hour) error {
	err := r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, p := range r.store.Partitions {
			pipe.ZRemRangeByScore(ctx, p.Front(), "("+strconv.FormatInt(int64(last), 10), "+inf")
			pipe.HSet(ctx, p.Clock(""), "front", int64(last), "front_since", int64(since), "ranked", int64(since)-1)
		}
	})
	if err == nil {
		err = r.enterRanks(ctx)
	}
	return failover.Wrap("store front pages", err)
}
