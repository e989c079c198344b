package redisrepo_test

import (
	"slices"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// A removal without a ground is found until one is given, or the article is restored. What posters delete needs none.
func TestRemovalsWithoutAReasonAreListed(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		var ids []site.ArticleID
		for range 6 {
			ids = append(ids, s.post("alice", "go").ID)
		}
		want := func(what string, wanted ...int) {
			t.Helper()
			edges, _, err := s.Lists.Walk(s.ctx, lists.Unexplained(), site.PageRequest{})
			var got []int
			for _, e := range edges {
				got = append(got, slices.Index(ids, e.ID)+1)
			}
			slices.Sort(got)
			n := require.Value(s.Lists.Count(s.ctx, lists.Unexplained()))(t)
			if err != nil || !slices.Equal(got, wanted) || n != len(wanted) {
				t.Errorf("%s: %v without a reason, %d counted, %v, want %v", what, got, n, err, wanted)
			}
		}
		rules := site.Why{Ground: site.GroundRules}
		require.Value(s.Delete(s.ctx, ids[0], moderator, site.Why{}))(t)
		require.Value(s.Delete(s.ctx, ids[1], site.Actor{Name: site.CommandLine, Moderator: true}, site.Why{}))(t)
		require.Value(s.Delete(s.ctx, ids[2], moderator, rules))(t)
		require.Value(s.Delete(s.ctx, ids[3], alice(), site.Why{}))(t)
		require.Value(s.Delete(s.ctx, ids[4], moderator, site.Why{}))(t)
		s.flag(ids[5], "bob", reports.Spam, "")
		require.Value(s.SettleByDeleting(s.ctx, ids[5], moderator, reports.Settling{Through: 1, State: reports.Acted}))(t)
		want("deleted", 1, 2, 5, 6)
		require.Value(s.Delete(s.ctx, ids[4], alice(), rules))(t)
		want("after the poster's", 1, 2, 5, 6)
		require.Value(s.Delete(s.ctx, ids[4], moderator, rules))(t)
		require.Value(s.Delete(s.ctx, ids[5], moderator, rules))(t)
		want("two reasons", 1, 2)
		s.undelete(ids[0])
		want("one restored", 2)
		require.Value(s.Delete(s.ctx, ids[0], alice(), site.Why{}))(t)
		want("deleted by the poster", 2)
		s.wantClean()
	})
}

// Events say that an article was reported, and that reports were decided. The article's revision stays.
func TestEventsOfReports(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		a := s.post("alice", "go")
		s.vote(a.ID, "dan", site.Up)
		s.flag(a.ID, "bob", reports.Spam, "")
		s.flag(a.ID, "bob", reports.Spam, "") // the same: no event
		s.flag(a.ID, "bob", reports.Abuse, "")
		require.NoError(t, s.Reports.Settle(s.ctx, a.ID, moderator, reports.Settling{Through: 2, State: reports.Dismissed}))
		require.NoError(t, s.Reports.Settle(s.ctx, a.ID, moderator, reports.Settling{Through: 2, State: reports.Dismissed}))
		s.flag(a.ID, "eve", reports.Spam, "")
		require.Value(s.SettleByDeleting(s.ctx, a.ID, moderator, reports.Settling{Through: 3, State: reports.Acted}))(t)
		var got []string
		for _, e := range require.Value(s.Log.Events(s.ctx, nil, nil, nil))(t).Edges[2:] {
			by := "unknown"
			if e.Node.By != nil {
				by = string(e.Node.By.Name)
			}
			got = append(got, string(e.Node.Kind)+" by "+by)
			if want := 2; e.Node.Kind != events.EventDeleted && (e.Node.Revision != want || e.Node.Votes != 2 || e.Node.Score != a.Score+site.DefaultRules().Worth(1)) {
				t.Errorf("%+v, want revision %d, two votes and their score", e.Node, want)
			}
		}
		want := []string{"flagged by unknown", "flagged by unknown", "settled by mod", "flagged by unknown", "settled by mod", "deleted by mod"}
		if !slices.Equal(got, want) {
			t.Errorf("events = %q, want %q", got, want)
		}
		s.wantClean()
	})
}
