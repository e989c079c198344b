//go:build unix

package store_test

import (
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/store"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// unused returns an address on which nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	return "127.0.0.1:" + redistest.UnusedPort(t)
}

// silent returns an address that accepts connections and never replies.
func silent(t *testing.T) string {
	t.Helper()
	listener := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// fakeServer returns the address of a server that replies to PING and INFO with the given functions.
func fakeServer(t *testing.T, ping, info func(*server.Peer)) string {
	t.Helper()
	s := require.Value(server.NewServer("127.0.0.1:0"))(t)
	t.Cleanup(s.Close)
	s.Register("PING", func(c *server.Peer, _ string, _ []string) { ping(c) })
	s.Register("INFO", func(c *server.Peer, _ string, _ []string) { info(c) })
	return s.Addr().String()
}

func pong(c *server.Peer) { c.WriteInline("PONG") }

func TestRemoteStoreIsDescribedAndUsesItsDatabase(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--appendonly", "yes")
	var log sitetest.Log
	s := open(t, store.Options{URL: r.url() + "?db=3", Log: log.Logger(slog.LevelInfo)})
	set(t, s, "key", "value")
	wantValue(t, s, "key", "value")
	if s.Kind != store.Remote || s.Version != serverVersion(t) || s.Address != r.url()+" (database 3)" {
		t.Errorf("Kind, Version, Address = %v, %q, %q, want remote, %s and the socket with database 3", s.Kind, s.Version, s.Address, serverVersion(t))
	}
	if line := s.String(); !strings.Contains(line, s.Address) || !strings.Contains(line, "append-only file") || strings.Contains(line, "\n") {
		t.Errorf("String() = %q, want one line with the address and the append-only file", line)
	}
	if log.String() != "" {
		t.Errorf("log of opening a durable server = %s, want nothing", log.String())
	}
	other := open(t, store.Options{URL: r.url()})
	if n := other.Client.Exists(t.Context(), "key").Val(); n != 0 {
		t.Error("a key of database 3 is in database 0")
	}
}

func TestServersThatMayLoseDataAreReported(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--maxmemory-policy", "volatile-lru")
	var log sitetest.Log
	s := open(t, store.Options{URL: r.url(), Log: log.Logger(slog.LevelInfo)})
	for _, want := range []string{"level=WARN", "maxmemory-policy=volatile-lru", "appendonly"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log = %s, want it to contain %q", log.String(), want)
		}
	}
	if line := s.String(); !strings.Contains(line, "loses") {
		t.Errorf("String() = %q, want it to say that a crash loses data", line)
	}
}

func TestPasswordIsNeverShown(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--requirepass", "s3cret/1")
	s := open(t, store.Options{URL: "unix://:s3cret%2F1@" + r.socket})
	set(t, s, "key", "value")
	if strings.Contains(s.String(), "s3cret") || strings.Contains(s.Address, "s3cret") {
		t.Errorf("String() = %q, Address = %q, want no password in them", s, s.Address)
	}
	for _, credentials := range []string{"", ":wr0ng@", "user:wr0ng@"} {
		before := connections(t, s)
		text := openError(t, store.Options{URL: "unix://" + credentials + r.socket})
		if !strings.Contains(text, r.socket) || strings.Contains(text, "wr0ng") {
			t.Errorf("error = %q, want the socket in it and no password", text)
		}
		if n := connections(t, s) - before; n > 2 {
			t.Errorf("Open made %d connections, want at most 2: a rejected password is not retried", n)
		}
	}
}

// connections returns how many connections the server has had.
func connections(t *testing.T, s *store.Store) int {
	t.Helper()
	return require.Value(strconv.Atoi(s.Client.InfoMap(t.Context(), "stats").Item("Stats", "total_connections_received")))(t)
}

