package lists

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// run is what one partition has of a page, in the order in which the page is read.
type run struct {
	items          []redis.Z
	more           bool // others may follow the items
	previous, next bool // the partition has items before the page, and after it
	missing        bool // the listing is not stored, against expectation
}

// Few returns a number of items that one partition's share of a page of size items rarely exceeds. The items of a
// partition are a random sample: of a thousand pages with 25 items in 16 partitions, 3 need a second round trip.
func Few(size, partitions int) int {
	share := float64(size) / float64(partitions)
	return min(size, int(math.Ceil(share+3*math.Sqrt(share)+1)))
}

// builtTogether is how many listings are read in one round trip if some of them have to be built: Redis serves others between two.
const builtTogether = 4

// merge reads at least the first size items, in the order of l, that some parts have together. It asks each part for few
// items, and those that may have more before the end of the page again for size: for one listing that is one round trip, rarely two.
func (r *Lists) merge(ctx context.Context, l Listing, parts []part, size int,
	queue func(pipe redis.Pipeliner, index, size int, again bool) func() (run, error),
) ([]redis.Z, []run, error) {
	runs, replies := make([]run, len(parts)), make([]func() (run, error), len(parts))
	asked, most, together := make([]int, len(runs)), Few(size, len(runs)), len(parts)
	for i := range asked {
		asked[i] = i
	}
	for again := false; ; again, most = true, size {
		for some := range slices.Chunk(asked, together) {
			of := func() (of []part) {
				for _, i := range some {
					of = append(of, parts[i])
				}
				return of
			}
			err := r.readParts(ctx, of, func(pipe redis.Pipeliner) {
				for _, i := range some {
					replies[i] = queue(pipe, i, most, again)
				}
			})
			if err != nil {
				return nil, nil, err
			}
			for _, i := range some {
				if runs[i], err = replies[i](); err != nil {
					return nil, nil, err
				}
			}
		}
		var items []redis.Z
		for _, found := range runs {
			items = append(items, found.items...)
		}
		l.Sorting(items)
		items = slices.CompactFunc(items, func(a, b redis.Z) bool { return a.Member == b.Member }) // in several listings
		asked, together = asked[:0], len(parts)
		for i, found := range runs {
			if found.missing {
				together = builtTogether * len(r.store.Partitions)
			}
			if !again && (found.missing || found.more && (len(items) < size || len(found.items) == 0 ||
				l.Compare(PlaceOf(found.items[len(found.items)-1]), PlaceOf(items[size-1])) < 0)) {
				asked = append(asked, i)
			}
		}
		if len(asked) == 0 {
			return items, runs, nil
		}
	}
}

// PlaceOf returns the place of a member in its listing.
func PlaceOf(z redis.Z) site.Cursor { return site.Cursor{Score: z.Score, Member: z.Member.(string)} }

// listPartitions returns consecutive articles of a listing in several partitions. along, if it is not nil, queues more
// commands in the first round trip of the merge.
func (r *Lists) listPartitions(ctx context.Context, l Listing, first, count int, along func(redis.Pipeliner)) ([]redis.Z, error) {
	windows := make([]window, len(r.store.Partitions))
	if first > shallow*len(windows) {
		var err error
		if windows, err = r.split(ctx, l, first, count); err != nil || windows == nil {
			return nil, err
		}
	} else {
		for i := range windows {
			windows[i].high = first
		}
	}
	skip := first
	for _, w := range windows {
		skip -= w.low
	}
	items, _, err := r.merge(ctx, l, r.partsOf(l), skip+count, func(pipe redis.Pipeliner, i, size int, again bool) func() (run, error) {
		most := windows[i].size() + count // that the partition can have up to the end of the page
		part := ListRequest{Request: site.Request[site.Cursor]{Size: min(size, most)}, skip: windows[i].low}
		if along != nil {
			along(pipe)
			along = nil
		}
		if seen := r.storedAt(r.store.Partitions[i], l); seen != "" && !again && part.skip == 0 {
			return queueRun(ctx, pipe, r.store.Partitions[i], l, l, part, part.Size, r.queueStored(seen))
		}
		reply := r.queueListing(ctx, pipe, r.store.Partitions[i], l, part)
		return func() (run, error) {
			found, err := reply()
			return run{items: found.Items, more: len(found.Items) == size && size < most}, err
		}
	})
	if err != nil {
		return nil, err
	}
	return items[min(skip, len(items)):min(skip+count, len(items))], nil
}

