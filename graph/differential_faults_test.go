package graph_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/redis/go-redis/v9"

	"frontpage/graph"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/rings"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/voids"
	"frontpage/redisrepo/webhooks"
	"frontpage/tests/require"
)

// faults makes calls of resolvers and commands of Redis fail, the same ones for each executor: what they are called
// for decides, not when. A salt of 0 means no faults.
type faults struct{ salt, share uint64 } // of 1000 calls, share fail

type (
	faultsKey struct{}
	batchKey  struct{} // marks the context of a resolver that is called for several objects at once
)

// kind returns how a call fails, as a number below kinds, or -1.
func (f faults) kind(kinds int, call ...any) int {
	if f.salt == 0 {
		return -1
	}
	h := fnv.New64a()
	fmt.Fprint(h, f.salt, call)
	sum := h.Sum64()
	if sum/1000%1000 >= f.share {
		return -1
	}
	return int(sum / 1_000_000 % uint64(kinds)) // #nosec G115 -- below kinds
}

// reply is an error reply of Redis.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

var replies = []error{
	reply("LOADING Redis is loading the dataset in memory"), reply("OOM command not allowed when used memory > 'maxmemory'."),
	reply("WRONGTYPE Operation against a key holding the wrong kind of value"), context.DeadlineExceeded,
}

// commandFaults is a hook that makes commands fail.
//
// The executors may put different objects into one call of a batch resolver. So that the same objects have an error,
// no single command of such a call fails.
type commandFaults struct{}

func (commandFaults) DialHook(next redis.DialHook) redis.DialHook { return next }

func (commandFaults) fail(ctx context.Context, command redis.Cmder) error {
	f, _ := ctx.Value(faultsKey{}).(faults)
	args := command.Args()
	if len(args) < 2 {
		return nil
	}
	key := textOf(args[1])
	if command.Name() == "evalsha" && len(args) > 3 {
		key += " " + textOf(args[3])
	}
	kind := -1
	switch {
	case slices.Contains([]string{"hello", "client", "select"}, command.Name()): // of a new connection
	case strings.Contains(key, "rate:"): // the operation would not be executed
	case strings.HasPrefix(key, "article:"):
		// An article that cannot be read is left out of lists. When the store does not answer, the list fails: this
		// must not depend on the other articles.
		if kind = f.kind(2, "articles"); kind < 0 && f.kind(1, key) == 0 {
			kind = 2
		}
	case command.Name() == "scan": // it would be repeated for half a minute
	case ctx.Value(batchKey{}) == nil:
		name := command.Name()
		if name == "exists" || strings.HasSuffix(name, "scan") {
			name = "walk" // as above, unless asking for the key fails, too
		}
		kind = f.kind(len(replies), name, key)
	}
	if kind < 0 {
		return nil
	}
	command.SetErr(replies[kind])
	return replies[kind]
}

func textOf(arg any) string {
	if text, ok := arg.(*string); ok {
		return *text
	}
	return fmt.Sprint(arg)
}

func (c commandFaults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if err := c.fail(ctx, command); err != nil {
			return err
		}
		return next(ctx, command)
	}
}

func (c commandFaults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		for _, command := range commands {
			if failed := c.fail(ctx, command); failed != nil {
				err = failed
			}
		}
		return err
	}
}

var injected = []error{
	errors.New("injected"),
	site.Refusal{{Code: site.Invalid, Message: `injected <&> "` + "\u2028\x01"}},
	fmt.Errorf("injected: %w", failover.ErrUnavailable),
	context.Canceled,
	graphql.BatchErrorList{nil},
}

// called calls a resolver for one object, named by about, or fails, or panics, or returns nil, or a list with an
// element that is nil.
func called[T any](ctx context.Context, field string, about []any, call func(context.Context) (T, error)) (T, error) {
	var none T
	f, _ := ctx.Value(faultsKey{}).(faults)
	kind := f.kind(len(injected)+3, append([]any{field}, about...)...)
	if kind >= 0 && kind < len(injected) {
		return none, injected[kind]
	}
	switch kind - len(injected) {
	case 0:
		panic("injected")
	case 1:
		return none, nil
	}
	result, err := call(ctx)
	if articles, ok := any(result).([]*site.Article); ok && kind >= 0 && len(articles) > 0 {
		articles = slices.Clone(articles)
		articles[len(articles)/2] = nil
		result = any(articles).(T)
	}
	return result, err
}

