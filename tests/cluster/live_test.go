package cluster_test

import (
	"context"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redistest"
	"frontpage/store"
)

// Redis ends the subscriptions of a slot that moves, and the connection lives on. Listen subscribes again at the new
// primary: nothing is lost, and nothing is silent for ever.
func liveUpdatesSurviveAMove(t *testing.T, c *redistest.Cluster) {
	s := mustOpen(t, store.Options{URL: c.URL()})
	other := mustOpen(t, store.Options{URL: c.URL()}) // knows nothing of the other's watches
	number := s.postEverywhere("live")[0]
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.repo.Listen(ctx, func(error) {})
	}()
	defer func() { stop(); <-ended }()
	w, err := s.repo.WatchArticles(t.Context(), []redisrepo.ArticleID{redisrepo.ArticleID(number)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tell := func(voter redisrepo.UserName) {
		t.Helper()
		result, err := other.repo.Vote(t.Context(), redisrepo.ArticleID(number), voter, redisrepo.Up, "")
		if err != nil {
			t.Fatal(err)
		}
		late := time.After(patience)
		for {
			select {
			case <-w.Wake():
				if d, ok := w.Take(); ok && d.Newest().Votes >= result.Article.Votes {
					d.Done(true)
					return
				}
			case <-late:
				t.Fatalf("the vote of %s is not delivered", voter)
			}
		}
	}
	tell("bob")
	c.Move(victim, c.Other(victim))
	// A subscription that has ended unnoticed may still have had the article read: the first of these votes is found.
	for _, voter := range []redisrepo.UserName{"carol", "dave", "erin"} {
		tell(voter)
	}
}
