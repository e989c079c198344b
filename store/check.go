package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var errCluster = errors.New("Redis Cluster is not supported yet: use a server that is not part of a cluster")

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

// await returns nil when the server replies to PING. It returns the last error when the server refuses the
// client, when it does not reply within replies or is still loading after loads, and when ended is closed.
func (s *Store) await(ctx context.Context, replies, loads time.Duration, ended <-chan struct{}) error {
	started := time.Now()
	deadline := started.Add(replies)
	var report time.Time
	var last error
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		attempt, cancel := context.WithDeadline(ctx, deadline)
		err := s.Client.Ping(attempt).Err()
		cancel()
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		var replied redis.Error
		switch {
		case err == nil:
			return nil
		case redis.HasErrorPrefix(err, "LOADING"):
			deadline = started.Add(loads)
			if time.Since(report) > reportEvery {
				report = time.Now()
				s.log.InfoContext(ctx, "waiting for Redis to load its data", "store", s.Address, "for", time.Since(started).Round(time.Second))
			}
		case errors.As(err, &replied), tlsFailed(err):
			return err
		}
		if time.Now().After(deadline) {
			return last
		}
		select {
		case <-tick.C:
		case <-ended:
			return last
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inspect rejects a server that Frontpage cannot run on and warns about one that may lose data. A server that
// does not allow INFO is accepted unchecked.
func (s *Store) inspect(ctx context.Context) error {
	text, err := s.Client.Info(ctx).Result()
	var replied redis.Error
	if errors.As(err, &replied) {
		s.log.DebugContext(ctx, "Redis does not allow INFO: its version and persistence are unknown", "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read its version: %w", err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}

	s.aof = info["aof_enabled"]
	if version := info["redis_version"]; version != "" {
		s.Version = "Redis " + version
		var major, minor int
		if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || major < 6 || major == 6 && minor < 2 {
			return fmt.Errorf("Redis %s is too old: Frontpage needs Redis 6.2 or later", version)
		}
	}
	if version := info["valkey_version"]; version != "" { // Valkey reports redis_version 7.2.4 for compatibility
		s.Version = "Valkey " + version
	}
	for _, mode := range []string{info["redis_mode"], info["server_mode"]} { // Valkey calls it server_mode
		switch mode {
		case "cluster":
			return errCluster
		case "sentinel":
			return errors.New("this is a Sentinel, not a data server: use redis+sentinel://host1,host2/master")
		}
	}

	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		s.log.WarnContext(ctx, "Redis may evict articles and votes when its memory is full: set its maxmemory-policy to noeviction",
			"store", s.Address, "maxmemory-policy", policy)
	}
	if s.aof == "0" {
		s.log.WarnContext(ctx, "a crash of Redis loses everything since its last snapshot: set its appendonly to yes",
			"store", s.Address)
	}
	return nil
}
