package events

import (
	"context"
	"slices"
	"strings"

	"frontpage/redisrepo/site"
)

const (
	// logBatch is how many entries are read at once to find those of a few kinds or of one target.
	logBatch = 500
	// maxLogBatches is how often one page reads further.
	maxLogBatches = 10
)

// hasNoArticle reports whether an action is on a user, a host or a group.
func hasNoArticle(target string) bool {
	for _, prefix := range []string{site.UserPrefix, site.HostPrefix, site.GroupPrefix} {
		if strings.HasPrefix(target, prefix) && len(target) > len(prefix) {
			return true
		}
	}
	return false
}

// ParseTarget parses what an action can be on: an article by its id or its number, a user, a host or a group.
// It returns the form of ModerationEntry.Target. The Refusal is Invalid for anything else.
func ParseTarget(text string) (string, error) {
	if name, is := strings.CutPrefix(text, site.UserPrefix); is {
		user, err := site.ParseUserName(name)
		return user.Member(), err
	}
	if name, is := strings.CutPrefix(text, site.HostPrefix); is {
		host, err := site.ParseHostName(name)
		return site.HostPrefix + string(host), err
	}
	if name, is := strings.CutPrefix(text, site.GroupPrefix); is {
		group, err := site.ParseGroupName(name)
		return site.GroupPrefix + string(group), err
	}
	id, err := site.ParseArticleID(text)
	if err != nil {
		return "", site.Refuse(site.Invalid, "target", "%s is neither an article, such as article:17, nor user:alice, host:go.dev or group:go", site.Shown(text))
	}
	return id.String(), nil
}

// Actions says which actions a page has.
type Actions struct {
	Target string           // as ParseTarget returns it; empty: any
	Kinds  []ModerationKind // none: all
}

func (a Actions) has(e ModerationEntry) bool {
	return (a.Target == "" || a.Target == e.Target) && (len(a.Kinds) == 0 || slices.Contains(a.Kinds, e.Kind))
}

// Actions reads a page of the moderation log with the actions on users, hosts and groups, newest entry first. looked is how many
// entries were read for it, at most 5,000: a page of few kinds, or of one target, may have fewer actions than asked for, or none,
// although others follow; PageInfo says so, and its EndCursor is after all entries that were looked at. Invalid requests
// are refused as by Walk.
func (r *Log) Actions(ctx context.Context, a Actions, first *int, after *string) (entries []ModerationEntry, info site.PageInfo, looked int, err error) {
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, r.store.Rules.PageSize, decodeLogCursor)
	if err != nil {
		return nil, info, 0, err
	}
	var only *int
	switch id, err := site.ParseArticleID(a.Target); {
	case a.Target == "":
	case err == nil:
		only = new(r.store.Index(id))
	default:
		only = new(0) // see deny.lua and describe.lua
	}
	size := q.Size
	if a.Target != "" || len(a.Kinds) > 0 {
		q.Size = logBatch
	}
	info.HasPreviousPage = q.After != nil
	for range maxLogBatches {
		page, err := r.readLog(ctx, q, only)
		if err != nil {
			return nil, info, looked, err
		}
		info.HasNextPage = page.HasNext
		for i, e := range page.Items {
			looked++
			q.After = &page.Items[i].At
			info.EndCursor = new(e.At.encode())
			if entry, ok := e.shown(); ok && a.has(entry) {
				entries = append(entries, entry)
			}
			if len(entries) == size {
				info.HasNextPage = info.HasNextPage || i+1 < len(page.Items)
				break
			}
		}
		if !info.HasNextPage || len(entries) == size {
			break
		}
	}
	if len(entries) > 0 {
		info.StartCursor = &entries[0].Cursor
	}
	return entries, info, looked, nil
}