func TestUnreachableServerIsAnError(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "socket")
	closed, mute := unused(t), silent(t)
	var all sync.WaitGroup
	for name, tt := range map[string]struct{ url, want string }{
		"a closed port":      {"redis://user:s3cret@" + closed, closed},
		"no reply":           {"redis://user:s3cret@" + mute, mute},
		"no TLS handshake":   {"rediss://user:s3cret@" + mute, mute},
		"no route":           {"redis://user:s3cret@192.0.2.1:6379/2", "192.0.2.1:6379"},
		"no such host":       {"redis://user:s3cret@host.invalid", "host.invalid:6379"},
		"no such socket":     {"unix://user:s3cret@" + gone, gone},
		"no Sentinel":        {"redis+sentinel://user:s3cret@" + closed + "/main/1?sentinel_password=s3cret", closed + "/main (database 1)"},
		"a Sentinel is mute": {"redis+sentinel://user:s3cret@" + mute + ",127.0.0.1/main", mute + ",127.0.0.1:26379/main"},
	} {
		all.Go(func() { // at once, because each takes seconds
			before := time.Now()
			text := openError(t, store.Options{URL: tt.url})
			if !strings.Contains(text, tt.want) || strings.Contains(text, "s3cret") {
				t.Errorf("%s: error = %q, want %q in it and no password", name, text, tt.want)
			}
			if took := time.Since(before); took > require.Timeout {
				t.Errorf("%s: Open took %v to fail, want at most %v", name, took, require.Timeout)
			}
		})
	}
	all.Wait()
}

func TestUnusableURLIsRefusedWithoutShowingIt(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"localhost:6379":                                           "rediss+cluster://, spawn:// or memory://",
		"/run/s3cret":                                              "must begin with",
		"http://s3cret@host":                                       "must begin with",
		"redis://user:s3cret%@host:6379":                           "cannot be parsed",
		"redis://user:s3/cret@host:6379":                           "cannot be parsed",
		"redis://user:12/s3cret@host:6379":                         "cannot be parsed",
		"redis://:12?s3cret@host:6379":                             "cannot be parsed",
		"redis://:12#s3cret@host:6379":                             "cannot be parsed",
		"redis://:s3[cret@host:6379":                               "cannot be parsed",
		"redis://host:s3cret":                                      "cannot be parsed",
		"redis://user:s3cret@host:6379/zero":                       "invalid database number",
		"redis://user:s3cret@host:6379?pool=5":                     "unexpected option: pool",
		"redis://user:s3cret@host?read_timeout=never":              "invalid read_timeout",
		"unix://user:s3/cret@/path":                                "cannot be parsed",
		"unix://:12/s3cret@/path":                                  "cannot be parsed",
		"unix://":                                                  "empty unix socket path",
		"redis://user:s3cret@host?pool_size=-1":                    "pool_size must be between 0 and 100000",
		"redis+sentinel://user:s3cret@host/m?pool_size=100001":     "pool_size must be between 0 and 100000",
		"redis+sentinel://user:s3cret@host":                        "host1,host2/master",
		"redis+sentinel://user:s3cret@/master":                     "host1,host2/master",
		"redis+sentinel://user:s3cret@a,,b/master":                 "host1,host2/master",
		"redis+sentinel://user:s3/cret@host/master":                "cannot be parsed",
		"redis+sentinel://user:s3cret%@host/master":                "cannot be parsed",
		"redis+sentinel://user:s3cret@a,b/m/zero":                  "invalid database number",
		"redis+sentinel://user:s3cret@a{b/m?password=s3cret":       "cannot be parsed",
		"redis+sentinel://user:s3cret@a,b/m?route_by_latency=true": "route_by_latency",
		"redis+cluster://user:s3cret@":                             "must name hosts: redis+cluster://host1,host2",
		"rediss+cluster://user:s3cret@a,,b":                        "must name hosts: rediss+cluster://host1,host2",
		"redis+cluster://user:s3/cret@a":                           "cannot be parsed",
		"redis+cluster://:12?s3cret@a":                             "cannot be parsed",
		"redis+cluster://:12?partitions=s3cret@a":                  "cannot be parsed",
		"redis+cluster://user:s3cret@a,b/3":                        "database 0 only",
		"redis+cluster://a?partitions=s3cret":                      "partitions must be",
		"redis://a?partitions=0":                                   "partitions must be",
		"redis://a?acks=s3cret":                                    "acks must be between 0 and 10",
		"redis+cluster://a?acks=11":                                "acks must be between 0 and 10",
		"redis+cluster://a?max_retries=2":                          "max_retries cannot be set for a Redis Cluster",
		"redis+cluster://a?read_only=true":                         "read_only cannot be set for a Redis Cluster",
		"rediss+cluster://a?skip_verify=s3cret":                    "skip_verify must be true or false",
		"redis+cluster://a?skip_verify=true":                       "unexpected option: skip_verify",
	} {
		if text := openError(t, store.Options{URL: url, DataDir: t.TempDir()}); !strings.Contains(text, want) || strings.Contains(text, "s3") || strings.Contains(text, "cret") {
			t.Errorf("%s: error = %q, want %q in it and no part of the password", url, text, want)
		}
	}
}

