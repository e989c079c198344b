package redisrepo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
)

// A vote is right whatever has happened to the article since this process saw it last.
func TestVotesOnArticlesThatOthersChanged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change  func(s *repotest.Site) // by another process
		refused string
		kept    int64 // minimum of seconds that the voters are kept; 0 if not to be looked at
	}{
		"a downvote":              {change: func(s *repotest.Site) { s.MustVote(1, "eve", down) }},
		"an edit":                 {change: func(s *repotest.Site) { s.MustEdit(1, repotest.Moderator, redisrepo.Edit{Title: new("another")}) }},
		"a regrouping":            {change: func(s *repotest.Site) { s.MustRegroup(s.Article(1), []string{"redis"}, []string{"go"}) }},
		"a deletion":              {change: func(s *repotest.Site) { s.MustDelete(1, repotest.Moderator) }, refused: "NOT_FOUND article"},
		"a deletion and its end":  {change: func(s *repotest.Site) { s.MustDelete(1, repotest.Moderator); s.MustUndelete(1) }},
		"votes below a milestone": {change: func(s *repotest.Site) { upvotes(s, 2) }},
		"nearly interesting":      {change: func(s *repotest.Site) { upvotes(s, 3) }},
		"interesting":             {change: func(s *repotest.Site) { upvotes(s, 4); s.List(repotest.Best("interesting")) }},
		"an hour":                 {change: func(s *repotest.Site) { s.Clock.Advance(time.Hour) }},
		"the last second":         {change: func(s *repotest.Site) { s.Clock.Advance(week) }},
		"the end of voting": {change: func(s *repotest.Site) {
			s.Clock.Advance(week + time.Second)
			s.Do("EXPIRE voted:1 3599") // as the server's clock would have it
			s.Do("HSET clock: front 1000000")
		}, refused: "VOTING_CLOSED article"},
		"forgotten voters":         {change: func(s *repotest.Site) { s.Do("DEL voted:1") }, refused: "VOTING_CLOSED article"},
		"voters without an expiry": {change: func(s *repotest.Site) { s.Do("PERSIST voted:1") }, kept: 600000},
		"a folded day": {change: func(s *repotest.Site) {
			s.Clock.Advance(10 * 24 * time.Hour)
			s.MustPost("alice")
			s.Clock.Advance(-10 * 24 * time.Hour)
			s.Do("HSET clock: folded 20513") // as when the clock was wrong
			s.Do("HSET clock:go folded 20513")
			s.Do("ZADD top:d:20513 3 article:1")
			s.Do("ZADD top:m:641 3 article:1")
		}},
		"the same vote": {change: func(s *repotest.Site) { s.MustVote(1, "bob", up) }},
		"the same vote, and a deletion": {
			change: func(s *repotest.Site) { s.MustVote(1, "bob", up); s.MustDelete(1, repotest.Moderator) }, refused: "NOT_FOUND article",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, func(r *site.Rules) {
				r.GroupTop, r.InterestingVotes, r.Milestones = true, 7, []int{6}
			}, repotest.One)
			s.MustPost("alice", "go")
			s.List(repotest.Best("go"))
			s.MustVote(1, "carol", up)
			s.MustVote(1, "dave", up)
			tt.change(s.Reopened(s.Client(), nil))
			if tt.refused != "" {
				_, err := s.Vote(s.Ctx, 1, "bob", up, "")
				repotest.WantRefused(t, err, tt.refused)
				return
			}
			wanted := s.Article(1).Upvotes + 1
			if strings.HasPrefix(name, "the same") {
				wanted--
			}
			result := s.MustVote(1, "bob", up)
			if result.Changed == strings.HasPrefix(name, "the same") || result.Article.Upvotes != wanted {
				t.Errorf("changed: %t, %d upvotes, want %d", result.Changed, result.Article.Upvotes, wanted)
			}
			if left := s.Do("TTL voted:1").(int64); left < tt.kept {
				t.Errorf("the voters are kept for %d s, want at least %d", left, tt.kept)
			}
			if name != "a folded day" { // which check reports: the list of the hour has the article, too
				s.WantClean()
			}
			repotest.WantEqual(t, result.Article, s.Reopened(s.Client(), nil).Article(1))
		})
	}
}

// upvotes casts the votes of other users on article 1.
func upvotes(s *repotest.Site, n int) {
	for i := range n {
		s.MustVote(1, site.UserName(fmt.Sprint("u", i)), up)
	}
}
