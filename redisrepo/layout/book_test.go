package layout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// bookList is the first page of get_articles, and bookGroup that of get_group_articles.
func bookList(s *repotest.Site, order string) []string {
	s.T.Helper()
	members := s.Raw.ZRangeArgs(s.Ctx, redis.ZRangeArgs{Key: order, Start: 0, Stop: 24, Rev: true}).Val()
	for i, member := range members {
		members[i] = fmt.Sprintf("%s %s votes", member, s.Do("HGET", member, "votes"))
	}
	return members
}

func bookGroup(s *repotest.Site, group, order string) []string {
	s.T.Helper()
	if key := order + group; s.Do("EXISTS", key) == int64(0) {
		s.Do("ZINTERSTORE", key, 2, "group:"+group, order, "AGGREGATE", "MAX")
		s.Do("EXPIRE", key, 60)
	}
	return bookList(s, order+group)
}

// byBook opens a site whose store only programs of the book have used: article:1 of user:alice, in the groups go and
// programming, with a vote of user:bob.
func byBook(t *testing.T, change func(*site.Rules)) *repotest.Site {
	t.Helper()
	s := repotest.New(t, change, repotest.One)
	s.Do("DEL meta:")
	id := repotest.BookPost(s, "user:alice")
	repotest.BookVote(s, "user:bob", id)
	repotest.BookRegroup(s, id, []string{"programming", "go", "Ruby", "Not a Name"}, nil)
	return s
}

// wantAdopted compares an article that programs of the book have written with what is known of it.
func wantAdopted(s *repotest.Site, id site.ArticleID, poster site.UserName, votes int, groups ...site.GroupName) {
	s.T.Helper()
	a := s.Article(id)
	if a.Title != "A title" || *a.Link != "http://book.example" || a.Poster.Name != poster || a.Votes != votes || !slices.Equal(a.Groups, groups) || a.CreatedAt.Nanosecond() != 0 {
		s.T.Errorf("%v = %s, want one of %s with %d votes in %v, posted at a whole second", id, repotest.Show(a), poster, votes, groups)
	}
	for _, l := range []lists.Listing{lists.AllArticles(site.ByTime, site.Descending), lists.PostedBy(poster), lists.LinkingTo("book.example")} {
		if !slices.Contains(s.List(l), id) {
			s.T.Errorf("%v is not in the list %+v", id, l)
		}
	}
	for _, group := range groups {
		if !slices.Contains(s.List(repotest.Best(group)), id) {
			s.T.Errorf("%v is not in the list of %s", id, group)
		}
	}
	if got := s.Ranking(rankings.RankQuery{}); !strings.Contains(got, id.String()) {
		s.T.Errorf("the ranking is %s, want %v in it", got, id)
	}
}

func TestStartTakesOverAStoreOfTheBook(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]func(*site.Rules){
		"": nil, "other scores": func(r *site.Rules) { r.Ranking, r.HalfLife = site.HalfLifeRanking, time.Hour },
		"interesting": func(r *site.Rules) { r.InterestingVotes = 2 }, "nothing more": repotest.NoFeatures,
		"groups' calendars": func(r *site.Rules) { r.GroupTop = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := byBook(t, rules)
			s.Do("HSET article:2 link http://book.example time", repotest.Opened.Unix(), "title", "A title")
			s.Do("ZADD time:", repotest.Opened.Unix(), "article:2")
			s.Do("ZADD score:", repotest.Opened.Unix(), "article:2")
			s.Do("INCR article:")
			s = s.Reopened(s.Server.Client, nil)
			s.WantCounts("go 1", "programming 1")
			if s.Rules.Calendar {
				wantAdopted(s, 1, "alice", 2, "go", "programming")
				wantAdopted(s, 2, "", 0)
			}
			if got := s.Positions("alice", 1) + s.Positions("bob", 1) + s.Positions("carol", 1); got != "++0" {
				t.Errorf("the positions of alice, bob and carol are %s, want ++0", got)
			}
			s.WantList(repotest.Best(site.Interesting), map[bool][]site.ArticleID{true: {1}}[name == "interesting"]...)
			s.WantNewest("http://book.example", 2)
			s.WantClean()
			before := s.Dump()
			s = s.Reopened(s.Server.Client, nil)
			s.WantStore(before, "after the second start,")
			if n := require.Value(s.Layout.Adopt(s.Ctx))(t); n != 0 {
				t.Errorf("%d more articles were taken over, want none", n)
			}
			s.WantStore(before, "after taking over nothing,")
			s.MustVote(1, "carol", site.Down)
			s.MustRegroup(s.Article(1), []string{"new"}, []string{"go"})
			s.WantClean()
		})
	}
}

