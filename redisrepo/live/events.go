package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
)

// How events reach their watches: any change wakes followEvents, which signals the watches at most once per gatherPause.
// Each watch then reads the feed after its own
// position, so a slow one costs no memory. Those that are up to date have one position: the first reads for all.

// feedWatch is what a watch of events has besides a signal. Its fields are guarded by live.mu, except for the first two.
type feedWatch struct {
	kinds []events.EventKind
	sent  string // cursor of the last event that was taken, or of the start

	at     events.FeedStart
	queue  []*events.EventEdge // not taken yet
	gap    bool                // for the next event
	behind bool
}

// WatchEvents watches the change feed for events of some kinds, or of all if there are none. It begins after a cursor,
// or now if after is empty; field is the name of the cursor's argument or header, for errors. While the watch is open,
// each event is delivered once, except after a Gap. Errors and gaps are those of Events; an event that the feed drops
// before a slow watcher has taken it is a gap.
func (r *Live) WatchEvents(ctx context.Context, field, after string, kinds []events.EventKind) (*Watch, error) {
	if err := r.log.KeepsEvents(); err != nil {
		return nil, err
	}
	w := &Watch{live: &r.live, wake: make(chan struct{}, 1), repo: r, feed: &feedWatch{kinds: kinds}}
	if after == "" {
		at, err := r.log.FeedEnd(ctx)
		if err != nil {
			return nil, events.StoreFeedError(err)
		}
		w.feed.at.At, w.feed.sent = at, events.EncodeFeed(at)
	} else {
		start, err := events.DecodeFeed(field, after)
		if err != nil {
			return nil, err
		}
		b, err := r.log.ReadFeed(ctx, start, 1)
		if err == nil && b.Expired != nil {
			err = b.Expired
		}
		if err != nil {
			return nil, events.StoreFeedError(err)
		}
		w.feed.at, w.feed.sent, w.feed.gap = events.FeedStart{At: b.From}, after, b.Gap
	}
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
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
		return events.StoreFeedError(err)
	}
	f.gap = f.gap || b.Gap || b.Expired != nil
	f.queue = b.Edges(f.kinds, f.gap)
	w.repo.store.Changes.Add(1) // before they are delivered
	f.gap = f.gap && len(f.queue) == 0
	f.at = events.FeedStart{At: b.End()}
	f.behind = f.behind || b.More
	return nil
}

// followEvents notifies the watches of events until ctx ends.
func (r *Live) followEvents(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-r.live.feedWake:
		}
		r.live.notifyEvents()
		failover.Wait(ctx, gatherPause)
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
	batch   *events.EventBatch // nil if the read failed
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
		return r.at == at && r.changes != f.changes && (r.batch == nil || !r.batch.More)
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
func (r *Live) sharedFeed(ctx context.Context, at events.FeedStart) (*events.EventBatch, error) {
	read, begins := r.live.feed.find(events.EncodeFeed(at.At))
	if begins {
		batch, err := r.log.ReadFeed(failover.Impatient(ctx), at, queueLimit)
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
