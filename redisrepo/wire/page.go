package wire

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
)

// Between is the part of a list between two cursors.
type Between[C any] struct {
	After, Before *C   // nil: the start and the end of the list
	Inclusive     bool // with the items at the cursors
	Count         int  // maximum number of items
	Last          bool // the last items instead of the first
}

// ReadPage reads a page of a list whose items have no ranks, in one round trip.
//
// queue queues the command that reads a part of the list in one partition, and returns a function for its
// result. compare gives the order of the list; items that compare as equal, from several partitions, are one.
func ReadPage[T, C any](ctx context.Context, r *Store, q site.Request[C], compare func(a, b T) int,
	queue func(pipe redis.Pipeliner, partition int, b Between[C]) func() []T,
) (site.Page[T], error) {
	var items, previous, next []func() []T
	err := r.Read(ctx, func(pipe redis.Pipeliner) {
		items, previous, next = nil, nil, nil
		for i := range r.Partitions {
			// One item more than the page holds shows whether the list goes on in the direction of
			// reading. What lies beyond the cursors needs commands of its own.
			items = append(items, queue(pipe, i, Between[C]{After: q.After, Before: q.Before, Count: q.Size + 1, Last: q.Last}))
			if q.After != nil {
				previous = append(previous, queue(pipe, i, Between[C]{Before: q.After, Inclusive: true, Count: 1}))
			}
			if q.Before != nil {
				next = append(next, queue(pipe, i, Between[C]{After: q.Before, Inclusive: true, Count: 1}))
			}
		}
	})
	if err != nil {
		return site.Page[T]{}, err
	}
	found := concat(items)
	slices.SortFunc(found, compare)
	found = slices.CompactFunc(found, func(a, b T) bool { return compare(a, b) == 0 })
	return site.NewPage(found, q.Size, q.Last, len(concat(previous)) > 0, len(concat(next)) > 0), nil
}

func concat[T any](results []func() []T) (all []T) {
	for _, result := range results {
		all = append(all, result()...)
	}
	return all
}
