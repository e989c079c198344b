package redisrepo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
)

func TestChangedRulesApplyToExistingArticles(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 3 }, partitions)
		var ids []site.ArticleID
		for i := range 250 { // more than one batch
			a := s.post("alice", "go", []string{"even", "odd"}[i%2])
			ids = append(ids, a.ID)
			s.clock.advance(time.Second)
		}
		first, second, last := ids[0], ids[1], ids[249]
		for _, voter := range []site.UserName{"bob", "carol"} {
			s.vote(first, voter, up)
		}
		s.vote(second, "bob", up)
		s.vote(last, "bob", down)
		s.wantList(best("interesting"), first)
		if top := s.list(best("go")); top[0] != first || top[1] != second {
			t.Errorf("go = %v, want %v and %v first", top, first, second)
		}

		s = s.reopened(s.server.Client, func(r *site.Rules) {
			r.VoteScore, r.InterestingVotes, r.VotingWindow = 100, 2, day
		}, partitions)
		s.wantClean()
		s.wantList(best("interesting"), first, second)
		a := s.article(first)
		if a.Score != float64(opened.Unix()+300) || a.VotingEndsAt.Sub(opened) != day {
			t.Errorf("Score = %f, voting ends at %v, want %d and a day later", a.Score, a.VotingEndsAt, opened.Unix()+300)
		}
		// 100 s for each vote no longer rank the first article above articles that were posted minutes
		// later.
		if top := s.list(best("go")); !slices.Equal(top[:2], []site.ArticleID{ids[248], ids[247]}) {
			t.Errorf("go = %v, want %v and %v first", top, ids[248], ids[247])
		}
		key := fmt.Sprint(tags[int(last)%len(tags)], "downvoted:", int(last))
		const want = day + time.Hour
		if left := s.ttl(key); left > want || left < want-time.Minute {
			t.Errorf("%s expires in %v, want %v", key, left, want)
		}

		s = s.reopened(s.server.Client, func(r *site.Rules) { r.InterestingVotes = 200 }, partitions)
		s.wantList(best("interesting"))
		s.wantClean()
	})
}

func TestLongerWindowDoesNotReopenArticlesWithoutVoters(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.VotingWindow, r.VoteHistory = time.Hour, site.NoHistory }, one)
	a := s.post("alice")
	s.vote(a.ID, "bob", up)
	s.clock.set(3 * time.Hour)
	// Redis expires keys by its own clock; this is what it does at that time.
	s.do("DEL voted:1 downvoted:1")
	young := s.post("alice")
	s = s.reopened(s.server.Client, func(r *site.Rules) { r.VotingWindow = week })
	_, err := s.Vote(s.ctx, a.ID, "bob", up, "")
	wantRefused(t, err, "VOTING_CLOSED article")
	s.vote(young.ID, "bob", up)
	if got := s.article(a.ID).Votes; got != 2 {
		t.Errorf("votes = %d, want 2", got)
	}
	// What is shown of the viewer agrees with that, in every process from then on.
	for _, s := range []*testSite{s, s.reopened(s.server.Client, nil), s.reopened(s.server.Client, func(r *site.Rules) { r.VotingWindow = 2 * week })} {
		if a := s.article(a.ID); s.Articles.CanVote("bob", a) || s.positions("bob", a.ID) != "?" {
			t.Errorf("CanVote = %v and the position is %s, want no vote and an unknown position", s.Articles.CanVote("bob", a), s.positions("bob", a.ID))
		}
		if a := s.article(young.ID); !s.Articles.CanVote("bob", a) || s.positions("bob", a.ID) == "?" {
			t.Errorf("CanVote = %v and the position is %s for an article whose voters are known", s.Articles.CanVote("bob", a), s.positions("bob", a.ID))
		}
	}
}

func TestShorterWindowForgetsVoters(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	old := s.post("alice")
	s.clock.set(2 * day)
	young := s.post("alice")
	s.clock.set(2*day + time.Hour)
	s = s.reopened(s.server.Client, func(r *site.Rules) { r.VotingWindow = day })
	if s.do("EXISTS voted:1") != int64(0) || s.do("EXISTS voted:2") != int64(1) {
		t.Errorf("sets of voters = %v, want voted:2 and not voted:1", s.raw.Keys(s.ctx, "voted:*").Val())
	}
	_, err := s.Vote(s.ctx, old.ID, "bob", up, "")
	wantRefused(t, err, "VOTING_CLOSED article")
	s.vote(young.ID, "bob", up)
	s.wantClean()
}

// New reads all articles only if the rules have changed since the last time.
func TestUnchangedRulesAreNotAppliedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.post("alice")
	calls := new(counter)
	client := s.client(redistest.Before(calls.add))
	s.reopened(client, nil)
	if names := calls.reset().names; strings.Contains(names, "zscan") {
		t.Errorf("New under the same rules sent %s, want no scan of the articles", names)
	}
	s.reopened(client, func(r *site.Rules) { r.VoteScore = 1 })
	if names := calls.reset().names; !strings.Contains(names, "zscan") {
		t.Errorf("New under other rules sent %s, want a scan of the articles", names)
	}
}
