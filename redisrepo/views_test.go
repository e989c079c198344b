package redisrepo_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// derived is what follows from the log, as a reader sees it.
func (s *testSite) derived() (all []string) {
	s.t.Helper()
	day, half := rankings.SpanDay, 3600
	for _, group := range []site.GroupName{"", "a", "interesting"} {
		for _, q := range []rankings.RankQuery{
			{}, {Span: &day}, {By: rankings.RankBy{Formula: rankings.RankLinear}},
			{By: rankings.RankBy{Formula: rankings.RankHalfLife, HalfLife: &half}}, {By: rankings.RankBy{Formula: rankings.RankGravity}},
		} {
			q.Group = group
			list := require.Value(s.Rankings.RankedList(q))(s.t)
			var after *string
			for page, first := range []int{7, 7, 7, 60} {
				if page == 3 {
					after = nil
				}
				p := require.Value(s.Rankings.Rank(s.ctx, list, &first, after))(s.t)
				line := fmt.Sprintf("%+v %s page %d:", q.By.Formula, group, page)
				for _, e := range p.Edges {
					line += fmt.Sprintf(" %d=%.0f", e.ID, e.Key)
				}
				all, after = append(all, line), p.Info.EndCursor
			}
		}
	}
	return all
}

// A read has all that was written before it, also through another process, although no process applies the log, and also while
// Redis refuses to have it applied.
func TestReadsHaveWhatTheLogHas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "full memory", "too few replicas", "read-only replica"} {
		for _, partitions := range []int{1, 4} {
			t.Run(fmt.Sprint(name, ", ", partitions), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, func(r *site.Rules) { r.GroupTop, r.InterestingVotes = true, 2 }, redisrepo.WithPartitions(partitions))
				other := s.reopened(s.client(), nil)
				random := rand.New(rand.NewPCG(1, uint64(partitions)))
				var ids []site.ArticleID
				write := func(steps int) {
					for range steps {
						ids = s.disturb(random, ids)
						s.clock.advance(time.Duration(random.IntN(20)) * time.Minute)
					}
				}
				write(200)
				require.NoError(t, s.Views.CatchUpAll(s.ctx))
				write(100)
				if name != "" {
					s.do(refusals[name].begin)
				}
				got := other.derived()
				if name != "" {
					if name != "full memory" && other.Views.CatchUp(s.ctx) == nil { // a full one lets a script go on that first removes something
						t.Error("the log was applied, although Redis refuses writes")
					}
					s.do(refusals[name].end)
				}
				require.NoError(t, s.Views.CatchUpAll(s.ctx))
				for i, want := range s.derived() {
					if got[i] != want {
						t.Errorf("got  %s\nwant %s", got[i], want)
					}
				}
				s.wantScheduled()
				s.wantClean()
			})
		}
	}
}

// Any number of processes apply the log at the same time, and each entry once, in its place.
func TestProcessesApplyTheLogTogether(t *testing.T) { // with the race detector
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.GroupTop, r.Events = true, 50 }, one)
	var ids []site.ArticleID
	random := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		ids = s.disturb(random, ids)
	}
	together(8, func(i int) {
		other := s.reopened(s.client(), nil)
		random := rand.New(rand.NewPCG(6, uint64(i)))
		mine := append([]site.ArticleID{}, ids...)
		for range 30 {
			mine = other.disturb(random, mine)
			if err := other.Views.CatchUpAll(s.ctx); err != nil {
				t.Error(err)
			}
		}
	})
	s.wantScheduled()
	s.wantClean()
}

// The log keeps as many events as the site wants, and what a view lacks; imports push none out.
func TestLogKeepsEventsAndWhatViewsLack(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Events = 20 }, one)
	id := s.post("alice").ID
	for i := range 500 {
		s.vote(id, site.UserName(fmt.Sprint("v", i)), up)
	}
	length := func() int64 { return s.raw.XLen(s.ctx, "events:").Val() }
	if n := length(); n < 501 {
		t.Errorf("the log has %d entries before any was applied, want at least 501", n)
	}
	require.NoError(t, s.Views.CatchUpAll(s.ctx))
	if n := length(); n < 501 {
		t.Errorf("the log has %d entries of the last seconds, want at least 501, for those who read it", n)
	}
	s.Views.Young = 0
	require.NoError(t, s.Views.CatchUpAll(s.ctx))
	if n := length(); n != 20 {
		t.Errorf("the log has %d entries, want 20", n)
	}
	before := s.story()
	if _, errs := s.Import(s.ctx, []redisrepo.Imported{old(2000, time.Hour, 9), old(2001, time.Hour, 9)}); errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	require.NoError(t, s.Views.CatchUpAll(s.ctx))
	if got := s.story(); got != before {
		t.Errorf("after an import the feed has %s, want %s", got, before)
	}
	if n, hidden := length(), s.do("HGET views: hidden"); n != 21 || hidden != "1" { // the newest entry stays
		t.Errorf("the log has %d entries and counts %v that are no events, want 21 and 1", n, hidden)
	}
	for i := range 30 {
		s.vote(2000, site.UserName(fmt.Sprint("v", i)), up)
	}
	require.NoError(t, s.Views.CatchUpAll(s.ctx))
	if n, hidden := length(), s.do("HGET views: hidden"); n != 20 || hidden != "0" {
		t.Errorf("the log has %d entries and counts %v that are no events, want 20 and 0", n, hidden)
	}
	s.wantClean()
}

// A read waits for a calendar that lacks more entries than it applies itself.
func TestRankingHasManyEntriesOfTheLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	many := make([]redisrepo.Imported, 450)
	for i := range many {
		many[i] = old(site.ArticleID(i+1), time.Hour, i)
	}
	s.imports(many...)
	if got := s.ranking(rankings.RankQuery{}); !strings.HasPrefix(got, "[article:450 article:449 ") {
		t.Errorf("ranking = %s, want those with the most votes", got)
	}
	s.wantClean()
}
