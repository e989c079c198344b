package redisrepo_test

import (
	"fmt"
	"testing"
	"time"

	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
)

const (
	up   = site.Up
	down = site.Down
	none = site.None

	day  = 24 * time.Hour
	week = 7 * day
)

// noLinkWindow lets a link be posted at any time.
func noLinkWindow(r *site.Rules) { r.LinkWindow = 0 }

func TestVoteSetsThePosition(t *testing.T) {
	t.Parallel()
	type cast struct {
		after   time.Duration // since posting
		voter   site.UserName
		vote    site.Vote
		from    site.Vote
		refused string // "" when accepted
	}
	const closed = "VOTING_CLOSED article"
	const forbidden = "FORBIDDEN article"
	tests := map[string]struct {
		rules    func(*site.Rules)
		casts    []cast
		up, down int // counts in the end, with the vote of alice, the poster
	}{
		"the poster's vote is the first": {up: 1},
		"a first vote counts":            {casts: []cast{{voter: "bob", vote: up}}, up: 2},
		"a first downvote counts":        {casts: []cast{{voter: "bob", vote: down}}, up: 1, down: 1},
		"many vote": {casts: []cast{
			{voter: "bob", vote: up}, {voter: "carol", vote: down}, {voter: "dave", vote: up}, {voter: "erin", vote: down}, {voter: "frank", vote: down},
		}, up: 3, down: 3},
		"a repeated vote changes nothing":     {casts: []cast{{voter: "bob", vote: up}, {voter: "bob", vote: up, from: up}}, up: 2},
		"a repeated downvote changes nothing": {casts: []cast{{voter: "bob", vote: down}, {voter: "bob", vote: down, from: down}}, up: 1, down: 1},
		"a switch is worth two votes":         {casts: []cast{{voter: "bob", vote: down}, {voter: "bob", vote: up, from: down}}, up: 2},
		"a switch down is worth two votes":    {casts: []cast{{voter: "bob", vote: up}, {voter: "bob", vote: down, from: up}}, up: 1, down: 1},
		"a vote can be withdrawn":             {casts: []cast{{voter: "bob", vote: up}, {voter: "bob", vote: none, from: up}}, up: 1},
		"a downvote can be withdrawn":         {casts: []cast{{voter: "bob", vote: down}, {voter: "bob", vote: none, from: down}}, up: 1},
		"none without a vote changes nothing": {casts: []cast{{voter: "bob", vote: none}}, up: 1},
		"the poster withdraws the vote":       {casts: []cast{{voter: "alice", vote: none, from: up}}},
		"the poster votes down":               {casts: []cast{{voter: "alice", vote: down, from: up}}, down: 1},
		"the poster votes up again":           {casts: []cast{{voter: "alice", vote: none, from: up}, {voter: "alice", vote: up}}, up: 1},
		"names differ by case":                {casts: []cast{{voter: "Alice", vote: up}}, up: 2},

		"the last second still counts": {casts: []cast{{after: week, voter: "bob", vote: up}}, up: 2},
		"one second later does not":    {casts: []cast{{after: week + time.Second, voter: "bob", vote: up, refused: closed}}, up: 1},
		"the last second is a whole one": {casts: []cast{
			{after: week + time.Second - time.Nanosecond, voter: "bob", vote: up}}, up: 2},
		"a repeat after the window is refused": {casts: []cast{
			{voter: "bob", vote: up}, {after: week + time.Second, voter: "bob", vote: up, refused: closed}}, up: 2},
		"none after the window is refused": {casts: []cast{{after: week + time.Second, voter: "bob", vote: none, refused: closed}}, up: 1},
		"a shorter window ends sooner": {
			rules: func(r *site.Rules) { r.VotingWindow = time.Minute },
			casts: []cast{{after: time.Minute, voter: "bob", vote: up}, {after: time.Minute + time.Second, voter: "carol", vote: up, refused: closed}}, up: 2},
		"a vote can be worth 100 seconds": {
			rules: func(r *site.Rules) { r.VoteScore = 100 },
			casts: []cast{{voter: "bob", vote: up}, {voter: "carol", vote: up}, {voter: "carol", vote: down, from: up}}, up: 2, down: 1},

		"uncounted, the article starts at 0":    {rules: repotest.Uncounted},
		"uncounted, the poster's up is there":   {rules: repotest.Uncounted, casts: []cast{{voter: "alice", vote: up, from: up}}},
		"uncounted, the poster cannot go down":  {rules: repotest.Uncounted, casts: []cast{{voter: "alice", vote: down, refused: forbidden}}},
		"uncounted, the poster cannot withdraw": {rules: repotest.Uncounted, casts: []cast{{voter: "alice", vote: none, refused: forbidden}}},
		"uncounted, others count":               {rules: repotest.Uncounted, casts: []cast{{voter: "bob", vote: up}, {voter: "carol", vote: up}, {voter: "dave", vote: down}}, up: 2, down: 1},
		"uncounted, closed comes first":         {rules: repotest.Uncounted, casts: []cast{{after: week + time.Second, voter: "alice", vote: none, refused: closed}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, tt.rules, repotest.One)
			a := s.MustPost("alice", "go")
			s.List(repotest.Best("go"))
			for _, c := range tt.casts {
				s.Clock.Set(c.after)
				if can := s.Articles.CanVote(c.voter, a); can != (c.refused == "" && (s.Rules.PosterVotes || c.voter != "alice")) {
					t.Errorf("CanVote(%s) after %v = %t, want %t", c.voter, c.after, can, !can)
				}
				result, err := s.Vote(s.Ctx, a.ID, c.voter, c.vote, "")
				if c.refused != "" {
					repotest.WantRefused(t, err, c.refused)
					continue
				}
				if err != nil || result.Previous != c.from || result.Changed != (c.from != c.vote) {
					t.Fatalf("Vote %d by %s = %+v, %v, want Previous %d", c.vote, c.voter, result, err, c.from)
				}
				repotest.WantEqual(t, result.Article, s.Article(a.ID))
				if got, want := s.Positions(c.voter, a.ID), string("-0+"[c.vote+1]); got != want {
					t.Errorf("position of %s = %s, want %s", c.voter, got, want)
				}
			}
			a = s.Article(a.ID)
			if a.Upvotes != tt.up || a.Downvotes != tt.down || a.Votes != tt.up-tt.down {
				t.Errorf("votes = +%d -%d =%d, want +%d -%d", a.Upvotes, a.Downvotes, a.Votes, tt.up, tt.down)
			}
			score := float64(repotest.Opened.Unix() + int64(s.Rules.VoteScore*(tt.up-tt.down)))
			s.WantList(repotest.Best("go"), a.ID) // a read of a listing gives it what it lacks
			for _, key := range []string{"score:", "score:go"} {
				if got := s.Do("ZSCORE", key, "article:1"); a.Score != score || got != score {
					t.Errorf("Score = %f, %v in %s, want %f", a.Score, got, key, score)
				}
			}
			s.WantClean()
		})
	}
}