// walkPartitions reads a page by cursors in several partitions. Unless exact is set, it may read listings by queueRun, which
// does not count what is before the page and after it.
func (r *Lists) walkPartitions(ctx context.Context, l Listing, q ListRequest, exact bool) (site.Page[redis.Z], error) {
	reading := l
	if q.Last {
		reading.direction = site.Ascending + site.Descending - l.direction
	}
	plain := false // one was read so
	items, runs, err := r.merge(ctx, reading, r.partsOf(l), q.Size+1, func(pipe redis.Pipeliner, i, size int, again bool) func() (run, error) {
		if seen := r.storedAt(r.store.Partitions[i], l); !exact && !again && (l.group == "" || seen != "") {
			plain = true
			queue := queueRange
			if seen != "" {
				queue = r.queueStored(seen)
			}
			return queueRun(ctx, pipe, r.store.Partitions[i], l, reading, q, size, queue)
		}
		part := q
		part.Size = size
		reply := r.queueListing(ctx, pipe, r.store.Partitions[i], l, part)
		return func() (run, error) {
			found, err := reply()
			if q.Last {
				slices.Reverse(found.Items)
			}
			return run{
				items: found.Items, more: len(found.Items) == size,
				previous: found.start > 0, next: found.start+len(found.Items) < found.total,
			}, err
		}
	})
	if err != nil {
		return site.Page[redis.Z]{}, err
	}
	if q.Last {
		slices.Reverse(items)
	}
	previous := slices.ContainsFunc(runs, func(found run) bool { return found.previous })
	next := slices.ContainsFunc(runs, func(found run) bool { return found.next })
	result := site.NewPage(items, q.Size, q.Last, previous, next)
	if plain && (q.After != nil && !result.HasPrevious || q.Before != nil && !result.HasNext) { // what was at the cursors has moved
		return r.walkPartitions(ctx, l, q, true)
	}
	return result, nil
}

// tiesOfCursor is how many items of one partition with the score of a cursor are read besides a page. If there are
// more, the place of the cursor among them is found by listing.lua.
const tiesOfCursor = 2

// queueRun queues plain commands for the first items of a partition's part of a page, which take Redis a third of
// the time of listing.lua. reading is the listing in the direction of reading.
func queueRun(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, l, reading Listing, q ListRequest, size int, queue queueing) func() (run, error) {
	from, to := q.After, q.Before
	if q.Last {
		from, to = to, from
	}
	args := redis.ZRangeArgs{Key: l.key(p), Start: 0, Stop: size - 1, Rev: reading.direction == site.Descending}
	if from != nil || to != nil {
		size += tiesOfCursor
		args.ByScore, args.Count, args.Start, args.Stop = true, int64(size), "-inf", "+inf"
		if args.Rev {
			args.Start, args.Stop = args.Stop, args.Start
		}
		if from != nil {
			args.Start = strconv.FormatFloat(from.Score, 'f', -1, 64)
		}
		if to != nil {
			args.Stop = strconv.FormatFloat(to.Score, 'f', -1, 64)
		}
	}
	read := l
	read.direction = reading.direction
	reply := queue(ctx, pipe, p, read, args, size)
	return func() (run, error) {
		all, err := reply()
		found := run{more: all.more, missing: all.missing}
		for _, z := range all.items {
			at := PlaceOf(z)
			switch {
			case q.isBefore(l, at):
				found.previous = true
			case q.isAfter(l, at):
				found.next = true
			default:
				found.items = append(found.items, z)
			}
			if to != nil && reading.Compare(at, *to) >= 0 {
				found.more = false
			}
		}
		return found, err
	}
}

// queueing queues the commands for a range of size articles of a partition's listing.
type queueing func(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, l Listing, args redis.ZRangeArgs, size int) func() (run, error)

// queueRange queues the commands for a range of a partition's listing, and for whether that of a group is stored.
func queueRange(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, l Listing, args redis.ZRangeArgs, size int) func() (run, error) {
	var first *redis.StringSliceCmd
	var group *redis.IntCmd
	if l.group != "" {
		first, group = pipe.ZRange(ctx, l.key(p), 0, 0), pipe.Exists(ctx, p.Group(l.group))
	}
	reply := pipe.ZRangeArgsWithScores(ctx, args)
	return func() (run, error) {
		found := run{items: reply.Val(), more: len(reply.Val()) == size}
		if l.group != "" { // the store in memory keeps an empty listing
			found.missing = isBuilding(first.Val()) || len(first.Val()) == 0 && group.Val() == 1
		}
		return found, reply.Err()
	}
}

// isBefore and isAfter report whether a place is outside of the cursors. If these are in the wrong order, all is before
// or after the first of them, as in listing.lua.
func (q ListRequest) isBefore(l Listing, at site.Cursor) bool {
	return q.After != nil && l.Compare(at, *q.After) <= 0
}

func (q ListRequest) isAfter(l Listing, at site.Cursor) bool {
	return q.Before != nil && l.Compare(at, *q.Before) >= 0 && !q.isBefore(l, at)
}
