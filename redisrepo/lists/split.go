package lists

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
)

// How a page deep in a listing of several partitions is found by its number:
//
// Of the articles before the page, each partition has an unknown number. The window of a partition, from low to high,
// contains that number. A round reads one article from each window, and asks every partition for the ranks of some of
// these articles. The sums of the ranks over all partitions are ranks in the whole listing, so each of the articles is
// before the page or not, which narrows the windows. Partitions are random samples of each other, so that one round is
// usually enough: 4 round trips, and a few articles from each partition, at any depth.

const (
	// shallow is how many articles for each partition may be before a page for which no windows are needed.
	shallow = 16
	// narrow is how many articles for each partition the windows may still have together in the end.
	narrow = 24
	// mostRounds is more than any listing needs that does not change meanwhile.
	mostRounds = 60
)

// window is the part of a partition that contains the place of a page's start.
type window struct{ low, high int }

func (w window) size() int { return w.high - w.low }

func sizeOf(windows []window) (n int) {
	for _, w := range windows {
		n += w.size()
	}
	return n
}

// split returns narrow windows, each of which contains the number of articles that its partition has before the rank
// first. It returns nil if the listing ends before that rank.
func (r *Lists) split(ctx context.Context, l Listing, first, count int) ([]window, error) {
	windows, err := r.wholeWindows(ctx, l)
	if err != nil || sizeOf(windows) <= first {
		return nil, err
	}
	halve := false
	for round := 0; sizeOf(windows) > max(narrow*len(windows), 8*count); round++ {
		if round == mostRounds {
			return nil, fmt.Errorf("%w: the listing changes faster than it is read", failover.ErrUnavailable)
		}
		before := sizeOf(windows)
		pivots, err := r.pivots(ctx, l, windows, first, halve)
		if err != nil {
			return nil, err
		}
		if err = r.narrow(ctx, l, windows, pivots, first); err != nil {
			return nil, err
		}
		halve = sizeOf(windows) > before/8
	}
	return windows, nil
}

// wholeWindows returns windows over all articles. It builds the listings of a group that do not exist.
func (r *Lists) wholeWindows(ctx context.Context, l Listing) ([]window, error) {
	windows := make([]window, len(r.store.Partitions))
	replies := make([]func() (Ranked, error), len(windows))
	err := r.ReadListings(ctx, l, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			replies[i] = r.queueListing(ctx, pipe, p, l, ListRequest{needEnds: true})
		}
	})
	if err != nil {
		return nil, err
	}
	for i, reply := range replies {
		found, err := reply()
		if err != nil {
			return nil, err
		}
		windows[i].high = found.total
	}
	return windows, nil
}

// pivot is an article from a window.
type pivot struct {
	site.Cursor
	weight int // size of the window
}

// pivots reads an article from each window, near the rank first or, if halve, from its middle, and returns some of
// them, in order.
func (r *Lists) pivots(ctx context.Context, l Listing, windows []window, first int, halve bool) ([]site.Cursor, error) {
	missing, all := first, sizeOf(windows)
	for _, w := range windows {
		missing -= w.low
	}
	replies := make([]func() (Ranked, error), len(windows))
	guesses := make([]int, len(windows))
	err := r.ReadListings(ctx, l, func(pipe redis.Pipeliner) {
		for i, w := range windows {
			if w.size() == 0 {
				continue
			}
			guesses[i] = w.low + w.size()/2
			if !halve {
				guesses[i] = w.low + guess(w.size(), float64(missing)/float64(all), i%2 == 0)
			}
			replies[i] = r.queueListing(ctx, pipe, r.store.Partitions[i], l, ListRequest{Request: site.Request[site.Cursor]{Size: 1}, skip: guesses[i]})
		}
	})
	if err != nil {
		return nil, err
	}
	var found []pivot
	for i, reply := range replies {
		if reply == nil {
			continue
		}
		part, err := reply()
		if err != nil {
			return nil, err
		}
		if len(part.Items) == 0 { // articles have left the listing
			windows[i].high = guesses[i]
			windows[i].low = min(windows[i].low, guesses[i])
			continue
		}
		found = append(found, pivot{PlaceOf(part.Items[0]), windows[i].size()})
	}
	slices.SortFunc(found, func(a, b pivot) int { return l.Compare(a.Cursor, b.Cursor) })
	return quartiles(found), nil
}

// guess returns the index in a window of an article that is probably before the page, or after it, if a share of all
// windows is before the page. The distance is half the deviation of a random sample: articles on both sides narrow the windows,
// also when the partitions are so much alike that those at the expected index are all on one side.
func guess(size int, share float64, before bool) int {
	expected := float64(size) * share
	distance := math.Sqrt(expected*(1-share))/2 + 1
	if before {
		distance = -distance
	}
	return min(max(int(expected+distance), 0), size-1)
}

// quartiles returns the pivots at the quartiles by weight: the page's start is rarely outside of them.
func quartiles(pivots []pivot) []site.Cursor {
	all := 0
	for _, p := range pivots {
		all += p.weight
	}
	var some []site.Cursor
	seen, quarter := 0, 1
	for _, p := range pivots {
		seen += p.weight
		if quarter < 4 && 4*seen >= quarter*all {
			some = append(some, p.Cursor)
		}
		for 4*seen >= quarter*all {
			quarter++
		}
	}
	return some
}

// narrow narrows the windows by the ranks of pivots in all partitions.
func (r *Lists) narrow(ctx context.Context, l Listing, windows []window, pivots []site.Cursor, first int) error {
	if len(pivots) == 0 {
		return nil
	}
	replies := make([]*redis.Cmd, len(windows))
	err := r.ReadListings(ctx, l, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			replies[i] = r.CallListing(ctx, pipe, p, l, ListRequest{}, pivots...)
		}
	})
	if err != nil {
		return err
	}
	ranks := make([][]int64, len(windows))
	for i, reply := range replies {
		if ranks[i], err = reply.Int64Slice(); err != nil {
			return err
		}
		if len(ranks[i]) != len(pivots) {
			return fmt.Errorf("listing.lua replied %d ranks of %d", len(ranks[i]), len(pivots))
		}
	}
	for at := range pivots {
		sum := int64(0)
		for i := range windows {
			sum += ranks[i][at]
		}
		for i := range windows {
			w, rank := &windows[i], int(ranks[i][at])
			if sum <= int64(first) {
				w.low = min(max(w.low, rank), w.high)
			}
			if sum >= int64(first) {
				w.high = max(min(w.high, rank), w.low)
			}
		}
	}
	return nil
}