func TestVoteRefusesMissingArticlesAndInvalidPositions(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	before := s.Dump()
	_, err := s.Vote(s.Ctx, 1, "bob", up, "")
	repotest.WantRefused(t, err, "NOT_FOUND article")
	_, err = s.Regroup(s.Ctx, 1, site.Actor{Name: "bob"}, []string{"go"}, nil)
	repotest.WantRefused(t, err, "NOT_FOUND article")
	articles, errs := s.Articles.ArticlesByID(s.Ctx, []site.ArticleID{1})
	if articles[0] != nil {
		t.Errorf("ArticlesByID = %v, want nil", articles[0])
	}
	repotest.WantRefused(t, errs[0], "NOT_FOUND article")
	s.WantStore(before)
	s.MustPost("alice")
	before = s.Dump()
	for _, vote := range []site.Vote{2, -2, 200} {
		_, err = s.Vote(s.Ctx, 1, "bob", vote, "")
		repotest.WantRefused(t, err, "INVALID direction")
	}
	s.WantStore(before)
}

func TestVotersAreKeptAnHourLongerThanTheWindow(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, repotest.NoFeatures, repotest.One)
	a := s.MustPost("alice")
	s.Clock.Set(day)
	s.MustVote(a.ID, "bob", down)
	s.MustVote(a.ID, "carol", up)
	for _, key := range []string{"voted:1", "downvoted:1"} {
		const want = 6*24*time.Hour + time.Hour
		if left := s.TTL(key); left > want || left < want-time.Minute {
			t.Errorf("%s expires in %v, want %v", key, left, want)
		}
	}
	s.Clock.Set(week + time.Hour)
	if got := s.Positions("bob", a.ID); got != "-" {
		t.Errorf("position while the voters are kept = %s, want -", got)
	}
	s.Clock.Set(week + time.Hour + time.Second)
	if got := s.Positions("bob", a.ID); got != "?" {
		t.Errorf("position when the voters are forgotten = %s, want ?", got)
	}
}

