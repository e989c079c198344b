package redisrepo_test

import (
	"testing"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// calls are repotest.Calls that a table can write without the names of the fields.
type calls = struct {
	Trips, Commands int
	Names           string
}

type setup struct {
	*repotest.Site                    // the process whose commands are counted
	beside             *repotest.Site // another process on the same store
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
		"a post":                                 {call: func(s setup) { s.MustPost("alice", "a", "b", "c") }, want: calls{2, 3, "get incrby evalsha"}},
		"a vote on an article that was not read": {call: func(s setup) { s.MustVote(s.ungrouped, "bob", up) }, want: calls{1, 1, "evalsha"}},
		"a vote after the window":                {before: func(s setup) { s.Clock.Set(2 * week) }, call: func(s setup) { _, _ = s.Vote(s.Ctx, s.grouped, "bob", up, "") }, want: calls{1, 1, "evalsha"}},
		"a vote on an article in groups": {
			call: func(s setup) { s.MustVote(s.grouped, "bob", up) }, want: calls{1, 1, "evalsha"}},
		"a vote on an article that was read": {
			before: func(s setup) { s.Article(s.grouped) },
			call:   func(s setup) { s.MustVote(s.grouped, "bob", up) }, want: calls{1, 1, "evalsha"}},
		"a second vote": {
			before: func(s setup) { s.MustVote(s.grouped, "bob", up) },
			call:   func(s setup) { s.MustVote(s.grouped, "bob", down) }, want: calls{1, 1, "evalsha"}},
		"a vote on an article that was regrouped elsewhere": {
			before: func(s setup) { s.beside.MustRegroup(s.Article(s.grouped), []string{"c"}, nil) },
			call:   func(s setup) { s.MustVote(s.grouped, "bob", up) }, want: calls{1, 1, "evalsha"}},
		"a regrouping":                         {call: func(s setup) { regroup(s.Site, s.ungrouped, "c") }, want: calls{1, 1, "evalsha"}},
		"a regrouping of an article in groups": {call: func(s setup) { regroup(s.Site, s.grouped, "c") }, want: calls{2, 2, "evalsha evalsha"}},
		"a deletion by the poster": {
			before: func(s setup) { s.Article(s.grouped) },
			call:   func(s setup) { s.MustDelete(s.grouped, repotest.Alice()) }, want: calls{2, 2, "evalsha evalsha"}}, // its link is read
		"a deletion of a text by the poster": {
			before: func(s setup) { _, _ = s.beside.Post(s.Ctx, "alice", site.Draft{Title: "t", Text: new("x")}) },
			call:   func(s setup) { s.MustDelete(s.grouped+1, repotest.Alice()) }, want: calls{1, 1, "evalsha"}},
		"a deletion by a moderator":      {call: func(s setup) { s.MustDelete(s.grouped, repotest.Moderator) }, want: calls{2, 2, "evalsha evalsha"}},
		"an undeletion":                  {before: func(s setup) { s.beside.MustDelete(s.grouped, repotest.Moderator) }, call: func(s setup) { s.MustUndelete(s.grouped) }, want: calls{2, 2, "evalsha evalsha"}},
		"a vote with a bucket":           {before: func(s setup) { s.Article(s.ungrouped) }, call: func(s setup) { _, _ = s.Vote(s.Ctx, s.ungrouped, "bob", up, "b") }, want: calls{1, 1, "evalsha"}},
		"a post with a key":              {call: func(s setup) { keyedPost(s.Site) }, want: calls{2, 3, "get incrby evalsha"}},
		"the moderation log":             {call: func(s setup) { _ = s.ModerationLog() }, want: calls{1, 1, "xrevrange"}},
		"a listing":                      {call: func(s setup) { s.List(lists.AllArticles(site.ByScore, site.Descending)) }, want: calls{1, 1, "zrange"}},
		"a listing of a group":           {call: func(s setup) { s.List(repotest.Best("a")) }, want: calls{1, 1, "evalsha"}},
		"a listing of a host's articles": {call: func(s setup) { s.List(lists.LinkingTo("example.com")) }, want: calls{1, 1, "zrange"}},
		"a listing of a user's articles": {call: func(s setup) { s.List(lists.PostedBy("alice")) }, want: calls{1, 1, "zrange"}},
		"a ranking":                      {before: func(s setup) { s.Ranking(rankings.RankQuery{}); _ = s.Views.CatchUp(s.Ctx) }, call: func(s setup) { s.Ranking(rankings.RankQuery{}) }, want: calls{1, 3, "hget xrange evalsha"}},
		"a ranking after votes":          {before: func(s setup) { s.Ranking(rankings.RankQuery{}) }, call: func(s setup) { s.Ranking(rankings.RankQuery{}) }, want: calls{1, 3, "hget xrange evalsha"}},
		"articles":                       {call: func(s setup) { s.Articles.ArticlesByID(s.Ctx, ids(s)) }, want: calls{1, 4, "hgetall hgetall hgetall hgetall"}},
		"no articles":                    {call: func(s setup) { s.Articles.ArticlesByID(s.Ctx, nil) }},
		"counts":                         {call: func(s setup) { _, _ = s.Articles.ArticleCounts(s.Ctx, []site.GroupName{"a", "b"}) }, want: calls{1, 2, "scard scard"}},
		"no counts":                      {call: func(s setup) { _, _ = s.Articles.ArticleCounts(s.Ctx, nil) }},
		"groups":                         {call: func(s setup) { _, _, _ = s.Lists.Groups(s.Ctx, lists.GroupList{}, site.PageRequest{}) }, want: calls{1, 1, "zrange"}},
		"groups by size":                 {call: func(s setup) { groupsBySize(s.Site) }, want: calls{1, 1, "evalsha"}},
		"an article by its link":         {call: func(s setup) { _, _ = s.Articles.ArticleByLink(s.Ctx, "https://example.com/") }, want: calls{1, 1, "get"}},
		"positions":                      {call: func(s setup) { votesOf(s.Site, s.ungrouped, s.grouped) }, want: calls{1, 1, "evalsha"}},
		"forgotten positions": {before: func(s setup) { s.Clock.Set(2 * week) },
			call: func(s setup) { votesOf(s.Site, s.ungrouped, s.grouped) }, want: calls{1, 3, "hget xrange zmscore"}},
		"an import":                                   {call: func(s setup) { s.Import(s.Ctx, repotest.OldArticles(3)) }, want: calls{3, 7, "evalsha evalsha evalsha evalsha set set set"}},
		"an import without loaded scripts":            {before: flush, call: func(s setup) { s.Import(s.Ctx, repotest.OldArticles(1)) }, want: calls{5, 5, "evalsha eval evalsha eval set"}},
		"a listing of a group without loaded scripts": {before: flush, call: func(s setup) { s.List(repotest.Best("a")) }, want: calls{2, 2, "evalsha eval"}},
		"a vote without loaded scripts":               {before: func(s setup) { s.Article(s.ungrouped); flush(s) }, call: func(s setup) { s.MustVote(s.ungrouped, "bob", up) }, want: calls{2, 2, "evalsha eval"}},
		"a post without loaded scripts":               {before: flush, call: func(s setup) { s.MustPost("alice") }, want: calls{3, 4, "get incrby evalsha eval"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside := repotest.New(t, nil, repotest.One)
			counted := new(repotest.Counter)
			s := setup{Site: beside.Reopened(beside.Client(redistest.Before(counted.Add)), nil), beside: beside}
			s.ungrouped, s.grouped = beside.MustPost("alice").ID, beside.MustPost("alice", "a", "b").ID
			if tt.before != nil {
				tt.before(s)
			}
			counted.Reset()
			tt.call(s)
			if got := counted.Reset(); got != tt.want {
				t.Errorf("%d round trips with %d commands: %s; want %d with %d: %s",
					got.Trips, got.Commands, got.Names, tt.want.Trips, tt.want.Commands, tt.want.Names)
			}
		})
	}
}

