package redisrepo_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/preview"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestDefaultRulesAreThoseOfRedisInAction(t *testing.T) {
	t.Parallel()
	want := site.Rules{
		VoteScore: 432, VotingWindow: week, PosterVotes: true,
		InterestingVotes: 200, PageSize: 25, GroupCacheTTL: time.Minute, EditWindow: 15 * time.Minute, LinkWindow: week, Downvotes: true,
		Ranking: site.Linear, RankCap: day, HalfLife: 226 * time.Minute,
		Calendar: true, VoteHistory: 400 * day, FrontPages: 365 * day, Events: 1_000_000, Milestones: []int{10, 50, 100, 200},
	}
	if got := site.DefaultRules(); !reflect.DeepEqual(got, want) {
		t.Errorf("DefaultRules = %+v, want %+v", got, want)
	}
}

func TestNewRefusesRulesOutOfBounds(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	tests := map[string]struct {
		change func(*site.Rules)
		ok     bool
	}{
		"a vote worth nothing":                  {change: func(r *site.Rules) { r.VoteScore = 0 }},
		"a vote worth a second":                 {change: func(r *site.Rules) { r.VoteScore = 1 }, ok: true},
		"a vote worth 1000000000 seconds":       {change: func(r *site.Rules) { r.VoteScore = 1_000_000_000 }, ok: true},
		"a vote worth 1000000001 seconds":       {change: func(r *site.Rules) { r.VoteScore = 1_000_000_001 }},
		"no voting window":                      {change: func(r *site.Rules) { r.VotingWindow = 0 }},
		"a voting window of a second":           {change: func(r *site.Rules) { r.VotingWindow = time.Second }, ok: true},
		"a voting window that ends in fraction": {change: func(r *site.Rules) { r.VotingWindow = 1500 * time.Millisecond }},
		"interesting without votes":             {change: func(r *site.Rules) { r.InterestingVotes = 0 }},
		"interesting at one vote":               {change: func(r *site.Rules) { r.InterestingVotes = 1 }, ok: true},
		"an empty page":                         {change: func(r *site.Rules) { r.PageSize = 0 }},
		"a page of one":                         {change: func(r *site.Rules) { r.PageSize = 1 }, ok: true},
		"the largest page":                      {change: func(r *site.Rules) { r.PageSize = site.MaxPageSize }, ok: true},
		"a page over the largest":               {change: func(r *site.Rules) { r.PageSize = site.MaxPageSize + 1 }},
		"listings kept for less than a second":  {change: func(r *site.Rules) { r.GroupCacheTTL = time.Second - 1 }},
		"listings kept for a second":            {change: func(r *site.Rules) { r.GroupCacheTTL = time.Second }, ok: true},
		"links that are not reserved":           {change: noLinkWindow, ok: true},
		"links reserved for a second":           {change: func(r *site.Rules) { r.LinkWindow = time.Second }, ok: true},
		"links reserved for a fraction":         {change: func(r *site.Rules) { r.LinkWindow = 1500 * time.Millisecond }},
		"links reserved for less than nothing":  {change: func(r *site.Rules) { r.LinkWindow = -time.Second }},
		"an unknown ranking":                    {change: func(r *site.Rules) { r.Ranking = 3 }},
		"a cap below a minute":                  {change: repotest.Decaying(site.Capped, time.Minute-time.Second)},
		"a cap of a minute":                     {change: repotest.Decaying(site.Capped, time.Minute), ok: true},
		"a cap over ten years":                  {change: repotest.Decaying(site.Capped, 3650*day+time.Second)},
		"a cap that ends in a fraction":         {change: repotest.Decaying(site.Capped, time.Minute+1)},
		"a half-life below a minute":            {change: repotest.Decaying(site.HalfLifeRanking, time.Minute-time.Second)},
		"a half-life of ten years":              {change: repotest.Decaying(site.HalfLifeRanking, 3650*day), ok: true},
		"a half-life over ten years":            {change: repotest.Decaying(site.HalfLifeRanking, 3650*day+time.Second)},
		"no half-life, and none is used":        {change: repotest.Decaying(site.Linear, 0), ok: true},
		"calendars of groups alone":             {change: func(r *site.Rules) { r.Calendar, r.GroupTop = false, true }},
		"no calendar":                           {change: func(r *site.Rules) { r.Calendar = false }, ok: true},
		"votes listed for ever":                 {change: func(r *site.Rules) { r.VoteHistory = 0 }, ok: true},
		"votes not listed":                      {change: func(r *site.Rules) { r.VoteHistory = site.NoHistory }, ok: true},
		"votes listed for less than nothing":    {change: func(r *site.Rules) { r.VoteHistory = -time.Second }},
		"front pages kept for half an hour":     {change: func(r *site.Rules) { r.FrontPages = 30 * time.Minute }},
		"no front pages":                        {change: func(r *site.Rules) { r.FrontPages = 0 }, ok: true},
		"fewer events than none":                {change: func(r *site.Rules) { r.Events = -1 }},
		"no events":                             {change: func(r *site.Rules) { r.Events = 0 }, ok: true},
		"a milestone of no votes":               {change: func(r *site.Rules) { r.Milestones = []int{0, 1} }},
		"a milestone twice":                     {change: func(r *site.Rules) { r.Milestones = []int{5, 5} }},
		"no milestones":                         {change: func(r *site.Rules) { r.Milestones = nil }, ok: true},
		"no votes down":                         {change: func(r *site.Rules) { r.Downvotes = false }, ok: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := site.DefaultRules()
			tt.change(&rules)
			if _, err := redisrepo.New(t.Context(), s.Server.Client, rules); (err == nil) != tt.ok {
				t.Errorf("New = %v, want no error: %t", err, tt.ok)
			}
		})
	}
}

