package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	backupName  = "backup"    // locked by a backup
	dumpName    = "dump.rdb"  // Redis' own snapshot; it starts from its append-only file
	stagingName = "restoring" // where a restore prepares the data
	aofName     = "appendonly.aof"
	aofFolder   = "appendonlydir" // since Redis 7
)

// ErrNotPrivate is the error of Backup and Restore for a store that is not a Child.
var ErrNotPrivate = errors.New("only the private server can be backed up and restored by Frontpage")

// Snapshot is a finished backup.
type Snapshot struct {
	Bytes  int64
	SHA256 string
}

// Backup writes a snapshot of a child's data to a file: all writes acknowledged before the call, as of one moment.
// Redis keeps serving. The file is an RDB file; it replaces a file at path only when it is complete, verified and on
// disk.
func (s *Store) Backup(ctx context.Context, path string) (done Snapshot, err error) {
	if s.Kind != Child {
		return done, ErrNotPrivate
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return done, fmt.Errorf("%s is not a regular file: name the file to write", path)
	}
	c := &child{}
	if err := c.openFolder(Options{DataDir: s.Address}); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, c.folder.Close()) }()
	guard, err := c.openLock(backupName)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	if locked, err := tryLock(guard, true); !locked {
		return done, errors.Join(fmt.Errorf("another backup of %s runs", s.Address), err)
	}
	// A program that is being started has a copy of the file for a moment, and with it the lock.
	defer func() { err = errors.Join(err, unlock(guard)) }()
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return done, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		}
	}()
	dump, err := s.snapshot(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, dump.Close(), os.Remove(dump.Name())) }()
	if done, err = copyRDB(file, dump); err != nil {
		return done, fmt.Errorf("%s: %w", dump.Name(), err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return done, err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return done, err
	}
	return done, syncFolder(filepath.Dir(path))
}

// snapshotWait is how long Redis may neither write a snapshot nor its append-only file again before a requested
// snapshot counts as failed.
const snapshotWait = 20 * time.Second

// snapshot has Redis write a snapshot, and opens it.
func (s *Store) snapshot(ctx context.Context) (*os.File, error) {
	path := filepath.Join(s.Address, dumpName)
	requested, deadline := false, time.Now().Add(snapshotWait)
	for {
		if !requested {
			err := unless(os.ErrNotExist, os.Remove(path))
			if err != nil {
				return nil, err
			}
			if requested, err = request(ctx, s.Client, "bgsave", "schedule"); err != nil { // once Redis has rewritten its append-only file, if it does
				return nil, fmt.Errorf("write a snapshot: %w", err)
			}
		}
		file, err := os.Open(path) // #nosec G304 -- Redis gives it this name when it is complete
		if requested && !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
		info, err := s.readInfo(ctx, s.Client)
		var network net.Error
		if isLate := errors.As(err, &network) && network.Timeout(); err != nil && (!isLate || time.Now().After(deadline)) {
			return nil, err // a server that forks, or whose disk is busy, may reply late
		}
		if info["rdb_bgsave_in_progress"] == "1" || info["aof_rewrite_in_progress"] == "1" {
			deadline = time.Now().Add(snapshotWait)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("Redis could not write a snapshot: see %s; does its disk have room for a second copy?", filepath.Join(s.Address, logName))
		}
		if err := sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// jones is the polynomial of the checksum of an RDB file. Unlike in hash/crc64, its register begins and ends as it is.
var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

// copyRDB copies an RDB file, and verifies that it is complete.
func copyRDB(to io.Writer, from io.Reader) (done Snapshot, err error) {
	const trailer = 9 // the mark of the end, and the checksum of all before it
	digest := sha256.New()
	in, out := bufio.NewReaderSize(from, 1<<20), io.MultiWriter(to, digest)
	magic, err := in.Peek(9)
	if err != nil || !bytes.HasPrefix(magic, []byte("REDIS")) && !bytes.HasPrefix(magic, []byte("VALKEY")) {
		return done, errors.Join(errors.New("this is not a backup: it is no RDB file"), unless(io.EOF, err))
	}
	crc := ^uint64(0)
	for {
		part, err := in.Peek(in.Size())
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return done, err
		}
		n := len(part)
		if !last {
			n -= trailer // which may be all that follows
		}
		if _, err := out.Write(part[:n]); err != nil {
			return done, err
		}
		done.Bytes += int64(n)
		if !last {
			crc = crc64.Update(crc, jones, part[:n])
			if _, err := in.Discard(n); err != nil {
				return done, err
			}
			continue
		}
		if n < trailer {
			return done, io.ErrUnexpectedEOF
		}
		crc = ^crc64.Update(crc, jones, part[:n-8])
		if found := binary.LittleEndian.Uint64(part[n-8:]); part[n-trailer] != 0xff || found != crc && found != 0 { // 0: without
			return done, errors.New("the backup is damaged or cut short: its checksum is wrong")
		}
		done.SHA256 = hex.EncodeToString(digest.Sum(nil))
		return done, nil
	}
}

// unless returns the error, or nil if it is the expected one.
func unless(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func syncFolder(path string) error {
	folder, err := os.Open(path) // #nosec G304 -- an operator names it
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Restore puts a backup into a data directory that is empty or does not exist. Redis first loads the data in a separate
// folder, where check may reject them; then they are moved in one step. If it is interrupted, no server starts in the
// directory until the restore is run again.
func Restore(ctx context.Context, path string, o Options, check func(context.Context, redis.UniversalClient) error) (done Snapshot, err error) {
	if err := o.complete(); err != nil {
		return done, err
	}
	if scheme, _, _ := strings.Cut(o.URL, "://"); scheme != "" && scheme != "spawn" {
		return done, ErrNotPrivate
	}
	o.DataDir = o.Directory()
	backup, err := os.Open(path) // #nosec G304 -- an operator names it
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, backup.Close()) }()
	if done, err = copyRDB(io.Discard, backup); err != nil {
		return done, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := backup.Seek(0, io.SeekStart); err != nil {
		return done, err
	}
	c := &child{log: o.Log}
	if err := c.openFolder(o); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, c.folder.Close()) }()
	if c.lock, err = c.openLock(lockName); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, c.lock.Close()) }()
	if _, err := c.lockOrJoin(ctx, o, nil); err != nil {
		return done, err
	}
	if err := c.mustBeEmpty(); err != nil {
		return done, err
	}
	return done, c.restore(ctx, backup, o, check)
}

