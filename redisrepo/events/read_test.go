package events_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestEventsOfOtherKindsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	for i := range 500 {
		s.AddEvents(fmt.Sprintf("%d voted 1 %d", 1000+i, i+2))
	}
	s.AddEvents("9000 deleted 1 502", "9001 nonsense 1 503")
	s.WantFeed(s.Events(nil, 100, events.EventDeleted, events.EventPosted), "1.502", false, false)
	page := s.Events(nil, 3, events.EventDeleted)
	if page.PageInfo.HasNextPage = true; len(page.Edges) > 0 {
		t.Errorf("a short page looks at too much: %q", repotest.Feed(page))
	}
	for page.PageInfo.HasNextPage && len(page.Edges) == 0 {
		page = s.Events(page.PageInfo.EndCursor, 3, events.EventDeleted)
	}
	s.WantFeed(page, "1.502", false, false)
}

func TestCursorAheadOfTheFeedIsAGap(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.AddEvents("1000 posted 1 1", "95000 voted 1 2", "101000 voted 1 3", "101500 voted 1 4")
	page := s.Events(nil, 10)
	last := page.Edges[3].Cursor()
	s.Raw.XDel(s.Ctx, "events:", "101500-0") // a failover lost it
	again := s.Events(&last, 10)
	s.WantFeed(again, "1.2 1.3", false, true)
	if !again.Edges[0].Gap || again.Edges[1].Gap {
		t.Errorf("gaps of the edges: got %v and %v, want true and false", again.Edges[0].Gap, again.Edges[1].Gap)
	}
	s.AddEvents("102000 voted 1 4")
	s.WantFeed(s.Events(&last, 10), "1.2 1.3 1.4", false, true)
	s.WantFeed(s.Events(again.PageInfo.EndCursor, 10), "1.4", false, false)

	s.Raw.Del(s.Ctx, "events:") // another store
	gone := s.Events(&last, 10)
	s.WantFeed(gone, "", false, true)
	s.AddEvents("200000 posted 2 1")
	s.WantFeed(s.Events(gone.PageInfo.EndCursor, 10), "2.1", false, false)
	s.WantFeed(s.Events(&last, 10), "2.1", false, true)
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
	s := repotest.New(t, func(r *site.Rules) { r.Events = 4 }, repotest.One)
	s.AddEvents("100000 posted 1 1", "101000 voted 1 2", "102000 voted 1 3", "104000 voted 1 4")
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	for what, tt := range map[string]struct{ cursor, want string }{
		"an event":                     {earlier("101000-0", "voted", 1, 2), "1.3 1.4 false"},
		"an entry that was dropped":    {earlier("101500-0", "imported", 900, 1), "1.3 1.4 false"},
		"an event that was lost":       {earlier("104000-1", "voted", 1, 5), "1.1 1.2 1.3 1.4 true"},
		"one whose id another has":     {earlier("104000-0", "deleted", 1, 4), "1.1 1.2 1.3 1.4 true"},
		"an event dropped long before": {earlier("1000-0", "posted", 1, 1), "expired"},
	} {
		page, err := s.Log.Events(s.Ctx, &tt.cursor, nil, nil)
		got := fmt.Sprint(repotest.Feed(page), " ", page.Gap)
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
	s := repotest.New(t, func(r *site.Rules) { r.Events = 3 }, repotest.One)
	for i := range 5 {
		s.AddEvents(fmt.Sprintf("%d voted 1 %d", 100000+i, i+1))
	}
	after := s.Events(nil, 3).Edges[2].Cursor()
	s.Raw.XDel(s.Ctx, "events:", "100002-0")
	s.WantFeed(s.Events(&after, 10), "1.1 1.2 1.4 1.5", false, true)
}

// A partition with many events does not let those of others go first.
func TestLongPageIsInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(4))
	for i := range 600 {
		s.AddEvents(fmt.Sprintf("%d voted 1 %d", 1000+i, i+1))
	}
	for i := range 300 {
		s.AddEvents(fmt.Sprintf("%d voted 2 %d", 1400+i, i+1))
	}
	page := s.Events(nil, 1000)
	if len(page.Edges) != 900 || !slices.IsSortedFunc(page.Edges, func(a, b *events.EventEdge) int { return a.Node.At.Compare(b.Node.At) }) {
		t.Errorf("got %d events, want 900 in the order of time", len(page.Edges))
	}
}

