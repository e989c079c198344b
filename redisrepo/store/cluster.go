package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is the number of slots of every Redis Cluster.
const slots = 16384

// noNodes is go-redis' error for a cluster without slots.
const noNodes = "redis: cluster has no nodes"

// minNodeTimeout is the shortest cluster-node-timeout with which a busy machine causes no failover.
const minNodeTimeout = 2 * time.Second

// missingShard returns the error of a Redis Cluster that does not serve all slots.
func missingShard(format string, args ...any) error {
	return failoverError{"all shards of the Redis Cluster", fmt.Errorf(format, args...)}
}

// pingCluster returns nil if every slot has a primary that serves.
func pingCluster(ctx context.Context, cluster *redis.ClusterClient) error {
	cluster.ReloadState(ctx)
	shards, err := cluster.ClusterSlots(ctx).Result() //nolint:staticcheck // what the client goes by
	if err != nil && strings.Contains(err.Error(), "cluster support disabled") {
		return fmt.Errorf("%w: this server is no node of a Redis Cluster: use redis://, or rediss:// with TLS", err)
	}
	if err != nil && err.Error() != noNodes {
		return err
	}
	missing := slots
	for _, shard := range shards {
		missing -= shard.End - shard.Start + 1
	}
	if missing > 0 {
		return missingShard("%d of its %d slots belong to no node", missing, slots)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error {
		state, err := primary.ClusterInfo(ctx).Result()
		switch {
		case errors.As(err, new(redis.Error)):
			return err
		case err != nil:
			return missingShard("the primary %s does not reply: %w", primary.Options().Addr, err)
		case strings.Contains(state, "cluster_state:fail"):
			return missingShard("the primary %s says that the cluster is down", primary.Options().Addr)
		}
		return nil
	})
}

// node is what a node of a cluster says about itself.
type node struct {
	addr         string
	info, config map[string]string // empty if it does not allow INFO or CONFIG
	err          error             // it did not reply
}

// inspectCluster is inspect for every node of a Redis Cluster.
func (s *Store) inspectCluster(ctx context.Context, cluster *redis.ClusterClient) error {
	nodes, err := s.readNodes(ctx, cluster)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := s.checkVersion(n.info, "7.0"); err != nil {
			return fmt.Errorf("%s: %w in a cluster", n.addr, err)
		}
		if aof := n.info["aof_enabled"]; aof != "" && s.aof != "0" { // the worst: of the node that may lose most
			s.aof = aof
		}
	}
	for _, fault := range s.clusterFaults(cluster.Options().ReadTimeout) {
		var found []string
		for _, n := range nodes {
			if fault.in(n) {
				found = append(found, n.addr)
			}
		}
		if len(found) > 0 {
			s.log.WarnContext(ctx, fault.text, "store", s.Address, "nodes", strings.Join(found, ","))
		}
	}
	return nil
}

// readNodes asks all nodes that have not failed, in the order of their addresses.
func (s *Store) readNodes(ctx context.Context, cluster *redis.ClusterClient) (nodes []node, err error) {
	var mu sync.Mutex
	err = cluster.ForEachShard(ctx, func(ctx context.Context, server *redis.Client) error {
		n := node{addr: server.Options().Addr}
		n.info, n.err = s.readInfo(ctx, server)
		config := redis.NewMapStringStringCmd(ctx, "config", "get", "cluster-node-timeout", "cluster-require-full-coverage")
		if err := server.Process(ctx, config); err != nil {
			s.log.DebugContext(ctx, "a node does not allow CONFIG GET: its settings are unknown", "node", n.addr, "err", err)
		}
		n.config = config.Val()
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, n)
		return nil
	})
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.addr, b.addr) })
	return nodes, err
}

// fault is something that a node should not be or have.
type fault struct {
	text string
	in   func(node) bool
}

func (s *Store) clusterFaults(readTimeout time.Duration) []fault {
	replicas := max(s.Acks, 1)
	return []fault{
		{"a node does not reply: it is not checked", func(n node) bool { return n.err != nil }},
		{"Redis may evict articles and votes when its memory is full: set the maxmemory-policy of these nodes to noeviction",
			func(n node) bool { return evicts(n.info) }},
		{"a crash of a node loses everything since its last snapshot: set the appendonly of these nodes to yes",
			func(n node) bool { return n.info["aof_enabled"] == "0" }},
		{fmt.Sprintf("a primary has too few replicas for a failover that loses nothing: give these nodes %d each", replicas),
			func(n node) bool {
				connected, err := strconv.Atoi(n.info["connected_slaves"])
				return err == nil && n.info["role"] == "master" && connected < replicas
			}},
		{"while one shard is gone, all others refuse every command: set the cluster-require-full-coverage of these nodes to no",
			func(n node) bool { return n.config["cluster-require-full-coverage"] == "yes" }},
		{fmt.Sprintf("a busy machine may cause a failover: set the cluster-node-timeout of these nodes to at least %d", minNodeTimeout.Milliseconds()),
			func(n node) bool { return n.nodeTimeout() < minNodeTimeout }},
		{fmt.Sprintf("a node that hangs may lose acknowledged votes: set the cluster-node-timeout of these nodes above the timeout of replies, which is %v, or have a replica confirm writes", readTimeout),
			func(n node) bool { return s.Acks == 0 && n.nodeTimeout() <= readTimeout }},
	}
}

// nodeTimeout is the node's cluster-node-timeout, or an hour if it is unknown.
func (n node) nodeTimeout() time.Duration {
	milliseconds, err := strconv.ParseInt(n.config["cluster-node-timeout"], 10, 32)
	if err != nil {
		return time.Hour
	}
	return time.Duration(milliseconds) * time.Millisecond
}
