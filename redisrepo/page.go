package redisrepo

import "context"

// Span asks for a part of a list by cursors, as Relay's connections do: the
// First ones, from the beginning or behind After, or the Last ones, up to the
// end or Before. With neither, the first PageSize. nil is not given.
type Span struct {
	First, Last   *int // 1 to MaxPageSize; not both
	After, Before *string
}

// PageInfo says where a part of a list begins and ends.
type PageInfo struct {
	HasPreviousPage, HasNextPage bool    // exact, at the moment of the reading
	StartCursor, EndCursor       *string // nil when the part is empty
}

func (r *Repo) size(s Span) (most int, last bool, err error) {
	field, size := "first", s.First
	switch {
	case s.First != nil && s.Last != nil:
		return 0, false, refuse(Invalid, "last", "ask for the first or for the last ones, not for both")
	case s.Last != nil:
		field, size = "last", s.Last
	case s.First == nil:
		return r.rules.PageSize, false, nil
	}
	if *size < 1 || *size > MaxPageSize {
		return 0, false, refuse(Invalid, field, "%s is between 1 and %d, not %d", field, MaxPageSize, *size)
	}
	return *size, s.Last != nil, nil
}

// Edge is an article in a list.
type Edge struct {
	ID     ArticleID
	Cursor string
}

// Walk reads a part of a listing by cursors, in one round trip whatever the
// depth. A cursor is a place, not an article: who walks on behind one misses no
// article that did not move, though the one that stood there may have, and
// meets none again unless its score crossed the place against the direction of
// the walk: by a vote taken back, when the highest come first.
//
// It refuses with Invalid sizes outside 1 to MaxPageSize, First with Last, and
// cursors that are damaged or of another list.
func (r *Repo) Walk(ctx context.Context, l Listing, s Span) ([]Edge, PageInfo, error) {
	e, err := r.extent(l, s)
	if err != nil {
		return nil, PageInfo{}, err
	}
	found, err := r.read(ctx, l, e)
	if err != nil {
		return nil, PageInfo{}, storeError("walk", err)
	}
	info := PageInfo{HasPreviousPage: found.before, HasNextPage: found.behind}
	edges := make([]Edge, 0, len(found.ranked))
	for _, z := range found.ranked {
		cursor := l.cursor(place{z.Score, z.Member.(string)})
		if info.StartCursor == nil {
			info.StartCursor = &cursor
		}
		info.EndCursor = &cursor
		if id, ok := articleOf(z); ok {
			edges = append(edges, Edge{ID: id, Cursor: cursor})
		}
	}
	return edges, info, nil
}

// CheckSpan refuses what Walk would refuse.
func (r *Repo) CheckSpan(l Listing, s Span) error {
	_, err := r.extent(l, s)
	return err
}

func (r *Repo) extent(l Listing, s Span) (e extent, err error) {
	e.walked = true
	if e.most, e.last, err = r.size(s); err != nil {
		return e, err
	}
	if e.after, err = l.place("after", s.After); err != nil {
		return e, err
	}
	e.before, err = l.place("before", s.Before)
	return e, err
}
