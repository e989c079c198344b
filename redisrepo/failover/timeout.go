package failover

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Wait waits for d, or until the context ends.
func Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ErrNoReply is the error of a call that Redis did not answer in time, all attempts included.
var ErrNoReply = fmt.Errorf("%w in time", ErrUnavailable)

// outage is the context of one request, with what it knows about the store: why a call was left without an answer.
type outage struct {
	context.Context
	cause atomic.Pointer[error]
}

type outageKey struct{}

// Value implements context.Context.
func (o *outage) Value(key any) any {
	if key == (outageKey{}) {
		return o
	}
	return o.Context.Value(key)
}

// FailFast returns a context for one request: after Redis left one of its calls without an answer, its other calls
// fail at once, so that the request does not wait for each of them.
func FailFast(ctx context.Context) context.Context {
	if ctx.Value(outageKey{}) != nil {
		return ctx
	}
	return &outage{Context: ctx}
}

// timeoutHook is a hook that limits how long one call waits: for a connection, a reply, and the repetition of both. It
// repeats the commands that go-redis does not, so that a reply that was lost is an outage only if the next one is, too.
type timeoutHook struct {
	limit time.Duration
	start *retryHook // for the calls of a start
}

// LimitWaiting limits how long each call of a client waits. With one Redis that is twice the client's timeout. Under
// Redis Cluster and Sentinel a call outlasts a failover: it is repeated for up to 4.5 seconds, but ends before the
// deadline of its context; without a deadline, for up to a minute. Calls with a context from Starting are also repeated
// in this way with one Redis.
func LimitWaiting(client redis.UniversalClient) {
	switch c := client.(type) {
	case *redis.ClusterClient:
		c.AddHook(&retryHook{reload: c.ReloadState, quick: 2 * c.Options().ReadTimeout})
	case *redis.Client:
		limit := 2 * c.Options().ReadTimeout
		switch {
		case c.Options().Addr == sentinelAddress:
			c.AddHook(&retryHook{quick: limit})
		case limit > 0:
			c.AddHook(timeoutHook{limit: limit, start: &retryHook{quick: limit}})
		}
	}
}

// sentinelAddress is what go-redis calls the address of a client that asks Sentinel for it.
const sentinelAddress = "FailoverClient"

func (timeoutHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h timeoutHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return asPipeline(next, h.ProcessPipelineHook)
}

// asPipeline returns the hook of a single command that does with it what a hook does with the commands of a pipeline.
func asPipeline(next redis.ProcessHook, hook func(redis.ProcessPipelineHook) redis.ProcessPipelineHook) redis.ProcessHook {
	run := hook(func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands[0])
		commands[0].SetErr(err)
		return err
	})
	return func(ctx context.Context, command redis.Cmder) error { return run(ctx, []redis.Cmder{command}) }
}

func (h timeoutHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	persistent := h.start.ProcessPipelineHook(next)
	return func(ctx context.Context, commands []redis.Cmder) error {
		if ctx.Value(startKey{}) != nil {
			return persistent(ctx, commands)
		}
		err := h.call(ctx, func(ctx context.Context) error {
			err := next(ctx, commands)
			if repeats(ctx, err, commands) {
				err = next(ctx, commands)
			}
			return err
		})
		if errors.Is(err, ErrNoReply) {
			return FailAll(commands, err)
		}
		return err
	}
}

func (h timeoutHook) call(ctx context.Context, next func(context.Context) error) error {
	if err := FailedBefore(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	err := next(limited)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if limited.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrNoReply, noDeadline{err})
	}
	NoteOutage(ctx, err)
	return err
}

// repeats reports whether a call is to be repeated after err: its connection failed, and it is one command that go-redis
// does not send again.
func repeats(ctx context.Context, err error, commands []redis.Cmder) bool {
	if !IsNetwork(err) || len(commands) != 1 || ctx.Err() != nil {
		return false
	}
	command, ok := commands[0].(*Once)
	if ok {
		command.SetErr(err)
		command.Again()
		command.SetErr(nil) // go-redis would keep it if the connection fails
	}
	return ok
}

// FailedBefore returns an error with the cause if Redis left an earlier call of the request without an answer.
func FailedBefore(ctx context.Context) error {
	request, _ := ctx.Value(outageKey{}).(*outage)
	if request == nil {
		return nil
	}
	switch cause := request.cause.Load(); {
	case cause == nil:
		return nil
	case errors.Is(*cause, ErrNoReply):
		return *cause
	default:
		return fmt.Errorf("%w: %w", ErrNoReply, noDeadline{*cause})
	}
}

// NoteOutage makes later calls of the request fail at once, if err means that Redis left a call without an answer.
func NoteOutage(ctx context.Context, err error) {
	if err == nil {
		return
	}
	class := Class(err)
	if request, _ := ctx.Value(outageKey{}).(*outage); request != nil &&
		errors.Is(class, ErrUnavailable) && !errors.Is(class, ErrReadOnly) && !errors.Is(class, ErrDenied) {
		cause := err // so that only this one is allocated
		request.cause.CompareAndSwap(nil, &cause)
	}
}

// noDeadline is the text of an error: the deadline was not the request's own.
type noDeadline struct{ error }

type startKey struct{}

// Starting returns a context for the calls of a start, which may wait longer than those of a request.
func Starting(ctx context.Context) context.Context { return context.WithValue(ctx, startKey{}, true) }
