package live

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// place is what a watcher of posts has of one partition: the articles that were posted before the second, and in the
// second those of ids. Posting times grow in the order of posting, except after the server's clock goes back, or a
// failover to one whose clock is behind; but then an article has a higher number than those before.
type place struct {
	second  int64 // Unix time
	highest site.ArticleID
	ids     []site.ArticleID // only appended to, so that copies may share it
}

func (p place) has(id site.ArticleID, second int64) bool {
	if id > p.highest || second > p.second {
		return false
	}
	// An earlier second for one of ids is that of another article: the store lost the one that had the number.
	return slices.Contains(p.ids, id) == (second == p.second)
}

func (p *place) add(id site.ArticleID, second int64) {
	clockWentBack := id > p.highest && second < p.second
	p.highest = max(p.highest, id)
	switch {
	case second > p.second || clockWentBack:
		p.second, p.ids = second, []site.ArticleID{id}
	case second == p.second && !slices.Contains(p.ids, id):
		p.ids = append(p.ids, id)
	}
}

// goBack forgets numbers that the store will give out again.
func (p *place) goBack(highest site.ArticleID) {
	if highest < p.highest {
		p.highest = highest
		p.ids = slices.DeleteFunc(slices.Clone(p.ids), func(id site.ArticleID) bool { return id > highest })
	}
}

func copyPlaces(places []place) []place {
	places = slices.Clone(places)
	for i := range places {
		places[i].ids = slices.Clip(places[i].ids) // appending to the copy allocates
	}
	return places
}

// The kinds of cursors, their first byte.
const (
	revisionsCursor = 'r'
	placesCursor    = 'p'
)

// Cursor returns the position of the watch, after everything that was delivered or existed when the watch began.
// ResumeArticles, ResumePosts or WatchEvents continues after it.
func (w *Watch) Cursor() string {
	if w.feed != nil {
		return w.feed.sent
	}
	if w.group != nil {
		w.live.mu.Lock()
		defer w.live.mu.Unlock()
		return encodePlaces(w.places)
	}
	ids := site.Collect(w.watched, func(t watched) site.ArticleID { return t.id })
	text := binary.BigEndian.AppendUint32([]byte{revisionsCursor}, sumOf(ids))
	for _, t := range w.watched {
		text = binary.AppendUvarint(text, uint64(t.sent+1)) // #nosec G115 -- at least -1
	}
	return site.Seal(text)
}

// sumOf tells lists of articles apart.
func sumOf(ids []site.ArticleID) uint32 {
	var text []byte
	for _, id := range ids {
		text = binary.AppendUvarint(text, uint64(id)) // #nosec G115 -- positive
	}
	return crc32.ChecksumIEEE(text)
}

// RevisionsAt returns the revision of each article in a cursor of a watch of these articles, or -1 for none. field is
// the name of the cursor's argument or header, for errors.
func RevisionsAt(field, cursor string, ids []site.ArticleID) ([]int64, error) {
	text, err := site.Unseal(field, cursor)
	if err != nil {
		return nil, err
	}
	distinct := make([]site.ArticleID, 0, len(ids))
	for _, id := range ids {
		if !slices.Contains(distinct, id) {
			distinct = append(distinct, id)
		}
	}
	if len(text) < 5 || text[0] != revisionsCursor || binary.BigEndian.Uint32(text[1:]) != sumOf(distinct) {
		return nil, site.Refuse(site.Invalid, field, "%s is of another subscription: send it with the same ids", field)
	}
	numbers := site.NumberReader{Text: text[5:]}
	revisions := make([]int64, len(ids))
	for _, id := range distinct {
		n := int64(numbers.Next()) - 1 // #nosec G115 -- as it was encoded
		for i := range ids {
			if ids[i] == id {
				revisions[i] = n
			}
		}
	}
	return revisions, nil
}

// encodePlaces encodes the places of all partitions. Most have one article in their last second, so runs of numbers
// are short; times are relative to the latest.
func encodePlaces(places []place) string {
	latest := int64(0)
	for _, p := range places {
		latest = max(latest, p.second)
	}
	text := []byte{placesCursor}
	number := func(n int64) { text = binary.AppendUvarint(text, uint64(n)) } // #nosec G115 -- not negative
	number(int64(len(places)))
	number(latest)
	for _, p := range places {
		number(latest - p.second)
		number(int64(p.highest) / int64(len(places)))
		runs := runsOf(p.ids, len(places))
		number(int64(len(runs)))
		next := int64(0)
		for _, r := range runs {
			number(r.first - next)
			number(r.length)
			next = r.first + r.length
		}
	}
	return site.Seal(text)
}

// series are numbers that a partition gave out in turn.
type series struct{ first, length int64 }

func runsOf(ids []site.ArticleID, partitions int) (runs []series) {
	for _, id := range slices.Sorted(slices.Values(ids)) {
		n := int64(id) / int64(partitions)
		if last := len(runs) - 1; last >= 0 && n == runs[last].first+runs[last].length {
			runs[last].length++
		} else {
			runs = append(runs, series{n, 1})
		}
	}
	return runs
}

