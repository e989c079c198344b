package redisrepo_test

import (
	"reflect"
	"testing"
	"time"

	"frontpage/redisrepo"
)

func TestDefaultRulesAreThoseOfRedisInAction(t *testing.T) {
	t.Parallel()
	want := redisrepo.Rules{
		VoteScore: 432, VotingWindow: week, PosterVotes: true,
		InterestingVotes: 200, PageSize: 25, GroupCacheTTL: time.Minute, EditWindow: 15 * time.Minute, LinkWindow: week, Downvotes: true,
		Ranking: redisrepo.Linear, RankCap: day, HalfLife: 226 * time.Minute,
		Calendar: true, VoteHistory: 400 * day, FrontPages: 365 * day, Events: 1_000_000, Milestones: []int{10, 50, 100, 200},
	}
	if got := redisrepo.DefaultRules(); !reflect.DeepEqual(got, want) {
		t.Errorf("DefaultRules = %+v, want %+v", got, want)
	}
}

func TestNewRefusesRulesOutOfBounds(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	tests := map[string]struct {
		change func(*redisrepo.Rules)
		ok     bool
	}{
		"a vote worth nothing":                  {change: func(r *redisrepo.Rules) { r.VoteScore = 0 }},
		"a vote worth a second":                 {change: func(r *redisrepo.Rules) { r.VoteScore = 1 }, ok: true},
		"a vote worth 1000000000 seconds":       {change: func(r *redisrepo.Rules) { r.VoteScore = 1_000_000_000 }, ok: true},
		"a vote worth 1000000001 seconds":       {change: func(r *redisrepo.Rules) { r.VoteScore = 1_000_000_001 }},
		"no voting window":                      {change: func(r *redisrepo.Rules) { r.VotingWindow = 0 }},
		"a voting window of a second":           {change: func(r *redisrepo.Rules) { r.VotingWindow = time.Second }, ok: true},
		"a voting window that ends in fraction": {change: func(r *redisrepo.Rules) { r.VotingWindow = 1500 * time.Millisecond }},
		"interesting without votes":             {change: func(r *redisrepo.Rules) { r.InterestingVotes = 0 }},
		"interesting at one vote":               {change: func(r *redisrepo.Rules) { r.InterestingVotes = 1 }, ok: true},
		"an empty page":                         {change: func(r *redisrepo.Rules) { r.PageSize = 0 }},
		"a page of one":                         {change: func(r *redisrepo.Rules) { r.PageSize = 1 }, ok: true},
		"the largest page":                      {change: func(r *redisrepo.Rules) { r.PageSize = redisrepo.MaxPageSize }, ok: true},
		"a page over the largest":               {change: func(r *redisrepo.Rules) { r.PageSize = redisrepo.MaxPageSize + 1 }},
		"listings kept for less than a second":  {change: func(r *redisrepo.Rules) { r.GroupCacheTTL = time.Second - 1 }},
		"listings kept for a second":            {change: func(r *redisrepo.Rules) { r.GroupCacheTTL = time.Second }, ok: true},
		"links that are not reserved":           {change: noLinkWindow, ok: true},
		"links reserved for a second":           {change: func(r *redisrepo.Rules) { r.LinkWindow = time.Second }, ok: true},
		"links reserved for a fraction":         {change: func(r *redisrepo.Rules) { r.LinkWindow = 1500 * time.Millisecond }},
		"links reserved for less than nothing":  {change: func(r *redisrepo.Rules) { r.LinkWindow = -time.Second }},
		"an unknown ranking":                    {change: func(r *redisrepo.Rules) { r.Ranking = 3 }},
		"a cap below a minute":                  {change: decaying(redisrepo.Capped, time.Minute-time.Second)},
		"a cap of a minute":                     {change: decaying(redisrepo.Capped, time.Minute), ok: true},
		"a cap over ten years":                  {change: decaying(redisrepo.Capped, 3650*day+time.Second)},
		"a cap that ends in a fraction":         {change: decaying(redisrepo.Capped, time.Minute+1)},
		"a half-life below a minute":            {change: decaying(redisrepo.HalfLifeRanking, time.Minute-time.Second)},
		"a half-life of ten years":              {change: decaying(redisrepo.HalfLifeRanking, 3650*day), ok: true},
		"a half-life over ten years":            {change: decaying(redisrepo.HalfLifeRanking, 3650*day+time.Second)},
		"no half-life, and none is used":        {change: decaying(redisrepo.Linear, 0), ok: true},
		"calendars of groups alone":             {change: func(r *redisrepo.Rules) { r.Calendar, r.GroupTop = false, true }},
		"no calendar":                           {change: func(r *redisrepo.Rules) { r.Calendar = false }, ok: true},
		"votes listed for ever":                 {change: func(r *redisrepo.Rules) { r.VoteHistory = 0 }, ok: true},
		"votes not listed":                      {change: func(r *redisrepo.Rules) { r.VoteHistory = redisrepo.NoHistory }, ok: true},
		"votes listed for less than nothing":    {change: func(r *redisrepo.Rules) { r.VoteHistory = -time.Second }},
		"front pages kept for half an hour":     {change: func(r *redisrepo.Rules) { r.FrontPages = 30 * time.Minute }},
		"no front pages":                        {change: func(r *redisrepo.Rules) { r.FrontPages = 0 }, ok: true},
		"fewer events than none":                {change: func(r *redisrepo.Rules) { r.Events = -1 }},
		"no events":                             {change: func(r *redisrepo.Rules) { r.Events = 0 }, ok: true},
		"a milestone of no votes":               {change: func(r *redisrepo.Rules) { r.Milestones = []int{0, 1} }},
		"a milestone twice":                     {change: func(r *redisrepo.Rules) { r.Milestones = []int{5, 5} }},
		"no milestones":                         {change: func(r *redisrepo.Rules) { r.Milestones = nil }, ok: true},
		"no votes down":                         {change: func(r *redisrepo.Rules) { r.Downvotes = false }, ok: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := redisrepo.DefaultRules()
			tt.change(&rules)
			if _, err := redisrepo.New(t.Context(), s.server.Client, rules); (err == nil) != tt.ok {
				t.Errorf("New = %v, want no error: %t", err, tt.ok)
			}
		})
	}
}
