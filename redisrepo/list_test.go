package redisrepo_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

func TestListReturnsNumberedPages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		page    int
		size    *int
		want    []site.ArticleID
		refused string
	}{
		"the first page has the site's size":  {page: 1, want: []site.ArticleID{7, 6, 5}},
		"the second goes on":                  {page: 2, want: []site.ArticleID{4, 3, 2}},
		"the last page is shorter":            {page: 3, want: []site.ArticleID{1}},
		"past the end is empty":               {page: 4},
		"far past the end is empty":           {page: math.MaxInt32},
		"as far as one can go is nothing":     {page: math.MaxInt},
		"a size of one":                       {page: 2, size: new(1), want: []site.ArticleID{6}},
		"a size of all":                       {page: 1, size: new(7), want: []site.ArticleID{7, 6, 5, 4, 3, 2, 1}},
		"the largest size":                    {page: 1, size: new(100), want: []site.ArticleID{7, 6, 5, 4, 3, 2, 1}},
		"as far as one can go by the largest": {page: math.MaxInt, size: new(100)},
		"the page before the first":           {page: 0, refused: "INVALID page"},
		"a negative page":                     {page: -1, refused: "INVALID page"},
		"a size of nothing":                   {page: 1, size: new(0), refused: "INVALID pageSize"},
		"a negative size":                     {page: 1, size: new(-1), refused: "INVALID pageSize"},
		"a size over the largest":             {page: 1, size: new(101), refused: "INVALID pageSize"},
	}
	for _, tags := range layouts {
		s := newSite(t, func(r *site.Rules) { r.PageSize = 3 }, redisrepo.WithPartitions(len(tags)))
		var number [8]site.ArticleID // in the order of posting
		for i := 1; i <= 7; i++ {
			number[i] = s.post("alice", "go").ID
			s.clock.advance(time.Second)
		}
		for name, tt := range tests {
			t.Run(fmt.Sprint(name, tags), func(t *testing.T) {
				t.Parallel()
				for _, l := range []lists.Listing{
					lists.AllArticles(site.ByScore, site.Descending), best("go"), lists.PostedBy("alice"),
				} {
					got, err := s.List(s.ctx, l, tt.page, tt.size)
					if tt.refused != "" {
						wantRefused(t, err, tt.refused)
						continue
					}
					want := make([]site.ArticleID, len(tt.want))
					for i, n := range tt.want {
						want[i] = number[n]
					}
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("List %+v = %v, %v, want %v", l, got, err, want)
					}
				}
			})
		}
	}
}

// Articles with equal scores are sorted by the bytes of their ids, whatever their partition.
func TestTiesAreSortedByIDBytes(t *testing.T) {
	t.Parallel()
	for _, tags := range layouts {
		t.Run(fmt.Sprint(tags), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
			var want []site.ArticleID
			for range 22 {
				want = append(want, s.post("alice", "go").ID)
			}
			slices.SortFunc(want, func(a, b site.ArticleID) int {
				if a.String() < b.String() {
					return -1
				}
				return 1
			})
			s.wantList(lists.AllArticles(site.ByTime, site.Ascending), want...)
			s.wantList(lists.InGroup("go", site.ByScore, site.Ascending), want...)
			slices.Reverse(want)
			s.wantList(best("go"), want...)
			s.wantList(lists.PostedBy("alice"), want...)
		})
	}
}
