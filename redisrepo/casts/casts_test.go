package casts_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// votesOn returns the user's positions on articles, as positions does, and the commands that read them.
func votesOn(s *repotest.Site, user site.UserName, ids ...site.ArticleID) string {
	s.T.Helper()
	counted := new(repotest.Counter)
	other := s.Reopened(s.Client(redistest.Before(counted.Add)), nil)
	articles, _ := other.Articles.ArticlesByID(s.Ctx, ids)
	counted.Reset()
	votes := require.Value(other.Casts.Votes(s.Ctx, user, articles))(s.T)
	return repotest.Signs(votes) + " " + counted.Reset().Names
}

// A user's positions are read by one command for each partition and month of posting, and are known after the voters
// are forgotten, for the time of the rules.
func TestVotesAreKnownAfterTheVotersAreForgotten(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.VoteHistory = 100 * 24 * time.Hour }, repotest.One)
	for range 4 {
		s.MustPost("alice")
	}
	s.MustVote(1, "bob", site.Up)
	s.MustVote(2, "bob", site.Up)
	s.MustVote(2, "bob", site.Down)
	s.MustVote(3, "bob", site.Up)
	s.MustVote(3, "bob", site.None)
	for _, at := range []struct {
		after time.Duration
		want  string
	}{{0, "+-00 evalsha"}, {2 * repotest.Week, "+-00 hget xrange zmscore"}, {139 * 24 * time.Hour, "???? hget xrange zmscore"}} {
		s.Clock.Set(at.after)
		if at.after > 100*24*time.Hour {
			s.Do("DEL", "cast:bob:641") // expired; the clock of Redis does not move
		}
		if got := votesOn(s, "bob", 1, 2, 3, 4); got != at.want {
			t.Errorf("after %v: %s, want %s", at.after, got, at.want)
		}
	}
}

// A vote is in the list of the month in which the article was posted, also if the process takes it for an article of this month.
func TestVotesAreListedInTheMonthOfTheArticle(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	monthEnd := time.Unix(642*32*24*3600, 0)
	s.Clock.Set(monthEnd.Add(-30 * time.Minute).Sub(repotest.Opened))
	s.MustPost("alice")
	other := s.Reopened(s.Client(), nil)
	s.Clock.Advance(time.Hour)
	other.MustPost("alice")
	for _, user := range []site.UserName{"bob", "carol"} {
		other.MustVote(1, user, site.Up)
		s.MustVote(2, user, site.Down)
	}
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	for _, user := range []string{"bob", "carol"} {
		if old, recent := s.Do("ZRANGE cast:"+user+":641 0 -1"), s.Do("ZRANGE cast:"+user+":642 0 -1"); fmt.Sprint(old, recent) != "[1] [-2]" {
			t.Errorf("the lists of %s are %v and %v, want [1] and [-2]", user, old, recent)
		}
	}
	s.WantClean()
}

// A list with 10,000 votes drops the oldest and says so: a vote that it lacks may be one of them.
func TestALongListOfVotesDropsTheOldest(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	for range 3 {
		s.MustPost("alice")
	}
	s.MustVote(1, "bob", site.Down)
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	s.Clock.Advance(time.Minute)
	var votes []any
	for i := range 9_999 {
		votes = append(votes, s.Clock.Now().Unix(), 100_000+i)
	}
	s.Do("ZADD cast:bob:641", votes...)
	if got := s.Do("ZCARD cast:bob:641"); got != int64(10_000) {
		t.Fatalf("the list has %v votes, want 10000", got)
	}
	s.Clock.Advance(time.Minute)
	s.MustVote(2, "bob", site.Up)
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	if n, mark, first := s.Do("ZCARD cast:bob:641"), s.Do("ZSCORE cast:bob:641 0"), s.Do("ZSCORE cast:bob:641 -1"); n != int64(9_902) || mark == nil || first != nil {
		t.Errorf("the list has %v votes, its mark %v and the oldest vote %v, want 9902, a mark and no such vote", n, mark, first)
	}
	if got := s.Positions("bob", 1, 2, 3); got != "-+0" {
		t.Errorf("bob's votes are %s, want -+0, as the voters of the articles say", got)
	}
	page, _, err := s.Casts.CastVotes(s.Ctx, "bob", nil, new(100), nil)
	if err != nil || len(page) != 100 || page[0].Article != 2 || page[1].Article != 109_998 {
		t.Errorf("CastVotes = %d votes, %v, %+v", len(page), err, page[:min(2, len(page))])
	}
	s.Clock.Advance(repotest.Week + 45*time.Minute - s.Clock.Now().Sub(repotest.Opened))
	if got := s.Positions("bob", 1, 2, 3); got != "-+0" {
		t.Errorf("when voting has ended, bob's votes are %s, want -+0, as the voters still say", got)
	}
	s.Clock.Advance(2 * repotest.Week)
	if got := s.Positions("bob", 1, 2, 3); got != "?+?" {
		t.Errorf("when the voters are forgotten, bob's votes are %s, want ?+?", got)
	}
}

