package events

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// FeedPosition is a place in the order of a partition's entries: after an event that was read, or after an id. The log
// drops entries that are not events, and the oldest events. A position stays valid as long as its event is kept.
type FeedPosition struct {
	id      LogCursor // zero: before the first entry
	sum     uint16    // of the event, see sumOf
	isEvent bool      // the event was in the stream; otherwise only the id matters

	hidden    wire.EntryID // an entry after all of this that is no event; reading goes on after it while the stream has it
	hiddenSum uint16

	old bool // from a cursor of an earlier version, whose entry may be no event
}

// after is the position after an id at which the stream need not have an entry.
func after(id wire.EntryID, partition int) FeedPosition {
	return FeedPosition{id: LogCursor{id, partition}}
}

// PositionAfter returns the position of a reader that was at p and then read these entries of a partition.
func (p FeedPosition) PositionAfter(messages []redis.XMessage, partition int) FeedPosition {
	first := len(messages) - 1 // those before the last event do not matter
	for first > 0 && wire.IsHidden(messages[first]) {
		first--
	}
	for _, m := range messages[max(first, 0):] {
		p = p.next(NewLogCursor(m.ID, partition), sumOf(m), wire.IsHidden(m))
	}
	return p
}

// next is the position after one more entry.
func (p FeedPosition) next(id LogCursor, sum uint16, isHidden bool) FeedPosition {
	if !isHidden {
		return FeedPosition{id: id, sum: sum, isEvent: true}
	}
	p.hidden, p.hiddenSum = id.EntryID, sum
	return p
}

func (p FeedPosition) hasHidden() bool { return p.hidden != wire.EntryID{} }

// WithoutHidden returns the position to continue from if the entry of p is gone. ok reports whether p has one.
func (p FeedPosition) WithoutHidden() (before FeedPosition, ok bool) {
	ok = p.hasHidden() && p.isEvent
	p.hidden, p.hiddenSum = wire.EntryID{}, 0
	return p, ok
}

// First returns the start of the range of entries to read for Rest.
func (p FeedPosition) First() string {
	switch {
	case p.hasHidden():
		return p.hidden.String()
	case p.isEvent:
		return p.id.String()
	case p.id.EntryID == wire.EntryID{}:
		return "-"
	}
	return "(" + p.id.String()
}

// Rest returns the entries after the position, given those from First on. found is false if the position's entry is
// gone.
func (p FeedPosition) Rest(messages []redis.XMessage) (rest []redis.XMessage, found bool) {
	id, sum := p.id.EntryID, p.sum
	if p.hasHidden() {
		id, sum = p.hidden, p.hiddenSum
	} else if !p.isEvent {
		return messages, true
	}
	if len(messages) == 0 || wire.ParseEntryID(messages[0].ID) != id {
		return nil, false
	}
	if m := messages[0]; sum != sumOf(m) && (!p.old || sum != sumOfFields(m, "kind", "article", "revision", "votes", "to")) {
		return nil, false
	}
	return messages[1:], true
}

// FeedStart is where reading begins: at positions or, without them, 10 s before a time in Unix milliseconds; 0: at the
// oldest event.
type FeedStart struct {
	At    []FeedPosition
	since uint64
}

// feedSlack is ClockSlack in the ids of entries.
const feedSlack = 1000 * site.ClockSlack

// feedCursor is the first byte of a cursor of the change feed.
const feedCursor = 'e'

// Parts of a cursor that earlier versions ignore say what the entry of a partition is, unless it is an event.
const (
	cursorID     = 0 // only the id matters
	cursorHidden = 1 // it is no event; the id before it follows
	cursorEvent  = 2 // it is no event; the event before it follows
)

// EncodeFeed encodes positions, with times relative to the latest, to keep cursors short.
func EncodeFeed(at []FeedPosition) string {
	latest := uint64(0)
	for _, p := range at {
		latest = max(latest, p.id.Milliseconds, p.hidden.Milliseconds)
	}
	number := binary.AppendUvarint
	entry := func(text []byte, id wire.EntryID, sum uint16) []byte {
		if id == (wire.EntryID{}) {
			return number(text, 0)
		}
		text = number(number(text, 2*(latest-id.Milliseconds)+1), id.Sequence)
		return binary.BigEndian.AppendUint16(text, sum)
	}
	text := number(number([]byte{feedCursor}, uint64(len(at))), latest)
	var others []byte
	n := uint64(1) // 0: an earlier version made the cursor
	for i, p := range at {
		switch {
		case p.hasHidden():
			text = entry(text, p.hidden, p.hiddenSum)
			kind := uint64(cursorHidden)
			if p.isEvent {
				kind = cursorEvent
			}
			others = entry(number(number(others, uint64(i)), kind), p.id.EntryID, p.sum)
			n++
			continue
		case !p.isEvent && p.id.EntryID != wire.EntryID{}:
			others = number(number(others, uint64(i)), cursorID)
			n++
		}
		text = entry(text, p.id.EntryID, p.sum)
	}
	return site.Seal(append(number(text, n), others...))
}

// DecodeFeed decodes a cursor. field is the argument, or the header, that held it.
func DecodeFeed(field, cursor string) (FeedStart, error) {
	text, err := site.Unseal(field, cursor)
	if err != nil {
		return FeedStart{}, err
	}
	if len(text) == 0 || text[0] != feedCursor {
		return FeedStart{}, site.Refuse(site.Invalid, field, "%s must be the cursor of an event", field)
	}
	numbers := site.NumberReader{Text: text[1:]}
	n, latest := min(numbers.Next(), keys.MaxPartitions), min(numbers.Next(), math.MaxInt64)
	start := FeedStart{At: make([]FeedPosition, n), since: latest}
	entry := func() (id wire.EntryID, sum uint16, isBefore bool) {
		delta := numbers.Next()
		if delta == 0 {
			return id, 0, false
		}
		id = wire.EntryID{Milliseconds: latest - min((delta-1)/2, latest), Sequence: numbers.Next()}
		if len(numbers.Text) >= 2 {
			sum, numbers.Text = binary.BigEndian.Uint16(numbers.Text), numbers.Text[2:]
		}
		return id, sum, (delta-1)%2 == 1
	}
	for i := range start.At {
		id, sum, isBefore := entry()
		if isBefore { // an earlier version had not read it yet
			id = id.Before()
		}
		start.At[i] = FeedPosition{id: LogCursor{id, i}, sum: sum, isEvent: !isBefore && id != wire.EntryID{}}
		if id.Milliseconds > 0 {
			start.since = min(start.since, id.Milliseconds)
		}
	}
	others := numbers.Next()
	for i := range start.At {
		start.At[i].old = others == 0
	}
	for ; others > 1 && len(numbers.Text) > 0; others-- {
		i, kind := numbers.Next(), numbers.Next()
		if i >= n {
			break
		}
		p := &start.At[i]
		p.isEvent = kind == cursorEvent
		if kind != cursorID {
			p.hidden, p.hiddenSum = p.id.EntryID, p.sum
			p.id.EntryID, p.sum, _ = entry()
		}
	}
	return start, nil
}

// sumOf tells entries with the same id apart: after the clock went back, and the store too, an id is given out again. It stays the
// same when the user who made the change is erased.
func sumOf(m redis.XMessage) uint16 {
	return sumOfFields(m, "kind", "article", "revision", "votes", "to", "time", "at")
}

func sumOfFields(m redis.XMessage, fields ...string) uint16 {
	sum := crc32.NewIEEE()
	for _, field := range fields {
		fmt.Fprintln(sum, m.Values[field])
	}
	return uint16(sum.Sum32()) // #nosec G115 -- cut
}