func TestOnlySupportedVersionsAndModesAreAccepted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ info, version, refused string }{
		"the oldest":    {info: "redis_version:6.2.0\r\nredis_mode:standalone", version: "Redis 6.2.0"},
		"too old":       {info: "redis_version:6.0.16\r\nredis_mode:standalone", refused: "Redis 6.0.16"},
		"far too old":   {info: "redis_version:5.2.9", refused: "Redis 5.2.9"},
		"two digits":    {info: "redis_version:10.0.1", version: "Redis 10.0.1"},
		"Valkey":        {info: "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\nserver_mode:standalone", version: "Valkey 8.1.0"},
		"Valkey's mode": {info: "redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nserver_mode:cluster", refused: "use redis+cluster://"},
		"a Sentinel":    {info: "redis_version:7.2.4\r\nredis_mode:sentinel", refused: "redis+sentinel://"},
		"no version":    {info: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := store.Options{URL: "redis://" + fakeServer(t, pong, func(c *server.Peer) { c.WriteBulk(tt.info) })}
			if tt.refused != "" {
				if text := openError(t, o); !strings.Contains(text, tt.refused) {
					t.Errorf("error = %q, want it to contain %q", text, tt.refused)
				}
			} else if s := open(t, o); s.Version != tt.version {
				t.Errorf("Version = %q, want %q", s.Version, tt.version)
			}
		})
	}
}

// A server that replied to PING may be busy when it is asked for its version: the first calls get no reply.
func TestOpenWaitsForAServerThatIsBusy(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	addr := fakeServer(t, pong, func(c *server.Peer) {
		if calls.Add(1) <= 3 {
			<-t.Context().Done()
			return
		}
		c.WriteBulk("redis_version:7.2.0")
	})
	if s := open(t, store.Options{URL: "redis://" + addr, Timeout: 50 * time.Millisecond}); s.Version != "Redis 7.2.0" {
		t.Errorf("Version = %q after %d calls, want that of a server that was busy", s.Version, calls.Load())
	}
}

func TestServerWithoutINFOIsAccepted(t *testing.T) {
	t.Parallel()
	addr := fakeServer(t, pong, func(c *server.Peer) { c.WriteError("NOPERM this user has no permissions to run the 'info' command") })
	var log sitetest.Log
	s := open(t, store.Options{URL: "redis://" + addr, Log: log.Logger(slog.LevelInfo)})
	if log.String() != "" || s.Version != "" || !strings.Contains(s.String(), "does not report") {
		t.Errorf("log = %q, Version = %q, String() = %q, want no log, no version and unknown persistence", log.String(), s.Version, s)
	}
}

func TestOpenWaitsWhileRedisLoadsItsData(t *testing.T) {
	t.Parallel()
	// Longer than Open waits for a server that does not reply.
	ready := time.Now().Add(5 * time.Second)
	addr := fakeServer(t, func(c *server.Peer) {
		if time.Now().Before(ready) {
			c.WriteError("LOADING Redis is loading the dataset in memory")
			return
		}
		pong(c)
	}, func(c *server.Peer) { c.WriteBulk("redis_version:7.2.0") })
	var log sitetest.Log
	open(t, store.Options{URL: "redis://" + addr, Log: log.Logger(slog.LevelInfo)})
	if time.Now().Before(ready) || !strings.Contains(log.String(), "load its data") {
		t.Errorf("Open returned %v before the data was loaded, with the log %q; want it to wait and to log that", time.Until(ready), log.String())
	}
}

