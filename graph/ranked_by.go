package graph

import (
	"time"

	"frontpage/redisrepo"
)

// RankedBy is what an article's score is made of.
type RankedBy struct {
	Formula    redisrepo.Ranking
	PostedAt   time.Time
	VotesWorth float64 // seconds
}

func rankedBy(rules redisrepo.Rules, articles []*redisrepo.Article) []*RankedBy {
	return collect(articles, func(a *redisrepo.Article) *RankedBy {
		return &RankedBy{Formula: rules.Ranking, PostedAt: a.CreatedAt, VotesWorth: rules.Worth(float64(a.Votes))}
	})
}
