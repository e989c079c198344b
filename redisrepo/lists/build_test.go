package lists_test

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
	"frontpage/tests/repotest"
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

// stepReader returns another process of the site, with a function that is called before each of its steps.
func stepReader(s *repotest.Site, partitions int, step func()) *repotest.Site {
	return s.Reopened(s.Client(steps(step)), nil, redisrepo.WithPartitions(partitions), largeGroups)
}

// withLargeGroup opens a site with articles of alice in the group go.
func withLargeGroup(t *testing.T, articles, partitions int) *repotest.Site {
	t.Helper()
	s := repotest.New(t, nil, redisrepo.WithPartitions(partitions), largeGroups)
	for range articles {
		s.MustPost("alice", "go")
	}
	return s
}

// wantIntersection compares listings of a group with the intersections of the group and the rankings.
func wantIntersection(s *repotest.Site, group site.GroupName, orders ...string) {
	s.T.Helper()
	for _, order := range orders {
		var want []site.ArticleID
		store := redis.ZStore{Keys: []string{"group:" + string(group), order}, Weights: []float64{0, 1}}
		for _, member := range slices.Backward(s.Raw.ZInter(s.Ctx, &store).Val()) {
			id, _ := site.ParseArticleID(member)
			want = append(want, id)
		}
		l := repotest.Best(group)
		if order == "time:" {
			l = lists.InGroup(group, site.ByTime, site.Descending)
		}
		if got := s.Whole(l); !slices.Equal(got, want) {
			s.T.Errorf("%s%s = %v, want %v", order, group, got, want)
		}
	}
}

