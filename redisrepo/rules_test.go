package redisrepo_test

import (
	"reflect"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
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
	s := newSite(t, nil)
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
		"a cap below a minute":                  {change: decaying(site.Capped, time.Minute-time.Second)},
		"a cap of a minute":                     {change: decaying(site.Capped, time.Minute), ok: true},
		"a cap over ten years":                  {change: decaying(site.Capped, 3650*day+time.Second)},
		"a cap that ends in a fraction":         {change: decaying(site.Capped, time.Minute+1)},
		"a half-life below a minute":            {change: decaying(site.HalfLifeRanking, time.Minute-time.Second)},
		"a half-life of ten years":              {change: decaying(site.HalfLifeRanking, 3650*day), ok: true},
		"a half-life over ten years":            {change: decaying(site.HalfLifeRanking, 3650*day+time.Second)},
		"no half-life, and none is used":        {change: decaying(site.Linear, 0), ok: true},
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
			if _, err := redisrepo.New(t.Context(), s.server.Client, rules); (err == nil) != tt.ok {
				t.Errorf("New = %v, want no error: %t", err, tt.ok)
			}
		})
	}
}
