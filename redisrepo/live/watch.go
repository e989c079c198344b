package live

import (
	"cmp"
	"context"
	"slices"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
)

// MaxWatched is the maximum number of articles of one watch.
const MaxWatched = 100

// queueLimit is the maximum number of posts that wait for a slow watcher.
const queueLimit = 100

// Watch delivers changed or new articles, or events, to one watcher. It delivers only while Listen runs. Call all
// methods but Wake from one goroutine.
type Watch struct {
	live   *live
	wake   chan struct{}
	onWake func() // instead of wake, if not nil; guarded by live.mu

	// Only for a watch of articles.
	watched []watched
	at      int // index of the article that Take looks at first, so that each gets its turn

	// Only for a watch of posts; guarded by live.mu, except for the first two.
	repo       *Live
	group      *site.GroupName // the group to watch, empty for all posts; nil if articles are watched
	places     []place         // by partition: what was taken
	queue      []post          // not taken yet
	taken      []*topic        // being delivered
	behind     bool            // there are posts that are not in the queue: see CatchUp
	collecting bool            // CatchUp is reading
	late       []post          // announced meanwhile

	feed *feedWatch // only for a watch of events
}

// watched is an article of a watch.
type watched struct {
	*topic
	notices uint64        // of the topic, when it was last looked at
	shown   *site.Article // the last state that was delivered; nil: any state is new to the watcher
	sent    int64         // the revision that the watcher has; -1: none
	existed bool          // it was not deleted all the time since the watch began
}

// visible returns what the watcher may see of a state: of an article that was deleted before the watch began, that it is
// deleted. Any client may resume a watch of any article.
func (t *watched) visible(a *site.Article) *site.Article {
	if t.existed = t.existed || a.DeletedAt == nil; t.existed {
		return a
	}
	b := *a
	b.Title, b.Link, b.Text, b.Groups = "", nil, nil, nil
	b.EditedAt, b.Stored.Edits = nil, 0
	return &b
}

// WatchArticles watches articles for changes of votes, score and groups. A deletion is delivered once, as an article
// with DeletedAt, and then nothing until the article is undeleted. An id without an article is not an error; nothing is
// delivered for it. Changes before WatchArticles returns are not delivered.
//
// Fewer than 1 or more than MaxWatched ids are refused as Invalid.
func (r *Live) WatchArticles(ctx context.Context, ids []site.ArticleID) (*Watch, error) {
	return r.watchArticles(ctx, ids, nil)
}

// watchArticles watches articles of which the watcher has the known revisions, or if they are nil the newest.
func (r *Live) watchArticles(ctx context.Context, ids []site.ArticleID, known map[site.ArticleID]int64) (*Watch, error) {
	if len(ids) < 1 || len(ids) > MaxWatched {
		return nil, site.Refuse(site.Invalid, "ids", "1 to %d articles can be watched at once, these are %d", MaxWatched, len(ids))
	}
	w := &Watch{live: &r.live, wake: make(chan struct{}, 1)}
	unread := r.live.addWatch(w, ids)
	indexes := site.Collect(ids, r.store.Index)
	if err := r.beginReading(ctx, indexes); err != nil { // before the articles are read
		w.Close()
		return nil, err
	}
	if known != nil {
		unread = ids // another process may have sent the watcher something newer than what this one knows
	}
	// With its state known, a topic can follow changes by their entries, without being read again.
	_, errs := r.articles.ReadArticles(ctx, unread)
	if err := cmp.Or(articles.Unanswered(errs), ctx.Err()); err != nil {
		w.Close()
		return nil, err
	}
	r.live.start(w, known)
	return w, nil
}

// WatchPosts watches for new articles in a group or, if the group is empty, for all new articles. Imported and
// undeleted articles are not new, and deleted ones are skipped. Up to 100 posts are queued for a slow watcher; beyond
// that CatchUp reads them from the store.
//
// The group Interesting, into which nothing is posted, is refused as Invalid.
func (r *Live) WatchPosts(ctx context.Context, group site.GroupName) (*Watch, error) {
	return r.watchPosts(ctx, group, nil)
}

// watchPosts watches for the posts after the places, or if they are nil for those from now on.
func (r *Live) watchPosts(ctx context.Context, group site.GroupName, places []place) (*Watch, error) {
	if group == site.Interesting {
		return nil, site.Refuse(site.Invalid, "group", "nothing is posted into the group %s: watch its articles for changes", site.Interesting)
	}
	if err := r.beginReading(ctx, r.every); err != nil {
		return nil, err
	}
	r.logs.mu.Lock()
	defer r.logs.mu.Unlock()
	if err := r.startReading(ctx); err != nil { // nothing was watched
		return nil, err
	}
	r.markDue(r.every...)
	_ = r.readLogs(ctx) // the watch begins now; what cannot be read stays due, and comes later
	w := &Watch{live: &r.live, wake: make(chan struct{}, 1), repo: r, group: &group, places: places}
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
	if places == nil {
		w.places = copyPlaces(r.live.places)
	} else {
		w.fallBehind()
	}
	r.live.postWatches[w] = struct{}{}
	return w, nil
}

// Wake returns a channel that has a value if Take may return something.
func (w *Watch) Wake() <-chan struct{} { return w.wake }