// mustBeEmpty returns an error if the directory has data.
func (c *child) mustBeEmpty() error {
	entries, err := os.ReadDir(c.dir)
	for _, entry := range entries {
		switch entry.Name() {
		case lockName, joinedName, backupName, logName, stagingName, "lost+found":
		default:
			return fmt.Errorf("%s is not empty, it has %s: restore into another directory, or move what it has away", c.dir, entry.Name())
		}
	}
	return err
}

// restore is Restore for a locked and empty directory.
func (c *child) restore(ctx context.Context, backup io.Reader, o Options, check func(context.Context, redis.UniversalClient) error) error {
	staging := filepath.Join(c.dir, stagingName)
	if err := errors.Join(os.RemoveAll(staging), os.Mkdir(staging, 0o700)); err != nil {
		return err
	}
	if c.uid >= 0 {
		if err := os.Chown(staging, c.uid, c.gid); err != nil {
			return err
		}
	}
	// An append-only file may begin with an RDB file. Redis 7 moves it to where it now keeps such files.
	file, err := c.open(filepath.Join(stagingName, aofName), os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = copyRDB(file, backup)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	o.URL, o.DataDir = "", staging
	s, err := openChild(ctx, o)
	if err != nil {
		return err
	}
	if err := errors.Join(check(ctx, s.Client), s.Close()); err != nil {
		return err
	}
	for _, name := range []string{aofFolder, aofName} {
		err := os.Rename(filepath.Join(staging, name), filepath.Join(c.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		return errors.Join(err, syncFolder(c.dir), os.RemoveAll(staging))
	}
	return errors.New("the private Redis wrote no append-only file")
}

// mustBeRestored returns an error if a restore into the directory was interrupted.
func (c *child) mustBeRestored() error {
	for _, name := range []string{aofFolder, aofName} {
		if _, err := os.Stat(filepath.Join(c.dir, stagingName, name)); err == nil {
			return fmt.Errorf("a restore into %s was interrupted: run it again, or remove %s", c.dir, filepath.Join(c.dir, stagingName))
		}
	}
	return nil
}
