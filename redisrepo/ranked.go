package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// MaxGravityRows is the number of articles at which a ranking by RankGravity ends: no list of the calendar has their
// order, so that a page costs more the further down it is.
const MaxGravityRows = 1000

// RankedEdge is an article on a page of a ranking.
type RankedEdge struct {
	ID     ArticleID
	Cursor string
	Key    float64 // value of the formula, a whole number
}

// RankedPage is a page of a ranking.
type RankedPage struct {
	Edges  []RankedEdge
	Info   PageInfo  // HasPreviousPage: whether the page was read after a cursor
	AsOf   time.Time // instant of the ranking
	Looked int       // number of members of lists that Redis looked at for it; set also with an error
}

// Rank returns the first articles of a list, or those after a cursor; first is 1 to MaxPageSize, and Rules.PageSize if
// it is nil. The ranking is as of now, and with a cursor as of the instant of the page that it is from: articles posted
// since are left out, ages and the span stay, votes are those of now. So paging skips no article whose votes did not
// change, and repeats one only if its votes fell. Articles with equal keys are in descending order of the bytes of
// their ids.
//
// It takes one round trip for every 1,000 members of lists that Redis looks at, usually one, and is not repeated when
// Redis does not answer in time. The Refusal is Invalid if first is out of bounds, a cursor is damaged or belongs
// to another list, a list by RankGravity is read beyond MaxGravityRows, or more articles would have to be looked at than
// Redis has time for: of a long time in which the formula gives nearly all the same key.
func (r *Repo) Rank(ctx context.Context, l RankedList, first *int, after *string) (RankedPage, error) {
	q, err := parseRequest(PageRequest{First: first, After: after}, r.rules.PageSize, r.rankedCursors(l))
	if err != nil {
		return RankedPage{}, err
	}
	at := rankedCursor{instant: r.now().Unix()}
	if q.after != nil {
		at = *q.after
	}
	size, ends := q.size, false
	if l.formula == RankGravity {
		size = min(size, MaxGravityRows-at.row)
		ends = at.row+size == MaxGravityRows
	}
	items, looked, err := r.rank(ctx, l, at, size+1)
	if errors.As(err, new(Refusal)) {
		return RankedPage{Looked: looked}, err
	}
	if err != nil {
		return RankedPage{Looked: looked}, storeError("rank", err)
	}
	page := RankedPage{Info: PageInfo{HasPreviousPage: q.after != nil, HasNextPage: len(items) > size && !ends}, AsOf: time.Unix(at.instant, 0).UTC(), Looked: looked}
	seal := r.rankedSeal(l)
	for i, item := range items[:min(len(items), size)] {
		cursor := seal.cursor(rankedCursor{instant: at.instant, row: at.row + i + 1, rankedItem: item})
		if page.Info.EndCursor = &cursor; page.Info.StartCursor == nil {
			page.Info.StartCursor = &cursor
		}
		if id, ok := articleOfMember(item.member); ok {
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

// RankCount returns the number of articles of a list at an instant, which is RankedPage.AsOf. Of a group, it reads the
// group's listing by time, which Redis builds and keeps as it does for Walk.
func (r *Repo) RankCount(ctx context.Context, l RankedList, asOf time.Time) (int, error) {
	low, high := l.times(asOf.Unix())
	if low > high {
		return 0, nil
	}
	if l.group != "" {
		return r.countGroup(ctx, l.group, low, high)
	}
	first := "-inf"
	if low != math.MinInt64 {
		first = strconv.FormatInt(low, 10)
	}
	counts := make([]*redis.IntCmd, len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			counts[i] = pipe.ZCount(ctx, p.ranking(ByTime), first, "("+strconv.FormatInt(high+1, 10))
		}
	})
	if err != nil {
		return 0, storeError("count articles", err)
	}
	n := 0
	for _, count := range counts {
		n += int(count.Val())
	}
	return n, nil
}

// countGroup returns how many articles of a group were posted from one second to another.
func (r *Repo) countGroup(ctx context.Context, name GroupName, low, high int64) (int, error) {
	listing := InGroup(name, ByTime, Ascending)
	// Before these two are the articles up to low, and those up to high.
	bounds := []cursor{{score: float64(max(low, -maxExact))}, {score: float64(high + 1)}}
	replies := make([]*redis.Cmd, len(r.partitions))
	err := r.readListings(ctx, listing, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			replies[i] = r.callListing(ctx, pipe, p, listing, listRequest{request: request[cursor]{size: 1}}, bounds...)
		}
	})
	if err != nil {
		return 0, storeError("count articles", err)
	}
	n := 0
	for _, reply := range replies {
		ranks, err := reply.Int64Slice()
		if err != nil || len(ranks) != len(bounds) {
			return 0, storeError("count articles", cmp.Or(err, errNoStatus))
		}
		n += int(ranks[1] - ranks[0])
	}
	return n, nil
}
