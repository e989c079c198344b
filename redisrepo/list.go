package redisrepo

import (
	"context"
	"math"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Listing says which articles are listed, and in which order. Make one with
// Site, InGroup or PostedBy.
type Listing struct {
	order     Order
	direction Direction
	group     GroupName // empty: all of the site
	poster    UserName  // set: what the user posted, newest first
}

// Site lists all articles.
func Site(o Order, d Direction) Listing { return Listing{order: o, direction: d} }

// InGroup lists the articles of a group. Any name that parses is a group; most are empty.
func InGroup(name GroupName, o Order, d Direction) Listing {
	return Listing{order: o, direction: d, group: name}
}

// PostedBy lists the user's own articles, newest first. Articles that the
// book's code posted are found from their first vote or regrouping here on.
func PostedBy(user UserName) Listing {
	return Listing{order: ByTime, direction: Descending, poster: user}
}

// List returns one page of a listing, from page 1. A nil size is the site's
// PageSize. Articles with equal scores or times are sorted by the bytes of
// their ids. A page past the end is empty.
//
// It refuses with Invalid a page below 1 and a size outside 1 to MaxPageSize.
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
	first := min(page-1, math.MaxInt32) * count // there are fewer articles than that
	e := extent{most: count, skip: first}
	if len(r.partitions) > 1 {
		e = extent{most: first + count} // any of the articles before the page may be in any partition
	}
	part, err := r.read(ctx, l, e)
	if err != nil {
		return nil, storeError("list", err)
	}
	ids := make([]ArticleID, 0, count)
	for _, z := range part.ranked[min(first-e.skip, len(part.ranked)):] {
		if id, ok := articleOf(z); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// articleOf is false for a member that is no article. Nobody but a stranger to
// these keys can have put it there: Check reports it, and readers pass over it.
func articleOf(z redis.Z) (ArticleID, bool) {
	member := z.Member.(string)
	id, err := ParseArticleID(member)
	return id, err == nil && strings.HasPrefix(member, articlePrefix)
}
