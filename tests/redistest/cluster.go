package redistest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/tests/require"

	"github.com/redis/go-redis/v9"
)

const (
	primaries = 3 // of a Cluster, each with a replica
	slots     = 16384
)

// Cluster is a private Redis Cluster on 127.0.0.1: three primaries, each with one replica.
type Cluster struct {
	Client *redis.ClusterClient // configured like the client of package store
	Nodes  []*Server            // the first three started as primaries, the others as their replicas in this order

	tb  testing.TB
	ids []string // of Nodes
}

// StartCluster runs a cluster until the test ends, with args in addition to those that every node has. It needs
// Redis 7 or later. A node counts as failed after two seconds of silence.
func StartCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	args = append([]string{"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "2000",
		"--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, append(appendOnly, args...)...)
	cluster := rand.Uint64()
	var addresses []string // with the port of the cluster's bus
	for i := range 2 * primaries {
		bus := UnusedPort(tb)
		n := newNode(tb, append(slices.Clone(args), "--cluster-port", bus)...)
		c.Nodes = append(c.Nodes, n)
		c.ids = append(c.ids, fmt.Sprintf("%020x%020x", cluster, i))
		addresses = append(addresses, n.Addr+"@"+bus)
	}
	for i, n := range c.Nodes {
		require.NoError(tb, os.WriteFile(filepath.Join(n.folder, "nodes.conf"), []byte(c.topology(i, addresses)), 0o600))
		n.Restart()
	}
	c.AwaitHealthy()
	c.Client = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{c.Nodes[0].Addr, c.Nodes[1].Addr, c.Nodes[2].Addr}, MaxRedirects: 10,
		ContextTimeoutEnabled: true, ClusterStateReloadInterval: time.Second, DialTimeout: 300 * time.Millisecond, DialerRetries: 1,
		ReadTimeout: 400 * time.Millisecond, WriteTimeout: 400 * time.Millisecond, PoolTimeout: 400 * time.Millisecond, PoolSize: 32,
	})
	tb.Cleanup(func() { _ = c.Client.Close() })
	return c
}

// newNode prepares a server that also listens on a port, and ends with the test.
func newNode(tb testing.TB, args ...string) *Server {
	tb.Helper()
	port := UnusedPort(tb)
	n := require.Value(newServer(append([]string{"--bind", "127.0.0.1", "--port", port}, args...)...))(tb)
	tb.Cleanup(n.Close)
	n.tb, n.Addr = tb, net.JoinHostPort("127.0.0.1", port)
	return n
}

// For returns the cluster for a subtest, which failures are then reported to.
func (c *Cluster) For(tb testing.TB) *Cluster {
	own := *c
	own.tb = tb
	return &own
}

// topology is nodes.conf of a node: all nodes with their slots, known from the start.
func (c *Cluster) topology(of int, addresses []string) string {
	var lines strings.Builder
	for i, id := range c.ids {
		flags, primary, owned := "master", "-", fmt.Sprintf(" %d-%d", slots*i/primaries, slots*(i+1)/primaries-1)
		if i >= primaries {
			flags, primary, owned = "slave", c.ids[i-primaries], ""
		}
		if i == of {
			flags = "myself," + flags
		}
		fmt.Fprintf(&lines, "%s %s %s %s 0 0 %d connected%s\n", id, addresses[i], flags, primary, 1+i%primaries, owned)
	}
	fmt.Fprintf(&lines, "vars currentEpoch %d lastVoteEpoch 0\n", primaries)
	return lines.String()
}

// URL is the address in the form of REDIS_URL.
func (c *Cluster) URL() string {
	return "redis+cluster://" + hosts(c.Nodes)
}

// hosts are the addresses of servers, as a URL has them.
func hosts(servers []*Server) string {
	var addresses []string
	for _, n := range servers {
		addresses = append(addresses, n.Addr)
	}
	return strings.Join(addresses, ",")
}

// Primary is the primary of the key.
func (c *Cluster) Primary(key string) *Server {
	c.tb.Helper()
	nodes := c.shard(key)
	if len(nodes) == 0 {
		c.tb.Fatalf("no node has %s", key)
	}
	return nodes[0]
}

