package redisrepo

import (
	"context"
	"errors"
	"time"
)

// moved puts a standing into the newest state of an article that is watched.
func (r *Repo) moved(id ArticleID, s standing) {
	l := &r.live
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[id]
	if t == nil {
		return
	}
	latest := t.latest.Load()
	switch {
	case latest == nil:
		t.unread = true
	case t.lost || s.revision > latest.revision:
		next := *latest
		r.stand(&next, s)
		t.latest.Store(&next)
		t.lost = false
	}
	l.setDue(t)
}

// changed has an article read, if it is watched.
func (l *live) changed(id ArticleID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[id]; t != nil {
		t.unread = true
		l.setDue(t)
	}
}

// arrived has a new article read, if anybody watches for such or for it.
func (l *live) arrived(id ArticleID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.posts) == 0 && l.topics[id] == nil {
		return
	}
	t := l.topic(id)
	if t.posted {
		l.drop(t)
	}
	t.posted = true // it is held until watchers are told
	t.unread = t.latest.Load() == nil
	l.setDue(t)
}

// lose has everything read that is watched, since messages may have been lost.
func (l *live) lose(where func(ArticleID) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, t := range l.topics {
		if where(id) {
			t.unread, t.lost = true, true
			l.setDue(t)
		}
	}
}

// tellWatches tells watchers of what is due until ctx ends: at once after a
// quiet time, and then of one article no more often than watchInterval.
func (r *Repo) tellWatches(ctx context.Context, report func(error)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.live.news:
			timer.Reset(0)
		case <-timer.C:
			now := time.Now()
			ready, next := r.live.ready(now)
			err := r.readUnread(ctx, ready, report)
			if err != nil {
				report(err)
				next = retry
			}
			r.live.tell(now, ready)
			if wait(ctx, gather); next > 0 {
				timer.Reset(max(next-gather, 0))
			}
		}
	}
}

// ready returns the topics whose watchers can be told now, and how long it is
// until others are, or 0.
func (l *live) ready(now time.Time) (ready []*topic, next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.due {
		if left := watchInterval - now.Sub(t.told); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		delete(l.due, t)
		ready = append(ready, t)
	}
	return ready, next
}

// readUnread reads the topics of which Redis alone knows the newest state, all
// in a few pipelines. What it could not read is due again.
func (r *Repo) readUnread(ctx context.Context, ready []*topic, report func(error)) error {
	var unread []*topic
	r.live.mu.Lock()
	for _, t := range ready {
		if t.unread {
			t.unread = false
			unread = append(unread, t)
		}
	}
	r.live.mu.Unlock()
	var failed error
	for len(unread) > 0 {
		batch := unread[:min(batchSize, len(unread))]
		unread = unread[len(batch):]
		ids := make([]ArticleID, len(batch))
		for i, t := range batch {
			ids[i] = t.id
		}
		articles, errs := r.ArticlesByID(ctx, ids)
		r.live.mu.Lock()
		for i, t := range batch {
			var refusal Refusal
			switch {
			case errs[i] == nil:
				// After a crash Redis may have gone back to an older state.
				if latest := t.latest.Load(); t.lost && (latest == nil || !same(articles[i], latest)) {
					t.latest.Store(articles[i])
				}
				t.lost = false
			case errors.As(errs[i], &refusal): // there is none
			case errors.Is(errs[i], ErrUnavailable):
				failed = errs[i]
				t.unread = true
				r.live.setDue(t)
			default:
				report(errs[i])
			}
		}
		r.live.mu.Unlock()
	}
	return failed
}

// tell wakes the watchers of the topics.
func (l *live) tell(now time.Time, ready []*topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range ready {
		if t.unread {
			continue // it could not be read
		}
		t.told = now
		t.round.Add(1)
		for w := range t.watches {
			w.tell()
		}
		if !t.posted {
			continue
		}
		t.posted = false
		if a := t.latest.Load(); a != nil {
			for w := range l.posts {
				if w.wants(a) {
					t.holders++
					w.topics = append(w.topics, t)
					if len(w.topics) > queueLimit {
						l.drop(w.topics[0])
						w.topics = w.topics[1:]
					}
					w.tell()
				}
			}
		}
		l.drop(t)
	}
}
