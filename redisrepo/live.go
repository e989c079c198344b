package redisrepo

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// live is what this process knows of the articles that are being watched.
type live struct {
	mu     sync.RWMutex
	topics map[ArticleID]*topic
	posts  map[*Watch]struct{} // who watches for new articles
	due    map[*topic]struct{} // have news that watchers were not told of
	news   chan struct{}       // has a value when due may have become longer
}

// topic is an article that is watched, or was posted and waits for watchers.
type topic struct {
	id     ArticleID
	latest atomic.Pointer[Article] // newest state that is known; nil: none was read
	round  atomic.Uint64           // how often watchers were told to look

	// The rest is the mutex' of live.
	holders int // watches that it is among the topics of
	watches map[*Watch]struct{}
	next    time.Time // when watchers can be told again
	unread  bool      // what changed is in Redis only
	lost    bool      // messages may have been lost: Redis is right, whatever it says
	posted  bool      // watchers for new articles are to be told

	votes map[UserName]Vote // positions of users that were asked for
	moves int               // votes that were told of
	heard int64             // revision that they lead to
}

// join makes articles the topics of a watch, and returns which of them must be
// read first.
func (l *live) join(w *Watch, ids []ArticleID) (unread []ArticleID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.watched = make([]watched, 0, len(ids))
	for _, id := range ids {
		t := l.topic(id)
		if _, twice := t.watches[w]; twice {
			l.drop(t)
			continue
		}
		t.watches[w] = struct{}{}
		if t.latest.Load() == nil {
			unread = append(unread, id)
		}
		w.watched = append(w.watched, watched{topic: t})
	}
	return unread
}

func (l *live) joinPosts(w *Watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.posts == nil {
		l.posts = map[*Watch]struct{}{}
	}
	l.posts[w] = struct{}{}
}

// topic is the topic of an article, for one more holder.
func (l *live) topic(id ArticleID) *topic {
	if l.topics == nil {
		l.topics = map[ArticleID]*topic{}
	}
	t := l.topics[id]
	if t == nil {
		t = &topic{id: id, watches: map[*Watch]struct{}{}}
		l.topics[id] = t
	}
	t.holders++
	return t
}

// drop takes one holder away.
func (l *live) drop(t *topic) {
	if t.holders--; t.holders == 0 {
		delete(l.topics, t.id)
		delete(l.due, t)
	}
}

// saw takes note of a state that was read or written by this process. If it is
// the newest of a watched article, no watcher is shown an older one from now on.
func (l *live) saw(a *Article) {
	l.mu.RLock()
	t := l.topics[a.ID]
	l.mu.RUnlock()
	if t == nil || !newer(a, t.latest.Load()) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := t.latest.Load()
	if t.holders == 0 || !newer(a, before) {
		return
	}
	t.latest.Store(a)
	if before != nil {
		l.setDue(t)
	}
}

// newer reports whether a is a later state than b. The book's code changes
// articles without counting.
func newer(a, b *Article) bool {
	return b == nil || a.revision > b.revision || a.revision == b.revision && !same(a, b)
}

func same(a, b *Article) bool {
	return a.revision == b.revision && a.Score == b.Score && a.Votes == b.Votes && a.Downvotes == b.Downvotes &&
		slices.Equal(a.Groups, b.Groups) && (a.DeletedAt == nil) == (b.DeletedAt == nil)
}

// start makes the states that are known now what the watch begins with.
func (l *live) start(w *Watch) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i := range w.watched {
		t := &w.watched[i]
		t.round, t.shown = t.topic.round.Load(), t.latest.Load()
	}
}

// setDue has the watchers of a topic told, when it is their time.
func (l *live) setDue(t *topic) {
	if l.due == nil {
		l.due = map[*topic]struct{}{}
	}
	l.due[t] = struct{}{}
	select {
	case l.news <- struct{}{}:
	default:
	}
}
