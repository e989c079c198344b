package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
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
		if _, err := redisrepo.New(s.ctx, s.server.Client, s.rules); interrupted > 1 && (err == nil || !strings.Contains(err.Error(), "the data has layout 9, this program needs 8: use the version")) {
			t.Errorf("the older program on data that is partly upgraded: %v, want an error that says so", err)
		}
	}
	if interrupted == 0 || !slices.Contains(said, "upgrading the layout from 8 to 9: grading all articles") {
		t.Errorf("interrupted %d times, and said %q", interrupted, said)
	}
	for _, id := range ids {
		if key := s.Tags()[int(id)%4] + id.String(); s.graded(key) != 1 {
			t.Errorf("%s has grade %d, want 1", key, s.graded(key))
		}
	}
	for _, tag := range append(s.Tags(), "") {
		if layout := s.raw.HGet(s.ctx, tag+"meta:", "layout").Val(); layout != "9" {
			t.Errorf("%smeta: has layout %q, want 9", tag, layout)
		}
	}
	s.wantClean()
	left.Store(0)
	require.Value(redisrepo.New(s.ctx, s.server.Client, s.rules, s.grade(&left)))(t) // needs no further upgrade
	left.Store(1 << 30)
	fresh := newSite(t, nil, s.grade(&left))
	if n := left.Load(); n != 1<<30 || fresh.raw.HGet(s.ctx, "meta:", "layout").Val() != "9" {
		t.Errorf("a new site needed %d upgrades, want none, and layout 9", 1<<30-n)
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
	if err == nil || !strings.Contains(err.Error(), "the data has layout 8, this program needs 9, and 1 processes of the site still run") || left.Load() != 100 {
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
	for name, layout := range map[string]string{"dbsize": "", "pubsub": "3"} {
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
	s.do("HSET meta: layout 2")
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
	const want = `["upgrade the layout from 8 to 9: grading all articles" "re-rank all articles: vote_score was 432 and is 100"]`
	if got := pending(changed, s.grade(&left)); got != want {
		t.Errorf("after a change:\n got %s\nwant %s", got, want)
	}
	s.do("DEL meta:")
	if got := pending(s.rules); got != `["upgrade the layout from 0 to 1: looking for the groups of legacy clients" "upgrade the layout from 1 to 2: counting the articles of groups, and recording all links" "upgrade the layout from 2 to 3: making room for the calendar, users' votes, front pages and events" "upgrade the layout from 3 to 4: listing the articles of hosts" "upgrade the layout from 4 to 5: recording how the names of users look" "upgrade the layout from 5 to 6: having the calendar follow the log" "upgrade the layout from 6 to 7: moving the records of links" "upgrade the layout from 7 to 8: recording all links" "build the calendar from 1 articles" "build the lists of users' votes from 1 articles"]` {
		t.Errorf("on data of legacy clients: %s", got)
	}
}

// A site of layout 1 has neither sizes nor the links of imports and of posts whose time is over, and records other links
// for LINK_WINDOW only, those with www. under other names. The upgrade adds what is missing, however often it is
// interrupted, also in several processes at once.
func TestUpgradeCountsGroupsAndRecordsLinks(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := newSite(t, nil, partitions)
		groups := sized{}
		var imported []redisrepo.Imported
		for i := range 300 {
			name := fmt.Sprint("g", i%7)
			a := old(site.ArticleID(1+i), time.Duration(i)*time.Hour, 1, name)
			a.Draft.Link = new(fmt.Sprint("https://www.example.com/old/", i%250))
			imported = append(imported, a)
			groups[name]++
		}
		s.imports(imported...)
		newest := s.post("alice", "go")
		groups["go"]++
		s.delete(290, moderator)
		groups["g2"]--
		deleted := s.post("alice", "go")
		s.delete(deleted.ID, moderator)
		want := s.withoutCalendar()
		for _, tag := range tags {
			s.do("DEL", tag+"sizes:")
			s.do("HSET", tag+"meta:", "layout", 1)
			s.do("HDEL", tag+"meta:", "calendar", "cast", "front", "events")
			for _, key := range append(s.raw.Keys(s.ctx, tag+"top:*").Val(), tag+"clock:") {
				s.do("DEL", key)
			}
		}
		s.do("HSET meta: layout 1")
		for _, key := range append(s.raw.Keys(s.ctx, "*link:*").Val(), s.raw.Keys(s.ctx, "*host:*").Val()...) {
			s.do("DEL", key)
		}
		s.do("SET", tags[0]+"link:"+strings.Repeat("0", 32), newest.ID.String()+" 1772366400", "EX", 1000) // of an older form
		pending, err := redisrepo.Pending(s.ctx, s.server.Client, s.rules, partitions, redisrepo.WithClock(s.clock.now))
		if err != nil || len(pending) != 9 || pending[7] != "build the calendar from 300 articles" || pending[8] != "build the lists of users' votes from 171 articles" || !strings.HasPrefix(pending[0], "upgrade the layout from 1 to 2: counting the articles of groups") {
			t.Errorf("Pending = %q, %v", pending, err)
		}
		s.opensInterrupted(func(interrupted int) int { return 1 + interrupted%4 }, partitions)
		for _, tag := range tags {
			if got, want := s.raw.HGet(s.ctx, tag+"clock:", "folded").Val(), fmt.Sprint(s.clock.now().Unix()/86400-9); got != want {
				t.Errorf("after the upgrade the calendar of %q is folded up to day %q, want %s: its older days", tag, got, want)
			}
		}
		s.do("DEL", tags[0]+"link:"+strings.Repeat("0", 32))
		if got := s.withoutCalendar(); got != want {
			t.Errorf("after the upgrade the store holds\n%s\nwant\n%s", got, want)
		}
		for _, tag := range tags {
			s.do("HSET", tag+"meta:", "layout", 1)
			s.do("DEL", tag+"sizes:")
		}
		s.opensTogether(partitions)
		if got := s.withoutCalendar(); got != want {
			t.Errorf("after an upgrade by several processes the store holds\n%s\nwant\n%s", got, want)
		}
		s.wantGroups(site.ByArticleCount, "", 3, groups)
		s.wantNewest("http://example.com/old/1", 2)
		s.wantScheduled()
		s.wantClean()
	})
}

// withoutCalendar is a dump without calendars: the peaks of equal ones may differ.
func (s *testSite) withoutCalendar() string {
	s.t.Helper()
	return regexp.MustCompile(`(?m)^\S*(clock|top):.*\n`).ReplaceAllString(s.dump(), "")
}
