package redisrepo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// A moderator deletes an article at once and says why later; once it is said, it stays.
func TestModeratorsSayWhyTheyDelete(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		a := s.MustPost("alice", "go")
		silent := site.Why{Ground: site.GroundIllegal}
		spam := site.Why{Ground: site.GroundRules, Basis: "Rule 2: no advertising", Reason: "an advertisement"}
		for i, step := range []struct {
			by       site.Actor
			why      site.Why
			want     site.Why
			revision int
		}{
			{repotest.Moderator, site.Why{}, site.Why{}, 2},
			{repotest.Alice(), spam, site.Why{}, 2}, // a poster has nothing to say of a moderator's deletion
			{repotest.Moderator, silent, silent, 3},
			{repotest.Moderator, silent, silent, 3},
			{repotest.Moderator, spam, spam, 4},
			{repotest.Moderator, site.Why{Reason: "another one"}, spam, 4},
		} {
			got := require.Value(s.Delete(s.Ctx, a.ID, step.by, step.why))(t)
			var why site.Why
			if got.Removal != nil {
				why = got.Removal.Why
				if got.Removal.By != repotest.Moderator.Name || !got.Removal.At.Equal(s.Clock.Now()) {
					t.Errorf("step %d: %+v", i, got.Removal)
				}
			}
			if why != step.want || got.Revision() != step.revision {
				t.Errorf("step %d: %+v at revision %d, want %+v at %d", i, why, got.Revision(), step.want, step.revision)
			}
		}
		var told []string
		for _, e := range require.Value(s.Log.Events(s.Ctx, nil, []events.EventKind{events.EventDeleted}, nil))(t).Edges {
			told = append(told, fmt.Sprint(e.Node.Revision, e.Node.Score == a.Score, e.Node.Why))
		}
		if want := fmt.Sprint([]string{"2 true <nil>", "3 true &{illegal  }", "4 true &" + fmt.Sprint(spam)}); fmt.Sprint(told) != want {
			t.Errorf("events = %v, want %v", told, want)
		}
		log, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{First: new(1)})
		if err != nil || *log[0].Ground != spam.Ground || *log[0].Basis != spam.Basis || *log[0].Reason != spam.Reason {
			t.Errorf("log = %+v, %v", log, err)
		}
		if got := s.MustUndelete(a.ID); got.Removal != nil {
			t.Errorf("restored with %+v", got.Removal)
		}
		own := require.Value(s.Delete(s.Ctx, a.ID, repotest.Alice(), spam))(t)
		if again := require.Value(s.Delete(s.Ctx, a.ID, repotest.Moderator, spam))(t); own.Removal != nil || again.Removal != nil {
			t.Error("an own deletion has a removal")
		}
		s.WantClean()
	})
}

func TestModeratorsSayWhyTheyChangeArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "go")
	why := func(reason string) site.Why { return site.Why{Ground: site.GroundOther, Reason: reason} }
	want := func(article *site.Article, reason string) {
		t.Helper()
		if article.Removal == nil && reason != "" || article.Removal != nil && article.Removal.Why != why(reason) {
			t.Errorf("removal = %+v, want %q", article.Removal, reason)
		}
	}
	want(s.MustEdit(a.ID, repotest.Alice(), redisrepo.Edit{Title: new("own"), Why: why("own")}), "")
	want(s.MustEdit(a.ID, repotest.Moderator, redisrepo.Edit{Title: new("silent")}), "")
	want(s.MustEdit(a.ID, repotest.Moderator, redisrepo.Edit{Title: new("better"), Why: site.Why{Reason: "typo"}}), "typo")
	want(s.MustEdit(a.ID, repotest.Moderator, redisrepo.Edit{Title: new("better"), Why: why("nothing changed")}), "typo")
	want(require.Value(s.RegroupFor(s.Ctx, a.ID, repotest.Moderator, []string{"web"}, nil, why("web")))(t), "web")
	want(require.Value(s.RegroupFor(s.Ctx, a.ID, repotest.Alice(), nil, []string{"web"}, why("own")))(t), "web")
	want(require.Value(s.Delete(s.Ctx, a.ID, repotest.Moderator, site.Why{}))(t), "")
	_, err := s.RegroupFor(s.Ctx, a.ID, repotest.Moderator, []string{"x"}, nil, site.Why{Ground: "spite", Basis: string(make([]byte, 201)), Reason: "a\nb"})
	repotest.WantRefused(t, err, "TOO_LONG basis", "INVALID reason", "INVALID ground")
	_, err = s.UndeleteFor(s.Ctx, a.ID, repotest.Moderator, "a\nb")
	repotest.WantRefused(t, err, "INVALID reason")
	page := require.Value(s.Log.Events(s.Ctx, nil, nil, nil))(t)
	told := map[string]int{}
	for _, e := range page.Edges {
		if e.Node.Why != nil {
			told[e.Node.Why.Reason]++
		}
	}
	if len(told) != 2 || told["typo"] != 1 || told["web"] != 1 {
		t.Errorf("events say %v", told)
	}
	s.WantClean()
}

