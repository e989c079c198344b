package lists_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

const sixteen = 16

// inSixteen are partitions as a site on a cluster has them.
func inSixteen() redisrepo.Option { return redisrepo.WithPartitions(sixteen) }

// placed is an article whose places in all listings are known.
type placed struct {
	id          site.ArticleID
	time, votes int
}

func (p placed) score(o site.Order) int {
	if o == site.ByTime {
		return p.time
	}
	return p.time + 432*p.votes
}

// placedBy compares as a listing orders.
func placedBy(o site.Order, d site.Direction) func(a, b placed) int {
	return func(a, b placed) int {
		c := cmp.Or(cmp.Compare(a.score(o), b.score(o)), cmp.Compare(a.id.String(), b.id.String()))
		if d == site.Descending {
			return -c
		}
		return c
	}
}

// distributions say how articles are spread over partitions, scores and times.
var distributions = map[string]func(n int, random *rand.Rand) placed{
	"evenly": func(n int, random *rand.Rand) placed {
		return placed{site.ArticleID(n), random.IntN(1_000_000), random.IntN(900)}
	},
	"in turn":      func(n int, _ *rand.Rand) placed { return placed{site.ArticleID(n), n, 1} },
	"on one score": func(n int, _ *rand.Rand) placed { return placed{site.ArticleID(n), 1000, 3} },
	"on few scores": func(n int, random *rand.Rand) placed {
		return placed{site.ArticleID(n), random.IntN(3) * 432, random.IntN(3)}
	},
	"in one partition": func(n int, random *rand.Rand) placed {
		return placed{site.ArticleID(n * sixteen), random.IntN(1_000_000), random.IntN(3)}
	},
	"in one partition on one score": func(n int, _ *rand.Rand) placed { return placed{site.ArticleID(n * sixteen), 1000, 3} },
	"in partitions half as large as the one before": func(n int, random *rand.Rand) placed {
		at := 0
		for at < sixteen-1 && random.IntN(2) == 0 {
			at++
		}
		return placed{site.ArticleID(n*sixteen + at), random.IntN(1_000_000), random.IntN(9)}
	},
	"in partitions with scores of their own": func(n int, random *rand.Rand) placed {
		return placed{site.ArticleID(n), n%sixteen*10_000 + random.IntN(9_000), 0}
	},
}

// spread returns n articles, placed at random, but each time in the same way.
func spread(n int, place func(n int, random *rand.Rand) placed) []placed {
	articles, random := make([]placed, n), rand.New(rand.NewPCG(1, 2))
	for i := range articles {
		articles[i] = place(i+1, random)
	}
	return articles
}

// importPlaced imports articles into the group all, posted by alice.
func importPlaced(s *repotest.Site, articles []placed) {
	s.T.Helper()
	begin := repotest.Opened.Add(-52 * repotest.Week)
	for part := range slices.Chunk(articles, 500) {
		rows := make([]redisrepo.Imported, len(part))
		for i, p := range part {
			rows[i] = redisrepo.Imported{ID: p.id, Poster: "alice", PostedAt: begin.Add(time.Duration(p.time) * time.Second), Votes: p.votes, Draft: repotest.Draft("old", "all")}
		}
		if added, errs := s.Import(s.Ctx, rows); slices.Contains(added, false) {
			s.T.Fatalf("Import added %v, %v, want all", added, errs)
		}
	}
}

// Listings in partitions are those of one sorted set, however the articles are spread.
func TestPartitionsListAsOne(t *testing.T) {
	t.Parallel()
	for name, place := range distributions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random, articles := rand.New(rand.NewPCG(3, 4)), spread(1200, place)
			s := repotest.New(t, nil, inSixteen())
			importPlaced(s, articles)
			for _, order := range repotest.Orders {
				for _, direction := range []site.Direction{site.Descending, site.Ascending} {
					slices.SortFunc(articles, placedBy(order, direction))
					listings := []lists.Listing{lists.AllArticles(order, direction), lists.InGroup("all", order, direction)}
					if order == site.ByTime && direction == site.Descending {
						listings = append(listings, lists.PostedBy("alice"), lists.LinkingTo("example.com"))
					}
					for _, l := range listings {
						wantPages(s, l, articles, random)
						for range programtest.Size(5, 40) {
							wantBetween(s, l, articles, order, direction, random)
						}
					}
				}
			}
		})
	}
}

func idsOf(articles []placed) []site.ArticleID {
	ids := make([]site.ArticleID, len(articles))
	for i, a := range articles {
		ids[i] = a.id
	}
	return ids
}

