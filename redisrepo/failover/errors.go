// Package failover handles calls while Redis is slow, unreachable, failing over or short of replicas: whether a call is
// repeated, how long it waits, which writes replicas must confirm, and what its error means.
package failover

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

// ErrUnavailable is wrapped by every error caused by Redis being unreachable or temporarily refusing
// commands. The call may or may not have taken effect. Unless its documentation says otherwise, it is
// safe to repeat.
var ErrUnavailable = errors.New("the store does not answer")

// Both wrap ErrUnavailable.
var (
	// ErrReadOnly is wrapped by the error of a write that Redis refuses while it may serve reads: because
	// its memory or disk is full, it is a replica, it has too few replicas, or the user lacks a right.
	ErrReadOnly = fmt.Errorf("%w to writes", ErrUnavailable)
	// ErrDenied is wrapped by an error that lasts until an operator acts: the login or a right is missing.
	ErrDenied = fmt.Errorf("%w: login or right missing", ErrUnavailable)
)

// Wrap wraps an error of Redis with the operation that failed. It returns nil if err is nil.
func Wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	if class := Class(err); class != nil {
		return fmt.Errorf("%s: %w: %w", doing, class, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// IsNetwork reports whether the connection failed, so that a reply may have been lost.
func IsNetwork(err error) bool {
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

// Class returns ErrUnavailable, ErrReadOnly or ErrDenied, or nil for any other error.
func Class(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return nil // the caller cancels
	case IsNetwork(err), errors.Is(err, ErrNoReply), errors.Is(err, context.DeadlineExceeded),
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
	for prefix, class := range classesByPrefix {
		if strings.HasPrefix(text, prefix) {
			return class
		}
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

var classesByPrefix = map[string]error{
	"ERR max number of clients":                ErrUnavailable,
	"ERR Protocol error: unauthenticated ":     ErrDenied, // instead of NOAUTH, for a long command
	"ERR The user executing the script can't ": ErrDenied, // NOPERM in a script of Redis 7.0
	"The user executing the script can't ":     ErrDenied, // of 6.2
	"ERR ACL failure in script":                ErrDenied, // of 7.2, and of Valkey
}

// RightError says that the Redis user lacks the right to run a command on a key, or on the channel with that name.
type RightError struct{ Command, Key, Reply string }

func (e *RightError) Error() string {
	return strings.TrimSpace("the Redis user needs the right to run "+e.Command+" "+e.Key) + ": " + e.Reply
}
