package graph

import (
	"errors"
	"fmt"
	"time"

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

// PostPayload is the result of a post.
type PostPayload struct {
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

// RegroupPayload is the result of a change of groups.
type RegroupPayload struct {
	Article    *site.Article
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

func (i EditArticleInput) edit() redisrepo.Edit {
	e := redisrepo.Edit{Title: i.Title, Text: i.Text, Groups: i.Groups, Why: i.why()}
	if i.IfRevision != nil {
		e.IfRevision = new(int64(*i.IfRevision))
	}
	return e
}

// EditArticlePayload is the result of an edit.
type EditArticlePayload struct {
	Article    *site.Article
	UserErrors []UserError
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

// RestoreArticlePayload is the result of a restoration.
type RestoreArticlePayload struct {
	Article    *site.Article
	UserErrors []UserError
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

// EndSessionsPayload is the result of ending a user's sessions.
type EndSessionsPayload struct {
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
