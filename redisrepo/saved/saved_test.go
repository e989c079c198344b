package saved_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// wantSaved compares the articles that a user has saved, read in pages.
func wantSaved(s *repotest.Site, user site.UserName, size int, want ...site.ArticleID) {
	s.T.Helper()
	var ids []site.ArticleID
	for after := (*string)(nil); ; {
		page, info, err := s.Saved.SavedArticles(s.Ctx, user, &size, after)
		require.NoError(s.T, err)
		for _, a := range page {
			ids = append(ids, a.ID)
		}
		if info.HasPreviousPage != (after != nil) || info.HasNextPage != (len(ids) < len(want)) {
			s.T.Errorf("after %d articles: %+v", len(ids), info)
		}
		if after = info.EndCursor; !info.HasNextPage {
			break
		}
	}
	if !slices.Equal(ids, want) {
		s.T.Errorf("%s has saved %v, want %v", user, ids, want)
	}
}

func group(name site.GroupName) saved.Target { return saved.Target{Group: name} }
func user(name site.UserName) saved.Target   { return saved.Target{User: name} }

func TestUsersSaveArticles(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, nil, partitions)
		s = s.Reopened(s.Client(repotest.Twice(true)), nil, partitions) // each call is repeated, and has the second reply
		for _, id := range []site.ArticleID{5, 3, 9, 12, 4} {           // within a second
			s.MustSave("alice", id, true)
		}
		s.Clock.Advance(time.Minute)
		s.MustSave("alice", 3, true) // already
		s.MustSave("alice", 7, true)
		s.MustSave("alice", 9, false)
		s.MustSave("alice", 99, false) // not saved
		s.MustSave("bob", 4, true)
		for size := 1; size < 7; size++ {
			wantSaved(s, "alice", size, 7, 4, 12, 3, 5)
		}
		wantSaved(s, "bob", 10, 4)
		wantSaved(s, "carol", 10)
		page, _, err := s.Saved.SavedArticles(s.Ctx, "alice", nil, nil)
		require.NoError(t, err)
		if at := page[0].At; !at.Equal(repotest.Opened.Add(time.Minute)) || !page[4].At.Equal(repotest.Opened) || page[3].At.Sub(repotest.Opened) > 10*time.Millisecond {
			t.Errorf("saved at %v, %v and %v", at, page[3].At, page[4].At)
		}
		if got := fmt.Sprint(require.Value(s.Saved.HasSaved(s.Ctx, "alice", []site.ArticleID{3, 9, 7, 99}))(t), require.Value(s.Saved.HasSaved(s.Ctx, "bob", []site.ArticleID{3, 4}))(t)); got != "[true false true false] [false true]" {
			t.Errorf("HasSaved = %s", got)
		}
		s.Clock.Set(-time.Hour) // a clock that goes back changes no order
		s.MustSave("alice", 8, true)
		wantSaved(s, "alice", 2, 8, 7, 4, 12, 3, 5)
		for _, after := range []string{"x", page[0].Cursor + "x", page[0].Cursor[1:]} {
			_, _, err := s.Saved.SavedArticles(s.Ctx, "alice", nil, &after)
			repotest.WantRefused(t, err, "INVALID after")
		}
		_, _, err = s.Saved.SavedArticles(s.Ctx, "bob", nil, &page[0].Cursor)
		repotest.WantRefused(t, err, "INVALID after")
		nan := site.EncodeCursor("saved user:alice", "NaN")
		_, _, err = s.Saved.SavedArticles(s.Ctx, "alice", nil, &nan)
		repotest.WantRefused(t, err, "INVALID after")
		for _, size := range []int{0, 101} {
			_, _, err = s.Saved.SavedArticles(s.Ctx, "alice", &size, nil)
			repotest.WantRefused(t, err, "INVALID first")
		}
		s.WantClean()
	})
}

