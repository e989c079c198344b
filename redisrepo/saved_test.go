package redisrepo_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

func (s *testSite) save(user site.UserName, id site.ArticleID, saves bool) {
	s.t.Helper()
	require.NoError(s.t, s.Saved.SaveArticle(s.ctx, user, id, saves))
}

// wantSaved compares the articles that a user has saved, read in pages.
func (s *testSite) wantSaved(user site.UserName, size int, want ...site.ArticleID) {
	s.t.Helper()
	var ids []site.ArticleID
	for after := (*string)(nil); ; {
		page, info, err := s.Saved.SavedArticles(s.ctx, user, &size, after)
		require.NoError(s.t, err)
		for _, a := range page {
			ids = append(ids, a.ID)
		}
		if info.HasPreviousPage != (after != nil) || info.HasNextPage != (len(ids) < len(want)) {
			s.t.Errorf("after %d articles: %+v", len(ids), info)
		}
		if after = info.EndCursor; !info.HasNextPage {
			break
		}
	}
	if !slices.Equal(ids, want) {
		s.t.Errorf("%s has saved %v, want %v", user, ids, want)
	}
}

func group(name site.GroupName) saved.Target { return saved.Target{Group: name} }
func user(name site.UserName) saved.Target   { return saved.Target{User: name} }

func (s *testSite) follows(by site.UserName, t saved.Target, follows bool) {
	s.t.Helper()
	require.NoError(s.t, s.Saved.FollowTarget(s.ctx, by, t, follows))
}

// wantFollowing compares what a user follows, the latest first.
func (s *testSite) wantFollowing(by site.UserName, want string) {
	s.t.Helper()
	var members []string
	for _, f := range require.Value(s.Saved.Following(s.ctx, by))(s.t) {
		members = append(members, f.Member())
	}
	if got := strings.Join(members, " "); got != want {
		s.t.Errorf("%s follows %q, want %q", by, got, want)
	}
}

func TestUsersSaveArticles(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := newSite(t, nil, partitions)
		s = s.reopened(s.client(twice(true)), nil, partitions) // each call is repeated, and has the second reply
		for _, id := range []site.ArticleID{5, 3, 9, 12, 4} {  // within a second
			s.save("alice", id, true)
		}
		s.clock.advance(time.Minute)
		s.save("alice", 3, true) // already
		s.save("alice", 7, true)
		s.save("alice", 9, false)
		s.save("alice", 99, false) // not saved
		s.save("bob", 4, true)
		for size := 1; size < 7; size++ {
			s.wantSaved("alice", size, 7, 4, 12, 3, 5)
		}
		s.wantSaved("bob", 10, 4)
		s.wantSaved("carol", 10)
		page, _, err := s.Saved.SavedArticles(s.ctx, "alice", nil, nil)
		require.NoError(t, err)
		if at := page[0].At; !at.Equal(opened.Add(time.Minute)) || !page[4].At.Equal(opened) || page[3].At.Sub(opened) > 10*time.Millisecond {
			t.Errorf("saved at %v, %v and %v", at, page[3].At, page[4].At)
		}
		if got := fmt.Sprint(require.Value(s.Saved.HasSaved(s.ctx, "alice", []site.ArticleID{3, 9, 7, 99}))(t), require.Value(s.Saved.HasSaved(s.ctx, "bob", []site.ArticleID{3, 4}))(t)); got != "[true false true false] [false true]" {
			t.Errorf("HasSaved = %s", got)
		}
		s.clock.set(-time.Hour) // a clock that goes back changes no order
		s.save("alice", 8, true)
		s.wantSaved("alice", 2, 8, 7, 4, 12, 3, 5)
		for _, after := range []string{"x", page[0].Cursor + "x", page[0].Cursor[1:]} {
			_, _, err := s.Saved.SavedArticles(s.ctx, "alice", nil, &after)
			wantRefused(t, err, "INVALID after")
		}
		_, _, err = s.Saved.SavedArticles(s.ctx, "bob", nil, &page[0].Cursor)
		wantRefused(t, err, "INVALID after")
		nan := site.EncodeCursor("saved user:alice", "NaN")
		_, _, err = s.Saved.SavedArticles(s.ctx, "alice", nil, &nan)
		wantRefused(t, err, "INVALID after")
		for _, size := range []int{0, 101} {
			_, _, err = s.Saved.SavedArticles(s.ctx, "alice", &size, nil)
			wantRefused(t, err, "INVALID first")
		}
		s.wantClean()
	})
}