// calledWith is called for a resolver with one argument.
func calledWith[A, T any](ctx context.Context, field string, argument A, call func(context.Context, A) (T, error)) (T, error) {
	return called(ctx, field, []any{argument}, func(ctx context.Context) (T, error) { return call(ctx, argument) })
}

// calledForAll calls a batch resolver. Some of its fields fail for all objects, others for some of them.
func calledForAll[O, T any](ctx context.Context, field string, objects []O, call func(context.Context, []O) ([]T, error)) ([]T, error) {
	f, _ := ctx.Value(faultsKey{}).(faults)
	kind := f.kind(len(injected)+3, field)
	if kind >= 0 && kind < len(injected) {
		return nil, injected[kind]
	}
	if kind == len(injected) {
		panic("injected")
	}
	// gqlgen passes the elements on that called has set to nil, a plan does not. Outside of this test there are none.
	var found []O
	for _, o := range objects {
		if !isNil(o) {
			found = append(found, o)
		}
	}
	answers, err := call(context.WithValue(ctx, batchKey{}, true), found)
	if err != nil {
		return nil, err
	}
	results := make([]T, len(objects))
	for i, o := range objects {
		if !isNil(o) {
			results[i], answers = answers[0], answers[1:]
		}
	}
	errs := make(graphql.BatchErrorList, len(objects))
	switch kind - len(injected) {
	case 1:
		return results[:len(results)-1], nil
	case 2:
		return results, append(errs, errors.New("one more than objects"))
	}
	for i, o := range objects {
		if isNil(o) {
			continue
		}
		if kind := f.kind(len(injected)-1, field, idOf(o)); kind >= 0 {
			errs[i] = injected[kind]
		}
	}
	if slices.IndexFunc(errs, func(err error) bool { return err != nil }) < 0 {
		return results, nil
	}
	return results, errs
}

func isNil(object any) bool { return reflect.ValueOf(object).IsNil() }

func idOf(object any) string {
	switch o := object.(type) {
	case *site.Article:
		return o.ID.String()
	case *events.ModerationEntry:
		return o.Cursor
	case *site.User:
		return string(o.Name)
	case *site.Group:
		return string(o.Name)
	case *graph.CastVoteEdge:
		return o.Cursor
	case *graph.ModerationAction:
		return o.Cursor
	case *denials.Denial:
		return fmt.Sprint(o.User, o.Host, o.Digest)
	case *events.Event:
		return fmt.Sprint(o.Kind, o.Article, o.Revision)
	case *events.EventEdge:
		return idOf(o.Node)
	case *reports.Item:
		return o.Article.String()
	case *reports.Report:
		return fmt.Sprint(o.Article, o.Number)
	case *rankings.FrontPlace:
		return o.ID.String()
	case *voids.Void:
		return fmt.Sprint(o.Article, o.Voter)
	case *webhooks.Endpoint:
		return o.URL // its name is random
	case *rings.Ring:
		return fmt.Sprint(o.Users)
	}
	panic(fmt.Sprintf("a batch resolver has the type %T: add its id here", object))
}

// The resolvers of faultyRoot call those of a site, unless a fault is injected.
type faultyRoot struct{ graph.ResolverRoot }

func (r faultyRoot) Article() graph.ArticleResolver { return faultyArticle{r.ResolverRoot.Article()} }
func (r faultyRoot) ArticleConnection() graph.ArticleConnectionResolver {
	return faultyArticleConnection{r.ResolverRoot.ArticleConnection()}
}

func (r faultyRoot) DuplicateLinkError() graph.DuplicateLinkErrorResolver {
	return faultyDuplicateLinkError{r.ResolverRoot.DuplicateLinkError()}
}
func (r faultyRoot) Group() graph.GroupResolver { return faultyGroup{r.ResolverRoot.Group()} }
func (r faultyRoot) GroupConnection() graph.GroupConnectionResolver {
	return faultyGroupConnection{r.ResolverRoot.GroupConnection()}
}

