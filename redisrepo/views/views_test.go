package views_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// A read has all that was written before it, also through another process, although no process applies the log, and also while
// Redis refuses to have it applied.
func TestReadsHaveWhatTheLogHas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "full memory", "too few replicas", "read-only replica"} {
		for _, partitions := range []int{1, 4} {
			t.Run(fmt.Sprint(name, ", ", partitions), func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, func(r *site.Rules) { r.GroupTop, r.InterestingVotes = true, 2 }, redisrepo.WithPartitions(partitions))
				other := s.Reopened(s.Client(), nil)
				random := rand.New(rand.NewPCG(1, uint64(partitions)))
				var ids []site.ArticleID
				write := func(steps int) {
					for range steps {
						ids = s.Disturb(random, ids)
						s.Clock.Advance(time.Duration(random.IntN(20)) * time.Minute)
					}
				}
				write(200)
				require.NoError(t, s.Views.CatchUpAll(s.Ctx))
				write(100)
				if name != "" {
					s.Do(repotest.Refusals[name].Begin)
				}
				got := other.Derived()
				if name != "" {
					if name != "full memory" && other.Views.CatchUp(s.Ctx) == nil { // a full one lets a script go on that first removes something
						t.Error("the log was applied, although Redis refuses writes")
					}
					s.Do(repotest.Refusals[name].End)
				}
				require.NoError(t, s.Views.CatchUpAll(s.Ctx))
				for i, want := range s.Derived() {
					if got[i] != want {
						t.Errorf("got  %s\nwant %s", got[i], want)
					}
				}
				s.WantScheduled()
				s.WantClean()
			})
		}
	}
}

// Any number of processes apply the log at the same time, and each entry once, in its place.
func TestProcessesApplyTheLogTogether(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.GroupTop, r.Events = true, 50 }, repotest.One)
	var ids []site.ArticleID
	random := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		ids = s.Disturb(random, ids)
	}
	repotest.Together(8, func(i int) {
		other := s.Reopened(s.Client(), nil)
		random := rand.New(rand.NewPCG(6, uint64(i)))
		mine := append([]site.ArticleID{}, ids...)
		for range 30 {
			mine = other.Disturb(random, mine)
			if err := other.Views.CatchUpAll(s.Ctx); err != nil {
				t.Error(err)
			}
		}
	})
	s.WantScheduled()
	s.WantClean()
}

// The log keeps as many events as the site wants, and what a view lacks; imports push none out.
func TestLogKeepsEventsAndWhatViewsLack(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.Events = 20 }, repotest.One)
	id := s.MustPost("alice").ID
	for i := range 500 {
		s.MustVote(id, site.UserName(fmt.Sprint("v", i)), site.Up)
	}
	length := func() int64 { return s.Raw.XLen(s.Ctx, "events:").Val() }
	if n := length(); n < 501 {
		t.Errorf("the log has %d entries before any was applied, want at least 501", n)
	}
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	if n := length(); n < 501 {
		t.Errorf("the log has %d entries of the last seconds, want at least 501, for those who read it", n)
	}
	s.Views.Young = 0
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	if n := length(); n != 20 {
		t.Errorf("the log has %d entries, want 20", n)
	}
	before := s.Story()
	if _, errs := s.Import(s.Ctx, []redisrepo.Imported{repotest.Old(2000, time.Hour, 9), repotest.Old(2001, time.Hour, 9)}); errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	if got := s.Story(); got != before {
		t.Errorf("after an import the feed has %s, want %s", got, before)
	}
	if n, hidden := length(), s.Do("HGET views: hidden"); n != 21 || hidden != "1" { // the newest entry stays
		t.Errorf("the log has %d entries and counts %v that are no events, want 21 and 1", n, hidden)
	}
	for i := range 30 {
		s.MustVote(2000, site.UserName(fmt.Sprint("v", i)), site.Up)
	}
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	if n, hidden := length(), s.Do("HGET views: hidden"); n != 20 || hidden != "0" {
		t.Errorf("the log has %d entries and counts %v that are no events, want 20 and 0", n, hidden)
	}
	s.WantClean()
}

// A read waits for a calendar that lacks more entries than it applies itself.
func TestRankingHasManyEntriesOfTheLog(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	many := make([]redisrepo.Imported, 450)
	for i := range many {
		many[i] = repotest.Old(site.ArticleID(i+1), time.Hour, i)
	}
	s.MustImport(many...)
	if got := s.Ranking(rankings.RankQuery{}); !strings.HasPrefix(got, "[article:450 article:449 ") {
		t.Errorf("ranking = %s, want those with the most votes", got)
	}
	s.WantClean()
}
