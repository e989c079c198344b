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

// Code says why a call is refused.
type Code string

// The closed set of codes.
const (
	Invalid       Code = "INVALID"        // a value has the wrong form
	TooLong       Code = "TOO_LONG"       // a value exceeds its limit
	NotFound      Code = "NOT_FOUND"      // the article does not exist
	Forbidden     Code = "FORBIDDEN"      // the rules of the site, or the user's role, do not allow it
	VotingClosed  Code = "VOTING_CLOSED"  // the article's voting window is over
	Conflict      Code = "CONFLICT"       // the idempotency key was used for another post
	DuplicateLink Code = "DUPLICATE_LINK" // the link was posted within Rules.LinkWindow
)

// Error is one reason for a refusal. Its Message is safe to show to the caller: it contains no keys,
// addresses or texts of Redis.
type Error struct {
	Code    Code
	Message string   // one sentence in lower case, without a full stop
	Field   []string // path into the input; nil if the error belongs to no field

	Article *ArticleID // the first article with the link; only for DuplicateLink
}

func (e *Error) Error() string { return e.Message }

// Refusal is the error of a call that was refused for one or more reasons and changed nothing. It is
// safe to show. Every other error of this package is a failure.
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

// ErrUnavailable is wrapped by every error caused by Redis being unreachable or temporarily refusing
// commands. The call may or may not have taken effect. Unless its documentation says otherwise, it is
// safe to repeat.
var ErrUnavailable = errors.New("the store does not answer")

// storeError wraps an error of Redis with the operation that failed.
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
		return false // by the caller
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
