package redisrepo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// texts returns the title and the text of an article and of its earlier versions, newest first.
func texts(s *repotest.Site, a *site.Article, most int) (texts []string) {
	s.T.Helper()
	versions := require.Value(s.Versions(s.Ctx, []*site.Article{a}, most))(s.T)
	show := func(title string, text *string) string {
		if text == nil {
			return title
		}
		return title + ": " + *text
	}
	texts = append(texts, show(a.Title, a.Text))
	for _, v := range versions[0] {
		texts = append(texts, fmt.Sprintf("%s, until %v with %d by %s", show(v.Title, v.Text), v.Until.Sub(repotest.Opened), v.Votes, v.By.Name))
	}
	return texts
}

// However many edits follow, the version that was posted and the one that got the most votes of the others are kept.
func TestFirstVersionAndTheOneThatWasVotedOnStay(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.EditWindow = week })
	a := s.MustPost("alice", "go")
	rewrite := func(text string) { s.MustEdit(a.ID, repotest.Alice(), redisrepo.Edit{Text: new(text)}) }
	vote := func(votes int, text string) {
		for i := range votes {
			s.MustVote(a.ID, site.UserName(fmt.Sprint(text, i)), up)
		}
	}
	vote(5, "first")
	rewrite("draft")
	vote(1, "draft")
	rewrite("voted")
	vote(3, "voted")
	for i := range 2 * site.MaxVersions {
		rewrite(fmt.Sprint(i))
		vote(i%2, fmt.Sprint(i)) // each other version gets a vote: together more than the one that is kept
	}
	want := []string{"title: 39"}
	votes := 1 + 5 + 1 + 3 + 19
	for i := 38; i > 38-(site.MaxVersions-2); i-- {
		want = append(want, fmt.Sprintf("title: %d, until 0s with %d by alice", i, votes))
		votes -= i % 2
	}
	want = append(want, "title: voted, until 0s with 10 by alice", "title, until 0s with 6 by alice")
	for _, most := range []int{1, 17, 18, 19, 20, 100} {
		if got := texts(s, s.Article(a.ID), most); !slices.Equal(got, want[:min(most+1, len(want))]) {
			t.Errorf("the article and %d versions = %q, want %q", most, got, want[:min(most+1, len(want))])
		}
	}
	vote(4, "better")
	rewrite("worse")
	if got := texts(s, s.Article(a.ID), 100); strings.Contains(got[site.MaxVersions-1], "voted") || len(got) != 1+site.MaxVersions {
		t.Errorf("after a version with more votes: %q, want the one with fewer dropped", got)
	}
	s.WantClean()
}

// A history without gaps, as earlier versions of Frontpage wrote it, is read and goes on.
func TestHistoryWithoutAFirstVersionGoesOn(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "go")
	for i := range 30 {
		s.MustEdit(a.ID, repotest.Alice(), redisrepo.Edit{Text: new(fmt.Sprint(i))})
	}
	at := "history:" + strings.TrimPrefix(a.ID.String(), "article:")
	s.Do("HDEL " + at + " 1")
	s.Do("HSET", at, "11", "1767323478 1 5 user:alice\ntitle9")
	s.WantClean()
	s.MustEdit(a.ID, repotest.Alice(), redisrepo.Edit{Text: new("last")})
	got := texts(s, s.Article(a.ID), 100)
	if len(got) != 1+site.MaxVersions || !strings.HasPrefix(got[20], "title: 10, ") {
		t.Errorf("after one more edit: %q, want the last %d versions", got, site.MaxVersions)
	}
	s.WantClean()
}

