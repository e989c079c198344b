// Package webhooks stores the endpoints to which a site sends the events of its change feed, and the progress of each.
//
// An endpoint has a cursor of the feed and the undelivered events before it: those that failed, and later ones of the
// same articles, which wait for them. Package frontpage/webhooks sends them.
package webhooks

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	addScript       = wire.Script(luaFiles, "addwebhook.lua")
	changeScript    = wire.Script(luaFiles, "changewebhook.lua")
	removeScript    = wire.Script(luaFiles, "removewebhook.lua")
	deliveredScript = wire.Script(luaFiles, "delivered.lua")
)

const (
	// MaxEndpoints is the maximum number of endpoints of a site.
	MaxEndpoints = 100
	// Rotation is how long events are also signed with the former secret after a new one was made.
	Rotation = 24 * time.Hour

	// IDPrefix begins the id of an endpoint.
	IDPrefix = "webhook:"

	secretBytes = 32
	purpose     = "secret of a webhook"
)

// Options are the options of webhooks.
type Options struct {
	Box     *secretbox.Box // encrypts their secrets; nil: the site has no webhooks
	Origins []string       // such as http://10.0.0.5:9000, which endpoints may have besides public ones at https, port 443
	// LookUp returns the addresses of a host; network is ip. nil: net.DefaultResolver.LookupNetIP.
	LookUp func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Webhooks stores the endpoints of a site. It is safe for concurrent use.
type Webhooks struct {
	store *wire.Store
	log   *events.Log
	o     Options
}

// New returns Webhooks for a site.
func New(store *wire.Store, log *events.Log, o Options) *Webhooks { return &Webhooks{store, log, o} }

// Endpoint is where events are sent.
type Endpoint struct {
	Name        string // random
	URL         string
	Kinds       []events.EventKind // that it gets; empty: all
	CreatedAt   time.Time
	Paused      string // why nothing is sent; empty: it is
	Undelivered int    // events that failed, and those that wait for them
	Error       string // of the last try that failed; empty: nothing waits to be sent again

	Cursor  string                    // of the change feed: where it goes on
	Held    map[site.ArticleID]string // later events of these articles wait in the feed, after these cursors
	Edition string                    // changes with each change by others
	Secrets [][]byte                  // that sign now; the first is the newest
}

// ID returns the id of the endpoint, such as webhook:k7q2zb4m.
func (e *Endpoint) ID() string { return IDPrefix + e.Name }

// config is the field of an endpoint's hash with what its owner said, JSON.
type config struct {
	URL       string             `json:"url"`
	Kinds     []events.EventKind `json:"kinds,omitempty"`
	CreatedAt int64              `json:"created"`          // Unix seconds
	Secret    string             `json:"secret"`           // encrypted, base64
	Former    string             `json:"former,omitempty"` // likewise
	Until     int64              `json:"until,omitempty"`  // when the former one ends, Unix seconds
}

// HasWebhooks reports whether the site can have endpoints: it needs a secret and a change feed.
func (w *Webhooks) HasWebhooks() bool { return w.o.Box != nil && w.log.KeepsEvents() == nil }

// mayChange returns a Refusal unless the actor may see and change endpoints.
func (w *Webhooks) mayChange(by site.Actor) error {
	switch {
	case !by.Moderator:
		return site.Refuse(site.Forbidden, "", "webhooks are for moderators")
	case w.o.Box == nil:
		return site.Refuse(site.Forbidden, "", "this site has no webhooks: its operator has not set FRONTPAGE_SECRET, which encrypts their secrets")
	}
	return w.log.KeepsEvents()
}

// AddWebhook adds an endpoint for events of some kinds, or all if there are none, from now on. It returns the secret
// that signs them, whsec_ and base64, which cannot be read again.
//
// The Refusal is Forbidden if the actor is not a moderator, and on a site without a secret or a change feed,
// Invalid or TooLong for an address that events are not sent to, or that another endpoint has, and LimitExceeded
// beyond MaxEndpoints.
func (w *Webhooks) AddWebhook(ctx context.Context, address string, kinds []events.EventKind, by site.Actor) (*Endpoint, string, error) {
	if err := w.mayChange(by); err != nil {
		return nil, "", err
	}
	address, err := w.checkURL(ctx, address)
	if err != nil {
		return nil, "", err
	}
	end, err := w.log.FeedEnd(ctx)
	if err != nil {
		return nil, "", failover.Wrap("find the end of the change feed", err)
	}
	name := strings.ToLower(rand.Text()[:12])
	c := config{URL: address, Kinds: sorted(kinds), CreatedAt: w.store.Now().Unix()}
	secret, err := w.newSecret(name, &c)
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(c) // #nosec G117 -- its secrets are encrypted
	if err != nil {
		return nil, "", err
	}
	answer, err := w.store.Call(ctx, addScript, w.keysOf(name)[:2], []any{
		name,                   // ARGV[1] id
		address,                // ARGV[2] url
		MaxEndpoints,           // ARGV[3] most
		text,                   // ARGV[4] config
		events.EncodeFeed(end), // ARGV[5] cursor
	})
	switch {
	case err != nil:
		return nil, "", failover.Wrap("add a webhook", err)
	case answer.Status() == "FULL":
		return nil, "", site.Refuse(site.LimitExceeded, "", "the site has %d webhooks, which is the maximum: remove one first", MaxEndpoints)
	case answer.Status() == "KNOWN":
		return nil, "", hasURL(answer.Text(1))
	}
	added, err := w.webhook(ctx, name)
	return added, secret, err
}

// RemoveWebhook removes an endpoint with its undelivered events. A missing endpoint is not an error.
func (w *Webhooks) RemoveWebhook(ctx context.Context, id string, by site.Actor) error {
	name, err := w.named(id, by)
	if err != nil {
		return err
	}
	_, err = w.store.Call(ctx, removeScript, w.keysOf(name), []any{
		name, // ARGV[1] id
	})
	return failover.Wrap("remove a webhook", err)
}

// AllWebhooks returns the endpoints, the oldest first. The Refusal is Forbidden if the actor is not a
// moderator.
func (w *Webhooks) AllWebhooks(ctx context.Context, by site.Actor) ([]*Endpoint, error) {
	if err := w.mayChange(by); err != nil {
		return nil, err
	}
	return w.Endpoints(ctx)
}

// Endpoints returns the endpoints, the oldest first, for the sender. One that is removed meanwhile is left out.
func (w *Webhooks) Endpoints(ctx context.Context) ([]*Endpoint, error) {
	names, err := w.store.Client.HGetAll(wire.Reading(ctx), w.store.Partitions[0].Webhooks()).Result()
	if err != nil {
		return nil, failover.Wrap("list webhooks", err)
	}
	found, err := w.read(ctx, slices.Sorted(maps.Keys(names)))
	slices.SortStableFunc(found, func(a, b *Endpoint) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return found, err
}

// read reads endpoints by their names. One that does not exist is left out.
func (w *Webhooks) read(ctx context.Context, names []string) (found []*Endpoint, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	hashes, lengths := make([]*redis.MapStringStringCmd, len(names)), make([]*redis.IntCmd, len(names))
	err = w.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, name := range names {
			hashes[i], lengths[i] = pipe.HGetAll(ctx, w.keysOf(name)[1]), pipe.HLen(ctx, w.keysOf(name)[2])
		}
	})
	if err != nil {
		return nil, failover.Wrap("read webhooks", err)
	}
	for i, name := range names {
		if len(hashes[i].Val()) == 0 {
			continue
		}
		e, err := w.endpoint(name, hashes[i].Val())
		if err != nil {
			return nil, err
		}
		e.Undelivered = int(lengths[i].Val())
		found = append(found, e)
	}
	return found, nil
}