// A large group is read exactly from the first time on. No command builds its listing at once, and it is built only once.
func TestListingOfALargeGroupIsBuiltInSteps(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	const articles = 5_300
	times, scores, members := make([]redis.Z, articles), make([]redis.Z, articles), make([]any, articles)
	for i := range articles {
		member := site.ArticleID(i + 1).String()
		times[i], scores[i], members[i] = redis.Z{Score: float64(i), Member: member}, redis.Z{Score: float64(i * 7919 % 1000), Member: member}, member
	}
	s.Raw.ZAdd(s.Ctx, "time:", times...)
	s.Raw.ZAdd(s.Ctx, "score:", scores...)
	s.Raw.SAdd(s.Ctx, "group:go", members...)
	made, most, size := 0, int64(0), int64(0)
	step := func() {
		now := s.Raw.ZCard(s.Ctx, "score:go").Val() + s.Raw.ZCard(s.Ctx, "time:go").Val()
		made, most, size = made+1, max(most, now-size), now
	}
	reader := s.Reopened(s.Client(steps(step)), nil, repotest.One)
	s.Do("CONFIG RESETSTAT")
	wantIntersection(reader, "go", "score:", "time:")
	if made < 2*10 || made > 2*16 || most > 700 {
		t.Errorf("%d steps add up to %d articles, want about 500 in each", made, most)
	}
	if stats := fmt.Sprint(s.Do("INFO commandstats")); strings.Contains(stats, "cmdstat_zinterstore") {
		t.Errorf("one command built a listing: %s", stats)
	}
	for _, key := range []string{"score:go", "time:go"} {
		if left := s.Raw.PTTL(s.Ctx, key).Val(); left != -1 {
			t.Errorf("%s expires in %v, want never", key, left)
		}
	}
	made = 0
	wantIntersection(reader, "go", "score:", "time:")
	if other := s.Reopened(s.Client(steps(step)), nil, repotest.One); made != 0 {
		t.Errorf("%d more steps to read it again, want none", made)
	} else if wantIntersection(other, "go", "score:", "time:"); made != 0 {
		t.Errorf("%d more steps for another process, want none", made)
	}
	if n := s.Raw.ZScore(s.Ctx, "sizes:", "go").Val(); n != -articles {
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
			ctx, cancel := context.WithCancel(s.Ctx)
			builds, made := 0, 0
			another := stepReader(s, 1, func() {})
			reader := stepReader(s, 1, func() {
				made++
				for range random.IntN(4) {
					writeTo(s, random, "go", 160)
				}
				switch random.IntN(25) {
				case 0:
					cancel() // as if the process were killed
				case 1:
					s.WantClean()
					another.List(repotest.Best("go")) // completes it
				case 2: // a cursor of another server, after a failover
					marker := s.Raw.ZRange(s.Ctx, "score:go", 0, 0).Val()[0]
					if strings.HasPrefix(marker, "building:1:") {
						s.Raw.ZAdd(s.Ctx, "score:go", redis.Z{Score: s.Raw.ZScore(s.Ctx, "score:go", marker).Val(), Member: "building:1:123456789"})
						s.Raw.ZRem(s.Ctx, "score:go", marker)
					}
				}
			})
			for range 10 {
				s.Do("DEL score:go")
				for builds++; ; ctx, cancel = context.WithCancel(s.Ctx) {
					if _, err := reader.Lists.List(ctx, repotest.Best("go"), 1, nil); err == nil {
						break
					} else if ctx.Err() == nil {
						t.Fatalf("List: %v", err)
					}
				}
				wantIntersection(s, "go", "score:")
				s.WantClean()
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
func writeTo(s *repotest.Site, random *rand.Rand, group string, articles int) {
	s.T.Helper()
	id := site.ArticleID(1 + random.IntN(articles))
	var err error
	switch random.IntN(6) {
	case 0:
		_, err = s.Post(s.Ctx, "alice", s.Fresh(group))
	case 1, 2:
		_, err = s.Vote(s.Ctx, id, repotest.Users[random.IntN(len(repotest.Users))], site.Vote(random.IntN(3)-1), "")
	case 3:
		_, err = s.Regroup(s.Ctx, id, repotest.Moderator, []string{group}, nil)
	case 4:
		_, err = s.Regroup(s.Ctx, id, repotest.Moderator, nil, []string{group})
	case 5:
		if _, err = s.Delete(s.Ctx, id, repotest.Moderator, site.Why{}); err == nil && random.IntN(2) == 0 {
			_, err = s.Undelete(s.Ctx, id, repotest.Moderator)
		}
	}
	if refusal := (site.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
		s.T.Errorf("write to %v: %v", id, err)
	}
}

// Several processes build and write at the same time.
func TestListingIsBuiltByManyAtOnce(t *testing.T) { // with the race detector
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := withLargeGroup(t, 120*len(tags), len(tags))
		var made atomic.Int64
		for round := range 5 {
			for _, tag := range tags {
				s.Raw.Unlink(s.Ctx, tag+"score:go", tag+"time:go")
			}
			repotest.Together(8, func(i int) {
				if random := rand.New(rand.NewPCG(uint64(round), uint64(i))); i < 3 {
					for range 20 {
						writeTo(s, random, "go", 120*len(tags))
					}
					return
				}
				reader := stepReader(s, len(tags), func() { made.Add(1) })
				if _, err := reader.Lists.List(s.Ctx, repotest.Best("go"), 1, nil); err != nil {
					t.Errorf("List: %v", err)
				}
				if _, _, err := reader.Lists.Walk(s.Ctx, lists.InGroup("go", site.ByTime, site.Ascending), site.PageRequest{}); err != nil {
					t.Errorf("Walk: %v", err)
				}
			})
			s.WantClean()
		}
		if len(tags) == 1 {
			wantIntersection(s, "go", "score:", "time:")
		}
		if made.Load() < int64(5*10*len(tags)) { // the writers take some articles out of the group
			t.Errorf("%d steps, want at least 5 for each listing", made.Load())
		}
	})
}

// A listing that another process drops and builds again is never read as if it were complete, by no way of reading.
func TestIncompleteListingIsNeverRead(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := withLargeGroup(t, 60*len(tags), len(tags))
		reads := map[string]func(l lists.Listing) int{
			"List": func(l lists.Listing) int { return len(s.Whole(l)) },
			"Walk": func(l lists.Listing) int { return len(walkIDs(s, l, 7, false, 60*len(tags))) },
			"Last": func(l lists.Listing) int { return len(walkIDs(s, l, 7, true, 60*len(tags))) },
			"FirstArticles": func(l lists.Listing) int {
				articles, err := s.Lists.FirstArticles(s.Ctx, l, 100, []site.ArticleID{1})
				if err != nil || len(articles) < min(100, 60*len(tags)) {
					t.Errorf("FirstArticles = %d, %v", len(articles), err)
				}
				return 60 * len(tags)
			},
			"a deep page": func(l lists.Listing) int {
				ids, err := s.Lists.List(s.Ctx, l, 60*len(tags), new(1))
				if err != nil {
					t.Errorf("List: %v", err)
				}
				return 60*len(tags) - 1 + len(ids)
			},
		}
		for name, read := range reads {
			for _, order := range repotest.Orders {
				l := lists.InGroup("go", order, site.Descending)
				for range 2 { // by listing.lua, and by plain commands
					if got := read(l); got != 60*len(tags) {
						t.Errorf("%s in order %v = %d articles, want all %d", name, order, got, 60*len(tags))
					}
				}
				for _, tag := range tags {
					key := tag + map[site.Order]string{site.ByScore: "score:go", site.ByTime: "time:go"}[order]
					some := s.Raw.ZRange(s.Ctx, key, 0, 20).Val()
					s.Raw.ZRem(s.Ctx, key, some)
					s.Raw.ZAdd(s.Ctx, key, redis.Z{Score: math.Inf(-1), Member: "building:1:0"})
				}
				if got := read(l); got != 60*len(tags) {
					t.Errorf("%s in order %v while it is built again = %d articles, want all %d", name, order, got, 60*len(tags))
				}
			}
		}
		s.WantClean()
	})
}

