package lists_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// voteBy casts the votes of n new users on an article.
func voteBy(s *repotest.Site, name string, n int, id site.ArticleID, vote site.Vote) {
	s.T.Helper()
	for i := range n {
		s.MustVote(id, site.UserName(fmt.Sprint(name, i)), vote)
	}
}

// Votes do not change the listings of groups, and the views catch up only afterwards. Yet each read is exact.
func TestListingsOfGroupsHaveTheLastVote(t *testing.T) {
	sizes := map[string][]redisrepo.Option{"small": nil, "large": {redisrepo.WithLargeGroups(2, 2)}}
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 3 }, append(size, repotest.One)...)
			a, b, c := s.MustPost("alice", "go").ID, s.MustPost("alice", "go").ID, s.MustPost("alice", "go").ID
			interesting := lists.InGroup(site.Interesting, site.ByTime, site.Descending)
			s.WantList(repotest.Best("go"), c, b, a)
			s.WantList(repotest.Best("interesting"))
			voteBy(s, "u", 2, a, site.Up)
			s.WantList(repotest.Best("go"), a, c, b)
			s.WantList(repotest.Best("interesting"), a)
			s.WantList(interesting, a)
			voteBy(s, "v", 3, b, site.Up)
			s.WantList(interesting, b, a)
			s.MustVote(a, "u1", site.None)
			s.WantList(interesting, b)
			s.WantList(repotest.Best("interesting"), b)
			s.WantList(repotest.Best("go"), b, a, c)
			s.MustVote(b, "v0", site.None)
			s.MustDelete(b, repotest.Moderator)
			s.WantList(repotest.Best("go"), a, c)
			s.WantList(repotest.Best("interesting"))
			s.WantClean() // which allows for what the listings lack
			require.NoError(t, s.Views.CatchUpAll(s.Ctx))
			s.WantClean()
			s.WantList(repotest.Best("go"), a, c)
		})
	}
}

// A listing that lacks more votes than one read applies is exact, too.
func TestListingsOfGroupsHaveManyVotes(t *testing.T) {
	sizes := map[string][]redisrepo.Option{"small": nil, "large": {redisrepo.WithLargeGroups(1, 2)}}
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, append(size, repotest.One)...)
			a, b := s.MustPost("alice", "go").ID, s.MustPost("alice", "go").ID
			s.WantList(repotest.Best("go"), b, a)
			for range 300 {
				s.MustVote(a, "bob", site.Up)
				s.MustVote(a, "bob", site.None)
			}
			s.MustVote(a, "bob", site.Up)
			s.WantList(repotest.Best("go"), a, b)
		})
	}
}

// While Redis refuses writes, the listing of a small group is computed with the last votes. That of a large one is read as it is.
func TestListingsOfGroupsAreReadWhileWritesAreRefused(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	large := s.Reopened(s.Client(), nil, redisrepo.WithLargeGroups(1, 2))
	a, b := s.MustPost("alice", "go").ID, s.MustPost("alice", "go").ID
	large.WantList(repotest.Best("go"), b, a)
	s.MustVote(a, "bob", site.Up)
	s.Do("CONFIG SET maxmemory 1")
	s.WantList(repotest.Best("go"), a, b)
	large.WantList(repotest.Best("go"), b, a)
	s.Do("CONFIG SET maxmemory 0")
	large.WantList(repotest.Best("go"), a, b)
	s.WantList(repotest.Best("go"), a, b)
}

// A page of a group that was read a moment ago takes one round trip and no script, and has the votes since. What is no vote, and many
// votes, are read by scripts.
func TestPagesOfGroupsInPartitionsHaveTheLastVote(t *testing.T) {
	t.Parallel()
	beside := repotest.New(t, nil, inSixteen())
	for range 150 {
		beside.MustPost("alice", "all")
	}
	var scripts, trips atomic.Int64
	s := beside.Reopened(beside.Client(redistest.Before(func(commands ...redis.Cmder) {
		trips.Add(1)
		for _, c := range commands {
			if c.Name() == "evalsha" {
				scripts.Add(1)
			}
		}
	})), nil, inSixteen())
	voter := 0
	voteOn := func(id site.ArticleID) {
		voter++
		beside.MustVote(id, site.UserName(fmt.Sprint("voter", voter)), []site.Vote{site.Up, site.Down}[voter/3%2])
	}
	pages := func(s *repotest.Site) (all []string) {
		for _, l := range []lists.Listing{repotest.Best("all"), lists.InGroup("all", site.ByScore, site.Ascending)} {
			var after *string
			for range 3 {
				edges, info, err := s.Lists.Walk(s.Ctx, l, site.PageRequest{First: new(25), After: after})
				require.NoError(t, err)
				all = append(all, fmt.Sprint(s.List(l), edges, info.HasPreviousPage, info.HasNextPage))
				after = info.EndCursor
			}
		}
		return all
	}
	plain := func() bool {
		beside.List(repotest.Best("all"))
		s.List(repotest.Best("all"))
		for _, id := range s.List(repotest.Best("all"))[20:] {
			voteOn(id)
		}
		scripts.Store(0)
		trips.Store(0)
		got := s.List(repotest.Best("all"))
		beside.Lists.Forget()
		s.WantList(repotest.Best("all"), beside.List(repotest.Best("all"))...)
		return scripts.Load() == 0 && trips.Load() == 2 && len(got) == 25 // the reads come soon enough one after the other
	}
	require.Eventually(t, "page without scripts", plain)
	for range 40 {
		page := s.List(repotest.Best("all"))
		for i := range 1 + voter%30 {
			voteOn(page[i*i%len(page)])
		}
		if voter%4 == 0 {
			beside.MustDelete(page[voter%len(page)], repotest.Moderator)
		}
		got := pages(s)
		beside.Lists.Forget()
		for i, want := range pages(beside) {
			if got[i] != want {
				t.Fatalf("page %d = %s, want %s", i, got[i], want)
			}
		}
	}
}