// After a change of VoteHistory, the lists are kept for the new time.
func TestVoteHistoryCanBeChanged(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.VoteHistory = 100 * site.Day }, redisrepo.WithPartitions(4))
	a := s.MustPost("alice")
	s.MustVote(a.ID, "bob", site.Up)
	key := s.Tags()[int(a.ID)%4] + "cast:bob:641"
	end := time.Unix(642*32*24*3600, 0).Add(repotest.Week) // the last vote on an article of the month
	before := time.Duration(0)
	for _, tt := range []struct {
		history time.Duration
		after   time.Duration // since the vote
		shown   string
		known   string
	}{
		{100 * site.Day, 0, "+1", "+"},
		{400 * site.Day, 0, "+1", "+"},
		{0, 0, "+1", "+"},
		{10 * site.Day, 0, "+1", "+"},
		{10 * site.Day, 30 * site.Day, "+1", "+"},
		{5 * site.Day, 60 * site.Day, "", "?"},
		{400 * site.Day, 60 * site.Day, "", "?"}, // it is gone
	} {
		s.Clock.Set(tt.after)
		s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.VoteHistory = tt.history })
		got, _, _ := strings.Cut(shownVotes(s, "bob"), "*")
		if known := s.Positions("bob", a.ID); got != tt.shown || known != tt.known {
			t.Errorf("with %v, after %v: %q is listed and %s is known, want %q and %s", tt.history, tt.after, got, known, tt.shown, tt.known)
		}
		want := end.Add(tt.history).Sub(s.Clock.Now()).Round(time.Minute)
		if tt.history == 0 {
			want = -time.Millisecond // it does not expire
		} else if tt.shown == "" {
			want = -2 * time.Millisecond // it does not exist
		}
		if left := s.TTL(key); before == tt.history {
			continue // the clock of Redis does not move
		} else if left != want && left.Round(time.Minute) != want {
			t.Errorf("with %v, after %v: the list ends in %v, want %v", tt.history, tt.after, left, want)
		}
		before = tt.history
		s.WantClean()
	}
}

// A user's votes on articles of many months and partitions are listed by time, each once, in pages of any size.
func TestCastVotesOverPartitionsAndMonths(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		random := rand.New(rand.NewPCG(5, uint64(len(tags))))
		type cast struct {
			at     int64
			member string
			vote   site.Vote
		}
		votes := map[site.UserName]map[site.ArticleID]cast{"bob": {}, "carol": {}}
		var open []site.ArticleID
		for range 120 {
			s.Clock.Advance(time.Duration(random.IntN(48)) * time.Hour / 2)
			open = append(open, s.MustPost("alice").ID)
			open = open[max(len(open)-8, 0):] // the oldest was posted less than a week ago, but for an unlikely seed
			for range random.IntN(6) {
				user := []site.UserName{"bob", "carol"}[random.IntN(2)]
				id, vote := open[random.IntN(len(open))], site.Vote(random.IntN(3)-1)
				if !s.Article(id).VotingEndsAt.After(s.Clock.Now()) {
					continue
				}
				if before, voted := votes[user][id]; voted && before.vote == vote {
					continue
				}
				s.MustVote(id, user, vote)
				delete(votes[user], id)
				if vote != site.None {
					votes[user][id] = cast{s.Clock.Now().Unix(), fmt.Sprint(int(vote) * int(id)), vote}
				}
			}
		}
		for user, all := range votes {
			for _, direction := range []*site.Vote{nil, new(site.Up), new(site.Down)} {
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
						page, info, err := s.Casts.CastVotes(s.Ctx, user, direction, &size, after)
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
		s.WantClean()
	})
}

// shownVotes is the list of a user's votes as text, with how many seconds each was cast before now.
func shownVotes(s *repotest.Site, user site.UserName) string {
	s.T.Helper()
	votes, info, err := s.Casts.CastVotes(s.Ctx, user, nil, new(100), nil)
	if err != nil || info.HasNextPage {
		s.T.Fatalf("CastVotes of %s: %v, %+v", user, err, info)
	}
	var texts []string
	for _, v := range votes {
		texts = append(texts, fmt.Sprintf("%+d*%d@%v", v.Vote, v.Article, s.Clock.Now().Sub(v.At)))
	}
	return strings.Join(texts, " ")
}

