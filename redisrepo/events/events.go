// Package events reads and decodes the change feed and the moderation log.
package events

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var _ = wire.AddLua(luaFiles)

// Log is the change feed and the moderation log of a site.
type Log struct{ store *wire.Store }

// New returns the log of a site.
func New(store *wire.Store) *Log { return &Log{store} }

// EventKind is the kind of a change in the change feed.
type EventKind string

// The kinds of events. Imports write none: the articles of an archive would push all others out of the feed.
const (
	EventPosted    EventKind = site.KindPosted
	EventVoted     EventKind = site.KindVoted // one event for each vote
	EventRegrouped EventKind = site.KindRegrouped
	EventEdited    EventKind = site.KindEdited
	EventDeleted   EventKind = site.KindDeleted
	EventUndeleted EventKind = site.KindUndeleted
	EventVoided    EventKind = site.KindVoided // it does not say whose votes
	EventMilestone EventKind = "milestone"     // the article's net votes reached one of Rules.Milestones for the first time
	EventFlagged   EventKind = site.KindFlagged
	EventSettled   EventKind = site.KindSettled
)

// EventKinds are all kinds.
var EventKinds = []EventKind{EventPosted, EventVoted, EventRegrouped, EventEdited, EventDeleted, EventUndeleted, EventVoided, EventMilestone, EventFlagged, EventSettled}

// IsKnown reports whether the kind is one of EventKinds.
func (k EventKind) IsKnown() bool { return slices.Contains(EventKinds, k) }

// ChangesArticle reports whether an event of the kind changes the article, and so has its own revision.
func (k EventKind) ChangesArticle() bool {
	return k != EventMilestone && k != EventFlagged && k != EventSettled
}

// Event is one change of an article, as the script that made the change wrote it. The events of an article are in the
// order of their revisions. Legacy clients write no events.
type Event struct {
	Kind             EventKind
	Article          site.ArticleID
	Revision         int // of the article after the change; a milestone has the vote's
	Votes, Downvotes int // after the change
	Score            float64
	By               *site.User       // the user who made the change; nil: unknown
	Direction        *site.Vote       // the voter's position after a vote; nil for other kinds
	Groups           []site.GroupName // the article's groups after the change, sorted; nil if the change cannot have changed them
	Milestone        *int             // the net votes that were reached; nil for other kinds
	Why              *site.Why        // the moderator's reason for the change; nil: none
	At               time.Time        // UTC, milliseconds, by the clock of Redis

	entry LogCursor
}

// ID names the event on this site. It does not change when the number of partitions does.
func (e *Event) ID() string { return e.entry.name("event", e.Article) }

// IsAfter reports whether the event is after a place in the feed.
func (e *Event) IsAfter(start FeedStart) bool {
	i := e.entry.partition
	return i >= len(start.At) || e.entry.Compare(start.At[i].id) > 0
}

// EntryID returns the id of the event in the log of its article's partition.
func (e *Event) EntryID() string { return e.entry.String() }

// EventEdge is an event and its position in the feed. Gap reports that events before it may be missing, or that the
// store has lost delivered ones: see Log.Events.
type EventEdge struct {
	Node *Event
	Gap  bool

	batch *EventBatch
	index int // among the events of the batch
}

// Cursor is the position after the event.
func (e *EventEdge) Cursor() string { return EncodeFeed(e.batch.after(e.index)) }

// EventPage is a part of the change feed.
type EventPage struct {
	Edges    []*EventEdge
	PageInfo site.PageInfo // EndCursor is never nil, and after all events that were looked at, also those of other kinds
	Gap      bool          // as in the edges
}

// Nodes returns the events without their positions.
func (p *EventPage) Nodes() []*Event {
	return site.Collect(p.Edges, func(e *EventEdge) *Event { return e.Node })
}

const (
	// MaxEvents is the maximum number of events on a page.
	MaxEvents = 1000
	// maxFeedBatches is how often one page reads further, because it wants few kinds.
	maxFeedBatches = 20
)

// ExpiredError says that the change feed has dropped events after a cursor. The reader has to reload everything that it
// follows.
type ExpiredError struct {
	LostFrom time.Time // events after this time are lost; zero: unknown
	KeptFrom time.Time // time of the oldest event that is kept
}

func (e *ExpiredError) Error() string {
	if e.LostFrom.IsZero() {
		return fmt.Sprintf("the change feed no longer has the events after the cursor: it begins at %s", e.KeptFrom.Format(time.RFC3339))
	}
	return fmt.Sprintf("the change feed no longer has the events after %s: it begins at %s", e.LostFrom.Format(time.RFC3339), e.KeptFrom.Format(time.RFC3339))
}

