package redisrepo

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// feedPosition is how far a partition's stream of events has been read. It names an entry, and that entry must exist:
// one that is gone is how a reader learns that the stream has dropped or lost what follows.
type feedPosition struct {
	id   logCursor // zero: the stream had no entry
	sum  uint16    // see feedEntry
	next bool      // the entry is the first that was not read, instead of the last that was
}

// is reports whether an entry is the one of the position.
func (p feedPosition) is(e feedEntry) bool { return p.id == e.id && p.sum == e.sum }

func (p feedPosition) isEmpty() bool { return p.id.milliseconds|p.id.sequence == 0 }

// feedStart is where reading begins: at the positions, or without them 10 s before a time, Unix milliseconds; 0: at the
// oldest event.
type feedStart struct {
	at    []feedPosition
	since uint64
}

// feedSlack is clockSlack in the ids of entries.
const feedSlack = 1000 * clockSlack

// feedCursor is the first byte of a cursor of the change feed.
const feedCursor = 'e'

// encodeFeed encodes positions: times are relative to the latest, which is near most others.
func encodeFeed(at []feedPosition) string {
	latest := uint64(0)
	for i := range at {
		latest = max(latest, at[i].id.milliseconds)
	}
	text := binary.AppendUvarint([]byte{feedCursor}, uint64(len(at)))
	text = binary.AppendUvarint(text, latest)
	for _, p := range at {
		if p.isEmpty() {
			text = binary.AppendUvarint(text, 0)
			continue
		}
		next := uint64(0)
		if p.next {
			next = 1
		}
		text = binary.AppendUvarint(text, 2*(latest-p.id.milliseconds)+next+1)
		text = binary.BigEndian.AppendUint16(binary.AppendUvarint(text, p.id.sequence), p.sum)
	}
	return seal(text)
}

// decodeFeed decodes a cursor. field is the argument, or the header, that held it.
func decodeFeed(field, cursor string) (feedStart, error) {
	text, err := unseal(field, cursor)
	if err != nil {
		return feedStart{}, err
	}
	if len(text) == 0 || text[0] != feedCursor {
		return feedStart{}, refuse(Invalid, field, "%s must be the cursor of an event", field)
	}
	numbers := numberReader{text: text[1:]}
	n, latest := min(numbers.next(), MaxPartitions), min(numbers.next(), math.MaxInt64)
	start := feedStart{at: make([]feedPosition, n), since: latest}
	for i := range start.at {
		delta := numbers.next()
		if delta == 0 {
			continue
		}
		ago := min((delta-1)/2, latest)
		start.at[i] = feedPosition{id: logCursor{latest - ago, numbers.next(), i}, next: (delta-1)%2 == 1}
		if len(numbers.text) >= 2 {
			start.at[i].sum, numbers.text = binary.BigEndian.Uint16(numbers.text), numbers.text[2:]
		}
		if !start.at[i].isEmpty() {
			start.since = min(start.since, latest-ago)
		}
	}
	return start, nil
}

// feedPart is what was read of one partition.
type feedPart struct {
	from    feedPosition
	entries []feedEntry
	more    bool // entries follow
	gap     bool

	expired *ExpiredError
}

// readFeed reads up to count events, in the order of their times. It fails only if the store does not answer.
func (r *Repo) readFeed(ctx context.Context, start feedStart, count int) (*eventBatch, error) {
	if start.at != nil && len(start.at) != len(r.partitions) {
		start.at = nil // of a time when the site had another number of partitions
	} else if start.at != nil {
		start.since = 0
	}
	each := int64(min(count, max(50, 2*count/len(r.partitions))))
	parts, err := r.readParts(ctx, start, each)
	if err != nil {
		return nil, err
	}
	b := &eventBatch{from: make([]feedPosition, len(parts)), gap: start.since > 0}
	whole := logCursor{milliseconds: math.MaxUint64} // up to here everything was read
	var all []feedEntry
	for i, p := range parts {
		b.from[i], b.more, b.gap = p.from, b.more || p.more, b.gap || p.gap
		if p.expired != nil && (b.expired == nil || p.expired.LostFrom.Before(b.expired.LostFrom)) {
			b.expired = p.expired
		}
		all = append(all, p.entries...)
		if last := len(p.entries) - 1; p.more && last >= 0 && p.entries[last].id.compare(whole) < 0 {
			whole = p.entries[last].id
		}
	}
	slices.SortFunc(all, func(a, b feedEntry) int { return a.id.compare(b.id) })
	b.entries = all
	if i := slices.IndexFunc(all, func(e feedEntry) bool { return e.id.compare(whole) > 0 }); i >= 0 {
		b.entries, b.more = all[:i], true
	}
	if len(b.entries) > count {
		b.entries, b.more = b.entries[:count], true
	}
	return b, nil
}