// The first start may be interrupted, and several processes may start at once.
func TestTakingOverGoesOnAfterInterruptions(t *testing.T) {
	t.Parallel()
	book := func() *repotest.Site {
		s := byBook(t, nil)
		for i := range 250 {
			id := repotest.BookPost(s, "user:zoe")
			repotest.BookRegroup(s, id, []string{fmt.Sprint("g", i%9)}, nil)
			repotest.BookVote(s, fmt.Sprint("user:", i%5), id)
		}
		return s
	}
	s := book()
	require.NoError(t, openUntil(s, 0))
	want := s.Dump()
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		s := book()
		opensInterrupted(s, func(interrupted int) int { return 1 + interrupted })
		s = s.Reopened(s.Server.Client, nil)
		s.WantStore(want)
		s.WantClean()
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		s := book()
		opensTogether(s)
		s = s.Reopened(s.Server.Client, nil)
		s.WantStore(want)
		s.WantClean()
	})
}

// What programs of the book write beside a running server is reported by Check, and exact when it was taken over. Until then
// their articles are not there, and none of their votes is lost.
func TestWritesOfTheBookBesideAServerAreTakenOver(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]func(*site.Rules){
		"": nil, "other scores": func(r *site.Rules) { r.Ranking, r.HalfLife = site.HalfLifeRanking, time.Hour },
		"groups' calendars": func(r *site.Rules) { r.GroupTop = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, func(r *site.Rules) {
				r.InterestingVotes = 3
				if rules != nil {
					rules(r)
				}
			}, repotest.One)
			s.Listens()
			require.Value(s.Live.WatchPosts(s.Ctx, ""))(t) // so that the log is read
			a, b, gone := s.MustPost("alice", "go", "old").ID, s.MustPost("alice", "go").ID, s.MustPost("alice", "go").ID
			s.MustVote(b, "bob", site.Down)
			s.MustVote(a, "bob", site.Up)
			s.List(repotest.Best("go"))
			s.List(lists.InGroup("old", site.ByTime, site.Ascending))
			s.MustDelete(gone, repotest.Moderator)
			s.WantClean()
			book := repotest.BookPost(s, "user:zoe")
			repotest.BookVote(s, "user:bob", book)
			repotest.BookVote(s, "user:carol", a)
			repotest.BookVote(s, "user:bob", b) // over a downvote
			repotest.BookRegroup(s, book, []string{"go", "new"}, nil)
			repotest.BookRegroup(s, a, []string{"new"}, []string{"old"})
			repotest.BookRegroup(s, gone, []string{"new"}, nil)
			for _, q := range []rankings.RankQuery{{}, {Group: site.Interesting}} {
				s.Ranking(q)
			}
			for _, l := range []lists.Listing{repotest.Best("go"), repotest.Best("new"), repotest.Best("old"), lists.AllArticles(site.ByScore, site.Descending)} {
				_, errs := s.Articles.ArticlesByID(s.Ctx, s.List(l))
				for _, err := range errs {
					if err != nil {
						repotest.WantRefused(t, err, "NOT_FOUND article")
					}
				}
			}
			_, err := s.Vote(s.Ctx, book, "dave", site.Up, "")
			repotest.WantRefused(t, err, "NOT_FOUND article")
			_, err = s.Edit(s.Ctx, book, repotest.Moderator, redisrepo.Edit{Title: new("t")})
			repotest.WantRefused(t, err, "NOT_FOUND article")
			_, err = s.Delete(s.Ctx, book, repotest.Moderator, site.Why{})
			repotest.WantRefused(t, err, "NOT_FOUND article")
			s.MustVote(a, "dave", site.Up)
			checked, err := check.Check(s.Ctx, s.Repo, func(string) {})
			if err != nil || checked.Violations == 0 || !checked.ByBook {
				t.Errorf("Check = %+v, %v, want violations by programs of the book", checked, err)
			}

			if n := require.Value(s.Layout.Adopt(s.Ctx))(t); n != 4 {
				t.Errorf("%d articles were taken over, want 4", n)
			}
			s.WantClean()
			wantAdopted(s, book, "zoe", 2, "go", "new")
			if got := fmt.Sprint(s.Article(a).Groups, s.Article(a).Votes, s.Article(b).Votes, s.Article(b).Downvotes); got != "[go new] 4 2 0" {
				t.Errorf("after that the groups and votes are %s, want [go new] 4 2 0", got)
			}
			s.WantList(repotest.Best(site.Interesting), a)
			s.WantList(repotest.Best("old"))
			if got := s.Positions("bob", a, b, book) + s.Positions("carol", a); got != "++++" {
				t.Errorf("the positions are %s, want ++++", got)
			}
			s.Clock.Advance(8 * site.Day)
			if got := s.Positions("bob", a, b, book) + s.Positions("carol", a) + s.Positions("zoe", book); got != "+++++" {
				t.Errorf("without the voters the positions are %s, want +++++", got)
			}
			if n := require.Value(s.Layout.Adopt(s.Ctx))(t); n != 0 {
				t.Errorf("%d articles were taken over again, want none", n)
			}
			s.WantClean()
		})
	}
}

