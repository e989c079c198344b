package redisrepo

import (
	"context"
	"math"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Listing selects articles and their order. Make one with AllArticles, InGroup or PostedBy.
type Listing struct {
	order     Order
	direction Direction
	group     GroupName // empty: not limited to a group
	poster    UserName  // empty: not limited to a poster
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
	q := listRequest{request: request[cursor]{size: count}, skip: first}
	if len(r.partitions) > 1 { // any article before the page may be in any partition
		q.size, q.skip = first+count, 0
	}
	found, err := r.readListing(ctx, l, q)
	if err != nil {
		return nil, storeError("list", err)
	}
	ids := make([]ArticleID, 0, count)
	for _, z := range found.items[min(first-q.skip, len(found.items)):] {
		if id, ok := articleOf(z); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Edge is an article on a page.
type Edge struct {
	ID     ArticleID
	Cursor string
}

// Walk reads a page of a listing by cursors, in one round trip at any depth.
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
	found, err := r.readListing(ctx, l, q)
	if err != nil {
		return nil, PageInfo{}, storeError("walk", err)
	}
	cursorOf := func(z redis.Z) string { return l.encodeCursor(cursor{z.Score, z.Member.(string)}) }
	edges := make([]Edge, 0, len(found.items))
	for _, z := range found.items {
		if id, ok := articleOf(z); ok {
			edges = append(edges, Edge{ID: id, Cursor: cursorOf(z)})
		}
	}
	return edges, found.info(cursorOf), nil
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
func articleOf(z redis.Z) (ArticleID, bool) {
	member := z.Member.(string)
	id, err := ParseArticleID(member)
	return id, err == nil && strings.HasPrefix(member, articlePrefix)
}
