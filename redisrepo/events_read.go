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
	next bool      // the entry is the first that was not read, instead of the last that was
}

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
		text = binary.AppendUvarint(text, p.id.sequence)
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
		start.at[i] = feedPosition{logCursor{latest - ago, numbers.next(), i}, (delta-1)%2 == 1}
		if !start.at[i].isEmpty() {
			start.since = min(start.since, latest-ago)
		}
	}
	return start, nil
}

// feedPart is what was read of one partition.
type feedPart struct {
	from   feedPosition
	ids    []logCursor
	events []*Event
	more   bool // entries may follow
	gap    bool

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
	type entry struct {
		id    logCursor
		event *Event
	}
	var all []entry
	for i, p := range parts {
		b.from[i], b.more, b.gap = p.from, b.more || p.more, b.gap || p.gap
		if p.expired != nil && (b.expired == nil || p.expired.LostFrom.Before(b.expired.LostFrom)) {
			b.expired = p.expired
		}
		for k, id := range p.ids {
			all = append(all, entry{id, p.events[k]})
		}
		if last := len(p.ids) - 1; p.more && last >= 0 && p.ids[last].compare(whole) < 0 {
			whole = p.ids[last]
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return a.id.compare(b.id) })
	for _, e := range all {
		if len(b.ids) == count || e.id.compare(whole) > 0 {
			b.more = true
			break
		}
		b.ids, b.events = append(b.ids, e.id), append(b.events, e.event)
	}
	return b, nil
}

// readParts reads up to count entries of each partition, in one round trip unless one has lost its position.
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
		p.ids, p.events = eventEntries(replies[i].Val(), i)
		p.from = at
		switch {
		case !at.isEmpty() && (len(p.ids) == 0 || p.ids[0] != at.id):
			lost = append(lost, i)
		case !at.isEmpty() && !at.next:
			p.ids, p.events = p.ids[1:], p.events[1:]
		case len(p.ids) > 0:
			p.from = feedPosition{p.ids[0], true}
		case start.since > 0:
			lost = append(lost, i) // it may have older entries, after which the reader is now
		}
		p.more = int64(len(p.ids)) > count
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

// findPositions reads the partitions whose streams do not have the entries of their positions.
func (r *Repo) findPositions(ctx context.Context, start feedStart, lost []int, parts []feedPart, count int64) error {
	oldest, latest := make([]*redis.XMessageSliceCmd, len(lost)), make([]*redis.XMessageSliceCmd, len(lost))
	replies, lengths := make([]*redis.XMessageSliceCmd, len(lost)), make([]*redis.IntCmd, len(lost))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for k, i := range lost {
			key, since := r.partitions[i].events(), cmp.Or(start.since, parts[i].from.id.milliseconds)
			oldest[k] = pipe.XRangeN(ctx, key, "-", "+", 1)
			replies[k] = pipe.XRangeN(ctx, key, sinceID(since), "+", count+1)
			latest[k], lengths[k] = pipe.XRevRangeN(ctx, key, "+", "-", 1), pipe.XLen(ctx, key)
		}
	})
	if err != nil {
		return err
	}
	for k, i := range lost {
		before := parts[i].from
		p := feedPart{gap: true}
		p.ids, p.events = eventEntries(replies[k].Val(), i)
		p.more = int64(len(p.ids)) > count
		if first, _ := eventEntries(oldest[k].Val(), i); len(first) > 0 && !before.isEmpty() &&
			first[0].compare(before.id) > 0 && r.mayHaveTrimmed(lengths[k].Val()) {
			p.expired = &ExpiredError{LostFrom: before.id.time(), KeptFrom: first[0].time()}
		}
		if len(p.ids) > 0 {
			p.from = feedPosition{p.ids[0], true}
		} else if last, _ := eventEntries(latest[k].Val(), i); len(last) > 0 {
			p.from = feedPosition{id: last[0]}
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
		if last, _ := eventEntries(latest[i].Val(), i); len(last) > 0 {
			at[i] = feedPosition{id: last[0]}
		}
	}
	return at, nil
}
