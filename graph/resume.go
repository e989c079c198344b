package graph

import (
	"context"
	"fmt"

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

// resumesAt returns where a client goes on, after its last event or a cursor, and the name of what says so.
func resumesAt(ctx context.Context, after *string) (field, cursor string) {
	if id := endpoint.LastEvent(ctx); id != "" {
		return lastEvent, id
	}
	return "after", site.Value(after)
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

func (r *subscriptionResolver) ArticleChanged(ctx context.Context, ids []string, revisions []int32) (<-chan *site.Article, error) {
	if len(ids) > live.MaxWatched { // before looking at any id: a request has room for many thousands
		return nil, badInput(fmt.Sprintf("1 to %d articles can be watched at once, these are %d", live.MaxWatched, len(ids)))
	}
	articles := make([]site.ArticleID, len(ids))
	for i, id := range ids {
		var err error
		if articles[i], err = site.ParseArticleID(id); err != nil {
			return nil, err
		}
	}
	watch, err := r.watchArticles(ctx, articles, revisions)
	return endpoint.Watched[*site.Article](ctx, watch, err)
}

func (r *subscriptionResolver) ArticlePosted(ctx context.Context, group *string, after *string) (<-chan *live.PostedEdge, error) {
	var name site.GroupName
	var watch *live.Watch
	var err error
	if group != nil {
		if name, err = site.ParseGroupName(*group); err != nil {
			return nil, err
		}
	}
	if field, cursor := resumesAt(ctx, after); cursor != "" {
		watch, err = r.repo.Live.ResumePosts(ctx, name, field, cursor)
	} else {
		watch, err = r.repo.Live.WatchPosts(ctx, name)
	}
	return endpoint.Watched[*live.PostedEdge](ctx, watch, err)
}

func (r *subscriptionResolver) Event(ctx context.Context, after *string, kinds []events.EventKind) (<-chan *events.EventEdge, error) {
	if err := mayReadEvents(ctx); err != nil {
		return nil, err
	}
	field, cursor := resumesAt(ctx, after)
	watch, err := r.repo.Live.WatchEvents(ctx, field, cursor, kinds)
	return endpoint.Watched[*events.EventEdge](ctx, watch, err)
}

func (r *queryResolver) Events(ctx context.Context, after *string, kinds []events.EventKind, first *int32) (*events.EventPage, error) {
	if err := mayReadEvents(ctx); err != nil {
		return nil, err
	}
	page, err := r.repo.Log.Events(ctx, after, kinds, asInt(first))
	if err != nil {
		return nil, err
	}
	return &page, nil
}

func (r *eventResolver) Article(ctx context.Context, objs []*events.Event) ([]*site.Article, error) {
	return r.loadAll(ctx, site.Collect(objs, func(e *events.Event) site.ArticleID { return e.Article }))
}

func (r *eventResolver) Removal(_ context.Context, objs []*events.Event) ([]*Removal, error) {
	return site.Collect(objs, func(e *events.Event) *Removal {
		if e.Why == nil {
			return nil
		}
		return r.removal(*e.Why, e.At, e.By, nil)
	}), nil
}
