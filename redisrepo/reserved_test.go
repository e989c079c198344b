package redisrepo_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func reserving(patterns ...site.GroupPattern) func(*site.Rules) {
	return func(r *site.Rules) { r.ReservedGroups = patterns }
}

func TestOnlyModeratorsAndServicesPutArticlesIntoReservedGroups(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, reserving("status.*", "news"))
	service, both := site.Actor{Name: "app", Service: true}, site.Actor{Name: "alice", Service: true, Via: "app"}
	for _, tt := range []struct {
		name        string
		by          site.Actor
		posted      []string // by alice
		add, remove []string
		want        string
		refused     []string
	}{
		{name: "the poster", by: repotest.Alice(), add: []string{"go", "Status.Done"}, refused: []string{"FORBIDDEN add.1"}},
		{name: "the poster, a group with the name alone", by: repotest.Alice(), add: []string{"NEWS"}, refused: []string{"FORBIDDEN add.0"}},
		{name: "the poster, out of one", by: repotest.Alice(), posted: []string{"go", "news"}, remove: []string{"go", "news"}, refused: []string{"FORBIDDEN remove.1"}},
		{name: "the poster, other groups of an article in one", by: repotest.Alice(), posted: []string{"news"}, add: []string{"go"}, want: "[go news]"},
		{name: "the poster, similar names", by: repotest.Alice(), add: []string{"status", "newsy", "x.status.y"}, want: "[newsy status x.status.y]"},
		{name: "a moderator", by: repotest.Moderator, add: []string{"status.done", "news", "go"}, want: "[go news status.done]"},
		{name: "a moderator, two of a family", by: repotest.Moderator, add: []string{"status.done", "news", "status.open", "STATUS.done"}, refused: []string{"INVALID add.2"}},
		{name: "a moderator, from one to the other", by: repotest.Moderator, posted: []string{"go", "status.open"}, add: []string{"status.done"}, want: "[go status.done]"},
		{name: "a moderator, one that it is in", by: repotest.Moderator, posted: []string{"status.open"}, add: []string{"status.open"}, want: "[status.open]"},
		{name: "a moderator, out of one", by: repotest.Moderator, posted: []string{"status.open"}, remove: []string{"status.open"}, want: "[]"},
		{name: "a service", by: service, posted: []string{"go", "status.open"}, add: []string{"status.done", "news"}, want: "[go news status.done]"},
		{name: "a service, another group as well", by: service, add: []string{"status.done", "go"}, refused: []string{"FORBIDDEN article"}},
		{name: "a service for the poster, another group as well", by: both, add: []string{"status.done", "go"}, want: "[go status.done]"},
		{name: "a service for another user", by: site.Actor{Name: "bob", Service: true, Via: "app"}, add: []string{"news"}, want: "[news]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := require.Value(s.PostAs(s.Ctx, site.Actor{Name: "alice", Moderator: true}, s.Fresh(tt.posted...)))(t)
			before := s.Dump()
			b, err := s.Regroup(s.Ctx, a.ID, tt.by, tt.add, tt.remove)
			if tt.refused != nil {
				repotest.WantRefused(t, err, tt.refused...)
				s.WantStore(before)
				return
			}
			if err != nil || fmt.Sprint(b.Groups) != tt.want {
				t.Errorf("Regroup = %+v, %v, want the groups %s", b, err, tt.want)
			}
		})
	}
	s.WantClean()
}

func TestPostIntoAReservedGroupNeedsARole(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, reserving("status.*"))
	for _, tt := range []struct {
		by      site.Actor
		groups  []string
		refused []string
	}{
		{by: repotest.Alice(), groups: []string{"go", "Go", "status.a", "status.b"}, refused: []string{"FORBIDDEN groups.2", "FORBIDDEN groups.3", "INVALID groups.3"}},
		{by: repotest.Moderator, groups: []string{"go", "status.a", "status.a", "status.b"}, refused: []string{"INVALID groups.3"}},
		{by: repotest.Moderator, groups: []string{"go", "status.a", "status.A"}},
		{by: site.Actor{Name: "alice", Service: true, Via: "app"}, groups: []string{"status.a"}},
	} {
		before := s.Dump()
		_, err := s.PostAs(s.Ctx, tt.by, s.Fresh(tt.groups...))
		if tt.refused != nil {
			repotest.WantRefused(t, err, tt.refused...)
			s.WantStore(before, tt.groups, ":")
		} else if err != nil {
			t.Errorf("%v: err = %v, want none", tt.groups, err)
		}
	}
	s.WantClean()
}

// Moderators and services of several processes move one article at the same time: it ends in one group.
func TestAnArticleIsInOneGroupOfAFamily(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, reserving("status.*"))
	a := s.MustPost("alice", "go")
	other := s.Reopened(s.Server.Client, nil)
	states := []string{"status.open", "status.planned", "status.done"}
	var failed atomic.Int64
	repotest.Together(24, func(i int) {
		repo := []*repotest.Site{s, other}[i%2]
		b, err := repo.Regroup(s.Ctx, a.ID, site.Actor{Name: "mod", Moderator: i%3 > 0, Service: i%3 == 0}, states[i%3:i%3+1], nil)
		if err != nil || len(b.Groups) != 2 || b.Groups[1] != site.GroupName(states[i%3]) {
			failed.Add(1)
		}
	})
	if got := s.Article(a.ID).Groups; failed.Load() > 0 || len(got) != 2 || !strings.HasPrefix(string(got[1]), "status.") {
		t.Errorf("%d regroupings failed; the article is in %v, want go and one of %v", failed.Load(), got, states)
	}
	s.WantClean()
}

func TestModerationLogNamesServiceAndUser(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, reserving("status.*"))
	a, b := s.MustPost("alice"), s.MustPost("alice")
	app := site.Actor{Name: "alice", Service: true, Via: "app"}
	require.Value(s.Regroup(s.Ctx, a.ID, app, []string{"status.done"}, nil))(t)
	s.MustDelete(a.ID, app)
	require.Value(s.Regroup(s.Ctx, b.ID, app, []string{"go"}, nil))(t) // any poster may
	entries, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{})
	if err != nil || len(entries) != 2 {
		t.Fatalf("log = %+v, %v, want the deletion and the change of the reserved group", entries, err)
	}
	for _, e := range entries {
		if e.By != "app" || e.OnBehalfOf == nil || *e.OnBehalfOf != "alice" {
			t.Errorf("entry = %s for %v, want app for alice", repotest.LogText(e), e.OnBehalfOf)
		}
	}
	if deleted, err := s.Deleted(s.Ctx, a.ID); err != nil || *deleted.DeletedBy != "alice" {
		t.Errorf("deleted = %+v, %v, want by alice", deleted, err)
	}
}

func TestCheckReportsTwoGroupsOfAFamily(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustPost("alice", "go", "status.a", "status.b")
	found := s.Reopened(s.Server.Client, reserving("status.*")).Violations()
	if len(found) != 1 || !strings.Contains(found[0], "status.a and status.b") {
		t.Errorf("violations = %q, want the two groups", found)
	}
}
