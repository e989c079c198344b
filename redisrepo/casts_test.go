package redisrepo_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// votesOn returns the user's positions on articles, as positions does, and the commands that read them.
func votesOn(s *testSite, user site.UserName, ids ...site.ArticleID) string {
	s.t.Helper()
	counted := new(counter)
	other := s.reopened(s.client(observer(counted.add)), nil)
	articles, _ := other.ArticlesByID(s.ctx, ids)
	counted.reset()
	votes := must.Get(other.Votes(s.ctx, user, articles))(s.t)
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
	s := newSite(t, func(r *site.Rules) { r.VoteHistory = 100 * 24 * time.Hour }, one)
	for range 4 {
		s.post("alice")
	}
	s.vote(1, "bob", up)
	s.vote(2, "bob", up)
	s.vote(2, "bob", down)
	s.vote(3, "bob", up)
	s.vote(3, "bob", none)
	for _, at := range []struct {
		after time.Duration
		want  string
	}{{0, "+-00 zmscore"}, {2 * week, "+-00 zmscore"}, {139 * 24 * time.Hour, "???? zmscore"}} {
		s.clock.set(at.after)
		if at.after > 100*24*time.Hour {
			s.do("DEL", "cast:bob:641") // expired; the clock of Redis does not move
		}
		if got := votesOn(s, "bob", 1, 2, 3, 4); got != at.want {
			t.Errorf("after %v: %s, want %s", at.after, got, at.want)
		}
	}
}

// A list with 10,000 votes drops the oldest and says so: a vote that it lacks may be one of them.
func TestALongListOfVotesDropsTheOldest(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	for range 3 {
		s.post("alice")
	}
	s.vote(1, "bob", down)
	s.clock.advance(time.Minute)
	var votes []any
	for i := range 9_999 {
		votes = append(votes, s.clock.now().Unix(), 100_000+i)
	}
	s.do("ZADD cast:bob:641", votes...)
	if got := s.do("ZCARD cast:bob:641"); got != int64(10_000) {
		t.Fatalf("the list has %v votes, want 10000", got)
	}
	s.clock.advance(time.Minute)
	s.vote(2, "bob", up)
	if n, mark, first := s.do("ZCARD cast:bob:641"), s.do("ZSCORE cast:bob:641 0"), s.do("ZSCORE cast:bob:641 -1"); n != int64(9_902) || mark == nil || first != nil {
		t.Errorf("the list has %v votes, its mark %v and the oldest vote %v, want 9902, a mark and no such vote", n, mark, first)
	}
	if got := s.positions("bob", 1, 2, 3); got != "-+0" {
		t.Errorf("bob's votes are %s, want -+0, as the voters of the articles say", got)
	}
	page, _, err := s.CastVotes(s.ctx, "bob", nil, new(100), nil)
	if err != nil || len(page) != 100 || page[0].Article != 2 || page[1].Article != 109_998 {
		t.Errorf("CastVotes = %d votes, %v, %+v", len(page), err, page[:min(2, len(page))])
	}
	s.clock.advance(2 * week)
	if got := s.positions("bob", 1, 2, 3); got != "?+?" {
		t.Errorf("when the voters are forgotten, bob's votes are %s, want ?+?", got)
	}
}

// A legacy client that upvotes over a downvote makes it none until the voters are forgotten. The downvotes of the article
// are known for longer, that one included.
func TestALegacyVoteOverARecordedDownvote(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.post("alice")
	s.vote(1, "bob", down)
	s.vote(1, "carol", down)
	s.vote(1, "dave", up)
	bookVote(s, "user:bob", 1)
	all := func() (shown string) {
		for _, user := range []site.UserName{"bob", "carol", "dave", "erin"} {
			shown += s.positions(user, 1)
		}
		return shown
	}
	if got := all(); got != "0-+0" {
		t.Errorf("the votes are %s, want 0-+0", got)
	}
	if got, want := s.violations(), "article:1: [user:bob] are in both sets of voters"; !slices.Contains(got, want) {
		t.Errorf("Check reports %q, want %q among them", got, want)
	}
	s.clock.advance(2 * week)
	if got := all(); got != "--+?" {
		t.Errorf("when the voters are forgotten, the votes are %s, want --+?", got)
	}
	s.clock.set(time.Hour)
	s.vote(1, "bob", up)
	if got := all(); got != "+-+0" {
		t.Errorf("after bob's next vote, the votes are %s, want +-+0", got)
	}
	if got := s.shownVotes("bob"); got != "+1*1@0s" {
		t.Errorf("bob's list is %s, want the upvote", got)
	}
	s.wantClean()
	s.clock.advance(2 * week)
	if got := all(); got != "+-+?" {
		t.Errorf("when the voters are forgotten, the votes are %s, want +-+?", got)
	}
}

