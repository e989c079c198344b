package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/live"
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

// FlaggedConnection is a page of the articles with open reports.
type FlaggedConnection struct {
	Edges    []*FlaggedEdge
	PageInfo site.PageInfo
}

// FlaggedEdge is an article with open reports and its position in the list.
type FlaggedEdge struct {
	Cursor string
	Node   *reports.Item
}

// Nodes returns the articles without their positions.
func (c *FlaggedConnection) Nodes() []*reports.Item {
	return site.Collect(c.Edges, func(e *FlaggedEdge) *reports.Item { return e.Node })
}

// openReports is how many open reports of an article are returned by default.
const openReports = 20

// flag reports an article for the viewer.
func (r *Resolver) flag(ctx context.Context, input FlagInput) (*FlagPayload, error) {
	var payload FlagPayload
	var err error
	payload.UserErrors, err = r.signedIn(ctx, endpoint.RuleReports, func(v endpoint.Viewer) (err error) {
		payload.Report, err = r.repo.Reports.Flag(ctx, v.Name, input.Target, input.Reason, site.Value(input.Note))
		return err
	})
	return &payload, err
}

// notify takes a notice of any caller who has not exceeded the rate.
func (r *Resolver) notify(ctx context.Context, input reports.NoticeDraft) (*NoticePayload, error) {
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

// settleFlags decides reports for a moderator.
func (r *Resolver) settleFlags(ctx context.Context, input SettleFlagsInput) (*SettleFlagsPayload, error) {
	var payload SettleFlagsPayload
	var err error
	payload.UserErrors, err = r.signedIn(ctx, endpoint.RuleChanges, func(v endpoint.Viewer) error {
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
	return &payload, err
}

// flagged returns a page of the articles with open reports to moderators.
func (r *Resolver) flagged(ctx context.Context, kind *reports.Kind, first *int32, after *string) (*FlaggedConnection, error) {
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

// viewerReports returns a page of the viewer's reports.
func (r *Resolver) viewerReports(ctx context.Context, first *int32, after *string) (*ReportConnection, error) {
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

// notice returns a notice to callers who know its secret, and to moderators.
func (r *Resolver) notice(ctx context.Context, reference string, secret *string) (*Notice, error) {
	found, err := r.repo.Reports.Noticed(ctx, reference, site.Value(secret), endpoint.ViewerOf(ctx).Moderator)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &Notice{found}, nil
}

// openReportsOf returns the open reports of each item, for moderators.
func (r *Resolver) openReportsOf(ctx context.Context, items []*reports.Item, first int) ([][]*reports.Report, error) {
	if err := checkSize(first); err != nil {
		return nil, err
	}
	return r.repo.Reports.OpenReports(ctx, items, first)
}

// contacts returns who sent each notice to moderators.
func (r *Resolver) contacts(ctx context.Context, all []*reports.Report) ([]*NoticeContact, error) {
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

// watchFlagged begins to watch which articles get or lose open reports, for moderators.
func (r *Resolver) watchFlagged(ctx context.Context, after *string) (*live.Watch, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("reports are for moderators")
	}
	field, cursor := "after", site.Value(after)
	if id := endpoint.LastEvent(ctx); id != "" {
		field, cursor = lastEvent, id
	}
	return r.repo.Live.WatchEvents(ctx, field, cursor, []events.EventKind{events.EventFlagged, events.EventSettled})
}