func (r faultyRoot) ModerationEntry() graph.ModerationEntryResolver {
	return faultyModerationEntry{r.ResolverRoot.ModerationEntry()}
}
func (r faultyRoot) Mutation() graph.MutationResolver {
	return faultyMutation{r.ResolverRoot.Mutation()}
}
func (r faultyRoot) Host() graph.HostResolver   { return faultyHost{r.ResolverRoot.Host()} }
func (r faultyRoot) Query() graph.QueryResolver { return faultyQuery{r.ResolverRoot.Query()} }
func (r faultyRoot) User() graph.UserResolver   { return faultyUser{r.ResolverRoot.User()} }
func (r faultyRoot) CastVoteEdge() graph.CastVoteEdgeResolver {
	return faultyCastVoteEdge{r.ResolverRoot.CastVoteEdge()}
}
func (r faultyRoot) Denial() graph.DenialResolver { return faultyDenial{r.ResolverRoot.Denial()} }
func (r faultyRoot) Event() graph.EventResolver   { return faultyEvent{r.ResolverRoot.Event()} }
func (r faultyRoot) FlaggedChange() graph.FlaggedChangeResolver {
	return faultyFlaggedChange{r.ResolverRoot.FlaggedChange()}
}
func (r faultyRoot) FlaggedItem() graph.FlaggedItemResolver {
	return faultyFlaggedItem{r.ResolverRoot.FlaggedItem()}
}
func (r faultyRoot) FrontPageEdge() graph.FrontPageEdgeResolver {
	return faultyFrontPageEdge{r.ResolverRoot.FrontPageEdge()}
}
func (r faultyRoot) ModerationAction() graph.ModerationActionResolver {
	return faultyModerationAction{r.ResolverRoot.ModerationAction()}
}
func (r faultyRoot) Report() graph.ReportResolver { return faultyReport{r.ResolverRoot.Report()} }
func (r faultyRoot) VoidedVote() graph.VoidedVoteResolver {
	return faultyVoidedVote{r.ResolverRoot.VoidedVote()}
}
func (r faultyRoot) VoteRing() graph.VoteRingResolver {
	return faultyVoteRing{r.ResolverRoot.VoteRing()}
}
func (r faultyRoot) Webhook() graph.WebhookResolver { return faultyWebhook{r.ResolverRoot.Webhook()} }

type (
	faultyArticle           struct{ graph.ArticleResolver }
	faultyArticleConnection struct {
		graph.ArticleConnectionResolver
	}
	faultyDuplicateLinkError struct {
		graph.DuplicateLinkErrorResolver
	}
	faultyGroup            struct{ graph.GroupResolver }
	faultyGroupConnection  struct{ graph.GroupConnectionResolver }
	faultyHost             struct{ graph.HostResolver }
	faultyModerationEntry  struct{ graph.ModerationEntryResolver }
	faultyMutation         struct{ graph.MutationResolver }
	faultyQuery            struct{ graph.QueryResolver }
	faultyUser             struct{ graph.UserResolver }
	faultyCastVoteEdge     struct{ graph.CastVoteEdgeResolver }
	faultyDenial           struct{ graph.DenialResolver }
	faultyEvent            struct{ graph.EventResolver }
	faultyFlaggedChange    struct{ graph.FlaggedChangeResolver }
	faultyFlaggedItem      struct{ graph.FlaggedItemResolver }
	faultyFrontPageEdge    struct{ graph.FrontPageEdgeResolver }
	faultyModerationAction struct{ graph.ModerationActionResolver }
	faultyReport           struct{ graph.ReportResolver }
	faultyVoidedVote       struct{ graph.VoidedVoteResolver }
	faultyVoteRing         struct{ graph.VoteRingResolver }
	faultyWebhook          struct{ graph.WebhookResolver }
)

func (r faultyArticle) Groups(ctx context.Context, objs []*site.Article) ([][]*site.Group, error) {
	return calledForAll(ctx, "Article.groups", objs, r.ArticleResolver.Groups)
}

func (r faultyArticle) ViewerVote(ctx context.Context, objs []*site.Article) ([]*site.Vote, error) {
	return calledForAll(ctx, "Article.viewerVote", objs, r.ArticleResolver.ViewerVote)
}

func (r faultyArticle) ViewerCanVote(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return calledForAll(ctx, "Article.viewerCanVote", objs, r.ArticleResolver.ViewerCanVote)
}

func (r faultyArticle) ViewerCanEdit(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return calledForAll(ctx, "Article.viewerCanEdit", objs, r.ArticleResolver.ViewerCanEdit)
}

