package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// How a call outlasts a failover: under Redis Cluster and Sentinel, and at a start with any Redis, a command that fails for a
// passing reason is repeated, within the deadline of its request, until a replica has taken over or a partition has moved. All
// commands are safe to repeat.

const (
	maxWait     = 4500 * time.Millisecond // of a call that has a deadline
	maxToolWait = time.Minute             // of any other: a start, an import, a check
	maxWaiting  = 1000                    // maximum number of calls that wait at a time
)

// The pauses before a call is repeated: MinPause, doubled up to MaxPause.
const (
	MinPause = 5 * time.Millisecond
	MaxPause = 200 * time.Millisecond
)

// retryHook is a hook that repeats the commands of a client until they succeed.
type retryHook struct {
	reload func(ctx context.Context) // looks for the servers again; nil: the client does so itself
	quick  time.Duration             // limit of an impatient call

	waiting atomic.Int64 // number of calls that wait

	mu       sync.Mutex
	gone     map[string]outageOf // by the tag of the partition
	someGone atomic.Bool
}

// outageOf is the outage of a partition that did not answer a call within the longest wait. Once others have,
// too, who waited long after, it is gone for good: from then on one call at a time waits for it, and all others fail at
// once.
type outageOf struct {
	since  time.Time
	known  bool         // it is gone
	waiter *redis.Cmder // first command of the call that waits; nil: none
}

type impatientKey struct{}

// Impatient returns a context for calls that fail within about a second instead of waiting for a failover, and whose
// failure does not end the request.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, impatientKey{}, true)
}

func (*retryHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *retryHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return asPipeline(next, h.ProcessPipelineHook)
}

func (h *retryHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error { return h.call(ctx, commands, next) }
}

// sendingKey marks the context of a call that is being sent. If it needs a new connection, go-redis has the hooks see the
// commands that open it, too. These must not be repeated: a connection that has failed stays so, and the call gets another.
type sendingKey struct{}

func (h *retryHook) call(ctx context.Context, commands []redis.Cmder, next redis.ProcessPipelineHook) error {
	if ctx.Value(sendingKey{}) != nil {
		return next(ctx, commands)
	}
	if err := FailedBefore(ctx); err != nil {
		return FailAll(commands, err)
	}
	if !h.enter(ctx, commands) {
		return FailAll(commands, ErrNoReply)
	}
	limit, patient := h.limit(ctx)
	limited, cancel := context.WithTimeout(context.WithValue(ctx, sendingKey{}, true), limit)
	defer cancel()
	err := next(limited, commands)
	failed := failedForNow(commands, err)
	if len(failed) > 0 && ctx.Err() == nil && patient {
		err = h.repeat(limited, commands, failed, next)
		failed = failedForNow(commands, err)
	}
	h.leave(commands, ctx.Err() == nil && patient && !slices.ContainsFunc(failed, isUnanswered) && limit > maxWait*8/10)
	if len(failed) == 0 {
		return err
	}
	if ctx.Err() != nil { // the caller has left
		return FailAll(failed, ctx.Err())
	}
	for _, c := range failed {
		if replied := redis.Error(nil); !errors.As(c.Err(), &replied) && !errors.Is(c.Err(), ErrUnavailable) {
			c.SetErr(fmt.Errorf("%w: %w", ErrNoReply, noDeadline{c.Err()}))
		}
	}
	err = FirstError(commands, err)
	if patient {
		NoteOutage(ctx, err)
	}
	return err
}

// limit returns how long a call may take, and whether it is to be repeated.
func (h *retryHook) limit(ctx context.Context) (limit time.Duration, patient bool) {
	deadline, limited := ctx.Deadline()
	left := time.Until(deadline)
	switch {
	case ctx.Value(impatientKey{}) != nil:
		return h.quick, false
	case limited:
		margin := min(left/10, maxWait/9) // so that the request gets an answer
		return min(left-margin, maxWait), true
	default:
		return maxToolWait, true
	}
}

// repeat repeats the failed ones of the commands until none fails for now, one must not be repeated, or ctx ends.
func (h *retryHook) repeat(ctx context.Context, commands, failed []redis.Cmder, next redis.ProcessPipelineHook) error {
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > maxWaiting {
		return FirstError(commands, nil)
	}
	for pause := MinPause; len(failed) > 0 && !slices.ContainsFunc(failed, isUnanswered); pause = min(2*pause, MaxPause) {
		Wait(ctx, pause/2+rand.N(pause)/2) // #nosec G404 -- spreads calls
		if ctx.Err() != nil {
			break
		}
		if h.reload != nil {
			h.reload(ctx)
		}
		for _, c := range failed {
			if o, ok := c.(*Once); ok {
				o.Again()
			}
			c.SetErr(nil) // go-redis would keep it if the connection fails
		}
		err := next(ctx, failed)
		failed = failedForNow(failed, err)
	}
	return FirstError(commands, nil)
}