// After a change of VoteHistory, the lists are kept for the new time.
func TestVoteHistoryCanBeChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.VoteHistory = 100 * day }, redisrepo.WithPartitions(4))
	a := s.post("alice")
	s.vote(a.ID, "bob", up)
	key := s.Tags()[int(a.ID)%4] + "cast:bob:641"
	end := time.Unix(642*32*24*3600, 0).Add(week) // the last vote on an article of the month
	before := time.Duration(0)
	for _, tt := range []struct {
		history time.Duration
		after   time.Duration // since the vote
		shown   string
		known   string
	}{
		{100 * day, 0, "+1", "+"},
		{400 * day, 0, "+1", "+"},
		{0, 0, "+1", "+"},
		{10 * day, 0, "+1", "+"},
		{10 * day, 30 * day, "+1", "+"},
		{5 * day, 60 * day, "", "?"},
		{400 * day, 60 * day, "", "?"}, // it is gone
	} {
		s.clock.set(tt.after)
		s = s.reopened(s.server.Client, func(r *site.Rules) { r.VoteHistory = tt.history })
		got, _, _ := strings.Cut(s.shownVotes("bob"), "*")
		if known := s.positions("bob", a.ID); got != tt.shown || known != tt.known {
			t.Errorf("with %v, after %v: %q is listed and %s is known, want %q and %s", tt.history, tt.after, got, known, tt.shown, tt.known)
		}
		want := end.Add(tt.history).Sub(s.clock.now()).Round(time.Minute)
		if tt.history == 0 {
			want = -time.Millisecond // it does not expire
		} else if tt.shown == "" {
			want = -2 * time.Millisecond // it does not exist
		}
		if left := s.ttl(key); before == tt.history {
			continue // the clock of Redis does not move
		} else if left != want && left.Round(time.Minute) != want {
			t.Errorf("with %v, after %v: the list ends in %v, want %v", tt.history, tt.after, left, want)
		}
		before = tt.history
		s.wantClean()
	}
}

// A user's votes on articles of many months and partitions are listed by time, each once, in pages of any size.
func TestCastVotesOverPartitionsAndMonths(t *testing.T) {
	t.Parallel()
	for _, tags := range layouts {
		t.Run(fmt.Sprint(len(tags)), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
			random := rand.New(rand.NewPCG(5, uint64(len(tags))))
			type cast struct {
				at     int64
				member string
				vote   site.Vote
			}
			votes := map[site.UserName]map[site.ArticleID]cast{"bob": {}, "carol": {}}
			var open []site.ArticleID
			for range 120 {
				s.clock.advance(time.Duration(random.IntN(48)) * time.Hour / 2)
				open = append(open, s.post("alice").ID)
				open = open[max(len(open)-8, 0):] // the oldest was posted less than a week ago, but for an unlikely seed
				for range random.IntN(6) {
					user := []site.UserName{"bob", "carol"}[random.IntN(2)]
					id, vote := open[random.IntN(len(open))], site.Vote(random.IntN(3)-1)
					if !s.article(id).VotingEndsAt.After(s.clock.now()) {
						continue
					}
					if before, voted := votes[user][id]; voted && before.vote == vote {
						continue
					}
					s.vote(id, user, vote)
					delete(votes[user], id)
					if vote != none {
						votes[user][id] = cast{s.clock.now().Unix(), fmt.Sprint(int(vote) * int(id)), vote}
					}
				}
			}
			for user, all := range votes {
				for _, direction := range []*site.Vote{nil, new(up), new(down)} {
					var ordered []cast
					for _, c := range all {
						if direction == nil || c.vote == *direction {
							ordered = append(ordered, c)
						}
					}
					slices.SortFunc(ordered, func(a, b cast) int {
						return cmp.Or(cmp.Compare(b.at, a.at), strings.Compare(b.member, a.member))
					})
					for _, size := range []int{1, 7, 100} {
						var got []cast
						for after := (*string)(nil); ; {
							page, info, err := s.CastVotes(s.ctx, user, direction, &size, after)
							if err != nil || len(page) > size || info.HasPreviousPage != (after != nil) {
								t.Fatalf("CastVotes = %d votes, %+v, %v", len(page), info, err)
							}
							for _, v := range page {
								got = append(got, cast{v.At.Unix(), fmt.Sprint(int(v.Vote) * int(v.Article)), v.Vote})
							}
							if !info.HasNextPage {
								break
							}
							after = info.EndCursor
						}
						if !slices.Equal(got, ordered) || len(ordered) < 10 {
							t.Errorf("%s's votes in pages of %d: %v, want %v", user, size, got, ordered)
						}
					}
				}
			}
			s.wantClean()
		})
	}
}
