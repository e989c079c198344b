package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	socketName = "redis.sock"
	logName    = "redis.log"
	stopWithin = 5 * time.Second
	minPause   = 50 * time.Millisecond // before a restart; doubled up to maxPause
	maxPause   = 5 * time.Second
)

// child runs a private server and restarts it whenever it exits.
type child struct {
	path   string // the program
	dir    string
	socket string   // in dir; a short path to it
	folder *os.File // dir
	lock   *os.File
	log    *slog.Logger
	store  *Store // its client is for the server
	memory uint64 // Options.Memory

	uid, gid int  // owner of dir, if this process is root and the owner is not; otherwise -1
	command  bool // it is root's for a moment only: the server runs as the owner

	replied atomic.Bool   // whether the server that now runs has replied
	settled atomic.Bool   // whether the start has succeeded or failed, whichever came first
	ended   chan struct{} // closed when no server runs and none will be started
	err     error         // why the start failed; read it only after ended is closed
}

// openChild starts a private server or, for a command, joins the one that another process runs.
func openChild(ctx context.Context, o Options) (*Store, error) {
	c := &child{path: serverPath(), log: o.Log, memory: o.Memory, command: o.Command != "", ended: make(chan struct{})}
	if c.path == "" {
		return nil, errors.New("start a private Redis: no redis-server or valkey-server on PATH, or this system cannot run one as a child process")
	}
	if err := c.openFolder(o); err != nil {
		return nil, fmt.Errorf("start a private Redis: %w", err)
	}
	if joined, err := c.lockDir(ctx, o); joined != nil || err != nil {
		if err != nil {
			err = errors.Join(fmt.Errorf("start a private Redis: %w", err), c.folder.Close())
		}
		return joined, err
	}
	err := c.mustBeRestored()
	var client *redis.Client
	if err == nil {
		client, err = newClient(&url.URL{Scheme: "unix", Path: c.socket}, o)
	}
	if err != nil {
		c.release()
		return nil, fmt.Errorf("start a private Redis: %w", err)
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Store{Client: client, Kind: Child, Address: c.dir, log: o.Log, stop: sync.OnceFunc(func() {
		var last *os.File
		if o.Command != "" {
			last, _ = c.awaitJoined(ctx) // without success they fail, and say so
		}
		cancel()
		<-c.ended
		c.release()
		_ = last.Close() // nil is an error that does not matter
	})}
	c.store = s
	go c.run(serving)
	err = s.await(ctx, s.ping, childReplies, childLoads, c.ended)
	if err == nil {
		c.replied.Store(true)
		err = s.inspect(ctx, childReplies, c.ended)
	}
	if err == nil && c.settled.CompareAndSwap(false, true) {
		return s, nil
	}
	err = errors.Join(err, s.Close())
	if c.err != nil {
		err = c.err // says more than the client's failed connection
	}
	return nil, fmt.Errorf("start %s in %s: %w", c.path, c.dir, err)
}

// run serves until ctx ends, restarting the server when it exits. It keeps a thread of its own: on Linux the
// child gets SIGTERM when the thread that started it ends.
func (c *child) run(ctx context.Context) {
	runtime.LockOSThread()
	defer close(c.ended)
	var told time.Time // when the last line was logged
	failures := 0      // since then
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		started := time.Now()
		err := c.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if c.settled.CompareAndSwap(false, true) {
			c.err = err
			return
		}
		if time.Since(started) > time.Minute {
			pause = minPause
		}
		if failures++; time.Since(told) > time.Minute {
			c.log.ErrorContext(ctx, "the private Redis failed: restarting it", "store", c.dir, "failures", failures, "err", err)
			told, failures = time.Now(), 0
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// serve runs the server once, until it exits, watch finds it useless, or ctx ends. Its error is never nil. If the append-only file
// ends within a write, serve cuts that off, and runs the server again.
func (c *child) serve(ctx context.Context) error {
	out, err := c.open(logName, os.O_CREATE|os.O_APPEND|os.O_RDWR)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // the child has its own descriptor
	for {
		info, err := out.Stat()
		if err != nil {
			return err
		}
		err = c.serveAs(ctx, out)
		if ctx.Err() == nil && isTorn(out, info.Size()) {
			err = cmp.Or(c.cut(ctx, out), errTorn)
		}
		if !errors.Is(err, errTorn) {
			return fmt.Errorf("%w; last lines of its %s: %s", err, logName, tail(out))
		}
	}
}

// serveAs is serve without a cut.
func (c *child) serveAs(ctx context.Context, out *os.File) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	cmd := c.server(ctx, out, socketName, "no")
	c.replied.Store(false)
	if err := startPrivate(cmd); err != nil {
		return err
	}
	var watching sync.WaitGroup
	var useless error
	watching.Go(func() {
		useless = c.watch(ctx)
		end()
	})
	err := cmd.Wait()
	end()
	watching.Wait()
	return cmp.Or(useless, err, errors.New("it was shut down from outside"))
}

// server returns the command that runs a server on a socket. truncated is yes if it cuts off the end of an append-only file that
// ends within a write.
func (c *child) server(ctx context.Context, out *os.File, socket, truncated string) *exec.Cmd {
	// #nosec G204 -- the program is the redis-server or valkey-server of PATH
	cmd := exec.CommandContext(ctx, c.path,
		// A relative path: a socket's has at most 107 bytes, on some systems 103.
		"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--daemonize", "no",
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--dbfilename", dumpName, "--maxmemory-policy", "noeviction",
		"--aof-load-truncated", truncated,
		"--hash-max-ziplist-value", "512") // the name that all versions know; keeps hashes with values up to 512 bytes compact
	cmd.Dir = c.dir // where Redis writes its data
	cmd.Stdout, cmd.Stderr = out, out
	// The lock is held as long as any process has the file open: no second server can start on this directory
	// while this one runs, even if Frontpage is killed.
	cmd.ExtraFiles = []*os.File{c.lock}
	cmd.SysProcAttr = processAttributes()
	if c.command && c.uid >= 0 {
		runAs(cmd.SysProcAttr, c.uid, c.gid)
		cmd.Dir = openPath(c.folder) // the owner may have no right to the directories above, as with systemd's DynamicUser
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	return cmd
}

// serverPath returns the path of redis-server or valkey-server, or "" if this system has neither or cannot run
// it as a child.
func serverPath() string {
	if !canRunChild {
		return ""
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// tail returns up to 5 of the last lines of a log, 800 bytes at most.
func tail(file *os.File) string {
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	text := make([]byte, min(info.Size(), 800))
	if _, err := file.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// A server that was killed may leave an append-only file that ends within a write. Redis cuts that off when it loads the file, but a
// transaction only if the file ends between two of its commands: otherwise it leaves those before, and runs them together with the
// first transaction that is appended, at the next start. So a server that has clients does not load such a file. Another one, which
// has none, loads it as often as it takes: the first time it cuts off a part of a command, and the second time the transaction.

// cutSocket is the socket of the server that cuts the file.
const cutSocket = "cut.sock"

// tornText is what Redis logs when it does not load such a file.
const tornText = "Unexpected end of file reading the append only file"

var errTorn = errors.New("the append-only file ends within a write")

// isTorn reports whether the log has tornText from an offset on.
func isTorn(log *os.File, from int64) bool {
	text, err := io.ReadAll(io.NewSectionReader(log, from, 1<<20))
	return err == nil && bytes.Contains(text, []byte(tornText))
}

// cut has a server load the append-only file, which cuts off its end.
func (c *child) cut(ctx context.Context, out *os.File) error {
	c.log.WarnContext(ctx, "the append-only file of the private Redis ends within a write: what was not written completely is cut off, see "+logName, "store", c.dir)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := c.server(ctx, out, cutSocket, "yes")
	if err := startPrivate(cmd); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return fmt.Errorf("cut the append-only file: %w", err)
		case <-time.After(retryEvery):
		}
		if first, err := ping(ctx, filepath.Join(filepath.Dir(c.socket), cutSocket)); err == nil && first == '+' { // an error while it loads
			stop()
			<-done //nolint:errcheck // it was stopped
			return nil
		}
	}
}