func TestWorthFollowsTheFormulas(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	for votes := -1000; votes <= 1_000_000; votes++ {
		v := float64(votes)
		for ranking, want := range map[site.Ranking]float64{
			site.Linear:          432 * v,
			site.Capped:          min(max(432*v, -43_200), 86_400),
			site.HalfLifeRanking: math.Copysign(math.Floor(13_560*math.Log2(1+math.Abs(v))+0.5), v),
		} {
			rules.Ranking = ranking
			if got := rules.Worth(v); got != want {
				t.Fatalf("%v: %d votes are worth %f, want %f", ranking, votes, got, want)
			}
		}
	}
	rules.Ranking, rules.RankCap = site.Capped, 61*time.Second
	if got := rules.Worth(-1); got != -30 {
		t.Errorf("a cap of 61 s: a downvote is worth %f, want -30", got)
	}
}

// Scripts of Redis, those of the store in memory and Go compute the same numbers, however large.
func TestWorthIsTheSameInScriptsAndInGo(t *testing.T) {
	t.Parallel()
	script := redis.NewScript(wire.LuaFunctions("worth") + `local list = {}
for votes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]) do list[#list + 1] = worth(ARGV[1], votes) end
return list`)
	memory := repotest.Embedded(t, nil).Raw
	rankings := map[string]func(*site.Rules){
		"linear 432":         nil,
		"linear 1000000000":  func(r *site.Rules) { r.VoteScore = 1_000_000_000 },
		"capped 432 86400":   repotest.Decaying(site.Capped, day),
		"capped 432 61":      repotest.Decaying(site.Capped, 61*time.Second),
		"halflife 13560":     repotest.Decaying(site.HalfLifeRanking, 226*time.Minute),
		"halflife 315360000": repotest.Decaying(site.HalfLifeRanking, 3650*day),
	}
	compare := func(t *testing.T, client redis.UniversalClient, ranking string, rules site.Rules, first, last, step int) {
		got, err := script.Run(context.Background(), client, nil, ranking, first, last, step).Int64Slice()
		if err != nil || len(got) != (last-first)/step+1 {
			t.Fatalf("%s: %d numbers, %v", ranking, len(got), err)
		}
		for i, worth := range got {
			if want := rules.Worth(float64(first + i*step)); float64(worth) != want {
				t.Fatalf("%s: %d votes are worth %d in a script, %f in Go", ranking, first+i*step, worth, want)
			}
		}
	}
	const most = 1_000_000
	for name, client := range map[string]redis.UniversalClient{"redis": redistest.Start(t).Client, "memory": memory} {
		step := programtest.Size(997, 1)
		if name == "memory" { // whose Lua is slow
			step = programtest.Size(9970, 23)
		}
		chunk := 10_000 * step
		for ranking, change := range rankings {
			t.Run(fmt.Sprint(name, " ", ranking), func(t *testing.T) {
				t.Parallel()
				rules := site.DefaultRules()
				if change != nil {
					change(&rules)
				}
				for first := -most; first <= most; first += chunk {
					compare(t, client, ranking, rules, first, min(first+chunk-1, most), step)
				}
				for power := 1024; power <= most; power *= 2 {
					compare(t, client, ranking, rules, power-2, power+2, 1)
					compare(t, client, ranking, rules, -power-2, -power+2, 1)
				}
				compare(t, client, ranking, rules, -1000, 1000, 1)
				for _, votes := range []int{-1 << 31, -123_456_789, 1<<31 - 1, 1 << 40} {
					if rules.VoteScore == 432 {
						compare(t, client, ranking, rules, votes, votes, 1)
					}
				}
			})
		}
	}
}

