package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// MaxWatched is how many articles can be watched at once.
const MaxWatched = 100

// queueLimit is how many posts wait for a watcher that does not take them.
const queueLimit = 100

// Watch tells one watcher of articles that changed, or were posted. Listen must
// run, or it tells nothing. All methods but Wake belong to one goroutine.
type Watch struct {
	live *live
	wake chan struct{}

	// Of a watch of articles.
	watched []watched
	at      int // where to look next, so that every article has its turn

	// Of a watch of posts.
	group  *GroupName // where they are posted, empty for all; nil when articles are watched
	posted []*topic   // what is not taken yet
	taken  []*topic   // what is taken and perhaps not shown
}

// watched is an article of a watch.
type watched struct {
	*topic
	round uint64   // of the topic, when it was looked at last
	shown *Article // what was taken last
}

// WatchArticles watches articles for changes of votes, score and groups. When
// one is deleted, that is told once, by its DeletedAt, and nothing more unless it
// is undeleted. An article that does not exist is never told of, which is no
// error. It refuses with Invalid fewer than 1 and more than MaxWatched ids.
//
// What changed before it returns is not told.
func (r *Repo) WatchArticles(ctx context.Context, ids []ArticleID) (*Watch, error) {
	if len(ids) < 1 || len(ids) > MaxWatched {
		return nil, refuse(Invalid, "ids", "1 to %d articles can be watched at once, these are %d", MaxWatched, len(ids))
	}
	w := &Watch{live: &r.live, wake: make(chan struct{}, 1)}
	unread := r.live.join(w, ids)
	// A topic that is read now can follow its changes without being read again.
	_, errs := r.readArticles(ctx, unread)
	for _, err := range errs {
		if errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			w.Close()
			return nil, cmp.Or(err, ctx.Err())
		}
	}
	r.live.start(w)
	return w, nil
}

// WatchPosts watches for new articles of a group, or of the whole site when the
// group is empty. Imported and undeleted articles are not new, and deleted ones
// are passed over. Of a watcher that takes too slowly, the 100 newest posts wait. It refuses with Invalid the group
// interesting, into which nothing is posted.
func (r *Repo) WatchPosts(group GroupName) (*Watch, error) {
	if group == Interesting {
		return nil, refuse(Invalid, "group", "nothing is posted into the group %s: watch its articles for changes", Interesting)
	}
	w := &Watch{live: &r.live, wake: make(chan struct{}, 1), group: &group}
	r.live.joinPosts(w)
	return w, nil
}

// OfPosts reports whether new articles are watched for, instead of changes.
func (w *Watch) OfPosts() bool { return w.group != nil }

// Wake has a value when there may be something to take.
func (w *Watch) Wake() <-chan struct{} { return w.wake }

// Take returns an article that has news for the watcher, in the newest state
// that this process knows, or nil when there is none.
func (w *Watch) Take() *Article {
	if w.group != nil {
		return w.takePost()
	}
	for range w.watched {
		t := &w.watched[w.at]
		w.at = (w.at + 1) % len(w.watched)
		round := t.topic.round.Load()
		if round == t.round {
			continue
		}
		t.round = round
		if a := t.latest.Load(); a != nil && a != t.shown {
			t.shown = a
			return a
		}
	}
	return nil
}

func (w *Watch) takePost() *Article {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	for len(w.posted) > 0 {
		t := w.posted[0]
		w.posted, w.taken = w.posted[1:], append(w.taken, t)
		if a := t.latest.Load(); a.DeletedAt == nil {
			return a
		}
	}
	return nil
}

// Newer returns the newest state of an article that Take returned, if it is
// another one by now, and nil otherwise. Whoever asks right before showing the
// article shows none that is older than what this process has told anybody. A
// new article, too, may be deleted by then.
func (w *Watch) Newer(a *Article) *Article {
	for i := range w.watched {
		if t := &w.watched[i]; t.id == a.ID {
			if latest := t.latest.Load(); latest != a {
				t.shown = latest
				return latest
			}
			return nil
		}
	}
	for _, t := range w.taken {
		if latest := t.latest.Load(); t.id == a.ID && latest != a {
			return latest
		}
	}
	return nil
}

// Again has an article that was taken taken once more when there is news of any
// kind, since it could not be shown as it should.
func (w *Watch) Again(a *Article) {
	for i := range w.watched {
		if t := &w.watched[i]; t.id == a.ID {
			t.shown = nil
		}
	}
}

// Shown says that what was taken has been shown: Newer is not asked about it
// again.
func (w *Watch) Shown() {
	if len(w.taken) == 0 {
		return
	}
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	for _, t := range w.taken {
		w.live.drop(t)
	}
	w.taken = w.taken[:0]
}

// Close ends the watch. It is called once.
func (w *Watch) Close() {
	w.Shown()
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	delete(w.live.posts, w)
	for _, t := range w.posted {
		w.live.drop(t)
	}
	for _, t := range w.watched {
		delete(t.watches, w)
		w.live.drop(t.topic)
	}
}

// tell wakes the watcher, who may be awake.
func (w *Watch) tell() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wants reports whether a new article is one that is watched for.
func (w *Watch) wants(a *Article) bool {
	return *w.group == "" || slices.Contains(a.Groups, *w.group)
}
