package redisrepo

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

// place is where an article is, or was, in a listing.
type place struct {
	score  float64
	member string
}

// args are the place as arguments of listing.lua, empty for none.
func (p *place) args() (score, member string) {
	if p == nil {
		return "", ""
	}
	return strconv.FormatFloat(p.score, 'f', -1, 64), p.member
}

// name tells listings apart, so that a cursor is used for its own only.
func (l Listing) name() string {
	name := l.order.prefix() + strconv.Itoa(int(l.direction))
	switch {
	case l.group != "":
		return name + " " + groupPrefix + string(l.group)
	case l.poster != "":
		return name + " " + l.poster.member()
	default:
		return name
	}
}

// Cursors are texts that only this package reads: a list's name, what follows
// it, and a checksum, since half of a cursor can look like a whole one.
const cursorSeparator = "\n"

func encodeCursor(list string, place ...string) string {
	text := strings.Join(append([]string{list}, place...), cursorSeparator)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32([]byte(text), crc32.ChecksumIEEE([]byte(text))))
}

// decodeCursor returns what follows the list's name. field is the argument that
// the cursor came in.
func decodeCursor(field, list, cursor string) ([]string, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < crc32.Size {
		return nil, refuse(Invalid, field, "%s is not a cursor: pass on one that a list gave, unchanged", field)
	}
	text, sum := data[:len(data)-crc32.Size], data[len(data)-crc32.Size:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(text) {
		return nil, refuse(Invalid, field, "%s is a damaged cursor: pass on one that a list gave, unchanged", field)
	}
	parts := strings.Split(string(text), cursorSeparator)
	if parts[0] != list {
		return nil, refuse(Invalid, field, "%s is a cursor of another list: use it with the order, direction and group that it came from", field)
	}
	return parts[1:], nil
}

func (l Listing) cursor(p place) string {
	score, member := p.args()
	return encodeCursor(l.name(), score, member)
}

// place reads a cursor of the listing; nil for none.
func (l Listing) place(field string, cursor *string) (*place, error) {
	if cursor == nil {
		return nil, nil
	}
	parts, err := decodeCursor(field, l.name(), *cursor)
	if err != nil {
		return nil, err
	}
	if len(parts) == 2 {
		score, err := strconv.ParseFloat(parts[0], 64)
		if err == nil && math.Abs(score) <= maxExact {
			return &place{score: score, member: parts[1]}, nil
		}
	}
	return nil, refuse(Invalid, field, "%s is not a cursor of an article", field)
}
