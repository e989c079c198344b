package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	"frontpage/tests/require"
)

// The functions book… send the commands that the Python code of Redis in Action, chapter 1, sends: times have
// fractions, and users are named user:NAME.

func bookNow(s *testSite) string {
	return strconv.FormatFloat(float64(s.clock.now().Unix())+0.123457, 'f', -1, 64)
}

// bookPost is post_article(conn, user, title, link).
func bookPost(s *testSite, user string) site.ArticleID {
	s.t.Helper()
	now := bookNow(s)
	number := fmt.Sprint(s.do("INCR article:"))
	s.do("SADD", "voted:"+number, user)
	s.do("EXPIRE", "voted:"+number, 7*86400)
	s.do("HMSET", "article:"+number, "title", "A title", "link", "http://book.example", "poster", user, "time", now, "votes", 1)
	posted, _ := strconv.ParseFloat(now, 64)
	s.do("ZADD score:", posted+432, "article:"+number)
	s.do("ZADD time:", now, "article:"+number)
	n, _ := strconv.Atoi(number)
	return site.ArticleID(n)
}

// bookVote is article_vote(conn, user, article).
func bookVote(s *testSite, user string, id site.ArticleID) {
	s.t.Helper()
	cutoff := float64(s.clock.now().Unix()) - 7*86400
	if s.do("ZSCORE time:", id.String()).(float64) < cutoff {
		return
	}
	if s.do("SADD", fmt.Sprint("voted:", int(id)), user) == int64(1) {
		s.do("ZINCRBY score: 432", id.String())
		s.do("HINCRBY", id.String(), "votes", 1)
	}
}

// bookRegroup is add_remove_groups(conn, article_id, to_add, to_remove).
func bookRegroup(s *testSite, id site.ArticleID, add, remove []string) {
	s.t.Helper()
	for _, group := range add {
		s.do("SADD", "group:"+group, id.String())
	}
	for _, group := range remove {
		s.do("SREM", "group:"+group, id.String())
	}
}

// bookList is the first page of get_articles, and bookGroup that of get_group_articles.
func bookList(s *testSite, order string) []string {
	s.t.Helper()
	members := s.raw.ZRangeArgs(s.ctx, redis.ZRangeArgs{Key: order, Start: 0, Stop: 24, Rev: true}).Val()
	for i, member := range members {
		members[i] = fmt.Sprintf("%s %s votes", member, s.do("HGET", member, "votes"))
	}
	return members
}

func bookGroup(s *testSite, group, order string) []string {
	s.t.Helper()
	if key := order + group; s.do("EXISTS", key) == int64(0) {
		s.do("ZINTERSTORE", key, 2, "group:"+group, order, "AGGREGATE", "MAX")
		s.do("EXPIRE", key, 60)
	}
	return bookList(s, order+group)
}

// byBook opens a site whose store only programs of the book have used: article:1 of user:alice, in the groups go and
// programming, with a vote of user:bob.
func byBook(t *testing.T, change func(*site.Rules)) *testSite {
	t.Helper()
	s := newSite(t, change, one)
	s.do("DEL meta:")
	id := bookPost(s, "user:alice")
	bookVote(s, "user:bob", id)
	bookRegroup(s, id, []string{"programming", "go", "Ruby", "Not a Name"}, nil)
	return s
}

// wantAdopted compares an article that programs of the book have written with what is known of it.
func (s *testSite) wantAdopted(id site.ArticleID, poster site.UserName, votes int, groups ...site.GroupName) {
	s.t.Helper()
	a := s.article(id)
	if a.Title != "A title" || *a.Link != "http://book.example" || a.Poster.Name != poster || a.Votes != votes || !slices.Equal(a.Groups, groups) || a.CreatedAt.Nanosecond() != 0 {
		s.t.Errorf("%v = %s, want one of %s with %d votes in %v, posted at a whole second", id, show(a), poster, votes, groups)
	}
	for _, l := range []lists.Listing{lists.AllArticles(site.ByTime, site.Descending), lists.PostedBy(poster), lists.LinkingTo("book.example")} {
		if !slices.Contains(s.list(l), id) {
			s.t.Errorf("%v is not in the list %+v", id, l)
		}
	}
	for _, group := range groups {
		if !slices.Contains(s.list(best(group)), id) {
			s.t.Errorf("%v is not in the list of %s", id, group)
		}
	}
	if got := s.ranking(rankings.RankQuery{}); !strings.Contains(got, id.String()) {
		s.t.Errorf("the ranking is %s, want %v in it", got, id)
	}
}