func (r faultyArticle) ViewerCanDelete(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return calledForAll(ctx, "Article.viewerCanDelete", objs, r.ArticleResolver.ViewerCanDelete)
}

func (r faultyArticle) ViewerCanRegroup(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return calledForAll(ctx, "Article.viewerCanRegroup", objs, r.ArticleResolver.ViewerCanRegroup)
}

func (r faultyArticle) History(ctx context.Context, objs []*site.Article, first *int32) ([][]*site.Version, error) {
	return calledForAll(ctx, "Article.history", objs, func(ctx context.Context, objs []*site.Article) ([][]*site.Version, error) {
		return r.ArticleResolver.History(ctx, objs, first)
	})
}

func (r faultyArticle) RankedBy(ctx context.Context, objs []*site.Article) ([]*graph.RankedBy, error) {
	return calledForAll(ctx, "Article.rankedBy", objs, r.ArticleResolver.RankedBy)
}

func (r faultyArticle) VotesToReach(ctx context.Context, objs []*site.Article, rank int32) ([]*int32, error) {
	return calledForAll(ctx, "Article.votesToReach", objs, func(ctx context.Context, objs []*site.Article) ([]*int32, error) {
		return r.ArticleResolver.VotesToReach(ctx, objs, rank)
	})
}

func (r faultyArticle) ViewerHasSaved(ctx context.Context, objs []*site.Article) ([]*bool, error) {
	return calledForAll(ctx, "Article.viewerHasSaved", objs, r.ArticleResolver.ViewerHasSaved)
}

func (r faultyArticle) Removal(ctx context.Context, objs []*site.Article) ([]*graph.Removal, error) {
	return calledForAll(ctx, "Article.removal", objs, r.ArticleResolver.Removal)
}

func (r faultyArticle) OpenReports(ctx context.Context, objs []*site.Article, first *int32) ([][]*reports.Report, error) {
	return calledForAll(ctx, "Article.openReports", objs, func(ctx context.Context, objs []*site.Article) ([][]*reports.Report, error) {
		return r.ArticleResolver.OpenReports(ctx, objs, first)
	})
}

func (r faultyArticle) ViewerVoid(ctx context.Context, objs []*site.Article) ([]*voids.Void, error) {
	return calledForAll(ctx, "Article.viewerVoid", objs, r.ArticleResolver.ViewerVoid)
}

func (r faultyArticle) BestRank(ctx context.Context, objs []*site.Article) ([]*rankings.BestRank, error) {
	return calledForAll(ctx, "Article.bestRank", objs, r.ArticleResolver.BestRank)
}

func (r faultyArticle) Ranks(ctx context.Context, objs []*site.Article, hours int32) ([][]*rankings.RankAt, error) {
	return calledForAll(ctx, "Article.ranks", objs, func(ctx context.Context, objs []*site.Article) ([][]*rankings.RankAt, error) {
		return r.ArticleResolver.Ranks(ctx, objs, hours)
	})
}

func (r faultyModerationEntry) Article(ctx context.Context, objs []*events.ModerationEntry) ([]*site.Article, error) {
	return calledForAll(ctx, "ModerationEntry.article", objs, r.ModerationEntryResolver.Article)
}

func (r faultyCastVoteEdge) Void(ctx context.Context, objs []*graph.CastVoteEdge) ([]*voids.Void, error) {
	return calledForAll(ctx, "CastVoteEdge.void", objs, r.CastVoteEdgeResolver.Void)
}

func (r faultyDenial) User(ctx context.Context, objs []*denials.Denial) ([]*site.User, error) {
	return calledForAll(ctx, "Denial.user", objs, r.DenialResolver.User)
}

func (r faultyDenial) Host(ctx context.Context, objs []*denials.Denial) ([]*site.Host, error) {
	return calledForAll(ctx, "Denial.host", objs, r.DenialResolver.Host)
}

func (r faultyDenial) By(ctx context.Context, objs []*denials.Denial) ([]*site.User, error) {
	return calledForAll(ctx, "Denial.by", objs, r.DenialResolver.By)
}

func (r faultyEvent) Article(ctx context.Context, objs []*events.Event) ([]*site.Article, error) {
	return calledForAll(ctx, "Event.article", objs, r.EventResolver.Article)
}

