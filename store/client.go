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

// complete adds the settings that the URL leaves open. They make a command fail
// well within a second when Redis is gone.
func complete(u *url.URL, timeout time.Duration) {
	query := u.Query()
	for name, value := range map[string]string{
		"read_timeout":      timeout.String(),
		"write_timeout":     timeout.String(),
		"pool_timeout":      timeout.String(),
		"pool_size":         strconv.Itoa(max(32, 10*runtime.GOMAXPROCS(0))),
		"dial_timeout":      "300ms",
		"max_retries":       "1", // for a connection that broke while it was idle
		"min_retry_backoff": "2ms",
		"max_retry_backoff": "20ms",
	} {
		if !query.Has(name) {
			query.Set(name, value)
		}
	}
	u.RawQuery = query.Encode()
}

func newClient(u *url.URL, timeout time.Duration, files TLS) (*redis.Client, error) {
	complete(u, timeout)
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, unreadable(err)
	}
	if err := files.apply(o.TLSConfig); err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	o.DialerRetries = 1
	// Either would cost every new connection a round trip.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(o)
	client.AddHook(dialHook{})
	return client, nil
}

func newFailoverClient(u *url.URL, sentinel, data *url.Userinfo, timeout time.Duration, files TLS) (*redis.Client, error) {
	complete(u, timeout)
	o, err := redis.ParseFailoverURL(u.String())
	if err != nil {
		return nil, unreadable(err)
	}
	if o.RouteByLatency || o.RouteRandomly { // the client would panic
		return nil, unreadable(errors.New("route_by_latency and route_randomly are for Redis Cluster"))
	}
	if o.TLSConfig != nil {
		o.TLSConfig.ServerName = "" // each Sentinel and the primary by its own address
	}
	if err := files.apply(o.TLSConfig); err != nil {
		return nil, err
	}
	o.SentinelUsername = sentinel.Username()
	o.SentinelPassword, _ = sentinel.Password()
	if data != nil { // otherwise the URL's parameters may name them
		o.Username = data.Username()
		o.Password, _ = data.Password()
	}
	o.ContextTimeoutEnabled = true
	o.DialerRetries = 1
	o.DisableIdentity = true
	client := redis.NewFailoverClient(o)
	client.AddHook(dialHook{})
	return client, nil
}

// unreadable conceals an error that quotes the URL.
func unreadable(err error) error {
	if quoting := new(url.Error); errors.As(err, &quoting) {
		return errMalformed
	}
	return fmt.Errorf("read the URL of the store: %w", err)
}

// clientLog takes what go-redis would print to standard error. Commands return
// the same as errors, hence debug.
type clientLog struct{ log *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
	}
}
