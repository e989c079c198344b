package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/webhooks"
	"frontpage/settings"
)

type webhookCommands struct {
	List      listWebhooks     `cmd:"" default:"1" help:"List the endpoints: id, address, kinds of events, number of events that were not delivered, why it is paused, and the error of the last try that failed."`
	Add       addWebhook       `cmd:"" help:"Add an endpoint, and print the secret that signs its events. It is not shown again."`
	Rotate    rotateWebhook    `cmd:"" help:"Print a new secret of an endpoint. The former one signs, too, for 24 hours more."`
	Pause     pauseWebhook     `cmd:"" help:"Pause an endpoint. Its events are kept as long as the change feed keeps them."`
	Resume    resumeWebhook    `cmd:"" help:"End the pause of an endpoint. It gets what was kept."`
	Redeliver redeliverWebhook `cmd:"" help:"Send an endpoint the events since a time again, with the same ids."`
	Remove    removeWebhook    `cmd:"" help:"Remove an endpoint."`
}

type listWebhooks struct{}

// Run prints a line for each endpoint.
func (listWebhooks) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		all, err := repo.Webhooks.AllWebhooks(ctx, commandLine)
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		for _, e := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", e.ID(), e.URL, cmp.Or(kindsText(e.Kinds), "all"), e.Undelivered, cmp.Or(e.Paused, "-"), cmp.Or(e.Error, "-"))
		}
		return errors.Join(err, w.Flush())
	})
}

func kindsText(kinds []events.EventKind) string {
	return strings.Join(site.Collect(kinds, func(kind events.EventKind) string { return string(kind) }), ",")
}

type addWebhook struct {
	URL   string             `arg:"" help:"Its address, such as https://example.org/events."`
	Kinds []events.EventKind `placeholder:"KIND" help:"Kinds of events, such as posted,deleted. Default: all."`
}

// Run prints id and secret.
func (c *addWebhook) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	for _, kind := range c.Kinds {
		if !kind.IsKnown() {
			return fmt.Errorf("--kinds: there is no kind %q: use some of %s", kind, kindsText(events.EventKinds))
		}
	}
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		e, secret, err := repo.Webhooks.AddWebhook(ctx, c.URL, c.Kinds, commandLine)
		if err == nil {
			fmt.Println(e.ID(), secret)
		}
		return err
	})
}

// namedWebhook is the argument of commands about one endpoint.
type namedWebhook struct {
	Webhook string `arg:"" help:"Id of the endpoint, such as webhook:k7q2zb4mxw3d."`
}

// change changes the endpoint, and prints a line about it.
func (n *namedWebhook) change(ctx context.Context, s *settings.Settings, log *slog.Logger, change webhooks.Change, line func(e *webhooks.Endpoint, secret string) string) error {
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		e, secret, err := repo.Webhooks.ChangeWebhook(ctx, n.Webhook, change, commandLine)
		if err == nil {
			fmt.Println(line(e, secret))
		}
		return err
	})
}

type rotateWebhook struct{ namedWebhook }

// Run prints the secret.
func (c *rotateWebhook) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return c.change(ctx, s, log, webhooks.Change{NewSecret: true}, func(_ *webhooks.Endpoint, secret string) string { return secret })
}

type pauseWebhook struct{ namedWebhook }

// Run pauses the endpoint.
func (c *pauseWebhook) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return c.change(ctx, s, log, webhooks.Change{Paused: new(true)}, func(e *webhooks.Endpoint, _ string) string { return e.ID() + " is paused" })
}

type resumeWebhook struct {
	namedWebhook
	Drop bool `help:"Forget the events that it did not get, also those that wait for them."`
}

// Run ends the pause.
func (c *resumeWebhook) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return c.change(ctx, s, log, webhooks.Change{Paused: new(false), Drop: c.Drop}, func(e *webhooks.Endpoint, _ string) string {
		return fmt.Sprintf("%s gets %d events and what follows", e.ID(), e.Undelivered)
	})
}

type redeliverWebhook struct {
	namedWebhook
	Since time.Time `required:"" placeholder:"TIME" help:"A time such as 2026-01-02T03:04:05Z. Events up to 10 seconds older are sent, too."`
}

// Run has the endpoint get the events since a time again.
func (c *redeliverWebhook) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return c.change(ctx, s, log, webhooks.Change{Since: &c.Since}, func(e *webhooks.Endpoint, _ string) string {
		return e.ID() + " gets the events since " + c.Since.Format(time.RFC3339)
	})
}

type removeWebhook struct{ namedWebhook }

// Run removes the endpoint.
func (c *removeWebhook) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		return repo.Webhooks.RemoveWebhook(ctx, c.Webhook, commandLine)
	})
}