func (r faultyEvent) Removal(ctx context.Context, objs []*events.Event) ([]*graph.Removal, error) {
	return calledForAll(ctx, "Event.removal", objs, r.EventResolver.Removal)
}

func (r faultyFlaggedChange) Item(ctx context.Context, objs []*events.EventEdge) ([]*reports.Item, error) {
	return calledForAll(ctx, "FlaggedChange.item", objs, r.FlaggedChangeResolver.Item)
}

func (r faultyFlaggedItem) Article(ctx context.Context, objs []*reports.Item) ([]*site.Article, error) {
	return calledForAll(ctx, "FlaggedItem.article", objs, r.FlaggedItemResolver.Article)
}

func (r faultyFlaggedItem) Reports(ctx context.Context, objs []*reports.Item, first int32) ([][]*reports.Report, error) {
	return calledForAll(ctx, "FlaggedItem.reports", objs, func(ctx context.Context, objs []*reports.Item) ([][]*reports.Report, error) {
		return r.FlaggedItemResolver.Reports(ctx, objs, first)
	})
}

func (r faultyFrontPageEdge) Node(ctx context.Context, objs []*rankings.FrontPlace) ([]*site.Article, error) {
	return calledForAll(ctx, "FrontPageEdge.node", objs, r.FrontPageEdgeResolver.Node)
}

func (r faultyModerationAction) Article(ctx context.Context, objs []*graph.ModerationAction) ([]*site.Article, error) {
	return calledForAll(ctx, "ModerationAction.article", objs, r.ModerationActionResolver.Article)
}

func (r faultyReport) Article(ctx context.Context, objs []*reports.Report) ([]*site.Article, error) {
	return calledForAll(ctx, "Report.article", objs, r.ReportResolver.Article)
}

func (r faultyReport) By(ctx context.Context, objs []*reports.Report) ([]*site.User, error) {
	return calledForAll(ctx, "Report.by", objs, r.ReportResolver.By)
}

func (r faultyReport) Contact(ctx context.Context, objs []*reports.Report) ([]*graph.NoticeContact, error) {
	return calledForAll(ctx, "Report.contact", objs, r.ReportResolver.Contact)
}

func (r faultyVoidedVote) By(ctx context.Context, objs []*voids.Void) ([]*site.User, error) {
	return calledForAll(ctx, "VoidedVote.by", objs, r.VoidedVoteResolver.By)
}

func (r faultyVoteRing) Articles(ctx context.Context, objs []*rings.Ring, first int32) ([][]*site.Article, error) {
	return calledForAll(ctx, "VoteRing.articles", objs, func(ctx context.Context, objs []*rings.Ring) ([][]*site.Article, error) {
		return r.VoteRingResolver.Articles(ctx, objs, first)
	})
}

func (r faultyWebhook) Paused(ctx context.Context, objs []*webhooks.Endpoint) ([]*string, error) {
	return calledForAll(ctx, "Webhook.paused", objs, r.WebhookResolver.Paused)
}

func (r faultyWebhook) LastError(ctx context.Context, objs []*webhooks.Endpoint) ([]*string, error) {
	return calledForAll(ctx, "Webhook.paused", objs, r.WebhookResolver.LastError)
}

func (r faultyArticleConnection) TotalCount(ctx context.Context, obj *graph.ArticleConnection) (int32, error) {
	about := []any{len(obj.Edges), obj.PageInfo.HasNextPage}
	for _, edge := range obj.Edges {
		about = append(about, edge.Cursor)
	}
	return called(ctx, "ArticleConnection.totalCount", about, func(ctx context.Context) (int32, error) {
		return r.ArticleConnectionResolver.TotalCount(ctx, obj)
	})
}

func (r faultyDuplicateLinkError) Article(ctx context.Context, obj *graph.DuplicateLinkError) (*site.Article, error) {
	return called(ctx, "DuplicateLinkError.article", []any{obj.ArticleID}, func(ctx context.Context) (*site.Article, error) {
		return r.DuplicateLinkErrorResolver.Article(ctx, obj)
	})
}

func (r faultyGroup) ViewerFollows(ctx context.Context, objs []*site.Group) ([]*bool, error) {
	return calledForAll(ctx, "Group.viewerFollows", objs, r.GroupResolver.ViewerFollows)
}

