package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// largeGroups lets groups be large from 41 articles on, and a step add about 10.
var largeGroups = redisrepo.WithLargeGroups(40, 10)

// isStep reports whether a command is a call of gather.lua: three keys and one argument.
func isStep(command redis.Cmder) bool {
	args := command.Args()
	return strings.HasPrefix(command.Name(), "eval") && len(args) == 7 && args[2] == 3
}

// steps is a hook that calls a function before each step in building a listing.
func steps(call func()) redis.Hook {
	return redistest.Before(func(commands ...redis.Cmder) {
		if slices.ContainsFunc(commands, isStep) {
			call()
		}
	})
}

// reader returns another process of the site, with a function that is called before each of its steps.
func (s *testSite) reader(partitions int, step func()) *testSite {
	return s.reopened(s.client(steps(step)), nil, redisrepo.WithPartitions(partitions), largeGroups)
}

// withLargeGroup opens a site with articles of alice in the group go.
func withLargeGroup(t *testing.T, articles, partitions int) *testSite {
	t.Helper()
	s := newSite(t, nil, redisrepo.WithPartitions(partitions), largeGroups)
	for range articles {
		s.post("alice", "go")
	}
	return s
}

// whole returns all articles of a listing, in its order.
func (s *testSite) whole(l lists.Listing) (all []site.ArticleID) {
	s.t.Helper()
	for page := 1; ; page++ {
		ids := require.Value(s.Lists.List(s.ctx, l, page, new(100)))(s.t)
		if all = append(all, ids...); len(ids) < 100 {
			return all
		}
	}
}

// wantIntersection compares listings of a group with the intersections of the group and the rankings.
func (s *testSite) wantIntersection(group site.GroupName, orders ...string) {
	s.t.Helper()
	for _, order := range orders {
		var want []site.ArticleID
		store := redis.ZStore{Keys: []string{"group:" + string(group), order}, Weights: []float64{0, 1}}
		for _, member := range slices.Backward(s.raw.ZInter(s.ctx, &store).Val()) {
			id, _ := site.ParseArticleID(member)
			want = append(want, id)
		}
		l := best(group)
		if order == "time:" {
			l = lists.InGroup(group, site.ByTime, site.Descending)
		}
		if got := s.whole(l); !slices.Equal(got, want) {
			s.t.Errorf("%s%s = %v, want %v", order, group, got, want)
		}
	}
}

// A large group is read exactly from the first time on. No command builds its listing at once, and it is built only once.
func TestListingOfALargeGroupIsBuiltInSteps(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	const articles = 5_300
	times, scores, members := make([]redis.Z, articles), make([]redis.Z, articles), make([]any, articles)
	for i := range articles {
		member := site.ArticleID(i + 1).String()
		times[i], scores[i], members[i] = redis.Z{Score: float64(i), Member: member}, redis.Z{Score: float64(i * 7919 % 1000), Member: member}, member
	}
	s.raw.ZAdd(s.ctx, "time:", times...)
	s.raw.ZAdd(s.ctx, "score:", scores...)
	s.raw.SAdd(s.ctx, "group:go", members...)
	made, most, size := 0, int64(0), int64(0)
	step := func() {
		now := s.raw.ZCard(s.ctx, "score:go").Val() + s.raw.ZCard(s.ctx, "time:go").Val()
		made, most, size = made+1, max(most, now-size), now
	}
	reader := s.reopened(s.client(steps(step)), nil, one)
	s.do("CONFIG RESETSTAT")
	reader.wantIntersection("go", "score:", "time:")
	if made < 2*10 || made > 2*16 || most > 700 {
		t.Errorf("%d steps add up to %d articles, want about 500 in each", made, most)
	}
	if stats := fmt.Sprint(s.do("INFO commandstats")); strings.Contains(stats, "cmdstat_zinterstore") {
		t.Errorf("one command built a listing: %s", stats)
	}
	for _, key := range []string{"score:go", "time:go"} {
		if left := s.raw.PTTL(s.ctx, key).Val(); left != -1 {
			t.Errorf("%s expires in %v, want never", key, left)
		}
	}
	made = 0
	reader.wantIntersection("go", "score:", "time:")
	if other := s.reopened(s.client(steps(step)), nil, one); made != 0 {
		t.Errorf("%d more steps to read it again, want none", made)
	} else if other.wantIntersection("go", "score:", "time:"); made != 0 {
		t.Errorf("%d more steps for another process, want none", made)
	}
	if n := s.raw.ZScore(s.ctx, "sizes:", "go").Val(); n != -articles {
		t.Errorf("the group has the size %v in the list of groups, want %d", -n, articles)
	}
}

