package redisrepo

import (
	"context"
	"slices"
	"sync"
	"time"
)

// How events reach their watches: a message about any change wakes followEvents, which signals the watches at most once
// per gatherPause, and once per eventPoll in case messages were lost. Each watch then reads the feed after its own
// position, so a slow one costs no memory. Those that are up to date have one position: the first reads for all.

// eventPoll is how often watches look for events whose messages were lost.
const eventPoll = time.Second

// feedWatch is what a watch of events has besides a signal. Its fields are guarded by live.mu, except for the first two.
type feedWatch struct {
	kinds []EventKind
	sent  string // cursor of the last event that was taken, or of the start

	at     feedStart
	queue  []*EventEdge // not taken yet
	gap    bool         // for the next event
	behind bool
}

// WatchEvents watches the change feed for events of some kinds, or of all if there are none: first for those after a
// cursor, of which field is the argument or the header, and with an empty one for those from now on. While the watch is
// open, each event is delivered once, except after a Gap. Errors and gaps are those of Events; an event that the feed drops
// before a slow watcher has taken it is a gap.
func (r *Repo) WatchEvents(ctx context.Context, field, after string, kinds []EventKind) (*Watch, error) {
	if err := r.keepsEvents(); err != nil {
		return nil, err
	}
	w := &Watch{live: &r.live, wake: make(chan struct{}, 1), repo: r, feed: &feedWatch{kinds: kinds}}
	if after == "" {
		at, err := r.feedEnd(ctx)
		if err != nil {
			return nil, storeFeedError(err)
		}
		w.feed.at.at, w.feed.sent = at, encodeFeed(at)
	} else {
		start, err := decodeFeed(field, after)
		if err != nil {
			return nil, err
		}
		b, err := r.readFeed(ctx, start, 1)
		if err == nil && b.expired != nil {
			err = b.expired
		}
		if err != nil {
			return nil, storeFeedError(err)
		}
		w.feed.at, w.feed.sent, w.feed.gap = feedStart{at: b.from}, after, b.gap
	}
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
	if r.live.eventWatches == nil {
		r.live.eventWatches = map[*Watch]struct{}{}
	}
	if len(r.live.eventWatches) == 0 {
		r.live.feed.changed() // without watches there are no notifications
	}
	r.live.eventWatches[w] = struct{}{}
	w.feed.behind = true // something may have happened since the read
	w.signal()
	return w, nil
}

func (w *Watch) takeEvent() (d Delivery, ok bool) {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	if len(w.feed.queue) == 0 {
		return Delivery{}, false
	}
	e := w.feed.queue[0]
	if w.feed.queue = w.feed.queue[1:]; len(w.feed.queue) == 0 {
		w.feed.queue = nil
	}
	return Delivery{watch: w, event: e}, true
}

// catchUpEvents reads the next events. See CatchUp.
func (w *Watch) catchUpEvents(ctx context.Context) error {
	l, f := w.live, w.feed
	l.mu.Lock()
	f.behind = false // what is announced from now on may be too late for the read
	at := f.at
	l.mu.Unlock()
	b, err := w.repo.sharedFeed(ctx, at)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		f.behind = true
		time.AfterFunc(retryPause, w.retry)
		return storeFeedError(err)
	}
	f.gap = f.gap || b.gap || b.expired != nil
	f.queue = b.edges(f.kinds, f.gap)
	f.gap = f.gap && len(f.queue) == 0
	f.at = feedStart{at: b.end()}
	f.behind = f.behind || b.more
	return nil
}

// feedChanged has the watches of events notified.
func (l *live) feedChanged() {
	select {
	case l.feedWake <- struct{}{}:
	default:
	}
}

// followEvents notifies the watches of events until ctx ends.
func (r *Repo) followEvents(ctx context.Context) {
	poll := time.NewTicker(eventPoll)
	defer poll.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-r.live.feedWake:
		case <-poll.C:
		}
		r.live.notifyEvents()
		wait(ctx, gatherPause)
	}
}

func (l *live) notifyEvents() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.eventWatches) == 0 {
		return
	}
	l.feed.changed()
	for w := range l.eventWatches {
		w.feed.behind = true
		w.signal()
	}
}

// feedReads are the latest reads of the feed, which watches at the same position share.
type feedReads struct {
	mu      sync.Mutex
	changes uint64 // number of notifications
	reads   []*feedRead
}

type feedRead struct {
	at      string // encoded
	changes uint64 // when the read began
	done    chan struct{}
	batch   *eventBatch // nil if the read failed
	err     error
}

// maxFeedReads is the maximum number of reads that are kept, each of up to queueLimit events.
const maxFeedReads = 16

func (f *feedReads) changed() {
	f.mu.Lock()
	f.changes++
	f.mu.Unlock()
}

// find returns the read at a position, and whether the caller has to do it. A read that reached the end of the feed is
// outdated by the next notification.
func (f *feedReads) find(at string) (read *feedRead, begins bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = slices.DeleteFunc(f.reads, func(r *feedRead) bool {
		return r.at == at && r.changes != f.changes && (r.batch == nil || !r.batch.more)
	})
	for _, r := range f.reads {
		if r.at == at {
			return r, false
		}
	}
	read = &feedRead{at: at, changes: f.changes, done: make(chan struct{})}
	f.reads = append(f.reads, read)
	f.reads = f.reads[max(0, len(f.reads)-maxFeedReads):]
	return read, true
}

// sharedFeed reads up to queueLimit events.
func (r *Repo) sharedFeed(ctx context.Context, at feedStart) (*eventBatch, error) {
	read, begins := r.live.feed.find(encodeFeed(at.at))
	if begins {
		batch, err := r.readFeed(impatient(ctx), at, queueLimit)
		r.live.feed.mu.Lock()
		read.batch, read.err = batch, err
		if err != nil { // the next one tries again
			r.live.feed.reads = slices.DeleteFunc(r.live.feed.reads, func(other *feedRead) bool { return other == read })
		}
		r.live.feed.mu.Unlock()
		close(read.done)
		return batch, err
	}
	select {
	case <-read.done:
		return read.batch, read.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