func TestUsersFollowGroupsAndUsers(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, nil, partitions)
		s = s.Reopened(s.Client(repotest.Twice(true)), nil, partitions)
		s.MustFollow("alice", group("go"), true)
		s.MustFollow("alice", user("bob"), true)
		s.MustFollow("alice", user("go"), true)
		s.Clock.Advance(time.Minute)
		s.MustFollow("alice", group("go"), true) // already
		s.MustFollow("alice", group("lua"), true)
		s.MustFollow("alice", user("bob"), false)
		s.MustFollow("alice", user("bob"), false)
		s.WantFollowing("alice", "group:lua user:go group:go")
		s.WantFollowing("bob", "")
		targets := []saved.Target{user("go"), group("go"), user("bob"), group("bob")}
		if got := fmt.Sprint(require.Value(s.Saved.Follows(s.Ctx, "alice", targets))(t), require.Value(s.Saved.Follows(s.Ctx, "bob", targets[:1]))(t)); got != "[true true false false] [false]" {
			t.Errorf("Follows = %s", got)
		}
		if at := require.Value(s.Saved.Following(s.Ctx, "alice"))(t)[0].At; !at.Equal(repotest.Opened.Add(time.Minute)) {
			t.Errorf("followed at %v", at)
		}
		s.WantClean()
	})
}

