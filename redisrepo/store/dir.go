package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxSocketPath is what all systems allow for the path of a socket, in bytes. Linux allows 107.
const maxSocketPath = 103

const (
	lockName   = "lock"
	joinedName = "joined" // locked by each command that uses the server of another process
)

// makeDataDir creates the data directory, unless it is there.
func (o Options) makeDataDir() error {
	if o.DataDir == "" {
		return &OptionError{fmt.Errorf("%s is not set", o.name("DataDir"))}
	}
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return &OptionError{fmt.Errorf("%s: the data directory cannot be made: %w", o.name("DataDir"), err)}
	}
	return nil
}

// openFolder creates and opens the data directory, makes it private, and checks that clients can reach a socket in it.
func (c *child) openFolder(o Options) (err error) {
	if err := o.makeDataDir(); err != nil {
		return err
	}
	if c.dir, err = filepath.Abs(o.DataDir); err != nil {
		return err
	}
	if c.folder, err = os.Open(c.dir); err != nil {
		return fmt.Errorf("%s: the data directory cannot be opened: %w", o.name("DataDir"), err)
	}
	if err := c.makePrivate(o); err != nil {
		return errors.Join(err, c.folder.Close())
	}
	c.uid, c.gid = foreignOwner(c.folder)
	where := c.dir
	if len(where) >= 80 {
		where = openPath(c.folder) // shorter, if the system has another path to it
	}
	if c.socket = filepath.Join(where, socketName); len(c.socket) > maxSocketPath {
		return errors.Join(fmt.Errorf("the path %s is too long for a socket: set %s to a shorter one", c.dir, o.name("DataDir")), c.folder.Close())
	}
	return nil
}

// release removes the socket and unlocks the directory.
func (c *child) release() {
	// Redis removes its socket, unless it was killed.
	if err := os.Remove(c.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.log.Warn("cannot clean up after the private Redis: check the data directory", "err", err)
	}
	if err := errors.Join(c.lock.Close(), c.folder.Close()); err != nil {
		c.log.Warn("cannot unlock the data directory", "err", err)
	}
}

// lockWait is how long to wait for a child that is still shutting down after its parent was killed.
const lockWait = 5 * time.Second

// lockDir locks the directory until c.lock is closed here and in every process that inherited it. The file is never
// removed: otherwise two processes could lock two files of the same name. A server waits for a command that holds the
// lock. A command joins the server that a holder of the lock runs, and then returns its store.
func (c *child) lockDir(ctx context.Context, o Options) (joined *Store, err error) {
	if c.lock, err = c.openLock(lockName); err != nil {
		return nil, err
	}
	var other *joining
	if o.Command != "" {
		if other, err = c.newJoining(o); err != nil {
			return nil, errors.Join(err, c.lock.Close())
		}
	}
	joined, err = c.lockOrJoin(ctx, o, other)
	if other != nil && joined == nil {
		err = errors.Join(err, other.close())
	}
	if joined != nil || err != nil {
		err = errors.Join(err, c.lock.Close())
	}
	return joined, err
}

func (c *child) openLock(name string) (*os.File, error) {
	return c.open(name, os.O_CREATE|os.O_RDWR)
}

// open opens a file in the directory, and gives it to the directory's owner if this process is root.
func (c *child) open(name string, flags int) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(c.dir, name), flags, 0o600) // #nosec G304 -- the directory is a setting
	if err == nil && c.uid >= 0 {
		err = file.Chown(c.uid, c.gid)
	}
	return file, err
}

func (c *child) lockOrJoin(ctx context.Context, o Options, other *joining) (*Store, error) {
	deadline := time.Now().Add(lockWait)
	var report time.Time
	for {
		locked, err := tryLock(c.lock, true)
		if locked {
			return nil, writeHolder(c.lock, o.Command)
		}
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", c.dir, err)
		}
		waiting, holder := "", readHolder(c.lock)
		switch {
		case other != nil:
			var joined *Store
			if joined, waiting, err = other.try(ctx); joined != nil || err != nil {
				return joined, err
			}
		case holder.isCommand():
			waiting = "waiting for a command that uses the data directory"
		}
		if waiting != "" {
			deadline = time.Now().Add(lockWait)
			if time.Since(report) > reportEvery {
				report = time.Now()
				c.log.InfoContext(ctx, waiting, "store", c.dir, "used_by", holder.String())
			}
		}
		if err := sleep(ctx); err != nil || time.Now().After(deadline) {
			return nil, errors.Join(c.errInUse(o, holder), err)
		}
	}
}

func (c *child) errInUse(o Options, holder holder) error {
	if holder.isCommand() {
		return fmt.Errorf("%s is in use by %v: wait until it ends", c.dir, holder)
	}
	return fmt.Errorf("%s is in use by another Frontpage, or by the Redis of one that was killed: stop it (redis-cli -s %s shutdown stops that Redis), "+
		"set %s to another directory, or share one Redis through %s", c.dir, filepath.Join(c.dir, socketName), o.name("DataDir"), o.name("URL"))
}

// holder is the process that has locked the directory, as the file says: one that has just locked it may not have
// written it yet.
type holder struct {
	command string // empty: the server
	pid     int
}

func (h holder) String() string {
	return strings.TrimSpace("frontpage "+h.command) + " (process " + strconv.Itoa(h.pid) + ")"
}

// isCommand reports whether the holder is a command that runs.
func (h holder) isCommand() bool {
	return h.command != "" && runs(h.pid)
}

func writeHolder(lock *os.File, command string) error {
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err := lock.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), command), 0)
	return err
}

func readHolder(lock *os.File) holder {
	text := make([]byte, 100)
	n, _ := lock.ReadAt(text, 0)
	pid, command, _ := strings.Cut(strings.TrimSpace(string(text[:n])), " ")
	h := holder{command: command}
	h.pid, _ = strconv.Atoi(pid)
	return h
}
