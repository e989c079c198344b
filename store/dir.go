package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// prepare makes and locks the directory and makes one for the socket. release
// undoes both.
func (c *child) prepare(ctx context.Context, dir string) (release func(), err error) {
	if dir == "" {
		return nil, errors.New("no data directory is given")
	}
	if c.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if c.lock, err = lockDir(ctx, c.dir); err != nil {
		return nil, err
	}
	sockets, err := os.MkdirTemp("", "frontpage-")
	if err == nil {
		sockets, err = filepath.Abs(sockets)
	}
	if err == nil && len(sockets) > 90 { // a socket's path has 103 bytes on some systems
		err = errors.Join(fmt.Errorf("%s is too long for a socket: set TMPDIR to a shorter directory", sockets), os.Remove(sockets))
	}
	if err != nil {
		return nil, errors.Join(err, c.lock.Close())
	}
	c.socket = filepath.Join(sockets, "redis")
	return func() {
		if err := errors.Join(os.RemoveAll(sockets), c.lock.Close()); err != nil {
			c.log.WarnContext(ctx, "cannot clean up after the private Redis", "err", err)
		}
	}, nil
}

// lockWait is for a child that still ends after its parent was killed.
const lockWait = 5 * time.Second

// lockDir locks the directory until the file is closed here and in every
// process that inherited it. The file stays where it is: whoever removed it
// would let two processes lock two files of one name.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
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
			return nil, errors.Join(fmt.Errorf("another Frontpage, or the Redis of one that was killed, uses %s: "+
				"stop it, set DATA_DIR to another directory, or share one server by REDIS_URL", dir), file.Close())
		}
	}
}
