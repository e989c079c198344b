package lists

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// GroupList is a list of groups that have articles, without Interesting.
type GroupList struct {
	Order  site.GroupOrder
	Prefix string // of the names; empty: all groups
	Part   string // of the names, anywhere in them; not with a prefix

	// Looked, if not nil, is increased by the number of names and sizes of groups that a call reads to find a
	// page or the number of groups, even if it fails. Reading only the page itself adds nothing.
	Looked *int
}

// prefix returns the beginning or the part that canonical names have, and whether a name can have it.
func (l GroupList) prefix() (canonical string, possible bool) {
	canonical = site.FoldGroupName(l.Prefix + l.Part)
	return canonical, utf8.ValidString(canonical) && !strings.ContainsFunc(canonical, site.NotInGroupName)
}

// counted returns the list with a place to count in.
func (l GroupList) counted() GroupList {
	l.Looked = cmp.Or(l.Looked, new(int))
	return l
}

// cursorList is the list's name in its cursors. They are positions in the order, whatever the prefix.
func (l GroupList) cursorList() string {
	if l.Order == site.ByArticleCount {
		return "groups by size"
	}
	return "groups"
}

// GroupEdge is a group on a page of a list of groups.
type GroupEdge struct {
	site.Group // its ArticleCount is read for ByArticleCount only
	Cursor     string
}

// sizedGroup is a group's position in a list. The size is 0 in a list by name.
type sizedGroup struct {
	size int
	name string
}

func compareSized(a, b sizedGroup) int {
	return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.name, b.name))
}

// Groups reads a page of a list of groups. Invalid requests are refused as by Walk. A list by name takes one round
// trip, and so does a list by ArticleCount; with a prefix, or from several partitions, that takes a few more, and is
// refused as Invalid if it needs more than maxGroupsLooked names and sizes. A list by a part of the names reads all
// names, in each partition, and is Invalid for more than maxNames names, or if it needs more than maxGroupsLooked
// sizes.
func (r *Lists) Groups(ctx context.Context, l GroupList, p site.PageRequest) ([]GroupEdge, site.PageInfo, error) {
	q, err := site.ParseRequest(p, r.store.Rules.PageSize, l.decodeCursor)
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	l = l.counted()
	prefix, possible := l.prefix()
	var found site.Page[sizedGroup]
	switch {
	case !possible:
	case l.Part != "":
		found, err = r.groupsWith(ctx, l, prefix, q)
	case l.Order == site.ByName:
		found, err = r.groupsByName(ctx, prefix, q)
	case prefix == "" && len(r.store.Partitions) == 1:
		found, err = r.groupsBySize(ctx, q)
	default:
		found, err = r.groupsOfPartitions(ctx, l, prefix, q)
	}
	if err != nil {
		return nil, site.PageInfo{}, failover.Wrap("list groups", err)
	}
	edges := make([]GroupEdge, len(found.Items))
	for i, g := range found.Items {
		edges[i] = GroupEdge{Group: site.Group{Name: site.GroupName(g.name), ArticleCount: g.size}, Cursor: l.encodeCursor(g)}
	}
	return edges, found.Info(l.encodeCursor), nil
}

func (l GroupList) encodeCursor(g sizedGroup) string {
	if l.Order == site.ByArticleCount {
		return site.EncodeCursor(l.cursorList(), strconv.Itoa(g.size), g.name)
	}
	return site.EncodeCursor(l.cursorList(), g.name)
}

func (l GroupList) decodeCursor(field, text string) (g sizedGroup, err error) {
	parts, err := site.DecodeCursor(field, l.cursorList(), text)
	if err != nil {
		return g, err
	}
	if l.Order == site.ByArticleCount && len(parts) == 2 {
		g.size, err = strconv.Atoi(parts[0])
		parts = parts[1:]
	}
	if len(parts) != 1 || err != nil {
		return g, site.Refuse(site.Invalid, field, "%s is not a cursor of a group", field)
	}
	g.name = parts[0]
	return g, nil
}

