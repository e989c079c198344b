package graph

import (
	"context"
	"log/slog"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// Resolver resolves the fields of the schema that are not fields of a struct.
type Resolver struct {
	repo    *redisrepo.Repo
	site    *Site
	log     *slog.Logger
	reads   endpoint.Reads
	buckets buckets
	found   foundRings
	timeout time.Duration // of a query or mutation

	erasures erasures
}

// The resolvers of each type have its methods, so that two types can have fields of one name.
type (
	articleResolver            struct{ *Resolver }
	articleConnectionResolver  struct{ *Resolver }
	castVoteEdgeResolver       struct{ *Resolver }
	deletedConnectionResolver  struct{ *Resolver }
	denialResolver             struct{ *Resolver }
	deniedErrorResolver        struct{ *Resolver }
	duplicateLinkErrorResolver struct{ *Resolver }
	eventResolver              struct{ *Resolver }
	flaggedChangeResolver      struct{ *Resolver }
	flaggedConnectionResolver  struct{ *Resolver }
	flaggedItemResolver        struct{ *Resolver }
	frontPageEdgeResolver      struct{ *Resolver }
	groupResolver              struct{ *Resolver }
	groupConnectionResolver    struct{ *Resolver }
	hostResolver               struct{ *Resolver }
	moderationActionResolver   struct{ *Resolver }
	moderationEntryResolver    struct{ *Resolver }
	mutationResolver           struct{ *Resolver }
	queryResolver              struct{ *Resolver }
	rankedConnectionResolver   struct{ *Resolver }
	reportResolver             struct{ *Resolver }
	subscriptionResolver       struct{ *Resolver }
	userResolver               struct{ *Resolver }
	voidedVoteResolver         struct{ *Resolver }
	voteRingResolver           struct{ *Resolver }
	webhookResolver            struct{ *Resolver }
)

func (r *Resolver) Article() ArticleResolver { return &articleResolver{r} }
func (r *Resolver) ArticleConnection() ArticleConnectionResolver {
	return &articleConnectionResolver{r}
}
func (r *Resolver) CastVoteEdge() CastVoteEdgeResolver { return &castVoteEdgeResolver{r} }
func (r *Resolver) DeletedConnection() DeletedConnectionResolver {
	return &deletedConnectionResolver{r}
}
func (r *Resolver) Denial() DenialResolver           { return &denialResolver{r} }
func (r *Resolver) DeniedError() DeniedErrorResolver { return &deniedErrorResolver{r} }
func (r *Resolver) DuplicateLinkError() DuplicateLinkErrorResolver {
	return &duplicateLinkErrorResolver{r}
}
func (r *Resolver) Event() EventResolver                 { return &eventResolver{r} }
func (r *Resolver) FlaggedChange() FlaggedChangeResolver { return &flaggedChangeResolver{r} }
func (r *Resolver) FlaggedConnection() FlaggedConnectionResolver {
	return &flaggedConnectionResolver{r}
}
func (r *Resolver) FlaggedItem() FlaggedItemResolver           { return &flaggedItemResolver{r} }
func (r *Resolver) FrontPageEdge() FrontPageEdgeResolver       { return &frontPageEdgeResolver{r} }
func (r *Resolver) Group() GroupResolver                       { return &groupResolver{r} }
func (r *Resolver) GroupConnection() GroupConnectionResolver   { return &groupConnectionResolver{r} }
func (r *Resolver) Host() HostResolver                         { return &hostResolver{r} }
func (r *Resolver) ModerationAction() ModerationActionResolver { return &moderationActionResolver{r} }
func (r *Resolver) ModerationEntry() ModerationEntryResolver   { return &moderationEntryResolver{r} }
func (r *Resolver) Mutation() MutationResolver                 { return &mutationResolver{r} }
func (r *Resolver) Query() QueryResolver                       { return &queryResolver{r} }
func (r *Resolver) RankedConnection() RankedConnectionResolver { return &rankedConnectionResolver{r} }
func (r *Resolver) Report() ReportResolver                     { return &reportResolver{r} }
func (r *Resolver) Subscription() SubscriptionResolver         { return &subscriptionResolver{r} }
func (r *Resolver) User() UserResolver                         { return &userResolver{r} }
func (r *Resolver) VoidedVote() VoidedVoteResolver             { return &voidedVoteResolver{r} }
func (r *Resolver) VoteRing() VoteRingResolver                 { return &voteRingResolver{r} }
func (r *Resolver) Webhook() WebhookResolver                   { return &webhookResolver{r} }

func (r *queryResolver) Site(_ context.Context) (*Site, error) {
	return r.site, nil
}

func (r *queryResolver) User(_ context.Context, name string) (*site.User, error) {
	parsed, err := site.ParseUserName(name)
	if err != nil {
		return nil, err
	}
	return &site.User{Name: parsed}, nil
}

func (r *queryResolver) Host(_ context.Context, name string) (*site.Host, error) {
	parsed, err := site.ParseHostName(name)
	if err != nil {
		return nil, err
	}
	return &site.Host{Name: parsed}, nil
}
