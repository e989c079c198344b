package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
)

// Node is anything that has an id: an article, a group or a user.
type Node any

// VoteInput is a vote.
type VoteInput struct {
	Article   site.ArticleID
	Direction site.Vote
}

// RegroupInput is a change of groups.
type RegroupInput struct {
	Article     site.ArticleID
	Add, Remove []string
	WhyInput
}

// ArticlePayload is the result of a post, or of a change of an article.
type ArticlePayload struct {
	Article    *site.Article
	UserErrors []UserError
}

// VotePayload is the result of a vote.
type VotePayload struct {
	Article    *site.Article
	Previous   *site.Vote
	Changed    bool
	UserErrors []UserError
}

// EditArticleInput is a change of an article.
type EditArticleInput struct {
	Article     site.ArticleID
	Title, Text *string
	Groups      []string
	IfRevision  *int
	WhyInput
}

// DeleteArticleInput names the article to delete.
type DeleteArticleInput struct {
	Article site.ArticleID
	WhyInput
}

// RestoreArticleInput names the article to restore.
type RestoreArticleInput struct {
	Article site.ArticleID
	Reason  *string
}

// WhyInput is a moderator's reason for an action.
type WhyInput struct {
	Ground        *site.Ground
	Basis, Reason *string
}

func (i WhyInput) why() site.Why {
	return site.Why{Ground: site.Value(i.Ground), Basis: site.Value(i.Basis), Reason: site.Value(i.Reason)}
}

// Removal is why a moderator deleted or changed an article.
type Removal struct {
	Ground site.Ground
	Reason string
	Basis  *string
	At     time.Time
	By     *site.User // nil unless the viewer is a moderator

	Redress *string

	FromReport *bool // nil: unknown
}

func (r *Resolver) removal(w site.Why, at time.Time, by *site.User, fromReport *bool) *Removal {
	return &Removal{Ground: w.Ground, Reason: w.Reason, Basis: site.Optional(w.Basis), At: at, By: by, FromReport: fromReport, Redress: r.site.Contact}
}

// DeleteArticlePayload is the result of a deletion.
type DeleteArticlePayload struct {
	DeletedID  *site.ArticleID
	UserErrors []UserError
}

// EndSessionsInput names the user whose sessions end.
type EndSessionsInput struct{ Name string }

// UserPayload is the result of a change that concerns a user.
type UserPayload struct {
	User       *site.User
	UserErrors []UserError
}

// UserError is a broken rule in a payload: an error that a user can act on.
type UserError interface{ IsUserError() }

// BasicUserError is a user error without further fields.
type BasicUserError site.Error

// IsUserError implements the schema's interface UserError.
func (*BasicUserError) IsUserError() {}

// The codes of the schema that redisrepo does not return: it neither authenticates users nor limits the rates of
// mutations.
const (
	unauthenticated site.Code = "UNAUTHENTICATED"
	rateLimited     site.Code = "RATE_LIMITED"
)

// RateLimitedError says how long to wait.
type RateLimitedError struct {
	BasicUserError
	RetryAfter int // seconds
}

func rateLimitedError(wait time.Duration) *RateLimitedError {
	seconds := rates.Seconds(wait)
	return &RateLimitedError{BasicUserError{Code: rateLimited, Message: fmt.Sprintf("rate limit exceeded: try again in %d s", seconds)}, seconds}
}

// DuplicateLinkError names the article that has the link.
type DuplicateLinkError struct {
	BasicUserError
	ArticleID site.ArticleID
}

// maxUserErrors is the maximum number of user errors in a payload. The cost of an operation counts as many.
const maxUserErrors = 20

// userErrors returns the user errors of a refusal, and any other error as it is. Without an error the list is
// empty.
func userErrors(err error) ([]UserError, error) {
	shown := []UserError{}
	if err == nil {
		return shown, nil
	}
	var refusal site.Refusal
	if !errors.As(err, &refusal) {
		return shown, err
	}
	for i, e := range refusal {
		if left := len(refusal) - i; i == maxUserErrors-1 && left > 1 {
			return append(shown, &BasicUserError{Code: site.Invalid, Message: fmt.Sprintf("%d more errors are not shown", left)}), nil
		}
		switch {
		case e.Article != nil:
			shown = append(shown, &DuplicateLinkError{BasicUserError(*e), *e.Article})
		case e.Code == site.Denied, e.Code == site.TooNew:
			shown = append(shown, &DeniedError{BasicUserError(*e), e.Until, site.Optional(e.Reason)})
		default:
			shown = append(shown, (*BasicUserError)(e))
		}
	}
	return shown, nil
}

// badInput returns the refusal of an invalid argument.
func badInput(message string) error {
	return site.Refusal{{Code: site.Invalid, Message: message}}
}

func (r *articleResolver) History(ctx context.Context, objs []*site.Article, first *int32) ([][]*site.Version, error) {
	most, err := sizeOf(first, site.MaxVersions)
	if err != nil {
		return nil, err
	}
	return r.repo.Versions(ctx, objs, most)
}

func (r *articleResolver) Removal(ctx context.Context, objs []*site.Article) ([]*Removal, error) {
	viewer, all := endpoint.ViewerOf(ctx), make([]*Removal, len(objs))
	for i, a := range objs {
		if a.Removal == nil || !mayKnowWhy(viewer, a) {
			continue
		}
		var by *site.User
		if viewer.Moderator {
			by = &site.User{Name: a.Removal.By}
		}
		all[i] = r.removal(a.Removal.Why, a.Removal.At, by, &a.Removal.FromReport)
	}
	return all, nil
}

func (r *mutationResolver) Post(ctx context.Context, input site.Draft) (*ArticlePayload, error) {
	repeated, err := r.repeatedPost(ctx, input)
	payload := &ArticlePayload{Article: repeated}
	if repeated != nil || err != nil {
		payload.UserErrors, err = userErrors(err)
		return payload, err
	}
	return payload, r.signedIn(ctx, endpoint.RulePosts, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Article, err = r.repo.PostAs(ctx, actor(v), input)
		return err
	})
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

func (r *mutationResolver) Regroup(ctx context.Context, input RegroupInput) (*ArticlePayload, error) {
	payload := new(ArticlePayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Article, err = r.repo.RegroupFor(ctx, input.Article, actor(v), input.Add, input.Remove, input.why())
		return err
	})
}

func (r *mutationResolver) EditArticle(ctx context.Context, input EditArticleInput) (*ArticlePayload, error) {
	payload := new(ArticlePayload)
	edit := redisrepo.Edit{Title: input.Title, Text: input.Text, Groups: input.Groups, Why: input.why()}
	if input.IfRevision != nil {
		edit.IfRevision = new(int64(*input.IfRevision))
	}
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Article, err = r.repo.Edit(ctx, input.Article, actor(v), edit)
		return err
	})
}

func (r *mutationResolver) DeleteArticle(ctx context.Context, input DeleteArticleInput) (*DeleteArticlePayload, error) {
	payload := new(DeleteArticlePayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) error {
		_, err := r.repo.Delete(ctx, input.Article, actor(v), input.why())
		if err == nil {
			payload.DeletedID = &input.Article
		}
		return err
	})
}

func (r *mutationResolver) RestoreArticle(ctx context.Context, input RestoreArticleInput) (*ArticlePayload, error) {
	payload := new(ArticlePayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Article, err = r.repo.UndeleteFor(ctx, input.Article, actor(v), site.Value(input.Reason))
		return err
	})
}