// groupsByName reads a page of the groups whose names begin with a prefix, in the order of their names.
func (r *Lists) groupsByName(ctx context.Context, prefix string, q site.Request[sizedGroup]) (site.Page[sizedGroup], error) {
	first, end := prefixRange(prefix)
	return wire.ReadPage(ctx, r.store, q, compareSized, func(pipe redis.Pipeliner, i int, b wire.Between[sizedGroup]) func() []sizedGroup {
		bracket, lowest, highest := "(", first, end
		if b.Inclusive {
			bracket = "["
		}
		if b.After != nil && b.After.name >= prefix {
			lowest = bracket + b.After.name
		}
		if b.Before != nil && (b.Before.name < prefix || strings.HasPrefix(b.Before.name, prefix)) {
			highest = bracket + b.Before.name
		}
		args := redis.ZRangeArgs{Key: r.store.Partitions[i].Groups(), ByLex: true, Start: lowest, Stop: highest, Count: int64(b.Count)}
		if b.Last {
			args.Rev, args.Start, args.Stop = true, highest, lowest
		}
		names := pipe.ZRangeArgs(ctx, args)
		return func() []sizedGroup {
			return site.Collect(names.Val(), func(name string) sizedGroup { return sizedGroup{name: name} })
		}
	})
}

// prefixRange returns the bounds of the names with a prefix, for commands that read by the bytes of names. Names are
// UTF-8, which has no byte 255.
func prefixRange(prefix string) (first, end string) {
	if prefix == "" {
		return "-", "+"
	}
	return "[" + prefix, "(" + prefix + "\xff"
}

// groupsBySize reads a page of all groups of the only partition, the largest first.
func (r *Lists) groupsBySize(ctx context.Context, q site.Request[sizedGroup]) (site.Page[sizedGroup], error) {
	of := site.Request[site.Cursor]{Size: q.Size, Last: q.Last, After: q.After.cursor(), Before: q.Before.cursor()}
	var call *redis.Cmd
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		call = r.CallListing(ctx, pipe, r.store.Partitions[0], Listing{order: site.BySize, direction: site.Ascending}, ListRequest{Request: of})
	})
	if err != nil {
		return site.Page[sizedGroup]{}, err
	}
	read, err := ParseRanked(call)
	if err != nil {
		return site.Page[sizedGroup]{}, err
	}
	found := site.Page[sizedGroup]{HasPrevious: read.start > 0, HasNext: read.start+len(read.Items) < read.total}
	for _, z := range read.Items {
		name, _ := z.Member.(string)
		found.Items = append(found.Items, sizedGroup{int(-z.Score), name})
	}
	return found, nil
}

// cursor is the position in sizes:, nil for none.
func (g *sizedGroup) cursor() *site.Cursor {
	if g == nil {
		return nil
	}
	return &site.Cursor{Score: float64(-g.size), Member: g.name}
}

const (
	// maxPrefixed is the number of groups with a prefix up to which all of them are read. If there are more, they are found
	// soon among the largest groups.
	maxPrefixed = 5_000
	// maxGroupsLooked is the maximum number of names and sizes that are read to find a page among the largest groups.
	maxGroupsLooked = 100_000
	// maxNames is the maximum number of names that are read to find those with a part: 20,000 groups in 16 partitions, and some
	// more. Redis reads 10,000 of them in a millisecond.
	maxNames = 400_000
)

// groupsOfPartitions reads a page of the groups whose names begin with a prefix, the largest first. A group has a part
// of its articles in each partition.
func (r *Lists) groupsOfPartitions(ctx context.Context, l GroupList, prefix string, q site.Request[sizedGroup]) (site.Page[sizedGroup], error) {
	few := false
	if prefix != "" {
		n, err := r.countPrefixed(ctx, prefix)
		if err != nil {
			return site.Page[sizedGroup]{}, err
		}
		few = n <= maxPrefixed
	}
	var sizes map[string]int
	var err error
	if few {
		if sizes, err = r.groupNames(ctx, prefix, l.Looked); err == nil {
			err = r.addSizes(ctx, sizes, slices.Collect(maps.Keys(sizes)), l.Looked)
		}
	} else {
		sizes, err = r.largestGroups(ctx, prefix, l.Looked, func(sizes map[string]int, most int) bool {
			found := 0
			for name, size := range sizes {
				if size > most && within(q, sizedGroup{size, name}) {
					found++
				}
			}
			return found > q.Size && !q.Last && q.Before == nil
		})
	}
	if err != nil {
		return site.Page[sizedGroup]{}, err
	}
	return pageOf(sizes, q), nil
}

