package redisrepo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// actionText is an action as text, with its end.
func actionText(e events.ModerationEntry) string {
	text := fmt.Sprint(e.Kind, " ", e.Target, " by ", e.By)
	if e.OnBehalfOf != nil {
		text += fmt.Sprint(" for ", *e.OnBehalfOf)
	}
	if e.Ground != nil {
		text += " " + string(*e.Ground)
	}
	if e.Reason != nil {
		text += ": " + *e.Reason
	}
	if e.Until != nil {
		text += fmt.Sprint(" until ", e.Until.Sub(opened))
	}
	return text
}

// actions returns the actions of all pages of a size.
func (s *testSite) actions(a events.Actions, size int) (texts []string) {
	s.t.Helper()
	for after := (*string)(nil); ; {
		entries, info, _, err := s.Log.Actions(s.ctx, a, &size, after)
		require.NoError(s.t, err)
		if len(entries) > size || info.HasPreviousPage != (after != nil) {
			s.t.Fatalf("a page of %d has %d actions, %+v", size, len(entries), info)
		}
		for _, e := range entries {
			texts = append(texts, actionText(e))
		}
		if !info.HasNextPage {
			return texts
		}
		after = info.EndCursor
	}
}

// Denials are in the log with the actions on articles, each once, and moderationLog has those on articles only.
func TestActionsAreThoseOnArticlesUsersAndHosts(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		a, b := s.post("alice"), s.post("alice")
		step := func() {
			s.clock.advance(time.Second)
			began := require.Value(s.raw.Time(s.ctx).Result())(t).UnixMilli()
			require.Eventually(t, "another millisecond of Redis, by which entries are ordered", func() bool { return require.Value(s.raw.Time(s.ctx).Result())(t).UnixMilli() > began })
		}
		s.delete(a.ID, moderator)
		step()
		require.Value(s.Denials.DenyUser(s.ctx, "eve", nil, site.GroundIllegal, "threats", site.Actor{Name: "mod", Moderator: true, Via: "bot"}))(t)
		step()
		s.denyHost("spam.example", true, true)
		step()
		s.deny("eve", new(s.clock.now().Add(time.Hour)), "a pause")
		step()
		s.deny("eve", new(s.clock.now()), "")
		step()
		s.denyHost("spam.example", false, true)
		step()
		s.delete(b.ID, moderator)
		first, last := fmt.Sprint("deleted ", a.ID, " by mod"), fmt.Sprint("deleted ", b.ID, " by mod")
		all := []string{
			last, "allowed host:spam.example by mod rules: spam until 5s", "allowed user:eve by mod rules until 4s",
			"denied user:eve by mod rules: a pause until 1h0m3s", "denied host:spam.example by mod rules: spam", "denied user:eve by bot for mod illegal: threats", first,
		}
		for _, size := range []int{1, 2, 100} {
			if got := s.actions(events.Actions{}, size); !slices.Equal(got, all) {
				t.Errorf("in pages of %d:\n got %q\nwant %q", size, got, all)
			}
			if got := s.actions(events.Actions{Target: "user:eve"}, size); !slices.Equal(got, []string{all[2], all[3], all[5]}) {
				t.Errorf("on eve, in pages of %d: %q", size, got)
			}
			if got := s.actions(events.Actions{Target: a.ID.String()}, size); !slices.Equal(got, []string{first}) {
				t.Errorf("on %v, in pages of %d: %q", a.ID, size, got)
			}
			if got := s.actions(events.Actions{Kinds: []events.ModerationKind{events.LogAllowed}}, size); !slices.Equal(got, all[1:3]) {
				t.Errorf("ends of denials, in pages of %d: %q", size, got)
			}
		}
		if got := s.log(); len(got) != 2 {
			t.Errorf("the actions on articles are %q", got)
		}
		s.wantClean()
	})
}

// A page of a rare kind ends after a bounded number of entries, and the next one goes on there.
func TestRareActionsAreFoundInSteps(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.deny("eve", nil, "x")
	for i := range 60 { // 6,000 entries
		args := []any{"EVAL", "for i = 1, 100 do redis.call('XADD', KEYS[1], '*', 'kind', 'edited', 'article', 'article:1', 'by', 'user:mod', 'at', ARGV[1]) end return 1", 1, "moderation:", i}
		require.NoError(t, s.raw.Do(s.ctx, args...).Err())
	}
	entries, info, looked, err := s.Log.Actions(s.ctx, events.Actions{Target: "user:eve"}, nil, nil)
	if err != nil || len(entries) > 0 || !info.HasNextPage || looked != 5000 {
		t.Fatalf("the first page has %d actions of %d entries, %+v, %v", len(entries), looked, info, err)
	}
	entries, info, looked, err = s.Log.Actions(s.ctx, events.Actions{Target: "user:eve"}, nil, info.EndCursor)
	if err != nil || len(entries) != 1 || info.HasNextPage || looked != 1001 {
		t.Errorf("the second page has %v of %d entries, %+v, %v", entries, looked, info, err)
	}
	for text, want := range map[string]string{"17": "article:17", "article:17": "article:17", "user:eve": "user:eve", "host:Go.Dev.": "host:go.dev", "group:Go": "group:go"} {
		if got, err := events.ParseTarget(text); got != want || err != nil {
			t.Errorf("the target %q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "user:", "host:a b", "group:", "group:a b"} {
		if got, err := events.ParseTarget(text); err == nil {
			t.Errorf("the target %q is %q", text, got)
		}
	}
	if _, _, _, err := s.Log.Actions(s.ctx, events.Actions{}, new(0), nil); err == nil {
		t.Error("a page without actions was accepted")
	}
}
