package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
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
	EditClosed    Code = "EDIT_CLOSED"    // it is too late for the poster to edit the article
	Conflict      Code = "CONFLICT"       // the idempotency key was used for another post, or the article was edited since
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

// Both are ErrUnavailable, too.
var (
	// ErrReadOnly is wrapped by the error of a write that Redis refuses while it may serve reads: because
	// its memory or disk is full, it is a replica, it has too few replicas, or the user lacks a right.
	ErrReadOnly = fmt.Errorf("%w to writes", ErrUnavailable)
	// ErrDenied is wrapped by an error that lasts until an operator acts: the login or a right is missing.
	ErrDenied = fmt.Errorf("%w: login or right missing", ErrUnavailable)
)

// storeError wraps an error of Redis with the operation that failed.
func storeError(doing string, err error) error {
	if class := classify(err); class != nil {
		return fmt.Errorf("%s: %w: %w", doing, class, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// isNetwork reports whether the connection failed, so that a reply may have been lost.
func isNetwork(err error) bool {
	if err == nil {
		return false // without what errors.As allocates
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// isDial reports whether a connection could not be opened, so that nothing was sent.
func isDial(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// classify returns ErrUnavailable, ErrReadOnly or ErrDenied, or nil for any other error.
func classify(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return nil // the caller cancels
	case isNetwork(err), errors.Is(err, errNoReply), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, errUnconfirmed):
		return ErrUnavailable
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return nil
	}
	text := scriptPosition.ReplaceAllString(reply.Error(), "")
	code, _, _ := strings.Cut(text, " ")
	if class := classes[code]; class != nil {
		return class
	}
	for _, prefix := range deniedInScript {
		if strings.HasPrefix(text, prefix) {
			return ErrDenied
		}
	}
	if strings.HasPrefix(text, "ERR max number of clients") {
		return ErrUnavailable
	}
	if strings.HasPrefix(text, "ERR Protocol error: unauthenticated ") { // instead of NOAUTH, for a long command
		return ErrDenied
	}
	return nil
}

var classes = map[string]error{
	"OOM": ErrReadOnly, "MISCONF": ErrReadOnly, "READONLY": ErrReadOnly, "NOREPLICAS": ErrReadOnly,
	"NOAUTH": ErrDenied, "NOPERM": ErrDenied, "WRONGPASS": ErrDenied,
	"LOADING": ErrUnavailable, "BUSY": ErrUnavailable, "MASTERDOWN": ErrUnavailable,
	"CLUSTERDOWN": ErrUnavailable, "TRYAGAIN": ErrUnavailable, "MOVED": ErrUnavailable, "ASK": ErrUnavailable,
	"UNBLOCKED": ErrUnavailable,
}

// scriptPosition is what Redis 6.2 puts before the error of a command that a script called. No text of a user
// can get there.
var scriptPosition = regexp.MustCompile(`^(ERR )?Error running script \(call to f_[0-9a-f]+\): (@user_script: ?[0-9]+: )+-?`)

// deniedInScript is how NOPERM starts in scripts of Redis 7.0, of 6.2, and of 7.2 and Valkey.
var deniedInScript = []string{
	"ERR The user executing the script can't ", "The user executing the script can't ", "ERR ACL failure in script",
}
