package redisrepo

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Listing selects articles and their order. Make one with AllArticles, InGroup, PostedBy or LinkingTo.
type Listing struct {
	order     Order
	direction Direction
	group     GroupName // empty: not limited to a group
	poster    UserName  // empty: not limited to a poster
	host      HostName  // empty: not limited to a host
}

// AllArticles lists all articles.
func AllArticles(o Order, d Direction) Listing { return Listing{order: o, direction: d} }

// InGroup lists the articles of a group. Every valid name is a group; most are empty.
func InGroup(name GroupName, o Order, d Direction) Listing {
	return Listing{order: o, direction: d, group: name}
}

// PostedBy lists the user's own articles, newest first. An article that a legacy client posted is
// listed after its first vote or regrouping through this package.
func PostedBy(user UserName) Listing {
	return Listing{order: ByTime, direction: Descending, poster: user}
}

// LinkingTo lists the articles with links to a host, newest first. An article that a legacy client posted is listed after
// its first vote, regrouping or deletion through this package.
func LinkingTo(host HostName) Listing {
	return Listing{order: ByTime, direction: Descending, host: host}
}

// List returns a page of a listing by its number, from 1. A nil size stands for Rules.PageSize. Articles with
// equal scores or times are sorted by the bytes of their ids. A page past the end is empty.
//
// If the page is below 1, or the size outside 1 to MaxPageSize, the Refusal is Invalid.
func (r *Repo) List(ctx context.Context, l Listing, page int, size *int) ([]ArticleID, error) {
	count := r.rules.PageSize
	if size != nil {
		count = *size
	}
	if page < 1 {
		return nil, refuse(Invalid, "page", "pages are counted from 1: there is no page %d", page)
	}
	if count < 1 || count > MaxPageSize {
		return nil, refuse(Invalid, "pageSize", "a page has 1 to %d articles, not %d", MaxPageSize, count)
	}
	first := min(page-1, math.MaxInt32) * count // no overflow; there are at most MaxInt32 articles
	if len(r.partitions) == 1 && l.group == "" {
		return r.listRanks(ctx, l, first, count)
	}
	return r.listIDs(ctx, l, first, count, nil)
}