// Every write gives an article the score that its votes are worth.
func TestWritesFollowTheRanking(t *testing.T) {
	t.Parallel()
	for _, rule := range []func(*site.Rules){repotest.Decaying(site.Capped, 20*time.Minute), repotest.Decaying(site.HalfLifeRanking, time.Hour)} {
		s := repotest.New(t, rule)
		want := func(id site.ArticleID, after string) {
			t.Helper()
			a := s.Article(id)
			if worth := s.Rules.Worth(float64(a.Votes)); a.Score != float64(a.CreatedAt.Unix())+worth {
				t.Errorf("%v after %s: %d votes, score %f, want %f more than the time", s.Rules.Ranking, after, a.Votes, a.Score, worth)
			}
			s.WantClean()
		}
		a := s.MustPost("alice", "go")
		s.List(repotest.Best("go"))
		want(a.ID, "the post")
		for i := range 6 {
			s.MustVote(a.ID, site.UserName(fmt.Sprint("voter", i)), up)
			want(a.ID, "an upvote")
		}
		for i := range 5 {
			s.MustVote(a.ID, site.UserName(fmt.Sprint("voter", i)), down)
			want(a.ID, "a downvote")
		}
		require.Value(s.Delete(s.Ctx, a.ID, repotest.Moderator, site.Why{}))(t)
		require.Value(s.Undelete(s.Ctx, a.ID, repotest.Moderator))(t)
		want(a.ID, "its restoration")
	}
}

// A change of the ranking, and of the parameter in use, re-ranks. One of a parameter that is not in use does not.
func TestChangedRankingReranks(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	id := s.MustPost("alice", "go").ID
	s.MustVote(id, "bob", up)
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
			s.MustVote(first, voter, up)
		}
		s.MustVote(second, "bob", up)
		s.MustVote(last, "bob", down)
		s.WantList(repotest.Best("interesting"), first)
		if top := s.List(repotest.Best("go")); top[0] != first || top[1] != second {
			t.Errorf("go = %v, want %v and %v first", top, first, second)
		}

		s = s.Reopened(s.Server.Client, func(r *site.Rules) {
			r.VoteScore, r.InterestingVotes, r.VotingWindow = 100, 2, day
		}, partitions)
		s.WantClean()
		s.WantList(repotest.Best("interesting"), first, second)
		a := s.Article(first)
		if a.Score != float64(repotest.Opened.Unix()+300) || a.VotingEndsAt.Sub(repotest.Opened) != day {
			t.Errorf("Score = %f, voting ends at %v, want %d and a day later", a.Score, a.VotingEndsAt, repotest.Opened.Unix()+300)
		}
		// 100 s for each vote no longer rank the first article above articles that were posted minutes
		// later.
		if top := s.List(repotest.Best("go")); !slices.Equal(top[:2], []site.ArticleID{ids[248], ids[247]}) {
			t.Errorf("go = %v, want %v and %v first", top, ids[248], ids[247])
		}
		key := fmt.Sprint(tags[int(last)%len(tags)], "downvoted:", int(last))
		const want = day + time.Hour
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
	s.MustVote(a.ID, "bob", up)
	s.Clock.Set(3 * time.Hour)
	// Redis expires keys by its own clock; this is what it does at that time.
	s.Do("DEL voted:1 downvoted:1")
	young := s.MustPost("alice")
	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.VotingWindow = week })
	_, err := s.Vote(s.Ctx, a.ID, "bob", up, "")
	repotest.WantRefused(t, err, "VOTING_CLOSED article")
	s.MustVote(young.ID, "bob", up)
	if got := s.Article(a.ID).Votes; got != 2 {
		t.Errorf("votes = %d, want 2", got)
	}
	// What is shown of the viewer agrees with that, in every process from then on.
	for _, s := range []*repotest.Site{s, s.Reopened(s.Server.Client, nil), s.Reopened(s.Server.Client, func(r *site.Rules) { r.VotingWindow = 2 * week })} {
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
	s.Clock.Set(2 * day)
	young := s.MustPost("alice")
	s.Clock.Set(2*day + time.Hour)
	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.VotingWindow = day })
	if s.Do("EXISTS voted:1") != int64(0) || s.Do("EXISTS voted:2") != int64(1) {
		t.Errorf("sets of voters = %v, want voted:2 and not voted:1", s.Raw.Keys(s.Ctx, "voted:*").Val())
	}
	_, err := s.Vote(s.Ctx, old.ID, "bob", up, "")
	repotest.WantRefused(t, err, "VOTING_CLOSED article")
	s.MustVote(young.ID, "bob", up)
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

