package layout_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
)

// A change of the ranking, and of the parameter in use, re-ranks. One of a parameter that is not in use does not.
func TestChangedRankingReranks(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	id := s.MustPost("alice", "go").ID
	s.MustVote(id, "bob", site.Up)
	var said []string
	for _, tt := range []struct {
		change func(*site.Rules)
		worth  float64
		says   []string
	}{
		{repotest.Decaying(site.Linear, time.Hour), 864, nil},
		{repotest.Decaying(site.Capped, 10*time.Minute), 600, []string{"ranking was linear and is capped"}},
		{repotest.Decaying(site.Capped, 5*time.Minute), 300, []string{"rank_cap was 600 and is 300"}},
		{repotest.Decaying(site.HalfLifeRanking, time.Hour), 5706, []string{"ranking was capped and is halflife"}},
		{repotest.Decaying(site.HalfLifeRanking, time.Minute), 95, []string{"half_life was 3600 and is 60"}},
		{repotest.Decaying(site.Linear, time.Minute), 864, []string{"ranking was halflife and is linear"}},
	} {
		said = nil
		s = s.Reopened(s.Server.Client, tt.change, redisrepo.OnRerank(func(changed string) { said = append(said, changed) }))
		if a := s.Article(id); a.Score != float64(repotest.Opened.Unix())+tt.worth || !slices.Equal(said, tt.says) {
			t.Errorf("%v: score %f, want %f more than %d; said %q, want %q", s.Rules.Ranking, a.Score, tt.worth, repotest.Opened.Unix(), said, tt.says)
		}
		s.WantClean()
	}
}

// A store of a version without rankings is a linear one, and not re-ranked.
func TestStoreWithoutRankingIsLinear(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice")
	s.Do("HDEL meta: ranking")
	calls := new(repotest.Counter)
	s.Reopened(s.Client(redistest.Before(calls.Add)), nil)
	if names := calls.Reset().Names; slices.Contains(regexp.MustCompile(`\w+`).FindAllString(names, -1), "zscan") {
		t.Errorf("New sent %s, want no scan of the articles", names)
	}
	s.Reopened(s.Server.Client, nil, redisrepo.KeepRules())
	rules := s.Rules
	rules.Ranking = site.Capped
	if _, err := redisrepo.New(s.Ctx, s.Server.Client, rules, redisrepo.KeepRules()); err == nil || err.Error() != "apply the rules: the rules differ from those of the data: ranking was linear and is capped: use the same settings as the server" {
		t.Errorf("another ranking beside the server: %v", err)
	}
}

// A start that is interrupted while it re-ranks leaves both kinds of scores: a start under the rules of before mends them.
func TestInterruptedRerankingCanBeTakenBack(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	var articles []redisrepo.Imported
	for i := range 1200 { // more than a batch in each partition
		articles = append(articles, repotest.Old(site.ArticleID(i+1), time.Hour, 1+i%3))
	}
	s.MustImport(articles...)
	rules, ctx := s.Rules, s.Ctx
	rules.VoteScore = 100
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if _, err := redisrepo.New(ctx, s.Server.Client, rules, redisrepo.WithClock(s.Clock.Now), redisrepo.WithPartitions(repotest.Partitions),
		redisrepo.OnProgress(func(string, int, int) { stop() })); err == nil {
		t.Fatal("the start was not interrupted")
	}
	s.Reopened(s.Server.Client, nil, redisrepo.WithPartitions(repotest.Partitions)).WantClean()
}