func TestStartTakesOverAStoreOfTheBook(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]func(*site.Rules){
		"": nil, "other scores": func(r *site.Rules) { r.Ranking, r.HalfLife = site.HalfLifeRanking, time.Hour },
		"interesting": func(r *site.Rules) { r.InterestingVotes = 2 }, "nothing more": noFeatures,
		"groups' calendars": func(r *site.Rules) { r.GroupTop = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := byBook(t, rules)
			s.do("HSET article:2 link http://book.example time", opened.Unix(), "title", "A title")
			s.do("ZADD time:", opened.Unix(), "article:2")
			s.do("ZADD score:", opened.Unix(), "article:2")
			s.do("INCR article:")
			s = s.reopened(s.server.Client, nil)
			s.wantCounts("go 1", "programming 1")
			if s.rules.Calendar {
				s.wantAdopted(1, "alice", 2, "go", "programming")
				s.wantAdopted(2, "", 0)
			}
			if got := s.positions("alice", 1) + s.positions("bob", 1) + s.positions("carol", 1); got != "++0" {
				t.Errorf("the positions of alice, bob and carol are %s, want ++0", got)
			}
			s.wantList(best(site.Interesting), map[bool][]site.ArticleID{true: {1}}[name == "interesting"]...)
			s.wantNewest("http://book.example", 2)
			s.wantClean()
			before := s.dump()
			s = s.reopened(s.server.Client, nil)
			s.wantStore(before, "after the second start,")
			if n := require.Value(s.Layout.Adopt(s.ctx))(t); n != 0 {
				t.Errorf("%d more articles were taken over, want none", n)
			}
			s.wantStore(before, "after taking over nothing,")
			s.vote(1, "carol", down)
			s.regroup(s.article(1), []string{"new"}, []string{"go"})
			s.wantClean()
		})
	}
}

