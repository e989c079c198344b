package layout_test

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
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

var errKilled = errors.New("killed")

// grade is an upgrade that gives every article a field, in batches; it fails after some of them.
func grade(s *repotest.Site, left *atomic.Int64) redisrepo.Option {
	return redisrepo.WithUpgrade(layout.Upgrade{What: "grading all articles", Run: func(r *wire.Store, ctx context.Context, p keys.Partition) error {
		for _, set := range []string{p.Ranking(site.ByTime), p.Deleted()} {
			err := r.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: set, Step: 2, Handle: func(members []string) error {
				for _, member := range members {
					if left.Add(-1) < 0 {
						return errKilled
					}
					if err := s.Raw.HIncrBy(ctx, p.Key(member), "grade", 1-graded(s, p.Key(member))).Err(); err != nil {
						return err
					}
				}
				return nil
			}})
			if err != nil {
				return err
			}
		}
		return nil
	}})
}

// openUntil opens the store until so many steps have been reported; 0: to the end.
func openUntil(s *repotest.Site, until int, options ...redisrepo.Option) error {
	ctx, stop := context.WithCancel(s.Ctx)
	defer stop()
	progress := redisrepo.OnProgress(func(string, int, int) {
		if until--; until == 0 {
			stop()
		}
	})
	_, err := redisrepo.New(ctx, s.Server.Client, s.Rules, append(options, redisrepo.WithClock(s.Clock.Now), progress)...)
	return err
}

// opensInterrupted opens the store again and again, each time until a step, and at last to the end.
func opensInterrupted(s *repotest.Site, until func(interrupted int) int, options ...redisrepo.Option) {
	s.T.Helper()
	interrupted := 0
	for openUntil(s, until(interrupted), options...) != nil {
		if interrupted++; interrupted > 100 {
			s.T.Fatal("the upgrade does not come to an end")
		}
	}
	if interrupted == 0 {
		s.T.Error("no start was interrupted")
	}
}

// opensTogether opens the store in four processes at once.
func opensTogether(s *repotest.Site, options ...redisrepo.Option) {
	s.T.Helper()
	var errs [4]error
	repotest.Together(4, func(i int) { errs[i] = openUntil(s, 0, options...) })
	require.NoError(s.T, errors.Join(errs[:]...))
}

func graded(s *repotest.Site, key string) int64 {
	n, _ := s.Raw.HGet(s.Ctx, key, "grade").Int64()
	return n
}

// An upgrade reaches every article, deleted or not, though it is interrupted again and again. Until its end the data is
// that of neither version, and the steps that are done are not done again.
func TestUpgradeOfTheLayoutGoesOnAfterInterruptions(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(4))
	var ids []site.ArticleID
	for range 40 {
		ids = append(ids, s.MustPost("alice", "go").ID)
	}
	s.MustDelete(ids[3], repotest.Moderator)
	var left atomic.Int64
	interrupted := 0
	var said []string
	progress := redisrepo.OnProgress(func(step string, _, _ int) { said = append(said, step) })
	for {
		left.Store(15)
		repo, err := redisrepo.New(s.Ctx, s.Server.Client, s.Rules, redisrepo.WithClock(s.Clock.Now), grade(s, &left), progress)
		if err == nil {
			s.Repo = repo
			break
		}
		if interrupted++; !errors.Is(err, errKilled) || interrupted > 10 {
			t.Fatalf("New: %v after %d interruptions, want that it was killed", err, interrupted)
		}
		if _, err := redisrepo.New(s.Ctx, s.Server.Client, s.Rules); interrupted > 1 && (err == nil || !strings.Contains(err.Error(), "the data has layout 10, this program needs 9: use the version")) {
			t.Errorf("the older program on data that is partly upgraded: %v, want an error that says so", err)
		}
	}
	if interrupted == 0 || !slices.Contains(said, "upgrading the layout from 9 to 10: grading all articles") {
		t.Errorf("interrupted %d times, and said %q", interrupted, said)
	}
	for _, id := range ids {
		if key := s.Tags()[int(id)%4] + id.String(); graded(s, key) != 1 {
			t.Errorf("%s has grade %d, want 1", key, graded(s, key))
		}
	}
	for _, tag := range append(s.Tags(), "") {
		if layout := s.Raw.HGet(s.Ctx, tag+"meta:", "layout").Val(); layout != "10" {
			t.Errorf("%smeta: has layout %q, want 10", tag, layout)
		}
	}
	s.WantClean()
	left.Store(0)
	require.Value(redisrepo.New(s.Ctx, s.Server.Client, s.Rules, grade(s, &left)))(t) // needs no further upgrade
	left.Store(1 << 30)
	fresh := repotest.New(t, nil, grade(s, &left))
	if n := left.Load(); n != 1<<30 || fresh.Raw.HGet(s.Ctx, "meta:", "layout").Val() != "10" {
		t.Errorf("a new site needed %d upgrades, want none, and layout 10", 1<<30-n)
	}
}

