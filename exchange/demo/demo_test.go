package demo_test

import (
	"context"
	"encoding/csv"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/exchange/demo"
	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

func TestAnEmptySiteGetsAllArticles(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	before := time.Now().Truncate(time.Second)
	s.fill(t, rows(t))
	after := time.Now()
	same(t, "articles", s.count(t), rows(t))

	articles := s.list(t, site.ByTime)
	if newest := articles[0].CreatedAt; newest.Before(before) || newest.After(after) {
		t.Errorf("newest article posted at %v, want between %v and %v", newest, before, after)
	}
	links := make(map[string]site.ArticleID)
	for _, a := range articles {
		if !s.Articles.CanVote("visitor", a) {
			t.Errorf("%v: voting ended at %v", a.ID, a.VotingEndsAt)
		}
		if len(a.Groups) < 1 || len(a.Groups) > 3 {
			t.Errorf("%v: groups = %v, want 1 to 3", a.ID, a.Groups)
		}
		if a.Link == nil {
			if a.Text == nil {
				t.Errorf("%v has neither a link nor a text", a.ID)
			}
			continue
		}
		u, err := url.Parse(*a.Link)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			t.Errorf("%v: link = %s, %v, want an http or https URL", a.ID, *a.Link, err)
			continue
		}
		page := u.Host + strings.TrimRight(u.Path, "/")
		if first, twice := links[page]; twice {
			t.Errorf("%v and %v have the same link %s", first, a.ID, *a.Link)
		}
		links[page] = a.ID
	}

	groups, err := s.Lists.GroupCount(t.Context(), lists.GroupList{})
	if err != nil || groups < 8 {
		t.Errorf("groups = %d, %v, want at least 8", groups, err)
	}
	interesting, err := s.Lists.Count(t.Context(), lists.InGroup("interesting", site.ByScore, site.Descending))
	if err != nil || interesting < 6 || interesting > 10 {
		t.Errorf("interesting articles = %d, %v, want 6 to 10", interesting, err)
	}
}

// By score, the first page mixes new articles with those that have many votes.
func TestTheFirstPageMixesAgesAndVotes(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	s.fill(t, rows(t))
	first := s.list(t, site.ByScore)[:25]
	days, interesting := make(map[time.Duration]int), 0
	for _, a := range first {
		days[time.Since(a.CreatedAt)/(24*time.Hour)]++
		if a.IsInteresting {
			interesting++
		}
	}
	if len(days) < 5 {
		t.Errorf("the first page has articles of %d days, want at least 5", len(days))
	}
	for day, n := range days {
		if n > len(first)/2 {
			t.Errorf("%d of %d articles are %d days old, want at most half", n, len(first), day)
		}
	}
	if interesting < 6 || interesting > len(first)/2 {
		t.Errorf("%d of %d articles are interesting, want 6 to half", interesting, len(first))
	}
	if newest := s.list(t, site.ByTime)[0]; first[0].ID == newest.ID {
		t.Errorf("the newest article, %v, is also first by score", newest.ID)
	}
}

func TestArticlesOfTheDemoCanBeVotedOn(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	s.fill(t, rows(t))
	for _, a := range s.list(t, site.ByTime) {
		result := require.Value(s.Vote(t.Context(), a.ID, "visitor", site.Up, ""))(t)
		same(t, "votes", result.Article.Votes, a.Votes+1)
	}
	s.count(t)
}

func TestFillingAgainAddsNothing(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	s.fill(t, rows(t))
	s.fill(t, 0)
	same(t, "articles", s.count(t), rows(t))
}

func TestASiteWithArticlesIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	text := "Mine"
	own := require.Value(s.Post(t.Context(), "visitor", site.Draft{Title: "Mine", Text: &text}))(t)
	s.fill(t, 0)
	same(t, "articles", s.count(t), 1)
	same(t, "first article", s.list(t, site.ByTime)[0].ID, own.ID)
	require.Value(s.Delete(t.Context(), own.ID, site.Actor{Name: "visitor"}, site.Why{}))(t)
	s.fill(t, 0)
	same(t, "articles after the deletion", s.count(t), 0)
}

