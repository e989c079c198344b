package cluster_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
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
	w := must.Get(s.repo.WatchArticles(t.Context(), []site.ArticleID{site.ArticleID(number)}))(t)
	defer w.Close()
	tell := func(voter site.UserName) {
		t.Helper()
		result := must.Get(other.repo.Vote(t.Context(), site.ArticleID(number), voter, site.Up, ""))(t)
		late := time.After(must.Patience)
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
	for _, voter := range []site.UserName{"carol", "dave", "erin"} {
		tell(voter)
	}
}

// A client may not know yet that a replica has become the primary. The other one, now its replica, accepts subscriptions
// all the same, but may miss messages: Listen subscribes at the primary as soon as it is known.
func liveUpdatesComeFromThePrimary(t *testing.T, c *redistest.Cluster) {
	primary, replica := c.Primary(victim), c.Replica(victim)
	var outdated atomic.Bool
	options := *c.Client.Options()
	options.ClusterSlots = func(ctx context.Context) ([]redis.ClusterSlot, error) {
		slots, err := primary.Client.ClusterSlots(ctx).Result() //nolint:staticcheck // what clients go by
		for _, shard := range slots {
			if len(shard.Nodes) > 1 && shard.Nodes[0].Addr == primary.Addr && outdated.Load() {
				shard.Nodes[0], shard.Nodes[1] = shard.Nodes[1], shard.Nodes[0]
			}
		}
		return slots, err
	}
	client := redis.NewClusterClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	failover.LimitWaiting(client)
	repo := must.Get(redisrepo.New(t.Context(), client, site.DefaultRules(), redisrepo.WithPartitions(len(tags))))(t)
	outdated.Store(true)
	client.ReloadState(t.Context())
	must.Soon(t, "outdated view", func() bool {
		seen, err := client.MasterForKey(t.Context(), victim)
		return err == nil && strings.HasSuffix(replica.Addr, seen.Options().Addr) // go-redis may leave out the host
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		repo.Listen(ctx, func(error) {})
	}()
	defer func() { stop(); <-ended }()
	must.Soon(t, "subscription at the replica", func() bool {
		return strings.Contains(replica.Client.Info(t.Context(), "commandstats").Val(), "cmdstat_ssubscribe:")
	})
	outdated.Store(false)
	subscribed := func(n *redistest.Server) bool {
		channels, err := n.Client.PubSubShardChannels(t.Context(), victim+"*").Result()
		return err == nil && len(channels) > 0
	}
	must.Soon(t, "subscription at the primary alone", func() bool { return subscribed(primary) && !subscribed(replica) })
}
