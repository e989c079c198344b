package redisrepo

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// groupList is the name of the list of groups in its cursors.
const groupList = "groups"

// GroupEdge is a group in the list of groups.
type GroupEdge struct {
	Name   GroupName
	Cursor string
}

// Groups reads a part of the list of groups that are not empty, by name (in
// bytes), in one round trip. A group that the book's code made after this site
// was first opened is among them once it was listed here. It refuses what Walk does.
func (r *Repo) Groups(ctx context.Context, s Span) ([]GroupEdge, PageInfo, error) {
	most, last, err := r.size(s)
	if err != nil {
		return nil, PageInfo{}, err
	}
	after, err := groupCursor("after", s.After)
	if err != nil {
		return nil, PageInfo{}, err
	}
	before, err := groupCursor("before", s.Before)
	if err != nil {
		return nil, PageInfo{}, err
	}
	lowest, highest := "-", "+"
	if s.After != nil {
		lowest = "(" + after
	}
	if s.Before != nil {
		highest = "(" + before
	}
	// One more than asked for tells whether there is more; what lies beyond the
	// cursors has to be looked for.
	part := redis.ZRangeArgs{ByLex: true, Start: lowest, Stop: highest, Count: int64(most) + 1}
	if last {
		part.Rev, part.Start, part.Stop = true, highest, lowest
	}
	front := redis.ZRangeArgs{ByLex: true, Start: "-", Stop: "[" + after, Count: 1}
	behind := redis.ZRangeArgs{ByLex: true, Start: "[" + before, Stop: "+", Count: 1}
	var names []GroupName
	var info PageInfo
	var parts, fronts, behinds []*redis.StringSliceCmd
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		parts, fronts, behinds = nil, nil, nil
		for _, p := range r.partitions {
			part.Key, front.Key, behind.Key = p.groups(), p.groups(), p.groups()
			parts = append(parts, pipe.ZRangeArgs(ctx, part))
			if s.After != nil {
				fronts = append(fronts, pipe.ZRangeArgs(ctx, front))
			}
			if s.Before != nil {
				behinds = append(behinds, pipe.ZRangeArgs(ctx, behind))
			}
		}
	})
	if err != nil {
		return nil, PageInfo{}, storeError("list groups", err)
	}
	for i := range r.partitions {
		for _, name := range parts[i].Val() {
			names = append(names, GroupName(name))
		}
		info.HasPreviousPage = info.HasPreviousPage || s.After != nil && len(fronts[i].Val()) > 0
		info.HasNextPage = info.HasNextPage || s.Before != nil && len(behinds[i].Val()) > 0
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if extra := len(names) - most; extra > 0 && last {
		names, info.HasPreviousPage = names[extra:], true
	} else if extra > 0 {
		names, info.HasNextPage = names[:most], true
	}
	edges := make([]GroupEdge, len(names))
	for i, name := range names {
		edges[i] = GroupEdge{Name: name, Cursor: encodeCursor(groupList, string(name))}
	}
	if len(edges) > 0 {
		info.StartCursor, info.EndCursor = &edges[0].Cursor, &edges[len(edges)-1].Cursor
	}
	return edges, info, nil
}

// groupCursor is the name that a cursor of the list of groups stands for.
func groupCursor(field string, cursor *string) (string, error) {
	if cursor == nil {
		return "", nil
	}
	parts, err := decodeCursor(field, groupList, *cursor)
	if err == nil && len(parts) != 1 {
		err = refuse(Invalid, field, "%s is not a cursor of a group", field)
	}
	if err != nil {
		return "", err
	}
	return parts[0], nil
}

// GroupCount returns how many groups are not empty, by one command on a store
// of one partition; on several, groups of one name have to be found.
func (r *Repo) GroupCount(ctx context.Context) (int, error) {
	if len(r.partitions) == 1 {
		n, err := r.client.ZCard(ctx, r.partitions[0].groups()).Result()
		if err != nil {
			return 0, storeError("count groups", err)
		}
		return int(n), nil
	}
	var lists []*redis.StringSliceCmd
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		lists = nil
		for _, p := range r.partitions {
			lists = append(lists, pipe.ZRange(ctx, p.groups(), 0, -1))
		}
	})
	if err != nil {
		return 0, storeError("count groups", err)
	}
	names := make(map[string]bool)
	for _, list := range lists {
		for _, name := range list.Val() {
			names[name] = true
		}
	}
	return len(names), nil
}

// groupKeys appends the three keys of each group, as the scripts expect them.
func groupKeys(keys []string, p partition, names ...GroupName) []string {
	for _, name := range names {
		keys = append(keys, p.group(name), p.listing(ByScore, name), p.listing(ByTime, name))
	}
	return keys
}

// groupNames splits the text of a hash's field groups.
func groupNames(text string) []GroupName {
	fields := strings.Fields(text)
	names := make([]GroupName, len(fields))
	for i, f := range fields {
		names[i] = GroupName(f)
	}
	return names
}

// groupText is the reverse of groupNames.
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
