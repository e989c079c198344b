package graph

import (
	"errors"
	"fmt"
	"time"

	"frontpage/redisrepo"
)

// UserError is a broken rule that a person can act on, as a payload shows it.
type UserError interface{ IsUserError() }

// BasicUserError is a user error that has nothing to add to its code.
type BasicUserError redisrepo.Error

// IsUserError makes it one of the types that the schema's interface may hold.
func (*BasicUserError) IsUserError() {}

// The codes of the schema that redisrepo does not know: there, every call names
// its user and is carried out.
const (
	unauthenticated redisrepo.Code = "UNAUTHENTICATED"
	rateLimited     redisrepo.Code = "RATE_LIMITED"
)

// RateLimitedError says how long to wait.
type RateLimitedError struct {
	BasicUserError
	RetryAfter int // seconds
}

// DuplicateLinkError names the article that has the link.
type DuplicateLinkError struct {
	BasicUserError
	ArticleID redisrepo.ArticleID
}

// userErrors splits an error in those for the viewer and a fault. A nil error
// gives an empty list, which is what a payload shows when all went well.
func userErrors(err error) ([]UserError, error) {
	shown := []UserError{}
	var refusal redisrepo.Refusal
	var late *rateError
	switch {
	case errors.As(err, &late):
		return []UserError{&RateLimitedError{BasicUserError{Code: rateLimited, Message: late.Error()}, late.seconds()}}, nil
	case errors.As(err, &refusal):
		for _, e := range refusal {
			if e.Article != nil {
				shown = append(shown, &DuplicateLinkError{BasicUserError(*e), *e.Article})
				continue
			}
			shown = append(shown, (*BasicUserError)(e))
		}
		return shown, nil
	}
	return shown, err
}

// badInput refuses a value that gqlgen could not make out.
func badInput(message string) error {
	return redisrepo.Refusal{{Code: redisrepo.Invalid, Message: message}}
}

// rateError refuses one mutation for now.
type rateError struct{ wait time.Duration }

func (e *rateError) Error() string {
	return fmt.Sprintf("that is too many at once: try again in %d s", e.seconds())
}

// seconds rounds up, so that a client that waits for them does not come too early.
func (e *rateError) seconds() int { return int((e.wait + time.Second - 1) / time.Second) }
