package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"frontpage/redisrepo"
)

// grade is an upgrade that gives every article a field, in batches; it fails after some of them.
func (s *site) grade(left *atomic.Int64) redisrepo.Option {
	return redisrepo.WithUpgrade("grading all articles", func(ctx context.Context, key string) error {
		if left.Add(-1) < 0 {
			return errKilled
		}
		return s.raw.HIncrBy(ctx, key, "grade", 1-s.graded(key)).Err()
	})
}

func (s *site) graded(key string) int64 {
	n, _ := s.raw.HGet(s.ctx, key, "grade").Int64()
	return n
}

// An upgrade reaches every article, deleted or not, though it is interrupted again and again. Until its end the data is
// that of neither version, and the steps that are done are not done again.
func TestUpgradeOfTheLayoutGoesOnAfterInterruptions(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, redisrepo.WithPartitions(4))
	var ids []redisrepo.ArticleID
	for range 40 {
		ids = append(ids, s.post("alice", "go").ID)
	}
	s.delete(ids[3], moderator)
	var left atomic.Int64
	interrupted := 0
	var said []string
	progress := redisrepo.OnProgress(func(step string, _, _ int) { said = append(said, step) })
	for {
		left.Store(21)
		repo, err := redisrepo.New(s.ctx, s.server.Client, s.rules, redisrepo.WithClock(s.clock.now), s.grade(&left), progress)
		if err == nil {
			s.Repo = repo
			break
		}
		if interrupted++; !errors.Is(err, errKilled) || interrupted > 10 {
			t.Fatalf("New: %v after %d interruptions, want that it was killed", err, interrupted)
		}
		if _, err := redisrepo.New(s.ctx, s.server.Client, s.rules); interrupted > 1 && (err == nil || !strings.Contains(err.Error(), "the data has layout 2, this program needs 1: use the version")) {
			t.Errorf("the older program on data that is partly upgraded: %v, want an error that says so", err)
		}
	}
	if interrupted == 0 || !slices.Contains(said, "upgrading the layout from 1 to 2: grading all articles") {
		t.Errorf("interrupted %d times, and said %q", interrupted, said)
	}
	for _, id := range ids {
		if key := s.Tags()[int(id)%4] + id.String(); s.graded(key) != 1 {
			t.Errorf("%s has grade %d, want 1", key, s.graded(key))
		}
	}
	for _, tag := range append(s.Tags(), "") {
		if layout := s.raw.HGet(s.ctx, tag+"meta:", "layout").Val(); layout != "2" {
			t.Errorf("%smeta: has layout %q, want 2", tag, layout)
		}
	}
	s.wantClean()
	left.Store(0)
	if _, err := redisrepo.New(s.ctx, s.server.Client, s.rules, s.grade(&left)); err != nil {
		t.Errorf("a start on upgraded data: %v, want no further upgrade", err)
	}
	left.Store(1 << 30)
	fresh := newSite(t, nil, s.grade(&left))
	if n := left.Load(); n != 1<<30 || fresh.raw.HGet(s.ctx, "meta:", "layout").Val() != "2" {
		t.Errorf("a new site needed %d upgrades, want none, and layout 2", 1<<30-n)
	}
}

// While a process of the older version serves the site, its data is not upgraded.
func TestUpgradeWaitsForOlderProcesses(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.post("alice")
	var left atomic.Int64
	left.Store(100)
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan struct{})
	go func() { s.Listen(ctx, func(error) {}); close(ended) }()
	for s.do("PUBSUB NUMSUB changes:0").([]any)[1] == int64(0) {
	}
	_, err := redisrepo.New(s.ctx, s.server.Client, s.rules, s.grade(&left))
	if err == nil || !strings.Contains(err.Error(), "the data has layout 1, this program needs 2, and 1 processes of the site still run") || left.Load() != 100 {
		t.Errorf("New beside an older process: %v, want an error that says so", err)
	}
	stop()
	<-ended
	for s.do("PUBSUB NUMSUB changes:0").([]any)[1] != int64(0) {
	}
	if _, err := redisrepo.New(s.ctx, s.server.Client, s.rules, s.grade(&left)); err != nil || left.Load() != 99 {
		t.Errorf("New after its end: %v, %d articles, want 1", err, 100-left.Load())
	}
}

func TestPendingNamesWhatAStartWouldDo(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.post("alice")
	var left atomic.Int64
	pending := func(rules redisrepo.Rules, options ...redisrepo.Option) string {
		t.Helper()
		before := s.dump()
		found, err := redisrepo.Pending(s.ctx, s.server.Client, rules, options...)
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
	const want = `["upgrade the layout from 1 to 2: grading all articles" "re-rank all articles: vote_score was 432 and is 100"]`
	if got := pending(changed, s.grade(&left)); got != want {
		t.Errorf("after a change:\n got %s\nwant %s", got, want)
	}
	s.do("DEL meta:")
	if got := pending(s.rules); got != `["upgrade the layout from 0 to 1: looking for the groups of legacy clients"]` {
		t.Errorf("on data of legacy clients: %s", got)
	}
}
