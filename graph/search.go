package graph

import (
	"cmp"
	"context"
	"errors"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/search"
	"frontpage/redisrepo/site"
)

// SearchFilter is the filter of a search.
type SearchFilter struct {
	Groups, NotGroups, Hosts, Posters []string
	PostedAfter, PostedBefore         *time.Time
	MinVotes, MaxVotes                *int32
	In                                []search.Field
}

// SearchConnection is a page of search results.
type SearchConnection struct {
	Connection[*site.Article, *SearchEdge]
	TotalCount     int
	IsPartial      bool
	IndexedThrough time.Time
	Suggestion     *string
}

// SearchEdge is an article that matches.
type SearchEdge struct {
	ArticleEdge
	Tier search.Tier

	TitleRanges   []*search.Range
	Snippet       *string
	SnippetRanges []*search.Range
}

func (r *queryResolver) Search(ctx context.Context, text string, filter SearchFilter, order search.Order, first *int32, after *string) (*SearchConnection, error) {
	parsed, err := filter.parse()
	if err != nil {
		return nil, err
	}
	leaves, err := r.leaves(ctx, false)
	if err != nil {
		return nil, err
	}
	found, err := r.repo.Search.Search(ctx, search.Query{Text: text, Filter: parsed, Order: order, First: asInt(first), After: after}, leaves.has)
	if err != nil {
		return nil, whenReady(err)
	}
	c := &SearchConnection{TotalCount: found.Total, IsPartial: found.IsPartial, IndexedThrough: found.Through, Suggestion: site.Optional(found.Suggestion)}
	c.PageInfo = found.Info
	c.Edges, err = r.searchEdges(ctx, found)
	return c, err
}

func (r *queryResolver) SimilarArticles(ctx context.Context, title string, first int32) ([]*SearchEdge, error) {
	leaves, err := r.leaves(ctx, false)
	if err != nil {
		return nil, err
	}
	found, err := r.repo.Search.Similar(ctx, title, int(first), leaves.has)
	if err != nil {
		return nil, whenReady(err)
	}
	return r.searchEdges(ctx, found)
}

// searchEdges charges for what a search has read, and loads the articles of its result, without those that were deleted meanwhile.
func (r *Resolver) searchEdges(ctx context.Context, found *search.Result) ([]*SearchEdge, error) {
	endpoint.Owe(ctx, found.Read/lookedPerPoint)
	articles, err := r.loadAll(ctx, site.Collect(found.Hits, func(h search.Hit) site.ArticleID { return h.ID }))
	if err != nil {
		return nil, err
	}
	edges := make([]*SearchEdge, 0, len(articles))
	for i, a := range articles {
		if a == nil {
			continue
		}
		h := found.Hits[i]
		marks := found.Marks(a, h.Tier)
		edges = append(edges, &SearchEdge{ArticleEdge: ArticleEdge{h.Cursor, a}, Tier: h.Tier, TitleRanges: marks.Title, Snippet: site.Optional(marks.Snippet), SnippetRanges: marks.Text})
	}
	return edges, nil
}

// whenReady turns the error of a search whose index is being built into one with a code.
func whenReady(err error) error {
	if notReady, ok := errors.AsType[search.NotReady](err); ok {
		return endpoint.SearchNotReady(notReady.Error(), notReady.Progress)
	}
	return err
}

// parse parses the names of a filter.
func (f SearchFilter) parse() (parsed search.Filter, err error) {
	parsed = search.Filter{PostedAfter: f.PostedAfter, PostedBefore: f.PostedBefore, MinVotes: asInt(f.MinVotes), MaxVotes: asInt(f.MaxVotes), In: f.In}
	var errs [4]error
	parsed.Groups, errs[0] = parseNames("filter.groups", f.Groups, site.ParseGroupName)
	parsed.NotGroups, errs[1] = parseNames("filter.notGroups", f.NotGroups, site.ParseGroupName)
	parsed.Hosts, errs[2] = parseNames("filter.hosts", f.Hosts, site.ParseHostName)
	parsed.Posters, errs[3] = parseNames("filter.posters", f.Posters, site.ParseUserName)
	return parsed, cmp.Or(errs[:]...)
}

// parseNames parses the names of a list of a filter; nil for no list.
func parseNames[N any](field string, names []string, parse func(string) (N, error)) (parsed []N, err error) {
	if names == nil {
		return nil, nil
	}
	if len(names) > search.MaxFilter {
		return nil, site.Refuse(site.Invalid, field, "%s has at most %d values", field, search.MaxFilter)
	}
	parsed = make([]N, len(names))
	for i, name := range names {
		if parsed[i], err = parse(name); err != nil {
			return nil, site.InField(field, err)
		}
	}
	return parsed, nil
}
