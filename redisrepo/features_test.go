package redisrepo_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// noFeatures is a site that keeps none of the features.
func noFeatures(r *site.Rules) {
	r.Calendar, r.GroupTop, r.VoteHistory, r.FrontPages, r.Events = false, false, site.NoHistory, 0, 0
}

// aged fills a site with articles of 60 days, many of them of one second, some deleted, with votes of both signs.
func (s *testSite) aged(articles int) {
	s.t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var all []redisrepo.Imported
	for i := range articles {
		age := time.Duration(random.IntN(60*24*3600)) * time.Second
		if i%3 == 0 {
			age = 30 * day // with the same second
		}
		groups := []string{"go", fmt.Sprint("g", i%7)}[:1+i%2]
		all = append(all, old(site.ArticleID(1+i), age, random.IntN(9)-4, groups...))
	}
	s.imports(all...)
	for i := 1; i < articles; i += 50 {
		s.delete(site.ArticleID(i), moderator)
	}
}

// opens a store again and again, killed after more and more round trips, until New succeeds.
func (s *testSite) opensKilled(rules site.Rules, random *rand.Rand) (kills int) {
	s.t.Helper()
	for most := 8; ; most += 8 {
		k := new(killer)
		k.left.Store(int64(1 + random.IntN(most)))
		repo, err := redisrepo.New(s.ctx, s.client(k.hook()), rules, redisrepo.WithClock(s.clock.now))
		if err == nil {
			k.left.Store(1 << 60)
			s.Repo, s.rules = repo, rules
			return kills
		}
		if kills++; !errors.Is(err, errKilled) || kills > 300 {
			s.t.Fatalf("New: %v after %d kills, want that it was killed", err, kills)
		}
	}
}

// The features are built when they are switched on, and gone when they are switched off, however often the start is
// killed in the middle.
func TestSwitchedFeaturesAreBuiltAndDropped(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, noFeatures, redisrepo.WithPartitions(len(tags)))
		s.aged(4000)
		off, without := s.rules, s.dump()
		random := rand.New(rand.NewPCG(3, uint64(len(tags))))
		on := site.DefaultRules()
		on.GroupTop = true
		kills := s.opensKilled(on, random)
		s.wantScheduled()
		s.wantClean()
		noGroups := on
		noGroups.GroupTop = false
		kills += s.opensKilled(noGroups, random)
		s.wantScheduled()
		kills += s.opensKilled(off, random)
		s.wantStore(without)
		if kills < 20 {
			t.Errorf("killed %d times, want more", kills)
		}
	})
}

// A feature is not switched while a process of the site runs, nor by a program that keeps the rules; a program goes on
// with what a start has left.
func TestFeaturesAreSwitchedAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, noFeatures, one)
	s.post("alice", "go")
	rules := s.rules
	rules.Calendar = true
	open := func(options ...redisrepo.Option) error {
		_, err := redisrepo.New(s.ctx, s.server.Client, rules, append(options, redisrepo.WithClock(s.clock.now))...)
		return err
	}
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %q", err, want)
		}
	}
	before := s.dump()
	refused(open(redisrepo.KeepRules()), "calendar was off and is on: use the same settings as the server")
	stop := s.used()
	s.awaitProcesses(1)
	refused(open(), "calendar was off and is on, and 1 processes of the site still run: stop them")
	stop()
	s.awaitProcesses(0)
	if _, there := maps.Collect(lines(before))["clock:"]; there {
		t.Error("the calendar was begun")
	}
	s.do("HSET meta: calendar building")
	refused(open(redisrepo.KeepRules()), "a start of the server has not finished the calendar, and a command does not go on with that: start the server first")
	s.Repo, s.rules = s.reopened(s.server.Client, func(r *site.Rules) { *r = rules }).Repo, rules
	s.wantScheduled()
	rules.Calendar = false
	refused(open(redisrepo.KeepRules()), "calendar was on and is off")
	if err := open(); err != nil || len(s.raw.Keys(s.ctx, "top:*").Val())+len(s.raw.Keys(s.ctx, "clock:*").Val()) > 0 {
		t.Errorf("New without the calendar: %v, and the store holds\n%s", err, s.dump())
	}
}

// lines yields the keys of a dump and what they hold.
func lines(dump string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(dump) {
			key, content, _ := strings.Cut(line, ": ")
			if !yield(key, content) {
				return
			}
		}
	}
}

// A start says what it builds and how far it is, and goes on where another one was interrupted.
func TestBuildingGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t, noFeatures, one)
	s.aged(3000)
	rules := s.rules
	rules.Calendar = true
	var done []int
	progress := redisrepo.OnProgress(func(step string, n, total int) {
		if step == "building the calendar" {
			done = append(done, n)
			if total != 2940 {
				t.Errorf("of %d articles, want 2940", total)
			}
		}
	})
	pending, err := redisrepo.Pending(s.ctx, s.server.Client, rules)
	if want := `["build the calendar from 2940 articles"]`; fmt.Sprintf("%q", pending) != want || err != nil {
		t.Errorf("Pending = %q, %v, want %s", pending, err, want)
	}
	newest := s.raw.ZRevRangeWithScores(s.ctx, "time:", 400, 400).Val()[0].Score
	s.do("HSET meta: calendar", "building "+strconv.FormatFloat(newest, 'f', -1, 64))
	require.Value(s.raw.Pipelined(s.ctx, func(pipe redis.Pipeliner) error {
		s.Views.QueueBegin(s.ctx, pipe, keys.Untagged, "calendar")
		return nil
	}))(t)
	require.Value(redisrepo.New(s.ctx, s.server.Client, rules, redisrepo.WithClock(s.clock.now), progress))(t)
	places := map[string]int{} // by unit
	for list, scores := range s.storedCalendar() {
		places[strings.Split(list, ":")[1]] += len(scores)
	}
	if places["h"]+places["d"] != 401 || places["d"] != places["m"] {
		t.Errorf("a start that went on built %v places, want those of the last 401 articles", places)
	}
	s.do("HSET meta: calendar", "building")
	s = s.reopened(s.server.Client, func(r *site.Rules) { r.Calendar = true }, progress)
	s.wantScheduled()
	if !slices.IsSorted(done) || len(done) < 3 {
		t.Errorf("the progress was %v", done)
	}
}