// enter reports whether a call may be sent: none of its partitions is gone, or it is the one that waits for it.
func (h *retryHook) enter(ctx context.Context, commands []redis.Cmder) bool {
	if _, limited := ctx.Deadline(); !limited || !h.someGone.Load() {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range commands {
		if o := h.gone[tagOf(c)]; o.known && o.waiter != nil {
			return false
		}
	}
	for _, c := range commands {
		if o := h.gone[tagOf(c)]; o.known {
			o.waiter = &commands[0]
			h.gone[tagOf(c)] = o
		}
	}
	return true
}

// leave notes which partitions of a call do not answer, if it has waited long enough to know, and which do.
func (h *retryHook) leave(commands []redis.Cmder, waited bool) {
	if !h.someGone.Load() && (!waited || !slices.ContainsFunc(commands, isGone)) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range commands {
		tag := tagOf(c)
		o, found := h.gone[tag]
		if o.waiter == &commands[0] {
			o.waiter = nil
		}
		switch {
		case isGone(c) && waited:
			if !found {
				o.since = time.Now()
			}
			o.known = time.Since(o.since) > maxWait*8/10
		case !found:
			continue
		case !isGone(c) && !errors.Is(c.Err(), context.Canceled):
			delete(h.gone, tag)
			continue
		}
		if h.gone == nil {
			h.gone = map[string]outageOf{}
		}
		h.gone[tag] = o
	}
	h.someGone.Store(len(h.gone) > 0)
}

// isGone reports whether a command failed because its partition has no server.
func isGone(c redis.Cmder) bool {
	err := c.Err()
	return err != nil && (IsNetwork(err) || errors.Is(err, context.DeadlineExceeded) || redis.HasErrorPrefix(err, "CLUSTERDOWN"))
}

// tagOf returns the tag of the partition that a command is for, or an empty text.
func tagOf(c redis.Cmder) string {
	args := c.Args()
	key := 1
	if name := c.Name(); name == "evalsha" || name == "eval" {
		key = 3
	}
	if key >= len(args) {
		return ""
	}
	var text string
	switch arg := args[key].(type) {
	case string:
		text = arg
	case *string:
		text = *arg
	}
	if end := strings.IndexByte(text, '}'); end > 0 && text[0] == '{' {
		return text[:end+1]
	}
	return ""
}

// failedForNow returns the commands that failed for a passing reason. The commands of a transaction fail together.
func failedForNow(commands []redis.Cmder, err error) (failed []redis.Cmder) {
	if err == nil {
		return nil
	}
	if Passes(err) && FirstError(commands, nil) == nil { // go-redis sets none if its connection could not log in
		_ = FailAll(commands, err)
	}
	for _, c := range commands {
		if !Passes(c.Err()) {
			continue
		}
		if commands[0].Name() == "multi" {
			return commands
		}
		failed = append(failed, c)
	}
	return failed
}

// Passes reports whether an error is temporary.
func Passes(err error) bool {
	switch {
	case err == nil, errors.Is(err, redis.Nil), errors.Is(err, context.Canceled):
		return false
	case IsNetwork(err), errors.Is(err, errUnconfirmed), errors.Is(err, context.DeadlineExceeded), errors.Is(err, redis.ErrClosed),
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return true
	}
	var replied redis.Error
	if !errors.As(err, &replied) {
		return err.Error() == "redis: cluster has no nodes"
	}
	code, _, _ := strings.Cut(scriptPosition.ReplaceAllString(replied.Error(), ""), " ")
	return passing[code]
}

// passing are the errors of a server that is not, or no longer, the one to ask.
var passing = map[string]bool{
	"MOVED": true, "ASK": true, "TRYAGAIN": true, "CLUSTERDOWN": true, "LOADING": true, "READONLY": true,
	"MASTERDOWN": true, "NOREPLICAS": true, "UNBLOCKED": true,
}

// mayHaveRun reports whether a command that failed with err may have taken effect. go-redis leaves a redirection as the
// error if the connection to the other node then fails.
func mayHaveRun(err error) bool {
	return errors.Is(err, errUnconfirmed) || IsNetwork(err) && !isDial(err) ||
		redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK")
}

// FailAll gives each command the error, and returns it.
func FailAll(commands []redis.Cmder, err error) error {
	for _, c := range commands {
		c.SetErr(err)
	}
	return err
}

// FirstError returns the first error of the commands, or err if none has one. A missing value is not an error.
func FirstError(commands []redis.Cmder, err error) error {
	var missing error
	for _, c := range commands {
		switch {
		case c.Err() == nil:
		case errors.Is(c.Err(), redis.Nil):
			missing = c.Err()
		default:
			return c.Err()
		}
	}
	if missing != nil {
		return missing
	}
	return err
}

// Once is a command that go-redis does not send again after its reply was lost.
type Once struct {
	*redis.Cmd
	Lost  bool // it was sent again nevertheless, and the first attempt may have taken effect
	First any  // its first reply, if it is known although the command was sent again
}

// NoRetry keeps go-redis from sending the command again: only LimitWaiting does.
func (*Once) NoRetry() bool { return true }

// Again notes that the command is about to be sent again.
func (o *Once) Again() {
	if !mayHaveRun(o.Err()) {
		return
	}
	if !o.Lost && errors.Is(o.Err(), errUnconfirmed) {
		o.First = o.Val()
	}
	o.Lost = true
}

// Unrepeated is a command that is sent again after a lost connection, but not after a timeout: Redis may still be busy
// with it, and a repetition would double that.
type Unrepeated struct{ *redis.Cmd }

// NoRetry reports whether the command has timed out. go-redis asks after each attempt.
func (u *Unrepeated) NoRetry() bool {
	var network net.Error
	err := u.Err()
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() && !isDial(err)
}

// isUnanswered reports whether a command has failed and must not be repeated.
func isUnanswered(c redis.Cmder) bool {
	u, ok := c.(*Unrepeated)
	return ok && u.NoRetry()
}