// While the clock is behind the last entry, the store gives out the ids of entries that it has lost again.
func TestOtherEventWithTheIDOfTheCursorIsAGap(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.AddEvents("100000-1 posted 1 1", "100000-2 voted 1 2", "100000-3 voted 1 3")
	after := s.Events(nil, 3).Edges[2].Cursor()
	s.Raw.Del(s.Ctx, "events:")
	s.AddEvents("100000-1 posted 1 1", "100000-2 regrouped 1 2", "100000-3 deleted 1 3", "100000-4 undeleted 1 4")
	s.WantFeed(s.Events(&after, 10), "1.1 1.2 1.3 1.4", false, true)
}

// What was added after the clock went back has any id.
func TestCursorOfTheFutureBeginsAgain(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	future := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	s.AddEvents("1000 posted 1 1", future+" voted 1 2")
	after := s.Events(nil, 2).Edges[1].Cursor()
	s.Raw.Del(s.Ctx, "events:")
	s.AddEvents("1000 posted 1 1", "2000 voted 1 2")
	s.WantFeed(s.Events(&after, 10), "1.1 1.2", false, true)
}

func TestCursorOfAnotherNumberOfPartitionsIsAGap(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.AddEvents("100000 posted 1 1", "100001 posted 2 1")
	after := s.Events(nil, 1).Edges[0].Cursor()
	many := repotest.New(t, nil, redisrepo.WithPartitions(4))
	many.AddEvents("1000 posted 1 1", "99000 voted 1 2", "100500 voted 2 1")
	page := many.Events(&after, 10)
	many.WantFeed(page, "1.2 2.1", false, true)
	many.WantFeed(many.Events(page.PageInfo.EndCursor, 10), "", false, false)
}

func TestInvalidReadsOfTheFeedAreRefused(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	wrong, zero, many := "x", 0, events.MaxEvents+1
	s.AddEvents("1000 posted 1 1")
	cursor := s.Events(nil, 1).Edges[0].Cursor()
	half := cursor[:len(cursor)/2]
	for name, call := range map[string]func() (events.EventPage, error){
		"no cursor":   func() (events.EventPage, error) { return s.Log.Events(s.Ctx, &wrong, nil, nil) },
		"half cursor": func() (events.EventPage, error) { return s.Log.Events(s.Ctx, &half, nil, nil) },
		"first 0":     func() (events.EventPage, error) { return s.Log.Events(s.Ctx, nil, nil, &zero) },
		"first 1001":  func() (events.EventPage, error) { return s.Log.Events(s.Ctx, nil, nil, &many) },
		"no events": func() (events.EventPage, error) {
			return repotest.New(t, func(r *site.Rules) { r.Events = 0 }).Log.Events(s.Ctx, nil, nil, nil)
		},
	} {
		if _, err := call(); !errors.As(err, new(site.Refusal)) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	empty := ""
	s.WantFeed(s.Events(&empty, 1), "1.1", false, false)
}

// Partitions have entries of the same id.
func TestEventsAndTheirIDsAreOneToOne(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(4))
	for i := range 12 {
		s.AddEvents(fmt.Sprintf("1772366832000-%d voted %d 1", i/4, i+1))
	}
	all, ids := s.Events(nil, 100), map[string]bool{}
	for i, e := range all.Edges {
		if i > 0 {
			cursor := all.Edges[i-1].Cursor()
			if got := s.Events(&cursor, 1).Edges[0].Node.ID(); got != e.Node.ID() {
				t.Errorf("event %d has the id %s on one page and %s on another", i, e.Node.ID(), got)
			}
		}
		ids[e.Node.ID()] = true
	}
	if len(ids) != 12 {
		t.Errorf("12 events have %d ids", len(ids))
	}
}
