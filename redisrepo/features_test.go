package redisrepo_test

import (
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
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// aged fills a site with articles of 60 days, many of them of one second, some deleted, with votes of both signs.
func aged(s *repotest.Site, articles int) {
	s.T.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var all []redisrepo.Imported
	for i := range articles {
		age := time.Duration(random.IntN(60*24*3600)) * time.Second
		if i%3 == 0 {
			age = 30 * day // with the same second
		}
		groups := []string{"go", fmt.Sprint("g", i%7)}[:1+i%2]
		all = append(all, repotest.Old(site.ArticleID(1+i), age, random.IntN(9)-4, groups...))
	}
	s.MustImport(all...)
	for i := 1; i < articles; i += 50 {
		s.MustDelete(site.ArticleID(i), repotest.Moderator)
	}
}

// The features are built when they are switched on, and gone when they are switched off, however often the start is
// killed in the middle.
func TestSwitchedFeaturesAreBuiltAndDropped(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, repotest.NoFeatures, redisrepo.WithPartitions(len(tags)))
		aged(s, 4000)
		off, without := s.Rules, s.Dump()
		random := rand.New(rand.NewPCG(3, uint64(len(tags))))
		on := site.DefaultRules()
		on.GroupTop = true
		kills := s.OpensKilled(on, random)
		s.WantScheduled()
		s.WantClean()
		noGroups := on
		noGroups.GroupTop = false
		kills += s.OpensKilled(noGroups, random)
		s.WantScheduled()
		kills += s.OpensKilled(off, random)
		s.WantStore(without)
		if kills < 20 {
			t.Errorf("killed %d times, want more", kills)
		}
	})
}

// A feature is not switched while a process of the site runs, nor by a program that keeps the rules; a program goes on
// with what a start has left.
func TestFeaturesAreSwitchedAlone(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, repotest.NoFeatures, repotest.One)
	s.MustPost("alice", "go")
	rules := s.Rules
	rules.Calendar = true
	open := func(options ...redisrepo.Option) error {
		_, err := redisrepo.New(s.Ctx, s.Server.Client, rules, append(options, redisrepo.WithClock(s.Clock.Now))...)
		return err
	}
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %q", err, want)
		}
	}
	before := s.Dump()
	refused(open(redisrepo.KeepRules()), "calendar was off and is on: use the same settings as the server")
	stop := s.Used()
	s.AwaitProcesses(1)
	refused(open(), "calendar was off and is on, and 1 processes of the site still run: stop them")
	stop()
	s.AwaitProcesses(0)
	if _, there := maps.Collect(lines(before))["clock:"]; there {
		t.Error("the calendar was begun")
	}
	s.Do("HSET meta: calendar building")
	refused(open(redisrepo.KeepRules()), "a start of the server has not finished the calendar, and a command does not go on with that: start the server first")
	s.Repo, s.Rules = s.Reopened(s.Server.Client, func(r *site.Rules) { *r = rules }).Repo, rules
	s.WantScheduled()
	rules.Calendar = false
	refused(open(redisrepo.KeepRules()), "calendar was on and is off")
	if err := open(); err != nil || len(s.Raw.Keys(s.Ctx, "top:*").Val())+len(s.Raw.Keys(s.Ctx, "clock:*").Val()) > 0 {
		t.Errorf("New without the calendar: %v, and the store holds\n%s", err, s.Dump())
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
	s := repotest.New(t, repotest.NoFeatures, repotest.One)
	aged(s, 3000)
	rules := s.Rules
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
	pending, err := redisrepo.Pending(s.Ctx, s.Server.Client, rules)
	if want := `["build the calendar from 2940 articles"]`; fmt.Sprintf("%q", pending) != want || err != nil {
		t.Errorf("Pending = %q, %v, want %s", pending, err, want)
	}
	newest := s.Raw.ZRevRangeWithScores(s.Ctx, "time:", 400, 400).Val()[0].Score
	s.Do("HSET meta: calendar", "building "+strconv.FormatFloat(newest, 'f', -1, 64))
	require.Value(s.Raw.Pipelined(s.Ctx, func(pipe redis.Pipeliner) error {
		s.Views.QueueBegin(s.Ctx, pipe, keys.Untagged, "calendar")
		return nil
	}))(t)
	require.Value(redisrepo.New(s.Ctx, s.Server.Client, rules, redisrepo.WithClock(s.Clock.Now), progress))(t)
	places := map[string]int{} // by unit
	for list, scores := range s.StoredCalendar() {
		places[strings.Split(list, ":")[1]] += len(scores)
	}
	if places["h"]+places["d"] != 401 || places["d"] != places["m"] {
		t.Errorf("a start that went on built %v places, want those of the last 401 articles", places)
	}
	s.Do("HSET meta: calendar", "building")
	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.Calendar = true }, progress)
	s.WantScheduled()
	if !slices.IsSorted(done) || len(done) < 3 {
		t.Errorf("the progress was %v", done)
	}
}
