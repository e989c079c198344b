package redisrepo

import (
	"context"
	"strings"
	"time"

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

// GroupCount returns the number of non-empty groups. With one partition it runs a single command of constant cost. With
// several it reads all names, since a group may be in more than one, and keeps the number for groupCountTime.
func (r *Repo) GroupCount(ctx context.Context) (int, error) {
	if len(r.partitions) == 1 {
		n, err := r.client.ZCard(ctx, r.partitions[0].groups()).Result()
		if err != nil {
			return 0, storeError("count groups", err)
		}
		return int(n), nil
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
		names, err := r.allGroups(ctx)
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

// allGroups reads the names of all groups, a part of each partition at a time. It pages by name: a cursor of ZSCAN would
// not survive a failover.
func (r *Repo) allGroups(ctx context.Context) (map[string]bool, error) {
	found, rest := make(map[string]bool), make(map[partition]string)
	for _, p := range r.partitions {
		rest[p] = "-"
	}
	for len(rest) > 0 {
		replies := make(map[partition]*redis.StringSliceCmd)
		err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for p, after := range rest {
				replies[p] = pipe.ZRangeArgs(ctx, redis.ZRangeArgs{Key: p.groups(), ByLex: true, Start: after, Stop: "+", Count: scanBatch})
			}
		})
		if err != nil {
			return nil, err
		}
		for p, reply := range replies {
			names := reply.Val()
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
