package site

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
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

// ParseCursor returns nil for no cursor. An empty one is none, too: some clients begin with an empty string.
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

// Order is the key that a listing is sorted by. The zero value is invalid.
type Order int

// The orders. Articles with equal keys are sorted by the bytes of their members, as in Redis.
const (
	ByScore Order = iota + 1
	ByTime
	BySize // of groups, in the index of their sizes
)

// Prefix begins the keys of the listings in this order.
func (o Order) Prefix() string {
	switch o {
	case ByTime:
		return "time:"
	case BySize:
		return "sizes:"
	default:
		return "score:"
	}
}

// Direction is the direction of an order. The zero value is invalid.
type Direction int

// The directions.
const (
	Descending Direction = iota + 1
	Ascending
)

// CursorSeparator separates the parts of a cursor: text that only this package reads, the name of its list, the parts that
// follow it, and a checksum, since half a cursor can look like a whole one.
const CursorSeparator = "\n"

// EncodeCursor returns the text of a cursor of a list.
func EncodeCursor(list string, parts ...string) string {
	text := append(make([]byte, 0, 128), list...)
	for _, part := range parts {
		text = append(append(text, CursorSeparator...), part...)
	}
	return Seal(text)
}

// Seal encodes the text of a cursor with its checksum.
func Seal(text []byte) string {
	text = binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text))
	return string(base64.RawURLEncoding.AppendEncode(make([]byte, 0, 192), text))
}

// DecodeCursor returns the parts after the name of the list. field is the name of its argument, for errors.
func DecodeCursor(field, list, cursor string) ([]string, error) {
	text, err := Unseal(field, cursor)
	if err != nil {
		return nil, err
	}
	return CursorParts(field, list, text)
}

// CursorParts is DecodeCursor for the text that Unseal returned.
func CursorParts(field, list string, text []byte) ([]string, error) {
	parts := strings.Split(string(text), CursorSeparator)
	if parts[0] != list {
		return nil, Refuse(Invalid, field, "%s is a cursor of another list: use it with the order, direction and group that it came from", field)
	}
	return parts[1:], nil
}

// Unseal returns the text of a cursor. field is the name of its argument, for errors.
func Unseal(field, cursor string) ([]byte, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < crc32.Size {
		return nil, NotACursor(field)
	}
	text, sum := data[:len(data)-crc32.Size], data[len(data)-crc32.Size:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(text) {
		return nil, DamagedCursor(field)
	}
	return text, nil
}

// NotACursor returns the refusal of a text that is not a cursor.
func NotACursor(field string) error {
	return Refuse(Invalid, field, "%s is not a cursor: pass a cursor from a page, unchanged", field)
}

// DamagedCursor returns the refusal of a cursor that was changed or cut.
func DamagedCursor(field string) error {
	return Refuse(Invalid, field, "%s is a damaged cursor: pass a cursor from a page, unchanged", field)
}

// Cursor is a point in a listing: where an article is, or was when it was read.
type Cursor struct {
	Score  float64
	Member string
}

// Args are the arguments of listing.lua for the cursor, empty for none.
func (c *Cursor) Args() (score, member string) {
	if c == nil {
		return "", ""
	}
	return strconv.FormatFloat(c.Score, 'f', -1, 64), c.Member
}

// Compare orders points by score, and then by the bytes of the members, as Redis does.
func (c Cursor) Compare(d Cursor) int {
	return cmp.Or(cmp.Compare(c.Score, d.Score), strings.Compare(c.Member, d.Member))
}

// Encode returns the text of the cursor.
func (c Cursor) Encode(list string) string {
	score, member := c.Args()
	return EncodeCursor(list, score, member)
}

// DecodePlace parses what Encode returned. of names what the list has, for errors.
func DecodePlace(field, list, text, of string) (Cursor, error) {
	parts, err := DecodeCursor(field, list, text)
	if err != nil {
		return Cursor{}, err
	}
	if len(parts) == 2 {
		if score, err := strconv.ParseFloat(parts[0], 64); err == nil && math.Abs(score) <= MaxExact {
			return Cursor{Score: score, Member: parts[1]}, nil
		}
	}
	return Cursor{}, Refuse(Invalid, field, "%s is not a cursor of %s", field, of)
}