// While a process of the older version serves the site, its data is not upgraded.
func TestUpgradeWaitsForOlderProcesses(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice")
	var left atomic.Int64
	left.Store(100)
	ctx, stop := context.WithCancel(s.Ctx)
	ended := make(chan struct{})
	go func() { s.Live.Listen(ctx, func(error) {}); close(ended) }()
	s.AwaitProcesses(1)
	_, err := redisrepo.New(s.Ctx, s.Server.Client, s.Rules, grade(s, &left))
	if err == nil || !strings.Contains(err.Error(), "the data has layout 9, this program needs 10, and 1 processes of the site still run") || left.Load() != 100 {
		t.Errorf("New beside an older process: %v, want an error that says so", err)
	}
	stop()
	<-ended
	s.AwaitProcesses(0)
	if _, err := redisrepo.New(s.Ctx, s.Server.Client, s.Rules, grade(s, &left)); err != nil || left.Load() != 99 {
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
			s := repotest.New(t, nil, repotest.One)
			s.Do("FLUSHALL")
			if layout != "" {
				s.Do("HSET meta: layout " + layout)
			}
			serve := sync.OnceFunc(func() {
				faster := s.Reopened(s.Server.Client, nil)
				go faster.Live.Listen(s.Ctx, func(error) {})
				s.AwaitProcesses(1)
			})
			slower := s.Client(redistest.Before(func(commands ...redis.Cmder) {
				if commands[0].Name() == name {
					serve()
				}
			}))
			upgrades := 0
			_, err := redisrepo.New(s.Ctx, slower, s.Rules, redisrepo.OnProgress(func(string, int, int) { upgrades++ }))
			if err != nil || upgrades > 0 {
				t.Errorf("New = %v after %d steps, want none", err, upgrades)
			}
			s.WantClean()
		})
	}
}

// On a busy machine Redis may stand still for longer than a request waits.
func TestStartOutlastsAPauseOfRedis(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice")
	s.Do("HSET meta: layout 6")
	s.Do("HDEL meta: calendar cast front events")
	client := s.ClientWith(func(o *redis.Options) {
		o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, o.MaxRetries = 400*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond, 1
	})
	failover.LimitWaiting(client)
	pause := sync.OnceFunc(func() { s.Do("CLIENT PAUSE 1200") })
	s.Reopened(client, nil, redisrepo.OnProgress(func(string, int, int) { pause() }))
	s.WantClean()
}

func TestPendingNamesWhatAStartWouldDo(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice")
	var left atomic.Int64
	pending := func(rules site.Rules, options ...redisrepo.Option) string {
		t.Helper()
		before := s.Dump()
		found, err := redisrepo.Pending(s.Ctx, s.Server.Client, rules, append(options, redisrepo.WithClock(s.Clock.Now))...)
		if err != nil || s.Dump() != before {
			t.Errorf("Pending: %v, want no error and no change", err)
		}
		return fmt.Sprintf("%q", found)
	}
	if got := pending(s.Rules); got != "[]" {
		t.Errorf("on current data: %s, want nothing", got)
	}
	changed := s.Rules
	changed.VoteScore = 100
	const want = `["upgrade the layout from 9 to 10: grading all articles" "re-rank all articles: vote_score was 432 and is 100"]`
	if got := pending(changed, grade(s, &left)); got != want {
		t.Errorf("after a change:\n got %s\nwant %s", got, want)
	}
	s.Do("DEL meta:")
	if got := pending(s.Rules); got != `["upgrade the layout from 0 to 9: taking over what programs of the book have written" "build the calendar from 1 articles" "build the lists of users' votes from 1 articles"]` {
		t.Errorf("on data of programs of the book: %s", got)
	}
}
