package redisrepo_test

import (
	"fmt"
	"testing"

	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// The bounds are exact with the race detector, which adds one for each hash. Seven for each hash are those of go-redis,
// whose buffer for a raw reply grows.
func TestReadsAllocateLittle(t *testing.T) { // not parallel: the allocations of all goroutines are counted
	s := newSite(t, nil, one)
	for i := range 25 {
		title := fmt.Sprint("A title of the usual length, number ", 10+i)
		d := site.Draft{Title: title, Link: new("https://example.com/2026/" + fmt.Sprint(10+i)), Groups: []string{"golang", "redis"}}
		if _, err := s.Post(s.ctx, "alice", d); err != nil {
			t.Fatal(err)
		}
	}
	l := lists.AllArticles(site.ByScore, site.Descending)
	ids := s.list(l)
	tests := map[string]struct {
		most float64
		read func()
	}{
		"a listing":            {33, func() { _, _ = s.List(s.ctx, l, 1, nil) }},
		"a page by cursors":    {215, func() { _, _, _ = s.Walk(s.ctx, l, site.PageRequest{}) }},
		"25 articles":          {247, func() { _, _ = s.ArticlesByID(s.ctx, ids) }},
		"one article":          {29, func() { _, _ = s.ArticlesByID(s.ctx, ids[:1]) }},
		"a listing of a group": {138, func() { _, _ = s.List(s.ctx, best("redis"), 1, nil) }},
	}
	for name, tt := range tests {
		if got := testing.AllocsPerRun(200, tt.read); got > tt.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", name, got, tt.most)
		}
	}
}
