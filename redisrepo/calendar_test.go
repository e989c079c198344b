package redisrepo_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// calendarNames are the groups of the tests of calendars.
var calendarNames = []site.GroupName{"a", "b", "c"}

// wantScheduled compares the calendars with the articles: each is in exactly the lists of its time, with its votes, and no
// peak is too low. Other processes may fold meanwhile.
func (s *testSite) wantScheduled() {
	s.t.Helper()
	require.NoError(s.t, s.Views.CatchUpAll(s.ctx))
	for range 20 {
		before := s.clocks()
		want, got := s.expectedCalendar(before), s.storedCalendar()
		if !maps.EqualFunc(before, s.clocks(), maps.Equal) {
			continue
		}
		for list := range want {
			if !maps.Equal(want[list], got[list]) {
				s.t.Errorf("%s has %v, want %v", list, got[list], want[list])
			}
		}
		for list := range got {
			if want[list] == nil {
				s.t.Errorf("%s has %v, want none", list, got[list])
			}
			tag, rest, _ := strings.Cut(list, "top:")
			parts := strings.SplitN(rest, ":", 3) // unit, number and perhaps a group
			name := ""
			if len(parts) == 3 {
				name = parts[2]
			}
			peak, err := strconv.ParseFloat(before[tag+"clock:"+name]["p:"+parts[0]+":"+parts[1]], 64)
			if best := slices.Max(slices.Collect(maps.Values(got[list]))); err != nil || peak < best {
				s.t.Errorf("%s: its peak is %v, %v, want at least %v", list, peak, err, best)
			}
		}
		return
	}
	s.t.Error("the calendar is folded all the time")
}

func (s *testSite) clocks() map[string]map[string]string {
	s.t.Helper()
	clocks := map[string]map[string]string{}
	for _, key := range s.raw.Keys(s.ctx, "*clock:*").Val() {
		clocks[key] = s.raw.HGetAll(s.ctx, key).Val()
	}
	return clocks
}

func (s *testSite) storedCalendar() map[string]map[string]float64 {
	s.t.Helper()
	lists := map[string]map[string]float64{}
	for _, key := range s.raw.Keys(s.ctx, "*top:*").Val() {
		lists[key] = scoresOf(s.raw.ZRangeWithScores(s.ctx, key, 0, -1).Val())
		if len(lists[key]) == 0 { // gone meanwhile
			delete(lists, key)
		}
	}
	return lists
}

func (s *testSite) expectedCalendar(clocks map[string]map[string]string) map[string]map[string]float64 {
	s.t.Helper()
	lists := map[string]map[string]float64{}
	for _, key := range s.raw.Keys(s.ctx, "*time:").Val() {
		tag := strings.TrimSuffix(key, "time:")
		for member, time := range scoresOf(s.raw.ZRangeWithScores(s.ctx, key, 0, -1).Val()) {
			hash := s.raw.HGetAll(s.ctx, tag+member).Val()
			votes := require.Value(strconv.ParseFloat(hash["votes"], 64))(s.t)
			names := []string{""}
			if s.rules.GroupTop {
				names = append(names, strings.Fields(hash["groups"])...)
			}
			if !s.rules.Calendar {
				names = nil
			}
			hour := math.Floor(time / 3600)
			day, month := math.Floor(hour/24), math.Floor(hour/24/32)
			for _, name := range names {
				suffix := ""
				if name != "" {
					suffix = ":" + name
				}
				in := []string{fmt.Sprintf("%stop:h:%.0f%s", tag, hour, suffix)}
				if folded, err := strconv.ParseFloat(clocks[tag+"clock:"+name]["folded"], 64); err == nil && day <= folded {
					in = []string{fmt.Sprintf("%stop:d:%.0f%s", tag, day, suffix), fmt.Sprintf("%stop:m:%.0f%s", tag, month, suffix)}
				}
				for _, list := range in {
					if lists[list] == nil {
						lists[list] = map[string]float64{}
					}
					lists[list][member] = votes
				}
			}
		}
	}
	return lists
}

func scoresOf(zs []redis.Z) map[string]float64 {
	scores := map[string]float64{}
	for _, z := range zs {
		scores[z.Member.(string)] = z.Score
	}
	return scores
}

// disturb does something random with the articles of a site.
func (s *testSite) disturb(random *rand.Rand, ids []site.ArticleID) []site.ArticleID {
	s.t.Helper()
	var names []string
	for _, name := range calendarNames {
		if random.IntN(2) == 0 {
			names = append(names, string(name))
		}
	}
	kind := random.IntN(20)
	if len(ids) == 0 || kind < 4 {
		return append(ids, s.post("alice", names...).ID)
	}
	id := ids[random.IntN(len(ids))]
	switch kind {
	case 4:
		if article, errs := s.Articles.ArticlesByID(s.ctx, []site.ArticleID{id}); errs[0] == nil {
			_, _ = s.Delete(s.ctx, article[0].ID, moderator, site.Why{})
		}
	case 5, 6:
		_, _ = s.Undelete(s.ctx, id, moderator)
	case 7:
		if len(names) > 0 {
			_, _ = s.Regroup(s.ctx, id, moderator, names[:1], names[1:])
		}
	case 8:
		_, _ = s.Edit(s.ctx, id, moderator, redisrepo.Edit{Groups: append([]string{}, names...)})
	case 9:
		imported := site.ArticleID(1_000_000 + random.IntN(1000))
		added, _ := s.Import(s.ctx, []redisrepo.Imported{old(imported, time.Duration(random.IntN(2000))*time.Hour, random.IntN(9)-3, names...)})
		if added[0] {
			ids = append(ids, imported)
		}
	case 10:
		_ = s.Fold(s.ctx, calendarNames...)
	case 11:
		voters := []string{"alice", fmt.Sprint("voter", random.IntN(5)), fmt.Sprint("voter", random.IntN(5))}
		_, _, _ = s.VoidVotes(s.ctx, id, moderator, voters, random.IntN(2) == 0, "a ring")
	default:
		voter := site.UserName(fmt.Sprint("voter", random.IntN(5)))
		_, _ = s.Vote(s.ctx, id, voter, site.Vote(random.IntN(3)-1), "")
	}
	return ids
}

