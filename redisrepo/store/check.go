package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// How long to wait for a server: until it replies at all, and until it has loaded its data. A child either
// replies or exits, so its limits only guard against one that hangs; they are for a busy machine, too.
const (
	remoteReplies = 4 * time.Second
	remoteLoads   = time.Minute
	childReplies  = 30 * time.Second
	childLoads    = 24 * time.Hour
)

const (
	retryEvery  = 25 * time.Millisecond
	reportEvery = 5 * time.Second
)

// sleep waits before another attempt. It returns an error if ctx ends before.
func sleep(ctx context.Context) error {
	select {
	case <-time.After(retryEvery):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await repeats a call until it succeeds. It returns the last error when a server refuses the client, when
// none replies within replies, when it is still loading, or a failover goes on, after loads, and when ended is closed.
func (s *Store) await(ctx context.Context, call func(context.Context) error, replies, loads time.Duration, ended <-chan struct{}) error {
	started := time.Now()
	deadline := started.Add(replies)
	var report time.Time
	var last error
	for {
		attempt, cancel := context.WithDeadline(ctx, deadline)
		err := call(attempt)
		cancel()
		if last == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
			last = err // a timeout says less than what failed before it
		}
		var failover failoverError
		waiting := ""
		switch {
		case err == nil:
			return nil
		case redis.HasErrorPrefix(err, "LOADING"):
			waiting = "waiting for Redis to load its data"
		case errors.As(err, &failover):
			waiting = "waiting for " + failover.missing
		case errors.As(err, new(redis.Error)), tlsFailed(err):
			return err
		}
		if waiting != "" {
			deadline = started.Add(loads)
		}
		if waiting == "" && s.Kind == Child && time.Since(started) > time.Second {
			waiting = "waiting for the private Redis to start"
		}
		if waiting != "" && time.Since(report) > reportEvery {
			report = time.Now()
			s.log.InfoContext(ctx, waiting, "store", s.Address, "for", time.Since(started).Round(time.Second), "err", err)
		}
		if time.Now().After(deadline) {
			return last
		}
		select {
		case <-time.After(retryEvery):
		case <-ended:
			return last
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Store) ping(ctx context.Context) error {
	if cluster, ok := s.Client.(*redis.ClusterClient); ok {
		return pingCluster(ctx, cluster)
	}
	err := s.Client.Ping(ctx).Err()
	if s.sentinels && err != nil && isNetwork(err) && !strings.Contains(err.Error(), noSentinel) {
		return failoverError{"a primary that replies: the one that the Sentinels name does not", err}
	}
	return err
}

// noSentinel is go-redis' error if no Sentinel replies.
const noSentinel = "all sentinels specified in configuration are unreachable"

// failoverError says what is missing, perhaps only until a replica takes over.
type failoverError struct {
	missing string
	error
}

func (e failoverError) Unwrap() error { return e.error }

func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF)
}

// inspect rejects a server that Frontpage cannot run on and warns about one that may lose data. A server that
// does not allow INFO is accepted unchecked. It has replied before, so that it gets time: it may be busy.
func (s *Store) inspect(ctx context.Context, replies time.Duration, ended <-chan struct{}) error {
	if cluster, ok := s.Client.(*redis.ClusterClient); ok {
		return s.inspectCluster(ctx, cluster)
	}
	var info map[string]string
	err := s.await(ctx, func(ctx context.Context) (err error) {
		info, err = s.readInfo(ctx, s.Client)
		return err
	}, replies, replies, ended)
	if err != nil {
		return err
	}
	if err := s.checkVersion(info, "6.2"); err != nil {
		return err
	}
	s.aof = info["aof_enabled"]
	switch cmp.Or(info["redis_mode"], info["server_mode"]) { // Valkey calls it server_mode
	case "cluster":
		return errors.New("this is a node of a Redis Cluster: use redis+cluster://host1,host2, or rediss+cluster:// with TLS")
	case "sentinel":
		return errors.New("this is a Sentinel, not a data server: use redis+sentinel://host1,host2/master")
	}

	if evicts(info) {
		s.log.WarnContext(ctx, "Redis may evict articles and votes when its memory is full: set its maxmemory-policy to noeviction",
			"store", s.Address, "maxmemory-policy", info["maxmemory_policy"])
	}
	if s.aof == "0" {
		s.log.WarnContext(ctx, "a crash of Redis loses everything since its last snapshot: set its appendonly to yes",
			"store", s.Address)
	}
	return nil
}

// readInfo returns the fields of INFO, or none if the server does not allow it.
func (s *Store) readInfo(ctx context.Context, server redis.Cmdable) (map[string]string, error) {
	text, err := server.Info(ctx).Result()
	if errors.As(err, new(redis.Error)) {
		s.log.DebugContext(ctx, "Redis does not allow INFO: its version and persistence are unknown", "err", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read its version: %w", err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info, nil
}

// checkVersion sets Version to a server's, and returns an error if it is older than minimum. Valkey reports
// redis_version 7.2.4 for compatibility.
func (s *Store) checkVersion(info map[string]string, minimum string) error {
	version := info["redis_version"]
	if version == "" {
		return nil
	}
	var major, minor, minimumMajor, minimumMinor int
	_, _ = fmt.Sscanf(minimum, "%d.%d", &minimumMajor, &minimumMinor)
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || major < minimumMajor || major == minimumMajor && minor < minimumMinor {
		return fmt.Errorf("Redis %s is too old: Frontpage needs Redis %s or later", version, minimum)
	}
	s.Version = "Redis " + version
	if valkey := info["valkey_version"]; valkey != "" {
		s.Version = "Valkey " + valkey
	}
	return nil
}

func evicts(info map[string]string) bool {
	policy := info["maxmemory_policy"]
	return policy != "" && policy != "noeviction"
}
