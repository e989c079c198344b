package redisrepo

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
)

// Group is a named set of articles. Every valid name is a group; most are empty.
type Group struct {
	Name         GroupName
	ArticleCount int
}

// ID is the group's global id, such as group:go.
func (g *Group) ID() string { return groupPrefix + string(g.Name) }

// GroupOrder is the order of a list of groups.
type GroupOrder int

// The orders of groups.
const (
	ByName         GroupOrder = iota // the bytes of the names
	ByArticleCount                   // the largest first; groups of one size by name
)

// GroupList is a list of groups that have articles, without Interesting.
type GroupList struct {
	Order  GroupOrder
	Prefix string // of the names; empty: all groups

	// Looked, if not nil, is increased by the number of names and sizes of groups that are read to find a page or the
	// number of groups, also if the call fails. Those of a page that is read alone do not count.
	Looked *int
}

// prefix returns the beginning that canonical names have, and whether a name can begin like that.
func (l GroupList) prefix() (canonical string, possible bool) {
	canonical = foldGroupName(l.Prefix)
	return canonical, utf8.ValidString(canonical) && !strings.ContainsFunc(canonical, notInGroupName)
}

// counted returns the list with a place to count in.
func (l GroupList) counted() GroupList {
	if l.Looked == nil {
		l.Looked = new(int)
	}
	return l
}

// cursorList is the list's name in its cursors. They are positions in the order, whatever the prefix.
func (l GroupList) cursorList() string {
	if l.Order == ByArticleCount {
		return "groups by size"
	}
	return "groups"
}

// GroupEdge is a group on a page of a list of groups.
type GroupEdge struct {
	Group  // its ArticleCount is read for ByArticleCount only
	Cursor string
}

// sizedGroup is a group's position in a list. The size is 0 in a list by name.
type sizedGroup struct {
	size int
	name string
}

func compareSized(a, b sizedGroup) int {
	return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.name, b.name))
}

// Groups reads a page of a list of groups. Invalid requests are refused as by Walk. A list by name takes one round trip.
// So does one by ArticleCount of a site with tags, or two on a site that legacy clients may write to, whose sizes are
// read again; with a prefix, or from several partitions, it takes a few more, and is Invalid if more than
// maxGroupsLooked names and sizes are to be read.
//
// A group that a legacy client made after the store was first opened appears once its articles have been listed by this
// package, and one that a legacy client changed then moves to its place.
func (r *Repo) Groups(ctx context.Context, l GroupList, p PageRequest) ([]GroupEdge, PageInfo, error) {
	q, err := parseRequest(p, r.rules.PageSize, l.decodeCursor)
	if err != nil {
		return nil, PageInfo{}, err
	}
	l = l.counted()
	prefix, possible := l.prefix()
	var found page[sizedGroup]
	switch {
	case !possible:
	case l.Order == ByName:
		found, err = r.groupsByName(ctx, prefix, q)
	case prefix == "" && len(r.partitions) == 1:
		found, err = r.groupsBySize(ctx, q)
	default:
		found, err = r.groupsOfPartitions(ctx, l, prefix, q)
	}
	if err == nil && l.Order == ByArticleCount && r.partitions[0] == untagged {
		err = r.resize(ctx, &found)
	}
	if err != nil {
		return nil, PageInfo{}, storeError("list groups", err)
	}
	edges := make([]GroupEdge, len(found.items))
	for i, g := range found.items {
		edges[i] = GroupEdge{Group: Group{Name: GroupName(g.name), ArticleCount: g.size}, Cursor: l.encodeCursor(g)}
	}
	return edges, found.info(l.encodeCursor), nil
}

func (l GroupList) encodeCursor(g sizedGroup) string {
	if l.Order == ByArticleCount {
		return encodeCursor(l.cursorList(), strconv.Itoa(g.size), g.name)
	}
	return encodeCursor(l.cursorList(), g.name)
}

