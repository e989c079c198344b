package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/rankings"
)

// The keys of shared reads of front pages.
type (
	frontPageKey  int64 // Unix seconds
	frontRanksKey int   // number of hours
)

// perPlace is about how many bytes an article on a front page takes.
const perPlace = 32

// frontPage returns the front page of the last full hour that is not after a time.
func (r *Resolver) frontPage(ctx context.Context, at time.Time) (*rankings.FrontPage, error) {
	at = at.Truncate(time.Hour)
	return endpoint.Share(ctx, r.reads, frontPageKey(at.Unix()), func(ctx context.Context) (*rankings.FrontPage, int, error) {
		page, err := r.repo.FrontPage(ctx, at)
		if page == nil {
			return nil, perPlace, err
		}
		return page, perPlace * (len(page.Places) + 4), err
	})
}

// frontRanks returns the ranks of all articles at the last full hours.
func (r *Resolver) frontRanks(ctx context.Context, hours int) (*rankings.FrontRanks, error) {
	return endpoint.Share(ctx, r.reads, frontRanksKey(hours), func(ctx context.Context) (*rankings.FrontRanks, int, error) {
		ranks, err := r.repo.FrontRanks(ctx, hours)
		if ranks == nil {
			return nil, 0, err
		}
		return ranks, ranks.Bytes(), err
	})
}
