package lists

import (
	"math"
	"strconv"

	"frontpage/redisrepo/site"
)

// cursorList is the listing's name in its cursors, so that a cursor is refused by any other listing.
func (l Listing) cursorList() string {
	name := l.order.Prefix() + strconv.Itoa(int(l.direction))
	switch {
	case l.group != "":
		return name + " " + site.GroupPrefix + string(l.group)
	case l.poster != "":
		return name + " " + l.poster.Member()
	case l.host != "":
		return name + " " + site.HostPrefix + string(l.host)
	default:
		return name
	}
}

// EncodeCursor is the text of a cursor of the listing.
func (l Listing) EncodeCursor(c site.Cursor) string { return c.Encode(l.cursorList()) }

// DecodeCursor parses a cursor of the listing. field is the argument that held it.
func (l Listing) DecodeCursor(field, text string) (site.Cursor, error) {
	parts, err := site.DecodeCursor(field, l.cursorList(), text)
	if err != nil {
		return site.Cursor{}, err
	}
	if len(parts) == 2 {
		score, err := strconv.ParseFloat(parts[0], 64)
		if err == nil && math.Abs(score) <= site.MaxExact {
			return site.Cursor{Score: score, Member: parts[1]}, nil
		}
	}
	return site.Cursor{}, site.Refuse(site.Invalid, field, "%s is not a cursor of an article", field)
}
