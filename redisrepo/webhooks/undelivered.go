package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Undelivered is an event that was not delivered to an endpoint yet.
type Undelivered struct {
	Number  int64          `json:"-"` // later events have greater ones
	ID      string         `json:"id"`
	Article site.ArticleID `json:"article"` // events of one article are delivered in their order; 0: it is about none
	Body    string         `json:"body"`
	Tries   int            `json:"tries,omitempty"`
	Next    int64          `json:"next,omitempty"` // when it is sent again, Unix milliseconds; 0: at once
}

// ReadUndelivered returns the undelivered events of an endpoint, in order.
func (w *Webhooks) ReadUndelivered(ctx context.Context, e *Endpoint) ([]*Undelivered, error) {
	hash, err := w.store.Client.HGetAll(wire.Reading(ctx), w.keysOf(e.Name)[2]).Result()
	if err != nil {
		return nil, failover.Wrap("read what was not delivered", err)
	}
	all := make([]*Undelivered, 0, len(hash))
	for field, text := range hash {
		u := new(Undelivered)
		if u.Number, err = strconv.ParseInt(field, 10, 64); err == nil {
			err = json.Unmarshal([]byte(text), u)
		}
		if err != nil {
			return nil, fmt.Errorf("read event %s of webhook %s: %w", field, e.Name, err)
		}
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *Undelivered) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// Progress is the progress of the deliveries to an endpoint.
type Progress struct {
	Cursor  string                    // after the last event that it has read
	Held    map[site.ArticleID]string // as in an Endpoint
	Got     []*Undelivered            // were delivered
	Changed []*Undelivered            // failed, or wait for others
	Paused  string                    // why it is paused now; empty: it is not
	Error   string                    // as in an Endpoint
}

// Hold makes the events of an article after a cursor wait in the feed.
func (p *Progress) Hold(article site.ArticleID, after string) {
	if p.Held == nil {
		p.Held = map[site.ArticleID]string{}
	}
	p.Held[article] = after
}

// Save saves the progress of an endpoint for the process that has the lease. It reports false, and saves nothing, if
// another process has had the lease since, or if the endpoint has changed since e was read.
func (w *Webhooks) Save(ctx context.Context, token string, e *Endpoint, p Progress) (saved bool, err error) {
	held := []byte("")
	if len(p.Held) > 0 {
		if held, err = json.Marshal(p.Held); err != nil {
			return false, err
		}
	}
	args := []any{
		token,      // ARGV[1] token
		e.Edition,  // ARGV[2] edition
		p.Cursor,   // ARGV[3] cursor
		held,       // ARGV[4] waiting
		p.Paused,   // ARGV[5] paused
		p.Error,    // ARGV[6] last_error
		len(p.Got), // ARGV[7] removed
	}
	for _, u := range p.Got { // ARGV[8...] field
		args = append(args, u.Number)
	}
	for _, u := range p.Changed {
		text, err := json.Marshal(u)
		if err != nil {
			return false, err
		}
		args = append(args, u.Number, text)
	}
	scriptKeys := []string{
		w.store.Partitions[0].Lease(), // KEYS[1] lease
		w.keysOf(e.Name)[1],           // KEYS[2] webhook
		w.keysOf(e.Name)[2],           // KEYS[3] undelivered
	}
	answer, err := w.store.CallUnconfirmed(ctx, deliveredScript, scriptKeys, args)
	return err == nil && answer.Status() == "OK", failover.Wrap("save what was delivered", err)
}

// MessageIDs returns a function for the id of an event's message, the same in all tries and for all endpoints. It
// contains the epoch of the partition's data, so that ids do not repeat after a loss of data.
func (w *Webhooks) MessageIDs(ctx context.Context) (func(*events.Event) string, error) {
	epochs, err := wire.ReadEach(ctx, w.store, w.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.StringCmd {
		return pipe.HGet(ctx, p.Meta(), keys.FieldEpoch)
	})
	if err != nil {
		return nil, failover.Wrap("read the epochs", err)
	}
	return func(e *events.Event) string {
		i := w.store.Index(e.Article)
		return fmt.Sprintf("msg_%s_%d_%s", epochs[i].Val(), i, e.EntryID())
	}, nil
}
