package graph_test

import (
	"fmt"
	"testing"

	"frontpage/graph"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
)

// From the resolver to Redis and back: the listing, the loader and the articles. With the race detector, which adds
// one for each article, they are 377.
func TestLoadingAPageAllocatesLittle(t *testing.T) { // not parallel: the allocations of all goroutines are counted
	repo, err := redisrepo.New(t.Context(), redistest.Start(t).Client, site.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		n := fmt.Sprint(10 + i)
		d := site.Draft{Title: "A title of the usual length, number " + n, Link: new("https://example.com/2026/" + n), Groups: []string{"golang", "redis"}}
		if _, err := repo.Post(t.Context(), "alice", d); err != nil {
			t.Fatal(err)
		}
	}
	l := lists.AllArticles(site.ByScore, site.Descending)
	got := testing.AllocsPerRun(200, func() {
		if page, _, err := graph.Load(t.Context(), repo, l); err != nil || len(page) != 25 {
			t.Fatalf("Load = %d articles, %v, want 25", len(page), err)
		}
	})
	const most = 406
	if got > most {
		t.Errorf("%.0f allocations, want at most %d", got, most)
	}
}
