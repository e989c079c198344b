package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/webhooks"
)

// AddWebhookInput is an endpoint for events.
type AddWebhookInput struct {
	URL   string
	Kinds []events.EventKind
}

// ChangeWebhookInput says what to change in an endpoint. A field that is nil changes nothing.
type ChangeWebhookInput struct {
	Webhook         string
	URL             *string
	Kinds           []events.EventKind // empty: all
	Paused          *bool
	DropUndelivered bool
	NewSecret       bool
}

// RemoveWebhookInput names an endpoint.
type RemoveWebhookInput struct{ Webhook string }

// WebhookPayload is the result of a mutation of endpoints.
type WebhookPayload struct {
	Webhook    *webhooks.Endpoint
	Secret     *string
	UserErrors []UserError
}

func (r *queryResolver) Webhooks(ctx context.Context) ([]*webhooks.Endpoint, error) {
	v := endpoint.ViewerOf(ctx)
	if !v.Moderator {
		return nil, endpoint.Forbidden("webhooks are for moderators")
	}
	if !r.repo.Webhooks.HasWebhooks() {
		return []*webhooks.Endpoint{}, nil
	}
	all, err := r.repo.Webhooks.AllWebhooks(ctx, actor(v))
	return append([]*webhooks.Endpoint{}, all...), err
}

// changeWebhooks calls a function that changes endpoints for the caller.
func (r *Resolver) changeWebhooks(ctx context.Context, change func(v endpoint.Viewer) (*webhooks.Endpoint, string, error)) (*WebhookPayload, error) {
	payload := new(WebhookPayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) error {
		changed, secret, err := change(v)
		payload.Webhook = changed
		if secret != "" {
			payload.Secret = &secret
		}
		return err
	})
}

func (r *mutationResolver) AddWebhook(ctx context.Context, input AddWebhookInput) (*WebhookPayload, error) {
	return r.changeWebhooks(ctx, func(v endpoint.Viewer) (*webhooks.Endpoint, string, error) {
		return r.repo.Webhooks.AddWebhook(ctx, input.URL, input.Kinds, actor(v))
	})
}

func (r *mutationResolver) ChangeWebhook(ctx context.Context, input ChangeWebhookInput) (*WebhookPayload, error) {
	return r.changeWebhooks(ctx, func(v endpoint.Viewer) (*webhooks.Endpoint, string, error) {
		change := webhooks.Change{URL: input.URL, Paused: input.Paused, Drop: input.DropUndelivered, NewSecret: input.NewSecret}
		if input.Kinds != nil {
			change.Kinds = &input.Kinds
		}
		return r.repo.Webhooks.ChangeWebhook(ctx, input.Webhook, change, actor(v))
	})
}

func (r *mutationResolver) RemoveWebhook(ctx context.Context, input RemoveWebhookInput) (*WebhookPayload, error) {
	return r.changeWebhooks(ctx, func(v endpoint.Viewer) (*webhooks.Endpoint, string, error) {
		return nil, "", r.repo.Webhooks.RemoveWebhook(ctx, input.Webhook, actor(v))
	})
}

func (r *webhookResolver) Paused(_ context.Context, objs []*webhooks.Endpoint) ([]*string, error) {
	return site.Collect(objs, func(e *webhooks.Endpoint) *string { return site.Optional(e.Paused) }), nil
}

func (r *webhookResolver) LastError(_ context.Context, objs []*webhooks.Endpoint) ([]*string, error) {
	return site.Collect(objs, func(e *webhooks.Endpoint) *string { return site.Optional(e.Error) }), nil
}
