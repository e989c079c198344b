package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
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

// webhooks returns the endpoints to moderators.
func (r *Resolver) webhooks(ctx context.Context) ([]*webhooks.Endpoint, error) {
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
	var payload WebhookPayload
	var err error
	payload.UserErrors, err = r.signedIn(ctx, endpoint.RuleChanges, func(v endpoint.Viewer) error {
		changed, secret, err := change(v)
		payload.Webhook = changed
		if secret != "" {
			payload.Secret = &secret
		}
		return err
	})
	return &payload, err
}
