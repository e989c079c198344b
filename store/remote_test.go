//go:build unix

package store_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"frontpage/store"
)

// ports is where the next search for a port begins.
var ports atomic.Int64

func init() { ports.Store(rand.Int64N(12_000)) } // other tests search at the same time

// unusedPort returns a port on which nothing listens. Nobody is given the same, and
// it is not among those that systems give to connections and to listeners on port 0.
func unusedPort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := fmt.Sprint(20_000 + ports.Add(1)%12_000)
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// unused returns an address on which nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	return "127.0.0.1:" + unusedPort(t)
}

// silent returns an address that takes connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// pretend returns the address of a server that answers PING and INFO as told.
func pretend(t *testing.T, ping, info func(*server.Peer)) string {
	t.Helper()
	s, err := server.NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Register("PING", func(c *server.Peer, _ string, _ []string) { ping(c) })
	s.Register("INFO", func(c *server.Peer, _ string, _ []string) { info(c) })
	return s.Addr().String()
}

func pong(c *server.Peer) { c.WriteInline("PONG") }

func TestRemote(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--appendonly", "yes")
	var log record
	s := open(t, store.Options{URL: r.url() + "?db=3", Log: log.logger(slog.LevelInfo)})
	set(t, s, "key", "value")
	wantValue(t, s, "key", "value")
	if s.Kind != store.Remote || !strings.HasPrefix(s.Version, "Redis 7.") || s.Address != r.url()+" (database 3)" {
		t.Errorf("the store is %v, %q at %q", s.Kind, s.Version, s.Address)
	}
	if line := s.String(); !strings.Contains(line, s.Address) || !strings.Contains(line, "append-only file") || strings.Contains(line, "\n") {
		t.Errorf("String() = %q", line)
	}
	if log.String() != "" {
		t.Errorf("a server that keeps everything gives rise to %s", log.String())
	}
	other := open(t, store.Options{URL: r.url()})
	if n := other.Client.Exists(t.Context(), "key").Val(); n != 0 {
		t.Error("database 0 has the key of database 3")
	}
}

func TestRemoteWarnings(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--maxmemory-policy", "volatile-lru")
	var log record
	s := open(t, store.Options{URL: r.url(), Log: log.logger(slog.LevelInfo)})
	for _, want := range []string{"level=WARN", "maxmemory-policy=volatile-lru", "appendonly"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q: %s", want, log.String())
		}
	}
	if line := s.String(); !strings.Contains(line, "loses") {
		t.Errorf("String() = %q", line)
	}
}

func TestRemotePassword(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--requirepass", "s3cret/1")
	s := open(t, store.Options{URL: "unix://:s3cret%2F1@" + r.socket})
	set(t, s, "key", "value")
	if strings.Contains(s.String(), "s3cret") || strings.Contains(s.Address, "s3cret") {
		t.Errorf("the password is shown: %q, %q", s, s.Address)
	}
	for _, credentials := range []string{"", ":wr0ng@", "user:wr0ng@"} {
		before := time.Now()
		text := refused(t, store.Options{URL: "unix://" + credentials + r.socket})
		if !strings.Contains(text, r.socket) || strings.Contains(text, "wr0ng") {
			t.Errorf("the error is %q", text)
		}
		if took := time.Since(before); took > 3*time.Second {
			t.Errorf("a refusal took %v: it was tried again", took)
		}
	}
}

func TestRemoteUnreachable(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "socket")
	nobody, mute := unused(t), silent(t)
	var all sync.WaitGroup
	for name, tt := range map[string]struct{ url, want string }{
		"nobody listens":     {"redis://user:s3cret@" + nobody, nobody},
		"nobody answers":     {"redis://user:s3cret@" + mute, mute},
		"nobody speaks TLS":  {"rediss://user:s3cret@" + mute, mute},
		"no way there":       {"redis://user:s3cret@192.0.2.1:6379/2", "192.0.2.1:6379"},
		"no such host":       {"redis://user:s3cret@host.invalid", "host.invalid:6379"},
		"no such socket":     {"unix://user:s3cret@" + gone, gone},
		"no Sentinel":        {"redis+sentinel://user:s3cret@" + nobody + "/main/1?sentinel_password=s3cret", nobody + "/main (database 1)"},
		"a Sentinel is mute": {"redis+sentinel://user:s3cret@" + mute + ",127.0.0.1/main", mute + ",127.0.0.1:26379/main"},
	} {
		all.Go(func() { // all at once, for each takes seconds
			before := time.Now()
			text := refused(t, store.Options{URL: tt.url})
			if !strings.Contains(text, tt.want) || strings.Contains(text, "s3cret") {
				t.Errorf("%s: the error is %q, want %q in it", name, text, tt.want)
			}
			if took := time.Since(before); took > 6*time.Second {
				t.Errorf("%s: it took %v", name, took)
			}
		})
	}
	all.Wait()
}