// maxDecoded is how many articles of the last seconds a cursor can make a process hold. Those beyond are sent again.
const maxDecoded = 10_000

// decodePlaces returns the places of a cursor, or latest, a time after which nothing was seen, if they are those of
// another number of partitions.
func decodePlaces(text []byte, partitions int) (places []place, latest int64) {
	numbers := site.NumberReader{Text: text[1:]}
	number := func() int64 { return int64(numbers.Next() & math.MaxInt64) } // #nosec G115 -- masked
	n := number()
	latest = number()
	if n != int64(partitions) {
		return nil, latest
	}
	id := func(i int, number int64) site.ArticleID { return site.ArticleID(number*n + int64(i)) }
	places = make([]place, partitions)
	left := int64(maxDecoded)
	for i := range places {
		places[i].second = latest - number()
		places[i].highest = id(i, number())
		next := int64(0)
		for range number() {
			first, length := next+number(), number()
			if length < 1 { // after the last number
				break
			}
			for k := range min(length, left) {
				places[i].ids = append(places[i].ids, id(i, first+k))
			}
			left -= min(length, left)
			next = first + length
		}
	}
	return places, latest
}

// placesAt returns the places of a watcher that has what was posted until a time, of that second only one article. Other
// partitions than that of the article may be on servers whose clocks are behind.
func (r *Live) placesAt(second int64, id site.ArticleID) []place {
	earlier := second
	if len(r.store.Partitions) > 1 {
		earlier -= site.ClockSlack
	}
	places := make([]place, len(r.store.Partitions))
	for i := range places {
		places[i] = place{second: earlier, highest: math.MaxInt32}
	}
	if id != 0 {
		places[r.store.Index(id)] = place{second: second, highest: math.MaxInt32, ids: []site.ArticleID{id}}
	}
	return places
}

// placesAfter returns the places of the watcher that sent a cursor: that of an event, that of a list in the order of
// time, or the id of an article.
func (r *Live) placesAfter(ctx context.Context, field, after string) ([]place, error) {
	if id, err := site.ParseArticleID(after); err == nil {
		articles, errs := r.articles.ReadArticles(ctx, []site.ArticleID{id})
		if errs[0] != nil {
			return nil, errs[0]
		}
		return r.placesAt(site.SecondOf(articles[0].Stored.PostedAt), id), nil
	}
	text, err := site.Unseal(field, after)
	if err != nil {
		return nil, err
	}
	if len(text) > 0 && text[0] == placesCursor {
		places, latest := decodePlaces(text, len(r.store.Partitions))
		if places == nil {
			places = r.placesAt(latest, 0)
		}
		return places, nil
	}
	if parts := strings.Split(string(text), site.CursorSeparator); len(parts) == 3 && strings.HasPrefix(parts[0], site.ByTime.Prefix()) {
		id, errID := site.ParseArticleID(parts[2])
		postedAt, errTime := site.ParseNumber(parts[1])
		if errID == nil && errTime == nil {
			return r.placesAt(site.SecondOf(postedAt), id), nil
		}
	}
	return nil, site.Refuse(site.Invalid, field, "%s must be the cursor of an event of articlePosted, or of a list in the order of time, or the id of an article", field)
}

// ResumeArticles is WatchArticles for a watcher that has a revision of each article, or -1 for none: an article with
// another revision is delivered at once. A deleted article is delivered without title, link, text and groups.
func (r *Live) ResumeArticles(ctx context.Context, ids []site.ArticleID, revisions []int64) (*Watch, error) {
	if len(ids) != len(revisions) {
		return nil, site.Refuse(site.Invalid, "revisions", "there must be one revision for each id: these are %d for %d ids", len(revisions), len(ids))
	}
	known := make(map[site.ArticleID]int64, len(ids))
	for i, id := range ids {
		if _, repeated := known[id]; !repeated {
			known[id] = revisions[i]
		}
	}
	return r.watchArticles(ctx, ids, known)
}

// ResumePosts is WatchPosts for a watcher that has the posts up to a cursor: later ones are delivered first. field is
// the name of the cursor's argument or header, for errors. An article that was deleted meanwhile is not delivered, and
// the present groups of an article decide. Imported articles are delivered like posts if their posting times are later
// than the cursor.
func (r *Live) ResumePosts(ctx context.Context, group site.GroupName, field, after string) (*Watch, error) {
	places, err := r.placesAfter(ctx, field, after)
	if err != nil {
		return nil, err
	}
	return r.watchPosts(ctx, group, places)
}

// Behind reports whether Take returns nothing more until CatchUp is called.
func (w *Watch) Behind() bool {
	if w.group == nil && w.feed == nil {
		return false
	}
	w.live.mu.RLock()
	defer w.live.mu.RUnlock()
	if w.feed != nil {
		return w.feed.behind && len(w.feed.queue) == 0
	}
	return w.behind && len(w.queue) == 0
}