func TestVotingIsClosedWhenTheVotersAreForgotten(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules func(*site.Rules)
		votes []site.Vote
		lost  string
	}{
		"who voted up":                  {lost: "voted:1"},
		"who voted down":                {votes: []site.Vote{down}, lost: "downvoted:1"},
		"the uncounted poster":          {rules: repotest.Uncounted, lost: "voted:1"},
		"up, with as many who are down": {votes: []site.Vote{down, up, down}, lost: "voted:1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, tt.rules, repotest.One)
			a := s.MustPost("alice")
			for i, vote := range tt.votes {
				s.MustVote(a.ID, site.UserName(fmt.Sprint("voter", i)), vote)
			}
			s.Do("DEL", tt.lost)
			before := s.Dump()
			_, err := s.Vote(s.Ctx, a.ID, "bob", up, "")
			repotest.WantRefused(t, err, "VOTING_CLOSED article")
			s.WantStore(before)
		})
	}
}

func TestArticleKeepsItsPosterVotesRule(t *testing.T) {
	t.Parallel()
	counting := repotest.New(t, nil)
	not := counting.Reopened(counting.Server.Client, repotest.Uncounted)
	old, young := counting.MustPost("alice"), not.MustPost("alice")

	not.MustVote(old.ID, "bob", up)
	if a := not.MustVote(old.ID, "alice", none).Article; a.Votes != 1 {
		t.Errorf("votes of an article posted while posters counted = %d, want bob's 1", a.Votes)
	}
	if !not.Articles.CanVote("alice", old) {
		t.Error("CanVote of a poster whose vote counts = false, want true")
	}
	counting.MustVote(young.ID, "bob", up)
	_, err := counting.Vote(counting.Ctx, young.ID, "alice", none, "")
	repotest.WantRefused(t, err, "FORBIDDEN article")
	if a := counting.MustVote(young.ID, "alice", up).Article; a.Votes != 1 {
		t.Errorf("votes of an article posted while posters did not count = %d, want bob's 1", a.Votes)
	}
	if counting.Articles.CanVote("alice", young) {
		t.Error("CanVote of a poster whose vote does not count = true, want false")
	}
	counting.WantClean()
	not.WantClean()
}

func TestInterestingFollowsTheVotes(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 3 })
	a, other := s.MustPost("alice", "go"), s.MustPost("alice")
	want := func(votes int, interesting bool, listed ...site.ArticleID) {
		t.Helper()
		b := s.Article(a.ID)
		if b.Votes != votes || b.IsInteresting != interesting {
			t.Errorf("votes = %d, IsInteresting = %t, want %d, %t", b.Votes, b.IsInteresting, votes, interesting)
		}
		s.WantList(repotest.Best("interesting"), listed...)
		s.WantClean()
	}
	want(1, false)
	s.MustVote(a.ID, "bob", up)
	want(2, false)
	s.MustVote(a.ID, "carol", up)
	want(3, true, a.ID)
	for _, voter := range []site.UserName{"bob", "carol", "dave"} {
		s.MustVote(other.ID, voter, up)
	}
	want(3, true, other.ID, a.ID)
	s.MustVote(a.ID, "dave", down)
	want(2, false, other.ID)
	s.MustVote(a.ID, "dave", up)
	want(4, true, other.ID, a.ID)
	s.MustVote(a.ID, "alice", down)
	want(2, false, other.ID)

	s.WantCounts("go 1")
	if counts, err := s.Articles.ArticleCounts(s.Ctx, []site.GroupName{"interesting"}); err != nil || counts[0] != 1 {
		t.Errorf("ArticleCounts = %v, %v, want 1", counts, err)
	}
}

func TestArticleCanBeInterestingFromTheStart(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 1 })
	s.WantList(repotest.Best("interesting"))
	a := s.MustPost("alice")
	s.WantList(repotest.Best("interesting"), a.ID)
	b := s.MustPost("alice")
	s.WantList(repotest.Best("interesting"), b.ID, a.ID)
	s.WantClean()
}
