package repotest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// Sized are groups by name with their numbers of articles.
type Sized map[string]int

// List returns the groups of a list, as name and size.
func (groups Sized) List(order site.GroupOrder, prefix string) (want []string) {
	var names []string
	for name := range groups {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if order == site.ByArticleCount {
			return cmp.Or(groups[b]-groups[a], cmp.Compare(a, b))
		}
		return cmp.Compare(a, b)
	})
	for _, name := range names {
		want = append(want, fmt.Sprint(name, groups[name]))
	}
	return want
}

// with returns the groups whose names have a part.
func (groups Sized) with(part string) Sized {
	found := maps.Clone(groups)
	maps.DeleteFunc(found, func(name string, _ int) bool { return !strings.Contains(name, part) })
	return found
}

// WantGroups walks through the lists of groups with a prefix and with a part in pages, and compares them.
func (s *Site) WantGroups(order site.GroupOrder, text string, size int, groups Sized) {
	s.T.Helper()
	canonical := strings.ToLower(text)
	s.wantGroupList(lists.GroupList{Order: order, Prefix: text}, size, groups, groups.List(order, canonical))
	s.wantGroupList(lists.GroupList{Order: order, Part: text}, size, groups, groups.with(canonical).List(order, ""))
}

func (s *Site) wantGroupList(list lists.GroupList, size int, groups Sized, want []string) {
	s.T.Helper()
	for _, backward := range []bool{false, true} {
		var got []string
		for _, edge := range WalkAll(s.T, size, backward, len(want), func(span site.PageRequest) ([]lists.GroupEdge, site.PageInfo, error) {
			return s.Lists.Groups(s.Ctx, list, span)
		}) {
			if list.Order == site.ByName {
				edge.ArticleCount = groups[string(edge.Name)]
			}
			got = append(got, fmt.Sprint(edge.Name, edge.ArticleCount))
		}
		if !slices.Equal(got, want) {
			s.T.Errorf("pages of %d of %+v, backward %t:\n got %v\nwant %v", size, list, backward, got, want)
		}
	}
	if n, err := s.Lists.GroupCount(s.Ctx, list); err != nil || n != len(want) {
		s.T.Errorf("GroupCount of %+v = %d, %v, want %d", list, n, err, len(want))
	}
}

// WalkAll reads a whole list in pages of a size, from the start or from the end, and checks the PageInfo of
// each. total is the number of items, unless it changes meanwhile.
func WalkAll[E any](t *testing.T, size int, backward bool, total int, read func(site.PageRequest) ([]E, site.PageInfo, error)) []E {
	t.Helper()
	var all []E
	span := site.PageRequest{First: &size}
	if backward {
		span = site.PageRequest{Last: &size}
	}
	for {
		part, info, err := read(span)
		require.NoError(t, err)
		done := len(all)
		more, less := info.HasNextPage, info.HasPreviousPage
		if backward {
			all, more, less = append(part, all...), less, more
			span.Before = info.StartCursor
		} else {
			all, span.After = append(all, part...), info.EndCursor
		}
		if total >= 0 && (more != (len(all) < total) || less != (done > 0)) {
			t.Errorf("pages of %d, backward %t: at item %d of %d there are more: %t, and earlier ones: %t; want the opposite of one", size, backward, len(all), total, more, less)
		}
		if !more {
			return all
		}
		if len(part) != size {
			t.Fatalf("pages of %d, backward %t: a page of %d items is not the last, want a full one", size, backward, len(part))
		}
	}
}
