// Package search finds articles by words of their titles and texts. Each process has an index in memory, which it
// builds from the store and keeps complete. Votes do not change it, and a stale index shows nothing wrong, since
// articles that it finds are read from the store and matched again.
package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

const (
	// MaxRanked is the maximum number of articles with the words that a search reads and ranks: the newest.
	MaxRanked = 2000
	// MaxSimilar is the maximum number of similar articles.
	MaxSimilar = 10
	// maxText is the maximum number of bytes of titles and texts that a search reads: 2,000 texts of 1,000 characters.
	maxText = 2 << 20
	// freshness is how long a search waits for the index to have earlier changes.
	freshness = 200 * time.Millisecond
)

// Options are the options of a site's search.
type Options struct {
	Titles bool // false: the site has no search
	Texts  bool // besides titles
	Memory int  // bytes of the index, about; if it takes more, it drops the oldest articles
}

// Search is the search of a site.
type Search struct {
	store    *wire.Store
	articles *articles.Articles
	log      *events.Log
	o        Options
	index    *index

	turn        *semaphore.Weighted   // to change the index, so that what was read first is there first
	place       atomic.Pointer[place] // its fields are guarded by turn, or for Follow alone; nil: not known
	done, total atomic.Int64          // articles that were read by the last walk
	through     atomic.Pointer[time.Time]
}

// New returns the search of a site. It needs the site's events: without them there is no search.
func New(store *wire.Store, articles *articles.Articles, log *events.Log, o Options) *Search {
	s := &Search{store: store, articles: articles, log: log, o: o, turn: semaphore.NewWeighted(1)}
	if s.On() {
		s.index = newIndex()
	}
	return s
}

// On reports whether the site has a search.
func (s *Search) On() bool { return s.o.Titles && s.store.Rules.Events > 0 }

// NotReady is the error of a search before the index is complete for the first time.
type NotReady struct{ Progress float64 } // from 0 to 1

func (NotReady) Error() string { return "the index of search is being built: try again soon" }

// Status is the state of a process's index.
type Status struct {
	Ready    bool
	Through  time.Time // the index has all changes up to then; zero: it is not complete yet
	Done     int       // articles that were read while it was built, of Total
	Total    int
	Articles int       // in the index
	Bytes    int       // that it takes, about
	Since    time.Time // articles that were posted earlier were dropped to save memory; zero: none
}

// Status returns the state of the index.
func (s *Search) Status() (st Status) {
	if !s.On() {
		return st
	}
	if through := s.through.Load(); through != nil {
		st.Ready, st.Through = true, *through
	}
	st.Done, st.Total = int(s.done.Load()), int(s.total.Load())
	articles, bytes, since := s.index.size()
	st.Articles, st.Bytes = articles, bytes
	if since > 0 {
		st.Since = time.Unix(int64(since), 0).UTC()
	}
	return st
}

// Order is the key that results are sorted by. The zero value is invalid.
type Order int

// The orders. Equal articles are sorted by the bytes of their members, as in Redis.
const (
	Best Order = iota + 1 // by tier, then by score
	ByScore
	ByVotes
	ByTime
)

// Field is a part of an article.
type Field int

// The fields.
const (
	Title Field = iota + 1
	Text
)

// Query is a search for a page of results. After is a cursor.
type Query struct {
	Text   string // 1 to MaxQuery characters
	Filter Filter
	Order  Order
	First  *int
	After  *string
}

// Result is a page of results.
type Result struct {
	Hits       []Hit
	Info       site.PageInfo
	Total      int       // articles that match, of those that were ranked
	Read       int       // articles that were read
	IsPartial  bool      // only the newest MaxRanked articles with the words were ranked
	Through    time.Time // all changes up to then were searched
	Suggestion string    // the query in the spelling of the first result, or empty

	query query
	texts bool
}

// Hit is an article that matches.
type Hit struct {
	ID     site.ArticleID
	Tier   Tier
	Cursor string

	class  class
	key    float64 // of the order
	spelt  string
	member string
}