// Replica is the replica of the key's primary; nil if Redis considers no replica healthy.
func (c *Cluster) Replica(key string) *Server {
	c.tb.Helper()
	nodes := c.shard(key)
	if len(nodes) < 2 {
		return nil
	}
	return nodes[1]
}

// Other is a primary other than the key's.
func (c *Cluster) Other(key string) *Server {
	c.tb.Helper()
	primary := c.Primary(key)
	for _, view := range c.views() {
		for _, shard := range view {
			if n := c.node(shard.Nodes[0].ID); n != primary && n.running() {
				return n
			}
		}
	}
	c.tb.Fatalf("no other primary than that of %s", key)
	return nil
}

// AwaitFailover waits until the primary of the key is a server other than before, and returns it.
func (c *Cluster) AwaitFailover(key string, before *Server) *Server {
	c.tb.Helper()
	var now *Server
	require.Eventually(c.tb, "failover of "+before.Addr, func() bool {
		if nodes := c.shard(key); len(nodes) > 0 {
			now = nodes[0]
		}
		return now != nil && now != before
	})
	return now
}

// Failover promotes the replica of the key's primary.
func (c *Cluster) Failover(key string) {
	c.tb.Helper()
	before, replica := c.Primary(key), c.Replica(key)
	var asked time.Time
	require.Eventually(c.tb, "failover on command of "+before.Addr, func() bool {
		if time.Since(asked) > 6*time.Second { // a node tries for five
			asked = time.Now()
			_ = replica.Client.ClusterFailover(context.Background()).Err()
		}
		nodes := c.shard(key)
		return len(nodes) > 0 && nodes[0] == replica
	})
}

// AwaitHealthy waits until all nodes run and agree on the slots, and each primary has an up-to-date replica.
func (c *Cluster) AwaitHealthy() {
	c.tb.Helper()
	require.Eventually(c.tb, "healthy cluster", func() bool {
		views := c.views()
		if len(views) < len(c.Nodes) {
			return false
		}
		first, _ := owners(views[0])
		for i, n := range c.Nodes {
			if others, covered := owners(views[i]); others != first || covered < slots || !healthy(n) {
				return false
			}
		}
		return true
	})
}

// healthy reports whether a node serves, as a primary with a replica or as a replica with its primary's data.
func healthy(n *Server) bool {
	state := n.Client.ClusterInfo(context.Background()).Val()
	role := replication(n)
	return strings.Contains(state, "cluster_state:ok") &&
		(strings.Contains(role, "state=online") || strings.Contains(role, "master_link_status:up"))
}

// owners returns the primary of each slot, and the number of slots that also have a replica.
func owners(view []redis.ClusterSlot) (owners [slots]string, covered int) {
	for _, shard := range view {
		for slot := shard.Start; slot <= shard.End; slot++ {
			owners[slot] = shard.Nodes[0].ID
		}
		if len(shard.Nodes) > 1 {
			covered += shard.End - shard.Start + 1
		}
	}
	return owners, covered
}

// shard returns the primary and the replicas of a key as most running nodes see them. One that was paused may have
// missed a failover.
func (c *Cluster) shard(key string) (nodes []*Server) {
	slot := c.slot(key)
	votes, most := map[string]int{}, 0
	for _, view := range c.views() {
		for _, shard := range view {
			primary := shard.Nodes[0].ID
			if slot < shard.Start || slot > shard.End {
				continue
			}
			if votes[primary]++; votes[primary] > most {
				most, nodes = votes[primary], nil
				for _, n := range shard.Nodes {
					nodes = append(nodes, c.node(n.ID))
				}
			}
		}
	}
	return nodes
}

// views returns CLUSTER SLOTS of each running node.
func (c *Cluster) views() (views [][]redis.ClusterSlot) {
	for _, n := range c.Nodes {
		if !n.running() {
			continue
		}
		if view, err := n.Client.ClusterSlots(context.Background()).Result(); err == nil { //nolint:staticcheck // what clients go by
			views = append(views, view)
		}
	}
	return views
}

func (c *Cluster) node(id string) *Server { return c.Nodes[slices.Index(c.ids, id)] }