func TestSentinelURLConnectsToTheMaster(t *testing.T) {
	t.Parallel()
	port, sentinelPort := redistest.UnusedPort(t), redistest.UnusedPort(t)
	startServer(t, "--port", port, "--requirepass", "s3cret")
	startRedis(t, "port "+sentinelPort+"\nrequirepass s3ntinel\nsentinel monitor main 127.0.0.1 "+port+" 1\nsentinel auth-pass main s3cret\n", "--sentinel")
	closed := unused(t)
	s := open(t, store.Options{URL: "redis+sentinel://:s3cret@" + closed + ",127.0.0.1:" + sentinelPort + "/main/2?sentinel_password=s3ntinel&pool_size=7"})
	set(t, s, "key", "value")
	o := s.Client.(*redis.Client).Options()
	if o.PoolSize != 7 || o.DB != 2 || o.ReadTimeout != 400*time.Millisecond || !o.ContextTimeoutEnabled || o.DialerRetries != 1 {
		t.Errorf("client options = %+v, want those of the URL and the defaults", o)
	}
	if want := "redis+sentinel://" + closed + ",127.0.0.1:" + sentinelPort + "/main (database 2)"; s.Address != want {
		t.Errorf("Address = %q, want %q", s.Address, want)
	}
	if text := openError(t, store.Options{URL: "redis://:s3ntinel@127.0.0.1:" + sentinelPort}); !strings.Contains(text, "redis+sentinel://") {
		t.Errorf("error = %q, want the form of a URL for Sentinels", text)
	}
}

// The primary that a Sentinel names is gone until another one is elected.
func TestSentinelURLWaitsForAPrimary(t *testing.T) {
	t.Parallel()
	port, sentinelPort := redistest.UnusedPort(t), redistest.UnusedPort(t)
	startRedis(t, "port "+sentinelPort+"\nsentinel monitor main 127.0.0.1 "+port+" 1\n", "--sentinel")
	var log sitetest.Log
	opened := make(chan *store.Store)
	url := "redis+sentinel://127.0.0.1:" + sentinelPort + "/main"
	go func() { opened <- open(t, store.Options{URL: url, Log: log.Logger(slog.LevelInfo)}) }()
	require.Eventually(t, "line about the primary", func() bool { return strings.Contains(log.String(), "waiting for a primary that replies") })
	startServer(t, "--port", port)
	s := <-opened
	set(t, s, "key", "value")
	wantValue(t, s, "key", "value")
}

func TestParametersOfTheURLOverrideDefaults(t *testing.T) {
	t.Parallel()
	r := startServer(t)
	plain := open(t, store.Options{URL: r.url(), Timeout: 123 * time.Millisecond}).Client.(*redis.Client).Options()
	if plain.ReadTimeout != 123*time.Millisecond || plain.WriteTimeout != plain.ReadTimeout || plain.PoolTimeout != plain.ReadTimeout ||
		plain.DialTimeout != 300*time.Millisecond || plain.MaxRetries != 1 || plain.PoolSize < 32 || !plain.ContextTimeoutEnabled || plain.DialerRetries != 1 {
		t.Errorf("client options = %+v, want the defaults with timeouts of 123 ms", plain)
	}
	tuned := open(t, store.Options{URL: r.url() + "?pool_size=5&read_timeout=1s&max_retries=-1&dial_timeout=2s"}).Client.(*redis.Client).Options()
	if tuned.PoolSize != 5 || tuned.ReadTimeout != time.Second || tuned.MaxRetries != 0 || tuned.DialTimeout != 2*time.Second ||
		tuned.WriteTimeout != 400*time.Millisecond {
		t.Errorf("client options = %+v, want those of the URL and else the defaults", tuned)
	}
}
