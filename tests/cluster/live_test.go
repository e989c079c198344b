package cluster_test

import (
	"context"
	"testing"
	"time"

	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// The log of a slot that moves is read at its new primary: nothing is lost, and nothing is silent for ever.
func liveUpdatesSurviveAMove(t *testing.T, c *redistest.Cluster) {
	s := mustOpen(t, store.Options{URL: c.URL()})
	other := mustOpen(t, store.Options{URL: c.URL()}) // knows nothing of the other's watches
	number := s.postEverywhere("live")[0]
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.repo.Live.Listen(ctx, func(error) {})
	}()
	defer func() { stop(); <-ended }()
	w := require.Value(s.repo.Live.WatchArticles(t.Context(), []site.ArticleID{site.ArticleID(number)}))(t)
	defer w.Close()
	tell := func(voter site.UserName) {
		t.Helper()
		result := require.Value(other.repo.Vote(t.Context(), site.ArticleID(number), voter, site.Up, ""))(t)
		late := time.After(require.Timeout)
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
	for _, voter := range []site.UserName{"carol", "dave", "erin"} {
		tell(voter)
	}
}
