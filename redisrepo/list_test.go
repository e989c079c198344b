package redisrepo_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"frontpage/redisrepo"
)

func TestListReturnsNumberedPages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		page    int
		size    *int
		want    []redisrepo.ArticleID
		refused string
	}{
		"the first page has the site's size":  {page: 1, want: []redisrepo.ArticleID{7, 6, 5}},
		"the second goes on":                  {page: 2, want: []redisrepo.ArticleID{4, 3, 2}},
		"the last page is shorter":            {page: 3, want: []redisrepo.ArticleID{1}},
		"past the end is empty":               {page: 4},
		"far past the end is empty":           {page: math.MaxInt32},
		"as far as one can go is nothing":     {page: math.MaxInt},
		"a size of one":                       {page: 2, size: new(1), want: []redisrepo.ArticleID{6}},
		"a size of all":                       {page: 1, size: new(7), want: []redisrepo.ArticleID{7, 6, 5, 4, 3, 2, 1}},
		"the largest size":                    {page: 1, size: new(100), want: []redisrepo.ArticleID{7, 6, 5, 4, 3, 2, 1}},
		"as far as one can go by the largest": {page: math.MaxInt, size: new(100)},
		"the page before the first":           {page: 0, refused: "INVALID page"},
		"a negative page":                     {page: -1, refused: "INVALID page"},
		"a size of nothing":                   {page: 1, size: new(0), refused: "INVALID pageSize"},
		"a negative size":                     {page: 1, size: new(-1), refused: "INVALID pageSize"},
		"a size over the largest":             {page: 1, size: new(101), refused: "INVALID pageSize"},
	}
	for _, tags := range layouts {
		s := newSite(t, func(r *redisrepo.Rules) { r.PageSize = 3 }, redisrepo.WithPartitions(len(tags)))
		var number [8]redisrepo.ArticleID // in the order of posting
		for i := 1; i <= 7; i++ {
			number[i] = s.post("alice", "go").ID
			s.clock.advance(time.Second)
		}
		for name, tt := range tests {
			t.Run(fmt.Sprint(name, tags), func(t *testing.T) {
				t.Parallel()
				for _, l := range []redisrepo.Listing{
					redisrepo.AllArticles(redisrepo.ByScore, redisrepo.Descending), best("go"), redisrepo.PostedBy("alice"),
				} {
					got, err := s.List(s.ctx, l, tt.page, tt.size)
					if tt.refused != "" {
						wantRefused(t, err, tt.refused)
						continue
					}
					want := make([]redisrepo.ArticleID, len(tt.want))
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
			var want []redisrepo.ArticleID
			for range 22 {
				want = append(want, s.post("alice", "go").ID)
			}
			slices.SortFunc(want, func(a, b redisrepo.ArticleID) int {
				if a.String() < b.String() {
					return -1
				}
				return 1
			})
			s.wantList(redisrepo.AllArticles(redisrepo.ByTime, redisrepo.Ascending), want...)
			s.wantList(redisrepo.InGroup("go", redisrepo.ByScore, redisrepo.Ascending), want...)
			slices.Reverse(want)
			s.wantList(best("go"), want...)
			s.wantList(redisrepo.PostedBy("alice"), want...)
		})
	}
}
