package denials

import (
	"cmp"
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

// DeniedUsers returns a page of the denials of users, the latest first. It includes those that are over if
// ended is true.
func (d *Denials) DeniedUsers(first *int, after *string, ended bool) ([]*Edge, site.PageInfo, error) {
	return d.page("denied users", first, after, ended, func(denial *Denial) bool { return denial.User != "" })
}

// DeniedHosts is DeniedUsers for hosts.
func (d *Denials) DeniedHosts(first *int, after *string, ended bool) ([]*Edge, site.PageInfo, error) {
	return d.page("denied hosts", first, after, ended, func(denial *Denial) bool { return denial.User == "" })
}

func (d *Denials) page(list string, first *int, after *string, ended bool, is func(*Denial) bool) (edges []*Edge, info site.PageInfo, err error) {
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, d.store.Rules.PageSize, parseCursor(list))
	if err != nil {
		return nil, info, err
	}
	now, all := d.store.Now(), []*Denial{}
	for _, denial := range d.all.Load().of {
		if is(denial) && !denial.Erasing && (ended || !denial.isOver(now)) {
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
		edges = append(edges, &Edge{cursorOf(list, denial), denial})
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

func cursorOf(list string, d *Denial) string {
	return site.EncodeCursor(list, fmt.Sprint(d.At.Unix()), d.member())
}

// parseCursor returns a function that returns a denial at the place of a cursor of a list.
func parseCursor(list string) func(field, cursor string) (Denial, error) {
	return func(field, cursor string) (Denial, error) {
		parts, err := site.DecodeCursor(field, list, cursor)
		if err != nil {
			return Denial{}, err
		}
		if len(parts) != 2 {
			return Denial{}, site.NotACursor(field)
		}
		seconds, err := site.ParseNumber(parts[0])
		if err != nil {
			return Denial{}, site.NotACursor(field)
		}
		d := about(parts[1])
		d.At = site.UnixTime(seconds)
		return *d, nil
	}
}
