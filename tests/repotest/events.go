package repotest

import (
	"fmt"
	"strings"
	"time"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// AddEvents adds entries as the scripts do, each from a text of its id, which begins with its milliseconds, kind, article and
// revision.
func (s *Site) AddEvents(entries ...string) {
	s.T.Helper()
	for _, text := range entries {
		var id, kind string
		var article, revision int
		require.Value(fmt.Sscan(text, &id, &kind, &article, &revision))(s.T)
		tag := s.Tags()[article%len(s.Tags())]
		require.NoError(s.T, s.Raw.Do(s.Ctx, "XADD", tag+"events:", id, "kind", kind, "article", fmt.Sprintf("article:%d", article),
			"revision", revision, "votes", 1, "downvotes", 0, "score", "1772366832", "by", "bob", "to", "1").Err())
	}
}

// Feed returns the events of a page as "article.revision".
func Feed(page events.EventPage) string {
	var texts []string
	for _, e := range page.Edges {
		texts = append(texts, fmt.Sprintf("%d.%d", e.Node.Article, e.Node.Revision))
	}
	return strings.Join(texts, " ")
}

// Events reads a page of the feed.
func (s *Site) Events(after *string, first int, kinds ...events.EventKind) events.EventPage {
	s.T.Helper()
	return require.Value(s.Log.Events(s.Ctx, after, kinds, &first))(s.T)
}

// WantFeed fails the test unless a page has these events, and says whether there are more and a gap.
func (s *Site) WantFeed(page events.EventPage, want string, more, gap bool) {
	s.T.Helper()
	if got := Feed(page); got != want || page.PageInfo.HasNextPage != more || page.Gap != gap {
		s.T.Errorf("got %q, more %v, gap %v; want %q, %v, %v", got, page.PageInfo.HasNextPage, page.Gap, want, more, gap)
	}
}

// Story returns all events of the feed, one a line.
func (s *Site) Story() string {
	s.T.Helper()
	var lines []string
	after := ""
	for more := true; more; {
		page := s.Events(&after, events.MaxEvents)
		for _, e := range page.Edges {
			n := e.Node
			line := fmt.Sprintf("%s %v r%d votes %d-%d score %.0f by %s", n.Kind, n.Article, n.Revision, n.Votes+n.Downvotes, n.Downvotes, n.Score-float64(Opened.Unix()), n.By.Name)
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
			if now := s.Raw.Time(s.Ctx).Val(); n.At.After(now) || n.At.Before(now.Add(-time.Minute)) {
				s.T.Errorf("%s: at %v, now is %v", line, n.At, now)
			}
		}
		after, more = *page.PageInfo.EndCursor, page.PageInfo.HasNextPage
	}
	return strings.Join(lines, "\n")
}

// Logged returns a function that returns what was added to the log since its last call: kind, article, revision, votes,
// downvotes, score and groups, and of a vote on a second line the position and the voter.
func (s *Site) Logged() func() []string {
	s.T.Helper()
	last := "-"
	entries := func() (texts []string) {
		s.T.Helper()
		for _, m := range require.Value(s.Raw.XRange(s.Ctx, "events:", last, "+").Result())(s.T) {
			v := m.Values
			if v["kind"] == site.KindNoticed { // what a legacy client did
				continue
			}
			text := fmt.Sprint(v["kind"], " article:", v["article"], " ", v["revision"], " ", v["votes"], " ", v["downvotes"], " ", v["score"], " ", v["groups"])
			if v["kind"] == site.KindVoted {
				text += fmt.Sprint("\n", v["to"], " user:", v["by"])
			}
			texts, last = append(texts, text), "("+m.ID
		}
		return texts
	}
	entries()
	return entries
}

// LogText is an entry as text.
func LogText(e events.ModerationEntry) string {
	return fmt.Sprint(e.Kind, " ", e.Article, " ", e.By, " ", e.At.Sub(Opened), " ", e.Before, e.After)
}

// ModerationLog is the moderation log as text.
func (s *Site) ModerationLog() (texts []string) {
	s.T.Helper()
	entries, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{})
	require.NoError(s.T, err)
	for _, e := range entries {
		texts = append(texts, LogText(e))
	}
	return texts
}

// Audited returns the entries of the audit as text.
func Audited(s *Site, id site.ArticleID) (texts []string) {
	s.T.Helper()
	entries := require.Value(s.Audit(s.Ctx, id))(s.T)
	for _, e := range entries {
		text := fmt.Sprintf("%s %+d", e.Voter, e.Vote)
		if e.At != nil {
			text += fmt.Sprintf(" %v %s", e.At.Sub(Opened), e.Bucket)
		}
		texts = append(texts, text)
	}
	return texts
}

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
		text += fmt.Sprint(" until ", e.Until.Sub(Opened))
	}
	return text
}

// Actions returns the actions of all pages of a size.
func (s *Site) Actions(a events.Actions, size int) (texts []string) {
	s.T.Helper()
	for after := (*string)(nil); ; {
		entries, info, _, err := s.Log.Actions(s.Ctx, a, &size, after)
		require.NoError(s.T, err)
		if len(entries) > size || info.HasPreviousPage != (after != nil) {
			s.T.Fatalf("a page of %d has %d actions, %+v", size, len(entries), info)
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
