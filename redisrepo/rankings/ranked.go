// Package rankings ranks articles by any span and formula, and saves the front page of each hour.
package rankings

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

// Rankings ranks articles by any span and formula, and saves front pages.
type Rankings struct {
	store      *wire.Store
	lists      *lists.Lists
	calendars  *lru.Cache[calendarKey, calendarState] // which lists they have, as far as is known
	stepLooked int                                    // see New
	best       bestRanks
	folds      folds
	views      *views.Views
	calendar   *views.View
	saved      []atomic.Int64 // by partition; see SavedHour
}

// New returns the rankings of a site. The calls of one step look at about stepLooked members; 0 stands for the default.
func New(store *wire.Store, lists *lists.Lists, all *views.Views, stepLooked int) (*Rankings, error) {
	calendars, err := lru.New[calendarKey, calendarState](calendarsCacheSize)
	r := &Rankings{store: store, lists: lists, views: all, calendars: calendars, stepLooked: cmp.Or(stepLooked, defaultLooked), saved: make([]atomic.Int64, len(store.Partitions))}
	r.calendar = &views.View{Name: "calendar", Apply: r.applyCalendar, Applied: r.foldApplied}
	if store.Has("calendar") {
		all.Add(r.calendar)
	}
	r.best.turn, r.folds.tried = semaphore.NewWeighted(1), map[string]time.Time{}
	return r, err
}

// MaxGravityRows is the maximum length of a ranking by RankGravity: no list of the calendar has its order, so a page
// costs more the further down it is.
const MaxGravityRows = 1000

// RankedEdge is an article on a page of a ranking.
type RankedEdge struct {
	ID     site.ArticleID
	Cursor string
	Key    float64 // value of the formula, a whole number
}

// RankedPage is a page of a ranking.
type RankedPage struct {
	Edges  []RankedEdge
	Info   site.PageInfo // HasPreviousPage: whether the page was read after a cursor
	AsOf   time.Time     // instant of the ranking
	Looked int           // number of lists, and of members of them, that Redis looked at for it; set also with an error
}

// Rank returns the first articles of a list, or those after a cursor; first is 1 to MaxPageSize, and Rules.PageSize if
// it is nil. The ranking is as of now or, with a cursor, of the instant of the cursor's page: later articles are left
// out, ages and the span stay, votes are those of now. So paging skips no article with unchanged votes, and repeats one
// only if its votes fell. Articles with equal keys are in descending order of the bytes of their ids.
//
// It takes one round trip for every 1,000 members of lists that Redis reads, usually one, and is not repeated when
// Redis does not answer in time. The Refusal is Invalid if first is out of bounds, a cursor is damaged or belongs to
// another list, a list by RankGravity is read beyond MaxGravityRows, or Redis would have to read too many articles: in
// a long span in which the formula gives nearly all articles the same key.
func (r *Rankings) Rank(ctx context.Context, l RankedList, first *int, after *string) (RankedPage, error) {
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, r.store.Rules.PageSize, r.rankedCursors(l))
	if err != nil {
		return RankedPage{}, err
	}
	at := rankedCursor{instant: r.store.Now().Unix()}
	if q.After != nil {
		at = *q.After
	}
	size, ends := q.Size, false
	if l.formula == RankGravity {
		size = min(size, MaxGravityRows-at.row)
		ends = at.row+size == MaxGravityRows
	}
	items, looked, err := r.rank(ctx, l, at, size+1)
	if err != nil {
		return RankedPage{Looked: looked}, failover.Wrap("rank", err)
	}
	page := RankedPage{Info: site.PageInfo{HasPreviousPage: q.After != nil, HasNextPage: len(items) > size && !ends}, AsOf: time.Unix(at.instant, 0).UTC(), Looked: looked}
	seal := r.rankedSeal(l)
	for i, item := range items[:min(len(items), size)] {
		cursor := seal.cursor(rankedCursor{instant: at.instant, row: at.row + i + 1, rankedItem: item})
		if page.Info.EndCursor = &cursor; page.Info.StartCursor == nil {
			page.Info.StartCursor = &cursor
		}
		if id, ok := lists.ArticleOfMember(item.member); ok {
			page.Edges = append(page.Edges, RankedEdge{ID: id, Cursor: cursor, Key: float64(item.key)})
		}
	}
	return page, nil
}

// rankedItem is a place in a ranking.
type rankedItem struct {
	key    int64
	member string
}

func compareRanked(a, b rankedItem) int {
	return cmp.Or(cmp.Compare(b.key, a.key), strings.Compare(b.member, a.member))
}

// RankCount returns the number of articles of a list at an instant, RankedPage.AsOf. For a group it reads the group's
// listing by time, which is built and kept as for lists.Walk.
func (r *Rankings) RankCount(ctx context.Context, l RankedList, asOf time.Time) (int, error) {
	from, till := l.times(asOf.Unix())
	if from >= till {
		return 0, nil
	}
	if l.group != "" {
		return r.countGroup(ctx, l.group, from, till)
	}
	n, err := r.store.Sum(ctx, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd {
		return pipe.ZCount(ctx, p.Ranking(site.ByTime), site.Number(from), "("+site.Number(till))
	})
	return n, failover.Wrap("count articles", err)
}

// countGroup returns how many articles of a group were posted from one time to before another.
func (r *Rankings) countGroup(ctx context.Context, name site.GroupName, from, till float64) (int, error) {
	listing := lists.InGroup(name, site.ByTime, site.Ascending)
	// Before these two are the articles that are older than from, and those that are older than till.
	bounds := []site.Cursor{{Score: max(from, -site.MaxExact)}, {Score: till}}
	replies := make([]*redis.Cmd, len(r.store.Partitions))
	err := r.lists.ReadListings(ctx, listing, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			replies[i] = r.lists.CallListing(ctx, pipe, p, listing, lists.ListRequest{Request: site.Request[site.Cursor]{Size: 1}}, bounds...)
		}
	})
	if err != nil {
		return 0, failover.Wrap("count articles", err)
	}
	n := 0
	for _, reply := range replies {
		ranks, err := reply.Int64Slice()
		if err != nil || len(ranks) != len(bounds) {
			return 0, failover.Wrap("count articles", cmp.Or(err, wire.ErrNoStatus))
		}
		n += int(ranks[1] - ranks[0])
	}
	return n, nil
}