func TestURLRefused(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"localhost:6379":                                           "rediss+sentinel://, spawn:// or memory://",
		"/run/s3cret":                                              "must begin with",
		"http://s3cret@host":                                       "must begin with",
		"redis+cluster://a,b":                                      "Redis Cluster yet",
		"redis://user:s3cret%@host:6379":                           "cannot be read",
		"redis://user:s3/cret@host:6379":                           "cannot be read",
		"redis://user:12/s3cret@host:6379":                         "cannot be read",
		"redis://:12?s3cret@host:6379":                             "cannot be read",
		"redis://:12#s3cret@host:6379":                             "cannot be read",
		"redis://:s3[cret@host:6379":                               "cannot be read",
		"redis://host:s3cret":                                      "cannot be read",
		"redis://user:s3cret@host:6379/zero":                       "invalid database number",
		"redis://user:s3cret@host:6379?pool=5":                     "unexpected option: pool",
		"redis://user:s3cret@host?read_timeout=never":              "invalid read_timeout",
		"unix://user:s3/cret@/path":                                "cannot be read",
		"unix://:12/s3cret@/path":                                  "cannot be read",
		"unix://":                                                  "empty unix socket path",
		"redis+sentinel://user:s3cret@host":                        "host1,host2/master",
		"redis+sentinel://user:s3cret@/master":                     "host1,host2/master",
		"redis+sentinel://user:s3cret@a,,b/master":                 "host1,host2/master",
		"redis+sentinel://user:s3/cret@host/master":                "cannot be read",
		"redis+sentinel://user:s3cret%@host/master":                "cannot be read",
		"redis+sentinel://user:s3cret@a,b/m/zero":                  "invalid database number",
		"redis+sentinel://user:s3cret@a{b/m?password=s3cret":       "cannot be read",
		"redis+sentinel://user:s3cret@a,b/m?route_by_latency=true": "route_by_latency",
	} {
		if text := refused(t, store.Options{URL: url, DataDir: t.TempDir()}); !strings.Contains(text, want) || strings.Contains(text, "s3") || strings.Contains(text, "cret") {
			t.Errorf("%s: the error is %q, want %q in it", url, text, want)
		}
	}
}

func TestRemoteVersions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ info, version, refused string }{
		"the oldest":    {info: "redis_version:6.2.0\r\nredis_mode:standalone", version: "Redis 6.2.0"},
		"too old":       {info: "redis_version:6.0.16\r\nredis_mode:standalone", refused: "Redis 6.0.16"},
		"far too old":   {info: "redis_version:5.2.9", refused: "Redis 5.2.9"},
		"two digits":    {info: "redis_version:10.0.1", version: "Redis 10.0.1"},
		"Valkey":        {info: "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\nserver_mode:standalone", version: "Valkey 8.1.0"},
		"Valkey's mode": {info: "redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nserver_mode:cluster", refused: "Redis Cluster yet"},
		"a Sentinel":    {info: "redis_version:7.2.4\r\nredis_mode:sentinel", refused: "redis+sentinel://"},
		"silent":        {info: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := store.Options{URL: "redis://" + pretend(t, pong, func(c *server.Peer) { c.WriteBulk(tt.info) })}
			if tt.refused != "" {
				if text := refused(t, o); !strings.Contains(text, tt.refused) {
					t.Errorf("the error is %q, want %q in it", text, tt.refused)
				}
			} else if s := open(t, o); s.Version != tt.version {
				t.Errorf("Version = %q, want %q", s.Version, tt.version)
			}
		})
	}
}

