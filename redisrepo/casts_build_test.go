package redisrepo_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// shownVotes is the list of a user's votes as text, with how many seconds each was cast before now.
func (s *testSite) shownVotes(user site.UserName) string {
	s.t.Helper()
	votes, info, err := s.CastVotes(s.ctx, user, nil, new(100), nil)
	if err != nil || info.HasNextPage {
		s.t.Fatalf("CastVotes of %s: %v, %+v", user, err, info)
	}
	var texts []string
	for _, v := range votes {
		texts = append(texts, fmt.Sprintf("%+d*%d@%v", v.Vote, v.Article, s.clock.now().Sub(v.At)))
	}
	return strings.Join(texts, " ")
}

// When lists of votes are switched on, they have the votes on articles whose voters are known, however often the start is
// killed in the middle. Votes whose time was recorded have that, the others that of the posting.
func TestVotesFromBeforeTheListsAreEntered(t *testing.T) {
	t.Parallel()
	for _, tags := range layouts {
		t.Run(fmt.Sprint(len(tags)), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(r *site.Rules) { noFeatures(r); r.VotingWindow = 2 * day }, redisrepo.WithPartitions(len(tags)))
			closed := s.post("alice")
			s.vote(closed.ID, "bob", up)
			s.clock.advance(3 * day)
			a, b, gone, withdrawn := s.post("alice"), s.post("alice"), s.post("alice"), s.post("alice")
			s.vote(gone.ID, "bob", down)
			s.delete(gone.ID, moderator)
			s.vote(withdrawn.ID, "bob", up)
			s.clock.advance(time.Hour)
			must.Get(s.Vote(s.ctx, a.ID, "bob", down, "b1"))(t)
			s.vote(b.ID, "bob", up)
			s.vote(withdrawn.ID, "bob", none)
			for i := range 1100 { // more than a script gets
				s.vote(b.ID, site.UserName(fmt.Sprint("voter", i)), site.Vote(1-2*(i%3/2)))
			}
			other := s.reopened(s.server.Client, uncounted)
			own := other.post("frank")
			var book site.ArticleID
			if len(tags) == 1 {
				book = bookPost(s, "user:zoe")
				bookVote(s, "user:bob", book)
			}
			for range 300 {
				s.vote(s.post("carol").ID, "dave", up)
			}
			s.clock.advance(time.Hour)

			rules := s.rules
			rules.VoteHistory = 400 * day
			kills := s.opensKilled(rules, rand.New(rand.NewPCG(1, uint64(len(tags)))))
			if kills < 5 {
				t.Errorf("killed %d times, want more", kills)
			}
			s.wantClean()
			want := fmt.Sprintf("-1*%d@1h0m0s +1*%d@2h0m0s -1*%d@2h0m0s", a.ID, b.ID, gone.ID)
			if book != 0 {
				want = fmt.Sprintf("+1*%d@1h0m0s -1*%d@1h0m0s +1*%d@2h0m0s -1*%d@2h0m0s", book, a.ID, b.ID, gone.ID)
			}
			if got := s.shownVotes("bob"); got != want {
				t.Errorf("bob's votes are %s, want %s", got, want)
			}
			if got, want := s.shownVotes("frank"), fmt.Sprintf("+1*%d@1h0m0s", own.ID); got != want {
				t.Errorf("frank's votes are %s, want %s", got, want)
			}
			if got, want := s.shownVotes("voter1099"), fmt.Sprintf("+1*%d@2h0m0s", b.ID); got != want {
				t.Errorf("a voter's votes are %s, want %s", got, want)
			}
			s.vote(b.ID, "bob", down)
			s.wantClean()
			s.undelete(gone.ID)
			s.clock.advance(4 * day)
			for _, id := range []site.ArticleID{a.ID, b.ID, gone.ID, withdrawn.ID} {
				s.do("UNLINK", s.Tags()[int(id)%len(tags)]+"voted:"+fmt.Sprint(int(id)), s.Tags()[int(id)%len(tags)]+"downvoted:"+fmt.Sprint(int(id)))
			}
			if got := s.positions("bob", a.ID, b.ID, gone.ID, withdrawn.ID, closed.ID); got != "---0?" {
				t.Errorf("when the voters are forgotten, bob's votes are %s, want ---0?", got)
			}
		})
	}
}

// A start that was interrupted does not read the votes of the articles again that it had reached, and an entry that a vote
// has changed meanwhile stays.
func TestEnteringVotesGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t, noFeatures, one)
	for range 3 {
		s.post("alice")
		s.clock.advance(time.Minute)
	}
	s.vote(3, "bob", down)
	s.do("ZADD cast:bob:641 5 -3")
	s.do("HSET meta: cast", fmt.Sprint("building ", opened.Add(time.Minute).Unix()))
	rules := s.rules
	rules.VoteHistory = 0
	s.Repo, s.rules = s.reopened(s.server.Client, func(r *site.Rules) { *r = rules }).Repo, rules
	if got, want := s.dump(), "cast:alice:641: [{1.77236646e+09 2} {1.77236652e+09 3}], ends: false\ncast:bob:641: [{5 -3}], ends: false\n"; !strings.Contains(got, want) {
		t.Errorf("the store holds\n%s\nwant\n%s", got, want)
	}
}