// The first start may be interrupted, and several processes may start at once.
func TestTakingOverGoesOnAfterInterruptions(t *testing.T) {
	t.Parallel()
	book := func() *testSite {
		s := byBook(t, nil)
		for i := range 250 {
			id := bookPost(s, "user:zoe")
			bookRegroup(s, id, []string{fmt.Sprint("g", i%9)}, nil)
			bookVote(s, fmt.Sprint("user:", i%5), id)
		}
		return s
	}
	s := book()
	require.NoError(t, s.openUntil(0))
	want := s.dump()
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		s := book()
		s.opensInterrupted(func(interrupted int) int { return 1 + interrupted })
		s = s.reopened(s.server.Client, nil)
		s.wantStore(want)
		s.wantClean()
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		s := book()
		s.opensTogether()
		s = s.reopened(s.server.Client, nil)
		s.wantStore(want)
		s.wantClean()
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
			s := newSite(t, func(r *site.Rules) {
				r.InterestingVotes = 3
				if rules != nil {
					rules(r)
				}
			}, one)
			s.listen()
			a, b, gone := s.post("alice", "go", "old").ID, s.post("alice", "go").ID, s.post("alice", "go").ID
			s.vote(b, "bob", down)
			s.vote(a, "bob", up)
			s.list(best("go"))
			s.list(lists.InGroup("old", site.ByTime, site.Ascending))
			s.delete(gone, moderator)
			s.wantClean()
			book := bookPost(s, "user:zoe")
			bookVote(s, "user:bob", book)
			bookVote(s, "user:carol", a)
			bookVote(s, "user:bob", b) // over a downvote
			bookRegroup(s, book, []string{"go", "new"}, nil)
			bookRegroup(s, a, []string{"new"}, []string{"old"})
			bookRegroup(s, gone, []string{"new"}, nil)
			for _, q := range []rankings.RankQuery{{}, {Group: site.Interesting}} {
				s.ranking(q)
			}
			for _, l := range []lists.Listing{best("go"), best("new"), best("old"), lists.AllArticles(site.ByScore, site.Descending)} {
				_, errs := s.Articles.ArticlesByID(s.ctx, s.list(l))
				for _, err := range errs {
					if err != nil {
						wantRefused(t, err, "NOT_FOUND article")
					}
				}
			}
			_, err := s.Vote(s.ctx, book, "dave", up, "")
			wantRefused(t, err, "NOT_FOUND article")
			_, err = s.Edit(s.ctx, book, moderator, redisrepo.Edit{Title: new("t")})
			wantRefused(t, err, "NOT_FOUND article")
			_, err = s.Delete(s.ctx, book, moderator, site.Why{})
			wantRefused(t, err, "NOT_FOUND article")
			s.vote(a, "dave", up)
			checked, err := check.Check(s.ctx, s.Repo, func(string) {})
			if err != nil || checked.Violations == 0 || !checked.ByBook {
				t.Errorf("Check = %+v, %v, want violations by programs of the book", checked, err)
			}

			if n := require.Value(s.Layout.Adopt(s.ctx))(t); n != 4 {
				t.Errorf("%d articles were taken over, want 4", n)
			}
			s.wantClean()
			s.wantAdopted(book, "zoe", 2, "go", "new")
			if got := fmt.Sprint(s.article(a).Groups, s.article(a).Votes, s.article(b).Votes, s.article(b).Downvotes); got != "[go new] 4 2 0" {
				t.Errorf("after that the groups and votes are %s, want [go new] 4 2 0", got)
			}
			s.wantList(best(site.Interesting), a)
			s.wantList(best("old"))
			if got := s.positions("bob", a, b, book) + s.positions("carol", a); got != "++++" {
				t.Errorf("the positions are %s, want ++++", got)
			}
			s.clock.advance(8 * day)
			if got := s.positions("bob", a, b, book) + s.positions("carol", a) + s.positions("zoe", book); got != "+++++" {
				t.Errorf("without the voters the positions are %s, want +++++", got)
			}
			if n := require.Value(s.Layout.Adopt(s.ctx))(t); n != 0 {
				t.Errorf("%d articles were taken over again, want none", n)
			}
			s.wantClean()
		})
	}
}

// What a program of the book has written while Frontpage was off is there after the start, but a start beside a running
// process changes nothing.
func TestStartTakesOverWhatTheBookWroteMeanwhile(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(s *testSite){
		"an article": func(s *testSite) { bookPost(s, "user:zoe") },
		"a vote":     func(s *testSite) { bookVote(s, "user:zoe", 1) },
		"a leave":    func(s *testSite) { bookRegroup(s, 1, nil, []string{"go"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			s.post("alice", "go")
			require.NoError(t, s.Views.CatchUp(s.ctx))
			write(s)
			ctx, stop := context.WithCancel(s.ctx)
			ended := make(chan struct{})
			go func() { s.Live.Listen(ctx, func(error) {}); close(ended) }()
			s.awaitProcesses(1)
			s = s.reopened(s.server.Client, nil)
			if got := s.violations(); len(got) == 0 {
				t.Error("Check reports nothing, want what a program of the book wrote")
			}
			stop()
			<-ended
			s.awaitProcesses(0)
			s.reopened(s.server.Client, nil).wantClean()
		})
	}
}

// A start outlasts infinite posting times. That of a hash is replaced by the one in time:, and that in time: is left to check.
func TestStartOutlastsInfiniteTimes(t *testing.T) {
	t.Parallel()
	for corrupt, isClean := range map[string]bool{"HSET article:2 time inf": true, "HSET article:2 time -inf": true, "ZADD time: inf article:2": false, "ZADD time: -inf article:2": false} {
		t.Run(corrupt, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			s.post("alice", "go")
			require.NoError(t, s.Views.CatchUp(s.ctx))
			bookPost(s, "user:zoe")
			s.do(corrupt)
			s = s.reopened(s.server.Client, nil)
			if found := s.violations(); (len(found) == 0) != isClean {
				t.Errorf("Check reports %q, want that this is clean: %t", found, isClean)
			}
		})
	}
}

