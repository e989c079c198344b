package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var errCluster = errors.New("this version of Frontpage does not run on Redis Cluster yet: name a server that is not part of one")

// How long a server is waited for: until it answers at all, and until it has
// loaded its data. A child either answers or ends, so its times only keep a
// hanging one from hanging us.
const (
	remoteAnswers = 4 * time.Second
	remoteLoads   = time.Minute
	childAnswers  = 30 * time.Second
	childLoads    = 24 * time.Hour
)

const (
	retryEvery  = 25 * time.Millisecond
	reportEvery = 5 * time.Second
)

// await returns when the server answers, or with its last error when it refuses,
// when the time for answering or loading is over, or when ended is closed.
func (s *Store) await(ctx context.Context, answers, loads time.Duration, ended <-chan struct{}) error {
	started := time.Now()
	deadline := started.Add(answers)
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
		var refusal redis.Error
		switch {
		case err == nil:
			return nil
		case redis.HasErrorPrefix(err, "LOADING"):
			deadline = started.Add(loads)
			if time.Since(report) > reportEvery {
				report = time.Now()
				s.log.InfoContext(ctx, "waiting for Redis to load its data", "store", s.Address, "for", time.Since(started).Round(time.Second))
			}
		case errors.As(err, &refusal), refusedInTLS(err):
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

// inspect refuses a server that Frontpage cannot run on, and warns about one
// that may lose data. A server that does not tell is taken as it is.
func (s *Store) inspect(ctx context.Context) error {
	text, err := s.Client.Info(ctx).Result()
	var refusal redis.Error
	if errors.As(err, &refusal) {
		s.log.DebugContext(ctx, "the server does not tell about itself", "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask for its version: %w", err)
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
			return fmt.Errorf("this is Redis %s, and Frontpage needs version 6.2 or later", version)
		}
	}
	if version := info["valkey_version"]; version != "" { // its redis_version stays 7.2.4
		s.Version = "Valkey " + version
	}
	for _, mode := range []string{info["redis_mode"], info["server_mode"]} { // server_mode in Valkey
		switch mode {
		case "cluster":
			return errCluster
		case "sentinel":
			return errors.New("this is a Sentinel: use redis+sentinel://host1,host2/master")
		}
	}

	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		s.log.WarnContext(ctx, "Redis may throw away votes and articles when its memory is full; set its maxmemory-policy to noeviction",
			"store", s.Address, "maxmemory-policy", policy)
	}
	if s.aof == "0" {
		s.log.WarnContext(ctx, "a crash of Redis loses what came after its last snapshot, or everything when it makes none; set its appendonly to yes",
			"store", s.Address)
	}
	return nil
}