// Search returns a page of the articles that match. The tier Similar is searched only if no other matches, and pages
// after a cursor stay in the stage of the first page. Articles of posters for whom leftOut returns true are left out.
// It waits up to 200 ms for the index to have changes before the call, and then answers without them.
//
// An invalid query, filter, size or cursor is refused as Invalid, and so is each call on a site without search. Until
// the index is first complete the error is NotReady.
func (s *Search) Search(ctx context.Context, q Query, leftOut func(site.UserName) bool) (*Result, error) {
	parsed, err := s.begin(ctx, q.Text)
	if err != nil {
		return nil, err
	}
	list := q.list()
	page, err := site.ParseRequest(site.PageRequest{First: q.First, After: q.After}, s.store.Rules.PageSize, func(field, text string) (cursor, error) {
		return decodeCursor(field, list, text)
	})
	if err != nil {
		return nil, err
	}
	at := whole
	if page.After != nil {
		at = page.After.stage
	}
	look := looking{Result: s.result(parsed, q.Filter.In), s: s, fields: q.Filter.In, order: q.Order, keep: q.Filter.keep(leftOut), most: MaxRanked}
	hits, err := look.hits(ctx, at)
	for err == nil && len(hits) == 0 && page.After == nil && at < partly {
		at++
		hits, err = look.hits(ctx, at)
	}
	if err != nil {
		return nil, err
	}
	r := look.Result
	r.Total = len(hits)
	if len(hits) > 0 {
		r.Suggestion = hits[0].spelt
	}
	isLater := page.After != nil
	if isLater {
		hits = slices.DeleteFunc(hits, func(h Hit) bool { return compare(q.Order, h, page.After.Hit) <= 0 })
	}
	for i := range hits {
		hits[i].Cursor = hits[i].encode(list, at)
	}
	cut := site.NewPage(hits, page.Size, false, isLater, false)
	r.Hits, r.Info = cut.Items, cut.Info(func(h Hit) string { return h.Cursor })
	return r, nil
}

// Similar returns up to most articles with at least half of the words of a title, those with more first. Errors are
// those of Search.
func (s *Search) Similar(ctx context.Context, title string, most int, leftOut func(site.UserName) bool) (*Result, error) {
	if most < 1 || most > MaxSimilar {
		return nil, site.Refuse(site.Invalid, "first", "first is between 1 and %d, not %d", MaxSimilar, most)
	}
	parsed, err := s.begin(ctx, title)
	if err != nil {
		return nil, err
	}
	onlyTitle := []Field{Title}
	look := looking{Result: s.result(parsed, onlyTitle), s: s, fields: onlyTitle, order: Best, keep: Filter{}.keep(leftOut), most: batchSize}
	hits, err := look.hits(ctx, partly)
	look.Hits = hits[:min(most, len(hits))]
	return look.Result, err
}

// begin parses a query and brings the index up to date.
func (s *Search) begin(ctx context.Context, text string) (query, error) {
	if !s.On() {
		return query{}, site.Refuse(site.Invalid, "", "this site has no search")
	}
	parsed, err := parse(text)
	if err != nil {
		return parsed, err
	}
	if st := s.Status(); !st.Ready {
		return parsed, NotReady{float64(st.Done) / float64(max(st.Total, 1))}
	}
	limited, stop := context.WithTimeout(failover.Impatient(ctx), freshness)
	defer stop()
	_ = s.catchUp(limited) // Through says how far it came
	return parsed, ctx.Err()
}

func (s *Search) result(q query, fields []Field) *Result {
	return &Result{query: q, texts: s.o.Texts && searches(fields, Text), Through: *s.through.Load()}
}

// searches reports whether a field is one of those to search; none: all are.
func searches(fields []Field, f Field) bool { return len(fields) == 0 || slices.Contains(fields, f) }

// looking looks for the hits of one search, and notes in its result how it did.
type looking struct {
	*Result
	s      *Search
	fields []Field // none: all
	order  Order
	keep   func(*site.Article) bool
	most   int // articles, the newest of those with the words; with most of the words if it looks for some
}

// hits returns the hits of a stage, the best first.
func (l *looking) hits(ctx context.Context, at stage) (hits []Hit, err error) {
	if len(l.query.items) == 0 {
		return nil, nil
	}
	text := 0
	for batch := range slices.Chunk(l.numbers(at), batchSize) {
		if text > maxText {
			l.IsPartial = true
			break
		}
		l.Read += len(batch)
		found, errs := l.s.articles.ArticlesByID(ctx, site.Collect(batch, func(number uint32) site.ArticleID { return site.ArticleID(number) }))
		if err := cmp.Or(articles.Unanswered(errs), ctx.Err()); err != nil {
			return nil, err
		}
		for _, a := range found {
			if a == nil || !l.keep(a) {
				continue
			}
			h, size := l.hit(at, a)
			if h.class != none {
				hits = append(hits, h)
			}
			text += size
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return compare(l.order, a, b) })
	return hits, nil
}

