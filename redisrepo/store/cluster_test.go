//go:build unix

package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/store"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// startNode runs a node that makes up a whole cluster, once it has slots, and returns its address.
func startNode(t *testing.T, args ...string) (*realRedis, string) {
	t.Helper()
	port := redistest.UnusedPort(t)
	args = append([]string{"--port", port, "--cluster-enabled", "yes", "--cluster-port", redistest.UnusedPort(t),
		"--cluster-config-file", "nodes.conf", "--cluster-announce-ip", "127.0.0.1"}, args...)
	return startServer(t, args...), "127.0.0.1:" + port
}

func assignSlots(t *testing.T, r *realRedis) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: r.socket})
	defer client.Close()
	if err := client.Do(t.Context(), "cluster", "addslotsrange", 0, 16383).Err(); err != nil {
		t.Error(err)
	}
}

func TestClusterIsOpenedOnceEverySlotIsServed(t *testing.T) {
	t.Parallel()
	r, addr := startNode(t, "--appendonly", "yes", "--cluster-node-timeout", "5000", "--cluster-require-full-coverage", "no")
	var log sitetest.Log
	opened := make(chan *store.Store)
	url := "redis+cluster://" + unused(t) + "," + addr + "?partitions=4&pool_size=2"
	go func() { opened <- open(t, store.Options{URL: url, Log: log.Logger(slog.LevelInfo)}) }()
	require.Eventually(t, "line about the missing slots", func() bool { return strings.Contains(log.String(), "16384 of its 16384 slots belong to no node") })
	assignSlots(t, r)
	s := <-opened
	set(t, s, "key", "value")
	wantValue(t, s, "key", "value")
	if s.Kind != store.Remote || s.Version != serverVersion(t) || s.Address != url[:strings.IndexByte(url, '?')] || s.Partitions != 4 || s.Acks != 1 {
		t.Errorf("store = %+v, want remote, %s and what the URL says, with 1 confirmation", s, serverVersion(t))
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), `too few replicas for a failover that loses nothing: give these nodes 1 each" store=redis+cluster://`) {
		t.Errorf("log = %s, want one warning: about the missing replica", log.String())
	}
	o := s.Client.(*redis.ClusterClient).Options()
	if o.PoolSize != 2 || o.ReadTimeout != 400*time.Millisecond || o.DialTimeout != 300*time.Millisecond || o.DialerRetries != 1 ||
		o.ClusterStateReloadInterval != time.Second || !o.ContextTimeoutEnabled {
		t.Errorf("client options = %+v, want those of the URL and the defaults", o)
	}

	// More commands fail than the pool has connections, and still the next one succeeds.
	for range 2 {
		r.kill()
		failingCommands(t, s, 50)
		var network net.Error
		if err := s.Client.Get(t.Context(), "key").Err(); !errors.As(err, &network) || !network.Timeout() {
			t.Errorf("error = %v, want one that the hook of the node's client returned", err)
		}
		r.start()
		require.Eventually(t, "reply of the node that has restarted", func() bool { return s.Client.Set(t.Context(), "key", "value", 0).Err() == nil })
		wantValue(t, s, "key", "value")
	}
}

func TestNodesThatMayLoseDataAreReported(t *testing.T) {
	t.Parallel()
	r, addr := startNode(t, "--maxmemory-policy", "volatile-lru", "--cluster-node-timeout", "300")
	assignSlots(t, r)
	var log sitetest.Log
	s := open(t, store.Options{URL: "redis+cluster://" + addr + "?acks=0", Log: log.Logger(slog.LevelInfo)})
	for _, want := range []string{
		"maxmemory-policy of these nodes to noeviction", "appendonly of these nodes to yes", "cluster-require-full-coverage of these nodes to no",
		"cluster-node-timeout of these nodes to at least 2000", "above the timeout of replies, which is 400ms", "give these nodes 1 each", "nodes=" + addr,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log = %s, want it to contain %q", log.String(), want)
		}
	}
	if line := s.String(); !strings.Contains(line, "loses") {
		t.Errorf("String() = %q, want it to say that a crash loses data", line)
	}
}