// OnWake makes the watch call f, instead of sending to Wake, whenever Take may return something: a watcher then
// needs no goroutine while it waits. f must return at once, and must not use the watch.
func (w *Watch) OnWake(f func()) {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	w.onWake = f
	select {
	case <-w.wake:
		f()
	default:
	}
}

// PostedEdge is a new article and the cursor after it.
type PostedEdge struct {
	Cursor string
	Node   *site.Article
}

// Delivery is one article or event to send to a watcher. Call Newest right before sending an article, and Done after.
type Delivery struct {
	watch   *Watch
	event   *events.EventEdge // nil for an article
	topic   *topic
	watched *watched      // nil for a new article
	latest  *site.Article // the newest state so far
	article *site.Article // what the watcher may see of it
	cursor  string        // of a new article
}

// Take returns the next delivery. ok is false if nothing is ready: wait for Wake, and call Take again.
func (w *Watch) Take() (d Delivery, ok bool) {
	switch {
	case w.feed != nil:
		return w.takeEvent()
	case w.group != nil:
		return w.takePost()
	}
	for range w.watched {
		t := &w.watched[w.at]
		w.at = (w.at + 1) % len(w.watched)
		notices := t.topic.notices.Load()
		if notices == t.notices {
			continue
		}
		t.notices = notices
		if a := t.latest.Load(); a != nil && a != t.shown {
			t.shown = a
			return Delivery{watch: w, topic: t.topic, watched: t, latest: a, article: t.visible(a)}, true
		}
	}
	return Delivery{}, false
}

func (w *Watch) takePost() (d Delivery, ok bool) {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	for len(w.queue) > 0 {
		p := w.queue[0]
		w.queue = w.queue[1:]
		if a := p.latest.Load(); a != nil {
			at := &w.places[w.repo.store.Index(a.ID)]
			isNew := p.read || p.again || !at.has(a.ID, site.SecondOf(a.Stored.PostedAt)) // otherwise CatchUp was faster
			at.add(a.ID, site.SecondOf(a.Stored.PostedAt))
			if isNew && a.DeletedAt == nil {
				w.taken = append(w.taken, p.topic)
				return Delivery{watch: w, topic: p.topic, latest: a, article: a, cursor: encodePlaces(w.places)}, true
			}
		}
		w.live.release(p.topic)
	}
	return Delivery{}, false
}

// enqueue adds a post to those that wait for the watcher. The caller holds live.mu.
func (w *Watch) enqueue(p post) {
	waiting := &w.queue
	switch {
	case w.collecting:
		waiting = &w.late
	case w.behind:
		return
	}
	switch i := slices.IndexFunc(*waiting, func(other post) bool { return other.topic == p.topic }); {
	case i >= 0:
		(*waiting)[i].again = (*waiting)[i].again || p.again
		return
	case len(*waiting) > queueLimit && w.collecting: // CatchUp will find that there are too many
		return
	case len(*waiting) >= queueLimit && !w.collecting:
		w.fallBehind()
		return
	}
	p.refs++
	*waiting = append(*waiting, p)
	w.live.notified++
	if !w.collecting {
		w.signal()
	}
}

// Event returns the event, or nil for an article.
func (d *Delivery) Event() *events.EventEdge { return d.event }

// Newest returns the newest state of the article that this process knows. Sent at once, it is not older than any state
// that this process has sent to any client. Even a new article may be deleted by then.
func (d *Delivery) Newest() *site.Article {
	if latest := d.topic.latest.Load(); latest != nil && latest != d.latest {
		d.latest, d.article = latest, latest
		if d.watched != nil {
			d.watched.shown, d.article = latest, d.watched.visible(latest)
		}
	}
	return d.article
}

// Posted returns a new article with its cursor, or nil for other deliveries.
func (d *Delivery) Posted() *PostedEdge {
	if d.event != nil || d.watched != nil {
		return nil
	}
	return &PostedEdge{d.cursor, d.article}
}

// Cursor returns the cursor of the watch after this delivery. Call it when the article is sent, in the order of Take.
func (d *Delivery) Cursor() string {
	if d.event != nil {
		d.watch.feed.sent = d.event.Cursor()
		return d.watch.feed.sent
	}
	if d.watched == nil {
		return d.cursor
	}
	d.watched.sent = d.article.Stored.Revision
	return d.watch.Cursor()
}

// Done ends the delivery. If ok is false, because sending failed, Take returns a watched article again
// at its next notification.
func (d *Delivery) Done(ok bool) {
	if d.event != nil {
		return
	}
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
		w.live.release(d.topic)
	}
}

// Close ends the watch and its deliveries. Call it once.
func (w *Watch) Close() {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	delete(w.live.postWatches, w)
	delete(w.live.eventWatches, w)
	w.live.releaseAll(w.queue)
	w.live.releaseAll(w.late)
	for _, t := range w.taken {
		w.live.release(t)
	}
	w.queue, w.late, w.taken = nil, nil, nil
	for _, t := range w.watched {
		delete(t.watches, w)
		w.live.release(t.topic)
	}
}

// signal wakes the watcher; it may be awake already. The caller holds live.mu.
func (w *Watch) signal() {
	if w.onWake != nil {
		w.onWake()
		return
	}
	wake(w.wake)
}

// matches reports whether a new article is one that is watched for.
func (w *Watch) matches(a *site.Article) bool {
	return *w.group == "" || slices.Contains(a.Groups, *w.group)
}
