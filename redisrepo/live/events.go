package live

import (
	"context"
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
		r.live.feedChanges.Add(1) // without watches there are no notifications
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
	l.feedChanges.Add(1)
	for w := range l.eventWatches {
		w.feed.behind = true
		w.signal()
	}
}

// feedPlace is where and when a read of the feed began. Watches at the same position share it until the next notification.
type feedPlace struct {
	at      string // encoded
	changes uint64
}

// maxFeedReads is the maximum number of reads that are kept, each of up to queueLimit events.
const maxFeedReads = 16

// sharedFeed reads up to queueLimit events.
func (r *Live) sharedFeed(ctx context.Context, at events.FeedStart) (*events.EventBatch, error) {
	place := feedPlace{events.EncodeFeed(at.At), r.live.feedChanges.Load()}
	read := sync.OnceValues(func() (*events.EventBatch, error) { return r.log.ReadFeed(failover.Impatient(ctx), at, queueLimit) })
	if other, begun, _ := r.live.feedReads.PeekOrAdd(place, read); begun {
		read = other
	}
	batch, err := read()
	if err != nil { // the next one tries again
		r.live.feedReads.Remove(place)
	}
	return batch, err
}