func TestEditsAreForPosterInTimeAndForModerators(t *testing.T) {
	t.Parallel()
	title, text, groups := redisrepo.Edit{Title: new("t")}, redisrepo.Edit{Text: new("x")}, redisrepo.Edit{Groups: []string{"web"}}
	both := redisrepo.Edit{Title: new("t"), Text: new("x")}
	owner := site.Actor{Name: "alice", Moderator: true}
	never := func(r *site.Rules) { r.EditWindow = 0 }
	long := func(r *site.Rules) { r.EditWindow, r.VotingWindow = 2*day, day }
	for name, tt := range map[string]struct {
		rules  func(*site.Rules)
		after  time.Duration
		by     site.Actor
		edit   redisrepo.Edit
		want   string
		cannot bool // whether not even the text can be edited
	}{
		"a title in time":             {after: 15 * time.Minute, by: repotest.Alice(), edit: title},
		"a title too late":            {after: 15*time.Minute + time.Second, by: repotest.Alice(), edit: title, want: "EDIT_CLOSED title"},
		"both too late for the title": {after: 16 * time.Minute, by: repotest.Alice(), edit: both, want: "EDIT_CLOSED title"},
		"a title of a site without":   {rules: never, after: time.Second, by: repotest.Alice(), edit: title, want: "EDIT_CLOSED title"},
		"a text in time":              {after: week, by: repotest.Alice(), edit: text},
		"a text too late":             {after: week + time.Second, by: repotest.Alice(), edit: text, want: "EDIT_CLOSED text", cannot: true},
		"a text after the voting":     {rules: long, after: 2 * day, by: repotest.Alice(), edit: both},
		"groups at any time":          {after: 3 * week, by: repotest.Alice(), edit: groups, cannot: true},
		"the same title at any time":  {after: 3 * week, by: repotest.Alice(), edit: redisrepo.Edit{Title: new("title")}, cannot: true},
		"a moderator":                 {after: 3 * week, by: repotest.Moderator, edit: both},
		"a poster who is a moderator": {after: 3 * week, by: owner, edit: both},
		"another user":                {by: site.Actor{Name: "bob"}, edit: text, want: "FORBIDDEN article", cannot: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, tt.rules)
			a := s.MustPost("alice", "go")
			s.Clock.Advance(tt.after)
			if can := s.CanEdit(tt.by, a); can == tt.cannot {
				t.Errorf("CanEdit = %t, want %t", can, !tt.cannot)
			}
			before := s.Dump()
			_, err := s.Edit(s.Ctx, a.ID, tt.by, tt.edit)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			repotest.WantRefused(t, err, tt.want)
			s.WantStore(before)
		})
	}
	s := repotest.New(t, nil)
	deleted := s.MustDelete(s.MustPost("alice").ID, repotest.Moderator)
	_, err := s.Edit(s.Ctx, deleted.ID, repotest.Moderator, title)
	repotest.WantRefused(t, err, "NOT_FOUND article")
	_, err = s.Edit(s.Ctx, 999, repotest.Moderator, title)
	repotest.WantRefused(t, err, "NOT_FOUND article")
	if s.CanEdit(repotest.Moderator, deleted) {
		t.Error("CanEdit of a deleted article = true")
	}
}

func TestInvalidEditsAreRefused(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	text := require.Value(s.Post(s.Ctx, "alice", site.Draft{Title: "title", Text: new("text")}))(t)
	many := make([]string, 11)
	for i := range many {
		many[i] = fmt.Sprint("g", i)
	}
	for _, tt := range []struct {
		edit redisrepo.Edit
		want []string
	}{
		{redisrepo.Edit{}, []string{"INVALID title"}},
		{redisrepo.Edit{Title: new(" "), Text: new("a\x00"), Groups: []string{"?", "interesting"}}, []string{"INVALID title", "INVALID text", "INVALID groups.0", "INVALID groups.1"}},
		{redisrepo.Edit{Title: new(strings.Repeat("é", 201)), Text: new(strings.Repeat("é", 10_001))}, []string{"TOO_LONG title", "TOO_LONG text"}},
		{redisrepo.Edit{Groups: many, Why: site.Why{Reason: strings.Repeat("é", 501)}}, []string{"TOO_LONG groups", "TOO_LONG reason"}},
		{redisrepo.Edit{Title: new("\u202etitle"), Why: site.Why{Reason: "a\nb"}}, []string{"INVALID title", "INVALID reason"}},
		{redisrepo.Edit{Text: new("")}, []string{"INVALID text"}}, // the article has no link
	} {
		_, err := s.Edit(s.Ctx, text.ID, repotest.Alice(), tt.edit)
		repotest.WantRefused(t, err, tt.want...)
	}
	_, err := s.Delete(s.Ctx, text.ID, repotest.Alice(), site.Why{Reason: strings.Repeat("é", 501)})
	repotest.WantRefused(t, err, "TOO_LONG reason")
}

