package redisrepo_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// voteBy casts the votes of n new users on an article.
func (s *testSite) voteBy(name string, n int, id site.ArticleID, vote site.Vote) {
	s.t.Helper()
	for i := range n {
		s.vote(id, site.UserName(fmt.Sprint(name, i)), vote)
	}
}

// Votes do not change the listings of groups, and the views catch up only afterwards. Yet each read is exact.
func TestListingsOfGroupsHaveTheLastVote(t *testing.T) {
	sizes := map[string][]redisrepo.Option{"small": nil, "large": {redisrepo.WithLargeGroups(2, 2)}}
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 3 }, append(size, one)...)
			a, b, c := s.post("alice", "go").ID, s.post("alice", "go").ID, s.post("alice", "go").ID
			interesting := lists.InGroup(site.Interesting, site.ByTime, site.Descending)
			s.wantList(best("go"), c, b, a)
			s.wantList(best("interesting"))
			s.voteBy("u", 2, a, up)
			s.wantList(best("go"), a, c, b)
			s.wantList(best("interesting"), a)
			s.wantList(interesting, a)
			s.voteBy("v", 3, b, up)
			s.wantList(interesting, b, a)
			s.vote(a, "u1", none)
			s.wantList(interesting, b)
			s.wantList(best("interesting"), b)
			s.wantList(best("go"), b, a, c)
			s.vote(b, "v0", none)
			s.delete(b, moderator)
			s.wantList(best("go"), a, c)
			s.wantList(best("interesting"))
			s.wantClean() // which allows for what the listings lack
			require.NoError(t, s.Views.CatchUpAll(s.ctx))
			s.wantClean()
			s.wantList(best("go"), a, c)
		})
	}
}

// A listing that lacks more votes than one read applies is exact, too.
func TestListingsOfGroupsHaveManyVotes(t *testing.T) {
	sizes := map[string][]redisrepo.Option{"small": nil, "large": {redisrepo.WithLargeGroups(1, 2)}}
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, append(size, one)...)
			a, b := s.post("alice", "go").ID, s.post("alice", "go").ID
			s.wantList(best("go"), b, a)
			for range 300 {
				s.vote(a, "bob", up)
				s.vote(a, "bob", none)
			}
			s.vote(a, "bob", up)
			s.wantList(best("go"), a, b)
		})
	}
}

// While Redis refuses writes, the listing of a small group is computed with the last votes. That of a large one is read as it is.
func TestListingsOfGroupsAreReadWhileWritesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	large := s.reopened(s.client(), nil, redisrepo.WithLargeGroups(1, 2))
	a, b := s.post("alice", "go").ID, s.post("alice", "go").ID
	large.wantList(best("go"), b, a)
	s.vote(a, "bob", up)
	s.do("CONFIG SET maxmemory 1")
	s.wantList(best("go"), a, b)
	large.wantList(best("go"), b, a)
	s.do("CONFIG SET maxmemory 0")
	large.wantList(best("go"), a, b)
	s.wantList(best("go"), a, b)
}

// A page of a group that was read a moment ago takes one round trip and no script, and has the votes since. What is no vote, and many
// votes, are read by scripts.
func TestPagesOfGroupsInPartitionsHaveTheLastVote(t *testing.T) {
	t.Parallel()
	beside := newSite(t, nil, inSixteen())
	for range 150 {
		beside.post("alice", "all")
	}
	var scripts, trips atomic.Int64
	s := beside.reopened(beside.client(redistest.Before(func(commands ...redis.Cmder) {
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
		beside.vote(id, site.UserName(fmt.Sprint("voter", voter)), []site.Vote{up, down}[voter/3%2])
	}
	pages := func(s *testSite) (all []string) {
		for _, l := range []lists.Listing{best("all"), lists.InGroup("all", site.ByScore, site.Ascending)} {
			var after *string
			for range 3 {
				edges, info, err := s.Lists.Walk(s.ctx, l, site.PageRequest{First: new(25), After: after})
				require.NoError(t, err)
				all = append(all, fmt.Sprint(s.list(l), edges, info.HasPreviousPage, info.HasNextPage))
				after = info.EndCursor
			}
		}
		return all
	}
	plain := func() bool {
		beside.list(best("all"))
		s.list(best("all"))
		for _, id := range s.list(best("all"))[20:] {
			voteOn(id)
		}
		scripts.Store(0)
		trips.Store(0)
		got := s.list(best("all"))
		beside.Lists.Forget()
		s.wantList(best("all"), beside.list(best("all"))...)
		return scripts.Load() == 0 && trips.Load() == 2 && len(got) == 25 // the reads come soon enough one after the other
	}
	require.Eventually(t, "page without scripts", plain)
	for range 40 {
		page := s.list(best("all"))
		for i := range 1 + voter%30 {
			voteOn(page[i*i%len(page)])
		}
		if voter%4 == 0 {
			beside.delete(page[voter%len(page)], moderator)
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