func (c *Cluster) slot(key string) int {
	for _, n := range c.Nodes {
		if n.running() {
			return int(n.Client.ClusterKeySlot(context.Background(), key).Val())
		}
	}
	c.tb.Fatal("no node runs")
	return 0
}

// Move is a slot on its way from one primary to another.
type Move struct {
	cluster  *Cluster
	slot     int
	from, to *Server
}

// Move moves the slot of the key to another primary while clients use it.
func (c *Cluster) Move(key string, to *Server) {
	c.tb.Helper()
	m := c.StartMove(key, to)
	m.MoveAll(10_000)
	m.Finish()
}

// StartMove begins to move the slot of the key: from now on clients look for missing keys at the new primary.
func (c *Cluster) StartMove(key string, to *Server) *Move {
	c.tb.Helper()
	m := &Move{cluster: c, slot: c.slot(key), from: c.Primary(key), to: to}
	c.do(to, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", c.id(m.from))
	c.do(m.from, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", c.id(to))
	return m
}

// MoveKeys moves up to most keys, and returns how many. The options are those of MIGRATE.
func (m *Move) MoveKeys(most int, options ...any) int {
	m.cluster.tb.Helper()
	keys := require.Value(m.from.Client.ClusterGetKeysInSlot(context.Background(), m.slot, most).Result())(m.cluster.tb)
	if len(keys) == 0 {
		return 0
	}
	host, port, _ := net.SplitHostPort(m.to.Addr)
	args := append([]any{"MIGRATE", host, port, "", 0, 5000}, append(options, "KEYS")...)
	for _, key := range keys {
		args = append(args, key)
	}
	m.cluster.do(m.from, args...)
	return len(keys)
}

// Finish gives the slot to the new primary. All its keys must have moved.
func (m *Move) Finish() {
	c := m.cluster
	c.tb.Helper()
	c.do(m.to, "CLUSTER", "SETSLOT", m.slot, "NODE", c.id(m.to))
	c.do(m.from, "CLUSTER", "SETSLOT", m.slot, "NODE", c.id(m.to))
	require.Eventually(c.tb, "move of slot "+strconv.Itoa(m.slot), func() bool {
		for _, view := range c.views() {
			for _, shard := range view {
				if shard.Start <= m.slot && m.slot <= shard.End && shard.Nodes[0].ID != c.id(m.to) {
					return false
				}
			}
		}
		return true
	})
}

// To is the primary that the slot moves to.
func (m *Move) To() *Server { return m.to }

// Cancel ends a move before MoveKeys. The keys that clients created at the other primary meanwhile come back.
func (m *Move) Cancel() {
	m.cluster.tb.Helper()
	m.cluster.do(m.from, "CLUSTER", "SETSLOT", m.slot, "STABLE")
	back := Move{cluster: m.cluster, slot: m.slot, from: m.to, to: m.from}
	back.MoveAll(1000, "REPLACE")
	m.cluster.do(m.to, "CLUSTER", "SETSLOT", m.slot, "STABLE")
}

// MoveAll calls MoveKeys until no key is left.
func (m *Move) MoveAll(most int, options ...any) {
	m.cluster.tb.Helper()
	for moved := 1; moved > 0; {
		moved = m.MoveKeys(most, options...)
	}
}

func (c *Cluster) id(n *Server) string { return c.ids[slices.Index(c.Nodes, n)] }

func (c *Cluster) do(n *Server, args ...any) {
	c.tb.Helper()
	if err := n.Client.Do(context.Background(), args...).Err(); err != nil {
		c.tb.Fatalf("%v: %v", args[:2], err)
	}
}

// ports is where the next search for a free port starts: other test binaries search at the same time.
var ports atomic.Int64

func init() { ports.Store(rand.Int64N(12_000)) }

// UnusedPort returns a port on which nothing listens. It never returns the same port twice, and none that the system
// assigns to outgoing connections or to listeners on port 0.
func UnusedPort(tb testing.TB) string {
	tb.Helper()
	for range 1000 {
		port := strconv.FormatInt(20_000+ports.Add(1)%12_000, 10)
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = listener.Close()
			return port
		}
	}
	tb.Fatal("no port is free")
	return ""
}
