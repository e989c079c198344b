package lists_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// walkIDs is walkAll of a listing.
func walkIDs(s *repotest.Site, l lists.Listing, size int, backward bool, total int) (ids []site.ArticleID) {
	s.T.Helper()
	for _, edge := range repotest.WalkAll(s.T, size, backward, total, func(p site.PageRequest) ([]lists.Edge, site.PageInfo, error) { return s.Lists.Walk(s.Ctx, l, p) }) {
		ids = append(ids, edge.ID)
	}
	return ids
}

// listings returns a listing of each kind.
func listings() map[string]lists.Listing {
	all := map[string]lists.Listing{"posted by alice": lists.PostedBy("alice"), "on a host": lists.LinkingTo("example.com")}
	for _, order := range []site.Order{site.ByScore, site.ByTime} {
		for _, direction := range []site.Direction{site.Descending, site.Ascending} {
			all[fmt.Sprint("site ", order, direction)] = lists.AllArticles(order, direction)
			all[fmt.Sprint("group ", order, direction)] = lists.InGroup("all", order, direction)
		}
	}
	return all
}

// manyTies posts articles within few seconds and votes on them, so that many have equal scores and times.
func manyTies(s *repotest.Site, articles int) {
	for i := range articles {
		s.Clock.Set(time.Duration(i%3) * 432 * time.Second)
		id := s.MustPost("alice", "all").ID
		if i%4 == 1 {
			s.MustVote(id, "bob", site.Up)
		}
	}
}

func TestWalkEqualsNumberedPages(t *testing.T) {
	const articles = 60
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		manyTies(s, articles)
		for name, listing := range listings() {
			hundred := 100
			want, err := s.Lists.List(s.Ctx, listing, 1, &hundred)
			if err != nil || len(want) != articles {
				t.Fatalf("%s: List returned %d articles, %v, want %d", name, len(want), err, articles)
			}
			for _, size := range []int{1, 7, 59, 60, 61, 100} {
				for _, backward := range []bool{false, true} {
					got := walkIDs(s, listing, size, backward, articles)
					if !slices.Equal(got, want) {
						t.Errorf("%s, pages of %d, backward %t:\n got %v\nwant %v", name, size, backward, got, want)
					}
				}
			}
			if n, err := s.Lists.Count(s.Ctx, listing); err != nil || n != articles {
				t.Errorf("%s: Count = %d, %v, want %d", name, n, err, articles)
			}
		}
	})
}

func TestWalkBetweenTwoCursorsReturnsOnlyWhatIsBetween(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	manyTies(s, 20)
	listing := lists.AllArticles(site.ByScore, site.Descending)
	all, _, err := s.Lists.Walk(s.Ctx, listing, site.PageRequest{})
	require.NoError(t, err)
	three := 3
	for name, tt := range map[string]struct {
		span site.PageRequest
		want []lists.Edge
	}{
		"all of them":   {site.PageRequest{After: &all[4].Cursor, Before: &all[9].Cursor}, all[5:9]},
		"the first":     {site.PageRequest{After: &all[4].Cursor, Before: &all[9].Cursor, First: &three}, all[5:8]},
		"the last":      {site.PageRequest{After: &all[4].Cursor, Before: &all[9].Cursor, Last: &three}, all[6:9]},
		"nothing":       {site.PageRequest{After: &all[4].Cursor, Before: &all[5].Cursor}, nil},
		"turned round":  {site.PageRequest{After: &all[9].Cursor, Before: &all[4].Cursor}, nil},
		"and backward":  {site.PageRequest{After: &all[9].Cursor, Before: &all[4].Cursor, Last: &three}, nil},
		"after the end": {site.PageRequest{After: &all[19].Cursor}, nil},
	} {
		got, info, err := s.Lists.Walk(s.Ctx, listing, tt.span)
		if err != nil || !slices.Equal(got, tt.want) || !info.HasPreviousPage || info.HasNextPage != (name != "after the end") {
			t.Errorf("%s: %v %+v %v, want %v", name, got, info, err, tt.want)
		}
	}
}

// A cursor marks the place that the article had, even if it has moved or shares its score with others.
func TestWalkContinuesWhereAMovedArticleWas(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		manyTies(s, 40)
		for _, listing := range []lists.Listing{lists.AllArticles(site.ByScore, site.Descending), lists.InGroup("all", site.ByScore, site.Ascending)} {
			before, _, err := s.Lists.Walk(s.Ctx, listing, site.PageRequest{First: new(40)})
			require.NoError(t, err)
			for i, moved := range before {
				s.MustVote(moved.ID, "carol", site.Up)
				after, _, err := s.Lists.Walk(s.Ctx, listing, site.PageRequest{After: &moved.Cursor, First: new(100)})
				require.NoError(t, err)
				after = slices.DeleteFunc(after, func(e lists.Edge) bool { return e.ID == moved.ID })
				if !slices.Equal(after, before[i+1:]) {
					t.Errorf("%v: after %v: %v, want %v", tags, moved.ID, after, before[i+1:])
				}
				s.MustVote(moved.ID, "carol", site.None)
			}
		}
	})
}

