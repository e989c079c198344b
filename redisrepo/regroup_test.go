package redisrepo_test

import (
	"fmt"
	"slices"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
)

func TestRegroupAddsAndRemovesGroups(t *testing.T) {
	t.Parallel()
	names := func(from, to int) (names []string) {
		for i := from; i < to; i++ {
			names = append(names, fmt.Sprint("g", i))
		}
		return names
	}
	tests := map[string]struct {
		posted      []string
		user        site.UserName
		add, remove []string
		want        []site.GroupName
		refused     []string
	}{
		"into a group":                     {add: []string{"go"}, want: []site.GroupName{"go"}},
		"names are folded":                 {add: []string{"Go", "gO"}, want: []site.GroupName{"go"}},
		"names are sorted by their bytes":  {posted: []string{"b", "ä"}, add: []string{"a_b", "a-c", "ab", "a.b", "a"}, want: []site.GroupName{"a", "a-c", "a.b", "a_b", "ab", "b", "ä"}},
		"out of a group":                   {posted: []string{"go", "x"}, remove: []string{"GO"}, want: []site.GroupName{"x"}},
		"out of all":                       {posted: []string{"go"}, remove: []string{"go"}},
		"from one to another":              {posted: []string{"go"}, add: []string{"x"}, remove: []string{"go"}, want: []site.GroupName{"x"}},
		"into a group that it is in":       {posted: []string{"go"}, add: []string{"go"}, want: []site.GroupName{"go"}},
		"out of a group that it is not in": {posted: []string{"go"}, remove: []string{"x", "y"}, want: []site.GroupName{"go"}},
		"out of interesting's neighbour":   {posted: []string{"interesting2"}, remove: []string{"interesting2"}},

		"into 10 groups":                      {add: names(0, 10), want: groupNames(names(0, 10))},
		"into 11 groups":                      {add: names(0, 11), refused: []string{"TOO_LONG add"}},
		"into the 11th":                       {posted: names(0, 10), add: []string{"x"}, refused: []string{"TOO_LONG add"}},
		"into the 11th, out of another":       {posted: names(0, 10), add: []string{"g9", "x"}, remove: []string{"g0"}, want: groupNames(append(names(1, 10), "x"))},
		"into 100 names of one group":         {add: slices.Repeat([]string{"go"}, 100), want: []site.GroupName{"go"}},
		"into 101 names of one group":         {add: slices.Repeat([]string{"go"}, 101), refused: []string{"TOO_LONG add"}},
		"out of 100 groups":                   {posted: []string{"go"}, remove: names(0, 100), want: []site.GroupName{"go"}},
		"out of 101 groups":                   {posted: []string{"go"}, remove: names(0, 101), refused: []string{"TOO_LONG remove"}},
		"into interesting":                    {add: []string{"Interesting"}, refused: []string{"INVALID add.0"}},
		"out of interesting":                  {remove: []string{"go", "interesting"}, refused: []string{"INVALID remove.1"}},
		"into and out of the same":            {add: []string{"a", "Go"}, remove: []string{"b", "gO"}, refused: []string{"INVALID remove.1"}},
		"nowhere":                             {refused: []string{"INVALID add"}},
		"all bad names at once":               {add: []string{"", "ok", "a b"}, remove: []string{"/", "interesting"}, refused: []string{"INVALID add.0", "INVALID add.2", "INVALID remove.0", "INVALID remove.1"}},
		"another user's article":              {user: "bob", add: []string{"go"}, refused: []string{"FORBIDDEN article"}},
		"another user's, with a similar name": {user: "Alice", add: []string{"go"}, refused: []string{"FORBIDDEN article"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil)
			a := s.MustPost("alice", tt.posted...)
			before := s.Dump()
			user := a.Poster.Name
			if tt.user != "" {
				user = tt.user
			}
			b, err := s.Regroup(s.Ctx, a.ID, site.Actor{Name: user}, tt.add, tt.remove)
			if tt.refused != nil {
				repotest.WantRefused(t, err, tt.refused...)
				s.WantStore(before)
				return
			}
			if err != nil || !slices.Equal(b.Groups, tt.want) {
				t.Fatalf("Regroup = %+v, %v, want groups %v", b, err, tt.want)
			}
			repotest.WantEqual(t, b, s.Article(a.ID))
			var counts []string
			for _, name := range tt.want {
				counts = append(counts, fmt.Sprint(name, " 1"))
				s.WantList(repotest.Best(name), a.ID)
			}
			s.WantCounts(counts...)
			s.WantClean()
		})
	}
}

func groupNames(names []string) []site.GroupName {
	groups := make([]site.GroupName, len(names))
	for i, name := range names {
		groups[i] = site.GroupName(name)
	}
	return groups
}
