package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/voids"
)

// VoidVotesInput names votes that a moderator takes out of all counts, or puts back.
type VoidVotesInput struct {
	Article site.ArticleID
	Users   []string
	Void    bool
	Reason  string
}

// VoidVotesPayload is the result of taking votes out or putting them back.
type VoidVotesPayload struct {
	Article    *site.Article
	Voided     int
	UserErrors []UserError
}

// VoterConnection is a page of an article's voters.
type VoterConnection struct {
	Edges    []*voids.Voter
	PageInfo site.PageInfo
}

// Nodes returns the voters without their votes.
func (c *VoterConnection) Nodes() []*site.User { return site.Collect(c.Edges, (*voids.Voter).User) }

func (r *mutationResolver) VoidVotes(ctx context.Context, input VoidVotesInput) (*VoidVotesPayload, error) {
	payload := new(VoidVotesPayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Article, payload.Voided, err = r.repo.VoidVotes(ctx, input.Article, actor(v), input.Users, input.Void, input.Reason)
		return err
	})
}

func (r *articleResolver) Voters(ctx context.Context, a *site.Article, direction *site.Vote, first *int32, after *string) (*VoterConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, nil
	}
	if !r.repo.Articles.VotersForgotten(a) {
		endpoint.Owe(ctx, (a.Upvotes+a.Downvotes)/votersPerPoint-votersCost)
	}
	voters, info, err := r.repo.Voids.Voters(ctx, a, direction, asInt(first), after)
	if err != nil {
		return nil, err
	}
	return &VoterConnection{voters, info}, nil
}

func (r *userResolver) VotesCast(ctx context.Context, obj *site.User, first *int32, after *string) (*CastVoteConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator || !r.repo.Store.Has("cast") {
		return nil, nil
	}
	return r.castVotes(ctx, obj.Name, nil, first, after)
}

func (r *castVoteEdgeResolver) Void(ctx context.Context, edges []*CastVoteEdge) ([]*voids.Void, error) {
	all := make([]*voids.Void, 0, len(edges))
	for len(edges) > 0 { // the lists of several users may be asked for together
		n := 1
		for n < len(edges) && edges[n].voter == edges[0].voter {
			n++
		}
		found, err := r.repo.Voids.Of(ctx, edges[0].voter, site.Collect(edges[:n], func(e *CastVoteEdge) site.ArticleID { return e.article }))
		if err != nil {
			return nil, err
		}
		all, edges = append(all, found...), edges[n:]
	}
	return all, nil
}

func (r *voidedVoteResolver) By(ctx context.Context, all []*voids.Void) ([]*site.User, error) {
	isModerator := endpoint.ViewerOf(ctx).Moderator
	return site.Collect(all, func(v *voids.Void) *site.User {
		if !isModerator {
			return nil
		}
		return &site.User{Name: v.By}
	}), nil
}

func (r *articleResolver) ViewerVoid(ctx context.Context, objs []*site.Article) ([]*voids.Void, error) {
	return r.repo.Voids.OfArticles(ctx, endpoint.ViewerOf(ctx).Name, objs)
}
