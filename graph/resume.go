package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
)

// lastEvent is the header that goes before the arguments: an EventSource that connects again repeats them as they were.
const lastEvent = "Last-Event-ID"

// watchArticles begins to watch articles, after the last event of the client or the revisions that it has.
func (r *Resolver) watchArticles(ctx context.Context, ids []site.ArticleID, revisions []int32) (*live.Watch, error) {
	if id := endpoint.LastEvent(ctx); id != "" {
		known, err := live.RevisionsAt(lastEvent, id, ids)
		if err != nil {
			return nil, err
		}
		return r.repo.Live.ResumeArticles(ctx, ids, known)
	}
	if revisions == nil {
		return r.repo.Live.WatchArticles(ctx, ids)
	}
	known := site.Collect(revisions, func(n int32) int64 { return int64(n) })
	return r.repo.Live.ResumeArticles(ctx, ids, known)
}

// watchPosts begins to watch for posts, after the last event of the client or a cursor.
func (r *Resolver) watchPosts(ctx context.Context, group site.GroupName, after *string) (*live.Watch, error) {
	if id := endpoint.LastEvent(ctx); id != "" {
		return r.repo.Live.ResumePosts(ctx, group, lastEvent, id)
	}
	if after != nil && *after != "" {
		return r.repo.Live.ResumePosts(ctx, group, "after", *after)
	}
	return r.repo.Live.WatchPosts(ctx, group)
}

// watchEvents begins to watch the change feed, after the last event of the client or a cursor.
func (r *Resolver) watchEvents(ctx context.Context, after *string, kinds []events.EventKind) (*live.Watch, error) {
	if err := mayReadEvents(ctx); err != nil {
		return nil, err
	}
	if id := endpoint.LastEvent(ctx); id != "" {
		return r.repo.Live.WatchEvents(ctx, lastEvent, id, kinds)
	}
	return r.repo.Live.WatchEvents(ctx, "after", site.Value(after), kinds)
}

// mayReadEvents returns an error unless the caller is a moderator, or a service that acts as itself. Events tell who
// voted for what.
func mayReadEvents(ctx context.Context) error {
	switch v := endpoint.ViewerOf(ctx); {
	case v.Name == "":
		return endpoint.Unauthenticated("sign in first: the change feed is for moderators and services")
	case v.Moderator, v.Service && v.Via == "":
		return nil
	}
	return endpoint.Forbidden("the change feed is for moderators and services")
}

// ModerationConnection is a page of the moderation log.
type ModerationConnection struct {
	Edges    []*ModerationEdge
	PageInfo site.PageInfo
}

// ModerationEdge is an entry and its position in the log.
type ModerationEdge struct {
	Cursor string
	Node   *events.ModerationEntry
}

// Nodes returns the entries without their positions.
func (c *ModerationConnection) Nodes() []*events.ModerationEntry {
	return site.Collect(c.Edges, func(e *ModerationEdge) *events.ModerationEntry { return e.Node })
}
