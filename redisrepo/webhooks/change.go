package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Change is a change of an endpoint.
type Change struct {
	URL       *string             // nil: unchanged
	Kinds     *[]events.EventKind // nil: unchanged; empty: all
	Paused    *bool               // nil: unchanged
	Drop      bool                // drop its undelivered events
	NewSecret bool                // the former one signs, too, for Rotation
	Since     *time.Time          // send all stored events since this time again
}

// ChangeWebhook changes an endpoint. It returns the new secret, or an empty text without NewSecret.
//
// Its Refusals are those of AddWebhook, and NotFound for an unknown endpoint.
func (w *Webhooks) ChangeWebhook(ctx context.Context, id string, change Change, by site.Actor) (*Endpoint, string, error) {
	name, err := w.named(id, by)
	if err != nil {
		return nil, "", err
	}
	for {
		secret, status, err := w.change(ctx, name, change)
		switch {
		case err != nil:
			return nil, "", err
		case status == "GONE":
			return nil, "", noSuch(id)
		case status == "OK":
			changed, err := w.webhook(ctx, name)
			return changed, secret, err
		}
	}
}

// change makes a change of the endpoint as it is now. The status is STALE if another one came between.
func (w *Webhooks) change(ctx context.Context, name string, change Change) (secret, status string, err error) {
	fields, err := w.store.Client.HGetAll(wire.Reading(ctx), w.keysOf(name)[1]).Result()
	if err != nil {
		return "", "", failover.Wrap("read a webhook", err)
	}
	if len(fields) == 0 {
		return "", "GONE", nil
	}
	var c config
	if err := json.Unmarshal([]byte(fields["config"]), &c); err != nil {
		return "", "", fmt.Errorf("read webhook %s: %w", name, err)
	}
	if change.URL != nil {
		if c.URL, err = w.checkURL(ctx, *change.URL); err != nil {
			return "", "", err
		}
	}
	if change.Kinds != nil {
		c.Kinds = sorted(*change.Kinds)
	}
	if change.NewSecret {
		if secret, err = w.newSecret(name, &c); err != nil {
			return "", "", err
		}
	}
	text, err := json.Marshal(c) // #nosec G117 -- its secrets are encrypted
	if err != nil {
		return "", "", err
	}
	set := []any{"config", text}
	if change.Paused != nil {
		set = append(set, "paused", map[bool]string{true: "a moderator paused it", false: ""}[*change.Paused])
	}
	if change.Since != nil {
		cursor, err := w.log.FeedSince(ctx, *change.Since)
		if err != nil {
			return "", "", failover.Wrap("find a time in the change feed", err)
		}
		set = append(set, "cursor", cursor)
	}
	answer, err := w.store.Call(ctx, changeScript, w.keysOf(name), append([]any{
		name,              // ARGV[1] id
		c.URL,             // ARGV[2] url
		fields["edition"], // ARGV[3] edition
		change.Drop,       // ARGV[4] dropped
	}, set...)) // ARGV[5...] field
	switch {
	case err != nil:
		return "", "", failover.Wrap("change a webhook", err)
	case answer.Status() == "KNOWN":
		return "", "", hasURL(answer.Text(1))
	}
	return secret, answer.Status(), nil
}