// A restarted Redis has no scripts: each call loads the ones that it needs.
func TestScriptsAreLoadedAgainAfterARestart(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.Do("SCRIPT FLUSH")
	a := s.MustPost("alice", "go")
	s.Do("SCRIPT FLUSH")
	s.MustVote(a.ID, "bob", up)
	s.Do("SCRIPT FLUSH")
	s.MustRegroup(a, []string{"x"}, nil)
	s.Do("SCRIPT FLUSH")
	s.MustDelete(a.ID, repotest.Moderator)
	s.Do("SCRIPT FLUSH")
	s.MustUndelete(a.ID)
	s.Do("SCRIPT FLUSH")
	s.WantList(repotest.Best("go"), a.ID)
	s.Do("SCRIPT FLUSH")
	if added, errs := s.Import(s.Ctx, repotest.OldArticles(3)); errs[0] != nil || !added[0] || !added[1] || !added[2] {
		t.Errorf("Import = %v, %v, want all articles added", added, errs)
	}
	s.WantClean()
}

func groupsBySize(s *repotest.Site) {
	s.T.Helper()
	_, _, err := s.Lists.Groups(s.Ctx, lists.GroupList{Order: site.ByArticleCount}, site.PageRequest{})
	require.NoError(s.T, err)
}

func keyedPost(s *repotest.Site) {
	s.T.Helper()
	d := s.Fresh()
	d.IdempotencyKey = new("key")
	require.Value(s.Post(s.Ctx, "alice", d))(s.T)
}

// If the key's partition differs from the link's, the key is claimed in the round trip that draws the number.
func TestKeyedPostInPartitionsMakesTwoRoundTrips(t *testing.T) {
	t.Parallel()
	partitions := redisrepo.WithPartitions(len(repotest.Four))
	counted := new(repotest.Counter)
	beside := repotest.New(t, nil, partitions)
	s := beside.Reopened(beside.Client(redistest.Before(counted.Add)), nil, partitions)
	s.MustPost("alice") // claims the name
	seen := map[calls]bool{}
	for range 40 { // some of 40 links belong to the partition of their key
		counted.Reset()
		d := s.Fresh()
		d.IdempotencyKey = new("key " + *d.Link)
		require.Value(s.Post(s.Ctx, "alice", d))(t)
		seen[counted.Reset()] = true
	}
	if len(seen) != 2 || !seen[calls{2, 3, "get incrby evalsha"}] || !seen[calls{2, 4, "get evalsha incrby evalsha"}] {
		t.Errorf("commands of the posts = %v, want both kinds: with a claim and without", seen)
	}
}

func flush(s setup) { s.Do("SCRIPT FLUSH") }

func regroup(s *repotest.Site, id site.ArticleID, add string) {
	s.T.Helper()
	if _, err := s.Regroup(s.Ctx, id, site.Actor{Name: "alice"}, []string{add}, nil); err != nil {
		s.T.Fatalf("Regroup %v: %v", id, err)
	}
}

func votesOf(s *repotest.Site, ids ...site.ArticleID) {
	s.T.Helper()
	articles := make([]*site.Article, len(ids))
	for i, id := range ids {
		articles[i] = &site.Article{ID: id, VotingEndsAt: repotest.Opened.Add(week)}
	}
	require.Value(s.Casts.Votes(s.Ctx, "bob", articles))(s.T)
}
