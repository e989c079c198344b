package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/settings"
	"frontpage/store"
)

type backup struct {
	File string `arg:"" type:"path" help:"The file to write, an RDB file. An existing one is replaced once the backup is complete."`
}

// Run writes a snapshot, and prints its size and its SHA-256.
func (b *backup) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) (err error) {
	st, err := store.Open(ctx, batchOptions(s, log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(st.Explain(err), st.Close()) }()
	done, err := st.Backup(ctx, b.File)
	if err != nil {
		return ownRedis(err)
	}
	fmt.Printf("%s: %d bytes, SHA-256 %s\n", b.File, done.Bytes, done.SHA256)
	return nil
}

type restore struct {
	File string `arg:"" type:"existingfile" help:"A file that backup wrote."`
}

// Run restores the backup, unless it is not that of a site.
func (r *restore) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	o := batchOptions(s, log)
	articles := 0
	done, err := store.Restore(ctx, r.File, o, func(ctx context.Context, client redis.UniversalClient) (err error) {
		articles, err = redisrepo.Stored(ctx, client)
		return err
	})
	if err != nil {
		return ownRedis(err)
	}
	fmt.Printf("restored %d articles, %d bytes with SHA-256 %s, into %s\n", articles, done.Bytes, done.SHA256, o.Directory())
	return nil
}

// ownRedis says what to do with a store that Frontpage does not run.
func ownRedis(err error) error {
	if errors.Is(err, store.ErrNotPrivate) {
		return settings.Invalid(fmt.Errorf("%w: copy a Redis of your own by redis-cli --rdb FILE or by its own snapshots, and any site by frontpage export", err), "redis-url")
	}
	return err
}
