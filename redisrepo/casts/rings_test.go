package casts_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/rings"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// Votes are compared as they stand: those of the last days, each with its direction, without those that were withdrawn.
func TestRingsAreThoseOfTheVotesThatStand(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		var want rings.Votes
		groups := map[site.ArticleID][]string{}
		vote := func(id site.ArticleID, user site.UserName, vote site.Vote) {
			s.MustVote(id, user, vote)
			require.NoError(t, want.Add(string(user), int(id), vote == site.Up, s.Clock.Now().Unix()))
		}
		var ids []site.ArticleID
		for i := range 120 {
			a := s.MustPost(site.UserName(fmt.Sprint("poster", i)), []string{"go", "web"}[i%2])
			ids, groups[a.ID] = append(ids, a.ID), []string{string(a.Groups[0])}
		}
		for _, id := range ids { // too old
			s.MustVote(id, "eve", site.Up)
			s.MustVote(id, "mallory", site.Up)
		}
		s.Clock.Advance(2 * 24 * time.Hour)
		for i, id := range ids {
			s.MustVote(id, site.UserName(fmt.Sprint("gone", i%2)), site.Up) // withdrawn below
			vote(id, site.UserName(fmt.Sprint("reader", i%10)), site.Up)
		}
		s.Clock.Advance(time.Hour)
		for i, id := range ids[:9] {
			for _, user := range []site.UserName{"a:b", "bob", "carol"} {
				vote(id, user, site.Vote(1-2*(i%2)))
			}
			s.Clock.Advance(time.Second)
		}
		for i, id := range ids {
			s.MustVote(id, site.UserName(fmt.Sprint("gone", i%2)), site.None)
		}
		for id, names := range groups {
			want.SetGroups(int(id), names)
		}
		found, expected := require.Value(s.Casts.Rings(s.Ctx, 1))(t), require.Value(want.Find(t.Context()))(t)
		if len(expected) != 1 || len(expected[0].Users) != 3 || expected[0].Together != 9 {
			t.Fatalf("the votes of the test have the rings %+v", expected)
		}
		if !reflect.DeepEqual(found, expected) {
			t.Errorf("got  %+v\nwant %+v", found, expected)
		}
		if all := require.Value(s.Casts.Rings(s.Ctx, 30))(t); len(all) == 0 {
			t.Error("there are no rings in the votes of 30 days")
		}
		for _, days := range []int{0, 367} {
			_, err := s.Casts.Rings(s.Ctx, days)
			repotest.WantRefused(t, err, "INVALID days")
		}
	})
}

func TestRingsNeedTheVotesOfUsers(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.VoteHistory = site.NoHistory })
	_, err := s.Casts.Rings(s.Ctx, 30)
	repotest.WantRefused(t, err, "INVALID voteRings")
}
