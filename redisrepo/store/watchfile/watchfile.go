// Package watchfile reloads values made from files, such as certificates, when the files change.
package watchfile

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Interval is the maximum time for which a value is used after its files have changed.
const Interval = time.Second

// Files is a value made from the contents of files. It is made again when they change.
//
// The files are read when the value is used, at most once in each Interval, so nothing has to be started or stopped.
// They may be replaced by writing, renaming or relinking, and must be regular files.
type Files[T any] struct {
	paths   []string
	convert func(contents [][]byte) (T, error)
	log     *slog.Logger
	now     func() time.Time

	current atomic.Pointer[T]

	mu      sync.Mutex // guards the fields below
	next    time.Time  // when the files are read again
	seen    [][]byte   // what they contained
	problem string     // why the latest contents are not used; empty if they are
}

var errNotRegular = errors.New("not a regular file")

// Read reads the files and converts their contents to a value. The error of a file that cannot be read is a
// [fs.PathError].
func Read[T any](log *slog.Logger, convert func(contents [][]byte) (T, error), paths ...string) (*Files[T], error) {
	f := &Files[T]{paths: paths, convert: convert, log: log, now: time.Now}
	contents, err := f.read()
	if err != nil {
		return nil, err
	}
	value, err := convert(contents)
	if err != nil {
		return nil, err
	}
	f.current.Store(&value)
	f.seen, f.next = contents, f.now().Add(Interval)
	return f, nil
}

// Latest returns the value. While the contents of the files are invalid, it returns the last valid value, and the log
// says why.
func (f *Files[T]) Latest() T {
	if f.mu.TryLock() { // while the files are read, other callers do not wait
		defer f.mu.Unlock()
		if now := f.now(); !now.Before(f.next) {
			f.next = now.Add(Interval)
			f.refresh()
		}
	}
	return *f.current.Load()
}

func (f *Files[T]) refresh() {
	contents, err := f.read()
	if err == nil {
		if slices.EqualFunc(contents, f.seen, bytes.Equal) {
			f.problem = ""
			return
		}
		var value T
		if value, err = f.convert(contents); err == nil {
			f.current.Store(&value)
			f.seen, f.problem = contents, ""
			f.log.Info("reloaded changed files", "files", f.paths)
			return
		}
	}
	if err.Error() != f.problem { // once
		f.problem = err.Error()
		f.log.Warn("changed files cannot be used: fix them; the last contents stay in use", "files", f.paths, "err", err)
	}
}

func (f *Files[T]) read() ([][]byte, error) {
	contents := make([][]byte, len(f.paths))
	for i, path := range f.paths {
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			err = &fs.PathError{Op: "read", Path: path, Err: errNotRegular} // reading a pipe would wait for its writer
		}
		if err == nil {
			contents[i], err = os.ReadFile(path) // #nosec G304 -- the path is a setting
		}
		if err != nil {
			return nil, err
		}
	}
	return contents, nil
}