// Events reads the change feed after a cursor, oldest first; nil or empty: from the oldest event that is kept. Those of
// several partitions are in the order of their times. kinds are the wanted ones; none: all. first is 1 to MaxEvents; nil:
// Rules.PageSize. A page may have fewer events although others follow: PageInfo says so.
//
// If the store does not have the event of the cursor, because it lost its latest changes or was restored, or if the
// number of partitions has changed, the page begins 10 s before the cursor, and Gap is set. For a cursor whose event is
// older than the feed the error is an *ExpiredError. On a site without events the Refusal is Invalid.
func (r *Log) Events(ctx context.Context, after *string, kinds []EventKind, first *int) (EventPage, error) {
	if err := r.KeepsEvents(); err != nil {
		return EventPage{}, err
	}
	size := r.store.Rules.PageSize
	if first != nil {
		if size = *first; size < 1 || size > MaxEvents {
			return EventPage{}, site.Refuse(site.Invalid, "first", "first is between 1 and %d, not %d", MaxEvents, size)
		}
	}
	at, err := site.ParseCursor("after", after, DecodeFeed)
	if err != nil {
		return EventPage{}, err
	}
	page := EventPage{PageInfo: site.PageInfo{HasPreviousPage: at != nil}}
	from := FeedStart{}
	if at != nil {
		from = *at
	}
	for range maxFeedBatches {
		b, err := r.ReadFeed(ctx, from, size-len(page.Edges))
		if err == nil && b.Expired != nil {
			err = b.Expired
		}
		if err != nil {
			return EventPage{}, StoreFeedError(err)
		}
		page.Gap = page.Gap || b.Gap
		page.Edges = append(page.Edges, b.Edges(kinds, b.Gap)...)
		from = FeedStart{At: b.End()}
		if page.PageInfo.HasNextPage = b.More; !b.More || len(page.Edges) == size {
			break
		}
	}
	page.PageInfo.EndCursor = new(EncodeFeed(from.At))
	if len(page.Edges) > 0 {
		page.PageInfo.StartCursor = new(page.Edges[0].Cursor())
	}
	return page, nil
}

// KeepsEvents returns a Refusal unless the site keeps events.
func (r *Log) KeepsEvents() error {
	if r.store.Rules.Events == 0 {
		return site.Refuse(site.Invalid, "", "this site keeps no events")
	}
	return nil
}

// StoreFeedError wraps an error of reading the feed.
func StoreFeedError(err error) error {
	if errors.As(err, new(*ExpiredError)) {
		return err
	}
	return failover.Wrap("read the change feed", err)
}

// EventBatch is a part of the feed after a position in each partition, read at once. It is immutable.
type EventBatch struct {
	From    []FeedPosition
	entries []feedEntry // in their order
	More    bool        // others follow
	Gap     bool        // the positions are not the requested ones
	Expired *ExpiredError
}

// after returns the positions after the event with an index.
func (b *EventBatch) after(index int) []FeedPosition {
	at := slices.Clone(b.From)
	for _, e := range b.entries[:index+1] {
		at[e.id.partition] = at[e.id.partition].next(e.id, e.sum, e.isHidden)
	}
	return at
}

// End is the position after the last event of the batch.
func (b *EventBatch) End() []FeedPosition { return b.after(len(b.entries) - 1) }

// Edges returns the events of some kinds, with gap as the Gap of the first one.
func (b *EventBatch) Edges(kinds []EventKind, gap bool) (edges []*EventEdge) {
	for i, e := range b.entries {
		if e.event == nil || len(kinds) > 0 && !slices.Contains(kinds, e.event.Kind) {
			continue
		}
		edges = append(edges, &EventEdge{Node: e.event, Gap: gap, batch: b, index: i})
		gap = false
	}
	return edges
}

// DecodeEvent returns nil for an entry that the scripts did not write.
func DecodeEvent(m redis.XMessage, partition int) *Event {
	entry, err := wire.EntryOf(m)
	revision, revisionErr := strconv.Atoi(entry.Revision)
	votes, votesErr := strconv.Atoi(entry.Votes)
	downvotes, downvotesErr := strconv.Atoi(entry.Downvotes)
	score, scoreErr := site.ParseNumber(entry.Score)
	if errors.Join(err, revisionErr, votesErr, downvotesErr, scoreErr) != nil || !slices.Contains(EventKinds, EventKind(entry.Kind)) {
		return nil
	}
	id := NewLogCursor(m.ID, partition)
	e := &Event{
		Kind: EventKind(entry.Kind), Article: entry.Article, Revision: revision, Votes: votes, Downvotes: downvotes, Score: score, At: id.time(), entry: id,
	}
	if entry.By != "" {
		e.By = &site.User{Name: site.UserName(strings.TrimSpace(entry.By))} // see CommandLine
	}
	if entry.Why.Ground != "" {
		e.Why = &entry.Why
	}
	switch e.Kind {
	case EventVoted:
		if position, ok := site.VotePositions[entry.To]; ok {
			e.Direction = &position
		}
	case EventMilestone:
		if n, err := strconv.Atoi(entry.To); err == nil {
			e.Milestone = &n
		}
	case EventDeleted, EventVoided, EventFlagged, EventSettled:
	default:
		e.Groups = append([]site.GroupName{}, site.GroupNames(entry.To)...)
	}
	return e
}

// time is when an entry was added, by the clock of Redis.
func (c LogCursor) time() time.Time {
	return time.UnixMilli(int64(c.Milliseconds)).UTC() // #nosec G115 -- a time
}

// feedEntry is an entry of a partition's stream.
type feedEntry struct {
	id       LogCursor
	sum      uint16 // see sumOf
	isHidden bool
	event    *Event // nil for an entry that is no event; readers skip it
}