func TestServersOfAnotherKindAreRefused(t *testing.T) {
	t.Parallel()
	port := redistest.UnusedPort(t)
	startServer(t, "--port", port)
	_, node := startNode(t)
	for url, want := range map[string]string{
		"redis+cluster://127.0.0.1:" + port: "use redis://",
		"redis://" + node:                   "use redis+cluster://host1,host2",
		"redis+cluster://" + oldNode(t):     "Redis 6.2.14 is too old: Frontpage needs Redis 7.0 or later",
	} {
		if text := openError(t, store.Options{URL: url}); !strings.Contains(text, want) {
			t.Errorf("%s: error = %q, want it to contain %q", url, text, want)
		}
	}
}

// oldNode returns the address of a server that claims to be all of a cluster of Redis 6.2.
func oldNode(t *testing.T) string {
	t.Helper()
	s := require.Value(server.NewServer("127.0.0.1:0"))(t)
	t.Cleanup(s.Close)
	address := s.Addr() // nil once it is closed, when a client may still ask
	s.Register("CLUSTER", func(c *server.Peer, _ string, args []string) {
		if strings.EqualFold(args[0], "info") {
			c.WriteBulk("cluster_state:ok\r\n")
			return
		}
		c.WriteLen(1)
		c.WriteLen(3)
		c.WriteInt(0)
		c.WriteInt(16383)
		c.WriteLen(2)
		c.WriteBulk("127.0.0.1")
		c.WriteInt(address.Port)
	})
	s.Register("INFO", func(c *server.Peer, _ string, _ []string) { c.WriteBulk("redis_version:6.2.14\r\n") })
	return address.String()
}

func TestReplicasConfirmWritesOnlyWhereThereMayBeSome(t *testing.T) {
	t.Parallel()
	r := startServer(t)
	two := 2
	var got []int
	for _, o := range []store.Options{{URL: r.url()}, {URL: r.url() + "?acks=1"}, {URL: r.url(), Acks: &two}, {URL: r.url() + "?acks=0", Acks: &two}} {
		got = append(got, open(t, o).Acks)
	}
	if want := []int{0, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("Acks = %v, want %v: by default none, and the URL takes precedence", got, want)
	}
	for _, o := range []store.Options{{DataDir: t.TempDir()}, {URL: "spawn://", DataDir: t.TempDir()}, {URL: "memory://"}} {
		o.Acks = &two
		if text := openError(t, o); !strings.Contains(text, "REDIS_ACKS: a private Redis has no replicas: set REDIS_URL") {
			t.Errorf("%+v: error = %q, want it to say that there are no replicas", o, text)
		}
	}
}

func TestTLSVerifiesEachNode(t *testing.T) {
	t.Parallel()
	ours, foreign := newAuthority(t), newAuthority(t)
	port := redistest.UnusedPort(t)
	args := append(ours.server(t, port, time.Time{}, "no"), "--cluster-enabled", "yes", "--cluster-port", redistest.UnusedPort(t),
		"--cluster-config-file", "nodes.conf", "--cluster-announce-ip", "127.0.0.1", "--tls-cluster", "yes")
	assignSlots(t, startServer(t, args...))
	url := fmt.Sprintf("rediss+cluster://localhost,127.0.0.1:%s%s", port, unhurried)
	s := open(t, store.Options{URL: url, TLS: store.TLS{CAFile: ours.crt("ca")}})
	set(t, s, "key", "value")
	wantValue(t, s, "key", "value")
	open(t, store.Options{URL: url + "&skip_verify=true"})
	text := openError(t, store.Options{URL: url, TLS: store.TLS{CAFile: foreign.crt("ca")}})
	if !strings.Contains(text, "no authority in REDIS_CA_FILE") {
		t.Errorf("error = %q, want it to name the file of authorities", text)
	}
}
