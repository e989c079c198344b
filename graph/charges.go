package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
)

// ruleOf says by which rule a mutation is counted.
var ruleOf = map[string]string{
	"vote": endpoint.RuleVotes, "post": endpoint.RulePosts, "regroup": endpoint.RuleChanges, "deleteArticle": endpoint.RuleChanges,
}

// RateLimit is the quota of complexity points of the caller.
type RateLimit struct {
	Limit, Cost, Remaining int
	ResetAt                time.Time
}

// rateLimit returns the caller's quota; nil when there is no limit.
func rateLimit(ctx context.Context) *RateLimit {
	charge, balance, ok := endpoint.CostBalance(ctx)
	if !ok {
		return nil
	}
	return &RateLimit{
		Limit: charge.Most, Cost: charge.Amount, Remaining: max(charge.Most-balance.Used, 0),
		ResetAt: time.Now().Add(balance.Left + time.Second - 1).UTC().Truncate(time.Second), // not too early
	}
}