// Of many calls at the same time as many succeed as there is room for, whatever else the user does.
func TestListsOfUsersAreBounded(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil)
	for _, tt := range []struct {
		most    int
		refused string
		call    func(i int, keeps bool) error
	}{
		{saved.MaxSaved, "LIMIT_EXCEEDED article", func(i int, keeps bool) error {
			return s.Saved.SaveArticle(s.Ctx, "alice", site.ArticleID(i+1), keeps)
		}},
		{saved.MaxFollowed, "LIMIT_EXCEEDED target", func(i int, keeps bool) error {
			return s.Saved.FollowTarget(s.Ctx, "alice", user(site.UserName(fmt.Sprint("u", i))), keeps)
		}},
	} {
		for i := range tt.most - 10 {
			require.NoError(t, tt.call(i, true))
		}
		var kept, refused atomic.Int64
		repotest.Together(60, func(i int) {
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
		repotest.WantRefused(t, tt.call(5000, true), tt.refused)
		require.NoError(t, tt.call(3, true)) // already
		require.NoError(t, tt.call(3, false))
		require.NoError(t, tt.call(5000, true))
		repotest.WantRefused(t, tt.call(3, true), tt.refused)
	}
	if n := len(require.Value(s.Saved.Following(s.Ctx, "alice"))(t)); n != saved.MaxFollowed {
		t.Errorf("%d are followed, want %d", n, saved.MaxFollowed)
	}
}

// Users who save and drop at the same time end with what each did last, and never see what others keep.
func TestUsersKeepListsAtTheSameTime(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil)
	others := []*repotest.Site{s, s.Reopened(s.Client(repotest.Twice(false)), nil), s.Reopened(s.Client(repotest.Twice(true)), nil)}
	repotest.Together(48, func(i int) {
		name, other := site.UserName(fmt.Sprint("user", i%12)), others[i%3]
		for n := range 40 {
			id := site.ArticleID(1 + i/12*40 + n) // each goroutine of a user has articles of its own
			for _, saves := range []bool{true, n%3 == 0, n%3 == 0} {
				if err := other.Saved.SaveArticle(s.Ctx, name, id, saves); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 12 {
		name := site.UserName(fmt.Sprint("user", i))
		has := require.Value(s.Saved.HasSaved(s.Ctx, name, firstIDs(160)))(t)
		for n, saves := range has {
			if saves != (n%40%3 == 0) {
				t.Errorf("%s: article %d is saved: %t", name, n+1, saves)
			}
		}
		if page, _, err := s.Saved.SavedArticles(s.Ctx, name, new(100), nil); err != nil || len(page) != 4*14 {
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
func feedOracle(s *repotest.Site, by site.UserName) (ids []site.ArticleID) {
	s.T.Helper()
	followed := map[string]bool{}
	for _, f := range require.Value(s.Saved.Following(s.Ctx, by))(s.T) {
		followed[f.Member()] = true
	}
	for _, id := range s.Whole(lists.AllArticles(site.ByTime, site.Descending)) {
		a := s.Article(id)
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

// pagedFeed returns the pages of a user's feed. between is called after each page, if it is not nil.
func pagedFeed(s *repotest.Site, by site.UserName, size int, between func()) (ids []site.ArticleID) {
	s.T.Helper()
	for after := (*string)(nil); ; {
		page, info, _, err := s.Saved.Feed(s.Ctx, by, &size, after)
		require.NoError(s.T, err)
		for _, edge := range page {
			ids = append(ids, edge.ID)
		}
		if len(page) > size || info.HasPreviousPage != (after != nil) || info.HasNextPage && len(page) < size {
			s.T.Fatalf("%d articles: %+v", len(page), info)
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
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 3 }, redisrepo.WithPartitions(len(tags)), redisrepo.WithLargeGroups(8, 5))
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
				articles = append(articles, s.MustPost(users[random.IntN(4)], in...))
			case 4:
				s.Clock.Advance(time.Duration(random.IntN(3)) * time.Second) // many have the same time
			case 5:
				if len(articles) > 0 {
					i := random.IntN(len(articles))
					if a, err := s.Regroup(s.Ctx, articles[i].ID, repotest.Moderator, []string{groups[random.IntN(5)]}, []string{groups[random.IntN(5)]}); err == nil {
						articles[i] = a
					}
				}
			case 6:
				if len(articles) > 0 {
					id := articles[random.IntN(len(articles))].ID
					if _, err := s.Delete(s.Ctx, id, repotest.Moderator, site.Why{}); err == nil && random.IntN(2) == 0 {
						s.MustUndelete(id)
					}
				}
			case 7:
				if len(articles) > 0 {
					_, _ = s.Vote(s.Ctx, articles[random.IntN(len(articles))].ID, users[random.IntN(4)], site.Up, "")
				}
			case 8:
				s.MustFollow("reader", []saved.Target{group(site.GroupName(groups[random.IntN(len(groups))])), user(users[random.IntN(4)])}[random.IntN(2)], random.IntN(3) > 0)
			case 9:
				if random.IntN(3) == 0 {
					for _, p := range s.Store.Partitions {
						s.Do("DEL", p.Listing(site.ByTime, site.GroupName(groups[random.IntN(6)]))) // as if it had expired
					}
				}
			}
			if step%5 != 0 {
				continue
			}
			want := feedOracle(s, "reader")
			if got := pagedFeed(s, "reader", 1+random.IntN(12), nil); !slices.Equal(got, want) {
				t.Fatalf("step %d: the feed is\n%v, want\n%v", step, got, want)
			}
		}
		if n := len(feedOracle(s, "reader")); n < 10 {
			t.Errorf("the feed has %d articles in the end, which is too few for this test", n)
		}
		s.WantClean()
	})
}

// Pages skip nothing and repeat nothing while articles are posted, and others' feeds have nothing of it.
func TestFeedIsPagedWhileArticlesArrive(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		s.MustFollow("reader", group("go"), true)
		s.MustFollow("reader", user("alice"), true)
		var want []site.ArticleID
		for i := range 30 {
			id := s.MustPost([]site.UserName{"alice", "bob", "carol"}[i%3], []string{"go", "lua"}[i%2]).ID
			if i%3 == 0 || i%2 == 0 {
				want = append([]site.ArticleID{id}, want...)
			}
			s.Clock.Advance(time.Second)
		}
		if got := pagedFeed(s, "reader", 3, func() { s.MustPost("alice", "go"); s.Clock.Advance(time.Second) }); !slices.Equal(got, want) {
			t.Errorf("the feed is %v, want %v", got, want)
		}
		if got := pagedFeed(s, "other", 3, nil); got != nil {
			t.Errorf("the feed of a user who follows nothing is %v", got)
		}
		_, info, looked, err := s.Saved.Feed(s.Ctx, "reader", new(5), nil)
		if require.NoError(t, err); looked == 0 || !info.HasNextPage {
			t.Errorf("looked at %d, %+v", looked, info)
		}
		_, _, _, err = s.Saved.Feed(s.Ctx, "other", new(5), info.EndCursor)
		repotest.WantRefused(t, err, "INVALID after")
		_, _, _, err = s.Saved.Feed(s.Ctx, "reader", new(0), nil)
		repotest.WantRefused(t, err, "INVALID first")
	})
}

// While Redis refuses writes, a feed is what it was: the listings of small groups are computed.
func TestFeedWhileRedisRefusesWrites(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	for i := range 20 {
		s.MustPost("alice", []string{"go", "lua", "c"}[i%3])
		s.Clock.Advance(time.Second)
	}
	s.MustFollow("reader", group("go"), true)
	s.MustFollow("reader", group("lua"), true)
	s.Do("CONFIG SET maxmemory 1")
	defer s.Do("CONFIG SET maxmemory 0")
	if got, want := pagedFeed(s, "reader", 3, nil), feedOracle(s, "reader"); !slices.Equal(got, want) || len(got) != 14 {
		t.Errorf("the feed is %v, want %v", got, want)
	}
	if err := s.Saved.SaveArticle(s.Ctx, "alice", 1, true); !errors.Is(err, failover.ErrReadOnly) {
		t.Errorf("saving: %v, want ErrReadOnly", err)
	}
}

// A feed whose listings exist takes three round trips: what the user follows, the first articles of all that, and more of those that
// have most of the page.
func TestFeedTakesThreeRoundTrips(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		var trips atomic.Int64
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		for i := range 30 {
			s.MustPost(site.UserName(fmt.Sprint("u", i%5)), fmt.Sprint("g", i%20))
			s.MustFollow("reader", group(site.GroupName(fmt.Sprint("g", i))), true)
			s.MustFollow("reader", user(site.UserName(fmt.Sprint("u", i))), true)
		}
		pagedFeed(s, "reader", 50, nil)
		other := s.Reopened(s.Client(redistest.Before(func(...redis.Cmder) { trips.Add(1) })), nil, redisrepo.WithPartitions(len(tags)))
		trips.Store(0)
		if page, _, _, err := other.Saved.Feed(s.Ctx, "reader", new(25), nil); err != nil || len(page) != 25 || trips.Load() != 3 {
			t.Errorf("%d articles in %d round trips, %v, want 25 in 3", len(page), trips.Load(), err)
		}
	})
}

// The store in memory keeps a sorted set without members, which Redis does not.
func TestFeedOfAGroupThatWasReadWhileEmptyInMemory(t *testing.T) {
	t.Parallel()
	s := repotest.Embedded(t, nil, redisrepo.WithLargeGroups(40, 10))
	s.MustFollow("reader", group("go"), true)
	s.List(lists.InGroup("go", site.ByTime, site.Descending))
	var want []site.ArticleID
	for range 45 { // more than a small group has
		if got := pagedFeed(s, "reader", 20, nil); !slices.Equal(got, want) {
			t.Fatalf("the feed is %v, want %v", got, want)
		}
		want = append([]site.ArticleID{s.MustPost("alice", "go").ID}, want...)
		s.Clock.Advance(time.Second)
	}
	for _, id := range want {
		s.MustDelete(id, repotest.Moderator)
	}
	if got := pagedFeed(s, "reader", 20, nil); got != nil {
		t.Errorf("the feed is %v, want nothing", got)
	}
	id := s.MustPost("alice", "go").ID
	if got := pagedFeed(s, "reader", 20, nil); !slices.Equal(got, []site.ArticleID{id}) {
		t.Errorf("the feed is %v, want %v", got, id)
	}
}