// wantPages compares a whole listing, by cursors in both directions and by numbers.
func wantPages(s *repotest.Site, l lists.Listing, want []placed, random *rand.Rand) {
	s.T.Helper()
	size := 40 + random.IntN(60)
	for _, backward := range []bool{false, true} {
		got := walkIDs(s, l, size, backward, len(want))
		if !slices.Equal(got, idsOf(want)) {
			s.T.Errorf("%+v: pages of %d, backward %t:\n got %v\nwant %v", l, size, backward, got, idsOf(want))
		}
	}
	for n := range 20 {
		size := 1 + random.IntN(30)
		page := 1 + random.IntN(len(want)/size+2)
		if n == 0 {
			page = 2_000_000_000
		}
		first := min((page-1)*size, len(want))
		part := idsOf(want[first:min(first+size, len(want))])
		if got, err := s.Lists.List(s.Ctx, l, page, &size); err != nil || !slices.Equal(got, part) {
			s.T.Errorf("%+v: page %d of %d = %v, %v, want %v", l, page, size, got, err, part)
		}
	}
}

// wantBetween compares a page between random cursors, some of which mark no article.
func wantBetween(s *repotest.Site, l lists.Listing, articles []placed, o site.Order, d site.Direction, random *rand.Rand) {
	s.T.Helper()
	size, compare := 1+random.IntN(30), placedBy(o, d)
	some := func() (*placed, *string) {
		if random.IntN(3) == 0 {
			return nil, nil
		}
		p := articles[random.IntN(len(articles))]
		if random.IntN(3) == 0 {
			p.id += site.ArticleID(random.IntN(3))
			p.time += random.IntN(3) - 1
		}
		cursor := l.EncodeCursor(site.Cursor{Score: float64(repotest.Opened.Add(-52*repotest.Week).Unix() + int64(p.score(o))), Member: p.id.String()})
		return &p, &cursor
	}
	after, afterCursor := some()
	before, beforeCursor := some()
	request, last := site.PageRequest{After: afterCursor, Before: beforeCursor}, random.IntN(2) == 0
	if last {
		request.Last = &size
	} else {
		request.First = &size
	}
	start, end := 0, len(articles)
	if after != nil {
		start, _ = slices.BinarySearchFunc(articles, *after, compare)
		if start < len(articles) && compare(articles[start], *after) == 0 {
			start++
		}
	}
	if before != nil {
		end, _ = slices.BinarySearchFunc(articles, *before, compare)
	}
	if last {
		start = max(start, end-size)
	} else {
		end = min(end, start+size)
	}
	var want []placed
	if start < end {
		want = articles[start:end]
	}
	edges, info, err := s.Lists.Walk(s.Ctx, l, request)
	got := make([]site.ArticleID, len(edges))
	for i, edge := range edges {
		got[i] = edge.ID
	}
	if err != nil || !slices.Equal(got, idsOf(want)) || info.HasPreviousPage != (start > 0) || info.HasNextPage != (start+len(want) < len(articles)) {
		s.T.Errorf("%+v: %d after %v before %v, last %t:\n got %v %+v %v\nwant %v, of all those from %d", l, size, after, before, last, got, info, err, idsOf(want), start)
	}
}

// replies is a hook that counts round trips and the items of their replies.
type replies struct {
	mutex                  sync.Mutex
	trips, commands, items int
}

func (r *replies) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	err := send(ctx, commands)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.trips++
	r.commands += len(commands)
	for _, command := range commands {
		switch c := command.(type) {
		case *redis.ZSliceCmd:
			r.items += len(c.Val())
		case *redis.Cmd:
			values, _ := c.Slice()
			r.items += len(values) / 2
		}
	}
	return err
}

// Page after page by cursors, each partition returns few articles, and rarely a second time.
func TestPartitionsReturnFewArticles(t *testing.T) {
	t.Parallel()
	beside := repotest.New(t, nil, inSixteen())
	articles := spread(2000, distributions["evenly"])
	importPlaced(beside, articles)
	counted := new(replies)
	s := beside.Reopened(beside.Client(redistest.Hook(counted.hook)), nil, inSixteen())
	for _, l := range []lists.Listing{lists.AllArticles(site.ByScore, site.Descending), repotest.Best("all")} {
		*counted = replies{}
		walkIDs(s, l, 25, false, len(articles))
		if counted.trips > 84 || counted.items > 80*sixteen*11 {
			t.Errorf("%+v: 80 pages took %d round trips and %d articles, want at most 84 and %d", l, counted.trips, counted.items, 80*sixteen*11)
		}
	}
}

