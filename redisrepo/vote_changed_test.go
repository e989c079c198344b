package redisrepo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// A vote is right whatever has happened to the article since this process saw it last.
func TestVotesOnArticlesThatOthersChanged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change  func(s *testSite) // by another process
		refused string
		kept    int64 // minimum of seconds that the voters are kept; 0 if not to be looked at
	}{
		"a downvote":              {change: func(s *testSite) { s.vote(1, "eve", down) }},
		"an edit":                 {change: func(s *testSite) { s.edit(1, moderator, redisrepo.Edit{Title: new("another")}) }},
		"a regrouping":            {change: func(s *testSite) { s.regroup(s.article(1), []string{"redis"}, []string{"go"}) }},
		"a deletion":              {change: func(s *testSite) { s.delete(1, moderator) }, refused: "NOT_FOUND article"},
		"a deletion and its end":  {change: func(s *testSite) { s.delete(1, moderator); s.undelete(1) }},
		"votes below a milestone": {change: func(s *testSite) { s.upvotes(2) }},
		"nearly interesting":      {change: func(s *testSite) { s.upvotes(3) }},
		"interesting":             {change: func(s *testSite) { s.upvotes(4); s.list(best("interesting")) }},
		"an hour":                 {change: func(s *testSite) { s.clock.advance(time.Hour) }},
		"the last second":         {change: func(s *testSite) { s.clock.advance(week) }},
		"the end of voting": {change: func(s *testSite) {
			s.clock.advance(week + time.Second)
			s.do("EXPIRE voted:1 3599") // as the server's clock would have it
			s.do("HSET clock: front 1000000")
		}, refused: "VOTING_CLOSED article"},
		"forgotten voters":         {change: func(s *testSite) { s.do("DEL voted:1") }, refused: "VOTING_CLOSED article"},
		"voters without an expiry": {change: func(s *testSite) { s.do("PERSIST voted:1") }, kept: 600000},
		"a folded day": {change: func(s *testSite) {
			s.clock.advance(10 * 24 * time.Hour)
			s.post("alice")
			s.clock.advance(-10 * 24 * time.Hour)
			s.do("HSET clock: folded 20513") // as when the clock was wrong
			s.do("HSET clock:go folded 20513")
			s.do("ZADD top:d:20513 3 article:1")
			s.do("ZADD top:m:641 3 article:1")
		}},
		"the same vote": {change: func(s *testSite) { s.vote(1, "bob", up) }},
		"the same vote, and a deletion": {
			change: func(s *testSite) { s.vote(1, "bob", up); s.delete(1, moderator) }, refused: "NOT_FOUND article",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(r *site.Rules) {
				r.GroupTop, r.InterestingVotes, r.Milestones = true, 7, []int{6}
			}, one)
			s.post("alice", "go")
			s.list(best("go"))
			s.vote(1, "carol", up)
			s.vote(1, "dave", up)
			tt.change(s.reopened(s.client(), nil))
			if tt.refused != "" {
				_, err := s.Vote(s.ctx, 1, "bob", up, "")
				wantRefused(t, err, tt.refused)
				return
			}
			wanted := s.article(1).Upvotes + 1
			if strings.HasPrefix(name, "the same") {
				wanted--
			}
			result := s.vote(1, "bob", up)
			if result.Changed == strings.HasPrefix(name, "the same") || result.Article.Upvotes != wanted {
				t.Errorf("changed: %t, %d upvotes, want %d", result.Changed, result.Article.Upvotes, wanted)
			}
			if left := s.do("TTL voted:1").(int64); left < tt.kept {
				t.Errorf("the voters are kept for %d s, want at least %d", left, tt.kept)
			}
			if name != "a folded day" { // which check reports: the list of the hour has the article, too
				s.wantClean()
			}
			wantEqual(t, result.Article, s.reopened(s.client(), nil).article(1))
		})
	}
}

// upvotes casts the votes of other users on article 1.
func (s *testSite) upvotes(n int) {
	for i := range n {
		s.vote(1, site.UserName(fmt.Sprint("u", i)), up)
	}
}
