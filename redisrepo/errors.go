package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Code says which rule was broken.
type Code string

// The closed set of codes.
const (
	Invalid      Code = "INVALID"       // a value is not of its form
	TooLong      Code = "TOO_LONG"      // a value is over its limit
	NotFound     Code = "NOT_FOUND"     // there is no such article
	Forbidden    Code = "FORBIDDEN"     // somebody else may do this, this user may not
	VotingClosed Code = "VOTING_CLOSED" // the article's voting window is over
	Conflict     Code = "CONFLICT"      // an idempotency key was used for another post

	DuplicateLink Code = "DUPLICATE_LINK" // the link was posted a short time ago
)

// Error is one broken rule. Its Message may be shown to whoever asked: it holds
// no keys, no addresses and no text of Redis.
type Error struct {
	Code    Code
	Message string   // one sentence in lower case, without a full stop
	Field   []string // path into the input, nil when no field is to blame

	Article *ArticleID // the article that was there first, nil when there is none
}

func (e *Error) Error() string { return e.Message }

// Refusal is the error of a call that broke one or more rules and so changed
// nothing. Every other error of this package is a fault.
type Refusal []*Error

func (r Refusal) Error() string {
	messages := make([]string, len(r))
	for i, e := range r {
		messages[i] = e.Message
	}
	return strings.Join(messages, "; ")
}

func refuse(code Code, field string, format string, args ...any) Refusal {
	e := &Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if field != "" {
		e.Field = strings.Split(field, ".")
	}
	return Refusal{e}
}

// ErrUnavailable is in the chain of an error that came of Redis not answering
// or refusing to serve for now. The call may or may not have been carried out;
// repeating it is safe and succeeds once Redis is back.
var ErrUnavailable = errors.New("the store does not answer")

// storeError says what was being done when Redis failed.
func storeError(doing string, err error) error {
	if unavailable(err) {
		return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func unavailable(err error) bool {
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return false // the caller went away
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, net.ErrClosed),
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return true
	}
	for _, prefix := range []string{"LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "OOM"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
