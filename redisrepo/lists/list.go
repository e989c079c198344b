// Package lists pages through articles and groups in one order, merged from all partitions.
package lists

import (
	"cmp"
	"context"
	"embed"
	"math"
	"slices"
	"strconv"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	listingScript = wire.Script(luaFiles, "listing.lua")
	gatherScript  = wire.Script(luaFiles, "gather.lua")
	followScript  = wire.Script(luaFiles, "follow.lua")
)

// Lists reads pages of articles and groups in one order, merged from the partitions.
type Lists struct {
	store    *wire.Store
	articles *articles.Articles
	views    *views.Views
	counts   groupCount
	seen     *lru.Cache[part, seenListing]
	building *semaphore.Weighted // for the call that makes a step in building a listing

	mostSmall, gatherStep int // see New
}

// New returns the Lists of a site. One command builds the listing of a group of at most mostSmall articles, which
// expires after Rules.GroupCacheTTL; the listing of a larger group is built in steps of about gatherStep articles, and
// never expires. 0 stands for the defaults, 2,000 and 500.
func New(store *wire.Store, articles *articles.Articles, all *views.Views, mostSmall, gatherStep int) (*Lists, error) {
	seen, err := lru.New[part, seenListing](maxSeenListings)
	l := &Lists{store: store, articles: articles, views: all, seen: seen, building: semaphore.NewWeighted(1), mostSmall: cmp.Or(mostSmall, defaultSmall), gatherStep: cmp.Or(gatherStep, defaultStep)}
	l.counts.turn = semaphore.NewWeighted(1)
	all.Add(&views.View{Name: "listing", Apply: l.apply})
	return l, err
}

// Listing selects articles and their order. Make one with AllArticles, InGroup, PostedBy or LinkingTo.
type Listing struct {
	order     site.Order
	direction site.Direction
	group     site.GroupName // empty: not limited to a group
	own       string         // key of one of the lists in keys.Partition.Lists, without a tag; empty: not limited to it
	name      string         // of own in cursors
}

// AllArticles lists all articles.
func AllArticles(o site.Order, d site.Direction) Listing { return Listing{order: o, direction: d} }

// InGroup lists the articles of a group. Every valid name is a group; most are empty.
func InGroup(name site.GroupName, o site.Order, d site.Direction) Listing {
	return Listing{order: o, direction: d, group: name}
}

// PostedBy lists the user's own articles, newest first.
func PostedBy(user site.UserName) Listing {
	return Listing{order: site.ByTime, direction: site.Descending, own: keys.Untagged.Posted(user), name: user.Member()}
}

// LinkingTo lists the articles with links to a host, newest first.
func LinkingTo(host site.HostName) Listing {
	return Listing{order: site.ByTime, direction: site.Descending, own: keys.Untagged.Host(host), name: site.HostPrefix + string(host)}
}

// Deleted lists the deleted articles, the latest deletion first.
func Deleted() Listing {
	return Listing{order: site.ByTime, direction: site.Descending, own: keys.Untagged.Deleted(), name: "deleted"}
}

// Unexplained lists the articles that moderators deleted without saying why, the latest deletion first.
func Unexplained() Listing {
	return Listing{order: site.ByTime, direction: site.Descending, own: keys.Untagged.Unexplained(), name: "unexplained"}
}

// List returns a page of a listing by its number, from 1. A nil size stands for Rules.PageSize. Articles with
// equal scores or times are sorted by the bytes of their ids. A page past the end is empty.
//
// If the page is below 1, or the size outside 1 to MaxPageSize, the Refusal is Invalid.
func (r *Lists) List(ctx context.Context, l Listing, page int, size *int) ([]site.ArticleID, error) {
	count := r.store.Rules.PageSize
	if size != nil {
		count = *size
	}
	if page < 1 {
		return nil, site.Refuse(site.Invalid, "page", "pages are counted from 1: there is no page %d", page)
	}
	if count < 1 || count > site.MaxPageSize {
		return nil, site.Refuse(site.Invalid, "pageSize", "a page has 1 to %d articles, not %d", site.MaxPageSize, count)
	}
	first := min(page-1, math.MaxInt32) * count // no overflow; there are at most MaxInt32 articles
	if len(r.store.Partitions) == 1 && l.group == "" {
		return r.listRanks(ctx, l, first, count)
	}
	return r.listIDs(ctx, l, first, count, nil)
}

