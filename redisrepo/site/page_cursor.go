package site

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"strings"
)

// CursorSeparator separates the parts of a cursor: text that only this package reads, the name of its list, the parts that
// follow it, and a checksum, since half a cursor can look like a whole one.
const CursorSeparator = "\n"

// EncodeCursor is the text of a cursor of a list.
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

// DecodeCursor returns the parts after the name of the list. field is the argument that held the cursor.
func DecodeCursor(field, list, cursor string) ([]string, error) {
	text, err := Unseal(field, cursor)
	if err != nil {
		return nil, err
	}
	return CursorParts(field, list, text)
}

// CursorParts returns what DecodeCursor does, of a cursor's text.
func CursorParts(field, list string, text []byte) ([]string, error) {
	parts := strings.Split(string(text), CursorSeparator)
	if parts[0] != list {
		return nil, Refuse(Invalid, field, "%s is a cursor of another list: use it with the order, direction and group that it came from", field)
	}
	return parts[1:], nil
}

// Unseal returns the text of a cursor. field is the argument that held it.
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

// NotACursor is the refusal of a text that is not a cursor.
func NotACursor(field string) error {
	return Refuse(Invalid, field, "%s is not a cursor: pass a cursor from a page, unchanged", field)
}

// DamagedCursor is the refusal of a cursor that was changed or cut.
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

// Encode is the text of the cursor.
func (c Cursor) Encode(list string) string {
	score, member := c.Args()
	return EncodeCursor(list, score, member)
}
