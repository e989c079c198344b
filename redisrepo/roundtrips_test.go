package redisrepo_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// counter counts what a client sends.
type counter struct {
	mutex sync.Mutex
	calls
}

type calls struct {
	trips, commands int
	names           string // of the commands, separated by blanks
}

func (c *counter) add(commands ...redis.Cmder) {
	if redistest.IsAside(commands[0]) {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.trips++
	c.commands += len(commands)
	for _, command := range commands {
		c.names = strings.TrimSpace(c.names + " " + command.Name())
	}
}

// reset returns the counts since its last call.
func (c *counter) reset() calls {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	counted := c.calls
	c.calls = calls{}
	return counted
}

type setup struct {
	*testSite                         // the process whose commands are counted
	beside             *testSite      // another process on the same store
	ungrouped, grouped site.ArticleID // in no group, in two groups
}

func TestEachCallMakesItsNumberOfRoundTrips(t *testing.T) {
	t.Parallel()
	ids := func(s setup) []site.ArticleID {
		return []site.ArticleID{s.ungrouped, s.grouped, 98, 99}
	}
	tests := map[string]struct {
		before, call func(s setup)
		want         calls
	}{
		"a post":                                 {call: func(s setup) { s.post("alice", "a", "b", "c") }, want: calls{2, 3, "get incrby evalsha"}},
		"a vote on an article that was not read": {call: func(s setup) { s.vote(s.ungrouped, "bob", up) }, want: calls{1, 1, "evalsha"}},
		"a vote after the window":                {before: func(s setup) { s.clock.set(2 * week) }, call: func(s setup) { _, _ = s.Vote(s.ctx, s.grouped, "bob", up, "") }, want: calls{1, 1, "evalsha"}},
		"a vote on an article in groups": {
			call: func(s setup) { s.vote(s.grouped, "bob", up) }, want: calls{1, 1, "evalsha"}},
		"a vote on an article that was read": {
			before: func(s setup) { s.article(s.grouped) },
			call:   func(s setup) { s.vote(s.grouped, "bob", up) }, want: calls{1, 1, "evalsha"}},
		"a second vote": {
			before: func(s setup) { s.vote(s.grouped, "bob", up) },
			call:   func(s setup) { s.vote(s.grouped, "bob", down) }, want: calls{1, 1, "evalsha"}},
		"a vote on an article that was regrouped elsewhere": {
			before: func(s setup) { s.beside.regroup(s.article(s.grouped), []string{"c"}, nil) },
			call:   func(s setup) { s.vote(s.grouped, "bob", up) }, want: calls{1, 1, "evalsha"}},
		"a regrouping":                         {call: func(s setup) { regroup(s.testSite, s.ungrouped, "c") }, want: calls{1, 1, "evalsha"}},
		"a regrouping of an article in groups": {call: func(s setup) { regroup(s.testSite, s.grouped, "c") }, want: calls{2, 2, "evalsha evalsha"}},
		"a deletion by the poster": {
			before: func(s setup) { s.article(s.grouped) },
			call:   func(s setup) { s.delete(s.grouped, alice()) }, want: calls{2, 2, "evalsha evalsha"}}, // its link is read
		"a deletion of a text by the poster": {
			before: func(s setup) { _, _ = s.beside.Post(s.ctx, "alice", site.Draft{Title: "t", Text: new("x")}) },
			call:   func(s setup) { s.delete(s.grouped+1, alice()) }, want: calls{1, 1, "evalsha"}},
		"a deletion by a moderator":      {call: func(s setup) { s.delete(s.grouped, moderator) }, want: calls{2, 2, "evalsha evalsha"}},
		"an undeletion":                  {before: func(s setup) { s.beside.delete(s.grouped, moderator) }, call: func(s setup) { s.undelete(s.grouped) }, want: calls{2, 2, "evalsha evalsha"}},
		"a vote with a bucket":           {before: func(s setup) { s.article(s.ungrouped) }, call: func(s setup) { _, _ = s.Vote(s.ctx, s.ungrouped, "bob", up, "b") }, want: calls{1, 1, "evalsha"}},
		"a post with a key":              {call: func(s setup) { keyedPost(s.testSite) }, want: calls{2, 3, "get incrby evalsha"}},
		"the moderation log":             {call: func(s setup) { _ = s.log() }, want: calls{1, 1, "xrevrange"}},
		"a listing":                      {call: func(s setup) { s.list(lists.AllArticles(site.ByScore, site.Descending)) }, want: calls{1, 1, "zrange"}},
		"a listing of a group":           {call: func(s setup) { s.list(best("a")) }, want: calls{1, 1, "evalsha"}},
		"a listing of a host's articles": {call: func(s setup) { s.list(lists.LinkingTo("example.com")) }, want: calls{1, 1, "zrange"}},
		"a listing of a user's articles": {call: func(s setup) { s.list(lists.PostedBy("alice")) }, want: calls{1, 1, "zrange"}},
		"a ranking":                      {before: func(s setup) { s.ranking(rankings.RankQuery{}); _ = s.Views.CatchUp(s.ctx) }, call: func(s setup) { s.ranking(rankings.RankQuery{}) }, want: calls{1, 3, "hget xrange evalsha"}},
		"a ranking after votes":          {before: func(s setup) { s.ranking(rankings.RankQuery{}) }, call: func(s setup) { s.ranking(rankings.RankQuery{}) }, want: calls{1, 3, "hget xrange evalsha"}},
		"articles":                       {call: func(s setup) { s.Articles.ArticlesByID(s.ctx, ids(s)) }, want: calls{1, 4, "hgetall hgetall hgetall hgetall"}},
		"no articles":                    {call: func(s setup) { s.Articles.ArticlesByID(s.ctx, nil) }},
		"counts":                         {call: func(s setup) { _, _ = s.Articles.ArticleCounts(s.ctx, []site.GroupName{"a", "b"}) }, want: calls{1, 2, "scard scard"}},
		"no counts":                      {call: func(s setup) { _, _ = s.Articles.ArticleCounts(s.ctx, nil) }},
		"groups":                         {call: func(s setup) { _, _, _ = s.Lists.Groups(s.ctx, lists.GroupList{}, site.PageRequest{}) }, want: calls{1, 1, "zrange"}},
		"groups by size":                 {call: func(s setup) { groupsBySize(s.testSite) }, want: calls{1, 1, "evalsha"}},
		"an article by its link":         {call: func(s setup) { _, _ = s.Articles.ArticleByLink(s.ctx, "https://example.com/") }, want: calls{1, 1, "get"}},
		"positions":                      {call: func(s setup) { votesOf(s.testSite, s.ungrouped, s.grouped) }, want: calls{1, 1, "evalsha"}},
		"forgotten positions": {before: func(s setup) { s.clock.set(2 * week) },
			call: func(s setup) { votesOf(s.testSite, s.ungrouped, s.grouped) }, want: calls{1, 3, "hget xrange zmscore"}},
		"an import":                                   {call: func(s setup) { s.Import(s.ctx, oldArticles(3)) }, want: calls{3, 7, "evalsha evalsha evalsha evalsha set set set"}},
		"an import without loaded scripts":            {before: flush, call: func(s setup) { s.Import(s.ctx, oldArticles(1)) }, want: calls{5, 5, "evalsha eval evalsha eval set"}},
		"a listing of a group without loaded scripts": {before: flush, call: func(s setup) { s.list(best("a")) }, want: calls{2, 2, "evalsha eval"}},
		"a vote without loaded scripts":               {before: func(s setup) { s.article(s.ungrouped); flush(s) }, call: func(s setup) { s.vote(s.ungrouped, "bob", up) }, want: calls{2, 2, "evalsha eval"}},
		"a post without loaded scripts":               {before: flush, call: func(s setup) { s.post("alice") }, want: calls{3, 4, "get incrby evalsha eval"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside := newSite(t, nil, one)
			counted := new(counter)
			s := setup{testSite: beside.reopened(beside.client(redistest.Before(counted.add)), nil), beside: beside}
			s.ungrouped, s.grouped = beside.post("alice").ID, beside.post("alice", "a", "b").ID
			if tt.before != nil {
				tt.before(s)
			}
			counted.reset()
			tt.call(s)
			if got := counted.reset(); got != tt.want {
				t.Errorf("%d round trips with %d commands: %s; want %d with %d: %s",
					got.trips, got.commands, got.names, tt.want.trips, tt.want.commands, tt.want.names)
			}
		})
	}
}

// A restarted Redis has no scripts: each call loads the ones that it needs.
func TestScriptsAreLoadedAgainAfterARestart(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.do("SCRIPT FLUSH")
	a := s.post("alice", "go")
	s.do("SCRIPT FLUSH")
	s.vote(a.ID, "bob", up)
	s.do("SCRIPT FLUSH")
	s.regroup(a, []string{"x"}, nil)
	s.do("SCRIPT FLUSH")
	s.delete(a.ID, moderator)
	s.do("SCRIPT FLUSH")
	s.undelete(a.ID)
	s.do("SCRIPT FLUSH")
	s.wantList(best("go"), a.ID)
	s.do("SCRIPT FLUSH")
	if added, errs := s.Import(s.ctx, oldArticles(3)); errs[0] != nil || !added[0] || !added[1] || !added[2] {
		t.Errorf("Import = %v, %v, want all articles added", added, errs)
	}
	s.wantClean()
}

func groupsBySize(s *testSite) {
	s.t.Helper()
	_, _, err := s.Lists.Groups(s.ctx, lists.GroupList{Order: site.ByArticleCount}, site.PageRequest{})
	require.NoError(s.t, err)
}

func keyedPost(s *testSite) {
	s.t.Helper()
	d := s.fresh()
	d.IdempotencyKey = new("key")
	require.Value(s.Post(s.ctx, "alice", d))(s.t)
}

// If the key's partition differs from the link's, the key is claimed in the round trip that draws the number.
func TestKeyedPostInPartitionsMakesTwoRoundTrips(t *testing.T) {
	t.Parallel()
	partitions := redisrepo.WithPartitions(len(four))
	counted := new(counter)
	beside := newSite(t, nil, partitions)
	s := beside.reopened(beside.client(redistest.Before(counted.add)), nil, partitions)
	s.post("alice") // claims the name
	seen := map[calls]bool{}
	for range 40 { // some of 40 links belong to the partition of their key
		counted.reset()
		d := s.fresh()
		d.IdempotencyKey = new("key " + *d.Link)
		require.Value(s.Post(s.ctx, "alice", d))(t)
		seen[counted.reset()] = true
	}
	if len(seen) != 2 || !seen[calls{2, 3, "get incrby evalsha"}] || !seen[calls{2, 4, "get evalsha incrby evalsha"}] {
		t.Errorf("commands of the posts = %v, want both kinds: with a claim and without", seen)
	}
}

func flush(s setup) { s.do("SCRIPT FLUSH") }

func regroup(s *testSite, id site.ArticleID, add string) {
	s.t.Helper()
	if _, err := s.Regroup(s.ctx, id, site.Actor{Name: "alice"}, []string{add}, nil); err != nil {
		s.t.Fatalf("Regroup %v: %v", id, err)
	}
}

func votesOf(s *testSite, ids ...site.ArticleID) {
	s.t.Helper()
	articles := make([]*site.Article, len(ids))
	for i, id := range ids {
		articles[i] = &site.Article{ID: id, VotingEndsAt: opened.Add(week)}
	}
	require.Value(s.Casts.Votes(s.ctx, "bob", articles))(s.t)
}

func oldArticles(n int) []redisrepo.Imported {
	articles := make([]redisrepo.Imported, n)
	for i := range articles {
		articles[i] = redisrepo.Imported{
			ID: site.ArticleID(1001 + i), Poster: "zoe", PostedAt: opened.Add(-4 * week), Votes: i, Draft: draft("old"),
		}
	}
	return articles
}
