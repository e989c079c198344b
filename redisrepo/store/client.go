package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// sizes are the ranges of the parameters for which go-redis allocates memory when a client is created. It
// panics if one is negative or too large. A pipeline_pool_size of -1 means no pool for pipelines.
var sizes = []struct {
	parameter        string
	minimum, maximum int
}{
	{"pool_size", 0, 100_000},
	{"pipeline_pool_size", -1, 100_000},
	{"max_concurrent_dials", 0, 100_000},
	{"min_idle_conns", 0, 100_000},
	{"max_idle_conns", 0, 100_000},
	{"max_active_conns", 0, 100_000},
	{"pipeline_read_buffer_size", 0, 64 << 20},
	{"pipeline_write_buffer_size", 0, 64 << 20},
}

// complete checks the parameters of the URL and adds those that it leaves out. The latter make a command fail
// well within a second when Redis is gone.
func complete(u *url.URL, timeout time.Duration) error {
	query := u.Query()
	for _, size := range sizes {
		for _, value := range query[size.parameter] {
			if n, err := strconv.Atoi(value); err == nil && (n < size.minimum || n > size.maximum) {
				return fmt.Errorf("%s must be between %d and %d", size.parameter, size.minimum, size.maximum)
			}
		}
	}
	for name, value := range map[string]string{
		"read_timeout":      timeout.String(),
		"write_timeout":     timeout.String(),
		"pool_timeout":      timeout.String(),
		"pool_size":         strconv.Itoa(max(32, 10*runtime.GOMAXPROCS(0))),
		"dial_timeout":      "300ms",
		"max_retries":       "1", // for a connection that broke while idle
		"min_retry_backoff": "2ms",
		"max_retry_backoff": "20ms",
	} {
		if !query.Has(name) {
			query.Set(name, value)
		}
	}
	u.RawQuery = query.Encode()
	return nil
}

func newClient(u *url.URL, o Options) (*redis.Client, error) {
	if err := complete(u, o.Timeout); err != nil {
		return nil, o.invalidURL(err)
	}
	config, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, o.invalidURL(err)
	}
	if config.Dialer, err = o.dialer(config.TLSConfig, config.DialTimeout); err != nil {
		return nil, err
	}
	config.ContextTimeoutEnabled = true
	config.DialerRetries = 1
	// Each of these would cost every new connection a round trip.
	config.DisableIdentity = true
	config.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(config)
	client.AddHook(dialHook{})
	return client, nil
}

// maxClusterTimeout is the maximum wait for one reply of a node. One that hangs is replaced within seconds.
const maxClusterTimeout = 5 * time.Second

// newClusterClient returns a client of a Redis Cluster, which gives each node a pool of connections.
func newClusterClient(u *url.URL, o Options) (*redis.ClusterClient, error) {
	query := u.Query()
	for _, name := range []string{"max_retries", "read_only", "route_by_latency", "route_by_latency_tolerance", "route_randomly"} {
		if query.Has(name) {
			return nil, o.invalidURL(fmt.Errorf("%s cannot be set for a Redis Cluster", name))
		}
	}
	skipVerify := false
	if u.Scheme == "rediss" && query.Has("skip_verify") {
		var err error
		if skipVerify, err = strconv.ParseBool(query.Get("skip_verify")); err != nil {
			return nil, o.invalidURL(errors.New("skip_verify must be true or false"))
		}
		query.Del("skip_verify") // go-redis knows it for single servers only
		u.RawQuery = query.Encode()
	}
	if err := complete(u, min(o.Timeout, maxClusterTimeout)); err != nil {
		return nil, o.invalidURL(err)
	}
	query = u.Query()
	query.Del("max_retries") // max_redirects stands for it
	u.RawQuery = query.Encode()
	config, err := redis.ParseClusterURL(u.String())
	if err != nil {
		return nil, o.invalidURL(err)
	}
	if config.TLSConfig != nil {
		config.TLSConfig.ServerName = "" // each node is verified by its own address
		config.TLSConfig.MinVersion = tls.VersionTLS12
		config.TLSConfig.InsecureSkipVerify = skipVerify // #nosec G402 -- only if the operator asks for it
	}
	if config.Dialer, err = o.dialer(config.TLSConfig, config.DialTimeout); err != nil {
		return nil, err
	}
	config.ContextTimeoutEnabled = true
	config.ClusterStateReloadInterval = time.Second // a node that is gone redirects no client to its successor
	config.DialerRetries = 1
	config.DisableIdentity = true
	config.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClusterClient(config)
	client.OnNewNode(func(node *redis.Client) { node.AddHook(dialHook{}) }) // the cluster's own hooks do not dial
	return client, nil
}

// newFailoverClient logs in to the Sentinels as sentinel and to the data's servers as data.
func newFailoverClient(u *url.URL, sentinel, data *url.Userinfo, o Options) (*redis.Client, error) {
	if err := complete(u, o.Timeout); err != nil {
		return nil, o.invalidURL(err)
	}
	config, err := redis.ParseFailoverURL(u.String())
	if err != nil {
		return nil, o.invalidURL(err)
	}
	if config.RouteByLatency || config.RouteRandomly { // the client would panic
		return nil, o.invalidURL(errors.New("route_by_latency and route_randomly need Redis Cluster"))
	}
	if config.TLSConfig != nil {
		config.TLSConfig.ServerName = "" // each Sentinel and the primary is verified by its own address
	}
	if config.Dialer, err = o.dialer(config.TLSConfig, config.DialTimeout); err != nil {
		return nil, err
	}
	config.SentinelUsername = sentinel.Username()
	config.SentinelPassword, _ = sentinel.Password()
	if data != nil { // otherwise the URL's parameters may set them
		config.Username = data.Username()
		config.Password, _ = data.Password()
	}
	config.ContextTimeoutEnabled = true
	config.DialerRetries = 1
	config.DisableIdentity = true
	client := redis.NewFailoverClient(config)
	client.AddHook(dialHook{})
	return client, nil
}

// clientLog receives what go-redis would print to standard error. It logs at level debug, because commands
// return the same errors.
type clientLog struct{ log *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
	}
}

// dialHook hides failed dials from go-redis' pool: a failed dial returns a connection that fails on first use.
// Otherwise, after as many failures as it has connections, the pool would refuse every command until a probe,
// sent once a second, succeeds: Redis would be back and commands would still fail.
type dialHook struct{}

func (dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			return conn, nil
		}
		unconnected, _ := net.Pipe() // for the addresses and deadlines
		return deadConn{unconnected, dialError{err}}, nil
	}
}

func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type deadConn struct {
	net.Conn
	err error
}

func (c deadConn) Read([]byte) (int, error)  { return 0, c.err }
func (c deadConn) Write([]byte) (int, error) { return 0, c.err }

// SyscallConn makes the pool drop the connection if it became idle because the command that requested it was
// cancelled.
func (c deadConn) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// dialError is a net.Error that does not unwrap: go-redis retries a command whose error wraps a failed dial,
// and would wait for two dials.
type dialError struct{ error }

// Is matches syscall.ENOTCONN, which tells a failed dial from a timeout: Timeout is true for both.
func (dialError) Is(target error) bool { return target == syscall.ENOTCONN }

func (dialError) Timeout() bool   { return true }
func (dialError) Temporary() bool { return true }