func TestWalkListsEachUnmovedArticleOnceWhileVotesArrive(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	const articles = 400
	for range articles {
		s.MustPost("alice", "all")
	}
	var voting sync.WaitGroup
	stop := make(chan struct{})
	for voter := range 4 {
		voting.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(voter)))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					// Only even articles are voted on, and only upwards.
					id := site.ArticleID(2 * (1 + random.IntN(articles/2)))
					if _, err := s.Vote(s.Ctx, id, site.UserName(fmt.Sprint(voter, "-", i)), site.Up, ""); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for name, listing := range map[string]lists.Listing{
		"site":  lists.AllArticles(site.ByScore, site.Descending),
		"group": lists.InGroup("all", site.ByScore, site.Descending),
	} {
		seen := make(map[site.ArticleID]int)
		for _, id := range walkIDs(s, listing, 7, false, -1) {
			seen[id]++
		}
		for id := site.ArticleID(1); id <= articles; id++ {
			if n := seen[id]; n > 1 || n == 0 && id%2 == 1 {
				t.Errorf("%s: %v was listed %d times, want 1, or 0 if it moved up", name, id, n)
			}
		}
	}
	close(stop)
	voting.Wait()
}

func TestInvalidPageRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	manyTies(s, 5)
	listing := lists.AllArticles(site.ByScore, site.Descending)
	edges, _, err := s.Lists.Walk(s.Ctx, listing, site.PageRequest{})
	require.NoError(t, err)
	groups, _, err := s.Lists.Groups(s.Ctx, lists.GroupList{}, site.PageRequest{})
	require.NoError(t, err)
	cursor := edges[0].Cursor
	for name, tt := range map[string]struct {
		span  site.PageRequest
		field string
	}{
		"none":                      {site.PageRequest{First: new(0)}, "first"},
		"fewer than none":           {site.PageRequest{Last: new(-1)}, "last"},
		"too many":                  {site.PageRequest{First: new(101)}, "first"},
		"first and last":            {site.PageRequest{First: new(1), Last: new(1)}, "last"},
		"no cursor":                 {site.PageRequest{Before: new("article:1")}, "before"},
		"half a cursor":             {site.PageRequest{After: new(cursor[:len(cursor)-4])}, "after"},
		"a damaged cursor":          {site.PageRequest{After: new(strings.Replace(cursor, cursor[:1], "x", 1))}, "after"},
		"a cursor of the groups":    {site.PageRequest{After: &groups[0].Cursor}, "after"},
		"a plain text, well padded": {site.PageRequest{After: new(base64.StdEncoding.EncodeToString([]byte("score:1\n5\narticle:1")))}, "after"},
	} {
		_, _, err := s.Lists.Walk(s.Ctx, listing, tt.span)
		wantRefusal(t, name, err, tt.field)
		if name != "a cursor of the groups" {
			_, _, err = s.Lists.Groups(s.Ctx, lists.GroupList{}, tt.span)
			wantRefusal(t, name+", groups", err, tt.field)
		}
	}
	for name, other := range listings() {
		if _, _, err := s.Lists.Walk(s.Ctx, other, site.PageRequest{After: &cursor}); other != listing {
			wantRefusal(t, name, err, "after")
		}
	}
}

func wantRefusal(t *testing.T, name string, err error, field string) {
	t.Helper()
	var refusal site.Refusal
	if !errors.As(err, &refusal) || refusal[0].Code != site.Invalid || !slices.Equal(refusal[0].Field, []string{field}) {
		t.Errorf("%s: %v, want a refusal of %s", name, err, field)
	}
}

func TestMembersThatAreNotArticlesAreSkipped(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	id := s.MustPost("alice").ID
	s.Do("ZADD score: 1 x 9999999999 7 9999999999 article:0 9999999999 article:01")
	listing := lists.AllArticles(site.ByScore, site.Descending)
	s.WantList(listing, id)
	for _, size := range []int{1, 2, 10} {
		var got []site.ArticleID
		span := site.PageRequest{First: &size}
		for more := true; more; {
			edges, info, err := s.Lists.Walk(s.Ctx, listing, span)
			require.NoError(t, err)
			for _, edge := range edges {
				got = append(got, edge.ID)
			}
			more, span.After = info.HasNextPage, info.EndCursor
		}
		if !slices.Equal(got, []site.ArticleID{id}) {
			t.Errorf("pages of %d: %v, want %v alone", size, got, id)
		}
	}
}