// fallBehind drops the posts that wait, since there are too many or some were missed: they are read by CatchUp. The
// caller holds live.mu.
func (w *Watch) fallBehind() {
	w.live.releaseAll(w.queue)
	w.queue, w.behind = nil, true
	w.signal()
}

func (l *live) releaseAll(posts []post) {
	for _, p := range posts {
		l.release(p.topic)
	}
}

// CatchUp reads up to queueLimit posts or events that the watcher lacks, for Take. After an error, call it again when
// Wake has a value.
func (w *Watch) CatchUp(ctx context.Context) (err error) {
	if w.feed != nil {
		return w.catchUpEvents(ctx)
	}
	ctx = failover.Impatient(ctx)
	l := w.live
	l.mu.Lock()
	w.late, w.collecting = nil, true // those that are announced from now on may be too late for the read
	places := copyPlaces(w.places)
	l.mu.Unlock()
	defer func() {
		if err != nil {
			time.AfterFunc(retryPause, w.retry)
		}
	}()
	ids, more, err := w.repo.missed(ctx, *w.group, places)
	var posts []post
	if err == nil {
		l.mu.Lock()
		for _, id := range ids {
			posts = append(posts, post{topic: l.acquire(id), read: true})
		}
		l.mu.Unlock()
		_, errs := w.repo.articles.ReadArticles(ctx, ids)
		err = articles.Unanswered(errs)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	late := w.late
	w.late, w.collecting = nil, false
	if err == nil && slices.ContainsFunc(posts, func(p post) bool { return p.lost }) { // another article had the number
		err = fmt.Errorf("%w: the store has gone back", failover.ErrUnavailable)
	}
	if err != nil {
		l.releaseAll(posts)
		l.releaseAll(late)
		return failover.Wrap("look for posts", err)
	}
	w.places, w.queue = places, posts
	if more || len(late) > queueLimit {
		l.releaseAll(late)
		return nil
	}
	w.behind = false
	for _, p := range late {
		if slices.Contains(ids, p.topic.id) {
			l.release(p.topic)
		} else {
			w.queue = append(w.queue, p)
		}
	}
	return nil
}

// retry wakes the watcher, unless the watch was closed.
func (w *Watch) retry() {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	_, ofPosts := w.live.postWatches[w]
	if _, ofEvents := w.live.eventWatches[w]; ofPosts || ofEvents {
		w.signal()
	}
}

// missed returns the first articles of a group, or of the site, that are not in the places, up to queueLimit in the order
// of posting. more says that there may be others. It corrects places that are ahead of the store.
func (r *Live) missed(ctx context.Context, group site.GroupName, places []place) (ids []site.ArticleID, more bool, err error) {
	l := lists.AllArticles(site.ByTime, site.Ascending)
	if group != "" {
		l = lists.InGroup(group, site.ByTime, site.Ascending)
	}
	type found struct {
		id     site.ArticleID
		second int64
	}
	var all []found
	counters, replies := make([]*redis.StringCmd, len(places)), make([]*redis.Cmd, len(places))
	next := make([]*site.Cursor, len(places))
	for i, p := range places {
		next[i] = &site.Cursor{Score: float64(p.second - site.ClockSlack)}
	}
	for first := true; slices.ContainsFunc(next, func(c *site.Cursor) bool { return c != nil }); first = false {
		err := r.lists.ReadListings(ctx, l, func(pipe redis.Pipeliner) {
			for i, after := range next {
				if after == nil {
					continue
				}
				q := lists.ListRequest{Request: site.Request[site.Cursor]{Size: queueLimit, After: after}}
				if replies[i] = r.lists.CallListing(ctx, pipe, r.store.Partitions[i], l, q); first {
					counters[i] = pipe.Get(ctx, r.store.Partitions[i].Counter())
				}
			}
		})
		if err != nil {
			return nil, false, err
		}
		for i := range next {
			if next[i] == nil {
				continue
			}
			page, err := lists.ParseRanked(replies[i])
			if err != nil {
				return nil, false, err
			}
			if n, err := counters[i].Int64(); first && (err == nil || errors.Is(err, redis.Nil)) {
				places[i].goBack(site.ArticleID(n*int64(len(places)) + int64(i)))
			}
			next[i] = nil
			before := len(all)
			for _, z := range page.Items {
				if id, ok := lists.ArticleOf(z); ok && !places[i].has(id, site.SecondOf(z.Score)) {
					all = append(all, found{id, site.SecondOf(z.Score)})
				}
			}
			switch full := len(page.Items) == queueLimit; {
			case full && len(all) == before: // the watcher has all of these
				next[i] = new(lists.PlaceOf(page.Items[len(page.Items)-1]))
			case full:
				more = true
			}
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.id, b.id)) })
	if len(all) > queueLimit {
		all, more = all[:queueLimit], true
	}
	for _, a := range all {
		ids = append(ids, a.id)
	}
	return ids, more, nil
}
