package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/casts"
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

// voidVotes takes votes out, or puts them back, for a moderator.
func (r *Resolver) voidVotes(ctx context.Context, input VoidVotesInput) (*VoidVotesPayload, error) {
	var payload VoidVotesPayload
	var err error
	payload.UserErrors, err = r.signedIn(ctx, endpoint.RuleChanges, func(v endpoint.Viewer) (err error) {
		payload.Article, payload.Voided, err = r.repo.VoidVotes(ctx, input.Article, actor(v), input.Users, input.Void, input.Reason)
		return err
	})
	return &payload, err
}

// votersOf returns a page of an article's voters to moderators.
func (r *Resolver) votersOf(ctx context.Context, a *site.Article, direction *site.Vote, first *int32, after *string) (*VoterConnection, error) {
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

// votesOf returns a page of a user's votes to moderators.
func (r *Resolver) votesOf(ctx context.Context, user site.UserName, first *int32, after *string) (*CastVoteConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator || !r.repo.Store.Has("cast") {
		return nil, nil
	}
	return r.castVotes(ctx, user, nil, first, after)
}

// castVotes returns a page of a user's votes.
func (r *Resolver) castVotes(ctx context.Context, user site.UserName, direction *site.Vote, first *int32, after *string) (*CastVoteConnection, error) {
	votes, info, err := r.repo.Casts.CastVotes(ctx, user, direction, asInt(first), after)
	if err != nil {
		return nil, err
	}
	c := &CastVoteConnection{PageInfo: info, Edges: make([]*CastVoteEdge, len(votes))}
	for i, vote := range votes {
		c.Edges[i] = &CastVoteEdge{Cursor: vote.Cursor, At: vote.At, Vote: vote.Vote, voter: user, article: vote.Article}
	}
	if !selected(ctx, "CastVoteConnection.nodes") && !selected(ctx, "CastVoteConnection.edges", "CastVoteEdge.node") {
		return c, nil
	}
	articles, err := r.loadAll(ctx, site.Collect(votes, func(v casts.CastVote) site.ArticleID { return v.Article }))
	for i, article := range articles {
		c.Edges[i].Node = article
	}
	return c, err
}

// voidsOf returns for each vote of a list why it does not count.
func (r *Resolver) voidsOf(ctx context.Context, edges []*CastVoteEdge) ([]*voids.Void, error) {
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

// moderatorOf returns the moderator of each vote that does not count, to moderators.
func moderatorOf(ctx context.Context, all []*voids.Void) []*site.User {
	isModerator := endpoint.ViewerOf(ctx).Moderator
	return site.Collect(all, func(v *voids.Void) *site.User {
		if !isModerator {
			return nil
		}
		return &site.User{Name: v.By}
	})
}

// canVote reports for each article whether Vote would accept a vote of the viewer now.
func (r *Resolver) canVote(ctx context.Context, articles []*site.Article) ([]bool, error) {
	v, can := endpoint.ViewerOf(ctx), make([]bool, len(articles))
	if v.Name == "" {
		return can, nil
	}
	found, err := r.repo.Voids.OfArticles(ctx, v.Name, articles)
	if err != nil {
		return nil, err
	}
	for i, article := range articles {
		can[i] = found[i] == nil && r.repo.Articles.CanVote(v.Name, article)
	}
	return can, nil
}
