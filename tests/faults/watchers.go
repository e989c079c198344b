package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// watcher keeps two event streams open: of the changes of some articles, and of all new articles. When a stream ends,
// it connects again and reads what it watches, as a page does.
type watcher struct {
	*site
	server *server
	name   string
	ids    []int
	events atomic.Int64

	mu        sync.Mutex
	connected time.Duration // when it last connected; 0 while it is not
	shown     map[int]answer
	changed   map[int]bool // those that an event has shown since then
	posted    map[string]bool
}

func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		connection, cancel := context.WithCancel(ctx)
		w.mu.Lock()
		w.connected, w.shown, w.changed, w.posted = 0, map[int]answer{}, map[int]bool{}, map[string]bool{}
		w.mu.Unlock()
		var streams sync.WaitGroup
		opened := make(chan struct{}, 2) // when both are open, no event is missed
		for _, subscription := range []string{`articleChanged(ids: ` + list(w.ids) + `) ` + fields, `articlePosted { node ` + fields + ` }`} {
			streams.Go(func() {
				defer cancel()
				w.stream(connection, w.server, "", `subscription { `+subscription+` }`, func() { opened <- struct{}{} }, w.take)
			})
		}
		for range 2 {
			select {
			case <-opened:
			case <-connection.Done():
			}
		}
		if connection.Err() == nil {
			w.read(connection)
		}
		streams.Wait()
		cancel()
		pause(ctx, 100*time.Millisecond)
	}
}

// read reads the watched articles, until it gets a response.
func (w *watcher) read(ctx context.Context) {
	nodes := w.nodes(ctx, w.server, w.ids)
	if nodes == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connected = w.history.now()
	for _, a := range nodes {
		if a != nil && !w.changed[a.Number] {
			w.shown[a.Number] = *a
		}
	}
}

func (w *watcher) take(r response) bool {
	w.events.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := r.Data.ArticleChanged; a != nil {
		w.shown[a.Number], w.changed[a.Number] = *a, true
	}
	if posted := r.Data.ArticlePosted; posted != nil {
		w.posted[posted.Node.Title] = true
	}
	return true
}

// stale returns the watched articles that the watcher sees otherwise than the store has them.
func (w *watcher) stale(store map[int]*stored) (ids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.ids {
		shown, ok := w.shown[id]
		if has := store[id]; has != nil && (!ok || !has.shows(shown)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// missed returns the articles that exist, were posted while the watcher was connected, and were not announced to it. If
// the store goes back in time before a process, which was cut off, has heard of a post, it takes the post for an old one.
func (w *watcher) missed(store map[int]*stored) (ids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	for r, writes := range w.history.writes {
		has := store[r.article]
		posted := writes[0]
		if r.kind != "article" || has == nil || has.title != r.title || posted.start < w.connected || w.posted[r.title] {
			continue
		}
		posted.end += longestFault
		if !w.history.forgotten(posted) {
			ids = append(ids, r.article)
		}
	}
	slices.Sort(ids)
	return ids
}

func (w *watcher) isConnected() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.connected > 0
}

// list is a GraphQL list of article ids.
func list(ids []int) string {
	text := "["
	for _, id := range ids {
		text += fmt.Sprintf(`"article:%d" `, id)
	}
	return text + "]"
}
