package events

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// FeedPosition is how far a partition's stream of events has been read. It names an entry, and that entry must
// exist: if it is gone, the stream may have dropped or lost what follows.
type FeedPosition struct {
	id   LogCursor // zero: the stream had no entry
	sum  uint16    // see feedEntry
	next bool      // the entry is the first that was not read, instead of the last that was
}

// is reports whether an entry is the one of the position.
func (p FeedPosition) is(e feedEntry) bool {
	return p.id == e.id && (p.sum == e.sum || p.sum == e.named)
}

// IsEmpty reports whether the position is before the first entry.
func (p FeedPosition) IsEmpty() bool { return p.id.Milliseconds|p.id.Sequence == 0 }

// First is the start of a range of entries that begins with the one at the position.
func (p FeedPosition) First() string {
	if p.IsEmpty() {
		return "-"
	}
	return p.id.ID()
}

// FeedStart is where reading begins: at the positions, or without them 10 s before a time, Unix milliseconds; 0: at the
// oldest event.
type FeedStart struct {
	At    []FeedPosition
	since uint64
}

// feedSlack is ClockSlack in the ids of entries.
const feedSlack = 1000 * site.ClockSlack

// feedCursor is the first byte of a cursor of the change feed.
const feedCursor = 'e'

// EncodeFeed encodes positions: times are relative to the latest, which is near most others.
func EncodeFeed(at []FeedPosition) string {
	latest := uint64(0)
	for i := range at {
		latest = max(latest, at[i].id.Milliseconds)
	}
	text := binary.AppendUvarint([]byte{feedCursor}, uint64(len(at)))
	text = binary.AppendUvarint(text, latest)
	for _, p := range at {
		if p.IsEmpty() {
			text = binary.AppendUvarint(text, 0)
			continue
		}
		next := uint64(0)
		if p.next {
			next = 1
		}
		text = binary.AppendUvarint(text, 2*(latest-p.id.Milliseconds)+next+1)
		text = binary.BigEndian.AppendUint16(binary.AppendUvarint(text, p.id.Sequence), p.sum)
	}
	return site.Seal(text)
}

// FeedSince returns a cursor in the feed of a site with so many partitions: a page after it begins about 10 s before a time, or
// with the oldest event that is kept.
func FeedSince(t time.Time, partitions int) string {
	id := LogCursor{EntryID: wire.EntryID{Milliseconds: uint64(max(t.UnixMilli(), 1))}} // #nosec G115 -- a time
	return EncodeFeed(slices.Repeat([]FeedPosition{{id: id}}, partitions))
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
	for i := range start.At {
		delta := numbers.Next()
		if delta == 0 {
			continue
		}
		ago := min((delta-1)/2, latest)
		start.At[i] = FeedPosition{id: LogCursor{wire.EntryID{Milliseconds: latest - ago, Sequence: numbers.Next()}, i}, next: (delta-1)%2 == 1}
		if len(numbers.Text) >= 2 {
			start.At[i].sum, numbers.Text = binary.BigEndian.Uint16(numbers.Text), numbers.Text[2:]
		}
		if !start.At[i].IsEmpty() {
			start.since = min(start.since, latest-ago)
		}
	}
	return start, nil
}

// feedPart is what was read of one partition.
type feedPart struct {
	from    FeedPosition
	entries []feedEntry
	more    bool // entries follow
	gap     bool

	expired *ExpiredError
}

// ReadFeed reads up to count events, in the order of their times. It fails only if the store does not answer.
func (r *Log) ReadFeed(ctx context.Context, start FeedStart, count int) (*EventBatch, error) {
	if start.At != nil && len(start.At) != len(r.store.Partitions) {
		start.At = nil // of a time when the site had another number of partitions
	} else if start.At != nil {
		start.since = 0
	}
	each := int64(min(count, max(50, 2*count/len(r.store.Partitions))))
	parts, err := r.readParts(ctx, start, each)
	if err != nil {
		return nil, err
	}
	b := &EventBatch{From: make([]FeedPosition, len(parts)), Gap: start.since > 0}
	whole := LogCursor{EntryID: wire.EntryID{Milliseconds: math.MaxUint64}} // up to here everything was read
	var all []feedEntry
	for i, p := range parts {
		b.From[i], b.More, b.Gap = p.from, b.More || p.more, b.Gap || p.gap
		if p.expired != nil && (b.Expired == nil || p.expired.LostFrom.Before(b.Expired.LostFrom)) {
			b.Expired = p.expired
		}
		all = append(all, p.entries...)
		if last := len(p.entries) - 1; p.more && last >= 0 && p.entries[last].id.Compare(whole) < 0 {
			whole = p.entries[last].id
		}
	}
	slices.SortFunc(all, func(a, b feedEntry) int { return a.id.Compare(b.id) })
	b.entries = all
	if i := slices.IndexFunc(all, func(e feedEntry) bool { return e.id.Compare(whole) > 0 }); i >= 0 {
		b.entries, b.More = all[:i], true
	}
	if len(b.entries) > count {
		b.entries, b.More = b.entries[:count], true
	}
	return b, nil
}

