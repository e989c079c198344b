package events

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

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

// readParts reads up to count entries of each partition, in one round trip unless the entry of a position is gone.
func (r *Log) readParts(ctx context.Context, start FeedStart, count int64) ([]feedPart, error) {
	replies, dropped := make([]*redis.XMessageSliceCmd, len(r.store.Partitions)), make([]drops, len(r.store.Partitions))
	parts := make([]feedPart, len(r.store.Partitions))
	every := make([]int, len(parts))
	for i := range parts {
		every[i] = i
		if start.At != nil {
			parts[i].from = start.At[i]
		}
	}
	if start.since > 0 {
		return parts, r.readAgain(ctx, start, every, parts, count)
	}
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			replies[i] = pipe.XRangeN(ctx, p.Events(), parts[i].from.First(), "+", count+2) // the one of the position, and one that shows that others follow
			if !parts[i].from.isEvent {
				dropped[i] = r.queueDrops(ctx, pipe, p)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var missing []int
	for i := range parts {
		p := &parts[i]
		rest, found := p.from.Rest(replies[i].Val())
		if !found {
			missing = append(missing, i)
			continue
		}
		p.set(rest, i, count)
		switch {
		case start.At == nil:
			p.from = after(dropped[i].last(), i)
		case !p.from.isEvent && dropped[i].last().Compare(p.from.id.EntryID) > 0:
			p.expire()
		case p.from.old && p.from.isEvent:
			if p.from, err = r.PositionAfter(ctx, replies[i].Val()[0], i); err != nil {
				return nil, err
			}
		}
	}
	if len(missing) == 0 {
		return parts, nil
	}
	return parts, r.findPlaces(ctx, start, missing, parts, count)
}

// drops describes the entries that a partition has dropped, see trim.lua.
type drops struct {
	fields *redis.SliceCmd
	length *redis.IntCmd
	oldest *redis.XMessageSliceCmd
	kept   int
}

func (r *Log) queueDrops(ctx context.Context, pipe redis.Pipeliner, p keys.Partition) drops {
	return drops{
		pipe.HMGet(ctx, p.Views(), "dropped", "since", "hidden"), pipe.XLen(ctx, p.Events()), pipe.XRangeN(ctx, p.Events(), "-", "+", 1), r.store.Rules.Events,
	}
}

// last returns an id up to which all events were dropped, and no others. Earlier versions did not note it: they keep as many
// events as they may.
func (d drops) last() wire.EntryID {
	fields := wire.Reply(d.fields.Val())
	hidden, _ := strconv.Atoi(fields.Text(2))
	if found := d.oldest.Val(); fields.Text(1) == "" && len(found) > 0 && int(d.length.Val())-hidden >= d.kept {
		return wire.ParseEntryID(found[0].ID).Before()
	}
	return wire.ParseEntryID(fields.Text(0))
}

// since returns the id after which it is known which events were dropped.
func (d drops) since() wire.EntryID { return wire.ParseEntryID(wire.Reply(d.fields.Val()).Text(1)) }

// set sets the entries that follow.
func (p *feedPart) set(messages []redis.XMessage, partition int, count int64) {
	p.more = int64(len(messages)) > count
	p.entries = site.Collect(messages, func(m redis.XMessage) feedEntry {
		return feedEntry{NewLogCursor(m.ID, partition), sumOf(m), wire.IsHidden(m), DecodeEvent(m, partition)}
	})
}

// expire says that events after the position were dropped.
func (p *feedPart) expire() {
	p.expired = &ExpiredError{}
	if p.from.id.EntryID != (wire.EntryID{}) {
		p.expired.LostFrom = p.from.id.time()
	}
	for _, e := range p.entries {
		if p.expired.KeptFrom = e.id.time(); !e.isHidden {
			return
		}
	}
}

// findPlaces reads the partitions whose streams do not have the entries of their positions. It finds out which of them were
// dropped.
func (r *Log) findPlaces(ctx context.Context, start FeedStart, missing []int, parts []feedPart, count int64) error {
	replies, dropped := make([]*redis.XMessageSliceCmd, len(missing)), make([]drops, len(missing))
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for k, i := range missing {
			p := r.store.Partitions[i]
			parts[i].from, _ = parts[i].from.WithoutHidden()
			replies[k] = pipe.XRangeN(ctx, p.Events(), parts[i].from.First(), "+", count+2)
			dropped[k] = r.queueDrops(ctx, pipe, p)
		}
	})
	if err != nil {
		return err
	}
	var lost []int
	for k, i := range missing {
		p := &parts[i]
		rest, found := p.from.Rest(replies[k].Val())
		if !found {
			rest = replies[k].Val()
		}
		p.set(rest, i, count)
		isOther := !found && len(rest) > 0 && wire.ParseEntryID(rest[0].ID) == p.from.id.EntryID
		switch before := dropped[k].last().Compare(p.from.id.EntryID); {
		case found && p.from.isEvent:
		case isOther:
			lost = append(lost, i)
		case before > 0:
			p.expire()
		case found:
		case before == 0, p.from.old && p.from.id.EntryID.Compare(dropped[k].since()) <= 0:
			p.from = after(p.from.id.EntryID, i)
		default:
			lost = append(lost, i)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return r.readAgain(ctx, start, lost, parts, count)
}

func sinceID(milliseconds uint64) wire.EntryID {
	return wire.EntryID{Milliseconds: milliseconds - min(milliseconds, feedSlack)}
}

// sinceIDs returns after where to go on. If a time is of the future, the clock went back: what was added since may have any id.
func (r *Log) sinceIDs(ctx context.Context, since []uint64) ([]wire.EntryID, error) {
	now, err := r.store.Client.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	ids := make([]wire.EntryID, len(since))
	for k, milliseconds := range since {
		if latest := now.UnixMilli() + feedSlack; milliseconds <= uint64(max(latest, 0)) {
			ids[k] = sinceID(milliseconds)
		}
	}
	return ids, nil
}

// readAgain reads the partitions whose streams have lost the events of their positions, from 10 s before these.
func (r *Log) readAgain(ctx context.Context, start FeedStart, lost []int, parts []feedPart, count int64) error {
	replies, latest := make([]*redis.XMessageSliceCmd, len(lost)), make([]*redis.XMessageSliceCmd, len(lost))
	dropped, since := make([]drops, len(lost)), make([]uint64, len(lost))
	for k, i := range lost {
		since[k] = cmp.Or(start.since, parts[i].from.id.Milliseconds)
	}
	ids, err := r.sinceIDs(ctx, since)
	if err != nil {
		return err
	}
	err = r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for k, i := range lost {
			p := r.store.Partitions[i]
			replies[k] = pipe.XRangeN(ctx, p.Events(), after(ids[k], i).First(), "+", count+1)
			latest[k], dropped[k] = pipe.XRevRangeN(ctx, p.Events(), "+", "-", 1), r.queueDrops(ctx, pipe, p)
		}
	})
	if err != nil {
		return err
	}
	for k, i := range lost {
		from := ids[k]
		if len(replies[k].Val()) == 0 { // what is added next may have an earlier id
			from = wire.EntryID{}
			for _, m := range latest[k].Val() {
				from = wire.ParseEntryID(m.ID)
			}
		}
		parts[i] = feedPart{from: after(later(from, dropped[k].last()), i), gap: true}
		parts[i].set(replies[k].Val(), i, count)
	}
	return nil
}

