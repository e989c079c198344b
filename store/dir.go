package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// maxSocketPath is what all systems allow for the path of a socket, in bytes. Linux allows 107.
const maxSocketPath = 103

// prepare creates and locks the data directory, and checks that clients can reach its socket. release removes the
// socket and unlocks the directory.
func (c *child) prepare(ctx context.Context, o Options) (release func(), err error) {
	if o.DataDir == "" {
		return nil, fmt.Errorf("%s is not set", o.name("DataDir"))
	}
	if c.dir, err = filepath.Abs(o.DataDir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if c.folder, err = os.Open(c.dir); err != nil {
		return nil, err
	}
	if c.socket = filepath.Join(shortPath(c.folder), socketName); len(c.socket) > maxSocketPath {
		return nil, errors.Join(fmt.Errorf("the path %s is too long for a socket: set %s to a shorter one", c.dir, o.name("DataDir")), c.folder.Close())
	}
	if c.lock, err = lockDir(ctx, c.dir, o); err != nil {
		return nil, errors.Join(err, c.folder.Close())
	}
	return func() {
		// Redis removes its socket, unless it was killed.
		if err := os.Remove(c.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			c.log.WarnContext(ctx, "cannot clean up after the private Redis", "err", err)
		}
		if err := errors.Join(c.lock.Close(), c.folder.Close()); err != nil {
			c.log.WarnContext(ctx, "cannot unlock the data directory", "err", err)
		}
	}, nil
}

// lockWait is how long to wait for a child that is still shutting down after its parent was killed.
const lockWait = 5 * time.Second

// lockDir locks the directory until the returned file is closed here and in every process that inherited it.
// The file is never removed: otherwise two processes could lock two files of the same name.
func lockDir(ctx context.Context, dir string, o Options) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- the directory is a setting
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		locked, err := tryLock(file)
		if locked {
			return file, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("%s is in use by another Frontpage, or by the Redis of one that was killed: "+
				"stop it, set %s to another directory, or share one Redis through %s", dir, o.name("DataDir"), o.name("URL")), file.Close())
		}
	}
}