// numbers returns the articles that may match, as the index has them, the newest first.
func (l *looking) numbers(at stage) (numbers []uint32) {
	x := l.s.index
	switch at {
	case whole:
		all := l.query.wanted(exact)
		numbers, l.IsPartial = x.newest(all, len(all), l.most)
		if l.query.canBegin() && !l.IsPartial {
			var others []uint32
			others, l.IsPartial = x.newest(l.query.wanted(beginning), len(all), l.most)
			known := slices.Sorted(slices.Values(numbers))
			for _, number := range others {
				if _, there := slices.BinarySearch(known, number); !there {
					numbers = append(numbers, number)
				}
			}
		}
	case spelt:
		all := l.query.wanted(near)
		numbers, l.IsPartial = x.newest(all, len(all), l.most)
	case partly:
		// A phrase counts as one item: an article with all of its words has them, but with half of its words it may not.
		all := make([]wanted, len(l.query.items))
		for i, it := range l.query.items {
			all[i] = wanted{it.words[0], exact}
		}
		numbers, l.IsPartial = x.newest(all, (len(all)+1)/2, l.most)
	}
	return numbers
}

// hit matches an article: the class of one that does not match is none. size is how many bytes it has looked at.
func (l *looking) hit(at stage, a *site.Article) (h Hit, size int) {
	var title, text []string
	if searches(l.fields, Title) {
		title = textsOf(words(a.Title))
		size += len(a.Title)
	}
	if l.s.o.Texts && searches(l.fields, Text) {
		text = textsOf(words(site.Value(a.Text)))
		size += len(site.Value(a.Text))
	}
	h = Hit{ID: a.ID, class: l.query.match(at, title, text), member: a.ID.String()}
	if h.class == none {
		return h, size
	}
	if at == spelt {
		h.spelt = l.query.spelling(title, text)
	}
	h.Tier = h.class.tier()
	switch l.order {
	case ByVotes:
		h.key = float64(a.Votes)
	case ByTime:
		h.key = a.Stored.PostedAt
	default:
		h.key = a.Score
	}
	return h, size
}

func textsOf(found []word) []string {
	return site.Collect(found, func(w word) string { return w.text })
}

// compare orders hits, the best first.
func compare(by Order, a, b Hit) int {
	if by == Best && a.class != b.class {
		return cmp.Compare(a.class, b.class)
	}
	return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(b.member, a.member))
}

// list is the name of the list of results in cursors. Articles are sorted by what the store has of them, so a cursor is good at
// each process.
func (q Query) list() string {
	text, _ := json.Marshal([]any{q.Text, q.Filter, q.Order})
	sum := sha256.Sum256(text)
	return "search " + base64.RawURLEncoding.EncodeToString(sum[:9])
}

// cursor is a place in the results of a search: that of a hit, in the stage that found it.
type cursor struct {
	stage
	Hit
}

func (h Hit) encode(list string, at stage) string {
	return site.EncodeCursor(list, strconv.Itoa(int(at)), strconv.Itoa(int(h.class)), strconv.FormatFloat(h.key, 'g', -1, 64), h.member)
}

func decodeCursor(field, list, text string) (c cursor, err error) {
	parts, err := site.DecodeCursor(field, list, text)
	if err != nil {
		return c, err
	}
	if len(parts) != 4 {
		return c, site.NotACursor(field)
	}
	at, notStage := strconv.Atoi(parts[0])
	kind, notClass := strconv.Atoi(parts[1])
	key, notKey := strconv.ParseFloat(parts[2], 64)
	if cmp.Or(notStage, notClass, notKey) != nil || stage(at) < whole || stage(at) > partly {
		return c, site.NotACursor(field)
	}
	return cursor{stage(at), Hit{class: class(kind), key: key, member: parts[3]}}, nil
}

// Problem says in one line which articles search does not find; empty: it finds all.
func (s *Search) Problem() string {
	st := s.Status()
	switch {
	case !s.On():
	case !st.Ready && st.Total == 0:
		return "the index of search is being built"
	case !st.Ready:
		return fmt.Sprintf("the index of search is being built: %d of %d articles", st.Done, st.Total)
	case !st.Since.IsZero():
		return "search leaves out what was posted before " + st.Since.Format(time.DateOnly) + ": its memory is full"
	}
	return ""
}