// listIDs reads consecutive articles of a listing. along, if it is not nil, queues more commands in the first round trip.
func (r *Repo) listIDs(ctx context.Context, l Listing, first, count int, along func(redis.Pipeliner)) ([]ArticleID, error) {
	var found []redis.Z
	var err error
	if len(r.partitions) > 1 {
		found, err = r.listPartitions(ctx, l, first, count, along)
	} else {
		var part ranked
		part, err = r.readListing(ctx, l, listRequest{request: request[cursor]{size: count}, skip: first}, along)
		found = part.items
	}
	if err != nil {
		return nil, storeError("list", err)
	}
	ids := make([]ArticleID, 0, len(found))
	for _, z := range found {
		if id, ok := articleOf(z); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// listRanks reads consecutive articles of a listing that is one sorted set.
func (r *Repo) listRanks(ctx context.Context, l Listing, first, count int) ([]ArticleID, error) {
	members, err := r.client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: l.key(r.partitions[0]), Start: first, Stop: first + count - 1, Rev: l.direction == Descending,
	}).Result()
	if err != nil {
		return nil, storeError("list", err)
	}
	ids := make([]ArticleID, 0, len(members))
	for _, member := range members {
		if id, ok := articleOfMember(member); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Edge is an article on a page.
type Edge struct {
	ID     ArticleID
	Cursor string

	at cursor // decoded
}

// Walk reads a page of a listing by cursors, in one round trip at any depth; with several partitions, rarely in two.
//
// A cursor marks a score and a member, not an article. Paging after a cursor skips no article that
// kept its score. An article is seen twice only if its score moved it past the cursor, against the
// direction of paging: by a withdrawn vote, for example, if the highest scores come first.
//
// The Refusal is Invalid if a size is outside 1 to MaxPageSize, if First is combined with Last, or if a
// cursor is damaged or belongs to another list.
func (r *Repo) Walk(ctx context.Context, l Listing, p PageRequest) ([]Edge, PageInfo, error) {
	q, err := r.listRequest(l, p)
	if err != nil {
		return nil, PageInfo{}, err
	}
	found, err := r.walk(ctx, l, q)
	if err != nil {
		return nil, PageInfo{}, storeError("walk", err)
	}
	list := l.cursorList()
	edges := make([]Edge, 0, len(found.items))
	for _, z := range found.items {
		if id, ok := articleOf(z); ok {
			edges = append(edges, Edge{ID: id, Cursor: placeOf(z).encode(list), at: placeOf(z)})
		}
	}
	return edges, found.info(func(z redis.Z) string { return placeOf(z).encode(list) }), nil
}

// Sort sorts articles by the state in which they were read. A listing and its articles are read one after the
// other: votes in between may have moved some.
func (l Listing) Sort(articles []*Article) {
	if l.order != ByScore {
		return
	}
	slices.SortFunc(articles, func(a, b *Article) int {
		if a.Score != b.Score {
			return l.compare(cursor{score: a.Score}, cursor{score: b.Score})
		}
		var digitsA, digitsB [20]byte
		c := bytes.Compare(strconv.AppendInt(digitsA[:0], int64(a.ID), 10), strconv.AppendInt(digitsB[:0], int64(b.ID), 10))
		if l.direction == Descending {
			return -c
		}
		return c
	})
}

// SortPage sorts a page that Walk returned by the state in which its articles were read after it, as Sort does.
// It removes the edges whose articles are nil.
//
// An article that has moved gets a cursor at its new place, but not beyond the ends of the page. So paging from
// any edge still skips no article that kept its place, and repeats none.
func (l Listing) SortPage(edges []Edge, info PageInfo, articles []*Article) ([]Edge, PageInfo, []*Article) {
	type placed struct {
		Edge
		article *Article
		moved   bool
	}
	page, anyMoved := make([]placed, 0, len(edges)), false
	for i, a := range articles {
		if a == nil {
			continue
		}
		e := placed{Edge: edges[i], article: a}
		// A vote is worth at least 1. With fractions of legacy clients the sums may differ in the last digit.
		if l.order == ByScore && math.Abs(a.Score-e.at.score) > 0.5 {
			e.at.score, e.moved, anyMoved = a.Score, true, true
		}
		page = append(page, e)
	}
	if anyMoved {
		slices.SortFunc(page, func(a, b placed) int { return l.compare(a.at, b.at) })
		first, last := edges[0].at, edges[len(edges)-1].at
		for i, e := range page {
			switch {
			case !e.moved:
				continue
			case l.compare(e.at, first) < 0:
				e.at = l.beside(first, false)
			case l.compare(e.at, last) > 0:
				e.at = l.beside(last, true)
			}
			page[i].Cursor = l.encodeCursor(e.at)
		}
		info.StartCursor, info.EndCursor = &page[0].Cursor, &page[len(page)-1].Cursor
	}
	edges, articles = make([]Edge, len(page)), make([]*Article, len(page))
	for i, e := range page {
		edges[i], articles[i] = e.Edge, e.article
	}
	return edges, info, articles
}

// beside returns a cursor right before or after another one: no article is between the two.
func (l Listing) beside(c cursor, after bool) cursor {
	if after == (l.direction == Ascending) {
		c.member += "\x00"
		return c
	}
	// Members end with a digit. The one before it, with any bytes that may follow.
	end := len(c.member) - 1
	c.member = c.member[:end] + string(rune(c.member[end]-1)) + "\xff"
	return c
}

// CheckPage returns the refusal that Walk would return, without reading anything.
func (r *Repo) CheckPage(l Listing, p PageRequest) error {
	_, err := r.listRequest(l, p)
	return err
}

func (r *Repo) listRequest(l Listing, p PageRequest) (listRequest, error) {
	q, err := parseRequest(p, r.rules.PageSize, l.decodeCursor)
	return listRequest{request: q, needEnds: true}, err
}

// articleOf reports false for a member that is not an article. Neither this package nor a legacy client
// adds one: Check reports it, and readers skip it.
func articleOf(z redis.Z) (ArticleID, bool) { return articleOfMember(z.Member.(string)) }

func articleOfMember(member string) (ArticleID, bool) {
	id, err := ParseArticleID(member)
	return id, err == nil && strings.HasPrefix(member, articlePrefix)
}
