package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
)

// ruleOf maps each mutation to the rule of the rate limits that counts it.
var ruleOf = map[string]string{
	"vote":          endpoint.RuleVotes,
	"post":          endpoint.RulePosts,
	"regroup":       endpoint.RuleChanges,
	"editArticle":   endpoint.RuleChanges,
	"deleteArticle": endpoint.RuleChanges,
	"endSessions":   endpoint.RuleChanges,
}

// repeatedPost returns the article of an earlier post with the same idempotency key, if posts are limited. It is not
// charged as a post: a request that got no response can be sent again, however many posts the user has left.
func (r *Resolver) repeatedPost(ctx context.Context, d site.Draft) (*site.Article, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" || d.IdempotencyKey == nil || !endpoint.Counted(ctx, endpoint.RulePosts) {
		return nil, nil
	}
	article, err := r.repo.RepeatedPost(ctx, v.Name, d)
	if article != nil {
		endpoint.GiveBack(ctx, endpoint.RulePosts)
	}
	return article, err
}

// RateLimit is the caller's quota of complexity points.
type RateLimit struct {
	Limit, Cost, Remaining int
	ResetAt                time.Time
}

// rateLimit returns the caller's quota, or nil if the cost is not limited.
func rateLimit(ctx context.Context) *RateLimit {
	charge, balance, ok := endpoint.CostBalance(ctx)
	if !ok {
		return nil
	}
	return &RateLimit{
		Limit: charge.Most, Cost: charge.Amount, Remaining: max(charge.Most-balance.Used, 0),
		ResetAt: time.Now().Add(balance.Left + time.Second - 1).UTC().Truncate(time.Second), // rounded up
	}
}
