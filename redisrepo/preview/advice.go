package preview

import (
	"context"
	"fmt"
	"slices"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// Advice says which other ranking would serve a site better than linear, and why.
type Advice struct {
	Title  string        // of the article that its votes keep longest among the first ones
	Stays  time.Duration // what these votes are worth
	PerDay int           // articles that were posted in a day lately, at least a page
}

// Better is the half-life that is advised; docs/ranking.md has the measurement.
const Better = 6 * time.Hour

const tooLong = 3 * 24 * time.Hour // on a page whose articles are new each day

// Ranking is the recommended value of FRONTPAGE_RANKING.
func (a Advice) Ranking() string { return fmt.Sprintf("halflife:%dh", Better/time.Hour) }

// String returns the advice as a sentence.
func (a Advice) String() string {
	return fmt.Sprintf("%d articles are posted in a day, and the ranking linear keeps %q among the first for %d days: --ranking %s would serve this site better",
		a.PerDay, a.Title, a.Stays/(24*time.Hour), a.Ranking())
}

// Advise returns nil if the ranking of a site suits it, as far as its first and its newest articles show. The
// first page is too old if linear keeps an article there for three days or more, while at least a page of
// articles is posted each day. It reads two pages of articles.
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
