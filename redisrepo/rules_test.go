package redisrepo_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
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
