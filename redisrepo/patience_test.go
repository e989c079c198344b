package redisrepo_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/site"
)

// deadlines is a hook that lets no command through once silent is set: it waits as a client does whose server is
// silent, and notes the time that the commands are given.
type deadlines struct {
	silent atomic.Bool
	waits  atomic.Int64
	most   atomic.Int64
}

func (*deadlines) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *deadlines) wait(ctx context.Context) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		return errors.New("a command without a deadline")
	}
	h.waits.Add(1)
	h.most.Store(max(h.most.Load(), int64(time.Until(deadline))))
	<-ctx.Done()
	return ctx.Err()
}

func (h *deadlines) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if h.silent.Load() {
			return h.wait(ctx)
		}
		return next(ctx, command)
	}
}

func (h *deadlines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if h.silent.Load() {
			return h.wait(ctx)
		}
		return next(ctx, commands)
	}
}

// A request waits once for a silent Redis, at most twice the timeout, however many calls it makes.
func TestRequestWaitsOnceForASilentRedis(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	a := s.post("alice", "go")
	options := *s.server.Client.Options()
	options.ReadTimeout = 200 * time.Millisecond
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	h := new(deadlines)
	failover.LimitWaiting(client)
	client.AddHook(h)
	other := s.reopened(client, nil)
	h.silent.Store(true)
	ctx := failover.FailFast(s.ctx)
	calls := map[string]func() error{
		"List": func() error { _, err := other.List(ctx, best("go"), 1, nil); return err },
		"Vote": func() error { _, err := other.Vote(ctx, a.ID, "bob", up, ""); return err },
		"Post": func() error { _, err := other.Post(ctx, "bob", s.fresh()); return err },
		"Read": func() error { _, errs := other.ArticlesByID(ctx, []site.ArticleID{1}); return errs[0] },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, failover.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want ErrUnavailable, and no deadline of the request", name, err)
		} else if !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
			t.Errorf("%s: %v, want the cause in the text for the log", name, err)
		}
	}
	if waits, most := h.waits.Load(), time.Duration(h.most.Load()); waits != 1 || most > 400*time.Millisecond {
		t.Errorf("%d calls waited up to %v, want 1 and 400ms", waits, most)
	}
	h.silent.Store(false)
	ctx = failover.FailFast(s.ctx)
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("the next request: %s: %v", name, err)
		}
	}
}

// A restarted server does not know the scripts, which is not an outage: the request that finds out loads them.
func TestFirstRequestAfterARestartLoadsTheScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	client := s.client()
	failover.LimitWaiting(client)
	other := s.reopened(client, nil)
	s.post("alice", "go")
	for range 2 {
		s.do("SCRIPT FLUSH")
		if ids, err := other.List(failover.FailFast(s.ctx), best("go"), 1, nil); err != nil || len(ids) != 1 {
			t.Errorf("List = %v, %v, want the article", ids, err)
		}
	}
}
