package graph

import (
	"context"
	"strings"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// ModerationAction is an entry of the moderation log as an action on an article, a user, a host or a group.
type ModerationAction struct{ events.ModerationEntry }

type (
	// ModerationConnection is a page of the moderation log.
	ModerationConnection = Connection[*events.ModerationEntry, *ModerationEdge]
	// ModerationEdge is an entry and its position in the log.
	ModerationEdge = Edge[*events.ModerationEntry]
	// ActionConnection is a page of the actions.
	ActionConnection = Connection[*ModerationAction, *ActionEdge]
	// ActionEdge is an action and its position in the list.
	ActionEdge = Edge[*ModerationAction]
	// PublicLogConnection is a page of the public log.
	PublicLogConnection = Connection[*PublicLogEntry, *PublicLogEdge]
	// PublicLogEdge is an entry of the public log and its position.
	PublicLogEdge = Edge[*PublicLogEntry]
)

func (r *queryResolver) ModerationActions(ctx context.Context, target *string, first *int32, after *string) (*ActionConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("the actions of moderators are for moderators")
	}
	var only events.Actions
	if target != nil {
		var err error
		if only.Target, err = events.ParseTarget(*target); err != nil {
			return nil, err
		}
	}
	entries, info, looked, err := r.repo.Log.Actions(ctx, only, asInt(first), after)
	endpoint.Owe(ctx, looked/lookedPerPoint)
	if err != nil {
		return nil, err
	}
	return &ActionConnection{PageInfo: info, Edges: site.Collect(entries, func(e events.ModerationEntry) *ActionEdge {
		return &ActionEdge{e.Cursor, &ModerationAction{e}}
	})}, nil
}

// Article returns the articles of actions, deleted or not, for moderators; nil for others.
func (r *moderationActionResolver) Article(ctx context.Context, actions []*ModerationAction) ([]*site.Article, error) {
	all := make([]*site.Article, len(actions))
	var ids []site.ArticleID
	var of []int
	for i, a := range actions {
		if a.Article != 0 {
			ids, of = append(ids, a.Article), append(of, i)
		}
	}
	found, err := r.loadForViewer(ctx, ids)
	for i, article := range found {
		all[of[i]] = article
	}
	return all, err
}

// PublicLogEntry is an action with the fields that any client may read.
type PublicLogEntry struct{ events.ModerationEntry }

// published are the kinds of actions in the public log. What became of reports is for who reported, and for moderators.
var published = events.Actions{Kinds: []events.ModerationKind{
	events.LogDeleted, events.LogUndeleted, events.LogRegrouped, events.LogEdited, events.LogDenied, events.LogAllowed,
}}

// publicLogKey is the key of a shared page.
type publicLogKey struct {
	first optional[int]
	after optional[string]
}

// PublicLog returns a page of what moderators did, without names, or nil if the site does not publish it. What posters did
// with their own articles is left out, and so is what moderators say about groups.
func (r *queryResolver) PublicLog(ctx context.Context, first *int32, after *string) (*PublicLogConnection, error) {
	if !r.site.PublicLog {
		return nil, nil
	}
	key := publicLogKey{optionalOf(asInt(first)), optionalOf(after)}
	return endpoint.Share(ctx, r.reads, key, func(ctx context.Context) (*PublicLogConnection, int, error) {
		c, err := r.readPublicLog(ctx, asInt(first), after)
		if err != nil {
			return nil, 0, err
		}
		return c, maxPublicEntry * len(c.Edges), nil
	})
}

// maxPublicEntry is how many bytes an entry of the public log takes, at most: its title, its reason, and the rest.
const maxPublicEntry = 4*(200+500) + perEdge

func (r *Resolver) readPublicLog(ctx context.Context, first *int, after *string) (*PublicLogConnection, error) {
	entries, info, looked, err := r.repo.Log.Actions(ctx, published, first, after)
	endpoint.Owe(ctx, looked/lookedPerPoint)
	if err != nil {
		return nil, err
	}
	var ids []site.ArticleID
	for _, e := range entries {
		if e.Article != 0 {
			ids = append(ids, e.Article)
		}
	}
	articles, errs := r.repo.Articles.ReadArticles(ctx, ids)
	c := &PublicLogConnection{PageInfo: info}
	for _, e := range entries {
		if strings.HasPrefix(e.Target, site.GroupPrefix) {
			continue // the entry would not say which
		}
		entry := &PublicLogEntry{e}
		if e.Article != 0 {
			article, err := articles[0], errs[0]
			articles, errs = articles[1:], errs[1:]
			switch {
			case err != nil && article == nil && !isRefusal(err):
				return nil, err
			case article == nil:
				entry.Title = nil
			case e.By == article.Poster.Name, e.OnBehalfOf != nil && *e.OnBehalfOf == article.Poster.Name:
				continue
			case !mayShowTitle(e, article):
				entry.Title = nil
			}
		}
		c.Edges = append(c.Edges, &PublicLogEdge{e.Cursor, entry})
	}
	c.PageInfo.StartCursor = nil
	if len(c.Edges) > 0 {
		c.PageInfo.StartCursor = &c.Edges[0].Cursor
	}
	return c, nil
}