// The preview is the page as it stands, and the one that a start under the other rules shows. It changes nothing.
func TestPreviewIsThePageAfterAChange(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, nil, partitions)
		random := rand.New(rand.NewPCG(1, 2))
		var all []redisrepo.Imported
		for i := range 1500 { // more than are ranked
			link := fmt.Sprint("https://example.com/", i)
			at := repotest.Opened.Add(-time.Duration(random.IntN(3000)) * time.Minute)
			all = append(all, redisrepo.Imported{
				ID: site.ArticleID(i + 1), Draft: site.Draft{Title: "title", Link: &link}, Poster: "alice", PostedAt: at, Votes: 1 + int(random.ExpFloat64()*20),
			})
		}
		s.MustImport(all...)
		for _, change := range []func(*site.Rules){
			repotest.Decaying(site.HalfLifeRanking, 30*time.Minute), repotest.Decaying(site.Capped, time.Hour), repotest.Decaying(site.Linear, 0),
			repotest.Decaying(site.HalfLifeRanking, 100*day),
		} {
			rules, before := s.Rules, s.Dump()
			change(&rules)
			got, err := preview.Ranking(s.Ctx, s.Server.Client, rules, 100, partitions, redisrepo.WithClock(s.Clock.Now))
			if err != nil || s.Dump() != before {
				t.Fatalf("preview.Ranking: %v, want no error and no change", err)
			}
			size := 100
			page := func(s *repotest.Site) []site.ArticleID {
				return require.Value(s.Lists.List(s.Ctx, lists.AllArticles(site.ByScore, site.Descending), 1, &size))(t)
			}
			was := page(s)
			if len(got.Rules) == 0 {
				t.Errorf("%v: no change of the rules is named", rules.Ranking)
			}
			s = s.Reopened(s.Server.Client, change, partitions)
			is := page(s)
			if !slices.Equal(idsOfPlaced(got.Before), was) || !slices.Equal(idsOfPlaced(got.After), is) {
				t.Errorf("%v: the preview is\n%v and\n%v, want\n%v and\n%v", rules.Ranking, idsOfPlaced(got.Before), idsOfPlaced(got.After), was, is)
			}
			for i, p := range got.After {
				if p.After != i+1 || slices.Index(was, p.ID) >= 0 && p.Before != slices.Index(was, p.ID)+1 || p.Score != s.Article(p.ID).Score {
					t.Errorf("%v: %v is at %d, and was at %d, want %d and %d", rules.Ranking, p.ID, p.After, p.Before, i+1, slices.Index(was, p.ID)+1)
				}
			}
		}
	})
}

func idsOfPlaced(page []preview.Placed) (ids []site.ArticleID) {
	for _, p := range page {
		ids = append(ids, p.ID)
	}
	return ids
}

// Only a site that could have a new first page each day, and has not, is advised to take another ranking.
func TestAdviceIsForPagesThatAreTooOld(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		for _, tt := range []struct {
			name   string
			change func(*site.Rules)
			every  time.Duration // between two articles
			most   int           // votes of one article
			want   string
		}{
			{"many articles, and one with many votes", nil, 30 * time.Minute, 2000,
				`48 articles are posted in a day, and the ranking linear keeps "a hit" among the first for 10 days: --ranking halflife:6h would serve this site better`},
			{"many articles with few votes", nil, 30 * time.Minute, 100, ""},
			{"few articles", nil, 2 * time.Hour, 2000, ""},
			{"another ranking", repotest.Decaying(site.HalfLifeRanking, time.Hour), 30 * time.Minute, 2000, ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := repotest.New(t, tt.change, redisrepo.WithPartitions(len(tags)))
				all := []redisrepo.Imported{}
				for i := range 120 {
					text := "words"
					all = append(all, redisrepo.Imported{
						ID: site.ArticleID(i + 1), Draft: site.Draft{Title: "title", Text: &text}, Poster: "alice", PostedAt: repotest.Opened.Add(-time.Duration(i) * tt.every), Votes: 1 + i%5,
					})
				}
				all[50].Draft.Title, all[50].Votes = "a hit", tt.most
				s.MustImport(all...)
				got, err := preview.Advise(s.Ctx, s.Repo)
				said := ""
				if got != nil {
					said = got.String()
				}
				if err != nil || said != tt.want {
					t.Errorf("got %q and %v, want %q", said, err, tt.want)
				}
			})
		}
	})
}
