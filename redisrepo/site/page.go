package site

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

// Request is a valid PageRequest with decoded cursors.
type Request[C any] struct {
	Size          int  // maximum number of items on the page
	Last          bool // the last items instead of the first
	After, Before *C   // nil: the start and the end of the list
}

// ParseRequest checks p. parse decodes the cursor that was given in a field.
func ParseRequest[C any](p PageRequest, defaultSize int, parse func(field, cursor string) (C, error)) (q Request[C], err error) {
	if q.Size, q.Last, err = p.size(defaultSize); err != nil {
		return q, err
	}
	if q.After, err = ParseCursor("after", p.After, parse); err != nil {
		return q, err
	}
	q.Before, err = ParseCursor("before", p.Before, parse)
	return q, err
}

func (p PageRequest) size(defaultSize int) (size int, last bool, err error) {
	field, given := "first", p.First
	switch {
	case p.First != nil && p.Last != nil:
		return 0, false, Refuse(Invalid, "last", "first and last cannot be combined: give one of them")
	case p.Last != nil:
		field, given, last = "last", p.Last, true
	case p.First == nil:
		return defaultSize, false, nil
	}
	if *given < 1 || *given > MaxPageSize {
		return 0, false, Refuse(Invalid, field, "%s is between 1 and %d, not %d", field, MaxPageSize, *given)
	}
	return *given, last, nil
}

// ParseCursor returns nil for no cursor. An empty one is that of clients that begin with an empty string.
func ParseCursor[C any](field string, cursor *string, parse func(field, cursor string) (C, error)) (*C, error) {
	if cursor == nil || *cursor == "" {
		return nil, nil
	}
	parsed, err := parse(field, *cursor)
	if err != nil {
		return nil, err
	}
	return &parsed, nil
}

// Page is what was read for a request.
type Page[T any] struct {
	Items                []T
	HasPrevious, HasNext bool // whether the list has items before and after these
}

// NewPage cuts sorted items to the size of a page. previous and next report whether the list has
// items before and after the given ones.
func NewPage[T any](items []T, size int, last, previous, next bool) Page[T] {
	extra := len(items) - size
	switch {
	case extra <= 0:
	case last:
		items, previous = items[extra:], true
	default:
		items, next = items[:size], true
	}
	return Page[T]{Items: items, HasPrevious: previous, HasNext: next}
}

// Info describes the page. cursor encodes the cursor of an item.
func (p Page[T]) Info(cursor func(T) string) PageInfo {
	info := PageInfo{HasPreviousPage: p.HasPrevious, HasNextPage: p.HasNext}
	if n := len(p.Items); n > 0 {
		start, end := cursor(p.Items[0]), cursor(p.Items[n-1])
		info.StartCursor, info.EndCursor = &start, &end
	}
	return info
}