func TestLogKeepsTitleLinkAndReason(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "a", "b")
	s.MustEdit(a.ID, repotest.Alice(), redisrepo.Edit{Title: new("by its poster"), Why: site.Why{Reason: "not logged"}})
	s.MustEdit(a.ID, repotest.Moderator, redisrepo.Edit{Title: new("better"), Why: site.Why{Reason: " typo "}})
	s.MustEdit(a.ID, repotest.Moderator, redisrepo.Edit{Text: new("text"), Groups: []string{"b", "c"}})
	s.MustEdit(a.ID, repotest.Moderator, redisrepo.Edit{Groups: []string{"c"}})
	require.Value(s.Delete(s.Ctx, a.ID, repotest.Moderator, site.Why{Reason: "spam"}))(t)
	s.MustUndelete(a.ID)
	entries, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{})
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		text := fmt.Sprint(e.Kind, " ", *e.Title, " ", *e.Link, " ", e.Before, e.After)
		if e.Reason != nil {
			text += " " + *e.Reason
		}
		got = append(got, text)
	}
	want := []string{
		"undeleted better https://example.com/1 [] []", "deleted better https://example.com/1 [] [] spam",
		"regrouped better https://example.com/1 [b c] [c]", "edited better https://example.com/1 [a b] [b c]",
		"edited better https://example.com/1 [] [] typo",
	}
	if !slices.Equal(got, want) {
		t.Errorf("log = %q, want %q", got, want)
	}
	s.Do("XADD moderation: * kind deleted article article:1 by user:mod at 1") // of an earlier version
	entries, _, err = s.Log.ModerationLog(s.Ctx, site.PageRequest{First: new(1)})
	if err != nil || entries[0].Title != nil || entries[0].Link != nil || entries[0].Reason != nil {
		t.Errorf("an entry without title = %+v, %v, want none", entries, err)
	}
}

// The poster's own deletion frees the link, unless another user has a vote on the article.
func TestOwnDeletionFreesTheLink(t *testing.T) {
	t.Parallel()
	for _, tags := range repotest.Layouts {
		for name, tt := range map[string]struct {
			before func(s *repotest.Site, a *site.Article)
			by     site.Actor
			frees  bool
		}{
			"at once":                      {by: repotest.Alice(), frees: true},
			"by a moderator":               {by: repotest.Moderator},
			"after an upvote":              {before: func(s *repotest.Site, a *site.Article) { s.MustVote(a.ID, "bob", up) }, by: repotest.Alice()},
			"after a downvote":             {before: func(s *repotest.Site, a *site.Article) { s.MustVote(a.ID, "bob", down) }, by: repotest.Alice()},
			"after votes that cancel out":  {before: func(s *repotest.Site, a *site.Article) { s.MustVote(a.ID, "alice", down); s.MustVote(a.ID, "bob", up) }, by: repotest.Alice()},
			"after another user's only":    {before: func(s *repotest.Site, a *site.Article) { s.MustVote(a.ID, "alice", none); s.MustVote(a.ID, "bob", up) }, by: repotest.Alice()},
			"after a vote was withdrawn":   {before: func(s *repotest.Site, a *site.Article) { s.MustVote(a.ID, "bob", up); s.MustVote(a.ID, "bob", none) }, by: repotest.Alice(), frees: true},
			"after the poster's switched":  {before: func(s *repotest.Site, a *site.Article) { s.MustVote(a.ID, "alice", down) }, by: repotest.Alice(), frees: true},
			"after the poster's withdrawn": {before: func(s *repotest.Site, a *site.Article) { s.MustVote(a.ID, "alice", none) }, by: repotest.Alice(), frees: true},
			"with voters forgotten": {before: func(s *repotest.Site, a *site.Article) {
				s.MustVote(a.ID, "bob", up)
				for _, tag := range s.Tags() {
					s.Do("DEL", tag+"voted:"+a.ID.String()[8:])
				}
			}, by: repotest.Alice()},
		} {
			t.Run(fmt.Sprint(name, tags), func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
				d := repotest.Draft("typo", "go")
				a := require.Value(s.Post(s.Ctx, "alice", d))(t)
				if tt.before != nil {
					tt.before(s, a)
				}
				s.MustDelete(a.ID, tt.by)
				s.MustDelete(a.ID, tt.by)
				if !tt.frees {
					_, err := s.Post(s.Ctx, "alice", d)
					repotest.WantDuplicate(t, err, a.ID)
					return
				}
				s.MustUndelete(a.ID) // reserves it again
				_, err := s.Post(s.Ctx, "alice", d)
				repotest.WantDuplicate(t, err, a.ID)
				s.MustDelete(a.ID, tt.by)
				b := require.Value(s.Post(s.Ctx, "alice", d))(t)
				s.MustUndelete(a.ID)
				s.MustDelete(a.ID, tt.by) // does not free the link of the other article
				_, err = s.Post(s.Ctx, "alice", d)
				repotest.WantDuplicate(t, err, b.ID)
				s.WantClean()
			})
		}
	}
}

// An import that is repeated finds its articles, also those that were edited since.
func TestEditedImportIsFoundAgain(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustImport(repotest.Old(7, time.Hour, 3))
	s.MustEdit(7, repotest.Moderator, redisrepo.Edit{Title: new("edited"), Text: new("text")})
	added, errs := s.Import(s.Ctx, []redisrepo.Imported{repotest.Old(7, time.Hour, 3)})
	if errs[0] != nil || added[0] || s.Article(7).Title != "edited" {
		t.Errorf("Import = %v, %v, want the edited article to be found", added, errs)
	}
}