// groupsWith reads a page of the groups whose names have a part.
func (r *Lists) groupsWith(ctx context.Context, l GroupList, part string, q site.Request[sizedGroup]) (site.Page[sizedGroup], error) {
	sizes, err := r.namesWith(ctx, part, l.Looked)
	if err == nil && l.Order == site.ByArticleCount {
		if len(sizes)*len(r.store.Partitions) > maxGroupsLooked {
			return site.Page[sizedGroup]{}, site.Refuse(site.Invalid, "contains", "contains is too short to sort these groups by ARTICLE_COUNT: give a longer one, or order by NAME")
		}
		err = r.addSizes(ctx, sizes, slices.Collect(maps.Keys(sizes)), l.Looked)
	}
	return pageOf(sizes, q), err
}

// namesWith reads the names of the groups that have a part, without their sizes.
func (r *Lists) namesWith(ctx context.Context, part string, looked *int) (map[string]int, error) {
	switch n, err := r.countPrefixed(ctx, ""); {
	case err != nil:
		return nil, err
	case n > maxNames:
		return nil, site.Refuse(site.Invalid, "contains", "this site has too many groups to search for contains: use prefix")
	}
	names, err := r.groupNames(ctx, "", looked)
	maps.DeleteFunc(names, func(name string, _ int) bool { return !strings.Contains(name, part) })
	return names, err
}

// within reports whether a group is between the cursors of a request.
func within(q site.Request[sizedGroup], g sizedGroup) bool {
	return (q.After == nil || compareSized(g, *q.After) > 0) && (q.Before == nil || compareSized(g, *q.Before) < 0)
}

// pageOf returns a page of groups, the largest first.
func pageOf(sizes map[string]int, q site.Request[sizedGroup]) site.Page[sizedGroup] {
	var items []sizedGroup
	previous, next := false, false
	for name, size := range sizes {
		g := sizedGroup{size, name}
		switch {
		case within(q, g):
			items = append(items, g)
		case q.After != nil && compareSized(g, *q.After) <= 0:
			previous = true
		default:
			next = true
		}
	}
	slices.SortFunc(items, compareSized)
	return site.NewPage(items, q.Size, q.Last, previous, next)
}

// countPrefixed returns the number of groups with a prefix, counting one again for each partition that has it.
func (r *Lists) countPrefixed(ctx context.Context, prefix string) (int, error) {
	first, end := prefixRange(prefix)
	return r.store.Sum(ctx, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd {
		return pipe.ZLexCount(ctx, p.Groups(), first, end)
	})
}

// addSizes reads the sizes of groups in all partitions.
func (r *Lists) addSizes(ctx context.Context, sizes map[string]int, names []string, looked *int) error {
	for some := range slices.Chunk(names, wire.ScanBatch) {
		*looked += len(some) * len(r.store.Partitions)
		replies, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.FloatSliceCmd {
			return pipe.ZMScore(ctx, p.Sizes(), some...)
		})
		if err != nil {
			return err
		}
		for _, reply := range replies {
			for i, size := range reply.Val() {
				sizes[some[i]] -= int(size)
			}
		}
	}
	return nil
}

