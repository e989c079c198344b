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
	"frontpage/redisrepo/site"
)

// signedIn calls do for an authenticated viewer who has not exceeded the rate of rule, and whom no moderator has denied
// changes. It sets the user errors of a payload, which is an empty list if all went well, and returns any other error.
func (r *Resolver) signedIn(ctx context.Context, rule string, errs *[]UserError, do func(endpoint.Viewer) error) error {
	return authenticated(ctx, rule, errs, func(v endpoint.Viewer) error {
		if err := r.repo.Denials.MayChange(actor(v)); err != nil {
			return err
		}
		return do(v)
	})
}

// authenticated is signedIn for what concerns the viewer alone: no denial matters.
func authenticated(ctx context.Context, rule string, errs *[]UserError, do func(endpoint.Viewer) error) (err error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		*errs = []UserError{&BasicUserError{Code: unauthenticated, Message: "sign in first"}}
	} else if wait := endpoint.Exceeded(ctx, rule); wait > 0 {
		*errs = []UserError{rateLimitedError(wait)}
	} else {
		*errs, err = userErrors(do(v))
	}
	return err
}

// actor returns the viewer as one who changes articles.
func actor(v endpoint.Viewer) site.Actor {
	return site.Actor{Name: v.Name, Moderator: v.Moderator, Service: v.Service, Via: v.Via}
}

// bucket returns the bucket of the viewer's address. That of a service says nothing about the user for whom it acts.
func (r *Resolver) bucket(v endpoint.Viewer) string {
	if v.Via != "" {
		return ""
	}
	return r.buckets.bucket(v.Network())
}

// viewerMay reports for each article whether the viewer may do something.
func viewerMay(ctx context.Context, articles []*site.Article, do func(site.Actor, *site.Article) bool) ([]bool, error) {
	by, may := actor(endpoint.ViewerOf(ctx)), make([]bool, len(articles))
	for i, article := range articles {
		may[i] = do(by, article)
	}
	return may, nil
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

func (r *articleResolver) ViewerCanDelete(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return viewerMay(ctx, objs, site.Actor.MayDelete)
}

func (r *articleResolver) ViewerCanRegroup(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return viewerMay(ctx, objs, r.repo.MayRegroup)
}

func (r *articleResolver) ViewerCanEdit(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return viewerMay(ctx, objs, r.repo.CanEdit)
}

func (r *userResolver) IsModerator(ctx context.Context, objs []*site.User) ([]bool, error) {
	v, is := endpoint.ViewerOf(ctx), make([]bool, len(objs))
	for i, user := range objs {
		is[i] = v.Moderator && user.Name == v.Name
	}
	return is, nil
}

func (r *queryResolver) Viewer(ctx context.Context) (*site.User, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, nil
	}
	return &site.User{Name: v.Name}, nil
}

func (r *mutationResolver) EndSessions(ctx context.Context, input EndSessionsInput) (*UserPayload, error) {
	payload := new(UserPayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.User, err = r.repo.Sessions.EndSessions(ctx, input.Name, actor(v))
		return err
	})
}

func (r *groupResolver) ViewerCanPost(ctx context.Context, objs []*site.Group) ([]bool, error) {
	by := actor(endpoint.ViewerOf(ctx))
	return site.Collect(objs, func(g *site.Group) bool { return r.repo.Store.Rules.MayPost(by, g.Name) }), nil
}

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