// Whatever is written between two steps, and whichever reader gives up or builds as well, the listing that is read is exact.
func TestWritesBetweenStepsKeepTheListingExact(t *testing.T) {
	t.Parallel()
	for seed := range programtest.Size[uint64](1, 3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			s := withLargeGroup(t, 150, 1)
			ctx, cancel := context.WithCancel(s.ctx)
			builds, made := 0, 0
			another := s.reader(1, func() {})
			reader := s.reader(1, func() {
				made++
				for range random.IntN(4) {
					s.writeTo(random, "go", 160)
				}
				switch random.IntN(25) {
				case 0:
					cancel() // as if the process were killed
				case 1:
					s.wantClean()
					another.list(best("go")) // completes it
				case 2: // a cursor of another server, after a failover
					marker := s.raw.ZRange(s.ctx, "score:go", 0, 0).Val()[0]
					if strings.HasPrefix(marker, "building:1:") {
						s.raw.ZAdd(s.ctx, "score:go", redis.Z{Score: s.raw.ZScore(s.ctx, "score:go", marker).Val(), Member: "building:1:123456789"})
						s.raw.ZRem(s.ctx, "score:go", marker)
					}
				}
			})
			for range 10 {
				s.do("DEL score:go")
				for builds++; ; ctx, cancel = context.WithCancel(s.ctx) {
					if _, err := reader.Lists.List(ctx, best("go"), 1, nil); err == nil {
						break
					} else if ctx.Err() == nil {
						t.Fatalf("List: %v", err)
					}
				}
				s.wantIntersection("go", "score:")
				s.wantClean()
				if t.Failed() {
					t.Fatalf("after %d builds and %d steps", builds, made)
				}
			}
			cancel()
			if made < 5*builds {
				t.Errorf("%d listings were built in %d steps", builds, made)
			}
		})
	}
}

// writeTo makes a random write to one of the first articles, concerning a group.
func (s *testSite) writeTo(random *rand.Rand, group string, articles int) {
	s.t.Helper()
	id := site.ArticleID(1 + random.IntN(articles))
	var err error
	switch random.IntN(6) {
	case 0:
		_, err = s.Post(s.ctx, "alice", s.fresh(group))
	case 1, 2:
		_, err = s.Vote(s.ctx, id, users[random.IntN(len(users))], site.Vote(random.IntN(3)-1), "")
	case 3:
		_, err = s.Regroup(s.ctx, id, moderator, []string{group}, nil)
	case 4:
		_, err = s.Regroup(s.ctx, id, moderator, nil, []string{group})
	case 5:
		if _, err = s.Delete(s.ctx, id, moderator, site.Why{}); err == nil && random.IntN(2) == 0 {
			_, err = s.Undelete(s.ctx, id, moderator)
		}
	}
	if refusal := (site.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
		s.t.Errorf("write to %v: %v", id, err)
	}
}

// Several processes build and write at the same time.
func TestListingIsBuiltByManyAtOnce(t *testing.T) { // with the race detector
	eachLayout(t, func(t *testing.T, tags []string) {
		s := withLargeGroup(t, 120*len(tags), len(tags))
		var made atomic.Int64
		for round := range 5 {
			for _, tag := range tags {
				s.raw.Unlink(s.ctx, tag+"score:go", tag+"time:go")
			}
			together(8, func(i int) {
				if random := rand.New(rand.NewPCG(uint64(round), uint64(i))); i < 3 {
					for range 20 {
						s.writeTo(random, "go", 120*len(tags))
					}
					return
				}
				reader := s.reader(len(tags), func() { made.Add(1) })
				if _, err := reader.Lists.List(s.ctx, best("go"), 1, nil); err != nil {
					t.Errorf("List: %v", err)
				}
				if _, _, err := reader.Lists.Walk(s.ctx, lists.InGroup("go", site.ByTime, site.Ascending), site.PageRequest{}); err != nil {
					t.Errorf("Walk: %v", err)
				}
			})
			s.wantClean()
		}
		if len(tags) == 1 {
			s.wantIntersection("go", "score:", "time:")
		}
		if made.Load() < int64(5*10*len(tags)) { // the writers take some articles out of the group
			t.Errorf("%d steps, want at least 5 for each listing", made.Load())
		}
	})
}

