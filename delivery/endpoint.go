package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"frontpage/failover"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/webhooks"
)

const (
	// connections is how many events an endpoint is sent at one time.
	connections = 8
	// batch is how many events are read at once.
	batch = 100
	// roundTime is after how long no further event is sent until the progress is saved.
	roundTime = 30 * time.Second
	saveTime  = 5 * time.Second
)

// retries are the pauses before the second and each later try, after Standard Webhooks. After the last one the endpoint is paused.
var retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// endpoint is the delivery to one endpoint.
type endpoint struct {
	*holding
	*webhooks.Endpoint
	waiting []*webhooks.Undelivered // saved, in their order
	number  int64                   // of the last of them
	idOf    func(*events.Event) string
	slow    bool // it answered that it has too much to do: it is sent one event at a time
}

// deliver delivers to an endpoint until ctx ends, it is paused or changed, or the lease is lost.
func (h *holding) deliver(ctx context.Context, e *webhooks.Endpoint) (err error) {
	d := &endpoint{holding: h, Endpoint: e}
	if d.waiting, err = h.repo.ReadUndelivered(ctx, e); err != nil {
		return err
	}
	if len(d.waiting) > 0 {
		d.number = d.waiting[len(d.waiting)-1].Number
	}
	if d.idOf, err = h.repo.MessageIDs(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		sent, goOn, err := d.round(ctx)
		if err != nil || !goOn {
			return err
		}
		if sent == 0 {
			failover.Wait(ctx, h.o.Pause)
		}
	}
	return nil
}

// round sends the events that are due, and saves what became of them. goOn is false if another process or another round has
// to go on.
func (d *endpoint) round(ctx context.Context) (sent int, goOn bool, err error) {
	p := webhooks.Progress{Cursor: d.Cursor}
	fresh, err := d.read(ctx, &p)
	if err != nil {
		return 0, false, err
	}
	all := slices.Concat(d.waiting, fresh)
	chains := d.chains(all)
	if len(chains) == 0 && p.Cursor == d.Cursor {
		return 0, true, nil
	}
	results := d.send(ctx, chains)
	reason := p.Paused
	for _, u := range all {
		switch r, tried := results[u]; {
		case tried && r.delivered:
			p.Got = append(p.Got, u)
		case tried:
			reason = d.failed(u, r, reason)
			p.Changed = append(p.Changed, u)
		case u.Number > d.number: // it waits for another one
			p.Changed = append(p.Changed, u)
		}
	}
	left := slices.DeleteFunc(all, func(u *webhooks.Undelivered) bool { return results[u].delivered })
	p.Paused = reason
	saving, stop := context.WithTimeout(context.WithoutCancel(ctx), saveTime) // also of a delivery that ends
	defer stop()
	saved, err := d.repo.Save(saving, d.token, d.Endpoint, p)
	if err != nil || !saved {
		return 0, false, err
	}
	d.waiting, d.Cursor = left, p.Cursor
	if len(left) > 0 {
		d.number = max(d.number, left[len(left)-1].Number)
	}
	if reason != "" {
		d.o.Log.Warn("a webhook is paused: see frontpage webhooks", "webhook", d.ID(), "reason", reason, "undelivered", len(left))
		return len(results), false, nil
	}
	return len(results), true, nil
}

// read reads events of the feed, as far as there is room for those that would fail.
func (d *endpoint) read(ctx context.Context, p *webhooks.Progress) (fresh []*webhooks.Undelivered, err error) {
	room := min(batch, webhooks.MaxUndelivered-len(d.waiting))
	if room <= 0 {
		return nil, nil
	}
	next := d.number
	add := func(id string, article site.ArticleID, body string) {
		next++
		fresh = append(fresh, &webhooks.Undelivered{Number: next, ID: id, Article: article, Body: body})
	}
	page, err := d.repo.Events(ctx, &d.Cursor, d.Kinds, &room)
	var expired *events.ExpiredError
	if errors.As(err, &expired) {
		id, body := gap(d.Name, expired, d.repo.Now())
		add(id, 0, body)
		p.Cursor, p.Paused = events.EncodeFeed(nil), "events were lost: the change feed no longer has them"
		return fresh, nil
	}
	if err != nil {
		return nil, err
	}
	if page.Gap {
		kept := d.repo.Now()
		if len(page.Edges) > 0 {
			kept = page.Edges[0].Node.At
		}
		id, body := gap(d.Name, &events.ExpiredError{KeptFrom: kept}, d.repo.Now())
		add(id, 0, body)
	}
	for _, edge := range page.Edges {
		add(d.idOf(edge.Node), edge.Node.Article, body(edge.Node))
	}
	p.Cursor = *page.PageInfo.EndCursor
	return fresh, nil
}

// chains returns which of all events can be sent now, by article: an article whose first event has to wait has none.
func (d *endpoint) chains(all []*webhooks.Undelivered) (chains [][]*webhooks.Undelivered) {
	now := d.repo.Now().UnixMilli()
	index := map[site.ArticleID]int{} // -1: it has to wait
	taken := 0
	for _, u := range all {
		i, begun := index[u.Article]
		switch {
		case !begun && (u.Next > now || taken >= 2*batch):
			index[u.Article] = -1
		case !begun:
			index[u.Article] = len(chains)
			chains = append(chains, []*webhooks.Undelivered{u})
			taken++
		case i >= 0 && len(chains[i]) < batch:
			chains[i] = append(chains[i], u)
		}
	}
	return chains
}

// send sends each chain up to the first event that fails. It returns what became of those that were sent.
func (d *endpoint) send(ctx context.Context, chains [][]*webhooks.Undelivered) map[*webhooks.Undelivered]result {
	results := map[*webhooks.Undelivered]result{}
	jobs := make(chan []*webhooks.Undelivered, len(chains))
	for _, chain := range chains {
		jobs <- chain
	}
	close(jobs)
	var mu sync.Mutex
	var workers sync.WaitGroup
	end := time.Now().Add(roundTime)
	for range d.connections(len(chains)) {
		workers.Go(func() {
			for chain := range jobs {
				for _, u := range chain {
					if ctx.Err() != nil || time.Now().After(end) {
						return
					}
					r := d.try(ctx, d.Endpoint, u)
					if ctx.Err() != nil && !r.delivered {
						return // it was interrupted
					}
					mu.Lock()
					results[u], d.slow = r, d.slow && !r.delivered || r.slow
					mu.Unlock()
					if !r.delivered {
						break
					}
				}
			}
		})
	}
	workers.Wait()
	return results
}

func (d *endpoint) connections(chains int) int {
	if d.slow {
		return 1
	}
	return min(connections, chains)
}

// failed sets when an event is tried again. It returns why the endpoint is paused now, if it is.
func (d *endpoint) failed(u *webhooks.Undelivered, r result, reason string) string {
	d.o.Log.Debug("an event was not delivered", "webhook", d.ID(), "tries", u.Tries+1, "err", r.err)
	if r.gone {
		return "the endpoint answered 410: it wants no more events"
	}
	u.Tries++
	if u.Tries > len(retries) {
		u.Tries, u.Next = 0, 0 // when the pause ends
		return fmt.Sprintf("an event failed %d times: %s", len(retries)+1, r.err)
	}
	pause := retries[u.Tries-1]
	pause += time.Duration((rand.Float64()*2 - 1) * float64(pause) / 10) // #nosec G404 -- so that not all come at one moment
	u.Next = d.repo.Now().Add(max(pause, r.after)).UnixMilli()
	return reason
}