func (r faultyGroup) ViewerCanPost(ctx context.Context, objs []*site.Group) ([]bool, error) {
	return calledForAll(ctx, "Group.viewerCanPost", objs, r.GroupResolver.ViewerCanPost)
}

func (r faultyGroup) Articles(ctx context.Context, obj *site.Group, order site.Order, direction site.Direction, page int32, pageSize *int32) ([]*site.Article, error) {
	return called(ctx, "Group.articles", []any{obj.Name, order, page}, func(ctx context.Context) ([]*site.Article, error) {
		return r.GroupResolver.Articles(ctx, obj, order, direction, page, pageSize)
	})
}

func (r faultyGroup) ArticlesConnection(ctx context.Context, obj *site.Group, order site.Order, direction site.Direction, first *int32, after *string, last *int32, before *string, unvotedOnly bool) (*graph.ArticleConnection, error) {
	return called(ctx, "Group.articlesConnection", []any{obj.Name, order}, func(ctx context.Context) (*graph.ArticleConnection, error) {
		return r.GroupResolver.ArticlesConnection(ctx, obj, order, direction, first, after, last, before, unvotedOnly)
	})
}

func (r faultyGroupConnection) TotalCount(ctx context.Context, obj *graph.GroupConnection) (int32, error) {
	return called(ctx, "GroupConnection.totalCount", []any{len(obj.Edges)}, func(ctx context.Context) (int32, error) {
		return r.GroupConnectionResolver.TotalCount(ctx, obj)
	})
}

func (r faultyUser) IsModerator(ctx context.Context, objs []*site.User) ([]bool, error) {
	return calledForAll(ctx, "User.isModerator", objs, r.UserResolver.IsModerator)
}

func (r faultyUser) Denial(ctx context.Context, objs []*site.User) ([]*denials.Denial, error) {
	return calledForAll(ctx, "User.denial", objs, r.UserResolver.Denial)
}

func (r faultyUser) ViewerHasBlocked(ctx context.Context, objs []*site.User) ([]bool, error) {
	return calledForAll(ctx, "User.viewerHasBlocked", objs, r.UserResolver.ViewerHasBlocked)
}

func (r faultyUser) ViewerFollows(ctx context.Context, objs []*site.User) ([]*bool, error) {
	return calledForAll(ctx, "User.viewerFollows", objs, r.UserResolver.ViewerFollows)
}

func (r faultyUser) ArticlesConnection(ctx context.Context, obj *site.User, first *int32, after *string, last *int32, before *string) (*graph.ArticleConnection, error) {
	return called(ctx, "User.articlesConnection", []any{obj.Name}, func(ctx context.Context) (*graph.ArticleConnection, error) {
		return r.UserResolver.ArticlesConnection(ctx, obj, first, after, last, before)
	})
}

func (r faultyHost) ArticlesConnection(ctx context.Context, obj *site.Host, first *int32, after *string, last *int32, before *string) (*graph.ArticleConnection, error) {
	return called(ctx, "Host.articlesConnection", []any{obj.Name}, func(ctx context.Context) (*graph.ArticleConnection, error) {
		return r.HostResolver.ArticlesConnection(ctx, obj, first, after, last, before)
	})
}

func (r faultyMutation) Post(ctx context.Context, input site.Draft) (*graph.ArticlePayload, error) {
	return called(ctx, "Mutation.post", []any{input.Title}, func(ctx context.Context) (*graph.ArticlePayload, error) {
		return r.MutationResolver.Post(ctx, input)
	})
}

func (r faultyMutation) Vote(ctx context.Context, input graph.VoteInput) (*graph.VotePayload, error) {
	return calledWith(ctx, "Mutation.vote", input, r.MutationResolver.Vote)
}

func (r faultyMutation) Regroup(ctx context.Context, input graph.RegroupInput) (*graph.ArticlePayload, error) {
	return called(ctx, "Mutation.regroup", []any{input.Article, input.Add, input.Remove}, func(ctx context.Context) (*graph.ArticlePayload, error) {
		return r.MutationResolver.Regroup(ctx, input)
	})
}

func (r faultyMutation) EditArticle(ctx context.Context, input graph.EditArticleInput) (*graph.ArticlePayload, error) {
	return called(ctx, "Mutation.editArticle", []any{input.Article}, func(ctx context.Context) (*graph.ArticlePayload, error) {
		return r.MutationResolver.EditArticle(ctx, input)
	})
}

