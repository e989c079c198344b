package redisrepo_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/rings"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// Votes are compared as they stand: those of the last days, each with its direction, without those that were withdrawn.
func TestRingsAreThoseOfTheVotesThatStand(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		var want rings.Votes
		groups := map[site.ArticleID][]string{}
		vote := func(id site.ArticleID, user site.UserName, vote site.Vote) {
			s.vote(id, user, vote)
			require.NoError(t, want.Add(string(user), int(id), vote == up, s.clock.now().Unix()))
		}
		var ids []site.ArticleID
		for i := range 120 {
			a := s.post(site.UserName(fmt.Sprint("poster", i)), []string{"go", "web"}[i%2])
			ids, groups[a.ID] = append(ids, a.ID), []string{string(a.Groups[0])}
		}
		for _, id := range ids { // too old
			s.vote(id, "eve", up)
			s.vote(id, "mallory", up)
		}
		s.clock.advance(2 * 24 * time.Hour)
		for i, id := range ids {
			s.vote(id, site.UserName(fmt.Sprint("gone", i%2)), up) // withdrawn below
			vote(id, site.UserName(fmt.Sprint("reader", i%10)), up)
		}
		s.clock.advance(time.Hour)
		for i, id := range ids[:9] {
			for _, user := range []site.UserName{"a:b", "bob", "carol"} {
				vote(id, user, site.Vote(1-2*(i%2)))
			}
			s.clock.advance(time.Second)
		}
		for i, id := range ids {
			s.vote(id, site.UserName(fmt.Sprint("gone", i%2)), none)
		}
		for id, names := range groups {
			want.SetGroups(int(id), names)
		}
		found, expected := require.Value(s.Casts.Rings(s.ctx, 1))(t), require.Value(want.Find(t.Context()))(t)
		if len(expected) != 1 || len(expected[0].Users) != 3 || expected[0].Together != 9 {
			t.Fatalf("the votes of the test have the rings %+v", expected)
		}
		if !reflect.DeepEqual(found, expected) {
			t.Errorf("got  %+v\nwant %+v", found, expected)
		}
		if all := require.Value(s.Casts.Rings(s.ctx, 30))(t); len(all) == 0 {
			t.Error("there are no rings in the votes of 30 days")
		}
		for _, days := range []int{0, 367} {
			_, err := s.Casts.Rings(s.ctx, days)
			wantRefused(t, err, "INVALID days")
		}
	})
}

func TestRingsNeedTheVotesOfUsers(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.VoteHistory = site.NoHistory })
	_, err := s.Casts.Rings(s.ctx, 30)
	wantRefused(t, err, "INVALID voteRings")
}
