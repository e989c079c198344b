package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// complete adds the parameters that the URL leaves out. They make a command fail well within a second when
// Redis is gone.
func complete(u *url.URL, timeout time.Duration) {
	query := u.Query()
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
}

func newClient(u *url.URL, o Options) (*redis.Client, error) {
	complete(u, o.Timeout)
	config, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, o.invalidURL(err)
	}
	if err := o.loadTLS(config.TLSConfig); err != nil {
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

// newFailoverClient logs in to the Sentinels as sentinel and to the data's servers as data.
func newFailoverClient(u *url.URL, sentinel, data *url.Userinfo, o Options) (*redis.Client, error) {
	complete(u, o.Timeout)
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
	if err := o.loadTLS(config.TLSConfig); err != nil {
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
