package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Preview is a front page as it stands, and as it would be under other rules.
type Preview struct {
	Rules  []string // of the site that differ from the other ones, as "ranking was linear and is halflife"
	Before []Placed // as it stands
	After  []Placed // under the other rules
}

// Placed is an article and its places under both rules, from 1; 0 for one below MaxRank.
type Placed struct {
	*Article
	Before, After int
}

// PreviewRanking returns the first size articles by score, 1 to MaxRank, of a site in use, and those that a start under
// these rules would put there. It changes nothing, and reads only as far into the past as votes can lift an article. The
// articles have the votes of the moment at which each is read, and scores under these rules.
func PreviewRanking(ctx context.Context, client redis.UniversalClient, rules Rules, size int, options ...Option) (Preview, error) {
	if size < 1 || size > MaxRank {
		return Preview{}, refuse(Invalid, "size", "a page has 1 to %d articles, not %d", MaxRank, size)
	}
	r, err := newRepo(ctx, client, rules, options...)
	if err != nil {
		return Preview{}, err
	}
	if r.incomplete {
		return Preview{}, ErrIncomplete
	}
	found, err := r.layouts(ctx)
	if err != nil {
		return Preview{}, err
	}
	if layout := slices.Min(found); layout < r.lastLayout() {
		return Preview{}, fmt.Errorf("the data has layout %d, this program needs %d: start this version on it first", layout, r.lastLayout())
	}
	var p Preview
	if _, p.Rules, err = r.outdated(ctx); err != nil {
		return Preview{}, storeError("read the rules", err)
	}
	if p.Before, p.After, err = r.bothRankings(ctx, size); err != nil {
		return Preview{}, err
	}
	return p, nil
}

// bothRankings returns the first articles of the stored ranking, and of that by the rules of r.
func (r *Repo) bothRankings(ctx context.Context, size int) (before, after []Placed, err error) {
	var stored, ranked []*Article
	err = r.eachPage(ctx, AllArticles(ByScore, Descending), func(page []*Article) bool {
		for _, a := range page {
			if !slices.ContainsFunc(stored, func(b *Article) bool { return a.ID == b.ID }) { // else a vote has moved it
				stored = append(stored, a)
			}
		}
		return len(stored) < MaxRank
	})
	if err != nil {
		return nil, nil, err
	}
	err = r.eachPage(ctx, AllArticles(ByTime, Descending), func(page []*Article) bool {
		ranked = append(ranked, page...)
		AllArticles(ByScore, Descending).Sort(ranked)
		ranked = ranked[:min(len(ranked), MaxRank)]
		if len(page) == 0 || len(ranked) < MaxRank {
			return true
		}
		// No votes put an older article among these.
		return page[len(page)-1].postedAt+r.rules.Worth(math.MaxInt32) >= ranked[MaxRank-1].Score
	})
	if err != nil {
		return nil, nil, err
	}
	return placed(stored, stored, ranked, size), placed(ranked, stored, ranked, size), nil
}

// placed returns the first articles of a page with their places in both rankings.
func placed(page, before, after []*Article, size int) []Placed {
	place := func(in []*Article, a *Article) int {
		return 1 + slices.IndexFunc(in, func(b *Article) bool { return a.ID == b.ID })
	}
	page = page[:min(size, len(page))]
	all := make([]Placed, len(page))
	for i, a := range page {
		all[i] = Placed{Article: a, Before: place(before, a), After: place(after, a)}
	}
	return all
}

// eachPage calls handle with the articles of a listing in its order, up to MaxPageSize at a time, until that returns false.
func (r *Repo) eachPage(ctx context.Context, l Listing, handle func([]*Article) bool) error {
	for request := (PageRequest{First: new(MaxPageSize)}); ; {
		edges, info, err := r.Walk(ctx, l, request)
		if err != nil {
			return err
		}
		ids := make([]ArticleID, len(edges))
		for i, e := range edges {
			ids[i] = e.ID
		}
		found, errs := r.ArticlesByID(ctx, ids)
		articles := found[:0]
		for i, a := range found {
			if errs[i] != nil && !errors.As(errs[i], new(Refusal)) {
				return errs[i]
			}
			if errs[i] == nil { // else it was deleted meanwhile
				articles = append(articles, a)
			}
		}
		if !handle(articles) || !info.HasNextPage {
			return nil
		}
		request.After = info.EndCursor
	}
}