// When lists of votes are switched on, they have the votes on articles whose voters are known, however often the start is
// killed in the middle. Votes whose time was recorded have that, the others that of the posting.
func TestVotesFromBeforeTheListsAreEntered(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, func(r *site.Rules) { repotest.NoFeatures(r); r.VotingWindow = 2 * site.Day }, redisrepo.WithPartitions(len(tags)))
		closed := s.MustPost("alice")
		s.MustVote(closed.ID, "bob", site.Up)
		s.Clock.Advance(3 * site.Day)
		a, b, gone, withdrawn := s.MustPost("alice"), s.MustPost("alice"), s.MustPost("alice"), s.MustPost("alice")
		s.MustVote(gone.ID, "bob", site.Down)
		s.MustDelete(gone.ID, repotest.Moderator)
		s.MustVote(withdrawn.ID, "bob", site.Up)
		s.Clock.Advance(time.Hour)
		require.Value(s.Vote(s.Ctx, a.ID, "bob", site.Down, "b1"))(t)
		s.MustVote(b.ID, "bob", site.Up)
		s.MustVote(withdrawn.ID, "bob", site.None)
		for i := range 1100 { // more than a script gets
			s.MustVote(b.ID, site.UserName(fmt.Sprint("voter", i)), site.Vote(1-2*(i%3/2)))
		}
		other := s.Reopened(s.Server.Client, repotest.Uncounted)
		own := other.MustPost("frank")
		var book site.ArticleID
		if len(tags) == 1 {
			book = repotest.BookPost(s, "user:zoe")
			repotest.BookVote(s, "user:bob", book)
			require.Value(s.Layout.Adopt(s.Ctx))(t)
		}
		for range 300 {
			s.MustVote(s.MustPost("carol").ID, "dave", site.Up)
		}
		s.Clock.Advance(time.Hour)

		rules := s.Rules
		rules.VoteHistory = 400 * site.Day
		kills := s.OpensKilled(rules, rand.New(rand.NewPCG(1, uint64(len(tags)))))
		if kills < 5 {
			t.Errorf("killed %d times, want more", kills)
		}
		s.WantClean()
		want := fmt.Sprintf("-1*%d@1h0m0s +1*%d@2h0m0s -1*%d@2h0m0s", a.ID, b.ID, gone.ID)
		if book != 0 {
			want = fmt.Sprintf("+1*%d@1h0m0s -1*%d@1h0m0s +1*%d@2h0m0s -1*%d@2h0m0s", book, a.ID, b.ID, gone.ID)
		}
		if got := shownVotes(s, "bob"); got != want {
			t.Errorf("bob's votes are %s, want %s", got, want)
		}
		if got, want := shownVotes(s, "frank"), fmt.Sprintf("+1*%d@1h0m0s", own.ID); got != want {
			t.Errorf("frank's votes are %s, want %s", got, want)
		}
		if got, want := shownVotes(s, "voter1099"), fmt.Sprintf("+1*%d@2h0m0s", b.ID); got != want {
			t.Errorf("a voter's votes are %s, want %s", got, want)
		}
		s.MustVote(b.ID, "bob", site.Down)
		s.WantClean()
		require.NoError(t, s.Views.CatchUpAll(s.Ctx))
		s.MustUndelete(gone.ID)
		s.Clock.Advance(4 * site.Day)
		for _, id := range []site.ArticleID{a.ID, b.ID, gone.ID, withdrawn.ID} {
			s.Do("UNLINK", s.Tags()[int(id)%len(tags)]+"voted:"+fmt.Sprint(int(id)), s.Tags()[int(id)%len(tags)]+"downvoted:"+fmt.Sprint(int(id)))
		}
		if got := s.Positions("bob", a.ID, b.ID, gone.ID, withdrawn.ID, closed.ID); got != "---0?" {
			t.Errorf("when the voters are forgotten, bob's votes are %s, want ---0?", got)
		}
	})
}

// A start that was interrupted does not read the votes of the articles again that it had reached, and an entry that a vote
// has changed meanwhile stays.
func TestEnteringVotesGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, repotest.NoFeatures, repotest.One)
	for range 3 {
		s.MustPost("alice")
		s.Clock.Advance(time.Minute)
	}
	s.MustVote(3, "bob", site.Down)
	s.Do("ZADD cast:bob:641 5 -3")
	s.Do("HSET views: cast", s.Raw.XRevRangeN(s.Ctx, "events:", "+", "-", 1).Val()[0].ID)
	s.Do("HSET meta: cast", fmt.Sprint("building ", repotest.Opened.Add(time.Minute).Unix()))
	rules := s.Rules
	rules.VoteHistory = 0
	s.Repo, s.Rules = s.Reopened(s.Server.Client, func(r *site.Rules) { *r = rules }).Repo, rules
	if got, want := s.Dump(), "cast:alice:641: [{1.77236646e+09 2} {1.77236652e+09 3}], ends: false\ncast:bob:641: [{5 -3}], ends: false\n"; !strings.Contains(got, want) {
		t.Errorf("the store holds\n%s\nwant\n%s", got, want)
	}
}
