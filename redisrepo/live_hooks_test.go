package redisrepo_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"frontpage/must"

	"github.com/redis/go-redis/v9"
)

// fails is a hook that makes dials or commands of a client fail while it is switched on.
type fails struct {
	dial    atomic.Bool
	command atomic.Value // the name of the commands that fail
	tried   chan struct{}
	dialled atomic.Int64
	refused atomic.Int64
}

var errCut = errors.New("the connection is cut")

// loading is the error of Redis while it loads its data. Clients can subscribe to channels then.
type loading struct{}

func (loading) Error() string { return "LOADING Redis is loading the dataset in memory" }
func (loading) RedisError()   {}

func (f *fails) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if f.dial.Load() {
			f.refused.Add(1)
			return nil, errCut
		}
		f.dialled.Add(1)
		return next(ctx, network, addr)
	}
}

func (f *fails) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if err := next(ctx, c); c.Name() != f.command.Load() {
			return err
		}
		c.SetErr(loading{})
		f.tried <- struct{}{}
		return loading{}
	}
}

func (f *fails) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		for _, c := range commands {
			if c.Name() == f.command.Load() {
				c.SetErr(loading{})
				err = loading{}
			}
		}
		if errors.As(err, new(loading)) {
			f.tried <- struct{}{}
		}
		return err
	}
}

// cut ends the subscription, which stays lost while f makes dials fail.
func (l *listener) cut(f *fails) {
	l.t.Helper()
	f.dial.Store(true)
	l.do("CLIENT KILL TYPE pubsub")
	await(l.t, l.fault, "a report of the cut")
}

// signal sends a signal to the server.
func (l *listener) signal(pid int, signal syscall.Signal) {
	l.t.Helper()
	must.Do(l.t, syscall.Kill(pid, signal))
}

func (l *listener) pid() int {
	l.t.Helper()
	_, rest, _ := strings.Cut(l.do("INFO server").(string), "process_id:")
	pid := must.Get(strconv.Atoi(strings.Fields(rest)[0]))(l.t)
	return pid
}

// holds is a hook that holds back one reply of each kind while its on is set: look one of zrange, which searches
// for posts, and read one of hgetall in a pipeline, which reads articles.
type holds struct{ look, read held }

type held struct {
	on      atomic.Bool
	reached chan struct{}
	free    chan struct{} // closed to let the reply go on
}

func newHolds() *holds {
	return &holds{look: held{reached: make(chan struct{}), free: make(chan struct{})}, read: held{reached: make(chan struct{}), free: make(chan struct{})}}
}

func (h *held) wait(ctx context.Context) {
	if h.on.CompareAndSwap(true, false) {
		close(h.reached)
		select {
		case <-h.free:
		case <-ctx.Done():
		}
	}
}

func (*holds) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *holds) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		err := next(ctx, c)
		if c.Name() == "zrange" {
			h.look.wait(ctx)
		}
		return err
	}
}

func (h *holds) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		if commands[0].Name() == "hgetall" {
			h.read.wait(ctx)
		}
		return err
	}
}