func TestDeletedArticlesAreNotAddedAgain(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	s.fill(t, rows(t))
	for _, a := range s.list(t, site.ByTime) {
		require.Value(s.Delete(t.Context(), a.ID, site.Actor{Name: "moderator", Moderator: true}, site.Why{}))(t)
	}
	s.fill(t, 0)
	same(t, "articles", s.count(t), 0)
}

func TestConcurrentFillsAddEachArticleOnce(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	added, errs := make([]int, 4), make([]error, 4)
	var wait sync.WaitGroup
	for i := range added {
		repo := open(t, s.redis)
		wait.Go(func() { added[i], errs[i] = demo.Fill(t.Context(), repo) })
	}
	wait.Wait()
	require.NoError(t, errors.Join(errs...))
	same(t, "added in total", added[0]+added[1]+added[2]+added[3], rows(t))
	same(t, "articles", s.count(t), rows(t))
}

func TestAFailedFillReturnsTheReason(t *testing.T) {
	t.Parallel()
	t.Run("articles are refused", func(t *testing.T) {
		t.Parallel()
		yesterday := redisrepo.WithClock(func() time.Time { return time.Now().AddDate(0, 0, -1) })
		_, err := demo.Fill(t.Context(), open(t, redistest.Start(t), yesterday))
		if err == nil || !strings.Contains(err.Error(), "posted_at: it was posted in the future") {
			t.Errorf("Fill: %v, want an error with the rule that the row breaks", err)
		}
	})
	t.Run("Redis is gone", func(t *testing.T) {
		t.Parallel()
		s := newTestSite(t)
		s.redis.Kill()
		if _, err := demo.Fill(t.Context(), s.Repo); !errors.Is(err, failover.ErrUnavailable) {
			t.Errorf("Fill: %v, want %v", err, failover.ErrUnavailable)
		}
	})
	t.Run("its context ended", func(t *testing.T) {
		t.Parallel()
		s := newTestSite(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := demo.Fill(ctx, s.Repo); !errors.Is(err, context.Canceled) {
			t.Errorf("Fill: %v, want %v", err, context.Canceled)
		}
	})
}

// testSite is a site on a Redis of its own.
type testSite struct {
	*redisrepo.Repo
	redis *redistest.Server
}

func newTestSite(t *testing.T) testSite {
	t.Helper()
	server := redistest.Start(t)
	return testSite{open(t, server), server}
}

func open(t *testing.T, server *redistest.Server, options ...redisrepo.Option) *redisrepo.Repo {
	t.Helper()
	return require.Value(redisrepo.New(t.Context(), server.Client, site.DefaultRules(), options...))(t)
}

func (s testSite) fill(t *testing.T, want int) {
	t.Helper()
	added := require.Value(demo.Fill(t.Context(), s.Repo))(t)
	same(t, "added", added, want)
}

// list returns all articles of the site in descending order.
func (s testSite) list(t *testing.T, order site.Order) []*site.Article {
	t.Helper()
	size := site.MaxPageSize
	ids := require.Value(s.Lists.List(t.Context(), lists.AllArticles(order, site.Descending), 1, &size))(t)
	articles, errs := s.Articles.ArticlesByID(t.Context(), ids)
	require.NoError(t, errors.Join(errs...))
	return articles
}

// count checks the store and returns the number of articles.
func (s testSite) count(t *testing.T) int {
	t.Helper()
	checked := require.Value(check.Check(t.Context(), s.Repo, func(violation string) { t.Errorf("Check: %s", violation) }))(t)
	return checked.Articles
}

// rows returns the number of articles in the CSV file.
func rows(t *testing.T) int {
	t.Helper()
	file := require.Value(os.ReadFile("articles.csv"))(t)
	records := require.Value(csv.NewReader(strings.NewReader(string(file))).ReadAll())(t)
	return len(records) - 1
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
