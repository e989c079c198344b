package redisrepo

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Group is a named set of articles. Every valid name is a group; most are empty.
type Group struct {
	Name         GroupName
	ArticleCount int
}

// ID is the group's global id, such as group:go.
func (g *Group) ID() string { return groupPrefix + string(g.Name) }

// groupList is the name of the list of groups in its cursors.
const groupList = "groups"

// GroupEdge is a group on a page of the list of groups.
type GroupEdge struct {
	Name   GroupName
	Cursor string
}

// Groups reads a page of the list of non-empty groups, sorted by the bytes of their names, in one
// round trip. A group that a legacy client made after the store was first opened appears once its
// articles have been listed by this package. Invalid requests are refused as by Walk.
func (r *Repo) Groups(ctx context.Context, p PageRequest) ([]GroupEdge, PageInfo, error) {
	q, err := parseRequest(p, r.rules.PageSize, decodeGroupCursor)
	if err != nil {
		return nil, PageInfo{}, err
	}
	found, err := readPage(ctx, r, q, strings.Compare, func(pipe redis.Pipeliner, i int, b between[string]) func() []string {
		bracket, lowest, highest := "(", "-", "+"
		if b.inclusive {
			bracket = "["
		}
		if b.after != nil {
			lowest = bracket + *b.after
		}
		if b.before != nil {
			highest = bracket + *b.before
		}
		args := redis.ZRangeArgs{Key: r.partitions[i].groups(), ByLex: true, Start: lowest, Stop: highest, Count: int64(b.count)}
		if b.last {
			args.Rev, args.Start, args.Stop = true, highest, lowest
		}
		return pipe.ZRangeArgs(ctx, args).Val
	})
	if err != nil {
		return nil, PageInfo{}, storeError("list groups", err)
	}
	cursorOf := func(name string) string { return encodeCursor(groupList, name) }
	edges := make([]GroupEdge, len(found.items))
	for i, name := range found.items {
		edges[i] = GroupEdge{Name: GroupName(name), Cursor: cursorOf(name)}
	}
	return edges, found.info(cursorOf), nil
}

// decodeGroupCursor returns the group's name.
func decodeGroupCursor(field, cursor string) (string, error) {
	parts, err := decodeCursor(field, groupList, cursor)
	if err == nil && len(parts) != 1 {
		err = refuse(Invalid, field, "%s is not a cursor of a group", field)
	}
	if err != nil {
		return "", err
	}
	return parts[0], nil
}

// GroupCount returns the number of non-empty groups. With one partition it runs a single command of
// constant cost; with several it reads all names, since a group may be in more than one.
func (r *Repo) GroupCount(ctx context.Context) (int, error) {
	if len(r.partitions) == 1 {
		n, err := r.client.ZCard(ctx, r.partitions[0].groups()).Result()
		if err != nil {
			return 0, storeError("count groups", err)
		}
		return int(n), nil
	}
	found := make(map[string]bool)
	for _, p := range r.partitions {
		names := r.client.ZScan(ctx, p.groups(), 0, "", scanBatch).Iterator()
		err := batches(ctx, names, 2, func(batch []string) error {
			for _, name := range batch {
				found[name] = true
			}
			return nil
		})
		if err != nil {
			return 0, storeError("count groups", err)
		}
	}
	return len(found), nil
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