func TestRemoteThatDoesNotTell(t *testing.T) {
	t.Parallel()
	addr := pretend(t, pong, func(c *server.Peer) { c.WriteError("NOPERM this user has no permissions to run the 'info' command") })
	var log record
	s := open(t, store.Options{URL: "redis://" + addr, Log: log.logger(slog.LevelInfo)})
	if log.String() != "" || s.Version != "" || !strings.Contains(s.String(), "does not say") {
		t.Errorf("log %q, version %q, %q", log.String(), s.Version, s)
	}
}

func TestRemoteLoading(t *testing.T) {
	t.Parallel()
	// Longer than a server that does not answer is waited for.
	ready := time.Now().Add(5 * time.Second)
	addr := pretend(t, func(c *server.Peer) {
		if time.Now().Before(ready) {
			c.WriteError("LOADING Redis is loading the dataset in memory")
			return
		}
		pong(c)
	}, func(c *server.Peer) { c.WriteBulk("redis_version:7.2.0") })
	var log record
	open(t, store.Options{URL: "redis://" + addr, Log: log.logger(slog.LevelInfo)})
	if time.Now().Before(ready) || !strings.Contains(log.String(), "load its data") {
		t.Errorf("the store is open before its time, or silently: %q", log.String())
	}
}

func TestRemoteCluster(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--cluster-enabled", "yes", "--port", unusedPort(t), "--cluster-port", unusedPort(t))
	if text := refused(t, store.Options{URL: r.url()}); !strings.Contains(text, "Redis Cluster yet") {
		t.Errorf("the error is %q", text)
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	port, sentinelPort := unusedPort(t), unusedPort(t)
	startServer(t, "--port", port, "--requirepass", "s3cret")
	startRedis(t, "port "+sentinelPort+"\nrequirepass s3ntinel\nsentinel monitor main 127.0.0.1 "+port+" 1\nsentinel auth-pass main s3cret\n", "--sentinel")
	nobody := unused(t)
	s := open(t, store.Options{URL: "redis+sentinel://:s3cret@" + nobody + ",127.0.0.1:" + sentinelPort + "/main/2?sentinel_password=s3ntinel&pool_size=7"})
	set(t, s, "key", "value")
	o := s.Client.(*redis.Client).Options()
	if o.PoolSize != 7 || o.DB != 2 || o.ReadTimeout != 400*time.Millisecond || !o.ContextTimeoutEnabled || o.DialerRetries != 1 {
		t.Errorf("the settings are %+v", o)
	}
	if want := "redis+sentinel://" + nobody + ",127.0.0.1:" + sentinelPort + "/main (database 2)"; s.Address != want {
		t.Errorf("Address = %q, want %q", s.Address, want)
	}
	if text := refused(t, store.Options{URL: "redis://:s3ntinel@127.0.0.1:" + sentinelPort}); !strings.Contains(text, "redis+sentinel://") {
		t.Errorf("a Sentinel for a server: %s", text)
	}
}

func TestURLSettingsWin(t *testing.T) {
	t.Parallel()
	r := startServer(t)
	plain := open(t, store.Options{URL: r.url(), Timeout: 123 * time.Millisecond}).Client.(*redis.Client).Options()
	if plain.ReadTimeout != 123*time.Millisecond || plain.WriteTimeout != plain.ReadTimeout || plain.PoolTimeout != plain.ReadTimeout ||
		plain.DialTimeout != 300*time.Millisecond || plain.MaxRetries != 1 || plain.PoolSize < 32 || !plain.ContextTimeoutEnabled || plain.DialerRetries != 1 {
		t.Errorf("the settings are %+v", plain)
	}
	tuned := open(t, store.Options{URL: r.url() + "?pool_size=5&read_timeout=1s&max_retries=-1&dial_timeout=2s"}).Client.(*redis.Client).Options()
	if tuned.PoolSize != 5 || tuned.ReadTimeout != time.Second || tuned.MaxRetries != 0 || tuned.DialTimeout != 2*time.Second ||
		tuned.WriteTimeout != 400*time.Millisecond {
		t.Errorf("the settings are %+v", tuned)
	}
}