func (r faultyMutation) DeleteArticle(ctx context.Context, input graph.DeleteArticleInput) (*graph.DeleteArticlePayload, error) {
	return called(ctx, "Mutation.deleteArticle", []any{input.Article}, func(ctx context.Context) (*graph.DeleteArticlePayload, error) {
		return r.MutationResolver.DeleteArticle(ctx, input)
	})
}

func (r faultyMutation) RestoreArticle(ctx context.Context, input graph.RestoreArticleInput) (*graph.ArticlePayload, error) {
	return called(ctx, "Mutation.restoreArticle", []any{input.Article}, func(ctx context.Context) (*graph.ArticlePayload, error) {
		return r.MutationResolver.RestoreArticle(ctx, input)
	})
}

func (r faultyMutation) DescribeGroup(ctx context.Context, input graph.DescribeGroupInput) (*graph.DescribeGroupPayload, error) {
	return calledWith(ctx, "Mutation.describeGroup", input, r.MutationResolver.DescribeGroup)
}

func (r faultyMutation) DenyUser(ctx context.Context, input graph.DenyUserInput) (*graph.DenialPayload, error) {
	return calledWith(ctx, "Mutation.denyUser", input, r.MutationResolver.DenyUser)
}

func (r faultyMutation) EraseViewer(ctx context.Context, input graph.EraseViewerInput) (*graph.EraseViewerPayload, error) {
	return calledWith(ctx, "Mutation.eraseViewer", input, r.MutationResolver.EraseViewer)
}

func (r faultyMutation) VoidVotes(ctx context.Context, input graph.VoidVotesInput) (*graph.VoidVotesPayload, error) {
	return called(ctx, "Mutation.voidVotes", []any{input.Article}, func(ctx context.Context) (*graph.VoidVotesPayload, error) {
		return r.MutationResolver.VoidVotes(ctx, input)
	})
}

func (r faultyMutation) DenyHost(ctx context.Context, input graph.DenyHostInput) (*graph.DenialPayload, error) {
	return calledWith(ctx, "Mutation.denyHost", input, r.MutationResolver.DenyHost)
}

func (r faultyMutation) BlockUser(ctx context.Context, input graph.BlockUserInput) (*graph.UserPayload, error) {
	return calledWith(ctx, "Mutation.blockUser", input, r.MutationResolver.BlockUser)
}

func (r faultyMutation) EndSessions(ctx context.Context, input graph.EndSessionsInput) (*graph.UserPayload, error) {
	return calledWith(ctx, "Mutation.endSessions", input, r.MutationResolver.EndSessions)
}

func (r faultyQuery) Articles(ctx context.Context, order site.Order, direction site.Direction, page int32, pageSize *int32) ([]*site.Article, error) {
	return called(ctx, "Query.articles", []any{order, direction, page}, func(ctx context.Context) ([]*site.Article, error) {
		return r.QueryResolver.Articles(ctx, order, direction, page, pageSize)
	})
}

func (r faultyQuery) ArticlesConnection(ctx context.Context, order site.Order, direction site.Direction, first *int32, after *string, last *int32, before *string, unvotedOnly bool) (*graph.ArticleConnection, error) {
	return called(ctx, "Query.articlesConnection", []any{order, direction}, func(ctx context.Context) (*graph.ArticleConnection, error) {
		return r.QueryResolver.ArticlesConnection(ctx, order, direction, first, after, last, before, unvotedOnly)
	})
}

func (r faultyQuery) Article(ctx context.Context, id string) (*site.Article, error) {
	return calledWith(ctx, "Query.article", id, r.QueryResolver.Article)
}

func (r faultyQuery) Group(ctx context.Context, name string) (*site.Group, error) {
	return calledWith(ctx, "Query.group", name, r.QueryResolver.Group)
}

func (r faultyQuery) ArticleByLink(ctx context.Context, link string) (*site.Article, error) {
	return calledWith(ctx, "Query.articleByLink", link, r.QueryResolver.ArticleByLink)
}

func (r faultyQuery) Groups(ctx context.Context, orderBy site.GroupOrder, prefix, contains *string, first *int32, after *string, last *int32, before *string) (*graph.GroupConnection, error) {
	return called(ctx, "Query.groups", nil, func(ctx context.Context) (*graph.GroupConnection, error) {
		return r.QueryResolver.Groups(ctx, orderBy, prefix, contains, first, after, last, before)
	})
}

