package lists_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestGroupsBySizeAndPrefix(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		s.WantGroups(site.ByArticleCount, "", 3, repotest.Sized{})
		groups := repotest.Sized{}
		var articles []*site.Article
		for i, name := range []string{"a", "a-b", "a.b", "a_b", "ab", "b", "c", "git", "github.com", "gitlab.com", "interest", "ä", "äh", "世"} {
			for range []int{1, 4, 2, 1, 1, 7, 2}[i%7] {
				articles = append(articles, s.MustPost("alice", name))
				groups[name]++
			}
		}
		s.Clock.Advance(10 * time.Second) // the number of groups in several partitions is kept for 5 s
		for _, order := range []site.GroupOrder{site.ByName, site.ByArticleCount} {
			for _, prefix := range []string{"", "a", "A", "git", "GitH", ".COM", "-", "Ä", "世", "b", "zz", "github.commerce"} {
				for _, size := range []int{1, 2, 3, len(groups), 100} {
					s.WantGroups(order, prefix, size, groups)
				}
			}
			for _, impossible := range []string{"a b", "a/", "\x00", "\xff", " ", "c++"} {
				s.WantGroups(order, impossible, 3, repotest.Sized{})
			}
		}
		// A page goes on from a position, whatever became of the group that was there.
		by := lists.GroupList{Order: site.ByArticleCount}
		page, _, err := s.Lists.Groups(s.Ctx, by, site.PageRequest{First: new(3)})
		require.NoError(t, err)
		last := page[2]
		for _, a := range articles {
			if slices.Contains(a.Groups, last.Name) {
				s.MustDelete(a.ID, repotest.Moderator)
			}
		}
		delete(groups, string(last.Name))
		rest, info, err := s.Lists.Groups(s.Ctx, by, site.PageRequest{First: new(100), After: &last.Cursor})
		if want := groups.List(by.Order, "")[2:]; err != nil || len(rest) != len(want) || fmt.Sprint(rest[0].Name, rest[0].ArticleCount) != want[0] || !info.HasPreviousPage || info.HasNextPage {
			t.Errorf("after a group that is gone: %v, %+v, %v; want %v", rest, info, err, want)
		}
		_, _, err = s.Lists.Groups(s.Ctx, lists.GroupList{}, site.PageRequest{After: &last.Cursor})
		repotest.WantRefused(t, err, "INVALID after")
		s.WantClean()
	})
}

// In several partitions a group has a part of its articles in each. The first pages are found without reading all groups,
// and so are those of a prefix that very many groups have.
func TestLargestOfManyGroupsInPartitions(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(len(repotest.Four)))
	random, groups := rand.New(rand.NewPCG(1, 2)), repotest.Sized{}
	for _, tag := range repotest.Four {
		var sizes, names []redis.Z
		for i := range 12_000 {
			size := 1 + 600/(i+1)*random.IntN(3)
			if random.IntN(3) == 0 {
				name := fmt.Sprintf("%c%d", 'f'+rune(random.IntN(10))/9, i*7919%12_000)
				groups[name] += size
				sizes, names = append(sizes, redis.Z{Score: -float64(size), Member: name}), append(names, redis.Z{Member: name})
			}
		}
		s.Raw.ZAdd(s.Ctx, tag+"sizes:", sizes...)
		s.Raw.ZAdd(s.Ctx, tag+"groups:", names...)
	}
	for _, prefix := range []string{"", "f", "g", "f1", "g119"} {
		list := lists.GroupList{Order: site.ByArticleCount, Prefix: prefix}
		want := groups.List(list.Order, prefix)
		span := site.PageRequest{First: new(100)}
		for from := 0; from < min(len(want), 300); from += 100 {
			edges, info, err := s.Lists.Groups(s.Ctx, list, span)
			var got []string
			for _, edge := range edges {
				got = append(got, fmt.Sprint(edge.Name, edge.ArticleCount))
			}
			if part := want[from:min(from+100, len(want))]; err != nil || !slices.Equal(got, part) {
				t.Fatalf("prefix %q from %d: %v, %v, want %v", prefix, from, got, err, part)
			}
			if info.HasPreviousPage != (from > 0) || info.HasNextPage != (from+100 < len(want)) {
				t.Errorf("prefix %q from %d: %+v", prefix, from, info)
			}
			span.After = info.EndCursor
		}
		s.Clock.Advance(10 * time.Second)
		if n, err := s.Lists.GroupCount(s.Ctx, list); err != nil || n != len(want) {
			t.Errorf("GroupCount with prefix %q = %d, %v, want %d", prefix, n, err, len(want))
		}
	}
}

