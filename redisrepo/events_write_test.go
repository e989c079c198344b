package redisrepo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
)

// story returns all events of the feed, one a line.
func (s *testSite) story() string {
	s.t.Helper()
	var lines []string
	after := ""
	for more := true; more; {
		page := s.events(&after, events.MaxEvents)
		for _, e := range page.Edges {
			n := e.Node
			line := fmt.Sprintf("%s %v r%d votes %d-%d score %.0f by %s", n.Kind, n.Article, n.Revision, n.Votes+n.Downvotes, n.Downvotes, n.Score-float64(opened.Unix()), n.By.Name)
			if n.Direction != nil {
				line += fmt.Sprintf(" direction %d", *n.Direction)
			}
			if n.Groups != nil {
				line += fmt.Sprintf(" groups %v", n.Groups)
			}
			if n.Milestone != nil {
				line += fmt.Sprintf(" milestone %d", *n.Milestone)
			}
			lines = append(lines, line)
			if now := s.raw.Time(s.ctx).Val(); n.At.After(now) || n.At.Before(now.Add(-time.Minute)) {
				s.t.Errorf("%s: at %v, now is %v", line, n.At, now)
			}
		}
		after, more = *page.PageInfo.EndCursor, page.PageInfo.HasNextPage
	}
	return strings.Join(lines, "\n")
}

// Each change has one event, and what changes nothing has none.
func TestChangesHaveEvents(t *testing.T) {
	t.Parallel()
	for _, tags := range layouts {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		id := s.post("alice", "go", "redis").ID
		for range 2 { // the second time nothing changes
			s.vote(id, "bob", up)
		}
		s.vote(id, "bob", down)
		s.vote(id, "bob", none)
		for range 2 {
			must.Get(s.Regroup(s.ctx, id, alice(), []string{"c"}, []string{"go"}))(t)
			must.Get(s.Edit(s.ctx, id, alice(), redisrepo.Edit{Title: new("other")}))(t)
		}
		must.Get(s.Edit(s.ctx, id, moderator, redisrepo.Edit{Title: new("third"), Groups: []string{"d"}}))(t)
		must.Get(s.Edit(s.ctx, id, alice(), redisrepo.Edit{Groups: []string{}}))(t)
		for range 2 {
			s.delete(id, moderator)
		}
		for range 2 {
			must.Get(s.Undelete(s.ctx, id, moderator))(t)
		}
		want := strings.ReplaceAll(`posted ID r1 votes 1-0 score 432 by alice groups [go redis]
voted ID r2 votes 2-0 score 864 by bob direction 1
voted ID r3 votes 1-1 score 0 by bob direction -1
voted ID r4 votes 1-0 score 432 by bob direction 0
regrouped ID r5 votes 1-0 score 432 by alice groups [c redis]
edited ID r6 votes 1-0 score 432 by alice groups [c redis]
edited ID r7 votes 1-0 score 432 by MODERATOR groups [d]
regrouped ID r8 votes 1-0 score 432 by alice groups []
deleted ID r9 votes 1-0 score 432 by MODERATOR
undeleted ID r10 votes 1-0 score 432 by MODERATOR groups []`, "ID", id.String())
		want = strings.ReplaceAll(want, "MODERATOR", string(moderator.Name))
		if got := s.story(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		s.wantClean()
	}
}

func TestVotesThatGoTogetherHaveAnEventEach(t *testing.T) {
	t.Parallel()
	g := withGate(t, func(r *site.Rules) { r.Milestones = []int{2, 5, 6} })
	for i := range 3 {
		g.queue(g.ctx, &castVote{voter: site.UserName(fmt.Sprint("v", i)), vote: up})
	}
	g.wantCalls(g.open(), 3)
	want := `posted ID r1 votes 1-0 score 432 by alice groups [go redis]
voted ID r2 votes 2-0 score 864 by warm direction 1
milestone ID r2 votes 2-0 score 864 by warm milestone 2
voted ID r3 votes 3-0 score 1296 by first direction 1
voted ID r4 votes 4-0 score 1728 by v0 direction 1
voted ID r5 votes 5-0 score 2160 by v1 direction 1
milestone ID r5 votes 5-0 score 2160 by v1 milestone 5
voted ID r6 votes 6-0 score 2592 by v2 direction 1
milestone ID r6 votes 6-0 score 2592 by v2 milestone 6`
	if got := g.story(); got != strings.ReplaceAll(want, "ID", g.id.String()) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// milestones returns the events of that kind: the net votes of each.
func (s *testSite) milestones() (numbers []int) {
	s.t.Helper()
	for _, e := range s.events(nil, events.MaxEvents, events.EventMilestone).Edges {
		numbers = append(numbers, *e.Node.Milestone)
	}
	return numbers
}

func TestMilestonesAreReachedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Milestones = []int{2, 3, 4} })
	id := s.post("alice").ID
	want := func(when string, numbers ...int) {
		t.Helper()
		if got := s.milestones(); fmt.Sprint(got) != fmt.Sprint(numbers) {
			t.Errorf("%s: got milestones %v, want %v", when, got, numbers)
		}
	}
	want("after the post")
	s.vote(id, "a", up)
	want("2 votes", 2)
	s.vote(id, "a", down)
	s.vote(id, "a", up)
	want("2 votes again", 2)
	s.vote(id, "b", down)
	s.vote(id, "c", up)
	s.vote(id, "b", up) // from 2 to 4
	want("two votes at once", 2, 3, 4)
	s.wantClean()

	s = s.reopened(s.server.Client, func(r *site.Rules) { r.Milestones = []int{1, 3, 5} })
	s.vote(id, "a", none)
	s.vote(id, "a", up)
	s.vote(id, "d", up)
	want("other milestones", 2, 3, 4, 5)

	s = s.reopened(s.server.Client, func(r *site.Rules) { r.Milestones = nil })
	s.vote(id, "e", up)
	want("no milestones", 2, 3, 4, 5)
}

func TestImportsHaveNoEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	if _, errs := s.Import(s.ctx, []redisrepo.Imported{old(7, time.Hour, 9)}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	s.vote(7, "bob", up)
	if got := s.story(); strings.Contains(got, "posted") || !strings.Contains(got, "voted article:7 r2 votes 10-0") || len(s.milestones()) != 1 {
		t.Errorf("got %s, want the vote and its milestone", got)
	}
}

func TestSitesWithoutAFeedWriteNone(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Events, r.Milestones = 0, []int{1, 2} }, one)
	id := s.post("alice", "go").ID
	s.vote(id, "bob", up)
	s.delete(id, moderator)
	if s.raw.Exists(s.ctx, "events:").Val() != 0 || s.raw.HExists(s.ctx, "article:1", "milestone").Val() {
		t.Error("a site without events has a feed, or milestones")
	}
}

// EVENTS bounds the stream, about.
func TestFeedDropsItsOldestEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Events = 200 }, one)
	id := s.post("alice").ID
	first := s.events(nil, 1).Edges[0].Cursor()
	for i := range 600 {
		s.vote(id, site.UserName(fmt.Sprint("v", i)), up)
	}
	if n := s.raw.XLen(s.ctx, "events:").Val(); n < 200 || n > 350 {
		t.Errorf("the feed has %d events, want about 200", n)
	}
	if _, err := s.Events(s.ctx, &first, nil, nil); err == nil {
		t.Error("a cursor of the first event is not expired")
	}
	s.wantClean()
}