// A listing that another process drops and builds again is never read as if it were complete, by no way of reading.
func TestIncompleteListingIsNeverRead(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := withLargeGroup(t, 60*len(tags), len(tags))
		reads := map[string]func(l lists.Listing) int{
			"List": func(l lists.Listing) int { return len(s.whole(l)) },
			"Walk": func(l lists.Listing) int { return len(s.walkIDs(l, 7, false, 60*len(tags))) },
			"Last": func(l lists.Listing) int { return len(s.walkIDs(l, 7, true, 60*len(tags))) },
			"FirstArticles": func(l lists.Listing) int {
				articles, err := s.Lists.FirstArticles(s.ctx, l, 100, []site.ArticleID{1})
				if err != nil || len(articles) < min(100, 60*len(tags)) {
					t.Errorf("FirstArticles = %d, %v", len(articles), err)
				}
				return 60 * len(tags)
			},
			"a deep page": func(l lists.Listing) int {
				ids, err := s.Lists.List(s.ctx, l, 60*len(tags), new(1))
				if err != nil {
					t.Errorf("List: %v", err)
				}
				return 60*len(tags) - 1 + len(ids)
			},
		}
		for name, read := range reads {
			for _, order := range orders {
				l := lists.InGroup("go", order, site.Descending)
				for range 2 { // by listing.lua, and by plain commands
					if got := read(l); got != 60*len(tags) {
						t.Errorf("%s in order %v = %d articles, want all %d", name, order, got, 60*len(tags))
					}
				}
				for _, tag := range tags {
					key := tag + map[site.Order]string{site.ByScore: "score:go", site.ByTime: "time:go"}[order]
					some := s.raw.ZRange(s.ctx, key, 0, 20).Val()
					s.raw.ZRem(s.ctx, key, some)
					s.raw.ZAdd(s.ctx, key, redis.Z{Score: math.Inf(-1), Member: "building:1:0"})
				}
				if got := read(l); got != 60*len(tags) {
					t.Errorf("%s in order %v while it is built again = %d articles, want all %d", name, order, got, 60*len(tags))
				}
			}
		}
		s.wantClean()
	})
}

// A listing is kept while its group is large.
func TestListingIsKeptWhileItsGroupIsLarge(t *testing.T) { // with the race detector
	t.Parallel()
	s := withLargeGroup(t, 40, 1)
	s.list(best("go"))
	if left := s.ttl("score:go"); left <= 0 {
		t.Errorf("the listing of 40 articles expires in %v, want %v", left, s.rules.GroupCacheTTL)
	}
	s.post("alice", "go")
	s.do("PEXPIRE score:go 30000") // more than a second since it was compared
	s.list(best("go"))
	if left := s.raw.PTTL(s.ctx, "score:go").Val(); left != -1 {
		t.Errorf("the listing of 41 articles expires in %v, want never", left)
	}
	s.regroup(s.article(3), nil, []string{"go"})
	s.reader(1, func() {}).list(best("go")) // compares it
	if left := s.ttl("score:go"); left <= 0 || left > s.rules.GroupCacheTTL {
		t.Errorf("the listing of 40 articles again expires in %v, want %v", left, s.rules.GroupCacheTTL)
	}
	s.wantIntersection("go", "score:")
}

// No command deletes the listing of a large group at once, even if all articles are ranked again.
func TestLargeListingIsDroppedInTheBackground(t *testing.T) {
	t.Parallel()
	s := withLargeGroup(t, 60, 1)
	s.list(best("go"))
	s.do("CONFIG RESETSTAT")
	s = s.reopened(s.server.Client, func(r *site.Rules) { r.VoteScore = 500 }, one, largeGroups)
	s.wantIntersection("go", "score:")
	if stats := fmt.Sprint(s.do("INFO commandstats")); !strings.Contains(stats, "cmdstat_unlink") || strings.Contains(stats, "cmdstat_del") || strings.Contains(stats, "cmdstat_zremrange") {
		t.Errorf("it was not dropped by UNLINK: %s", stats)
	}
}

// While Redis refuses writes, a listing that is kept is read, and a small one is computed.
func TestLargeGroupWhileRedisRefusesWrites(t *testing.T) { // with the race detector
	t.Parallel()
	s := withLargeGroup(t, 60, 1)
	s.list(best("go"))
	want := s.whole(best("go"))
	s.do("CONFIG SET maxmemory 1")
	defer s.do("CONFIG SET maxmemory 0")
	if got := s.whole(best("go")); !slices.Equal(got, want) {
		t.Errorf("List = %v, want %v", got, want)
	}
	if _, err := s.Lists.List(s.ctx, lists.InGroup("go", site.ByTime, site.Descending), 1, nil); !errors.Is(err, failover.ErrReadOnly) {
		t.Errorf("List of a listing that is not there: %v, want ErrReadOnly", err)
	}
}

// The store in memory keeps a sorted set without members, which Redis does not.
func TestGroupThatWasReadWhileEmptyShowsItsFirstArticleInMemory(t *testing.T) { // with the race detector
	t.Parallel()
	s := embedded(t, nil, largeGroups)
	var want []site.ArticleID
	for range 45 { // more than a small group has, so that it is built in steps, too
		for _, order := range orders {
			got := s.whole(lists.InGroup("go", order, site.Ascending))
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("%d articles, want %v", got, want)
			}
		}
		want = append(want, s.post("alice", "go").ID)
	}
	for _, id := range want {
		s.delete(id, moderator)
	}
	s.wantList(best("go"))
	id := s.post("alice", "go").ID
	s.wantList(best("go"), id)
}
