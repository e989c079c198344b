package redisrepo_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/require"
)

// entry is an entry of a stream of events.
type entry struct {
	id       string // its milliseconds
	kind     string
	article  int
	revision int
}

// addEvents adds entries as the scripts do.
func (s *testSite) addEvents(entries ...entry) {
	s.t.Helper()
	for _, e := range entries {
		tag := s.Tags()[e.article%len(s.Tags())]
		require.NoError(s.t, s.raw.Do(s.ctx, "XADD", tag+"events:", e.id, "kind", e.kind, "article", fmt.Sprintf("article:%d", e.article),
			"revision", e.revision, "votes", 1, "downvotes", 0, "score", "1772366832", "by", "bob", "to", "1").Err())
	}
}

// feed returns the events of a page as "article.revision".
func feed(page events.EventPage) string {
	var texts []string
	for _, e := range page.Edges {
		texts = append(texts, fmt.Sprintf("%d.%d", e.Node.Article, e.Node.Revision))
	}
	return strings.Join(texts, " ")
}

func (s *testSite) events(after *string, first int, kinds ...events.EventKind) events.EventPage {
	s.t.Helper()
	return require.Value(s.Log.Events(s.ctx, after, kinds, &first))(s.t)
}

// wantFeed fails the test unless a page has these events, and says whether there are more and a gap.
func (s *testSite) wantFeed(page events.EventPage, want string, more, gap bool) {
	s.t.Helper()
	if got := feed(page); got != want || page.PageInfo.HasNextPage != more || page.Gap != gap {
		s.t.Errorf("got %q, more %v, gap %v; want %q, %v, %v", got, page.PageInfo.HasNextPage, page.Gap, want, more, gap)
	}
}

func TestEventsOfOtherKindsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for i := range 500 {
		s.addEvents(entry{fmt.Sprint(1000 + i), "voted", 1, i + 2})
	}
	s.addEvents(entry{"9000", "deleted", 1, 502}, entry{"9001", "nonsense", 1, 503})
	s.wantFeed(s.events(nil, 100, events.EventDeleted, events.EventPosted), "1.502", false, false)
	page := s.events(nil, 3, events.EventDeleted)
	if page.PageInfo.HasNextPage = true; len(page.Edges) > 0 {
		t.Errorf("a short page looks at too much: %q", feed(page))
	}
	for page.PageInfo.HasNextPage && len(page.Edges) == 0 {
		page = s.events(page.PageInfo.EndCursor, 3, events.EventDeleted)
	}
	s.wantFeed(page, "1.502", false, false)
}

func TestCursorAheadOfTheFeedIsAGap(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.addEvents(entry{"1000", "posted", 1, 1}, entry{"95000", "voted", 1, 2}, entry{"101000", "voted", 1, 3}, entry{"101500", "voted", 1, 4})
	page := s.events(nil, 10)
	last := page.Edges[3].Cursor()
	s.raw.XDel(s.ctx, "events:", "101500-0") // a failover lost it
	again := s.events(&last, 10)
	s.wantFeed(again, "1.2 1.3", false, true)
	if !again.Edges[0].Gap || again.Edges[1].Gap {
		t.Errorf("gaps of the edges: got %v and %v, want true and false", again.Edges[0].Gap, again.Edges[1].Gap)
	}
	s.addEvents(entry{"102000", "voted", 1, 4})
	s.wantFeed(s.events(&last, 10), "1.2 1.3 1.4", false, true)
	s.wantFeed(s.events(again.PageInfo.EndCursor, 10), "1.4", false, false)

	s.raw.Del(s.ctx, "events:") // another store
	gone := s.events(&last, 10)
	s.wantFeed(gone, "", false, true)
	s.addEvents(entry{"200000", "posted", 2, 1})
	s.wantFeed(s.events(gone.PageInfo.EndCursor, 10), "2.1", false, false)
	s.wantFeed(s.events(&last, 10), "2.1", false, true)
}

// earlier returns a cursor after an entry of addEvents as earlier versions made it, on a site without partitions.
func earlier(id, kind string, article, revision int) string {
	at := wire.ParseEntryID(id)
	text := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint([]byte("e\x01"), at.Milliseconds), 1), at.Sequence)
	sum := crc32.ChecksumIEEE(fmt.Appendf(nil, "%s\narticle:%d\n%d\n1\n1\n", kind, article, revision))
	return site.Seal(binary.BigEndian.AppendUint16(text, uint16(sum)))
}

func TestCursorsOfEarlierVersionsStayValid(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Events = 4 }, one)
	s.addEvents(entry{"100000", "posted", 1, 1}, entry{"101000", "voted", 1, 2}, entry{"102000", "voted", 1, 3}, entry{"104000", "voted", 1, 4})
	require.NoError(t, s.Views.CatchUpAll(s.ctx))
	for what, tt := range map[string]struct{ cursor, want string }{
		"an event":                     {earlier("101000-0", "voted", 1, 2), "1.3 1.4 false"},
		"an entry that was dropped":    {earlier("101500-0", "imported", 900, 1), "1.3 1.4 false"},
		"an event that was lost":       {earlier("104000-1", "voted", 1, 5), "1.1 1.2 1.3 1.4 true"},
		"one whose id another has":     {earlier("104000-0", "deleted", 1, 4), "1.1 1.2 1.3 1.4 true"},
		"an event dropped long before": {earlier("1000-0", "posted", 1, 1), "expired"},
	} {
		page, err := s.Log.Events(s.ctx, &tt.cursor, nil, nil)
		got := fmt.Sprint(feed(page), " ", page.Gap)
		if errors.As(err, new(*events.ExpiredError)) {
			got = "expired"
		}
		if got != tt.want {
			t.Errorf("after %s: got %s, want %s", what, got, tt.want)
		}
	}
}

