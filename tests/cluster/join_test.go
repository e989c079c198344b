package cluster_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// Calls of many callers share round trips to each server. A command that fails keeps its error, and those beside it run once.
func TestCallsThatShareRoundTripsRunOnce(t *testing.T) {
	c := redistest.StartCluster(t)
	failover.LimitWaiting(c.Client)
	repo := require.Value(redisrepo.New(t.Context(), c.Client, site.DefaultRules(), redisrepo.WithPartitions(4)))(t)
	require.NoError(t, wire.Join(t.Context(), c.Client, wire.JoinWait))
	for _, tag := range tags {
		require.NoError(t, c.Client.Set(t.Context(), tag+"text", "text", 0).Err())
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			for n := range int64(25) {
				counts, wrong, none := make([]*redis.IntCmd, len(tags)), make([]*redis.IntCmd, len(tags)), make([]*redis.StringCmd, len(tags))
				_ = repo.Store.Write(t.Context(), func(pipe redis.Pipeliner) { // the commands have the errors
					for j, tag := range tags {
						counts[j] = pipe.Incr(t.Context(), fmt.Sprint(tag, "n", i))
						wrong[j] = pipe.LPush(t.Context(), tag+"text", "x")
						none[j] = pipe.Get(t.Context(), tag+"none")
					}
				})
				for j := range tags {
					if counts[j].Val() != n+1 || !redis.HasErrorPrefix(wrong[j].Err(), "WRONGTYPE") || !errors.Is(none[j].Err(), redis.Nil) {
						t.Errorf("increased to %d, want %d; %v, %v", counts[j].Val(), n+1, wrong[j].Err(), none[j].Err())
					}
				}
			}
		})
	}
	all.Wait()
}
