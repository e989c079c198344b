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
	taken  []*topic   // what is being delivered
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

// Delivery is one article to send to a watcher. Newest is called right before
// sending, and Done after it.
type Delivery struct {
	watch   *Watch
	topic   *topic
	watched *watched // nil for a new article
	article *Article // what Newest returned last
}

// Take returns the next article that has news for the watcher. ok is false when
// there is none until Wake has a value again.
func (w *Watch) Take() (d Delivery, ok bool) {
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
			return Delivery{watch: w, topic: t.topic, watched: t, article: a}, true
		}
	}
	return Delivery{}, false
}

func (w *Watch) takePost() (d Delivery, ok bool) {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	for len(w.posted) > 0 {
		t := w.posted[0]
		w.posted = w.posted[1:]
		if a := t.latest.Load(); a.DeletedAt == nil {
			w.taken = append(w.taken, t)
			return Delivery{watch: w, topic: t, article: a}, true
		}
		w.live.drop(t)
	}
	return Delivery{}, false
}

// Newest returns the newest state of the article that this process knows. Sent at
// once, it is not older than anything that this process has sent to any client. A
// new article, too, may be deleted by then.
func (d *Delivery) Newest() *Article {
	if latest := d.topic.latest.Load(); latest != d.article {
		d.article = latest
		if d.watched != nil {
			d.watched.shown = latest
		}
	}
	return d.article
}

// Done ends the delivery. With ok false, Take returns a watched article again at
// its next change of any kind, because sending it failed.
func (d *Delivery) Done(ok bool) {
	if d.watched != nil {
		if !ok {
			d.watched.shown = nil
		}
		return
	}
	w := d.watch
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	if i := slices.Index(w.taken, d.topic); i >= 0 {
		w.taken = slices.Delete(w.taken, i, i+1)
		w.live.drop(d.topic)
	}
}

// Close ends the watch and its deliveries. It is called once.
func (w *Watch) Close() {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	delete(w.live.posts, w)
	for _, t := range slices.Concat(w.posted, w.taken) {
		w.live.drop(t)
	}
	w.taken = nil
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
