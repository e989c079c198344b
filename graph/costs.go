package graph

import (
	"context"
	"math"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/search"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/webhooks"
)

// listCosts returns the costs of the schema's lists. pageSize is the assumed length of a list whose size is
// not given.
func listCosts(pageSize int) ComplexityRoot {
	var c ComplexityRoot
	page := func(child int, _ site.Order, _ site.Direction, _ int32, size *int32) int {
		return listCost(child, pageSize, size)
	}
	part := func(child int, first *int32, _ *string, last *int32, _ *string) int {
		return listCost(child, pageSize, first, last)
	}
	sortedPart := func(child int, _ site.Order, _ site.Direction, first *int32, _ *string, last *int32, _ *string, unvotedOnly bool) int {
		return unvotedCost(listCost(child, pageSize, first, last), unvotedOnly, pageSize, first, last)
	}
	c.Query.Articles, c.Group.Articles = page, page
	c.Query.ArticlesConnection, c.Group.ArticlesConnection = sortedPart, sortedPart
	c.User.ArticlesConnection, c.Host.ArticlesConnection, c.Query.ModerationLog = part, part, part
	c.Query.Groups = func(child int, _ site.GroupOrder, _, _ *string, first *int32, after *string, last *int32, before *string) int {
		return part(child, first, after, last, before)
	}
	c.Query.Events = func(child int, _ *string, _ []events.EventKind, first *int32) int {
		return listCostUpTo(events.MaxEvents, child, pageSize, first)
	}
	c.Query.DeletedItems = func(child int, _ bool, first *int32, _ *string) int { return listCost(child, pageSize, first) }
	c.Query.ViewerVotes = func(child int, _ *site.Vote, first *int32, _ *string) int {
		return listCost(child, pageSize, first)
	}
	c.Query.ModerationActions = func(child int, _ *string, first *int32, _ *string) int { return listCost(child, pageSize, first) }
	c.Query.VoteRings = func(child int, _ int32, first *int32) int { return listCost(child, pageSize, first) }
	some := func(child int, first int32) int { return listCost(child, pageSize, &first) }
	c.VoteRing.Users, c.VoteRing.Articles = some, some
	denied := func(child int, first *int32, _ *string, _ bool) int { return listCost(child, pageSize, first) }
	c.Query.DeniedUsers, c.Query.DeniedHosts = denied, denied
	c.Query.__resolve_entities = func(child int, references []map[string]any) int { return listCost(child, max(len(references), 1)) }
	c.Query.Webhooks = func(child int) int { return listCost(child, webhooks.MaxEndpoints) }
	c.Webhook.Kinds = func(child int) int { return listCost(child, len(events.EventKinds)) }
	c.Query.ViewerExport = func(child int, _ *string) int { return child + exportCost }
	c.Query.ViewerBlocks = func(child int, first *int32, _ *string) int { return listCost(child, pageSize, first) }
	next := func(child int, first *int32, _ *string) int { return listCost(child, pageSize, first) }
	c.Query.PublicLog, c.Query.ViewerReports, c.User.VotesCast = next, next, next
	c.Query.ViewerSaved, c.Query.ViewerFeed = next, next // what a feed looked at is owed
	c.Query.ViewerFollowing = func(child int) int { return listCost(child, saved.MaxFollowed) }
	ranking := func(child int, _ rankings.RankBy, _ *rankings.Span, _, _ *time.Time, first *int32, _ *string, unvotedOnly bool) int {
		return min(unvotedCost(listCost(child, pageSize, first), unvotedOnly, pageSize, first), math.MaxInt-rankingCost) + rankingCost
	}
	c.Query.Ranking, c.Group.Ranking = ranking, ranking
	c.Query.Search = func(child int, _ string, _ SearchFilter, _ search.Order, first *int32, _ *string) int {
		return min(listCost(child, pageSize, first), math.MaxInt-searchCost) + searchCost
	}
	c.Query.SimilarArticles = func(child int, _ string, first int32) int {
		return min(listCostUpTo(search.MaxSimilar, child, 1, &first), math.MaxInt-searchCost) + searchCost
	}
	marked := func(child int) int { return listCost(child, search.MaxMarks) }
	c.SearchEdge.TitleRanges, c.SearchEdge.SnippetRanges = marked, marked
	c.Query.Nodes = func(child int, ids []string) int { return listCost(child, max(len(ids), 1)) }
	c.Subscription.ArticleChanged = func(child int, ids []string, _ []int32) int { return listCost(child, max(len(ids), 1)) }
	c.Article.Link = func(int) int { return linkCost }
	c.Article.Text, c.ArticleVersion.Text = func(int) int { return textCost }, func(int) int { return textCost }
	c.Article.History = func(child int, first *int32) int { return listCost(child, site.MaxVersions, first) }
	c.Article.VotesToReach = func(_ int, rank int32) int { return 1 + min(max(int(rank), 1), lists.MaxRank)/reachCost }
	c.Article.Ranks = func(child int, hours int32) int {
		return listCostUpTo(rankings.MaxFrontHours, child, 1, &hours)
	}
	c.FrontPage.Places = func(child int) int { return listCost(child, site.MaxPageSize) }
	c.ModerationEntry.Link = func(int) int { return linkCost }
	names := func(child int) int { return listCost(child, site.MaxGroups) }
	c.Article.Groups, c.Event.Groups, c.ModerationEntry.Before, c.ModerationEntry.After = names, names, names, names
	one, several := func(child int) int { return listCost(child, 1) }, func(child int) int { return listCost(child, maxUserErrors) }
	c.VotePayload.UserErrors, c.RestoreArticlePayload.UserErrors, c.EndSessionsPayload.UserErrors = one, one, one
	c.DeleteArticlePayload.UserErrors = several
	c.DescribeGroupPayload.UserErrors, c.DenyUserPayload.UserErrors, c.DenyHostPayload.UserErrors, c.BlockUserPayload.UserErrors = several, several, several, one
	c.PostPayload.UserErrors, c.RegroupPayload.UserErrors, c.EditArticlePayload.UserErrors = several, several, several
	c.FlagPayload.UserErrors, c.NoticePayload.UserErrors, c.SettleFlagsPayload.UserErrors = several, several, several
	c.Query.Flagged = func(child int, _ *reports.Kind, first *int32, _ *string) int { return listCost(child, pageSize, first) }
	c.FlaggedItem.Reports = func(child int, first int32) int { return listCost(child, openReports, &first) }
	c.Article.OpenReports = func(child int, first *int32) int { return listCost(child, openReports, first) }
	c.Article.Voters = func(child int, _ *site.Vote, first *int32, _ *string) int {
		return min(listCost(child, pageSize, first), math.MaxInt-votersCost) + votersCost
	}
	c.VoidVotesPayload.UserErrors, c.EraseViewerPayload.UserErrors, c.WebhookPayload.UserErrors = several, one, one
	c.SavePayload.UserErrors, c.FollowPayload.UserErrors = one, one
	c.Mutation.EraseViewer = func(child int, _ EraseViewerInput) int { return child + eraseCost }
	c.Notice.Reports = func(child int) int { return listCost(child, reports.MaxLocations) }
	c.Report.NoteIfAny = func(int) int { return noteCost }
	path := func(child int) int { return listCost(child, 2) } // such as groups, 0
	c.BasicUserError.Field, c.DuplicateLinkError.Field, c.RateLimitedError.Field, c.DeniedError.Field = path, path, path, path
	return c
}