// listIDs reads consecutive articles of a listing. along, if it is not nil, queues more commands in the first round trip.
func (r *Lists) listIDs(ctx context.Context, l Listing, first, count int, along func(redis.Pipeliner)) ([]site.ArticleID, error) {
	var found []redis.Z
	var err error
	if len(r.store.Partitions) > 1 {
		found, err = r.listPartitions(ctx, l, first, count, along)
	} else {
		var part Ranked
		part, err = r.readListing(ctx, l, ListRequest{Request: site.Request[site.Cursor]{Size: count}, skip: first}, along)
		found = part.Items
	}
	if err != nil {
		return nil, failover.Wrap("list", err)
	}
	return IDsOf(found), nil
}

// listRanks reads consecutive articles of a listing that is one sorted set.
func (r *Lists) listRanks(ctx context.Context, l Listing, first, count int) ([]site.ArticleID, error) {
	command := []any{"zrange", l.key(r.store.Partitions[0]), first, first + count - 1}
	if l.direction == site.Descending {
		command = append(command, "rev")
	}
	members, err := r.store.Texts(ctx, command...)
	if err != nil {
		return nil, failover.Wrap("list", err)
	}
	return idsOf(members, ArticleOfMember), nil
}

// Edge is an article on a page.
type Edge struct {
	ID     site.ArticleID
	Cursor string

	at site.Cursor // decoded
}

// Walk reads a page of a listing by cursors, in one round trip at any depth; with several partitions, rarely in two.
//
// A cursor marks a score and a member, not an article. Paging after a cursor skips no article that
// kept its score. An article is seen twice only if its score moved it past the cursor, against the
// direction of paging: by a withdrawn vote, for example, if the highest scores come first.
//
// The Refusal is Invalid if a size is outside 1 to MaxPageSize, if First is combined with Last, or if a
// cursor is damaged or belongs to another list.
func (r *Lists) Walk(ctx context.Context, l Listing, p site.PageRequest) ([]Edge, site.PageInfo, error) {
	q, err := r.listRequest(l, p)
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	found, err := r.walk(ctx, l, q)
	if err != nil {
		return nil, site.PageInfo{}, failover.Wrap("walk", err)
	}
	list := l.cursorList()
	edges := make([]Edge, 0, len(found.Items))
	for _, z := range found.Items {
		if id, ok := ArticleOf(z); ok {
			edges = append(edges, Edge{ID: id, Cursor: PlaceOf(z).Encode(list), at: PlaceOf(z)})
		}
	}
	return edges, found.Info(func(z redis.Z) string { return PlaceOf(z).Encode(list) }), nil
}

// Sort sorts articles by the state in which they were read. A listing and its articles are read one after the
// other: votes in between may have moved some.
func (l Listing) Sort(articles []*site.Article) {
	if l.order != site.ByScore {
		return
	}
	slices.SortFunc(articles, func(a, b *site.Article) int {
		if a.Score != b.Score {
			return l.Compare(site.Cursor{Score: a.Score}, site.Cursor{Score: b.Score})
		}
		return l.Compare(site.Cursor{Member: a.ID.Number()}, site.Cursor{Member: b.ID.Number()})
	})
}