func (l GroupList) decodeCursor(field, text string) (g sizedGroup, err error) {
	parts, err := decodeCursor(field, l.cursorList(), text)
	if err != nil {
		return g, err
	}
	if l.Order == ByArticleCount && len(parts) == 2 {
		g.size, err = strconv.Atoi(parts[0])
		parts = parts[1:]
	}
	if len(parts) != 1 || err != nil {
		return g, refuse(Invalid, field, "%s is not a cursor of a group", field)
	}
	g.name = parts[0]
	return g, nil
}

// groupsByName reads a page of the groups whose names begin with a prefix, in the order of their names.
func (r *Repo) groupsByName(ctx context.Context, prefix string, q request[sizedGroup]) (page[sizedGroup], error) {
	first, end := prefixRange(prefix)
	return readPage(ctx, r, q, compareSized, func(pipe redis.Pipeliner, i int, b between[sizedGroup]) func() []sizedGroup {
		bracket, lowest, highest := "(", first, end
		if b.inclusive {
			bracket = "["
		}
		if b.after != nil && b.after.name >= prefix {
			lowest = bracket + b.after.name
		}
		if b.before != nil && (b.before.name < prefix || strings.HasPrefix(b.before.name, prefix)) {
			highest = bracket + b.before.name
		}
		args := redis.ZRangeArgs{Key: r.partitions[i].groups(), ByLex: true, Start: lowest, Stop: highest, Count: int64(b.count)}
		if b.last {
			args.Rev, args.Start, args.Stop = true, highest, lowest
		}
		names := pipe.ZRangeArgs(ctx, args)
		return func() []sizedGroup {
			groups := make([]sizedGroup, len(names.Val()))
			for i, name := range names.Val() {
				groups[i].name = name
			}
			return groups
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
func (r *Repo) groupsBySize(ctx context.Context, q request[sizedGroup]) (page[sizedGroup], error) {
	of := request[cursor]{size: q.size, last: q.last, after: q.after.cursor(), before: q.before.cursor()}
	var call *redis.Cmd
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		call = r.callListing(ctx, pipe, r.partitions[0], Listing{order: bySize, direction: Ascending}, listRequest{request: of})
	})
	if err != nil {
		return page[sizedGroup]{}, err
	}
	read, err := parseRanked(call)
	if err != nil {
		return page[sizedGroup]{}, err
	}
	found := page[sizedGroup]{hasPrevious: read.start > 0, hasNext: read.start+len(read.items) < read.total}
	for _, z := range read.items {
		name, _ := z.Member.(string)
		found.items = append(found.items, sizedGroup{int(-z.Score), name})
	}
	return found, nil
}

// cursor is the position in sizes:, nil for none.
func (g *sizedGroup) cursor() *cursor {
	if g == nil {
		return nil
	}
	return &cursor{score: float64(-g.size), member: g.name}
}

const (
	// maxPrefixed is the number of groups with a prefix up to which all of them are read. If there are more, they are found
	// soon among the largest groups.
	maxPrefixed = 5_000
	// maxGroupsLooked is the maximum number of names and sizes that are read to find a page among the largest groups.
	maxGroupsLooked = 100_000
)

// groupsOfPartitions reads a page of the groups whose names begin with a prefix, the largest first. A group has a part
// of its articles in each partition.
func (r *Repo) groupsOfPartitions(ctx context.Context, l GroupList, prefix string, q request[sizedGroup]) (page[sizedGroup], error) {
	within := func(g sizedGroup) bool {
		return (q.after == nil || compareSized(g, *q.after) > 0) && (q.before == nil || compareSized(g, *q.before) < 0)
	}
	few := false
	if prefix != "" {
		n, err := r.countPrefixed(ctx, prefix)
		if err != nil {
			return page[sizedGroup]{}, err
		}
		few = n <= maxPrefixed
	}
	var sizes map[string]int
	var err error
	if few {
		sizes, err = r.prefixedSizes(ctx, prefix, l.Looked)
	} else {
		sizes, err = r.largestGroups(ctx, prefix, l.Looked, func(sizes map[string]int, most int) bool {
			found := 0
			for name, size := range sizes {
				if size > most && within(sizedGroup{size, name}) {
					found++
				}
			}
			return found > q.size && !q.last && q.before == nil
		})
	}
	if err != nil {
		return page[sizedGroup]{}, err
	}
	var items []sizedGroup
	previous, next := false, false
	for name, size := range sizes {
		g := sizedGroup{size, name}
		switch {
		case within(g):
			items = append(items, g)
		case q.after != nil && compareSized(g, *q.after) <= 0:
			previous = true
		default:
			next = true
		}
	}
	slices.SortFunc(items, compareSized)
	return newPage(items, q.size, q.last, previous, next), nil
}

// countPrefixed returns the number of groups with a prefix, counting one again for each partition that has it.
func (r *Repo) countPrefixed(ctx context.Context, prefix string) (n int, err error) {
	first, end := prefixRange(prefix)
	counts := make([]*redis.IntCmd, len(r.partitions))
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			counts[i] = pipe.ZLexCount(ctx, p.groups(), first, end)
		}
	})
	for _, count := range counts {
		n += int(count.Val())
	}
	return n, err
}

