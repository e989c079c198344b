package redisrepo_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
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
	members := s.raw.ZRevRange(s.ctx, order, 0, 24).Val()
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

// withLegacy opens a site whose store only legacy clients have used: article:1 of user:alice, in the groups go
// and programming, with a vote of user:bob.
func withLegacy(t *testing.T, change func(*site.Rules)) *testSite {
	t.Helper()
	s := newSite(t, change)
	s.do("DEL meta:")
	id := bookPost(s, "user:alice")
	bookVote(s, "user:bob", id)
	bookRegroup(s, id, []string{"programming", "go", "Ruby", "Not a Name"}, nil)
	return s.reopened(s.server.Client, nil)
}

func TestArticlesOfLegacyClientsAreRead(t *testing.T) {
	t.Parallel()
	s := withLegacy(t, nil)
	a := s.article(1)
	if got, want := fmt.Sprintf("%q %q %v %s +%d -%d =%d %v %d", a.Title, *a.Link, a.Text, a.Poster.Name, a.Upvotes, a.Downvotes, a.Votes, a.Groups, a.CreatedAt.Sub(opened).Microseconds()),
		`"A title" "http://book.example" <nil> alice +2 -0 =2 [] 123457`; got != want {
		t.Errorf("article = %s, want %s", got, want)
	}
	if want := float64(opened.Unix()) + 0.123457 + 864; a.Score != want || s.do("ZSCORE score: article:1") != want {
		t.Errorf("Score = %f, want %f", a.Score, want)
	}
	if ends := a.VotingEndsAt.Sub(opened); ends != week {
		t.Errorf("voting ends %v after the second of posting, want %v", ends, week)
	}
	for _, l := range []lists.Listing{
		lists.AllArticles(site.ByScore, site.Descending), lists.AllArticles(site.ByTime, site.Ascending),
		best("go"), lists.InGroup("programming", site.ByTime, site.Ascending),
	} {
		s.wantList(l, 1)
	}
	s.wantCounts("go 1", "programming 1")
	if got := s.positions("alice", 1) + s.positions("bob", 1) + s.positions("carol", 1); got != "++0" {
		t.Errorf("positions of alice, bob and carol = %s, want ++0", got)
	}
	s.wantClean()

	s.do("HSET article:2 link http://link-only.example time", opened.Unix())
	s.do("ZADD time:", opened.Unix(), "article:2")
	s.do("ZADD score:", opened.Unix(), "article:2")
	if a := s.article(2); a.Title != "" || *a.Link != "http://link-only.example" || a.Votes != 0 || a.Poster.Name != "" {
		t.Errorf("article with only a link = %s, want no title, votes and poster", show(a))
	}
	if a := s.vote(2, "bob", up).Article; a.Votes != 1 {
		t.Errorf("article with only a link after a vote = %s, want 1 vote", show(a))
	}
	s.do("INCR article:")
	s.wantClean()
}

