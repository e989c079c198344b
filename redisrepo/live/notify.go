package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// applyChange applies the state in an entry to the newest known state of a watched article.
func (r *Live) applyChange(e Entry) {
	s := e.State
	l := &r.live
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[e.Article]
	if t == nil {
		return
	}
	voteChanged := e.Kind == site.KindVoted && t.setVote(site.UserName(e.By), site.VotePositions[e.To])
	// Whose votes are taken out is not in the log; nor is it, for a deleted article, that some were.
	isRestored := e.Kind == site.KindUndeleted
	if e.Kind == site.KindVoided || isRestored {
		t.votes = nil
		t.voteCount++
	}
	t.voteRevision = s.Revision
	latest := t.latest.Load()
	switch {
	case latest == nil || t.lost || isRestored:
		t.stale = true
	case s.Revision > latest.Stored.Revision:
		next := *latest
		r.articles.Apply(&next, s)
		next.Stored.Voided = next.Stored.Voided || e.Kind == site.KindVoided
		t.latest.Store(&next)
	case voteChanged:
		next := *latest // the article is the same, but the voter has a new position to see
		t.latest.Store(&next)
	}
	l.schedule(t)
}

// markStale has an article read from Redis, if it is watched.
func (l *live) markStale(id site.ArticleID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[id]; t != nil {
		t.stale = true
		l.schedule(t)
	}
}

// announcePost has a new article of a partition read from Redis, if it or new articles are watched.
func (l *live) announcePost(index int, e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	second := site.SecondOf(e.postedAt)
	again := l.places[index].has(e.Article, second) // each post has one entry: another article had the number
	if len(l.postWatches) == 0 && l.topics[e.Article] == nil && len(l.posts[index]) == 0 {
		l.places[index].add(e.Article, second)
		return
	}
	t := l.acquire(e.Article) // until the watches are notified
	l.posts[index] = append(l.posts[index], post{topic: t, second: second, again: again})
	if latest := t.latest.Load(); again || latest != nil && latest.Stored.PostedAt != e.postedAt {
		l.loseTopic(t)
	}
	t.stale = t.stale || t.latest.Load() == nil
	l.schedule(t)
}

// deliverPost passes the first post of a partition on to its watches, if it has been read. It holds the mutex for one post
// only: there may be thousands of watches.
func (l *live) deliverPost(index int) (delivered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.posts[index]) == 0 || l.posts[index][0].stale {
		return false
	}
	p := l.posts[index][0]
	l.posts[index] = l.posts[index][1:]
	defer l.release(p.topic)
	a := p.latest.Load()
	if a != nil {
		p.second = site.SecondOf(a.Stored.PostedAt)
	}
	l.places[index].add(p.id, p.second)
	for w := range l.postWatches {
		switch {
		case a != nil && a.DeletedAt == nil && w.matches(a):
			w.enqueue(p)
		case !w.behind && len(w.queue) == 0:
			w.places[index].add(p.id, p.second)
		}
	}
	return true
}

// postsMissed has the watches for new articles look for those whose entries were not read.
func (l *live) postsMissed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.postWatches {
		w.fallBehind()
	}
}

// goBack takes note that a partition gives out the numbers after highest again.
func (l *live) goBack(index int, highest site.ArticleID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places[index].goBack(highest)
	for w := range l.postWatches {
		w.places[index].goBack(highest)
	}
}

// loseTopic has what Redis has of an article replace what is known. The caller holds live.mu.
func (l *live) loseTopic(t *topic) {
	t.stale, t.lost = true, true
	t.votes, t.voteRevision = nil, 0
	l.schedule(t)
}

// notifyWatches notifies the watches of due topics until ctx ends: at once after a quiet time, and otherwise
// at the end of each watchInterval, so that a watcher gets the changes of an interval together.
func (r *Live) notifyWatches(ctx context.Context, report func(error)) {
	began := time.Now()
	failing := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.live.wake:
			timer.Reset(0)
		case <-timer.C:
			now := time.Now()
			ready, next := r.live.takeDue(now)
			err := r.readStale(ctx, ready, report)
			if err != nil && !failing {
				report(err)
			}
			if failing = err != nil; failing {
				next = retryPause
			}
			for _, t := range ready {
				r.live.notify(t, now.Add(watchInterval-now.Sub(began)%watchInterval))
			}
			for index := range r.live.posts {
				for r.live.deliverPost(index) {
					continue
				}
			}
			failover.Wait(ctx, gatherPause)
			if next > 0 {
				timer.Reset(max(next-gatherPause, 0))
			}
		}
	}
}

// takeDue removes and returns the due topics whose watches may be notified now. next is the time until
// another one's may be, or 0 if no other topic is due.
func (l *live) takeDue(now time.Time) (ready []*topic, next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.due {
		if left := t.notBefore.Sub(now); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		delete(l.due, t)
		ready = append(ready, t)
	}
	slices.SortFunc(ready, func(a, b *topic) int { return cmp.Compare(a.id, b.id) })
	return ready, next
}

// readStale reads the stale topics, BatchSize in a pipeline. Those that could not be read stay stale
// and are due again.
func (r *Live) readStale(ctx context.Context, ready []*topic, report func(error)) error {
	var stale []*topic
	r.live.mu.Lock()
	for _, t := range ready {
		if t.stale {
			t.stale = false
			stale = append(stale, t)
		}
	}
	r.live.mu.Unlock()
	var failed error
	for batch := range slices.Chunk(stale, wire.BatchSize) {
		ids, before := make([]site.ArticleID, len(batch)), make([]*site.Article, len(batch))
		for i, t := range batch {
			ids[i], before[i] = t.id, t.latest.Load()
		}
		articles, errs := r.articles.ReadArticles(ctx, ids) // with deleted articles: a deletion is a change
		r.live.mu.Lock()
		for i, t := range batch {
			switch {
			case errs[i] == nil:
				// After a crash Redis may have gone back to an older state. But a state that was
				// observed since the read began is newer.
				if latest := t.latest.Load(); t.lost && latest == before[i] && (latest == nil || !same(articles[i], latest)) {
					r.store.Changes.Add(1)
					t.latest.Store(articles[i].Clone())
				}
				t.lost = false
			case errors.As(errs[i], new(site.Refusal)): // the article does not exist, perhaps not any more
				if t.latest.CompareAndSwap(before[i], nil) {
					t.lost = false
				}
			case errors.Is(errs[i], failover.ErrUnavailable):
				failed = errs[i]
				t.stale = true
				r.live.schedule(t)
			default:
				t.lost = false
				report(errs[i])
			}
		}
		r.live.mu.Unlock()
	}
	return failed
}

// notify signals the watches of a topic, and allows the next signal at next. It holds the mutex for one topic only: a topic
// may have thousands of watches, and votes wait for it.
func (l *live) notify(t *topic, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.stale {
		return // it could not be read
	}
	t.notBefore = next
	t.notices.Add(1)
	l.notified += uint64(len(t.watches))
	for w := range t.watches {
		w.signal()
	}
}
