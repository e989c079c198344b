package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

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
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ended:
			return
		case now := <-tick.C:
			server.FastForward(now.Sub(last))
			last = now
		}
	}
}
