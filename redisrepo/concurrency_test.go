package redisrepo_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
)

func TestConcurrentRepeatsOfAVoteCountOnce(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	a := s[0].MustPost("alice", "go")
	s[0].List(repotest.Best("go"))
	var changed atomic.Int64
	repotest.Together(100, func(i int) {
		result, err := s[i%2].Vote(t.Context(), a.ID, "bob", up, "")
		switch {
		case err != nil:
			t.Errorf("Vote: %v", err)
		case result.Article.Votes != 2:
			t.Errorf("votes = %d, want 2", result.Article.Votes)
		case result.Changed:
			changed.Add(1)
		}
	})
	if n := changed.Load(); n != 1 {
		t.Errorf("%d votes have Changed = true, want 1", n)
	}
	s[0].WantClean()
}

func TestConcurrentPostsWithOneKeyMakeOneArticle(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	d := repotest.Draft("title", "go")
	d.IdempotencyKey = new("key")
	var ids [100]site.ArticleID
	repotest.Together(100, func(i int) {
		a, err := s[i%2].Post(t.Context(), "alice", d)
		if err != nil {
			t.Errorf("Post: %v", err)
			return
		}
		ids[i] = a.ID
	})
	s[0].WantList(lists.PostedBy("alice"), ids[0])
	for i, id := range ids {
		if id != ids[0] {
			t.Errorf("post %d made %v, want %v as post 0", i, id, ids[0])
		}
	}
	s[0].WantClean()
}

func TestConcurrentPostsGetDifferentNumbers(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t, repotest.One)
	s[0].List(repotest.Best("go"))
	repotest.Together(100, func(i int) { s[i%2].MustPost(site.UserName(fmt.Sprint("user", i%7)), "go") })
	for _, l := range []lists.Listing{repotest.Best("go"), lists.AllArticles(site.ByTime, site.Descending)} {
		ids, err := s[0].Lists.List(t.Context(), l, 1, new(100))
		slices.Sort(ids)
		if err != nil || len(ids) != 100 || ids[0] != 1 || ids[99] != 100 {
			t.Errorf("List = %v, %v, want articles 1 to 100", ids, err)
		}
	}
	s[0].WantClean()
}

func TestConcurrentRegroupingsAllApply(t *testing.T) { // with the race detector
	t.Parallel()
	tests := map[string]struct {
		articles, groups int
	}{
		"one article, one group":         {1, 1},
		"one article, ten groups":        {1, 10},
		"a hundred articles, one group":  {100, 1},
		"ten articles, ten groups":       {10, 10},
		"a hundred articles, ten groups": {100, 10},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.Two(t)
			var articles []*site.Article
			for range tt.articles {
				articles = append(articles, s[0].MustPost("alice"))
			}
			theme := func(i int) string { return fmt.Sprint("g", i/tt.articles%tt.groups) }
			repotest.Together(100, func(i int) { s[i%2].MustRegroup(articles[i%tt.articles], []string{theme(i)}, []string{"x"}) })
			want := map[site.ArticleID]map[string]bool{}
			for i := range 100 {
				id := articles[i%tt.articles].ID
				if want[id] == nil {
					want[id] = map[string]bool{}
				}
				want[id][theme(i)] = true
			}
			for id, groups := range want {
				if got := s[0].Article(id).Groups; len(got) != len(groups) {
					t.Errorf("groups of %v = %v, want %v", id, got, groups)
				}
			}
			s[0].WantClean()
			repotest.Together(100, func(i int) { s[i%2].MustRegroup(articles[i%tt.articles], nil, []string{theme(i)}) })
			s[0].WantCounts()
			s[0].WantClean()
		})
	}
}

// A vote must name the article's groups, which another client may change after they were read.
func TestVotesCountWhileTheArticleIsRegrouped(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	a := s[0].MustPost("alice", "keep")
	for _, group := range []site.GroupName{"keep", "g0", "g1"} {
		s[0].List(repotest.Best(group))
	}
	repotest.Together(8, func(worker int) {
		s := s[worker%2]
		for i := range 60 {
			switch voter := site.UserName(fmt.Sprint("voter", worker, i)); worker {
			case 0, 1:
				group := []string{fmt.Sprint("g", worker)}
				if i%2 == 0 {
					s.MustRegroup(a, group, nil)
				} else {
					s.MustRegroup(a, nil, group)
				}
				s.List(repotest.Best(site.GroupName(group[0])))
			default:
				s.MustVote(a.ID, voter, up)
				if i%2 == 0 {
					s.MustVote(a.ID, voter, down)
				}
			}
		}
	})
	if got := s[0].Article(a.ID); got.Upvotes != 1+6*30 || got.Downvotes != 6*30 {
		t.Errorf("votes = +%d -%d, want +181 -180", got.Upvotes, got.Downvotes)
	}
	s[0].WantList(repotest.Best("keep"), a.ID)
	s[0].WantList(repotest.Best("g0"))
	s[0].WantClean()
}

func TestCheckReportsNothingWhileVotesAreCast(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	var articles []*site.Article
	for i := range 150 { // more than Check reads at a time
		articles = append(articles, s[0].MustPost("alice", fmt.Sprint("g", i%3)))
	}
	for _, group := range []site.GroupName{"g0", "g1", "g2"} {
		s[0].List(repotest.Best(group))
	}
	var checks, busy atomic.Int64
	busy.Store(20)
	repotest.Together(21, func(worker int) {
		if worker == 20 {
			defer checks.Add(2) // no goroutine waits for a check that failed
			for busy.Load() > 0 {
				s[0].WantClean()
				checks.Add(1)
			}
			return
		}
		defer busy.Add(-1)
		voter := site.UserName(fmt.Sprint("voter", worker))
		for i := 0; i < 40 || checks.Load() < 2; i++ {
			a := articles[(worker*40+i)%len(articles)]
			s[worker%2].MustVote(a.ID, voter, site.Vote(i%3-1))
			switch {
			case i%10 == 0:
				s[worker%2].MustRegroup(a, []string{"g0"}, []string{"g1"})
			case i%10 == 5 && i < 400: // a site that grows faster than it is read is never checked
				s[worker%2].MustPost("bob", "g2")
			}
		}
	})
	s[0].WantClean()
}
