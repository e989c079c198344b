package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
)

// FlagInput is a report of an article.
type FlagInput struct {
	Target site.ArticleID
	Reason reports.Reason
	Note   *string
}

// FlagPayload is the result of a report.
type FlagPayload struct {
	Report     *reports.Report
	UserErrors []UserError
}

// NoticePayload is the result of a notice.
type NoticePayload struct {
	Reference, Secret *string
	UserErrors        []UserError
}

// NoticeContact is who sent a notice.
type NoticeContact struct{ Name, Email *string }

// Notice is a notice of illegal content: a report of each article that it names.
type Notice struct {
	Reports []*reports.Report // at least one
}

// Reference is the notice's reference.
func (n *Notice) Reference() string { return n.Reports[0].Reference }

// At is when the notice was sent.
func (n *Notice) At() time.Time { return n.Reports[0].At }

// SettleAct is an action by which a moderator decides reports.
type SettleAct string

// The acts.
const (
	settleDismiss SettleAct = "DISMISS"
	settleDelete  SettleAct = "DELETE"
	settleActed   SettleAct = "ACTED"
)

// SettleFlagsInput is a decision about reports.
type SettleFlagsInput struct {
	Target        site.ArticleID
	ThroughReport string
	Act           SettleAct
	Decision      *string
	WhyInput
}

// SettleFlagsPayload is the result of a decision.
type SettleFlagsPayload struct {
	Item       *reports.Item
	UserErrors []UserError
}

// ReportConnection is a page of reports.
type ReportConnection struct {
	Edges    []*reports.ReportEdge
	PageInfo site.PageInfo
}

// Nodes returns the reports without their positions.
func (c *ReportConnection) Nodes() []*reports.Report {
	return site.Collect(c.Edges, func(e *reports.ReportEdge) *reports.Report { return e.Node })
}

type (
	// FlaggedConnection is a page of the articles with open reports.
	FlaggedConnection = Connection[*reports.Item, *FlaggedEdge]
	// FlaggedEdge is an article with open reports and its position in the list.
	FlaggedEdge = Edge[*reports.Item]
)

// openReports is how many open reports of an article are returned by default.
const openReports = 20

func (r *mutationResolver) Flag(ctx context.Context, input FlagInput) (*FlagPayload, error) {
	payload := new(FlagPayload)
	return payload, r.signedIn(ctx, endpoint.RuleReports, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Report, err = r.repo.Reports.Flag(ctx, v.Name, input.Target, input.Reason, site.Value(input.Note))
		return err
	})
}

// NotifyIllegalContent takes a notice of any caller who has not exceeded the rate.
func (r *mutationResolver) NotifyIllegalContent(ctx context.Context, input reports.NoticeDraft) (*NoticePayload, error) {
	var payload NoticePayload
	if wait := endpoint.Exceeded(ctx, endpoint.RuleReports); wait > 0 {
		payload.UserErrors = []UserError{rateLimitedError(wait)}
		return &payload, nil
	}
	receipt, err := r.repo.Reports.Notify(ctx, input)
	if err == nil {
		payload.Reference, payload.Secret = &receipt.Reference, &receipt.Secret
	}
	payload.UserErrors, err = userErrors(err)
	return &payload, err
}

func (r *mutationResolver) SettleFlags(ctx context.Context, input SettleFlagsInput) (*SettleFlagsPayload, error) {
	payload := new(SettleFlagsPayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) error {
		if !v.Moderator {
			return site.Refuse(site.Forbidden, "target", "only moderators can decide reports")
		}
		article, through, err := reports.ParseID(input.ThroughReport)
		if err == nil && article != input.Target {
			err = site.Refuse(site.Invalid, "throughReport", "%s is not a report of %v", input.ThroughReport, input.Target)
		}
		if err != nil {
			return err
		}
		decision, err := reports.Settling{Through: through, State: reports.Acted, Decision: site.Value(input.Decision), Why: input.why()}.Check()
		if err != nil {
			return err
		}
		switch input.Act {
		case settleDelete:
			_, err = r.repo.SettleByDeleting(ctx, article, actor(v), decision)
		case settleDismiss:
			decision.State = reports.Dismissed
			err = r.repo.Reports.Settle(ctx, article, actor(v), decision)
		case settleActed:
			err = r.repo.Reports.Settle(ctx, article, actor(v), decision)
		}
		if err != nil {
			return err
		}
		items, err := r.repo.Reports.Items(ctx, []site.ArticleID{article})
		if err == nil {
			payload.Item = items[0]
		}
		return err
	})
}

