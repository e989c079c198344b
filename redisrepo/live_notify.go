package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// moved puts a standing into the newest state of an article that is watched.
// vote is the position and the voter that a message names, or empty.
func (r *Repo) moved(id ArticleID, s standing, vote string) {
	l := &r.live
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[id]
	if t == nil {
		return
	}
	position, voter, _ := strings.Cut(vote, " ")
	revoted := t.vote(userOf(voter), votePositions[position])
	t.heard = s.revision
	latest := t.latest.Load()
	switch {
	case latest == nil:
		t.unread = true
	case t.lost || s.revision > latest.revision:
		next := *latest
		r.stand(&next, s)
		t.latest.Store(&next)
		t.lost = false
	case revoted:
		next := *latest // the voter has something new to see
		t.latest.Store(&next)
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
	t.unread = t.unread || t.latest.Load() == nil
	l.setDue(t)
}

// lose has everything read that is watched, since messages may have been lost.
func (l *live) lose(where func(ArticleID) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, t := range l.topics {
		if where(id) {
			t.unread, t.lost = true, true
			t.votes, t.heard = nil, 0
			l.setDue(t)
		}
	}
}

// tellWatches tells watchers of what is due until ctx ends: at once after a
// quiet time, and else at the end of each watchInterval, so that what changed in
// it reaches a watcher together.
func (r *Repo) tellWatches(ctx context.Context, report func(error)) {
	began := time.Now()
	failing := false
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
			if err != nil && !failing {
				report(err)
			}
			if failing = err != nil; failing {
				next = retry
			}
			r.live.tell(ready, now.Add(watchInterval-now.Sub(began)%watchInterval))
			wait(ctx, gather)
			if next > 0 {
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
		if left := t.next.Sub(now); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		delete(l.due, t)
		ready = append(ready, t)
	}
	slices.SortFunc(ready, func(a, b *topic) int { return cmp.Compare(a.id, b.id) }) // posts in their order
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
		ids, before := make([]ArticleID, len(batch)), make([]*Article, len(batch))
		for i, t := range batch {
			ids[i], before[i] = t.id, t.latest.Load()
		}
		articles, errs := r.readArticles(ctx, ids) // that one is deleted is news, too
		r.live.mu.Lock()
		for i, t := range batch {
			var refusal Refusal
			switch {
			case errs[i] == nil:
				// After a crash Redis may have gone back to an older state. But what
				// somebody learned since this was asked for is newer.
				if latest := t.latest.Load(); t.lost && latest == before[i] && (latest == nil || !same(articles[i], latest)) {
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

// tell wakes the watchers of the topics, and not again before next.
func (l *live) tell(ready []*topic, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range ready {
		if t.unread {
			continue // it could not be read
		}
		t.next = next
		t.round.Add(1)
		for w := range t.watches {
			w.tell()
		}
		if !t.posted {
			continue
		}
		t.posted = false
		if a := t.latest.Load(); a != nil && a.DeletedAt == nil {
			for w := range l.posts {
				if w.wants(a) {
					t.holders++
					w.posted = append(w.posted, t)
					if len(w.posted) > queueLimit {
						l.drop(w.posted[0])
						w.posted = w.posted[1:]
					}
					w.tell()
				}
			}
		}
		l.drop(t)
	}
}
