package graph

import (
	"time"

	"frontpage/redisrepo/site"
)

// RankedBy is what an article's score is made of.
type RankedBy struct {
	Formula    site.Ranking
	PostedAt   time.Time
	VotesWorth float64 // seconds
}

func rankedBy(rules site.Rules, articles []*site.Article) []*RankedBy {
	return collect(articles, func(a *site.Article) *RankedBy {
		return &RankedBy{Formula: rules.Ranking, PostedAt: a.CreatedAt, VotesWorth: rules.Worth(float64(a.Votes))}
	})
}