// readParts reads up to count entries of each partition, in one round trip unless a position is missing.
func (r *Repo) readParts(ctx context.Context, start feedStart, count int64) ([]feedPart, error) {
	replies, lengths := make([]*redis.XMessageSliceCmd, len(r.partitions)), make([]*redis.IntCmd, len(r.partitions))
	from := func(i int) feedPosition {
		if start.at == nil {
			return feedPosition{}
		}
		return start.at[i]
	}
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			first := "-"
			if start.since > 0 {
				first = sinceID(start.since)
			} else if at := from(i); !at.isEmpty() {
				first = at.id.id()
			}
			replies[i] = pipe.XRangeN(ctx, p.events(), first, "+", count+2) // the one of the position, and one that shows that others follow
			if start.at != nil && from(i).isEmpty() {
				lengths[i] = pipe.XLen(ctx, p.events())
			}
		}
	})
	if err != nil {
		return nil, err
	}
	parts := make([]feedPart, len(r.partitions))
	var lost []int
	for i := range parts {
		p, at := &parts[i], from(i)
		p.entries = feedEntries(replies[i].Val(), i)
		p.from = at
		switch {
		case !at.isEmpty() && (len(p.entries) == 0 || !at.is(p.entries[0])):
			lost = append(lost, i)
		case !at.isEmpty() && !at.next:
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
func (r *Repo) mayHaveTrimmed(length int64) bool { return length >= int64(r.rules.Events) }

func sinceID(milliseconds uint64) string {
	return strconv.FormatUint(milliseconds-min(milliseconds, feedSlack), 10)
}

// sinceIDs returns where to go on after positions that are missing. If one is of the future, the clock went back: what
// was added since may have any id.
func (r *Repo) sinceIDs(ctx context.Context, since []uint64) ([]string, error) {
	now, err := r.client.Time(ctx).Result()
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
func (r *Repo) findPositions(ctx context.Context, start feedStart, lost []int, parts []feedPart, count int64) error {
	oldest, latest := make([]*redis.XMessageSliceCmd, len(lost)), make([]*redis.XMessageSliceCmd, len(lost))
	replies, lengths := make([]*redis.XMessageSliceCmd, len(lost)), make([]*redis.IntCmd, len(lost))
	since := make([]uint64, len(lost))
	for k, i := range lost {
		since[k] = cmp.Or(start.since, parts[i].from.id.milliseconds)
	}
	ids, err := r.sinceIDs(ctx, since)
	if err != nil {
		return err
	}
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for k, i := range lost {
			key := r.partitions[i].events()
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
		if first := feedEntries(oldest[k].Val(), i); len(first) > 0 && !before.isEmpty() &&
			first[0].id.compare(before.id) > 0 && r.mayHaveTrimmed(lengths[k].Val()) {
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

// feedEnd returns the positions after all events that there are.
func (r *Repo) feedEnd(ctx context.Context) ([]feedPosition, error) {
	latest := make([]*redis.XMessageSliceCmd, len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			latest[i] = pipe.XRevRangeN(ctx, p.events(), "+", "-", 1)
		}
	})
	if err != nil {
		return nil, err
	}
	at := make([]feedPosition, len(r.partitions))
	for i := range at {
		if last := feedEntries(latest[i].Val(), i); len(last) > 0 {
			at[i] = last[0].position(false)
		}
	}
	return at, nil
}