// What a program of the book has written while Frontpage was off is there after the start, but a start beside a running
// process changes nothing.
func TestStartTakesOverWhatTheBookWroteMeanwhile(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(s *repotest.Site){
		"an article": func(s *repotest.Site) { repotest.BookPost(s, "user:zoe") },
		"a vote":     func(s *repotest.Site) { repotest.BookVote(s, "user:zoe", 1) },
		"a leave":    func(s *repotest.Site) { repotest.BookRegroup(s, 1, nil, []string{"go"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			s.MustPost("alice", "go")
			require.NoError(t, s.Views.CatchUp(s.Ctx))
			write(s)
			ctx, stop := context.WithCancel(s.Ctx)
			ended := make(chan struct{})
			go func() { s.Live.Listen(ctx, func(error) {}); close(ended) }()
			s.AwaitProcesses(1)
			s = s.Reopened(s.Server.Client, nil)
			if got := s.Violations(); len(got) == 0 {
				t.Error("Check reports nothing, want what a program of the book wrote")
			}
			stop()
			<-ended
			s.AwaitProcesses(0)
			s.Reopened(s.Server.Client, nil).WantClean()
		})
	}
}

// A start outlasts infinite posting times. That of a hash is replaced by the one in time:, and that in time: is left to check.
func TestStartOutlastsInfiniteTimes(t *testing.T) {
	t.Parallel()
	for corrupt, isClean := range map[string]bool{"HSET article:2 time inf": true, "HSET article:2 time -inf": true, "ZADD time: inf article:2": false, "ZADD time: -inf article:2": false} {
		t.Run(corrupt, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			s.MustPost("alice", "go")
			require.NoError(t, s.Views.CatchUp(s.Ctx))
			repotest.BookPost(s, "user:zoe")
			s.Do(corrupt)
			s = s.Reopened(s.Server.Client, nil)
			if found := s.Violations(); (len(found) == 0) != isClean {
				t.Errorf("Check reports %q, want that this is clean: %t", found, isClean)
			}
		})
	}
}