// A point of cost stands for at most endpoint.PointBytes of a response. These fields can be longer: a link
// has 2,000 bytes, each of which may be escaped; a text has 10,000 characters of up to 4 bytes.
const (
	linkCost = 2
	textCost = 20
	noteCost = 10 // half of a text, in a notice

	// exportCost is for a part of 256 KB and an article with all of its versions, each byte of which may be escaped.
	exportCost = 2000

	// searchCost is for reading up to 2,000 articles, and looking for each word of a query in all.
	searchCost = 100

	// eraseCost is for a walk over all keys, of which at most one runs in a process.
	eraseCost = 2000

	// reachCost is the number of places that cost a point: with several partitions, the articles at all of them are read.
	reachCost = 100
)

const (
	// rankingCost is what a ranking costs besides its articles: Redis takes for its first step about as long as for
	// reading 50.
	rankingCost = 50
	// votersCost is what a page of voters costs besides them: all their names are read, as many for a point.
	votersCost     = 50
	votersPerPoint = 80
	// lookedPerPoint is how many members of lists Redis looks at for a point: about 20 points for each millisecond.
	lookedPerPoint = 20
)

// listCost returns the cost of a list whose elements cost child each, and 1 more each for the element itself. The
// first size that is given counts; one that will be refused counts as the nearest valid one.
func listCost(child, length int, sizes ...*int32) int {
	return listCostUpTo(site.MaxPageSize, child, length, sizes...)
}

// listCostUpTo is listCost for a list of another maximum length.
func listCostUpTo(most, child, length int, sizes ...*int32) int {
	for _, size := range sizes {
		if size != nil {
			length = min(max(int(*size), 1), most)
			break
		}
	}
	if child >= math.MaxInt/length {
		return math.MaxInt
	}
	return length * (child + 1)
}

// unvotedCost adds to the cost of a list what reading further pages of it takes, in which the viewer's votes are looked
// for: a point for each article.
func unvotedCost(cost int, unvotedOnly bool, length int, sizes ...*int32) int {
	if more := (maxPartialReads - 1) * listCost(0, length, sizes...); unvotedOnly && cost < math.MaxInt-more {
		return cost + more
	}
	return cost
}

// ruleOf maps each mutation to the rule of the rate limits that counts it.
var ruleOf = map[string]string{
	"vote":           endpoint.RuleVotes,
	"post":           endpoint.RulePosts,
	"regroup":        endpoint.RuleChanges,
	"editArticle":    endpoint.RuleChanges,
	"deleteArticle":  endpoint.RuleChanges,
	"restoreArticle": endpoint.RuleChanges,
	"endSessions":    endpoint.RuleChanges,
	"settleFlags":    endpoint.RuleChanges,
	"flag":           endpoint.RuleReports,

	"notifyIllegalContent": endpoint.RuleReports,
	"describeGroup":        endpoint.RuleChanges,
	"denyUser":             endpoint.RuleChanges,
	"denyHost":             endpoint.RuleChanges,
	"voidVotes":            endpoint.RuleChanges,
	"blockUser":            endpoint.RuleChanges,
	"eraseViewer":          endpoint.RuleChanges,
	"save":                 endpoint.RuleChanges,
	"follow":               endpoint.RuleChanges,
	"addWebhook":           endpoint.RuleChanges,
	"changeWebhook":        endpoint.RuleChanges,
	"removeWebhook":        endpoint.RuleChanges,
}

// RateLimit is the caller's quota of complexity points.
type RateLimit struct {
	Limit, Cost, Remaining int
	ResetAt                time.Time
}

func (r *queryResolver) RateLimit(ctx context.Context) (*RateLimit, error) {
	charge, balance, ok := endpoint.CostBalance(ctx)
	if !ok {
		return nil, nil
	}
	return &RateLimit{
		Limit: charge.Most, Cost: charge.Amount, Remaining: max(charge.Most-balance.Used, 0),
		ResetAt: time.Now().Add(balance.Left + time.Second - 1).UTC().Truncate(time.Second), // rounded up
	}, nil
}
