package redisrepo_test

import (
	"fmt"
	"testing"
	"time"

	"frontpage/redisrepo"
)

// votesOn returns the user's positions on articles, as positions does, and the commands that read them.
func votesOn(s *site, user redisrepo.UserName, ids ...redisrepo.ArticleID) string {
	s.t.Helper()
	counted := new(counter)
	other := s.reopened(s.client(observer(counted.add)), nil)
	articles, _ := other.ArticlesByID(s.ctx, ids)
	counted.reset()
	votes, err := other.Votes(s.ctx, user, articles)
	if err != nil {
		s.t.Fatal(err)
	}
	shown := ""
	for _, vote := range votes {
		if vote == nil {
			shown += "?"
		} else {
			shown += fmt.Sprintf("%c", "-0+"[*vote+1])
		}
	}
	return shown + " " + counted.reset().names
}

// A user's positions are read by one command for each partition and month of posting, and are known after the voters
// are forgotten, for the time of the rules.
func TestVotesAreKnownAfterTheVotersAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *redisrepo.Rules) { r.VoteHistory = 100 * 24 * time.Hour }, one)
	for range 4 {
		s.post("alice")
	}
	s.vote(1, "bob", up)
	s.vote(2, "bob", up)
	s.vote(2, "bob", down)
	s.vote(3, "bob", up)
	s.vote(3, "bob", none)
	for after, want := range map[time.Duration]string{0: "+-00 zmscore", 2 * week: "+-00 zmscore", 139 * 24 * time.Hour: "???? zmscore"} {
		s.clock.set(after)
		if after > 100*24*time.Hour {
			s.do("DEL", "cast:bob:641") // expired; the clock of Redis does not move
		}
		if got := votesOn(s, "bob", 1, 2, 3, 4); got != want {
			t.Errorf("after %v: %s, want %s", after, got, want)
		}
	}
}
