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
