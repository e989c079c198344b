package failover_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
)

// repeating returns a client of the site's store whose calls are limited as in a server, before it gets a hook.
func repeating(s *repotest.Site, h redis.Hook) *redis.Client {
	client := s.Client()
	failover.LimitWaiting(client)
	client.AddHook(h)
	return client
}

// A server that is killed and restarted loses the reply and all scripts at once.
func TestVoteIsRepeatedOnAServerWithoutScripts(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	h := &redistest.LostReply{Then: func() { s.Client().ScriptFlush(t.Context()) }}
	other := s.Reopened(repeating(s, h), nil)
	a := s.MustPost("alice")
	other.MustVote(a.ID, "warm", site.Up) // groups and scripts are known
	h.Armed.Store(true)
	if got := other.MustVote(a.ID, "bob", site.Up); h.Armed.Load() || got.Article.Votes != 3 {
		t.Errorf("got %+v with reply lost %t, want 3 votes and a lost reply", got.Article, !h.Armed.Load())
	}
	s.WantClean()
}

// A vote whose reply was lost is repeated. The second reply cannot tell whether the first call changed the vote, and
// the result does not claim to know.
func TestVoteAfterALostReplyClaimsNothing(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	h := new(redistest.LostReply)
	other := s.Reopened(repeating(s, h), nil)
	a := s.MustPost("alice")
	other.MustVote(a.ID, "warm", site.Up) // groups and scripts are known
	for _, tt := range []struct {
		lost bool
		vote site.Vote
		want redisrepo.VoteResult
	}{
		{true, site.Up, redisrepo.VoteResult{Previous: site.Up, Changed: true, Unknown: true}},
		{false, site.Up, redisrepo.VoteResult{Previous: site.Up}},
		{false, site.Down, redisrepo.VoteResult{Previous: site.Up, Changed: true}},
		{true, site.None, redisrepo.VoteResult{Previous: site.None, Changed: true, Unknown: true}},
	} {
		h.Armed.Store(tt.lost)
		got := other.MustVote(a.ID, "bob", tt.vote)
		if h.Armed.Load() {
			t.Fatal("no reply was lost")
		}
		if got.Article = nil; got != tt.want {
			t.Errorf("%v, lost %t: got %+v, want %+v", tt.vote, tt.lost, got, tt.want)
		}
	}
	s.WantClean()
}

// deadlines is a hook that lets no command through once silent is set: it waits as a client does whose server is
// silent, and notes the time that the commands are given.
type deadlines struct {
	silent atomic.Bool
	waits  atomic.Int64
	most   atomic.Int64
}

func (h *deadlines) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	if !h.silent.Load() {
		return send(ctx, commands)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return errors.New("a command without a deadline")
	}
	h.waits.Add(1)
	h.most.Store(max(h.most.Load(), int64(time.Until(deadline))))
	<-ctx.Done()
	return ctx.Err()
}

// A request waits once for a silent Redis, at most twice the timeout, however many calls it makes.
func TestRequestWaitsOnceForASilentRedis(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "go")
	client := s.ClientWith(func(o *redis.Options) { o.ReadTimeout = 200 * time.Millisecond })
	h := new(deadlines)
	failover.LimitWaiting(client)
	client.AddHook(redistest.Hook(h.hook))
	other := s.Reopened(client, nil)
	h.silent.Store(true)
	other.Store.OnChange = func(int) {} // no call waits for what processes tell each other
	ctx := failover.FailFast(s.Ctx)
	calls := map[string]func() error{
		"List": func() error { _, err := other.Lists.List(ctx, repotest.Best("go"), 1, nil); return err },
		"Vote": func() error { _, err := other.Vote(ctx, a.ID, "bob", site.Up, ""); return err },
		"Post": func() error { _, err := other.Post(ctx, "bob", s.Fresh()); return err },
		"Read": func() error { _, errs := other.Articles.ArticlesByID(ctx, []site.ArticleID{1}); return errs[0] },
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
	ctx = failover.FailFast(s.Ctx)
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("the next request: %s: %v", name, err)
		}
	}
}

// A restarted server does not know the scripts, which is not an outage: the request that finds out loads them.
func TestFirstRequestAfterARestartLoadsTheScripts(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	client := s.Client()
	failover.LimitWaiting(client)
	other := s.Reopened(client, nil)
	s.MustPost("alice", "go")
	for range 2 {
		s.Do("SCRIPT FLUSH")
		if ids, err := other.Lists.List(failover.FailFast(s.Ctx), repotest.Best("go"), 1, nil); err != nil || len(ids) != 1 {
			t.Errorf("List = %v, %v, want the article", ids, err)
		}
	}
}