// No page number reads much more than a page, however the articles are spread.
func TestDeepPageNumbersReadFewArticles(t *testing.T) {
	t.Parallel()
	for name, place := range distributions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside := repotest.New(t, nil, inSixteen())
			articles := spread(3000, place)
			importPlaced(beside, articles)
			counted := new(replies)
			s := beside.Reopened(beside.Client(redistest.Hook(counted.hook)), nil, inSixteen())
			for _, l := range []lists.Listing{lists.AllArticles(site.ByScore, site.Descending), repotest.Best("all")} {
				s.List(l) // builds the listing of the group
				for page := 1; page < 130; page += programtest.Size(8, 1) {
					*counted = replies{}
					if page == 129 {
						page = 2_000_000_000
					}
					require.Value(s.Lists.List(s.Ctx, l, page, new(25)))(t)
					if counted.trips > 14 || counted.items > 2100 || (name == "evenly" || name == "in turn") && (counted.trips > 6 || counted.items > 520) {
						t.Errorf("%+v: page %d took %d round trips and %d articles, want a few, and at most 2100", l, page, counted.trips, counted.items)
					}
				}
			}
		})
	}
}

func TestListReturnsNumberedPages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		page    int
		size    *int
		want    []site.ArticleID
		refused string
	}{
		"the first page has the site's size":  {page: 1, want: []site.ArticleID{7, 6, 5}},
		"the second goes on":                  {page: 2, want: []site.ArticleID{4, 3, 2}},
		"the last page is shorter":            {page: 3, want: []site.ArticleID{1}},
		"past the end is empty":               {page: 4},
		"far past the end is empty":           {page: math.MaxInt32},
		"as far as one can go is nothing":     {page: math.MaxInt},
		"a size of one":                       {page: 2, size: new(1), want: []site.ArticleID{6}},
		"a size of all":                       {page: 1, size: new(7), want: []site.ArticleID{7, 6, 5, 4, 3, 2, 1}},
		"the largest size":                    {page: 1, size: new(100), want: []site.ArticleID{7, 6, 5, 4, 3, 2, 1}},
		"as far as one can go by the largest": {page: math.MaxInt, size: new(100)},
		"the page before the first":           {page: 0, refused: "INVALID page"},
		"a negative page":                     {page: -1, refused: "INVALID page"},
		"a size of nothing":                   {page: 1, size: new(0), refused: "INVALID pageSize"},
		"a negative size":                     {page: 1, size: new(-1), refused: "INVALID pageSize"},
		"a size over the largest":             {page: 1, size: new(101), refused: "INVALID pageSize"},
	}
	for _, tags := range repotest.Layouts {
		s := repotest.New(t, func(r *site.Rules) { r.PageSize = 3 }, redisrepo.WithPartitions(len(tags)))
		var number [8]site.ArticleID // in the order of posting
		for i := 1; i <= 7; i++ {
			number[i] = s.MustPost("alice", "go").ID
			s.Clock.Advance(time.Second)
		}
		for name, tt := range tests {
			t.Run(fmt.Sprint(name, tags), func(t *testing.T) {
				t.Parallel()
				for _, l := range []lists.Listing{
					lists.AllArticles(site.ByScore, site.Descending), repotest.Best("go"), lists.PostedBy("alice"),
				} {
					got, err := s.Lists.List(s.Ctx, l, tt.page, tt.size)
					if tt.refused != "" {
						repotest.WantRefused(t, err, tt.refused)
						continue
					}
					want := make([]site.ArticleID, len(tt.want))
					for i, n := range tt.want {
						want[i] = number[n]
					}
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("List %+v = %v, %v, want %v", l, got, err, want)
					}
				}
			})
		}
	}
}

// Articles with equal scores are sorted by the bytes of their ids, whatever their partition.
func TestTiesAreSortedByIDBytes(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		var want []site.ArticleID
		for range 22 {
			want = append(want, s.MustPost("alice", "go").ID)
		}
		slices.SortFunc(want, func(a, b site.ArticleID) int { return cmp.Compare(a.String(), b.String()) })
		s.WantList(lists.AllArticles(site.ByTime, site.Ascending), want...)
		s.WantList(lists.InGroup("go", site.ByScore, site.Ascending), want...)
		slices.Reverse(want)
		s.WantList(repotest.Best("go"), want...)
		s.WantList(lists.PostedBy("alice"), want...)
	})
}