// The first write through Repo, of any kind, completes an article of a legacy client.
func TestArticlesOfLegacyClientsAreWritten(t *testing.T) {
	t.Parallel()
	type set = []site.GroupName
	both := set{"go", "programming"}
	tests := map[string]struct {
		rules    func(*site.Rules)
		write    func(s *testSite)
		up, down int
		groups   set
	}{
		"a vote":                        {write: func(s *testSite) { s.vote(1, "carol", up) }, up: 3, groups: both},
		"a vote down":                   {write: func(s *testSite) { s.vote(1, "carol", down) }, up: 2, down: 1, groups: both},
		"a repeated vote":               {write: func(s *testSite) { s.vote(1, "bob", up) }, up: 2, groups: both},
		"a withdrawal without a vote":   {write: func(s *testSite) { s.vote(1, "carol", none) }, up: 2, groups: both},
		"a vote taken back":             {write: func(s *testSite) { s.vote(1, "bob", none) }, up: 1, groups: both},
		"a switch":                      {write: func(s *testSite) { s.vote(1, "bob", down) }, up: 1, down: 1, groups: both},
		"the poster's vote taken back":  {write: func(s *testSite) { s.vote(1, "alice", none) }, up: 1, groups: both},
		"the poster's switch":           {write: func(s *testSite) { s.vote(1, "alice", down) }, up: 1, down: 1, groups: both},
		"the poster's, where they fall": {rules: uncounted, write: func(s *testSite) { s.vote(1, "alice", none) }, up: 1, groups: both},
		"a vote, then a legacy one": {write: func(s *testSite) {
			s.vote(1, "carol", down)
			bookVote(s, "user:dave", 1)
			bookVote(s, "user:dave", 1)
			bookVote(s, "user:alice", 1)
			s.do("DEL score:go")
		}, up: 3, down: 1, groups: both},
		"a vote in the last second": {write: func(s *testSite) {
			s.clock.set(week)
			s.vote(1, "carol", up)
		}, up: 3, groups: both},
		"a vote a second later": {write: func(s *testSite) {
			s.clock.set(week + time.Second)
			_, err := s.Vote(s.ctx, 1, "carol", up, "")
			wantRefused(s.t, err, "VOTING_CLOSED article")
		}, up: 2},
		"into a group":       {write: func(s *testSite) { regroup(s, 1, "new") }, up: 2, groups: set{"go", "new", "programming"}},
		"into a group again": {write: func(s *testSite) { regroup(s, 1, "go") }, up: 2, groups: both},
		"out of a group":     {write: func(s *testSite) { s.regroup(s.article(1), nil, []string{"go"}) }, up: 2, groups: set{"programming"}},
		"regrouped by a legacy client": {write: func(s *testSite) {
			bookRegroup(s, 1, []string{"ruby"}, []string{"go"})
			s.wantList(best("ruby"), 1) // adds the group to the list of groups
			s.vote(1, "carol", up)
		}, up: 3, groups: set{"programming", "ruby"}},
		"a vote and a regrouping": {write: func(s *testSite) {
			s.vote(1, "carol", up)
			regroup(s, 1, "new")
			s.vote(1, "dave", down)
		}, up: 3, down: 1, groups: set{"go", "new", "programming"}},
	}
	for name, tt := range tests {
		for _, listed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, listings built: %t", name, listed), func(t *testing.T) {
				t.Parallel()
				s := withLegacy(t, tt.rules)
				if listed {
					bookGroup(s, "go", "score:")
					bookGroup(s, "go", "time:")
					s.list(best("go"))
				}
				tt.write(s)
				a := s.article(1)
				if a.Upvotes != tt.up || a.Downvotes != tt.down || a.Votes != tt.up-tt.down || !slices.Equal(a.Groups, tt.groups) {
					t.Errorf("article = %s, want +%d -%d in %v", show(a), tt.up, tt.down, tt.groups)
				}
				if tt.groups != nil {
					s.wantList(lists.PostedBy("alice"), 1)
				}
				counts, err := s.Articles.ArticleCounts(s.ctx, []site.GroupName{"go"})
				if in := slices.Contains(tt.groups, "go") || tt.groups == nil; err != nil || (counts[0] == 1) != in {
					t.Errorf("ArticleCounts of go = %v, %v, want the article counted: %t", counts, err, in)
				}
				s.wantCleanButVotes()
			})
		}
	}
}

// A legacy client does not know downvotes, so its upvote may be added to a downvote.
func TestLegacyUpvoteOverADownvoteCancelsOut(t *testing.T) {
	t.Parallel()
	tests := map[site.Vote]struct {
		up, down int
		position string
	}{up: {2, 0, "+"}, none: {1, 0, "0"}, down: {1, 1, "-"}}
	for vote, want := range tests {
		t.Run(fmt.Sprint(vote), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			a := s.post("alice")
			s.vote(a.ID, "bob", down)
			bookVote(s, "user:bob", a.ID)
			if got := s.positions("bob", a.ID); got != "0" {
				t.Errorf("position = %s, want 0: one up, one down", got)
			}
			if result := s.vote(a.ID, "bob", vote); result.Previous != none {
				t.Errorf("Previous = %d, want none", result.Previous)
			}
			if a := s.article(a.ID); a.Upvotes != want.up || a.Downvotes != want.down || a.Votes != want.up-want.down {
				t.Errorf("votes = +%d -%d =%d, want +%d -%d", a.Upvotes, a.Downvotes, a.Votes, want.up, want.down)
			}
			if got := s.positions("bob", a.ID); got != want.position {
				t.Errorf("position = %s, want %s", got, want.position)
			}
			s.wantClean()
		})
	}
}

// wantCleanButVotes is wantClean after votes of legacy clients, which leave the calendar as it was.
func (s *testSite) wantCleanButVotes() {
	s.t.Helper()
	for _, violation := range s.violations() {
		if !strings.Contains(violation, ": is in top:") {
			s.t.Errorf("Check reports: %s", violation)
		}
	}
}