// mayShowTitle reports whether the title in an entry may be public: not of illegal content, nor of a deletion whose
// ground is not known yet, nor of an article that its poster has deleted.
func mayShowTitle(e events.ModerationEntry, a *site.Article) bool {
	switch why := a.Removal; {
	case e.Ground != nil && *e.Ground == site.GroundIllegal, why != nil && why.Ground == site.GroundIllegal:
		return false
	case a.DeletedAt == nil:
		return true
	case a.DeletedBy != nil && *a.DeletedBy == a.Poster.Name:
		return false
	default:
		return why != nil && !why.At.Before(*a.DeletedAt)
	}
}

// DeletedConnection is a page of the deleted articles.
type DeletedConnection struct {
	Connection[*site.Article, *DeletedEdge]
	listing lists.Listing
}

// DeletedEdge is a deleted article and its position in the list.
type DeletedEdge struct {
	ArticleEdge
	By string // who deleted it
}

// ByUser is the user who deleted the article, or nil if the name is not a user's.
func (e *DeletedEdge) ByUser() *site.User { return site.UserName(e.By).User() }

// DeletedItems returns a page of the deleted articles, or of those that lack a ground, to moderators. One that was restored meanwhile is
// left out.
func (r *queryResolver) DeletedItems(ctx context.Context, missingReason bool, first *int32, after *string) (*DeletedConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("the deleted articles are for moderators")
	}
	listing := lists.Deleted()
	if missingReason {
		listing = lists.Unexplained()
	}
	read, err := r.walk(ctx, listing, pageRequest(first, after, nil, nil))
	if err != nil {
		return nil, err
	}
	articles, err := r.loadForViewer(ctx, site.Collect(read.edges, func(e lists.Edge) site.ArticleID { return e.ID }))
	if err != nil {
		return nil, err
	}
	c := &DeletedConnection{listing: listing}
	c.PageInfo, c.Edges = read.info, make([]*DeletedEdge, 0, len(articles))
	for i, article := range articles {
		if article != nil && article.DeletedAt != nil {
			c.Edges = append(c.Edges, &DeletedEdge{ArticleEdge{read.edges[i].Cursor, article}, strings.TrimSpace(string(site.Value(article.DeletedBy)))})
		}
	}
	return c, nil
}

// DescribeGroupInput is what a moderator says about a group.
type DescribeGroupInput struct {
	Group, Description string
	Rules              []string
}

// DescribeGroupPayload is the result of describing a group.
type DescribeGroupPayload struct {
	Group      *site.Group
	UserErrors []UserError
}

func (r *mutationResolver) DescribeGroup(ctx context.Context, input DescribeGroupInput) (*DescribeGroupPayload, error) {
	payload := new(DescribeGroupPayload)
	err := r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Group, err = r.repo.Descriptions.DescribeGroup(ctx, input.Group, input.Description, input.Rules, actor(v))
		return err
	})
	if payload.Group == nil || err != nil || !selected(ctx, "DescribeGroupPayload.group", "Group.articleCount") {
		return payload, err
	}
	return payload, r.countArticles(ctx, payload.Group)
}

func (r *deletedConnectionResolver) TotalCount(ctx context.Context, obj *DeletedConnection) (int32, error) {
	return asCount(r.repo.Lists.Count(ctx, obj.listing))
}

func (r *moderationEntryResolver) Article(ctx context.Context, objs []*events.ModerationEntry) ([]*site.Article, error) {
	return r.loadAll(ctx, site.Collect(objs, func(e *events.ModerationEntry) site.ArticleID { return e.Article }))
}

func (r *queryResolver) ModerationLog(ctx context.Context, first *int32, after *string, last *int32, before *string) (*ModerationConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("the moderation log is for moderators")
	}
	entries, info, err := r.repo.Log.ModerationLog(ctx, pageRequest(first, after, last, before))
	if err != nil {
		return nil, err
	}
	c := &ModerationConnection{PageInfo: info, Edges: make([]*ModerationEdge, len(entries))}
	for i := range entries {
		c.Edges[i] = &ModerationEdge{Cursor: entries[i].Cursor, Node: &entries[i]}
	}
	return c, nil
}