// What a page by ARTICLE_COUNT reads is counted, in commands of at most 1,000 members. A page that would read too much is
// refused.
func TestLargestGroupsWithAPrefixAreReadInSteps(t *testing.T) {
	t.Parallel()
	seed := repotest.New(t, nil, repotest.One)
	var tooMany atomic.Int64
	s := seed.Reopened(seed.Client(redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			args := c.Args()
			from, isRange := args[min(2, len(args)-1)].(int64)
			if to, ok := args[min(3, len(args)-1)].(int64); c.Name() == "zrange" && isRange && ok && to-from >= 1000 || c.Name() == "zmscore" && len(args) > 1002 {
				tooMany.Add(1)
			}
		}
	})), nil, repotest.One)
	groups := repotest.Sized{}
	add := func(from, to int, form string, size int) {
		var sizes, names []redis.Z
		for i := from; i < to; i++ {
			name := fmt.Sprintf(form, i)
			groups[name] = size
			sizes, names = append(sizes, redis.Z{Score: -float64(size), Member: name}), append(names, redis.Z{Member: name})
			s.Raw.SAdd(s.Ctx, "group:"+name, anySlice(size)...)
		}
		s.Raw.ZAdd(s.Ctx, "sizes:", sizes...)
		s.Raw.ZAdd(s.Ctx, "groups:", names...)
	}
	add(0, 60, "w%05d", 3)
	add(0, 3000, "x%05d", 2)
	add(60, 6000, "w%05d", 1)
	for _, tt := range []struct {
		prefix string
		most   int
	}{{"w", 3 * 6000}, {"x", 2 * 3000}, {"x0001", 20}} {
		looked := 0
		list := lists.GroupList{Order: site.ByArticleCount, Prefix: tt.prefix, Looked: &looked}
		edges, _, err := s.Lists.Groups(s.Ctx, list, site.PageRequest{First: new(10)})
		var got []string
		for _, edge := range edges {
			got = append(got, fmt.Sprint(edge.Name, edge.ArticleCount))
		}
		if want := groups.List(list.Order, tt.prefix)[:10]; err != nil || !slices.Equal(got, want) {
			t.Errorf("prefix %q: %v, %v, want %v", tt.prefix, got, err, want)
		}
		if looked == 0 || looked > tt.most {
			t.Errorf("prefix %q: %d names and sizes are read, want 1 to %d", tt.prefix, looked, tt.most)
		}
	}
	looked := 100_001
	_, _, err := s.Lists.Groups(s.Ctx, lists.GroupList{Order: site.ByArticleCount, Prefix: "w", Looked: &looked}, site.PageRequest{Last: new(1)})
	repotest.WantRefused(t, err, "INVALID prefix")
	if n := tooMany.Load(); n > 0 {
		t.Errorf("%d commands read more than 1,000 members", n)
	}
}

func anySlice(size int) (members []any) {
	for i := range size {
		members = append(members, fmt.Sprint("article:", i+1))
	}
	return members
}

// A search in names reads a bounded number of names and of sizes, and none if there are too many.
func TestSearchInNamesOfGroupsIsBounded(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	add := func(from, to int) {
		s.Do("EVAL", "for i = ARGV[1], ARGV[2] do redis.call('ZADD', KEYS[1], 0, 'x' .. i) redis.call('ZADD', KEYS[2], -1, 'x' .. i) end", 2, "groups:", "sizes:", from, to)
	}
	add(1, 100_001)
	looked := 0
	search := func(order site.GroupOrder, part string) error {
		looked = 0
		_, _, err := s.Lists.Groups(s.Ctx, lists.GroupList{Order: order, Part: part, Looked: &looked}, site.PageRequest{First: new(10)})
		return err
	}
	if err := search(site.ByName, "X"); err != nil || looked != 100_001 {
		t.Errorf("by name: %d names and sizes, %v", looked, err)
	}
	repotest.WantRefused(t, search(site.ByArticleCount, "X"), "INVALID contains")
	if looked != 100_001 {
		t.Errorf("refused after %d names and sizes", looked)
	}
	if err := search(site.ByArticleCount, "9999"); err != nil || looked != 100_001+10+10-1 {
		t.Errorf("by size: %d names and sizes, %v", looked, err)
	}
	add(100_002, 400_100) // more: those on the page by size have no articles, and were dropped
	repotest.WantRefused(t, search(site.ByName, "9999"), "INVALID contains")
	if _, err := s.Lists.GroupCount(s.Ctx, lists.GroupList{Part: "9999", Looked: &looked}); looked != 0 {
		t.Errorf("refused after %d names and sizes", looked)
	} else {
		repotest.WantRefused(t, err, "INVALID contains")
	}
}