// readParts reads up to count entries of each partition, in one round trip unless a position is missing.
func (r *Log) readParts(ctx context.Context, start FeedStart, count int64) ([]feedPart, error) {
	replies, lengths := make([]*redis.XMessageSliceCmd, len(r.store.Partitions)), make([]*redis.IntCmd, len(r.store.Partitions))
	from := func(i int) FeedPosition {
		if start.At == nil {
			return FeedPosition{}
		}
		return start.At[i]
	}
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			first := from(i).First()
			if start.since > 0 {
				first = sinceID(start.since)
			}
			replies[i] = pipe.XRangeN(ctx, p.Events(), first, "+", count+2) // the one of the position, and one that shows that others follow
			if start.At != nil && from(i).IsEmpty() {
				lengths[i] = pipe.XLen(ctx, p.Events())
			}
		}
	})
	if err != nil {
		return nil, err
	}
	parts := make([]feedPart, len(r.store.Partitions))
	var lost []int
	for i := range parts {
		p, at := &parts[i], from(i)
		p.entries = feedEntries(replies[i].Val(), i)
		p.from = at
		switch {
		case !at.IsEmpty() && (len(p.entries) == 0 || !at.is(p.entries[0])):
			lost = append(lost, i)
		case !at.IsEmpty() && !at.next:
			p.entries = p.entries[1:]
		case len(p.entries) > 0:
			p.from = p.entries[0].position(true)
		case start.since > 0:
			lost = append(lost, i) // it may have older entries, after which the reader is now
		}
		p.more = int64(len(p.entries)) > count
		if lengths[i] != nil && r.mayHaveTrimmed(lengths[i].Val()) {
			p.expired = &ExpiredError{KeptFrom: p.from.id.time()}
		}
	}
	if len(lost) == 0 {
		return parts, nil
	}
	return parts, r.findPositions(ctx, start, lost, parts, count)
}

// mayHaveTrimmed reports whether a stream of this length may have dropped entries: Redis keeps at least Rules.Events.
func (r *Log) mayHaveTrimmed(length int64) bool { return length >= int64(r.store.Rules.Events) }

func sinceID(milliseconds uint64) string {
	return strconv.FormatUint(milliseconds-min(milliseconds, feedSlack), 10)
}

// sinceIDs returns where to go on after positions that are missing. If one is of the future, the clock went back: what
// was added since may have any id.
func (r *Log) sinceIDs(ctx context.Context, since []uint64) ([]string, error) {
	now, err := r.store.Client.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(since))
	for k, milliseconds := range since {
		ids[k] = sinceID(milliseconds)
		if latest := now.UnixMilli() + feedSlack; milliseconds > uint64(max(latest, 0)) {
			ids[k] = "-"
		}
	}
	return ids, nil
}

// findPositions reads the partitions whose streams do not have the entries of their positions.
func (r *Log) findPositions(ctx context.Context, start FeedStart, lost []int, parts []feedPart, count int64) error {
	oldest, latest := make([]*redis.XMessageSliceCmd, len(lost)), make([]*redis.XMessageSliceCmd, len(lost))
	replies, lengths := make([]*redis.XMessageSliceCmd, len(lost)), make([]*redis.IntCmd, len(lost))
	since := make([]uint64, len(lost))
	for k, i := range lost {
		since[k] = cmp.Or(start.since, parts[i].from.id.Milliseconds)
	}
	ids, err := r.sinceIDs(ctx, since)
	if err != nil {
		return err
	}
	err = r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for k, i := range lost {
			key := r.store.Partitions[i].Events()
			oldest[k] = pipe.XRangeN(ctx, key, "-", "+", 1)
			replies[k] = pipe.XRangeN(ctx, key, ids[k], "+", count+1)
			latest[k], lengths[k] = pipe.XRevRangeN(ctx, key, "+", "-", 1), pipe.XLen(ctx, key)
		}
	})
	if err != nil {
		return err
	}
	for k, i := range lost {
		before := parts[i].from
		p := feedPart{gap: true}
		p.entries = feedEntries(replies[k].Val(), i)
		p.more = int64(len(p.entries)) > count
		if first := feedEntries(oldest[k].Val(), i); len(first) > 0 && !before.IsEmpty() &&
			first[0].id.Compare(before.id) > 0 && r.mayHaveTrimmed(lengths[k].Val()) {
			p.expired = &ExpiredError{LostFrom: before.id.time(), KeptFrom: first[0].id.time()}
		}
		if len(p.entries) > 0 {
			p.from = p.entries[0].position(true)
		} else if last := feedEntries(latest[k].Val(), i); len(last) > 0 {
			p.from = last[0].position(false)
		}
		parts[i] = p
	}
	return nil
}

// FeedEnd returns the position after the newest event of each partition.
func (r *Log) FeedEnd(ctx context.Context) ([]FeedPosition, error) {
	latest, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.XMessageSliceCmd {
		return pipe.XRevRangeN(ctx, p.Events(), "+", "-", 1)
	})
	if err != nil {
		return nil, err
	}
	at := make([]FeedPosition, len(r.store.Partitions))
	for i := range at {
		if last := feedEntries(latest[i].Val(), i); len(last) > 0 {
			at[i] = last[0].position(false)
		}
	}
	return at, nil
}