// A process may be killed after each of the writes of Adopt: the next one goes on.
func TestAdoptGoesOnAfterKills(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "go").ID
	s.MustVote(a, "bob", site.Down)
	repotest.BookVote(s, "user:bob", a)
	repotest.BookVote(s, "user:carol", a)
	repotest.BookRegroup(s, repotest.BookPost(s, "user:zoe"), []string{"go"}, nil)
	kills := 0
	for {
		var opened bool
		left := kills
		client := s.Client(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
			if opened && commands[0].Name() == "evalsha" {
				if left--; left < 0 {
					return redistest.Fail(errKilled, commands)
				}
			}
			return send(ctx, commands)
		}))
		repo := require.Value(redisrepo.New(s.Ctx, client, s.Rules, redisrepo.KeepRules(), redisrepo.WithClock(s.Clock.Now)))(t)
		opened = true
		_, err := repo.Layout.Adopt(s.Ctx)
		if err == nil {
			break
		}
		if kills++; !errors.Is(err, errKilled) || kills > 10 {
			t.Fatalf("Adopt: %v after %d kills, want that it was killed", err, kills)
		}
	}
	if kills < 3 {
		t.Errorf("it was killed %d times, want at least 3", kills)
	}
	wantAdopted(s, 2, "zoe", 1, "go")
	if got := s.Article(a).Votes; got != 3 {
		t.Errorf("the votes are %d, want 3", got)
	}
	s.Clock.Advance(8 * site.Day)
	if got := s.Positions("bob", a) + s.Positions("carol", a); got != "++" {
		t.Errorf("the positions are %s, want ++", got)
	}
	s.WantClean()
}

// A store of 0.9.0 has articles of programs of the book that nothing was written to since, times with fractions, and groups
// that hashes do not list.
func TestStoreOf090IsUpgraded(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.GroupTop = true }, repotest.One)
	a := s.MustPost("alice", "go").ID
	repotest.BookRegroup(s, repotest.BookPost(s, "user:zoe"), []string{"go"}, nil)
	require.Value(s.Layout.Adopt(s.Ctx))(t)
	s.Do("HSET article:2 time", repotest.BookNow(s)) // as 0.9.0 left it, and in these lists
	for _, key := range []string{"time:", "posted:zoe", "host:book.example"} {
		s.Do("ZADD", key, repotest.BookNow(s), "article:2")
	}
	s.Do("ZINCRBY score: 0.123457 article:2")
	s.Do("SET", recordOf(s, "book.example"), "article:2 "+repotest.BookNow(s))
	repotest.BookVote(s, "user:bob", repotest.BookPost(s, "user:yan"))
	repotest.BookRegroup(s, a, []string{"new"}, nil)
	s.Do("HSET meta: layout 6")
	s = s.Reopened(s.Server.Client, nil)
	wantAdopted(s, 2, "zoe", 1, "go")
	wantAdopted(s, 3, "yan", 2)
	s.WantCounts("go 2", "new 1")
	s.WantNewest("http://book.example", 3)
	s.WantClean()
}

func TestLayoutsBeforeTheFirstReleaseAreRefused(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	for _, layout := range []string{"1", "2", "3", "4", "5"} {
		s.Do("HSET meta: layout " + layout)
		before := s.Dump()
		_, err := redisrepo.New(s.Ctx, s.Server.Client, s.Rules)
		if want := "meta:: the data has layout " + layout + ", of a time before the first release, this program needs 9: start Frontpage 0.9.0 with it once"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
		s.WantStore(before)
	}
}

// Programs of the book may read beside a running server for ever.
func TestTheBookReadsOurArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	want := func(got []string, want string) {
		t.Helper()
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("the program of the book lists %q, want %q", got, want)
		}
	}
	a, _ := s.MustPost("alice", "go"), s.MustPost("alice", "go")
	want(bookList(s, "score:"), "article:2 1 votes, article:1 1 votes")
	want(bookGroup(s, "go", "score:"), "article:2 1 votes, article:1 1 votes")
	s.MustVote(a.ID, "bob", site.Up)
	want(bookList(s, "score:"), "article:1 2 votes, article:2 1 votes")
	require.NoError(t, s.Views.CatchUpAll(s.Ctx)) // within a second
	want(bookGroup(s, "go", "score:"), "article:1 2 votes, article:2 1 votes")
	s.WantClean()
}