// keysOf are KEYS[1] webhooks, KEYS[2] webhook and KEYS[3] undelivered of an endpoint.
func (w *Webhooks) keysOf(name string) []string {
	p := w.store.Partitions[0]
	return []string{p.Webhooks(), p.Webhook(name), p.Undelivered(name)}
}

func (w *Webhooks) webhook(ctx context.Context, name string) (*Endpoint, error) {
	found, err := w.read(ctx, []string{name})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, noSuch(IDPrefix + name)
	}
	return found[0], nil
}

// endpoint makes an endpoint of its hash. Without the secret that encrypted them, it has no Secrets.
func (w *Webhooks) endpoint(name string, fields map[string]string) (*Endpoint, error) {
	var c config
	if err := json.Unmarshal([]byte(fields["config"]), &c); err != nil {
		return nil, fmt.Errorf("read webhook %s: %w", name, err)
	}
	e := &Endpoint{Name: name, URL: c.URL, Kinds: c.Kinds, CreatedAt: time.Unix(c.CreatedAt, 0).UTC(), Paused: fields["paused"], Error: fields["error"], Cursor: fields["cursor"], Edition: fields["edition"]}
	if held := fields["held"]; held != "" {
		if err := json.Unmarshal([]byte(held), &e.Held); err != nil {
			return nil, fmt.Errorf("read webhook %s: %w", name, err)
		}
	}
	sealed := []string{c.Secret}
	if c.Until > w.store.Now().Unix() {
		sealed = append(sealed, c.Former)
	}
	for _, text := range sealed {
		box, err := base64.StdEncoding.DecodeString(text)
		if err != nil || w.o.Box == nil {
			continue
		}
		if secret, err := w.o.Box.Open(purpose, box, []byte(name)); err == nil {
			e.Secrets = append(e.Secrets, secret)
		}
	}
	return e, nil
}

// newSecret gives an endpoint a secret, and returns it as its owner gets it.
func (w *Webhooks) newSecret(name string, c *config) (string, error) {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	sealed, err := w.o.Box.Seal(purpose, secret, []byte(name))
	if err != nil {
		return "", err
	}
	if c.Secret != "" {
		c.Former, c.Until = c.Secret, w.store.Now().Add(Rotation).Unix()
	}
	c.Secret = base64.StdEncoding.EncodeToString(sealed)
	return "whsec_" + base64.StdEncoding.EncodeToString(secret), nil
}

// named returns the name of the endpoint with an id.
func (w *Webhooks) named(id string, by site.Actor) (string, error) {
	if err := w.mayChange(by); err != nil {
		return "", err
	}
	name := strings.TrimPrefix(id, IDPrefix)
	if name == "" || len(name) > 20 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return "", noSuch(id)
	}
	return name, nil
}

func noSuch(id string) error {
	return site.Refuse(site.NotFound, "webhook", "there is no webhook %s", site.Shown(id))
}

func hasURL(name string) error {
	return site.Refuse(site.Invalid, "url", "%s%s has this address: remove it, or have it get a new secret", IDPrefix, name)
}

func sorted(kinds []events.EventKind) []events.EventKind {
	return slices.Compact(slices.Sorted(slices.Values(kinds)))
}