func (r *queryResolver) Flagged(ctx context.Context, kind *reports.Kind, first *int32, after *string) (*FlaggedConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("reports are for moderators")
	}
	items, info, err := r.repo.Reports.Queue(ctx, kind, asInt(first), after)
	if err != nil {
		return nil, err
	}
	edges := site.Collect(items, func(i *reports.Item) *FlaggedEdge { return &FlaggedEdge{i.Cursor, i} })
	return &FlaggedConnection{Edges: edges, PageInfo: info}, nil
}

func (r *queryResolver) ViewerReports(ctx context.Context, first *int32, after *string) (*ReportConnection, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, endpoint.Unauthenticated("sign in to list your reports")
	}
	edges, info, err := r.repo.Reports.Reported(ctx, v.Name, asInt(first), after)
	if err != nil {
		return nil, err
	}
	return &ReportConnection{Edges: edges, PageInfo: info}, nil
}

// Notice returns a notice to callers who know its secret, and to moderators.
func (r *queryResolver) Notice(ctx context.Context, reference string, secret *string) (*Notice, error) {
	found, err := r.repo.Reports.Noticed(ctx, reference, site.Value(secret), endpoint.ViewerOf(ctx).Moderator)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &Notice{found}, nil
}

// openReportsOf returns the open reports of each item, for moderators.
func (r *Resolver) openReportsOf(ctx context.Context, items []*reports.Item, first int32) ([][]*reports.Report, error) {
	if err := checkSize(first); err != nil {
		return nil, err
	}
	return r.repo.Reports.OpenReports(ctx, items, int(first))
}

func (r *reportResolver) Contact(ctx context.Context, all []*reports.Report) ([]*NoticeContact, error) {
	shown := make([]*NoticeContact, len(all))
	if !endpoint.ViewerOf(ctx).Moderator {
		return shown, nil
	}
	contacts, err := r.repo.Reports.Contacts(ctx, all)
	for i, c := range contacts {
		if c != nil {
			shown[i] = &NoticeContact{site.Optional(c.Name), site.Optional(c.Email)}
		}
	}
	return shown, err
}

func (r *subscriptionResolver) FlaggedChanged(ctx context.Context, after *string) (<-chan *events.EventEdge, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("reports are for moderators")
	}
	field, cursor := resumesAt(ctx, after)
	watch, err := r.repo.Live.WatchEvents(ctx, field, cursor, []events.EventKind{events.EventFlagged, events.EventSettled})
	return endpoint.Watched[*events.EventEdge](ctx, watch, err)
}

func (r *flaggedChangeResolver) Item(ctx context.Context, objs []*events.EventEdge) ([]*reports.Item, error) {
	return r.repo.Reports.Items(ctx, site.Collect(objs, func(e *events.EventEdge) site.ArticleID { return e.Node.Article }))
}

func (r *flaggedConnectionResolver) TotalCount(ctx context.Context, _ *FlaggedConnection) (int32, error) {
	return asCount(r.repo.Reports.QueueLength(ctx))
}

func (r *flaggedItemResolver) Article(ctx context.Context, objs []*reports.Item) ([]*site.Article, error) {
	return r.loadForViewer(ctx, site.Collect(objs, func(i *reports.Item) site.ArticleID { return i.Article }))
}

func (r *flaggedItemResolver) Reports(ctx context.Context, objs []*reports.Item, first int32) ([][]*reports.Report, error) {
	return r.openReportsOf(ctx, objs, first)
}

func (r *reportResolver) Article(ctx context.Context, objs []*reports.Report) ([]*site.Article, error) {
	return r.loadForViewer(ctx, site.Collect(objs, func(r *reports.Report) site.ArticleID { return r.Article }))
}

func (r *reportResolver) By(ctx context.Context, objs []*reports.Report) ([]*site.User, error) {
	all := make([]*site.User, len(objs))
	if endpoint.ViewerOf(ctx).Moderator {
		for i, report := range objs {
			if report.By != "" {
				all[i] = &site.User{Name: report.By}
			}
		}
	}
	return all, nil
}

func (r *articleResolver) OpenReports(ctx context.Context, objs []*site.Article, first *int32) ([][]*reports.Report, error) {
	most := int32(openReports)
	if first != nil {
		most = *first
	}
	if !endpoint.ViewerOf(ctx).Moderator {
		return make([][]*reports.Report, len(objs)), nil
	}
	items, err := r.repo.Reports.Items(ctx, site.Collect(objs, func(a *site.Article) site.ArticleID { return a.ID }))
	if err != nil {
		return nil, err
	}
	return r.openReportsOf(ctx, items, most)
}