// largestGroups reads sizes of groups with a prefix, the largest first, until they are enough: enough gets the sizes that
// are known, and how large a group of which none is known can be at most. More of each partition are read each time.
func (r *Lists) largestGroups(ctx context.Context, prefix string, looked *int, enough func(sizes map[string]int, most int) bool) (map[string]int, error) {
	sizes, left := map[string]int{}, slices.Clone(r.store.Partitions)
	for from, count := 0, wire.ScanBatch/5; len(left) > 0; from, count = from+count, min(4*count, 2*wire.ScanBatch) {
		if *looked > maxGroupsLooked {
			return nil, site.Refuse(site.Invalid, "prefix", "prefix is too short to find these groups by ARTICLE_COUNT: give a longer one, or order by NAME")
		}
		replies, err := wire.ReadEach(ctx, r.store, left, func(pipe redis.Pipeliner, p keys.Partition) *redis.ZSliceCmd {
			return pipe.ZRangeWithScores(ctx, p.Sizes(), int64(from), int64(from+count-1))
		})
		if err != nil {
			return nil, err
		}
		var names []string
		var more []keys.Partition
		most := 0
		for i, reply := range replies {
			groups := reply.Val()
			*looked += len(groups)
			for _, z := range groups {
				name, _ := z.Member.(string)
				if _, known := sizes[name]; !known && strings.HasPrefix(name, prefix) {
					sizes[name] = 0
					names = append(names, name)
				}
			}
			if len(groups) == count {
				more = append(more, left[i])
				most -= int(groups[count-1].Score)
			}
		}
		if err := r.addSizes(ctx, sizes, names, looked); err != nil {
			return nil, err
		}
		if left = more; enough(sizes, most) {
			break
		}
	}
	maps.DeleteFunc(sizes, func(_ string, size int) bool { return size == 0 }) // gone meanwhile
	return sizes, nil
}

// GroupCount returns the number of groups of a list. With one partition it runs a single command. With several it reads
// the names, since a group may be in more than one; the number of all groups is cached for groupCountTime.
func (r *Lists) GroupCount(ctx context.Context, l GroupList) (int, error) {
	l = l.counted()
	prefix, possible := l.prefix()
	switch {
	case !possible:
		return 0, nil
	case l.Part != "":
		names, err := r.namesWith(ctx, prefix, l.Looked)
		return len(names), failover.Wrap("count groups", err)
	case len(r.store.Partitions) == 1:
		n, err := r.countPrefixed(ctx, prefix)
		return n, failover.Wrap("count groups", err)
	case prefix != "":
		names, err := r.groupNames(ctx, prefix, l.Looked)
		return len(names), failover.Wrap("count groups", err)
	}
	c := &r.counts
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return 0, failover.Wrap("count groups", err)
	}
	defer c.turn.Release(1)
	now := r.store.Now()
	if age := now.Sub(c.read); c.read.IsZero() || age < 0 || age >= groupCountTime {
		names, err := r.groupNames(ctx, "", new(int)) // at most once in groupCountTime, for all callers
		if err != nil {
			return 0, failover.Wrap("count groups", err)
		}
		c.number, c.read = len(names), now
	}
	return c.number, nil
}

// groupCountTime is how long the number of groups in several partitions is kept.
const groupCountTime = 5 * time.Second

// groupCount is the number of groups, as it was read last.
type groupCount struct {
	turn   *semaphore.Weighted // for the call that uses what follows
	number int
	read   time.Time
}

// groupNames reads the names of all groups with a prefix, without their sizes, a part of each partition at a time. It
// pages by name: a cursor of ZSCAN would not survive a failover.
func (r *Lists) groupNames(ctx context.Context, prefix string, looked *int) (map[string]int, error) {
	found, rest := make(map[string]int), make(map[keys.Partition]string)
	first, end := prefixRange(prefix)
	for _, p := range r.store.Partitions {
		rest[p] = first
	}
	for len(rest) > 0 {
		replies := make(map[keys.Partition]*redis.StringSliceCmd)
		err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
			for p, after := range rest {
				replies[p] = pipe.ZRangeArgs(ctx, redis.ZRangeArgs{Key: p.Groups(), ByLex: true, Start: after, Stop: end, Count: wire.ScanBatch})
			}
		})
		if err != nil {
			return nil, err
		}
		for p, reply := range replies {
			names := reply.Val()
			*looked += len(names)
			for _, name := range names {
				found[name] = 0
			}
			if len(names) < wire.ScanBatch {
				delete(rest, p)
			} else {
				rest[p] = "(" + names[len(names)-1]
			}
		}
	}
	return found, nil
}

// GroupKeys appends the three keys of each group, in the order that the scripts expect.
func GroupKeys(keys []string, p keys.Partition, names ...site.GroupName) []string {
	for _, name := range names {
		keys = append(keys, p.Group(name), p.Listing(site.ByScore, name), p.Listing(site.ByTime, name))
	}
	return keys
}