// Every write keeps the calendar, whenever it is folded.
func TestCalendarHasEachArticleWithItsVotes(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2} {
		for _, groups := range []bool{false, true} {
			t.Run(fmt.Sprint(partitions, " ", groups), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, func(r *site.Rules) {
					r.GroupTop, r.VotingWindow, r.InterestingVotes = groups, 20*week, 3
				}, redisrepo.WithPartitions(partitions))
				random := rand.New(rand.NewPCG(7, cmp.Or(uint64(partitions), 1)))
				var ids []site.ArticleID
				for step := range programtest.Size(300, 800) {
					if random.IntN(8) == 0 {
						s.clock.advance(time.Duration(random.IntN(30)) * time.Hour)
					}
					ids = s.disturb(random, ids)
					if step%40 == 0 {
						s.wantScheduled()
					}
				}
				require.NoError(t, s.Fold(s.ctx, calendarNames...))
				s.wantScheduled()
				if n := len(s.raw.Keys(s.ctx, "*top:m:*").Val()); n < 2 {
					t.Errorf("%d lists of 32 days, want some", n)
				}
				s.wantClean()
			})
		}
	}
}

// Several processes write and fold at the same time.
func TestCalendarIsFoldedBesideWrites(t *testing.T) { // with the race detector
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.GroupTop, r.VotingWindow = true, 20*week }, one)
	var ids []site.ArticleID
	for day := range 12 {
		s.clock.set(time.Duration(day) * 24 * time.Hour)
		for range 3 {
			ids = append(ids, s.post("alice", "a", "b").ID)
		}
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(worker)))
			other := s.reopened(s.client(), nil)
			for range 60 {
				mine := other.disturb(random, slices.Clone(ids))
				_ = mine
				if random.IntN(10) == 0 {
					s.clock.advance(5 * time.Hour)
				}
			}
		})
	}
	all.Wait()
	s.wantScheduled()
	s.clock.advance(2 * week)
	together(8, func(int) {
		if err := s.Fold(s.ctx, calendarNames...); err != nil {
			t.Error(err)
		}
	})
	s.wantScheduled()
	if keys := s.raw.Keys(s.ctx, "top:h:*").Val(); len(keys) > 0 {
		t.Errorf("after two weeks there are lists of hours: %v", keys)
	}
	s.wantClean()
}

// A fold that is repeated changes nothing, and a site that slept is folded in as many calls as days had articles.
func TestFoldSkipsDaysWithoutArticles(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	for day := range 3 {
		s.clock.set(time.Duration(day) * 2 * 24 * time.Hour)
		s.post("alice", "go")
	}
	require.NoError(t, s.Views.CatchUpAll(s.ctx)) // else the other process does, and folds beside the test
	s.clock.advance(60 * week)
	counted := new(counter)
	other := s.reopened(s.client(redistest.Before(counted.add)), nil)
	counted.reset()
	require.NoError(t, other.Fold(s.ctx))
	if got := counted.reset().commands; got > 4 {
		t.Errorf("%d commands, want at most one for each day with articles, and one to find the first", got)
	}
	s.wantScheduled()
	before := s.dump()
	if err := other.Fold(s.ctx); err != nil || s.dump() != before {
		t.Errorf("a second fold: %v, and the store holds\n%s\nwant\n%s", err, s.dump(), before)
	}
}

// A post sees that folding is due.
func TestPostFoldsTheCalendar(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.GroupTop = true }, one)
	s.post("alice", "a")
	s.clock.advance(3 * week)
	folded := make(chan struct{}, 100)
	other := s.reopened(s.client(redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			if c.Name() == "evalsha" && strings.HasPrefix(fmt.Sprint(c.Args()[3]), "clock:") {
				folded <- struct{}{}
			}
		}
	})), nil)
	other.post("bob", "a")
	require.NoError(t, other.Views.CatchUpAll(s.ctx))
	for range 2 { // of all articles, and of the group
		<-folded
	}
	for len(s.raw.Keys(s.ctx, "top:h:492324*").Val()) > 0 {
		if s.ctx.Err() != nil {
			t.Fatal("the first article's hour is not folded")
		}
	}
	s.wantScheduled()
}

// A feature that is off has no keys.
func TestSiteWithoutFeaturesHasNoKeysOfThem(t *testing.T) {
	t.Parallel()
	s := newSite(t, noFeatures, one)
	random := rand.New(rand.NewPCG(1, 1))
	var ids []site.ArticleID
	for range 100 {
		ids = s.disturb(random, ids)
	}
	for _, pattern := range []string{"top:*", "clock:*", "front:*", "best:*", "cast:*"} {
		if keys := s.raw.Keys(s.ctx, pattern).Val(); len(keys) > 0 {
			t.Errorf("there are %v, want none", keys)
		}
	}
	s.wantClean()
}
