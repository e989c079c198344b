package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// grade is an upgrade that gives every article a field, in batches; it fails after some of them.
func (s *testSite) grade(left *atomic.Int64) redisrepo.Option {
	return redisrepo.WithUpgrade("grading all articles", func(ctx context.Context, key string) error {
		if left.Add(-1) < 0 {
			return errKilled
		}
		return s.raw.HIncrBy(ctx, key, "grade", 1-s.graded(key)).Err()
	})
}

// openUntil opens the store until so many steps have been reported; 0: to the end.
func (s *testSite) openUntil(until int, options ...redisrepo.Option) error {
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	progress := redisrepo.OnProgress(func(string, int, int) {
		if until--; until == 0 {
			stop()
		}
	})
	_, err := redisrepo.New(ctx, s.server.Client, s.rules, append(options, redisrepo.WithClock(s.clock.now), progress)...)
	return err
}

// opensInterrupted opens the store again and again, each time until a step, and at last to the end.
func (s *testSite) opensInterrupted(until func(interrupted int) int, options ...redisrepo.Option) {
	s.t.Helper()
	interrupted := 0
	for s.openUntil(until(interrupted), options...) != nil {
		if interrupted++; interrupted > 100 {
			s.t.Fatal("the upgrade does not come to an end")
		}
	}
	if interrupted == 0 {
		s.t.Error("no start was interrupted")
	}
}

// opensTogether opens the store in four processes at once.
func (s *testSite) opensTogether(options ...redisrepo.Option) {
	s.t.Helper()
	var errs [4]error
	together(4, func(i int) { errs[i] = s.openUntil(0, options...) })
	require.NoError(s.t, errors.Join(errs[:]...))
}

func (s *testSite) graded(key string) int64 {
	n, _ := s.raw.HGet(s.ctx, key, "grade").Int64()
	return n
}

// An upgrade reaches every article, deleted or not, though it is interrupted again and again. Until its end the data is
// that of neither version, and the steps that are done are not done again.
func TestUpgradeOfTheLayoutGoesOnAfterInterruptions(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, redisrepo.WithPartitions(4))
	var ids []site.ArticleID
	for range 40 {
		ids = append(ids, s.post("alice", "go").ID)
	}
	s.delete(ids[3], moderator)
	var left atomic.Int64
	interrupted := 0
	var said []string
	progress := redisrepo.OnProgress(func(step string, _, _ int) { said = append(said, step) })
	for {
		left.Store(15)
		repo, err := redisrepo.New(s.ctx, s.server.Client, s.rules, redisrepo.WithClock(s.clock.now), s.grade(&left), progress)
		if err == nil {
			s.Repo = repo
			break
		}
		if interrupted++; !errors.Is(err, errKilled) || interrupted > 10 {
			t.Fatalf("New: %v after %d interruptions, want that it was killed", err, interrupted)
		}
		if _, err := redisrepo.New(s.ctx, s.server.Client, s.rules); interrupted > 1 && (err == nil || !strings.Contains(err.Error(), "the data has layout 10, this program needs 9: use the version")) {
			t.Errorf("the older program on data that is partly upgraded: %v, want an error that says so", err)
		}
	}
	if interrupted == 0 || !slices.Contains(said, "upgrading the layout from 9 to 10: grading all articles") {
		t.Errorf("interrupted %d times, and said %q", interrupted, said)
	}
	for _, id := range ids {
		if key := s.Tags()[int(id)%4] + id.String(); s.graded(key) != 1 {
			t.Errorf("%s has grade %d, want 1", key, s.graded(key))
		}
	}
	for _, tag := range append(s.Tags(), "") {
		if layout := s.raw.HGet(s.ctx, tag+"meta:", "layout").Val(); layout != "10" {
			t.Errorf("%smeta: has layout %q, want 10", tag, layout)
		}
	}
	s.wantClean()
	left.Store(0)
	require.Value(redisrepo.New(s.ctx, s.server.Client, s.rules, s.grade(&left)))(t) // needs no further upgrade
	left.Store(1 << 30)
	fresh := newSite(t, nil, s.grade(&left))
	if n := left.Load(); n != 1<<30 || fresh.raw.HGet(s.ctx, "meta:", "layout").Val() != "10" {
		t.Errorf("a new site needed %d upgrades, want none, and layout 10", 1<<30-n)
	}
}

