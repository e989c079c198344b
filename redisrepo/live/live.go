// Package live notifies the watchers of a process of changes in the store.
package live

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// How live updates work:
//
//   - A script adds each change to the log of its partition. Listen reads the logs (log.go): at once after a write of
//     this process, after a message of another one, and when it polls.
//   - handleEntry applies an entry to the topic of its article, if that is watched, and schedules the topic.
//   - notifyWatches (notify.go) takes the due topics, reads the stale ones from Redis, and signals
//     their watches, at most once per watchInterval for each topic.
//   - A Watch (watch.go) then returns the newest state of its articles to its watcher.
//   - votes.go caches the watchers' own votes.
//
// A topic is stale if its newest state is in Redis only, and lost if the store may have gone back,
// so that even an older state in Redis replaces the known one. A topic lives as long as it has
// references: of watches, and of posts that wait for their watchers.

// Live notifies watchers of changes by this process and others.
type Live struct {
	store    *wire.Store
	articles *articles.Articles
	lists    *lists.Lists
	casts    *casts.Casts
	log      *events.Log
	live     live
	hooks    Hooks
	id       string // of this process, in its messages
	every    []int  // indexes of all partitions

	logs      logs
	announcer announcer

	Histories []History // by partition
}

// Hooks are what Live calls in the rest of the program.
type Hooks struct {
	OnForget func()                                                         // the store may have gone back
	Reopen   func(ctx context.Context, index int) (epoch string, err error) // gives a partition that lost all its data what it needs
}

// New returns the Live of a process.
func New(store *wire.Store, articles *articles.Articles, lists *lists.Lists, casts *casts.Casts, log *events.Log, hooks Hooks) *Live {
	n := len(store.Partitions)
	l := &Live{store: store, articles: articles, lists: lists, casts: casts, log: log, hooks: hooks, Histories: make([]History, n),
		id: rand.Text()[:8], logs: logs{all: make([]logReader, n), wake: make(chan struct{}, 1)},
		live: live{version: &store.Changes, wake: make(chan struct{}, 1), feedWake: make(chan struct{}, 1), posts: make([][]post, n), places: make([]place, n),
			topics: map[site.ArticleID]*topic{}, postWatches: map[*Watch]struct{}{}, eventWatches: map[*Watch]struct{}{}, due: map[*topic]struct{}{}}}
	for i := range n {
		l.every = append(l.every, i)
	}
	articles.OnRead = l.live.observe
	store.OnChange = l.announce
	return l
}

// live is what this process knows about the articles that are being watched.
type live struct {
	version *atomic.Uint64                     // see wire.Store.Version
	entries [len(entryKinds) + 1]atomic.Uint64 // read, by kind; the last one counts other kinds
	lost    atomic.Int64                       // partitions that could not be looked at

	mu          sync.RWMutex
	topics      map[site.ArticleID]*topic
	postWatches map[*Watch]struct{} // the watches for new articles
	posts       [][]post            // by partition: posts that wait until they are read, in order
	places      []place             // by partition: what the watches for new articles were notified of
	due         map[*topic]struct{} // topics whose watches are to be notified
	wake        chan struct{}       // has a value if topics were added to due
	coalesced   uint64              // see Stats
	notified    uint64              // see Stats

	eventWatches map[*Watch]struct{} // the watches of the change feed
	feedWake     chan struct{}       // has a value if these are to be notified
	feed         feedReads
}

// wake puts a value into a channel, unless it has one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// topic is an article that is watched, or a new one that waits for its watchers.
type topic struct {
	id      site.ArticleID
	latest  atomic.Pointer[site.Article] // newest known state; nil: none was read
	notices atomic.Uint64                // number of times that the watches were notified

	// The fields below are guarded by live.mu.
	refs      int // number of references
	watches   map[*Watch]struct{}
	notBefore time.Time // when the watches may be notified again
	stale     bool      // the newest state must be read from Redis
	lost      bool      // the store may have gone back: what Redis has replaces latest, even if it is older

	votes        map[site.UserName]site.Vote // cached votes of watchers
	voteCount    int                         // number of votes noticed so far
	voteRevision int64                       // revision of the last change that was read: votes is complete up to it
}

// post is a new article that its watches are to be notified of. It holds a reference to its topic.
type post struct {
	*topic
	second int64 // posting time
	again  bool  // another article had the number
	read   bool  // by CatchUp
}

