package store

import (
	"context"
	"errors"
	"fmt"
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
)

const (
	logName    = "redis.log"
	stopWithin = 5 * time.Second
	minPause   = 50 * time.Millisecond // before a child that ended is started again
	maxPause   = 5 * time.Second
)

// child runs a private server, and starts it again whenever it ends.
type child struct {
	path   string // the program
	dir    string
	socket string
	lock   *os.File
	log    *slog.Logger

	settled atomic.Bool   // the start has succeeded or failed, whichever was first
	ended   chan struct{} // closed when no server runs and none will be started
	err     error         // why the start failed; to be read after ended
}

func openChild(ctx context.Context, o Options) (*Store, error) {
	c := &child{path: serverPath(), log: o.Log, ended: make(chan struct{})}
	if c.path == "" {
		return nil, errors.New("start a private Redis: there is no redis-server or valkey-server on PATH, or this system cannot run one as a child")
	}
	release, err := c.prepare(ctx, o.DataDir)
	if err != nil {
		return nil, fmt.Errorf("start a private Redis: %w", err)
	}
	client, err := newClient(&url.URL{Scheme: "unix", Path: c.socket}, o.Timeout, TLS{})
	if err != nil {
		release()
		return nil, fmt.Errorf("start a private Redis: %w", err)
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go c.run(serving)
	s := &Store{Client: client, Kind: Child, Address: c.dir, log: o.Log, stop: sync.OnceFunc(func() {
		cancel()
		<-c.ended
		release()
	})}
	err = s.await(ctx, childAnswers, childLoads, c.ended)
	if err == nil {
		err = s.inspect(ctx)
	}
	if err == nil && c.settled.CompareAndSwap(false, true) {
		return s, nil
	}
	err = errors.Join(err, s.Close())
	if c.err != nil {
		err = c.err // tells more than a client that found nobody there
	}
	return nil, fmt.Errorf("start %s in %s: %w", c.path, c.dir, err)
}

// run stays on one thread, and that thread is not used for anything else: on
// Linux the child is told to end when the thread that started it does.
func (c *child) run(ctx context.Context) {
	runtime.LockOSThread()
	defer close(c.ended)
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
		c.log.ErrorContext(ctx, "the private Redis ended and is started again", "store", c.dir, "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// serve runs the server until it ends, which it does by itself, or when ctx does.
func (c *child) serve(ctx context.Context) error {
	out, err := os.OpenFile(filepath.Join(c.dir, logName), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() // the child has its own
	// #nosec G204 -- the program is the redis-server or valkey-server of PATH
	cmd := exec.CommandContext(ctx, c.path,
		"--port", "0", "--unixsocket", c.socket, "--unixsocketperm", "700", "--daemonize", "no",
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction",
		"--hash-max-ziplist-value", "512") // the name that all versions know: texts up to 512 bytes are kept compactly
	cmd.Dir = c.dir // where the data goes
	cmd.Stdout, cmd.Stderr = out, out
	// The lock lives as long as any process has it open: no second server can
	// start on this directory while this one runs, even when we are killed.
	cmd.ExtraFiles = []*os.File{c.lock}
	cmd.SysProcAttr = processAttributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	if err = cmd.Run(); err == nil {
		err = errors.New("somebody told it to end")
	}
	return fmt.Errorf("%w; the end of its %s: %s", err, logName, tail(out))
}

// serverPath finds the program, or returns "" where there is none to run.
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

// tail returns the last lines of a log.
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
