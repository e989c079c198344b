package redisrepo

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// PageRequest asks for a page of a list by cursors, as Relay connections do: the First items from the
// start of the list or after the cursor After, or the Last items up to the end of the list or before
// the cursor Before. Without First and Last it asks for the first Rules.PageSize items. nil: not given.
type PageRequest struct {
	First, Last   *int    // 1 to MaxPageSize; not both
	After, Before *string // nil or empty: the start and the end of the list
}

// PageInfo describes where a page begins and ends.
type PageInfo struct {
	HasPreviousPage, HasNextPage bool    // exact at the moment of reading
	StartCursor, EndCursor       *string // nil if the page is empty
}

// request is a valid PageRequest with decoded cursors.
type request[C any] struct {
	size          int  // maximum number of items on the page
	last          bool // the last items instead of the first
	after, before *C   // nil: the start and the end of the list
}

// parseRequest checks p. parse decodes the cursor that was given in a field.
func parseRequest[C any](p PageRequest, defaultSize int, parse func(field, cursor string) (C, error)) (q request[C], err error) {
	if q.size, q.last, err = p.size(defaultSize); err != nil {
		return q, err
	}
	if q.after, err = parseCursor("after", p.After, parse); err != nil {
		return q, err
	}
	q.before, err = parseCursor("before", p.Before, parse)
	return q, err
}

func (p PageRequest) size(defaultSize int) (size int, last bool, err error) {
	field, given := "first", p.First
	switch {
	case p.First != nil && p.Last != nil:
		return 0, false, refuse(Invalid, "last", "first and last cannot be combined: give one of them")
	case p.Last != nil:
		field, given, last = "last", p.Last, true
	case p.First == nil:
		return defaultSize, false, nil
	}
	if *given < 1 || *given > MaxPageSize {
		return 0, false, refuse(Invalid, field, "%s is between 1 and %d, not %d", field, MaxPageSize, *given)
	}
	return *given, last, nil
}

// parseCursor returns nil for no cursor. An empty one is that of clients that begin with an empty string.
func parseCursor[C any](field string, cursor *string, parse func(field, cursor string) (C, error)) (*C, error) {
	if cursor == nil || *cursor == "" {
		return nil, nil
	}
	parsed, err := parse(field, *cursor)
	if err != nil {
		return nil, err
	}
	return &parsed, nil
}

// page is what was read for a request.
type page[T any] struct {
	items                []T
	hasPrevious, hasNext bool // whether the list has items before and after these
}

// newPage cuts sorted items to the size of a page. previous and next report whether the list has
// items before and after the given ones.
func newPage[T any](items []T, size int, last, previous, next bool) page[T] {
	extra := len(items) - size
	switch {
	case extra <= 0:
	case last:
		items, previous = items[extra:], true
	default:
		items, next = items[:size], true
	}
	return page[T]{items: items, hasPrevious: previous, hasNext: next}
}

func (p page[T]) info(cursor func(T) string) PageInfo {
	info := PageInfo{HasPreviousPage: p.hasPrevious, HasNextPage: p.hasNext}
	if n := len(p.items); n > 0 {
		start, end := cursor(p.items[0]), cursor(p.items[n-1])
		info.StartCursor, info.EndCursor = &start, &end
	}
	return info
}

// between is the part of a list between two cursors.
type between[C any] struct {
	after, before *C   // nil: the start and the end of the list
	inclusive     bool // with the items at the cursors
	count         int  // maximum number of items
	last          bool // the last items instead of the first
}

// readPage reads a page of a list whose items have no ranks, in one round trip.
//
// queue queues the command that reads a part of the list in one partition, and returns a function for its
// result. compare gives the order of the list; items that compare as equal, from several partitions, are one.
func readPage[T, C any](ctx context.Context, r *Repo, q request[C], compare func(a, b T) int,
	queue func(pipe redis.Pipeliner, partition int, b between[C]) func() []T,
) (page[T], error) {
	var items, previous, next []func() []T
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		items, previous, next = nil, nil, nil
		for i := range r.partitions {
			// One item more than the page holds shows whether the list goes on in the direction of
			// reading. What lies beyond the cursors needs commands of its own.
			items = append(items, queue(pipe, i, between[C]{after: q.after, before: q.before, count: q.size + 1, last: q.last}))
			if q.after != nil {
				previous = append(previous, queue(pipe, i, between[C]{before: q.after, inclusive: true, count: 1}))
			}
			if q.before != nil {
				next = append(next, queue(pipe, i, between[C]{after: q.before, inclusive: true, count: 1}))
			}
		}
	})
	if err != nil {
		return page[T]{}, err
	}
	found := concat(items)
	slices.SortFunc(found, compare)
	found = slices.CompactFunc(found, func(a, b T) bool { return compare(a, b) == 0 })
	return newPage(found, q.size, q.last, len(concat(previous)) > 0, len(concat(next)) > 0), nil
}

func concat[T any](results []func() []T) (all []T) {
	for _, result := range results {
		all = append(all, result()...)
	}
	return all
}