func TestDeletedArticlesAreListedByDeletion(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		var ids []site.ArticleID
		for range 7 {
			ids = append(ids, s.MustPost("alice").ID)
		}
		for _, id := range slices.Backward(ids) {
			s.Clock.Advance(time.Second)
			s.MustDelete(id, repotest.Moderator)
		}
		s.WantList(lists.Deleted(), ids...)
		s.MustUndelete(ids[3])
		s.WantList(lists.Deleted(), slices.Delete(ids, 3, 4)...)
	})
}

// A removal without a ground is found until one is given, or the article is restored. What posters delete needs none.
func TestRemovalsWithoutAReasonAreListed(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		var ids []site.ArticleID
		for range 6 {
			ids = append(ids, s.MustPost("alice", "go").ID)
		}
		want := func(what string, wanted ...int) {
			t.Helper()
			edges, _, err := s.Lists.Walk(s.Ctx, lists.Unexplained(), site.PageRequest{})
			var got []int
			for _, e := range edges {
				got = append(got, slices.Index(ids, e.ID)+1)
			}
			slices.Sort(got)
			n := require.Value(s.Lists.Count(s.Ctx, lists.Unexplained()))(t)
			if err != nil || !slices.Equal(got, wanted) || n != len(wanted) {
				t.Errorf("%s: %v without a reason, %d counted, %v, want %v", what, got, n, err, wanted)
			}
		}
		rules := site.Why{Ground: site.GroundRules}
		require.Value(s.Delete(s.Ctx, ids[0], repotest.Moderator, site.Why{}))(t)
		require.Value(s.Delete(s.Ctx, ids[1], site.Actor{Name: site.CommandLine, Moderator: true}, site.Why{}))(t)
		require.Value(s.Delete(s.Ctx, ids[2], repotest.Moderator, rules))(t)
		require.Value(s.Delete(s.Ctx, ids[3], repotest.Alice(), site.Why{}))(t)
		require.Value(s.Delete(s.Ctx, ids[4], repotest.Moderator, site.Why{}))(t)
		s.MustFlag(ids[5], "bob", reports.Spam, "")
		require.Value(s.SettleByDeleting(s.Ctx, ids[5], repotest.Moderator, reports.Settling{Through: 1, State: reports.Acted}))(t)
		want("deleted", 1, 2, 5, 6)
		require.Value(s.Delete(s.Ctx, ids[4], repotest.Alice(), rules))(t)
		want("after the poster's", 1, 2, 5, 6)
		require.Value(s.Delete(s.Ctx, ids[4], repotest.Moderator, rules))(t)
		require.Value(s.Delete(s.Ctx, ids[5], repotest.Moderator, rules))(t)
		want("two reasons", 1, 2)
		s.MustUndelete(ids[0])
		want("one restored", 2)
		require.Value(s.Delete(s.Ctx, ids[0], repotest.Alice(), site.Why{}))(t)
		want("deleted by the poster", 2)
		s.WantClean()
	})
}

// Events say that an article was reported, and that reports were decided. The article's revision stays.
func TestEventsOfReports(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		a := s.MustPost("alice", "go")
		s.MustVote(a.ID, "dan", site.Up)
		s.MustFlag(a.ID, "bob", reports.Spam, "")
		s.MustFlag(a.ID, "bob", reports.Spam, "") // the same: no event
		s.MustFlag(a.ID, "bob", reports.Abuse, "")
		require.NoError(t, s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, reports.Settling{Through: 2, State: reports.Dismissed}))
		require.NoError(t, s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, reports.Settling{Through: 2, State: reports.Dismissed}))
		s.MustFlag(a.ID, "eve", reports.Spam, "")
		require.Value(s.SettleByDeleting(s.Ctx, a.ID, repotest.Moderator, reports.Settling{Through: 3, State: reports.Acted}))(t)
		var got []string
		for _, e := range require.Value(s.Log.Events(s.Ctx, nil, nil, nil))(t).Edges[2:] {
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
		s.WantClean()
	})
}
