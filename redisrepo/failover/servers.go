package failover

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// OnServers calls add once for each server that a cluster's client finds from now on. The returned function calls add
// for the servers that the client knew before.
func OnServers(cluster *redis.ClusterClient, add func(*redis.Client)) (known func(context.Context) error) {
	var mu sync.Mutex
	has := map[*redis.Client]bool{}
	once := func(server *redis.Client) {
		mu.Lock()
		defer mu.Unlock()
		if !has[server] {
			has[server] = true
			add(server)
		}
	}
	cluster.OnNewNode(once)
	return func(ctx context.Context) error {
		return cluster.ForEachShard(ctx, func(_ context.Context, server *redis.Client) error {
			once(server)
			return nil
		})
	}
}