// A process may be killed after each of the writes of Adopt: the next one goes on.
func TestAdoptGoesOnAfterKills(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	a := s.post("alice", "go").ID
	s.vote(a, "bob", down)
	bookVote(s, "user:bob", a)
	bookVote(s, "user:carol", a)
	bookRegroup(s, bookPost(s, "user:zoe"), []string{"go"}, nil)
	kills := 0
	for {
		var opened bool
		left := kills
		client := s.client(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
			if opened && commands[0].Name() == "evalsha" {
				if left--; left < 0 {
					return redistest.Fail(errKilled, commands)
				}
			}
			return send(ctx, commands)
		}))
		repo := require.Value(redisrepo.New(s.ctx, client, s.rules, redisrepo.KeepRules(), redisrepo.WithClock(s.clock.now)))(t)
		opened = true
		_, err := repo.Layout.Adopt(s.ctx)
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
	s.wantAdopted(2, "zoe", 1, "go")
	if got := s.article(a).Votes; got != 3 {
		t.Errorf("the votes are %d, want 3", got)
	}
	s.clock.advance(8 * day)
	if got := s.positions("bob", a) + s.positions("carol", a); got != "++" {
		t.Errorf("the positions are %s, want ++", got)
	}
	s.wantClean()
}

// A store of 0.9.0 has articles of programs of the book that nothing was written to since, times with fractions, and groups
// that hashes do not list.
func TestStoreOf090IsUpgraded(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.GroupTop = true }, one)
	a := s.post("alice", "go").ID
	bookRegroup(s, bookPost(s, "user:zoe"), []string{"go"}, nil)
	require.Value(s.Layout.Adopt(s.ctx))(t)
	s.do("HSET article:2 time", bookNow(s)) // as 0.9.0 left it, and in these lists
	for _, key := range []string{"time:", "posted:zoe", "host:book.example"} {
		s.do("ZADD", key, bookNow(s), "article:2")
	}
	s.do("ZINCRBY score: 0.123457 article:2")
	s.do("SET", s.recordOf("book.example"), "article:2 "+bookNow(s))
	bookVote(s, "user:bob", bookPost(s, "user:yan"))
	bookRegroup(s, a, []string{"new"}, nil)
	s.do("HSET meta: layout 6")
	s = s.reopened(s.server.Client, nil)
	s.wantAdopted(2, "zoe", 1, "go")
	s.wantAdopted(3, "yan", 2)
	s.wantCounts("go 2", "new 1")
	s.wantNewest("http://book.example", 3)
	s.wantClean()
}

func TestLayoutsBeforeTheFirstReleaseAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	for _, layout := range []string{"1", "2", "3", "4", "5"} {
		s.do("HSET meta: layout " + layout)
		before := s.dump()
		_, err := redisrepo.New(s.ctx, s.server.Client, s.rules)
		if want := "meta:: the data has layout " + layout + ", of a time before the first release, this program needs 9: start Frontpage 0.9.0 with it once"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
		s.wantStore(before)
	}
}

// Programs of the book may read beside a running server for ever.
func TestTheBookReadsOurArticles(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	want := func(got []string, want string) {
		t.Helper()
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("the program of the book lists %q, want %q", got, want)
		}
	}
	a, _ := s.post("alice", "go"), s.post("alice", "go")
	want(bookList(s, "score:"), "article:2 1 votes, article:1 1 votes")
	want(bookGroup(s, "go", "score:"), "article:2 1 votes, article:1 1 votes")
	s.vote(a.ID, "bob", up)
	want(bookList(s, "score:"), "article:1 2 votes, article:2 1 votes")
	require.NoError(t, s.Views.CatchUpAll(s.ctx)) // within a second
	want(bookGroup(s, "go", "score:"), "article:1 2 votes, article:2 1 votes")
	s.wantClean()
}
