package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Rewrite makes every Redis of the store, also replicas of a cluster, rewrite its files, so that they contain no
// removed data: the append-only file, if there is one, and the snapshot, which a child does not have. It waits for all,
// and returns a phrase for each that describes what it did.
func (s *Store) Rewrite(ctx context.Context) (did []string, err error) {
	var mu sync.Mutex
	on := func(ctx context.Context, node *redis.Client) error {
		text, err := s.rewriteOn(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		did = append(did, text)
		return err
	}
	if cluster, ok := s.Client.(*redis.ClusterClient); ok {
		err = cluster.ForEachShard(ctx, on)
		return did, err
	}
	return did, on(ctx, s.Client.(*redis.Client))
}

func (s *Store) rewriteOn(ctx context.Context, node *redis.Client) (did string, err error) {
	address := node.Options().Addr
	info, err := s.readInfo(ctx, node)
	if err != nil {
		return "", err
	}
	if info["aof_enabled"] == "1" {
		if err := s.writeAgain(ctx, node, "aof_last_bgrewrite_status", "bgrewriteaof"); err != nil {
			return "", fmt.Errorf("write the append-only file of %s again: %w", address, err)
		}
		did = "its append-only file"
	}
	if s.Kind != Child {
		if err := s.writeAgain(ctx, node, "rdb_last_bgsave_status", "bgsave", "schedule"); err != nil {
			return "", fmt.Errorf("write a snapshot of %s: %w", address, err)
		}
		did = strings.TrimPrefix(did+" and a snapshot", " and ")
	}
	return fmt.Sprintf("%s has written %s", address, did), nil
}

// request sends a command that writes in the background, and reports false while another one does.
func request(ctx context.Context, node redis.UniversalClient, command ...any) (accepted bool, err error) {
	if err = node.Do(ctx, command...).Err(); err != nil && strings.Contains(err.Error(), "in progress") {
		return false, nil
	}
	return err == nil, err
}

// writeAgain runs a command that writes in the background, and waits for its end.
func (s *Store) writeAgain(ctx context.Context, node *redis.Client, status string, command ...any) error {
	for requested := false; ; {
		if !requested {
			var err error
			if requested, err = request(ctx, node, command...); err != nil {
				return err
			}
		}
		info, err := s.readInfo(ctx, node)
		switch {
		case err != nil:
			return err
		case info["rdb_bgsave_in_progress"]+info["aof_rewrite_in_progress"]+info["aof_rewrite_scheduled"] != "000":
		case requested && info[status] != "ok":
			return errors.New("it failed: see the log of Redis")
		case requested:
			return nil
		}
		if err := sleep(ctx); err != nil {
			return err
		}
	}
}