func TestLegacyClientsReadOurArticles(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 3 }, one)
	want := func(got []string, want string) {
		t.Helper()
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("the legacy client lists %q, want %q", got, want)
		}
	}
	a, b := s.post("alice", "go"), s.post("alice", "go")
	want(bookList(s, "score:"), "article:2 1 votes, article:1 1 votes")
	want(bookGroup(s, "go", "score:"), "article:2 1 votes, article:1 1 votes")
	s.vote(a.ID, "bob", up)
	want(bookList(s, "score:"), "article:1 2 votes, article:2 1 votes")
	want(bookGroup(s, "go", "score:"), "article:1 2 votes, article:2 1 votes")
	s.wantClean()

	bookVote(s, "user:carol", b.ID)
	bookVote(s, "user:bob", a.ID) // has voted already
	want(bookList(s, "score:"), "article:2 2 votes, article:1 2 votes")
	s.do("PEXPIRE score:go 58000")
	s.wantList(best("go"), b.ID, a.ID)
	s.wantCleanButVotes()

	// Legacy clients do not maintain the group interesting; the next vote does.
	bookVote(s, "user:dave", b.ID)
	s.wantList(best("interesting"))
	s.vote(b.ID, "erin", up)
	s.wantList(best("interesting"), b.ID)
	s.do("PEXPIRE score:go 58000")
	s.wantList(best("go"), b.ID, a.ID)
	s.wantClean()

	c := bookPost(s, "user:alice")
	if d := s.post("alice"); d.ID != c+1 {
		t.Errorf("the post after %v is %v, want the next number", c, d.ID)
	}
	s.wantClean()
}

func TestLegacyGroupIsIndexedWhenItIsListed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	bookRegroup(s, bookPost(s, "user:alice"), []string{"go"}, nil)
	s.wantCounts()
	s.wantList(best("go"), 1)
	s.wantCounts("go 1")
	s.wantClean()
}

func TestLegacyGroupIsIndexedWhenItsArticleIsWritten(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	a := bookPost(s, "user:alice")
	bookRegroup(s, a, []string{"late"}, nil)
	if got := s.vote(a, "bob", up).Article.Groups; len(got) != 1 || got[0] != "late" {
		t.Errorf("groups of the article = %v, want late", got)
	}
	s.wantCounts("late 1")
	s.wantClean()
}

func TestLegacyArticleMayExceedMaxGroups(t *testing.T) {
	t.Parallel()
	s := withLegacy(t, nil)
	for i := range 12 {
		bookRegroup(s, 1, []string{fmt.Sprint("g", i)}, nil)
	}
	s.do("DEL meta:")
	s = s.reopened(s.server.Client, nil)
	if a := s.vote(1, "carol", up).Article; len(a.Groups) != 14 {
		t.Errorf("groups = %v, want 14", a.Groups)
	}
	_, err := s.Regroup(s.ctx, 1, site.Actor{Name: "alice"}, []string{"x"}, []string{"g0"})
	wantRefused(t, err, "TOO_LONG add")
	if a := s.regroup(s.article(1), nil, []string{"g0"}); len(a.Groups) != 13 {
		t.Errorf("groups = %v, want 13", a.Groups)
	}
	s.wantClean()
}

// A legacy client keeps voters for a week, whatever the rules say.
func TestVotingOnALegacyArticleClosesWithoutItsVoters(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		voters []string
		opens  bool
	}{
		"only the poster has voted": {opens: true},
		"another user has voted":    {voters: []string{"user:bob"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			id := bookPost(s, "user:alice")
			for _, voter := range tt.voters {
				bookVote(s, voter, id)
			}
			s.do("DEL voted:1")
			result, err := s.Vote(s.ctx, id, "bob", down, "")
			if !tt.opens {
				wantRefused(t, err, "VOTING_CLOSED article")
				return
			}
			if err != nil || result.Article.Upvotes != 1 || result.Article.Downvotes != 1 {
				t.Fatalf("Vote = %+v, %v, want 1 upvote and 1 downvote", result, err)
			}
			if got := s.positions("alice", id); got != "+" {
				t.Errorf("position of the poster = %s, want +", got)
			}
			s.wantClean()
		})
	}
}

func TestLegacyRemovalFromAGroupIsFollowed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	out, in := s.post("alice", "go"), s.post("alice", "go")
	bookRegroup(s, out.ID, nil, []string{"go"})
	s.wantList(best("go"), in.ID)
	s.vote(out.ID, "bob", up)
	s.wantList(best("go"), in.ID)
	s.regroup(out, []string{"go"}, nil)
	s.wantList(best("go"), out.ID, in.ID)
	s.wantClean()
}
