package redisrepo

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

// A cursor is text that only this package reads: the name of its list, the parts that follow it, and
// a checksum, since half a cursor can look like a whole one.
const cursorSeparator = "\n"

func encodeCursor(list string, parts ...string) string {
	text := append(make([]byte, 0, 128), list...)
	for _, part := range parts {
		text = append(append(text, cursorSeparator...), part...)
	}
	return seal(text)
}

// seal encodes the text of a cursor with its checksum.
func seal(text []byte) string {
	text = binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text))
	return string(base64.RawURLEncoding.AppendEncode(make([]byte, 0, 192), text))
}

// decodeCursor returns the parts after the name of the list. field is the argument that held the cursor.
func decodeCursor(field, list, cursor string) ([]string, error) {
	text, err := unseal(field, cursor)
	if err != nil {
		return nil, err
	}
	return cursorParts(field, list, text)
}

// cursorParts returns what decodeCursor does, of a cursor's text.
func cursorParts(field, list string, text []byte) ([]string, error) {
	parts := strings.Split(string(text), cursorSeparator)
	if parts[0] != list {
		return nil, refuse(Invalid, field, "%s is a cursor of another list: use it with the order, direction and group that it came from", field)
	}
	return parts[1:], nil
}

// unseal returns the text of a cursor. field is the argument that held it.
func unseal(field, cursor string) ([]byte, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < crc32.Size {
		return nil, notACursor(field)
	}
	text, sum := data[:len(data)-crc32.Size], data[len(data)-crc32.Size:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(text) {
		return nil, damagedCursor(field)
	}
	return text, nil
}

func notACursor(field string) error {
	return refuse(Invalid, field, "%s is not a cursor: pass a cursor from a page, unchanged", field)
}

func damagedCursor(field string) error {
	return refuse(Invalid, field, "%s is a damaged cursor: pass a cursor from a page, unchanged", field)
}

// cursor is a point in a listing: where an article is, or was when it was read.
type cursor struct {
	score  float64
	member string
}

// args are the arguments of listing.lua for the cursor, empty for none.
func (c *cursor) args() (score, member string) {
	if c == nil {
		return "", ""
	}
	return strconv.FormatFloat(c.score, 'f', -1, 64), c.member
}

// cursorList is the listing's name in its cursors, so that a cursor is refused by any other listing.
func (l Listing) cursorList() string {
	name := l.order.prefix() + strconv.Itoa(int(l.direction))
	switch {
	case l.group != "":
		return name + " " + groupPrefix + string(l.group)
	case l.poster != "":
		return name + " " + l.poster.member()
	case l.host != "":
		return name + " " + hostPrefix + string(l.host)
	default:
		return name
	}
}

func (l Listing) encodeCursor(c cursor) string { return c.encode(l.cursorList()) }

func (c cursor) encode(list string) string {
	score, member := c.args()
	return encodeCursor(list, score, member)
}

func (l Listing) decodeCursor(field, text string) (cursor, error) {
	parts, err := decodeCursor(field, l.cursorList(), text)
	if err != nil {
		return cursor{}, err
	}
	if len(parts) == 2 {
		score, err := strconv.ParseFloat(parts[0], 64)
		if err == nil && math.Abs(score) <= maxExact {
			return cursor{score: score, member: parts[1]}, nil
		}
	}
	return cursor{}, refuse(Invalid, field, "%s is not a cursor of an article", field)
}