// addWatch adds a watch to the topics of the articles, and returns those whose state is not known yet.
func (l *live) addWatch(w *Watch, ids []site.ArticleID) (unread []site.ArticleID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.watched = make([]watched, 0, len(ids))
	for _, id := range ids {
		t := l.acquire(id)
		if _, repeated := t.watches[w]; repeated {
			l.release(t)
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

// acquire returns the topic of an article, with one more reference.
func (l *live) acquire(id site.ArticleID) *topic {
	t := l.topics[id]
	if t == nil {
		t = &topic{id: id, watches: map[*Watch]struct{}{}}
		l.topics[id] = t
	}
	t.refs++
	return t
}

// release drops a reference.
func (l *live) release(t *topic) {
	if t.refs--; t.refs == 0 {
		delete(l.topics, t.id)
		delete(l.due, t)
	}
}

// observe takes note of a state that this process read or wrote. If it is the newest of a watched
// article, no watcher gets an older one from now on. The title and text may be older than the rest: see cast.
func (l *live) observe(a *site.Article) {
	l.mu.RLock()
	t := l.topics[a.ID]
	l.mu.RUnlock()
	if t == nil {
		return
	}
	if latest := t.latest.Load(); !newer(a, latest) && !rewritten(a, latest) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := t.latest.Load()
	next := newest(a, before)
	if t.refs == 0 || next == nil {
		return
	}
	l.version.Add(1)
	next = next.Clone()
	next.Stored.Voided = next.Stored.Voided || before != nil && before.Stored.Voided // that of a vote may be of before
	t.latest.Store(next)
	if before != nil {
		l.schedule(t)
	}
}

// newest returns the newest of both: the counts and groups of one state may be newer, and the title and text of the
// other. It returns nil if that is b.
func newest(a, b *site.Article) *site.Article {
	if b != nil && a.Stored.PostedAt == b.Stored.PostedAt && a.Stored.Edits != b.Stored.Edits {
		if a.Stored.Edits > b.Stored.Edits && !newer(a, b) {
			next := *b
			rewrite(&next, a)
			return &next
		}
		if a.Stored.Edits < b.Stored.Edits {
			next := *a
			rewrite(&next, b)
			a = &next
		}
	}
	if newer(a, b) {
		return a
	}
	return nil
}

// rewritten reports whether a has a later title or text than b.
func rewritten(a, b *site.Article) bool {
	return b != nil && a.Stored.PostedAt == b.Stored.PostedAt && a.Stored.Edits > b.Stored.Edits
}

// rewrite gives an article that has not been shared yet the title and the text of another state of it.
func rewrite(a, b *site.Article) {
	a.Title, a.Text, a.EditedAt, a.Stored.Edits = b.Title, b.Text, b.EditedAt, b.Stored.Edits
}

// newer reports whether a is a later state than b. Legacy clients change an article without counting
// its revision. An article posted later has the number of one that the store has lost.
func newer(a, b *site.Article) bool {
	return b == nil || a.Stored.PostedAt > b.Stored.PostedAt ||
		a.Stored.PostedAt == b.Stored.PostedAt && (a.Stored.Revision > b.Stored.Revision || a.Stored.Revision == b.Stored.Revision && !same(a, b))
}

func same(a, b *site.Article) bool {
	return a.Stored.PostedAt == b.Stored.PostedAt && a.Title == b.Title && a.Poster == b.Poster &&
		site.Value(a.Link) == site.Value(b.Link) && site.Value(a.Text) == site.Value(b.Text) &&
		a.Stored.Revision == b.Stored.Revision && a.Score == b.Score && a.Votes == b.Votes && a.Downvotes == b.Downvotes &&
		slices.Equal(a.Groups, b.Groups) && (a.DeletedAt == nil) == (b.DeletedAt == nil)
}

// start marks the known states as seen by the watch, so that it delivers later ones only. If known is not nil, it has
// the revisions that the watcher has, and only those states count as seen.
func (l *live) start(w *Watch, known map[site.ArticleID]int64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i := range w.watched {
		t := &w.watched[i]
		t.notices, t.shown, t.sent = t.topic.notices.Load(), t.latest.Load(), -1
		if t.shown != nil {
			t.sent, t.existed = t.shown.Stored.Revision, t.shown.DeletedAt == nil
		}
		if has, ok := known[t.id]; ok && has != t.sent {
			if t.shown != nil {
				t.notices--
				w.signal()
			}
			t.shown, t.sent = nil, has
		}
	}
}

// schedule has the watches of a topic notified as soon as they may be.
func (l *live) schedule(t *topic) {
	if _, waits := l.due[t]; waits {
		l.coalesced++
	}
	l.due[t] = struct{}{}
	wake(l.wake)
}

// entryKinds are the kinds of entries that are counted apart.
var entryKinds = [...]string{site.KindPosted, site.KindImported, site.KindVoted, site.KindEdited, site.KindRegrouped, site.KindDeleted, site.KindUndeleted}

// count counts an entry.
func (l *live) count(kind string) {
	i := slices.Index(entryKinds[:], kind)
	if i < 0 {
		i = len(entryKinds)
	}
	l.entries[i].Add(1)
}

// WatchStats are counters of a process's watches, and their present state.
type WatchStats struct {
	Changes   map[string]uint64 // changes by all processes that were read while something was watched, by kind; unknown kinds as other
	Coalesced uint64            // changes merged with an earlier one before the watches of their article were notified
	Notified  uint64            // notifications of watches
	Watched   int               // articles that are being watched
	Lost      int               // partitions that could not be read the last time
}

// WatchStats returns the present numbers.
func (r *Live) WatchStats() WatchStats {
	l := &r.live
	s := WatchStats{Changes: map[string]uint64{"other": l.entries[len(entryKinds)].Load()}, Lost: int(l.lost.Load())}
	for i, kind := range entryKinds {
		s.Changes[kind] = l.entries[i].Load()
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	s.Coalesced, s.Notified, s.Watched = l.coalesced, l.notified, len(l.topics)
	return s
}
