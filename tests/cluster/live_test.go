package cluster_test

import (
	"context"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redistest"
)

// Redis ends the subscriptions of a slot that moves, and the connection lives on. Listen subscribes again at the new
// primary: nothing is lost, and nothing is silent for ever.
func TestLiveUpdatesSurviveAMove(t *testing.T) {
	c := redistest.StartCluster(t)
	redisrepo.LimitWaiting(c.Client)
	open := func(options ...redisrepo.Option) *redisrepo.Repo {
		s, err := redisrepo.New(t.Context(), c.Client, redisrepo.DefaultRules(), append(options, redisrepo.WithPartitions(1))...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	other := open(redisrepo.WithAcks(1)) // knows nothing of the other's watches
	a, err := s.Post(t.Context(), "alice", redisrepo.Draft{Title: "title", Text: new("text")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Listen(ctx, func(error) {})
	}()
	defer func() { stop(); <-ended }()
	w, err := s.WatchArticles(t.Context(), []redisrepo.ArticleID{a.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tell := func(voter redisrepo.UserName) {
		t.Helper()
		result, err := other.Vote(t.Context(), a.ID, voter, redisrepo.Up, "")
		if err != nil {
			t.Fatal(err)
		}
		late := time.After(30 * time.Second)
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
	const tag = "{p1}" // of the only partition
	c.Move(tag, c.Other(tag))
	// A subscription that has ended unnoticed may still have had the article read: the first of these votes is found.
	for _, voter := range []redisrepo.UserName{"carol", "dave", "erin"} {
		tell(voter)
	}
}
