package denials

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"frontpage/redisrepo/site"
)

// Edge is a denial and its position in a list.
type Edge struct {
	Cursor string
	Node   *Denial
}

// DeniedUsers returns a page of the denials of users, the latest first. Those that have ended are in it if asked for.
func (d *Denials) DeniedUsers(first *int, after *string, ended bool) ([]*Edge, site.PageInfo, error) {
	return d.page(first, after, ended, func(denial *Denial) bool { return denial.User != "" })
}

// DeniedHosts is DeniedUsers for hosts.
func (d *Denials) DeniedHosts(first *int, after *string, ended bool) ([]*Edge, site.PageInfo, error) {
	return d.page(first, after, ended, func(denial *Denial) bool { return denial.User == "" })
}

func (d *Denials) page(first *int, after *string, ended bool, is func(*Denial) bool) (edges []*Edge, info site.PageInfo, err error) {
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, d.store.Rules.PageSize, parseCursor)
	if err != nil {
		return nil, info, err
	}
	now, all := d.store.Now(), []*Denial{}
	for _, denial := range d.all.Load().of {
		if is(denial) && (ended || !denial.isOver(now)) {
			all = append(all, denial)
		}
	}
	slices.SortFunc(all, compare)
	from := 0
	if q.After != nil {
		var found bool
		if from, found = slices.BinarySearchFunc(all, q.After, compare); found {
			from++
		}
	}
	page := all[from:min(from+q.Size, len(all))]
	for _, denial := range page {
		edges = append(edges, &Edge{cursorOf(denial), denial})
	}
	info.HasPreviousPage, info.HasNextPage = from > 0, from+len(page) < len(all)
	if len(edges) > 0 {
		info.StartCursor, info.EndCursor = &edges[0].Cursor, &edges[len(edges)-1].Cursor
	}
	return edges, info, nil
}

// compare puts the latest first.
func compare(a, b *Denial) int {
	return cmp.Or(b.At.Compare(a.At), strings.Compare(a.member(), b.member()))
}

func cursorOf(d *Denial) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", d.At.Unix(), d.member()))
}

// parseCursor returns a denial at the place of the cursor.
func parseCursor(field, cursor string) (Denial, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	at, member, found := strings.Cut(string(text), " ")
	seconds, badTime := site.ParseNumber(at)
	if err != nil || badTime != nil || !found {
		return Denial{}, site.Refuse(site.Invalid, field, "%s must be a cursor of this list", field)
	}
	d := Denial{User: site.UserOf(member), At: site.UnixTime(seconds)}
	if host, isHost := strings.CutPrefix(member, site.HostPrefix); isHost {
		d.User, d.Host = "", site.HostName(host)
	}
	return d, nil
}