func (r faultyQuery) User(ctx context.Context, name string) (*site.User, error) {
	return calledWith(ctx, "Query.user", name, r.QueryResolver.User)
}

func (r faultyQuery) Host(ctx context.Context, name string) (*site.Host, error) {
	return calledWith(ctx, "Query.host", name, r.QueryResolver.Host)
}

func (r faultyQuery) Viewer(ctx context.Context) (*site.User, error) {
	return called(ctx, "Query.viewer", nil, r.QueryResolver.Viewer)
}

func (r faultyQuery) Node(ctx context.Context, id string) (graph.Node, error) {
	return calledWith(ctx, "Query.node", id, r.QueryResolver.Node)
}

func (r faultyQuery) Nodes(ctx context.Context, ids []string) ([]graph.Node, error) {
	return calledWith(ctx, "Query.nodes", ids, r.QueryResolver.Nodes)
}

// RateLimit replaces the time, which is the machine's.
func (r faultyQuery) RateLimit(ctx context.Context) (*graph.RateLimit, error) {
	return called(ctx, "Query.rateLimit", nil, func(ctx context.Context) (*graph.RateLimit, error) {
		limit, err := r.QueryResolver.RateLimit(ctx)
		if limit != nil {
			limit.ResetAt = time.Unix(int64(limit.Remaining), 0).UTC()
		}
		return limit, err
	})
}

func (r faultyQuery) ViewerVotes(ctx context.Context, direction *site.Vote, first *int32, after *string) (*graph.CastVoteConnection, error) {
	return called(ctx, "Query.viewerVotes", nil, func(ctx context.Context) (*graph.CastVoteConnection, error) {
		return r.QueryResolver.ViewerVotes(ctx, direction, first, after)
	})
}

// VoteRings has no faults of single commands: rings are kept, so that only the first call would fail.
func (r faultyQuery) VoteRings(ctx context.Context, days int32, first *int32) ([]*rings.Ring, error) {
	return called(ctx, "Query.voteRings", []any{days}, func(ctx context.Context) ([]*rings.Ring, error) {
		return r.QueryResolver.VoteRings(context.WithValue(ctx, faultsKey{}, faults{}), days, first)
	})
}

func (r faultyQuery) DeletedItems(ctx context.Context, missingReason bool, first *int32, after *string) (*graph.DeletedConnection, error) {
	return called(ctx, "Query.deletedItems", nil, func(ctx context.Context) (*graph.DeletedConnection, error) {
		return r.QueryResolver.DeletedItems(ctx, missingReason, first, after)
	})
}

func (r faultyQuery) ModerationLog(ctx context.Context, first *int32, after *string, last *int32, before *string) (*graph.ModerationConnection, error) {
	return called(ctx, "Query.moderationLog", nil, func(ctx context.Context) (*graph.ModerationConnection, error) {
		return r.QueryResolver.ModerationLog(ctx, first, after, last, before)
	})
}

// A batch resolver without a wrapper has faults of single commands, which hit other objects with the one executor than with the
// other.
func TestBatchResolversHaveFaults(t *testing.T) {
	t.Parallel()
	source := string(require.Value(os.ReadFile("differential_faults_test.go"))(t))
	root, found := reflect.TypeFor[graph.ResolverRoot](), 0
	for i := range root.NumMethod() {
		object := root.Method(i)
		for j := range object.Type.Out(0).NumMethod() {
			field := object.Type.Out(0).Method(j)
			if field.Type.NumIn() < 2 || field.Type.In(1).Kind() != reflect.Slice || field.Type.In(1).Elem().Kind() != reflect.Pointer {
				continue
			}
			found++
			for _, wrapper := range []string{
				fmt.Sprintf("func (r faultyRoot) %s() ", object.Name),
				fmt.Sprintf("func (r faulty%s) %s(", object.Name, field.Name),
			} {
				if !strings.Contains(source, wrapper) {
					t.Errorf("%s.%s: got no %q, want it to call calledForAll", object.Name, field.Name, wrapper)
				}
			}
		}
	}
	if found == 0 {
		t.Error("got no batch resolvers, want some")
	}
}
