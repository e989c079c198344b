package graph

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strconv"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/site"
)

func (r *mutationResolver) Vote(ctx context.Context, input VoteInput) (*VotePayload, error) {
	payload := new(VotePayload)
	reads := mentioned(ctx, "text", "editedAt", "history")
	err := r.signedIn(ctx, endpoint.RuleVotes, &payload.UserErrors, func(v endpoint.Viewer) error {
		vote := r.repo.Vote
		if reads {
			vote = r.repo.VoteAndRead
		}
		if err := r.mayVote(ctx, v, input.Direction); err != nil {
			return err
		}
		result, err := vote(ctx, input.Article, v.Name, input.Direction, r.bucket(v))
		payload.Article, payload.Changed = result.Article, result.Changed
		if result.Article != nil && !result.Unknown {
			payload.Previous = &result.Previous
		}
		return err
	})
	if len(payload.UserErrors) > 0 && selected(ctx, "VotePayload.article") {
		payload.Article, err = r.asItStands(ctx, input.Article)
	}
	return payload, err
}

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

// ViewerCanVote reports for each article whether Vote would accept a vote of the viewer now.
func (r *articleResolver) ViewerCanVote(ctx context.Context, articles []*site.Article) ([]bool, error) {
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

func (r *articleResolver) ViewerVote(ctx context.Context, objs []*site.Article) ([]*site.Vote, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return make([]*site.Vote, len(objs)), nil
	}
	if len(objs) == 1 && endpoint.IsEvent(ctx) {
		vote, err := r.repo.Live.WatchedVote(ctx, v.Name, objs[0])
		return []*site.Vote{vote}, err
	}
	return r.repo.Casts.Votes(ctx, v.Name, objs)
}

func (r *queryResolver) ViewerVotes(ctx context.Context, direction *site.Vote, first *int32, after *string) (*CastVoteConnection, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, endpoint.Unauthenticated("sign in to list your votes")
	}
	return r.castVotes(ctx, v.Name, direction, first, after)
}

// castVotes returns a page of a user's votes.
func (r *Resolver) castVotes(ctx context.Context, user site.UserName, direction *site.Vote, first *int32, after *string) (*CastVoteConnection, error) {
	votes, info, err := r.repo.Casts.CastVotes(ctx, user, direction, asInt(first), after)
	if err != nil {
		return nil, err
	}
	c := &CastVoteConnection{PageInfo: info, Edges: make([]*CastVoteEdge, len(votes))}
	for i, vote := range votes {
		c.Edges[i] = &CastVoteEdge{ArticleEdge: ArticleEdge{Cursor: vote.Cursor}, At: vote.At, Vote: vote.Vote, voter: user, article: vote.Article}
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

// bucket returns the bucket of the viewer's address. That of a service says nothing about the user for whom it acts.
func (r *Resolver) bucket(v endpoint.Viewer) string {
	if v.Via != "" {
		return ""
	}
	return r.buckets.bucket(v.Network())
}

// bucketTime is how long an address keeps its bucket: long enough to notice one that votes for many users,
// and no longer than voting is open by default.
const bucketTime = 7 * 24 * time.Hour

// buckets conceal the addresses of voters from operators who look for fraud: they see whether two votes of
// one week came from the same address, but not from which. The value is the secret key; without one, no
// buckets are recorded.
type buckets []byte

// bucket returns the current bucket of an address, 12 hex digits: HMAC-SHA256 of the week and the address.
func (secret buckets) bucket(address netip.Addr) string {
	if len(secret) == 0 || !address.IsValid() {
		return ""
	}
	week := time.Now().Unix() / int64(bucketTime/time.Second)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(strconv.FormatInt(week, 10) + " " + address.String()))
	return hex.EncodeToString(mac.Sum(nil)[:6])
}
