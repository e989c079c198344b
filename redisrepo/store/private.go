package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// others are the rights of all users but the owner.
const others fs.FileMode = 0o077

// makePrivate takes the rights of other users from the data directory, and from the files of Frontpage and Redis in it:
// they say who voted for what. A directory that has other files, too, is left as it is: that is an error.
func (c *child) makePrivate(o Options) error {
	info, err := c.folder.Stat()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	if info.Mode()&others != 0 {
		for _, entry := range entries {
			if !isOurs(entry.Name()) {
				return fmt.Errorf("other users of this machine can read %s (mode %v), and it has %s, which is not from Frontpage: "+
					"make it private by chmod 700, or set %s to a directory of its own", c.dir, info.Mode().Perm(), entry.Name(), o.name("DataDir"))
			}
		}
		if err := c.folder.Chmod(0o700); err != nil {
			return fmt.Errorf("other users of this machine can read %s (mode %v): %w: make it private by chmod 700, or set %s to a directory in it",
				c.dir, info.Mode().Perm(), err, o.name("DataDir"))
		}
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, entry := range entries {
		if !isOurs(entry.Name()) || entry.Type()&fs.ModeSymlink != 0 {
			continue
		}
		if err := fs.WalkDir(root.FS(), entry.Name(), privateIn(root)); err != nil {
			return fmt.Errorf("other users of this machine can read files in %s: %w", c.dir, err)
		}
	}
	return nil
}

// isOurs reports whether Frontpage or Redis gives this name to something in a data directory.
func isOurs(name string) bool {
	switch name {
	case lockName, joinedName, backupName, logName, socketName, cutSocket, dumpName, stagingName, aofFolder, "lost+found":
		return true
	}
	return strings.HasPrefix(name, aofName) || strings.HasPrefix(name, "temp-") // of a Redis that is writing them
}

// privateIn returns a function for fs.WalkDir in root. It follows no link. What is gone meanwhile is not an error.
func privateIn(root *os.Root) fs.WalkDirFunc {
	return func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return unless(fs.ErrNotExist, err)
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&others == 0 || !info.IsDir() && !info.Mode().IsRegular() || entry.Name() == "lost+found" {
			return unless(fs.ErrNotExist, err)
		}
		return unless(fs.ErrNotExist, root.Chmod(path, info.Mode().Perm()&^others))
	}
}

// memoryTimeout is the shortest timeout of the store in memory. It runs in this process: on a busy machine a reply is
// late, but never lost.
const memoryTimeout = 5 * time.Second

// mayForget returns an error unless memory will do as a store that was not asked for.
func (o Options) mayForget() error {
	reason := o.Keep
	files, err := os.ReadDir(o.Directory())
	switch {
	case len(files) > 0:
		reason = fmt.Sprintf("the data directory %s is not empty", o.Directory())
	case err != nil && !errors.Is(err, os.ErrNotExist) && o.Directory() != "":
		return fmt.Errorf("%s: %w", o.name("DataDir"), err)
	}
	if reason == "" {
		return nil
	}
	missing := "no redis-server or valkey-server is on PATH"
	if !canRunChild {
		missing = "this system cannot run a private redis-server"
	}
	return fmt.Errorf("%s, so the site would be in memory, empty now and lost at the end, but %s: install one (apt install redis-server), set %s to a running Redis, "+
		"or set it to memory:// if the data may be lost", missing, reason, o.name("URL"))
}

func openMemory(ctx context.Context, o Options) (*Store, error) {
	o.Timeout = max(o.Timeout, memoryTimeout)
	server := miniredis.NewMiniRedis()
	// Its scripts can read files, and any user of this machine can reach its port.
	password := rand.Text()
	server.RequireAuth(password)
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("open a store in memory: %w", err)
	}

	client, err := newClient(&url.URL{Scheme: "redis", User: url.UserPassword("", password), Host: server.Addr()}, o)
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("open a store in memory: %w", err)
	}
	ended := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() { passTime(server, ended) })
	s := &Store{
		Client: client,
		Kind:   Memory,
		log:    o.Log,
		stop: sync.OnceFunc(func() {
			close(ended)
			ticking.Wait()
			server.Close()
		}),
	}
	if err := s.await(ctx, s.ping, childReplies, 0, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("open a store in memory: %w", err), s.Close())
	}
	o.Log.WarnContext(ctx, "all data is in memory and lost when this process ends; to keep it, install redis-server or set "+
		o.name("URL")+" to a running Redis")
	return s, nil
}

// passTime expires keys, up to a second early. miniredis knows the time but does not expire keys by itself; its
// own remedy visits every key on every command.
func passTime(server *miniredis.Miniredis, ended <-chan struct{}) {
	tick, last := time.Tick(time.Second), time.Now()
	for {
		select {
		case <-ended:
			return
		case now := <-tick:
			server.FastForward(now.Sub(last))
			last = now
		}
	}
}