// mostHidden is how many entries are looked at in one round trip for the event before them.
const mostHidden = 1000

// PositionAfter returns the position after an entry of a partition. If the entry is not an event, it reads the event
// before it.
func (r *Log) PositionAfter(ctx context.Context, m redis.XMessage, partition int) (FeedPosition, error) {
	p, last := r.store.Partitions[partition], []redis.XMessage{m}
	for isEvent := !wire.IsHidden(m); !isEvent; {
		var found *redis.XMessageSliceCmd
		var dropped drops
		err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
			found = pipe.XRevRangeN(ctx, p.Events(), "("+m.ID, "-", mostHidden)
			dropped = r.queueDrops(ctx, pipe, p)
		})
		if err != nil {
			return FeedPosition{}, err
		}
		i := slices.IndexFunc(found.Val(), func(m redis.XMessage) bool { return !wire.IsHidden(m) })
		switch n := len(found.Val()); {
		case i >= 0:
			last, isEvent = append([]redis.XMessage{found.Val()[i]}, last...), true
		case n < mostHidden:
			return after(dropped.last(), partition).PositionAfter(last, partition), nil
		default:
			m = found.Val()[n-1]
		}
	}
	return FeedPosition{}.PositionAfter(last, partition), nil
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
		for _, m := range latest[i].Val() {
			if at[i], err = r.PositionAfter(ctx, m, i); err != nil {
				return nil, err
			}
		}
	}
	return at, nil
}

// FeedSince returns a cursor whose next page begins about 10 s before a time, or with the oldest event that is kept.
func (r *Log) FeedSince(ctx context.Context, t time.Time) (string, error) {
	at, dropped := make([]FeedPosition, len(r.store.Partitions)), make([]drops, len(r.store.Partitions))
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			dropped[i] = r.queueDrops(ctx, pipe, p)
		}
	})
	if err != nil {
		return "", err
	}
	for i := range at {
		at[i] = after(later(sinceID(uint64(max(t.UnixMilli(), 0))), dropped[i].last()), i) // #nosec G115 -- a time
	}
	return EncodeFeed(at), nil
}

func later(a, b wire.EntryID) wire.EntryID {
	return slices.MaxFunc([]wire.EntryID{a, b}, wire.EntryID.Compare)
}
