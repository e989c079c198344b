package redisrepo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/must"
	"frontpage/tests/redistest"
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
		"interesting, not listed": {change: func(s *testSite) { s.upvotes(4); s.do("SREM group:interesting article:1") }},
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

// An upvote that fails at any of its commands leaves the store as it was.
func TestUpvoteThatFailsIsUndone(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.GroupTop, r.InterestingVotes, r.Milestones = true, 2, nil }, one)
	hook := new(capture)
	hook.after = 1000
	voting := s.reopened(s.client(redistest.Hook(hook.hook)), nil)
	s.post("alice", "go", "redis")
	s.vote(s.post("alice").ID, "bob", up) // so that bob has a list of votes
	for _, name := range []site.GroupName{"go", "redis", "interesting"} {
		s.list(best(name))
	}
	voting.vote(1, "carol", up) // now the process knows the article
	s.do("HSET clock: p:h:492324 1")
	s.do("HSET clock:go p:h:492324 1")
	hook.after = 0
	_, _ = voting.Vote(s.ctx, 1, "bob", up, "")
	hook.after = 1000
	must.Do(t, s.CatchUpAll(s.ctx))
	must.Do(t, s.Fold(s.ctx, "go", "redis")) // which happens in the background otherwise, at any moment of the test
	restore := s.snapshot()
	failed := 0
	keys := hook.args[2].(int)
	for i := range keys {
		key := hook.args[3+i].(string)
		if key == "downvoted:1" || key == "time:interesting" || key == "void:1" {
			continue // they are not used
		}
		restore()
		s.do("DEL", key)
		s.do("SET", key, "wrong")
		before := s.dump()
		if _, err := voting.Vote(s.ctx, 1, "bob", up, ""); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%s: err = %v, want WRONGTYPE", key, err)
		} else {
			failed++
		}
		s.wantStore(before, key, ":")
	}
	if failed < 8 {
		t.Errorf("%d votes failed, want at least 8", failed)
	}
	restore()
	if !s.knowsRights() {
		return
	}
	client := s.limited("~* &* +@all")
	for _, missing := range []string{
		"-hset", "-sadd", "-zadd", "-xadd", "-hmget", "-zcard", "-pttl", "resetkeys ~[a-df-z]*",
		"resetkeys ~[a-rt-z]* ~score:", "resetkeys ~[a-su-z]*",
	} {
		s.vote(1, "carol", none)
		other := s.reopened(client, nil) // one that saw a refused write waits
		other.vote(1, "carol", up)
		s.do("ACL SETUSER limited " + missing)
		before := s.dump()
		if _, err := other.Vote(s.ctx, 1, "bob", up, ""); err == nil {
			t.Errorf("with %s the vote was accepted", missing)
		}
		s.wantStore(before, "with ", missing)
		s.do("ACL SETUSER limited ~* +@all")
	}
	s.vote(1, "bob", up)
	s.wantClean()
}

// A vote whose place in the voter's list cannot be changed is undone, whatever the position before.
func TestVoteWhoseListFailsIsUndone(t *testing.T) {
	t.Parallel()
	for _, before := range []site.Vote{up, none, down} {
		for _, vote := range []site.Vote{up, none, down} {
			if vote == before {
				continue
			}
			t.Run(fmt.Sprint(before, " to ", vote), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 2 }, one) // so the vote changes that, too
				s.post("alice")
				s.list(best("interesting"))
				s.vote(1, "carol", up)
				s.vote(1, "bob", before)
				wantUndone := func(other *testSite, what string) {
					t.Helper()
					stored := s.dump()
					if _, err := other.Vote(s.ctx, 1, "bob", vote, ""); err == nil {
						t.Errorf("%s: the vote was accepted", what)
					}
					s.wantStore(stored, what, ":")
				}
				restore := s.snapshot()
				s.do("DEL cast:bob:641")
				s.do("SET cast:bob:641 wrong")
				wantUndone(s, "a list of another type")
				restore()
				if !s.knowsRights() {
					return
				}
				client := s.limited("~* &* +@all")
				for _, missing := range []string{"-zcard", "-zrem", "-expire"} {
					if missing == "-zrem" && before == none || missing == "-expire" && (before != none || vote == none) {
						continue // not needed
					}
					other := s.reopened(client, nil)
					s.do("ACL SETUSER limited " + missing)
					wantUndone(other, missing)
					s.do("ACL SETUSER limited +@all")
				}
				s.vote(1, "bob", vote)
				s.wantClean()
			})
		}
	}
}
