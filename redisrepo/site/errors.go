package site

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code says why a call is refused.
type Code string

// The closed set of codes.
const (
	Invalid       Code = "INVALID"        // a value has the wrong form
	TooLong       Code = "TOO_LONG"       // a value exceeds its limit
	LimitExceeded Code = "LIMIT_EXCEEDED" // the user, or the site, has the maximum number of something
	NotFound      Code = "NOT_FOUND"      // the article, or another object of the call, does not exist
	Forbidden     Code = "FORBIDDEN"      // the rules of the site, or the user's role, do not allow it
	VotingClosed  Code = "VOTING_CLOSED"  // the article's voting window is over
	EditClosed    Code = "EDIT_CLOSED"    // it is too late for the poster to edit the article
	Conflict      Code = "CONFLICT"       // the call conflicts with an earlier one: an edit, or a post with its idempotency key
	DuplicateLink Code = "DUPLICATE_LINK" // the link was posted within Rules.LinkWindow
	Denied        Code = "DENIED"         // a moderator has denied the user changes, or has taken the vote out of the counts
	TooNew        Code = "TOO_NEW"        // the user is too new for this
	HostDenied    Code = "HOST_DENIED"    // a moderator has denied links to the host
)

// Error is one reason for a refusal. Its Message is safe to show to the caller: it contains no keys,
// addresses or texts of Redis.
type Error struct {
	Code    Code
	Message string   // one sentence in lower case, without a full stop
	Field   []string // path into the input; nil if the error belongs to no field

	Article *ArticleID // the first article with the link; only for DuplicateLink
	Until   *time.Time // when it ends; only for Denied and TooNew, and nil for ever
	Reason  string     // of the moderator; only for Denied
}

func (e *Error) Error() string { return e.Message }

// Refusal is the error of a call that was refused for one or more reasons and changed nothing. It is safe to
// show. Every other error of redisrepo is a fault.
type Refusal []*Error

func (r Refusal) Error() string {
	messages := Collect(r, func(e *Error) string { return e.Message })
	return strings.Join(messages, "; ")
}

// Refuse returns a Refusal for one reason. field is the path into the input, with dots; empty: none.
func Refuse(code Code, field string, format string, args ...any) Refusal {
	e := &Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if field != "" {
		e.Field = strings.Split(field, ".")
	}
	return Refusal{e}
}

// InField sets the field of a Refusal of a value, and returns any other error unchanged.
func InField(field string, err error) error {
	if refusal, ok := errors.AsType[Refusal](err); ok {
		return Refuse(refusal[0].Code, field, "%s", refusal[0].Message)
	}
	return err
}

// NoArticle returns the refusal for an article that does not exist.
func NoArticle(id ArticleID) Refusal {
	return Refuse(NotFound, "article", "there is no %v", id)
}

// Deleted is the error of a deleted article. It wraps NoArticle, for callers that look only for a Refusal.
type Deleted struct{ Article *Article }

func (d Deleted) Error() string { return d.Unwrap().Error() }

// Unwrap returns the Refusal.
func (d Deleted) Unwrap() error { return NoArticle(d.Article.ID) }
