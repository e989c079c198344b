package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
)

// mayVote returns a Refusal, TooNew, for a downvote of a new user.
func (r *Resolver) mayVote(ctx context.Context, v endpoint.Viewer, vote site.Vote) error {
	if vote != site.Down || !r.repo.Store.Rules.Downvotes || !v.MayBeNew() {
		return nil
	}
	until, err := r.repo.Newcomers.NewUntil(ctx, v.Name, v.Created)
	if err != nil || until.IsZero() {
		return err
	}
	refusal := site.Refuse(site.TooNew, "direction", "new users cannot vote down: you can from %s on", until.Format("2 January 2006, 15:04 MST"))
	refusal[0].Until = &until
	return refusal
}
