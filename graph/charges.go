package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
)

// ruleOf maps each mutation to the rule of the rate limits that counts it.
var ruleOf = map[string]string{
	"vote":          endpoint.RuleVotes,
	"post":          endpoint.RulePosts,
	"regroup":       endpoint.RuleChanges,
	"deleteArticle": endpoint.RuleChanges,
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