func TestChangedRulesApplyToExistingArticles(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 3 }, partitions)
		var ids []site.ArticleID
		for i := range 250 { // more than one batch
			a := s.MustPost("alice", "go", []string{"even", "odd"}[i%2])
			ids = append(ids, a.ID)
			s.Clock.Advance(time.Second)
		}
		first, second, last := ids[0], ids[1], ids[249]
		for _, voter := range []site.UserName{"bob", "carol"} {
			s.MustVote(first, voter, site.Up)
		}
		s.MustVote(second, "bob", site.Up)
		s.MustVote(last, "bob", site.Down)
		s.WantList(repotest.Best("interesting"), first)
		if top := s.List(repotest.Best("go")); top[0] != first || top[1] != second {
			t.Errorf("go = %v, want %v and %v first", top, first, second)
		}

		s = s.Reopened(s.Server.Client, func(r *site.Rules) {
			r.VoteScore, r.InterestingVotes, r.VotingWindow = 100, 2, site.Day
		}, partitions)
		s.WantClean()
		s.WantList(repotest.Best("interesting"), first, second)
		a := s.Article(first)
		if a.Score != float64(repotest.Opened.Unix()+300) || a.VotingEndsAt.Sub(repotest.Opened) != site.Day {
			t.Errorf("Score = %f, voting ends at %v, want %d and a day later", a.Score, a.VotingEndsAt, repotest.Opened.Unix()+300)
		}
		// 100 s for each vote no longer rank the first article above articles that were posted minutes
		// later.
		if top := s.List(repotest.Best("go")); !slices.Equal(top[:2], []site.ArticleID{ids[248], ids[247]}) {
			t.Errorf("go = %v, want %v and %v first", top, ids[248], ids[247])
		}
		key := fmt.Sprint(tags[int(last)%len(tags)], "downvoted:", int(last))
		const want = site.Day + time.Hour
		if left := s.TTL(key); left > want || left < want-time.Minute {
			t.Errorf("%s expires in %v, want %v", key, left, want)
		}

		s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.InterestingVotes = 200 }, partitions)
		s.WantList(repotest.Best("interesting"))
		s.WantClean()
	})
}

func TestLongerWindowDoesNotReopenArticlesWithoutVoters(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.VotingWindow, r.VoteHistory = time.Hour, site.NoHistory }, repotest.One)
	a := s.MustPost("alice")
	s.MustVote(a.ID, "bob", site.Up)
	s.Clock.Set(3 * time.Hour)
	// Redis expires keys by its own clock; this is what it does at that time.
	s.Do("DEL voted:1 downvoted:1")
	young := s.MustPost("alice")
	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.VotingWindow = repotest.Week })
	_, err := s.Vote(s.Ctx, a.ID, "bob", site.Up, "")
	repotest.WantRefused(t, err, "VOTING_CLOSED article")
	s.MustVote(young.ID, "bob", site.Up)
	if got := s.Article(a.ID).Votes; got != 2 {
		t.Errorf("votes = %d, want 2", got)
	}
	// What is shown of the viewer agrees with that, in every process from then on.
	for _, s := range []*repotest.Site{s, s.Reopened(s.Server.Client, nil), s.Reopened(s.Server.Client, func(r *site.Rules) { r.VotingWindow = 2 * repotest.Week })} {
		if a := s.Article(a.ID); s.Articles.CanVote("bob", a) || s.Positions("bob", a.ID) != "?" {
			t.Errorf("CanVote = %v and the position is %s, want no vote and an unknown position", s.Articles.CanVote("bob", a), s.Positions("bob", a.ID))
		}
		if a := s.Article(young.ID); !s.Articles.CanVote("bob", a) || s.Positions("bob", a.ID) == "?" {
			t.Errorf("CanVote = %v and the position is %s for an article whose voters are known", s.Articles.CanVote("bob", a), s.Positions("bob", a.ID))
		}
	}
}

func TestShorterWindowForgetsVoters(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	old := s.MustPost("alice")
	s.Clock.Set(2 * site.Day)
	young := s.MustPost("alice")
	s.Clock.Set(2*site.Day + time.Hour)
	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.VotingWindow = site.Day })
	if s.Do("EXISTS voted:1") != int64(0) || s.Do("EXISTS voted:2") != int64(1) {
		t.Errorf("sets of voters = %v, want voted:2 and not voted:1", s.Raw.Keys(s.Ctx, "voted:*").Val())
	}
	_, err := s.Vote(s.Ctx, old.ID, "bob", site.Up, "")
	repotest.WantRefused(t, err, "VOTING_CLOSED article")
	s.MustVote(young.ID, "bob", site.Up)
	s.WantClean()
}

// New reads all articles only if the rules have changed since the last time.
func TestUnchangedRulesAreNotAppliedAgain(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustPost("alice")
	calls := new(repotest.Counter)
	client := s.Client(redistest.Before(calls.Add))
	s.Reopened(client, nil)
	if names := calls.Reset().Names; strings.Contains(names, "zscan") {
		t.Errorf("New under the same rules sent %s, want no scan of the articles", names)
	}
	s.Reopened(client, func(r *site.Rules) { r.VoteScore = 1 })
	if names := calls.Reset().Names; !strings.Contains(names, "zscan") {
		t.Errorf("New under other rules sent %s, want a scan of the articles", names)
	}
}
