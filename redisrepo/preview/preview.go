// Package preview computes the front page under other rules before they change.
package preview

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// Preview is the present front page, and the one under other rules.
type Preview struct {
	Rules  []string // of the site that would change, such as "ranking was linear and is halflife"
	Before []Placed // as it stands
	After  []Placed // under the other rules
}

// Placed is an article and its places under both rules, from 1; 0 for one below MaxRank.
type Placed struct {
	*site.Article
	Before, After int
}

// Ranking returns the first size articles by score, 1 to MaxRank, of a site in use, and those under the given rules. It
// changes nothing, and reads only as far into the past as votes can lift an article. The articles have the votes of the
// moment at which each is read, and scores under the given rules.
func Ranking(ctx context.Context, client redis.UniversalClient, rules site.Rules, size int, options ...redisrepo.Option) (Preview, error) {
	if size < 1 || size > lists.MaxRank {
		return Preview{}, site.Refuse(site.Invalid, "size", "a page has 1 to %d articles, not %d", lists.MaxRank, size)
	}
	r, err := redisrepo.FindComplete(ctx, client, rules, options...)
	if err != nil {
		return Preview{}, err
	}
	found, err := r.Layout.Layouts(ctx)
	if err != nil {
		return Preview{}, err
	}
	if layout := slices.Min(found); layout < r.Layout.LastLayout() {
		return Preview{}, fmt.Errorf("the data has layout %d, this program needs %d: start this version on it first", layout, r.Layout.LastLayout())
	}
	var p Preview
	if _, p.Rules, err = r.Layout.Outdated(ctx); err != nil {
		return Preview{}, failover.Wrap("read the rules", err)
	}
	if p.Before, p.After, err = bothRankings(ctx, r, size); err != nil {
		return Preview{}, err
	}
	return p, nil
}

// bothRankings returns the first articles of the stored ranking, and of that by the rules of r.
func bothRankings(ctx context.Context, r *redisrepo.Repo, size int) (before, after []Placed, err error) {
	var stored, ranked []*site.Article
	err = eachPage(ctx, r, lists.AllArticles(site.ByScore, site.Descending), func(page []*site.Article) bool {
		for _, a := range page {
			if !slices.ContainsFunc(stored, func(b *site.Article) bool { return a.ID == b.ID }) { // else a vote has moved it
				stored = append(stored, a)
			}
		}
		return len(stored) < lists.MaxRank
	})
	if err != nil {
		return nil, nil, err
	}
	err = eachPage(ctx, r, lists.AllArticles(site.ByTime, site.Descending), func(page []*site.Article) bool {
		ranked = append(ranked, page...)
		lists.AllArticles(site.ByScore, site.Descending).Sort(ranked)
		ranked = ranked[:min(len(ranked), lists.MaxRank)]
		if len(page) == 0 || len(ranked) < lists.MaxRank {
			return true
		}
		// No votes put an older article among these.
		return page[len(page)-1].Stored.PostedAt+r.Store.Rules.Worth(math.MaxInt32) >= ranked[lists.MaxRank-1].Score
	})
	if err != nil {
		return nil, nil, err
	}
	return placed(stored, stored, ranked, size), placed(ranked, stored, ranked, size), nil
}

// placed returns the first articles of a page with their places in both rankings.
func placed(page, before, after []*site.Article, size int) []Placed {
	place := func(in []*site.Article, a *site.Article) int {
		return 1 + slices.IndexFunc(in, func(b *site.Article) bool { return a.ID == b.ID })
	}
	page = page[:min(size, len(page))]
	return site.Collect(page, func(a *site.Article) Placed {
		return Placed{Article: a, Before: place(before, a), After: place(after, a)}
	})
}

// eachPage calls handle with the articles of a listing in its order, up to MaxPageSize at a time, until that returns false.
func eachPage(ctx context.Context, r *redisrepo.Repo, l lists.Listing, handle func([]*site.Article) bool) error {
	for request := (site.PageRequest{First: new(site.MaxPageSize)}); ; {
		edges, info, err := r.Lists.Walk(ctx, l, request)
		if err != nil {
			return err
		}
		ids := site.Collect(edges, func(e lists.Edge) site.ArticleID { return e.ID })
		found, errs := r.Articles.ArticlesByID(ctx, ids)
		articles := found[:0]
		for i, a := range found {
			if errs[i] != nil && !errors.As(errs[i], new(site.Refusal)) {
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

// Advice recommends another ranking than linear for a site, with the reason.
type Advice struct {
	Title  string        // of the article that its votes keep longest among the first ones
	Stays  time.Duration // what these votes are worth
	PerDay int           // articles that were posted in a day lately, at least a page
}

// Better is the recommended half-life; docs/ranking.md has the measurement.
const Better = 6 * time.Hour

const tooLong = 3 * 24 * time.Hour // on a page whose articles are new each day

// Ranking is the recommended value of FRONTPAGE_RANKING.
func (a Advice) Ranking() string { return fmt.Sprintf("halflife:%dh", Better/time.Hour) }

// String returns the advice as a sentence.
func (a Advice) String() string {
	return fmt.Sprintf("%d articles are posted in a day, and the ranking linear keeps %q among the first for %d days: --ranking %s would serve this site better",
		a.PerDay, a.Title, a.Stays/(24*time.Hour), a.Ranking())
}

// Advise returns nil if the ranking of a site suits it, judging by its first and its newest articles. It recommends
// another one if linear keeps an article on the first page for three days or more, while at least a page of articles is
// posted each day. It reads two pages of articles.
func Advise(ctx context.Context, r *redisrepo.Repo) (*Advice, error) {
	if r.Store.Rules.Ranking != site.Linear {
		return nil, nil
	}
	var pages [2][]*site.Article
	for i, by := range []site.Order{site.ByTime, site.ByScore} {
		err := eachPage(ctx, r, lists.AllArticles(by, site.Descending), func(page []*site.Article) bool {
			pages[i] = page
			return false
		})
		if err != nil {
			return nil, err
		}
	}
	newest, first := pages[0], pages[1]
	if len(newest) < site.MaxPageSize || len(first) == 0 {
		return nil, nil
	}
	span := newest[0].CreatedAt.Sub(newest[len(newest)-1].CreatedAt)
	perDay := 24 * len(newest) / max(1, int(span/time.Hour))
	longest := slices.MaxFunc(first[:min(len(first), r.Store.Rules.PageSize)], func(a, b *site.Article) int { return a.Votes - b.Votes })
	stays := time.Duration(r.Store.Rules.Worth(float64(longest.Votes))) * time.Second
	if perDay < r.Store.Rules.PageSize || stays < tooLong {
		return nil, nil
	}
	return &Advice{Title: longest.Title, Stays: stays, PerDay: perDay}, nil
}
