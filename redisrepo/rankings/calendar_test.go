package rankings_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// Every write keeps the calendar, whenever it is folded.
func TestCalendarHasEachArticleWithItsVotes(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2} {
		for _, groups := range []bool{false, true} {
			t.Run(fmt.Sprint(partitions, " ", groups), func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, func(r *site.Rules) {
					r.GroupTop, r.VotingWindow, r.InterestingVotes = groups, 20*repotest.Week, 3
				}, redisrepo.WithPartitions(partitions))
				random := rand.New(rand.NewPCG(7, cmp.Or(uint64(partitions), 1)))
				var ids []site.ArticleID
				for step := range programtest.Size(300, 800) {
					if random.IntN(8) == 0 {
						s.Clock.Advance(time.Duration(random.IntN(30)) * time.Hour)
					}
					ids = s.Disturb(random, ids)
					if step%40 == 0 {
						s.WantScheduled()
					}
				}
				require.NoError(t, s.Fold(s.Ctx, "a", "b", "c"))
				s.WantScheduled()
				if n := len(s.Raw.Keys(s.Ctx, "*top:m:*").Val()); n < 2 {
					t.Errorf("%d lists of 32 days, want some", n)
				}
				s.WantClean()
			})
		}
	}
}

// Several processes write and fold at the same time.
func TestCalendarIsFoldedBesideWrites(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.GroupTop, r.VotingWindow = true, 20*repotest.Week }, repotest.One)
	var ids []site.ArticleID
	for day := range 12 {
		s.Clock.Set(time.Duration(day) * 24 * time.Hour)
		for range 3 {
			ids = append(ids, s.MustPost("alice", "a", "b").ID)
		}
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(worker)))
			other := s.Reopened(s.Client(), nil)
			for range 60 {
				mine := other.Disturb(random, slices.Clone(ids))
				_ = mine
				if random.IntN(10) == 0 {
					s.Clock.Advance(5 * time.Hour)
				}
			}
		})
	}
	all.Wait()
	s.WantScheduled()
	s.Clock.Advance(2 * repotest.Week)
	repotest.Together(8, func(int) {
		if err := s.Fold(s.Ctx, "a", "b", "c"); err != nil {
			t.Error(err)
		}
	})
	s.WantScheduled()
	if keys := s.Raw.Keys(s.Ctx, "top:h:*").Val(); len(keys) > 0 {
		t.Errorf("after two weeks there are lists of hours: %v", keys)
	}
	s.WantClean()
}

// A fold that is repeated changes nothing, and a site that slept is folded in as many calls as days had articles.
func TestFoldSkipsDaysWithoutArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	for day := range 3 {
		s.Clock.Set(time.Duration(day) * 2 * 24 * time.Hour)
		s.MustPost("alice", "go")
	}
	require.NoError(t, s.Views.CatchUpAll(s.Ctx)) // else the other process does, and folds beside the test
	s.Clock.Advance(60 * repotest.Week)
	counted := new(repotest.Counter)
	other := s.Reopened(s.Client(redistest.Before(counted.Add)), nil)
	counted.Reset()
	require.NoError(t, other.Fold(s.Ctx))
	if got := counted.Reset().Commands; got > 4 {
		t.Errorf("%d commands, want at most one for each day with articles, and one to find the first", got)
	}
	s.WantScheduled()
	before := s.Dump()
	if err := other.Fold(s.Ctx); err != nil || s.Dump() != before {
		t.Errorf("a second fold: %v, and the store holds\n%s\nwant\n%s", err, s.Dump(), before)
	}
}

// A post sees that folding is due.
func TestPostFoldsTheCalendar(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.GroupTop = true }, repotest.One)
	s.MustPost("alice", "a")
	s.Clock.Advance(3 * repotest.Week)
	folded := make(chan struct{}, 100)
	other := s.Reopened(s.Client(redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			if c.Name() == "evalsha" && strings.HasPrefix(fmt.Sprint(c.Args()[3]), "clock:") {
				folded <- struct{}{}
			}
		}
	})), nil)
	other.MustPost("bob", "a")
	require.NoError(t, other.Views.CatchUpAll(s.Ctx))
	for range 2 { // of all articles, and of the group
		<-folded
	}
	for len(s.Raw.Keys(s.Ctx, "top:h:492324*").Val()) > 0 {
		if s.Ctx.Err() != nil {
			t.Fatal("the first article's hour is not folded")
		}
	}
	s.WantScheduled()
}

// A feature that is off has no keys.
func TestSiteWithoutFeaturesHasNoKeysOfThem(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, repotest.NoFeatures, repotest.One)
	random := rand.New(rand.NewPCG(1, 1))
	var ids []site.ArticleID
	for range 100 {
		ids = s.Disturb(random, ids)
	}
	for _, pattern := range []string{"top:*", "clock:*", "front:*", "best:*", "cast:*"} {
		if keys := s.Raw.Keys(s.Ctx, pattern).Val(); len(keys) > 0 {
			t.Errorf("there are %v, want none", keys)
		}
	}
	s.WantClean()
}
