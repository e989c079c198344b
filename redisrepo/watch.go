package redisrepo

import (
	"context"
	"errors"
)

// MaxWatched is how many articles can be watched at once.
const MaxWatched = 100

// queueLimit is how many posts wait for a watcher that does not take them.
const queueLimit = 100

// Watch tells one watcher of articles that changed, or were posted. Listen must
// run, or it tells nothing. Take, Newer and Close belong to one goroutine.
type Watch struct {
	live *live
	wake chan struct{}

	topics []*topic   // what is watched; for posts, what was posted and is not taken yet
	rounds []uint64   // of each topic, when it was looked at last
	shown  []*Article // of each topic, what was taken last
	at     int        // where to look next, so that every topic has its turn
	last   *topic     // what Take returned last, and as what
	taken  *Article

	group *GroupName // of posts: the group, empty for all; nil when articles are watched
}

// WatchArticles watches articles for changes of votes, score and groups. An
// article that does not exist is never told of, which is no error. It refuses
// with Invalid fewer than 1 and more than MaxWatched ids.
//
// What changed before it returns is not told.
func (r *Repo) WatchArticles(ctx context.Context, ids []ArticleID) (*Watch, error) {
	if len(ids) < 1 || len(ids) > MaxWatched {
		return nil, refuse(Invalid, "ids", "1 to %d articles can be watched at once, these are %d", MaxWatched, len(ids))
	}
	w := &Watch{live: &r.live, wake: make(chan struct{}, 1)}
	unread := r.live.join(w, ids)
	// A topic that is read now can follow its changes without being read again.
	_, errs := r.ArticlesByID(ctx, unread)
	for _, err := range errs {
		if errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// WatchPosts watches for new articles of a group, or of the whole site when the
// group is empty. Imported articles are not new. Of a watcher that takes too
// slowly, the 100 newest posts wait. It refuses with Invalid the group
// interesting, into which nothing is posted.
func (r *Repo) WatchPosts(group GroupName) (*Watch, error) {
	if group == interesting {
		return nil, refuse(Invalid, "group", "nothing is posted into the group %s: watch its articles for changes", interesting)
	}
	w := &Watch{live: &r.live, wake: make(chan struct{}, 1), group: &group}
	r.live.joinPosts(w)
	return w, nil
}

// Wake has a value when there may be something to take.
func (w *Watch) Wake() <-chan struct{} { return w.wake }

// Take returns an article that has news for the watcher, in the newest state
// that this process knows, or nil when there is none.
func (w *Watch) Take() *Article {
	if w.group != nil {
		return w.takePost()
	}
	for range w.topics {
		i := w.at
		w.at = (w.at + 1) % len(w.topics)
		t := w.topics[i]
		round := t.round.Load()
		if round == w.rounds[i] {
			continue
		}
		w.rounds[i] = round
		if a := t.latest.Load(); a != nil && a != w.shown[i] {
			w.shown[i], w.last, w.taken = a, t, a
			return a
		}
	}
	return nil
}

func (w *Watch) takePost() *Article {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	w.letGo()
	if len(w.topics) == 0 {
		return nil
	}
	w.last = w.topics[0]
	w.topics = w.topics[1:]
	w.taken = w.last.latest.Load()
	return w.taken
}

// letGo forgets the post that was taken last.
func (w *Watch) letGo() {
	if w.group != nil && w.last != nil {
		w.live.drop(w.last)
		w.last = nil
	}
}

// Newer returns the state of the article that Take returned last, if a newer one
// became known since it was taken, and nil otherwise. Whoever asks right before
// showing the article shows none that is older than what this process has told
// anybody.
func (w *Watch) Newer() *Article {
	a := w.last.latest.Load()
	if a == nil || a == w.taken {
		return nil
	}
	w.taken = a
	if w.group == nil {
		w.shown[(w.at+len(w.topics)-1)%len(w.topics)] = a
	}
	return a
}

// Close ends the watch. It may be called once.
func (w *Watch) Close() {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	w.letGo()
	if w.group != nil {
		delete(w.live.posts, w)
	}
	for _, t := range w.topics {
		delete(t.watches, w)
		w.live.drop(t)
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
	if *w.group == "" {
		return true
	}
	for _, name := range a.Groups {
		if name == *w.group {
			return true
		}
	}
	return false
}