// A listing is kept while its group is large.
func TestListingIsKeptWhileItsGroupIsLarge(t *testing.T) { // with the race detector
	t.Parallel()
	s := withLargeGroup(t, 40, 1)
	s.List(repotest.Best("go"))
	if left := s.TTL("score:go"); left <= 0 {
		t.Errorf("the listing of 40 articles expires in %v, want %v", left, s.Rules.GroupCacheTTL)
	}
	s.MustPost("alice", "go")
	s.Do("PEXPIRE score:go 30000") // more than a second since it was compared
	s.List(repotest.Best("go"))
	if left := s.Raw.PTTL(s.Ctx, "score:go").Val(); left != -1 {
		t.Errorf("the listing of 41 articles expires in %v, want never", left)
	}
	s.MustRegroup(s.Article(3), nil, []string{"go"})
	stepReader(s, 1, func() {}).List(repotest.Best("go")) // compares it
	if left := s.TTL("score:go"); left <= 0 || left > s.Rules.GroupCacheTTL {
		t.Errorf("the listing of 40 articles again expires in %v, want %v", left, s.Rules.GroupCacheTTL)
	}
	wantIntersection(s, "go", "score:")
}

// No command deletes the listing of a large group at once, even if all articles are ranked again.
func TestLargeListingIsDroppedInTheBackground(t *testing.T) {
	t.Parallel()
	s := withLargeGroup(t, 60, 1)
	s.List(repotest.Best("go"))
	s.Do("CONFIG RESETSTAT")
	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.VoteScore = 500 }, repotest.One, largeGroups)
	wantIntersection(s, "go", "score:")
	if stats := fmt.Sprint(s.Do("INFO commandstats")); !strings.Contains(stats, "cmdstat_unlink") || strings.Contains(stats, "cmdstat_del") || strings.Contains(stats, "cmdstat_zremrange") {
		t.Errorf("it was not dropped by UNLINK: %s", stats)
	}
}

// While Redis refuses writes, a listing that is kept is read, and a small one is computed.
func TestLargeGroupWhileRedisRefusesWrites(t *testing.T) { // with the race detector
	t.Parallel()
	s := withLargeGroup(t, 60, 1)
	s.List(repotest.Best("go"))
	want := s.Whole(repotest.Best("go"))
	s.Do("CONFIG SET maxmemory 1")
	defer s.Do("CONFIG SET maxmemory 0")
	if got := s.Whole(repotest.Best("go")); !slices.Equal(got, want) {
		t.Errorf("List = %v, want %v", got, want)
	}
	if _, err := s.Lists.List(s.Ctx, lists.InGroup("go", site.ByTime, site.Descending), 1, nil); !errors.Is(err, failover.ErrReadOnly) {
		t.Errorf("List of a listing that is not there: %v, want ErrReadOnly", err)
	}
}

// The store in memory keeps a sorted set without members, which Redis does not.
func TestGroupThatWasReadWhileEmptyShowsItsFirstArticleInMemory(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Embedded(t, nil, largeGroups)
	var want []site.ArticleID
	for range 45 { // more than a small group has, so that it is built in steps, too
		for _, order := range repotest.Orders {
			got := s.Whole(lists.InGroup("go", order, site.Ascending))
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("%d articles, want %v", got, want)
			}
		}
		want = append(want, s.MustPost("alice", "go").ID)
	}
	for _, id := range want {
		s.MustDelete(id, repotest.Moderator)
	}
	s.WantList(repotest.Best("go"))
	id := s.MustPost("alice", "go").ID
	s.WantList(repotest.Best("go"), id)
}