// prefixedSizes reads the sizes of all groups with a prefix.
func (r *Repo) prefixedSizes(ctx context.Context, prefix string, looked *int) (map[string]int, error) {
	names, err := r.groupNames(ctx, prefix, looked)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int, len(names))
	return sizes, r.addSizes(ctx, sizes, slices.Collect(maps.Keys(names)), looked)
}

// addSizes reads the sizes of groups in all partitions.
func (r *Repo) addSizes(ctx context.Context, sizes map[string]int, names []string, looked *int) error {
	for some := range slices.Chunk(names, scanBatch) {
		*looked += len(some) * len(r.partitions)
		replies := make([]*redis.FloatSliceCmd, len(r.partitions))
		err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for i, p := range r.partitions {
				replies[i] = pipe.ZMScore(ctx, p.sizes(), some...)
			}
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
func (r *Repo) largestGroups(ctx context.Context, prefix string, looked *int, enough func(sizes map[string]int, most int) bool) (map[string]int, error) {
	sizes, left := map[string]int{}, slices.Clone(r.partitions)
	for from, count := 0, scanBatch/5; len(left) > 0; from, count = from+count, min(4*count, 2*scanBatch) {
		if *looked > maxGroupsLooked {
			return nil, refuse(Invalid, "prefix", "prefix is too short to find these groups by ARTICLE_COUNT: give a longer one, or order by NAME")
		}
		replies := make([]*redis.ZSliceCmd, len(left))
		err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for i, p := range left {
				replies[i] = pipe.ZRangeWithScores(ctx, p.sizes(), int64(from), int64(from+count-1))
			}
		})
		if err != nil {
			return nil, err
		}
		var names []string
		var more []partition
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

// resize reads the sizes of the groups on a page from their sets, which legacy clients change without the indexes, and
// brings the indexes up to date.
func (r *Repo) resize(ctx context.Context, found *page[sizedGroup]) error {
	if len(found.items) == 0 {
		return nil
	}
	names := make([]GroupName, len(found.items))
	for i, g := range found.items {
		names[i] = GroupName(g.name)
	}
	counts, err := r.ArticleCounts(ctx, names)
	if err != nil {
		return err
	}
	var changed []string
	for i, count := range counts {
		if g := &found.items[i]; g.size != count {
			g.size = count
			changed = append(changed, g.name)
		}
	}
	if changed == nil {
		return nil
	}
	_ = r.indexGroups(ctx, r.partitions[0], changed) // if the store refuses writes, the next read tries again
	found.items = slices.DeleteFunc(found.items, func(g sizedGroup) bool { return g.size == 0 })
	slices.SortFunc(found.items, compareSized)
	return nil
}

// indexGroups brings the indexes of groups of a partition up to date with the sets of some of them.
func (r *Repo) indexGroups(ctx context.Context, p partition, names []string) error {
	keys := append(make([]string, 0, len(names)+2), p.groups(), p.sizes())
	for _, name := range names {
		keys = append(keys, p.group(GroupName(name)))
	}
	_, err := r.run(ctx, sizeScript, keys, anys(names))
	return err
}

// indexAllGroups is indexGroups for all groups of a partition.
func (r *Repo) indexAllGroups(ctx context.Context, p partition) error {
	return r.scan(ctx, scan{command: redis.Cmdable.ZScan, key: p.groups(), step: 2, count: scanBatch, handle: func(names []string) error {
		return r.indexGroups(ctx, p, names)
	}})
}

// GroupCount returns the number of groups of a list. With one partition it runs a single command. With several it reads
// the names, since a group may be in more than one; the number of all groups is kept for groupCountTime.
func (r *Repo) GroupCount(ctx context.Context, l GroupList) (int, error) {
	l = l.counted()
	prefix, possible := l.prefix()
	switch {
	case !possible:
		return 0, nil
	case len(r.partitions) == 1:
		n, err := r.countPrefixed(ctx, prefix)
		if err != nil {
			return 0, storeError("count groups", err)
		}
		return n, nil
	case prefix != "":
		names, err := r.groupNames(ctx, prefix, l.Looked)
		if err != nil {
			return 0, storeError("count groups", err)
		}
		return len(names), nil
	}
	c := &r.groupCount
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return 0, storeError("count groups", ctx.Err())
	}
	now := r.now()
	if age := now.Sub(c.read); c.read.IsZero() || age < 0 || age >= groupCountTime {
		names, err := r.groupNames(ctx, "", new(int)) // at most once in groupCountTime, for all callers
		if err != nil {
			return 0, storeError("count groups", err)
		}
		c.number, c.read = len(names), now
	}
	return c.number, nil
}

// groupCountTime is how long the number of groups in several partitions is kept.
const groupCountTime = 5 * time.Second

// groupCount is the number of groups, as it was read last.
type groupCount struct {
	turn   chan struct{} // of the call that uses what follows
	number int
	read   time.Time
}

// groupNames reads the names of all groups with a prefix, a part of each partition at a time. It pages by name: a cursor
// of ZSCAN would not survive a failover.
func (r *Repo) groupNames(ctx context.Context, prefix string, looked *int) (map[string]bool, error) {
	found, rest := make(map[string]bool), make(map[partition]string)
	first, end := prefixRange(prefix)
	for _, p := range r.partitions {
		rest[p] = first
	}
	for len(rest) > 0 {
		replies := make(map[partition]*redis.StringSliceCmd)
		err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for p, after := range rest {
				replies[p] = pipe.ZRangeArgs(ctx, redis.ZRangeArgs{Key: p.groups(), ByLex: true, Start: after, Stop: end, Count: scanBatch})
			}
		})
		if err != nil {
			return nil, err
		}
		for p, reply := range replies {
			names := reply.Val()
			*looked += len(names)
			for _, name := range names {
				found[name] = true
			}
			if len(names) < scanBatch {
				delete(rest, p)
			} else {
				rest[p] = "(" + names[len(names)-1]
			}
		}
	}
	return found, nil
}

// groupKeys appends the three keys of each group, in the order that the scripts expect.
func groupKeys(keys []string, p partition, names ...GroupName) []string {
	for _, name := range names {
		keys = append(keys, p.group(name), p.listing(ByScore, name), p.listing(ByTime, name))
	}
	return keys
}

// groupNames splits the text of a hash's field groups.
func groupNames(text string) []GroupName {
	if text == "" {
		return nil
	}
	return appendGroupNames(make([]GroupName, 0, strings.Count(text, " ")+1), text)
}

func appendGroupNames(names []GroupName, text string) []GroupName {
	for name := range strings.FieldsSeq(text) {
		names = append(names, GroupName(name))
	}
	return names
}

// groupText is the inverse of groupNames.
func groupText(names []GroupName) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(name))
	}
	return b.String()
}