func TestUsersFollowGroupsAndUsers(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := newSite(t, nil, partitions)
		s = s.reopened(s.client(twice(true)), nil, partitions)
		s.follows("alice", group("go"), true)
		s.follows("alice", user("bob"), true)
		s.follows("alice", user("go"), true)
		s.clock.advance(time.Minute)
		s.follows("alice", group("go"), true) // already
		s.follows("alice", group("lua"), true)
		s.follows("alice", user("bob"), false)
		s.follows("alice", user("bob"), false)
		s.wantFollowing("alice", "group:lua user:go group:go")
		s.wantFollowing("bob", "")
		targets := []saved.Target{user("go"), group("go"), user("bob"), group("bob")}
		if got := fmt.Sprint(require.Value(s.Saved.Follows(s.ctx, "alice", targets))(t), require.Value(s.Saved.Follows(s.ctx, "bob", targets[:1]))(t)); got != "[true true false false] [false]" {
			t.Errorf("Follows = %s", got)
		}
		if at := require.Value(s.Saved.Following(s.ctx, "alice"))(t)[0].At; !at.Equal(opened.Add(time.Minute)) {
			t.Errorf("followed at %v", at)
		}
		s.wantClean()
	})
}

// Of many calls at the same time as many succeed as there is room for, whatever else the user does.
func TestListsOfUsersAreBounded(t *testing.T) { // with the race detector
	t.Parallel()
	s := newSite(t, nil)
	for _, tt := range []struct {
		most    int
		refused string
		call    func(i int, keeps bool) error
	}{
		{saved.MaxSaved, "LIMIT_EXCEEDED article", func(i int, keeps bool) error {
			return s.Saved.SaveArticle(s.ctx, "alice", site.ArticleID(i+1), keeps)
		}},
		{saved.MaxFollowed, "LIMIT_EXCEEDED target", func(i int, keeps bool) error {
			return s.Saved.FollowTarget(s.ctx, "alice", user(site.UserName(fmt.Sprint("u", i))), keeps)
		}},
	} {
		for i := range tt.most - 10 {
			require.NoError(t, tt.call(i, true))
		}
		var kept, refused atomic.Int64
		together(60, func(i int) {
			for range 3 { // retries
				var refusal site.Refusal
				switch err := tt.call(tt.most+i/2, true); { // two want the same
				case err == nil:
					kept.Add(1)
				case errors.As(err, &refusal):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
		if kept.Load() != 10*2*3 || refused.Load() != 20*2*3 {
			t.Errorf("%d calls succeeded and %d were refused, want 60 and 120", kept.Load(), refused.Load())
		}
		wantRefused(t, tt.call(5000, true), tt.refused)
		require.NoError(t, tt.call(3, true)) // already
		require.NoError(t, tt.call(3, false))
		require.NoError(t, tt.call(5000, true))
		wantRefused(t, tt.call(3, true), tt.refused)
	}
	if n := len(require.Value(s.Saved.Following(s.ctx, "alice"))(t)); n != saved.MaxFollowed {
		t.Errorf("%d are followed, want %d", n, saved.MaxFollowed)
	}
}

// Users who save and drop at the same time end with what each did last, and never see what others keep.
func TestUsersKeepListsAtTheSameTime(t *testing.T) { // with the race detector
	t.Parallel()
	s := newSite(t, nil)
	others := []*testSite{s, s.reopened(s.client(twice(false)), nil), s.reopened(s.client(twice(true)), nil)}
	together(48, func(i int) {
		name, other := site.UserName(fmt.Sprint("user", i%12)), others[i%3]
		for n := range 40 {
			id := site.ArticleID(1 + i/12*40 + n) // each goroutine of a user has articles of its own
			for _, saves := range []bool{true, n%3 == 0, n%3 == 0} {
				if err := other.Saved.SaveArticle(s.ctx, name, id, saves); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 12 {
		name := site.UserName(fmt.Sprint("user", i))
		has := require.Value(s.Saved.HasSaved(s.ctx, name, firstIDs(160)))(t)
		for n, saves := range has {
			if saves != (n%40%3 == 0) {
				t.Errorf("%s: article %d is saved: %t", name, n+1, saves)
			}
		}
		if page, _, err := s.Saved.SavedArticles(s.ctx, name, new(100), nil); err != nil || len(page) != 4*14 {
			t.Errorf("%s has saved %d articles, %v, want %d", name, len(page), err, 4*14)
		}
	}
}

func firstIDs(n int) (ids []site.ArticleID) {
	for i := range n {
		ids = append(ids, site.ArticleID(i+1))
	}
	return ids
}

// feedOracle returns all articles in followed groups or by followed users, the newest first.
func (s *testSite) feedOracle(by site.UserName) (ids []site.ArticleID) {
	s.t.Helper()
	followed := map[string]bool{}
	for _, f := range require.Value(s.Saved.Following(s.ctx, by))(s.t) {
		followed[f.Member()] = true
	}
	for _, id := range s.whole(lists.AllArticles(site.ByTime, site.Descending)) {
		a := s.article(id)
		in := followed[a.Poster.Name.Member()]
		for _, name := range a.Groups {
			in = in || followed[site.GroupPrefix+string(name)]
		}
		if a.IsInteresting {
			in = in || followed["group:interesting"]
		}
		if in {
			ids = append(ids, id)
		}
	}
	return ids
}

// feed returns the pages of a user's feed. between is called after each page, if it is not nil.
func (s *testSite) feed(by site.UserName, size int, between func()) (ids []site.ArticleID) {
	s.t.Helper()
	for after := (*string)(nil); ; {
		page, info, _, err := s.Saved.Feed(s.ctx, by, &size, after)
		require.NoError(s.t, err)
		for _, edge := range page {
			ids = append(ids, edge.ID)
		}
		if len(page) > size || info.HasPreviousPage != (after != nil) || info.HasNextPage && len(page) < size {
			s.t.Fatalf("%d articles: %+v", len(page), info)
		}
		if after = info.EndCursor; !info.HasNextPage {
			return ids
		}
		if between != nil {
			between()
		}
	}
}

// A feed has what the oracle says, in pages of any size, whatever was posted, regrouped, deleted and restored, and however its
// listings are built.
func TestFeedMatchesTheOracle(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 3 }, redisrepo.WithPartitions(len(tags)), redisrepo.WithLargeGroups(8, 5))
		random := rand.New(rand.NewPCG(7, uint64(len(tags))))
		groups := []string{"a", "b", "c", "d", "e", "interesting", "empty"}
		users := []site.UserName{"u1", "u2", "u3", "u4"}
		var articles []*site.Article
		for step := range programtest.Size(300, 1500) {
			switch random.IntN(10) {
			case 0, 1, 2, 3:
				var in []string
				for _, name := range groups[:5] {
					if random.IntN(4) == 0 {
						in = append(in, name)
					}
				}
				articles = append(articles, s.post(users[random.IntN(4)], in...))
			case 4:
				s.clock.advance(time.Duration(random.IntN(3)) * time.Second) // many have the same time
			case 5:
				if len(articles) > 0 {
					i := random.IntN(len(articles))
					if a, err := s.Regroup(s.ctx, articles[i].ID, moderator, []string{groups[random.IntN(5)]}, []string{groups[random.IntN(5)]}); err == nil {
						articles[i] = a
					}
				}
			case 6:
				if len(articles) > 0 {
					id := articles[random.IntN(len(articles))].ID
					if _, err := s.Delete(s.ctx, id, moderator, site.Why{}); err == nil && random.IntN(2) == 0 {
						s.undelete(id)
					}
				}
			case 7:
				if len(articles) > 0 {
					_, _ = s.Vote(s.ctx, articles[random.IntN(len(articles))].ID, users[random.IntN(4)], up, "")
				}
			case 8:
				s.follows("reader", []saved.Target{group(site.GroupName(groups[random.IntN(len(groups))])), user(users[random.IntN(4)])}[random.IntN(2)], random.IntN(3) > 0)
			case 9:
				if random.IntN(3) == 0 {
					for _, p := range s.Store.Partitions {
						s.do("DEL", p.Listing(site.ByTime, site.GroupName(groups[random.IntN(6)]))) // as if it had expired
					}
				}
			}
			if step%5 != 0 {
				continue
			}
			want := s.feedOracle("reader")
			if got := s.feed("reader", 1+random.IntN(12), nil); !slices.Equal(got, want) {
				t.Fatalf("step %d: the feed is\n%v, want\n%v", step, got, want)
			}
		}
		if n := len(s.feedOracle("reader")); n < 10 {
			t.Errorf("the feed has %d articles in the end, which is too few for this test", n)
		}
		s.wantClean()
	})
}

// Pages skip nothing and repeat nothing while articles are posted, and others' feeds have nothing of it.
func TestFeedIsPagedWhileArticlesArrive(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		s.follows("reader", group("go"), true)
		s.follows("reader", user("alice"), true)
		var want []site.ArticleID
		for i := range 30 {
			id := s.post([]site.UserName{"alice", "bob", "carol"}[i%3], []string{"go", "lua"}[i%2]).ID
			if i%3 == 0 || i%2 == 0 {
				want = append([]site.ArticleID{id}, want...)
			}
			s.clock.advance(time.Second)
		}
		if got := s.feed("reader", 3, func() { s.post("alice", "go"); s.clock.advance(time.Second) }); !slices.Equal(got, want) {
			t.Errorf("the feed is %v, want %v", got, want)
		}
		if got := s.feed("other", 3, nil); got != nil {
			t.Errorf("the feed of a user who follows nothing is %v", got)
		}
		_, info, looked, err := s.Saved.Feed(s.ctx, "reader", new(5), nil)
		if require.NoError(t, err); looked == 0 || !info.HasNextPage {
			t.Errorf("looked at %d, %+v", looked, info)
		}
		_, _, _, err = s.Saved.Feed(s.ctx, "other", new(5), info.EndCursor)
		wantRefused(t, err, "INVALID after")
		_, _, _, err = s.Saved.Feed(s.ctx, "reader", new(0), nil)
		wantRefused(t, err, "INVALID first")
	})
}

// While Redis refuses writes, a feed is what it was: the listings of small groups are computed.
func TestFeedWhileRedisRefusesWrites(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for i := range 20 {
		s.post("alice", []string{"go", "lua", "c"}[i%3])
		s.clock.advance(time.Second)
	}
	s.follows("reader", group("go"), true)
	s.follows("reader", group("lua"), true)
	s.do("CONFIG SET maxmemory 1")
	defer s.do("CONFIG SET maxmemory 0")
	if got, want := s.feed("reader", 3, nil), s.feedOracle("reader"); !slices.Equal(got, want) || len(got) != 14 {
		t.Errorf("the feed is %v, want %v", got, want)
	}
	if err := s.Saved.SaveArticle(s.ctx, "alice", 1, true); !errors.Is(err, failover.ErrReadOnly) {
		t.Errorf("saving: %v, want ErrReadOnly", err)
	}
}

// A feed whose listings exist takes three round trips: what the user follows, the first articles of all that, and more of those that
// have most of the page.
func TestFeedTakesThreeRoundTrips(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		var trips atomic.Int64
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		for i := range 30 {
			s.post(site.UserName(fmt.Sprint("u", i%5)), fmt.Sprint("g", i%20))
			s.follows("reader", group(site.GroupName(fmt.Sprint("g", i))), true)
			s.follows("reader", user(site.UserName(fmt.Sprint("u", i))), true)
		}
		s.feed("reader", 50, nil)
		other := s.reopened(s.client(redistest.Before(func(...redis.Cmder) { trips.Add(1) })), nil, redisrepo.WithPartitions(len(tags)))
		trips.Store(0)
		if page, _, _, err := other.Saved.Feed(s.ctx, "reader", new(25), nil); err != nil || len(page) != 25 || trips.Load() != 3 {
			t.Errorf("%d articles in %d round trips, %v, want 25 in 3", len(page), trips.Load(), err)
		}
	})
}

// The store in memory keeps a sorted set without members, which Redis does not.
func TestFeedOfAGroupThatWasReadWhileEmptyInMemory(t *testing.T) {
	t.Parallel()
	s := embedded(t, nil, largeGroups)
	s.follows("reader", group("go"), true)
	s.list(lists.InGroup("go", site.ByTime, site.Descending))
	var want []site.ArticleID
	for range 45 { // more than a small group has
		if got := s.feed("reader", 20, nil); !slices.Equal(got, want) {
			t.Fatalf("the feed is %v, want %v", got, want)
		}
		want = append([]site.ArticleID{s.post("alice", "go").ID}, want...)
		s.clock.advance(time.Second)
	}
	for _, id := range want {
		s.delete(id, moderator)
	}
	if got := s.feed("reader", 20, nil); got != nil {
		t.Errorf("the feed is %v, want nothing", got)
	}
	id := s.post("alice", "go").ID
	if got := s.feed("reader", 20, nil); !slices.Equal(got, []site.ArticleID{id}) {
		t.Errorf("the feed is %v, want %v", got, id)
	}
}