// SortPage sorts a page of Walk by the state in which its articles were read afterwards, as Sort does. It removes edges
// whose articles are nil.
//
// An article that has moved gets a cursor at its new place, limited to the ends of the page. So paging from any edge
// skips and repeats no article that kept its place.
func (l Listing) SortPage(edges []Edge, info site.PageInfo, articles []*site.Article) ([]Edge, site.PageInfo, []*site.Article) {
	type placed struct {
		Edge
		article *site.Article
		moved   bool
	}
	page, anyMoved := make([]placed, 0, len(edges)), false
	for i, a := range articles {
		if a == nil {
			continue
		}
		e := placed{Edge: edges[i], article: a}
		if l.order == site.ByScore && a.Score != e.at.Score {
			e.at.Score, e.moved, anyMoved = a.Score, true, true
		}
		page = append(page, e)
	}
	if anyMoved {
		slices.SortFunc(page, func(a, b placed) int { return l.Compare(a.at, b.at) })
		first, last := edges[0].at, edges[len(edges)-1].at
		for i, e := range page {
			switch {
			case !e.moved:
				continue
			case l.Compare(e.at, first) < 0:
				e.at = l.beside(first, false)
			case l.Compare(e.at, last) > 0:
				e.at = l.beside(last, true)
			}
			page[i].Cursor = l.EncodeCursor(e.at)
		}
		info.StartCursor, info.EndCursor = &page[0].Cursor, &page[len(page)-1].Cursor
	}
	edges, articles = make([]Edge, len(page)), make([]*site.Article, len(page))
	for i, e := range page {
		edges[i], articles[i] = e.Edge, e.article
	}
	return edges, info, articles
}

// beside returns a cursor right before or after another one: no article is between the two.
func (l Listing) beside(c site.Cursor, after bool) site.Cursor {
	if after == (l.direction == site.Ascending) {
		c.Member += "\x00"
		return c
	}
	// Members end with a digit. The one before it, with any bytes that may follow.
	end := len(c.Member) - 1
	c.Member = c.Member[:end] + string(rune(c.Member[end]-1)) + "\xff"
	return c
}

// CheckPage returns the Refusal that Walk would return, without reading anything.
func (r *Lists) CheckPage(l Listing, p site.PageRequest) error {
	_, err := r.listRequest(l, p)
	return err
}

func (r *Lists) listRequest(l Listing, p site.PageRequest) (ListRequest, error) {
	q, err := site.ParseRequest(p, r.store.Rules.PageSize, l.DecodeCursor)
	return ListRequest{Request: q, needEnds: true}, err
}

// ArticleOf returns the article of a member. It reports false for a member that is not an article's, which no program
// should add: check reports such members, and readers skip them.
func ArticleOf(z redis.Z) (site.ArticleID, bool) { return ArticleOfMember(z.Member.(string)) }

// ArticleOfMember returns the article of a member of a listing, and false for any other member.
func ArticleOfMember(member string) (site.ArticleID, bool) {
	id, err := site.ParseArticleID(member)
	return id, err == nil && strings.HasPrefix(member, site.ArticlePrefix)
}

// IDsOf returns the articles among members of a listing.
func IDsOf(found []redis.Z) []site.ArticleID { return idsOf(found, ArticleOf) }

func idsOf[M any](members []M, articleOf func(M) (site.ArticleID, bool)) []site.ArticleID {
	ids := make([]site.ArticleID, 0, len(members))
	for _, member := range members {
		if id, ok := articleOf(member); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// cursorList is the listing's name in its cursors, so that a cursor is refused by any other listing.
func (l Listing) cursorList() string {
	name := l.order.Prefix() + strconv.Itoa(int(l.direction))
	switch {
	case l.group != "":
		return name + " " + site.GroupPrefix + string(l.group)
	case l.own != "":
		return name + " " + l.name
	default:
		return name
	}
}

// EncodeCursor returns the text of a cursor of the listing.
func (l Listing) EncodeCursor(c site.Cursor) string { return c.Encode(l.cursorList()) }

// DecodeCursor parses a cursor of the listing. field is the name of its argument, for errors.
func (l Listing) DecodeCursor(field, text string) (site.Cursor, error) {
	return site.DecodePlace(field, l.cursorList(), text, "an article")
}
