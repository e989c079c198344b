package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/redis/go-redis/v9"
)

// joining is a command's attempt to use the server of another process.
type joining struct {
	store *Store
	using *os.File
}

func (c *child) newJoining(o Options) (*joining, error) {
	using, err := c.openLock(joinedName)
	if err != nil {
		return nil, err
	}
	client, err := newClient(&url.URL{Scheme: "unix", Path: c.socket}, o)
	if err != nil {
		return nil, errors.Join(err, using.Close())
	}
	return &joining{using: using, store: &Store{Client: client, Kind: Child, Address: c.dir, joined: true, log: o.Log, stop: sync.OnceFunc(func() {
		if err := errors.Join(using.Close(), c.folder.Close()); err != nil {
			c.log.Warn("cannot leave the data directory", "err", err)
		}
	})}}, nil
}

func (j *joining) close() error { return errors.Join(j.store.Client.Close(), j.using.Close()) }

// try returns the store once the server replies, or, while it loads its data, the reason to wait. It returns
// neither while there is no server: it may be about to start, or to stop.
func (j *joining) try(ctx context.Context) (joined *Store, waiting string, err error) {
	// Before the server is used: a command that has started it waits until no other command uses it, and then lets
	// no other join.
	if locked, err := tryLock(j.using, false); !locked {
		return nil, "", err
	}
	err = j.store.Client.Ping(ctx).Err()
	switch {
	case err == nil:
		if err := j.store.inspect(ctx, childReplies, nil); err != nil {
			return nil, "", err
		}
		return j.store, "", nil
	case redis.HasErrorPrefix(err, "LOADING"):
		return nil, "waiting for Redis to load its data", nil
	}
	return nil, "", unlock(j.using)
}

// awaitJoined waits until no command of another process uses the server, and then lets no other join until the returned
// file is closed.
func (c *child) awaitJoined(ctx context.Context) (*os.File, error) {
	file, err := c.openLock(joinedName)
	if err != nil {
		return nil, err
	}
	for said := false; ; said = true {
		locked, err := tryLock(file, true)
		if locked || err != nil {
			return file, err
		}
		if !said {
			c.log.InfoContext(ctx, "waiting for another command that uses the private Redis of this one", "store", c.dir)
		}
		if err := sleep(ctx); err != nil {
			return file, err
		}
	}
}

// Explain adds to a command's error that the server whose child it used has stopped. It returns other errors, and nil,
// unchanged.
func (s *Store) Explain(err error) error {
	if err == nil || !s.joined {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingEvery)
	defer cancel()
	if s.Client.Ping(ctx).Err() == nil {
		return err
	}
	return fmt.Errorf("%w: the Frontpage that runs the private Redis in %s has stopped: run the command again", err, s.Address)
}

// Socket returns the path of a child's socket.
func (s *Store) Socket() string { return filepath.Join(s.Address, socketName) }