// An event that is missing among those that are kept was lost, and not dropped.
func TestCursorOfALostEventIsNotExpired(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.Events = 3 }, one)
	for i := range 5 {
		s.addEvents(entry{fmt.Sprint(100000 + i), "voted", 1, i + 1})
	}
	after := s.events(nil, 3).Edges[2].Cursor()
	s.raw.XDel(s.ctx, "events:", "100002-0")
	s.wantFeed(s.events(&after, 10), "1.1 1.2 1.4 1.5", false, true)
}

// A partition with many events does not let those of others go first.
func TestLongPageIsInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, redisrepo.WithPartitions(4))
	for i := range 600 {
		s.addEvents(entry{fmt.Sprint(1000 + i), "voted", 1, i + 1})
	}
	for i := range 300 {
		s.addEvents(entry{fmt.Sprint(1400 + i), "voted", 2, i + 1})
	}
	page := s.events(nil, 1000)
	if len(page.Edges) != 900 || !slices.IsSortedFunc(page.Edges, func(a, b *events.EventEdge) int { return a.Node.At.Compare(b.Node.At) }) {
		t.Errorf("got %d events, want 900 in the order of time", len(page.Edges))
	}
}

// While the clock is behind the last entry, the store gives out the ids of entries that it has lost again.
func TestOtherEventWithTheIDOfTheCursorIsAGap(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.addEvents(entry{"100000-1", "posted", 1, 1}, entry{"100000-2", "voted", 1, 2}, entry{"100000-3", "voted", 1, 3})
	after := s.events(nil, 3).Edges[2].Cursor()
	s.raw.Del(s.ctx, "events:")
	s.addEvents(entry{"100000-1", "posted", 1, 1}, entry{"100000-2", "regrouped", 1, 2}, entry{"100000-3", "deleted", 1, 3}, entry{"100000-4", "undeleted", 1, 4})
	s.wantFeed(s.events(&after, 10), "1.1 1.2 1.3 1.4", false, true)
}

// What was added after the clock went back has any id.
func TestCursorOfTheFutureBeginsAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	future := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	s.addEvents(entry{"1000", "posted", 1, 1}, entry{future, "voted", 1, 2})
	after := s.events(nil, 2).Edges[1].Cursor()
	s.raw.Del(s.ctx, "events:")
	s.addEvents(entry{"1000", "posted", 1, 1}, entry{"2000", "voted", 1, 2})
	s.wantFeed(s.events(&after, 10), "1.1 1.2", false, true)
}

func TestCursorOfAnotherNumberOfPartitionsIsAGap(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.addEvents(entry{"100000", "posted", 1, 1}, entry{"100001", "posted", 2, 1})
	after := s.events(nil, 1).Edges[0].Cursor()
	many := newSite(t, nil, redisrepo.WithPartitions(4))
	many.addEvents(entry{"1000", "posted", 1, 1}, entry{"99000", "voted", 1, 2}, entry{"100500", "voted", 2, 1})
	page := many.events(&after, 10)
	many.wantFeed(page, "1.2 2.1", false, true)
	many.wantFeed(many.events(page.PageInfo.EndCursor, 10), "", false, false)
}

func TestInvalidReadsOfTheFeedAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	wrong, zero, many := "x", 0, events.MaxEvents+1
	s.addEvents(entry{"1000", "posted", 1, 1})
	cursor := s.events(nil, 1).Edges[0].Cursor()
	half := cursor[:len(cursor)/2]
	for name, call := range map[string]func() (events.EventPage, error){
		"no cursor":   func() (events.EventPage, error) { return s.Log.Events(s.ctx, &wrong, nil, nil) },
		"half cursor": func() (events.EventPage, error) { return s.Log.Events(s.ctx, &half, nil, nil) },
		"first 0":     func() (events.EventPage, error) { return s.Log.Events(s.ctx, nil, nil, &zero) },
		"first 1001":  func() (events.EventPage, error) { return s.Log.Events(s.ctx, nil, nil, &many) },
		"no events": func() (events.EventPage, error) {
			return newSite(t, func(r *site.Rules) { r.Events = 0 }).Log.Events(s.ctx, nil, nil, nil)
		},
	} {
		if _, err := call(); !errors.As(err, new(site.Refusal)) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	empty := ""
	s.wantFeed(s.events(&empty, 1), "1.1", false, false)
}

// Partitions have entries of the same id.
func TestEventsAndTheirIDsAreOneToOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, redisrepo.WithPartitions(4))
	for i := range 12 {
		s.addEvents(entry{fmt.Sprintf("1772366832000-%d", i/4), "voted", i + 1, 1})
	}
	all, ids := s.events(nil, 100), map[string]bool{}
	for i, e := range all.Edges {
		if i > 0 {
			cursor := all.Edges[i-1].Cursor()
			if got := s.events(&cursor, 1).Edges[0].Node.ID(); got != e.Node.ID() {
				t.Errorf("event %d has the id %s on one page and %s on another", i, e.Node.ID(), got)
			}
		}
		ids[e.Node.ID()] = true
	}
	if len(ids) != 12 {
		t.Errorf("12 events have %d ids", len(ids))
	}
}