// While a process of the older version serves the site, its data is not upgraded.
func TestUpgradeWaitsForOlderProcesses(t *testing.T) { // with the race detector
	t.Parallel()
	s := newSite(t, nil, one)
	s.post("alice")
	var left atomic.Int64
	left.Store(100)
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan struct{})
	go func() { s.Live.Listen(ctx, func(error) {}); close(ended) }()
	s.awaitProcesses(1)
	_, err := redisrepo.New(s.ctx, s.server.Client, s.rules, s.grade(&left))
	if err == nil || !strings.Contains(err.Error(), "the data has layout 9, this program needs 10, and 1 processes of the site still run") || left.Load() != 100 {
		t.Errorf("New beside an older process: %v, want an error that says so", err)
	}
	stop()
	<-ended
	s.awaitProcesses(0)
	if _, err := redisrepo.New(s.ctx, s.server.Client, s.rules, s.grade(&left)); err != nil || left.Load() != 99 {
		t.Errorf("New after its end: %v, %d articles, want 1", err, 100-left.Load())
	}
}

// Processes of one version may start at once. One may serve while another is still at an upgrade, or before it has looked
// whether the store is new.
func TestUpgradeGoesOnBesideAStartThatWasFaster(t *testing.T) {
	t.Parallel()
	for name, layout := range map[string]string{"dbsize": "", "pubsub": "6"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			s.do("FLUSHALL")
			if layout != "" {
				s.do("HSET meta: layout " + layout)
			}
			serve := sync.OnceFunc(func() {
				faster := s.reopened(s.server.Client, nil)
				go faster.Live.Listen(s.ctx, func(error) {})
				s.awaitProcesses(1)
			})
			slower := s.client(redistest.Before(func(commands ...redis.Cmder) {
				if commands[0].Name() == name {
					serve()
				}
			}))
			upgrades := 0
			_, err := redisrepo.New(s.ctx, slower, s.rules, redisrepo.OnProgress(func(string, int, int) { upgrades++ }))
			if err != nil || upgrades > 0 {
				t.Errorf("New = %v after %d steps, want none", err, upgrades)
			}
			s.wantClean()
		})
	}
}

// On a busy machine Redis may stand still for longer than a request waits.
func TestStartOutlastsAPauseOfRedis(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.post("alice")
	s.do("HSET meta: layout 6")
	s.do("HDEL meta: calendar cast front events")
	client := s.clientWith(func(o *redis.Options) {
		o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, o.MaxRetries = 400*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond, 1
	})
	failover.LimitWaiting(client)
	pause := sync.OnceFunc(func() { s.do("CLIENT PAUSE 1200") })
	s.reopened(client, nil, redisrepo.OnProgress(func(string, int, int) { pause() }))
	s.wantClean()
}

func TestPendingNamesWhatAStartWouldDo(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.post("alice")
	var left atomic.Int64
	pending := func(rules site.Rules, options ...redisrepo.Option) string {
		t.Helper()
		before := s.dump()
		found, err := redisrepo.Pending(s.ctx, s.server.Client, rules, append(options, redisrepo.WithClock(s.clock.now))...)
		if err != nil || s.dump() != before {
			t.Errorf("Pending: %v, want no error and no change", err)
		}
		return fmt.Sprintf("%q", found)
	}
	if got := pending(s.rules); got != "[]" {
		t.Errorf("on current data: %s, want nothing", got)
	}
	changed := s.rules
	changed.VoteScore = 100
	const want = `["upgrade the layout from 9 to 10: grading all articles" "re-rank all articles: vote_score was 432 and is 100"]`
	if got := pending(changed, s.grade(&left)); got != want {
		t.Errorf("after a change:\n got %s\nwant %s", got, want)
	}
	s.do("DEL meta:")
	if got := pending(s.rules); got != `["upgrade the layout from 0 to 9: taking over what programs of the book have written" "build the calendar from 1 articles" "build the lists of users' votes from 1 articles"]` {
		t.Errorf("on data of programs of the book: %s", got)
	}
}
