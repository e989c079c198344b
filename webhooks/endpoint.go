package webhooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/webhooks"
)

const (
	// connections is how many events an endpoint is sent at one time.
	connections = 8
	// batch is how many events are read at once.
	batch = 100
	// maxHeld is for how many articles events can wait in the feed while it is read on.
	maxHeld = 100
	// probePause is how often an endpoint for which no event is read, since too many wait, is sent one that is not due.
	probePause = time.Minute
	// roundTime is after how long no further event is sent until the progress is saved.
	roundTime = 30 * time.Second
	saveTime  = 5 * time.Second
)

// retries are the pauses before the second and each later try. After the last one the endpoint is paused. From 5 minutes on they
// are those of Standard Webhooks; the ones before are shorter and more, since the events of an article wait for each other:
// where 30 % of the tries fail, an event takes 0.2 s on average instead of 3 minutes.
var retries = []time.Duration{
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// endpoint is the delivery to one endpoint.
type endpoint struct {
	*holding
	*webhooks.Endpoint
	waiting []*webhooks.Undelivered // saved, in their order
	number  int64                   // of the last of them
	idOf    func(*events.Event) string
	slow    bool      // it answered that it has too much to do: it is sent one event at a time
	accepts int64     // what number was when it accepted an event last
	tried   time.Time // when a round sent some last
}

// deliver delivers to an endpoint until ctx ends, it is paused or changed, or the lease is lost.
func (h *holding) deliver(ctx context.Context, e *webhooks.Endpoint) (err error) {
	d := &endpoint{holding: h, Endpoint: e}
	if d.waiting, err = h.repo.Webhooks.ReadUndelivered(ctx, e); err != nil {
		return err
	}
	if len(d.waiting) > 0 {
		d.number = d.waiting[len(d.waiting)-1].Number
	}
	if d.idOf, err = h.repo.Webhooks.MessageIDs(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		sent, goOn, err := d.round(ctx)
		if err != nil || !goOn {
			return err
		}
		if sent == 0 {
			failover.Wait(ctx, d.pause())
		}
	}
	return nil
}

// pause is how long it is until there may be something to send: shorter than usual if an event is due before.
func (d *endpoint) pause() time.Duration {
	pause, now := d.o.Pause, d.repo.Store.Now().UnixMilli()
	for _, u := range d.waiting {
		if until := time.Duration(u.Next-now) * time.Millisecond; until > 0 {
			pause = min(pause, until)
		}
	}
	return pause
}

// round sends the events that are due, and saves what became of them. goOn is false if another process or another round has
// to go on.
func (d *endpoint) round(ctx context.Context) (sent int, goOn bool, err error) {
	p := webhooks.Progress{Cursor: d.Cursor, Held: maps.Clone(d.Held), Error: d.Error}
	isFull := d.isFull(len(d.waiting), d.Held)
	var fresh []*webhooks.Undelivered
	if !isFull {
		if fresh, err = d.read(ctx, &p); err != nil {
			return 0, false, err
		}
	}
	all := slices.Concat(d.waiting, fresh)
	isProbe := isFull && d.repo.Store.Now().Sub(d.tried) >= probePause
	chains := d.chains(all, isProbe)
	if isFull && len(chains) == 0 && d.refusesSome() {
		p.Paused = fmt.Sprintf("%d events wait to be sent again, although it accepts others: %s", len(d.waiting), d.Error)
	}
	if len(chains) == 0 && p.Cursor == d.Cursor && p.Paused == "" && maps.Equal(p.Held, d.Held) {
		return 0, true, nil
	}
	results := d.send(ctx, chains)
	for _, u := range all {
		switch r, tried := results[u]; {
		case tried && r.delivered:
			p.Got = append(p.Got, u)
		case tried:
			p.Error = r.err
			p.Paused = d.failed(u, r, p.Paused)
			p.Changed = append(p.Changed, u)
		case u.Number > d.number: // it waits for another one
			p.Changed = append(p.Changed, u)
		}
	}
	left := slices.DeleteFunc(all, func(u *webhooks.Undelivered) bool { return results[u].delivered })
	if len(left) == 0 {
		p.Error = ""
	}
	accepts := len(p.Got) > 0
	if isFull && accepts { // it is back
		for _, u := range left {
			if _, tried := results[u]; !tried && u.Next > 0 {
				u.Next = 0
				p.Changed = append(p.Changed, u)
			}
		}
	}
	saving, stop := context.WithTimeout(context.WithoutCancel(ctx), saveTime) // also of a delivery that ends
	defer stop()
	saved, err := d.repo.Webhooks.Save(saving, d.token, d.Endpoint, p)
	if err != nil || !saved {
		return 0, false, err
	}
	d.logWaiting(p, len(left))
	d.waiting, d.Cursor, d.Held, d.Error = left, p.Cursor, p.Held, p.Error
	if len(left) > 0 {
		d.number = max(d.number, left[len(left)-1].Number)
	}
	if accepts {
		d.accepts = d.number
	}
	if len(results) > 0 {
		d.tried = d.repo.Store.Now()
	}
	return len(results), p.Paused == "", nil
}

// isFull reports whether so much waits that no further events are read.
func (d *endpoint) isFull(waiting int, held map[site.ArticleID]string) bool {
	return waiting >= d.o.MaxWaiting || len(held) >= maxHeld
}

// refusesSome reports whether it has accepted other events since it refused half of those that wait: it is not out of order.
func (d *endpoint) refusesSome() bool {
	return len(d.waiting) > 0 && d.waiting[len(d.waiting)/2].Number <= d.accepts
}

// ofArticle is how many events of one article can wait.
func (d *endpoint) ofArticle() int { return min(max(d.o.MaxWaiting/10, 1), events.MaxEvents) }

// logWaiting logs what keeps events from being sent, when that begins.
func (d *endpoint) logWaiting(p webhooks.Progress, left int) {
	if p.Paused != "" {
		d.o.Log.Warn("a webhook is paused: fix the endpoint, then run frontpage webhooks resume", "webhook", d.ID(), "reason", p.Paused, "undelivered", left)
	}
	if d.isFull(left, p.Held) && !d.isFull(len(d.waiting), d.Held) {
		d.o.Log.Warn("a webhook gets no new events until it accepts failed ones: check the endpoint", "webhook", d.ID(), "undelivered", left, "err", p.Error)
	}
	for article := range p.Held {
		if _, isOld := d.Held[article]; !isOld {
			d.o.Log.Warn("a webhook refuses an event, and later ones of its article wait: check the endpoint", "webhook", d.ID(), "article", article, "err", p.Error)
		}
	}
}

// read reads events of the feed. Those of an article that waits for too many others stay there.
func (d *endpoint) read(ctx context.Context, p *webhooks.Progress) ([]*webhooks.Undelivered, error) {
	r := reading{endpoint: d, Progress: p, waiting: map[site.ArticleID]int{}}
	for _, u := range d.waiting {
		r.waiting[u.Article]++
	}
	for article := range d.Held {
		if r.waiting[article] == 0 && r.room() >= d.ofArticle() {
			if err := r.goOn(ctx, article); err != nil || p.Paused != "" {
				return r.fresh, err
			}
		}
	}
	if r.room() <= 0 {
		return r.fresh, nil
	}
	page, err := r.page(ctx, d.Cursor, min(batch, r.room()))
	if err != nil || p.Paused != "" {
		return r.fresh, err
	}
	before := d.Cursor
	for _, edge := range page.Edges {
		article := edge.Node.Article
		_, isHeld := p.Held[article]
		switch {
		case isHeld:
		case r.waiting[article] >= d.ofArticle():
			p.Hold(article, before)
		default:
			r.add(d.idOf(edge.Node), article, body(edge.Node))
		}
		before = edge.Cursor()
	}
	p.Cursor = *page.PageInfo.EndCursor
	return r.fresh, nil
}

// reading is one reading of the feed.
type reading struct {
	*endpoint
	*webhooks.Progress
	fresh   []*webhooks.Undelivered
	waiting map[site.ArticleID]int // events that were not delivered yet, with the fresh ones
}

// room is how many further events can wait.
func (r *reading) room() int { return r.o.MaxWaiting - len(r.endpoint.waiting) - len(r.fresh) }

func (r *reading) add(id string, article site.ArticleID, body string) {
	number := r.number + int64(len(r.fresh)) + 1
	r.fresh = append(r.fresh, &webhooks.Undelivered{Number: number, ID: id, Article: article, Body: body})
	r.waiting[article]++
}

// page reads up to count events after a cursor. If the feed no longer has them, it pauses the endpoint.
func (r *reading) page(ctx context.Context, after string, count int) (events.EventPage, error) {
	page, err := r.repo.Log.Events(ctx, &after, r.Kinds, &count)
	if expired, ok := errors.AsType[*events.ExpiredError](err); ok {
		id, body := gap(r.Name, expired, r.repo.Store.Now())
		r.add(id, 0, body)
		r.Progress.Cursor, r.Progress.Held = events.EncodeFeed(nil), nil
		r.Progress.Paused = "events were lost: the change feed no longer has them"
		return page, nil
	}
	if err == nil && page.Gap {
		kept := r.repo.Store.Now()
		if len(page.Edges) > 0 {
			kept = page.Edges[0].Node.At
		}
		id, body := gap(r.Name, &events.ExpiredError{KeptFrom: kept}, r.repo.Store.Now())
		r.add(id, 0, body)
	}
	return page, err
}

// goOn reads the events of an article that stayed in the feed, up to where the others are.
func (r *reading) goOn(ctx context.Context, article site.ArticleID) error {
	page, err := r.page(ctx, r.Progress.Held[article], r.ofArticle())
	if err != nil || r.Progress.Paused != "" {
		return err
	}
	others, err := events.DecodeFeed("cursor", r.endpoint.Cursor)
	if err != nil {
		return err
	}
	for _, edge := range page.Edges {
		if edge.Node.IsAfter(others) {
			delete(r.Progress.Held, article)
			return nil
		}
		if edge.Node.Article == article {
			r.add(r.idOf(edge.Node), article, body(edge.Node))
		}
	}
	if !page.PageInfo.HasNextPage {
		delete(r.Progress.Held, article)
		return nil
	}
	r.Progress.Held[article] = *page.PageInfo.EndCursor
	return nil
}

// chains returns which of all events can be sent now, by article: an article whose first event has to wait has none. A probe has
// one at least.
func (d *endpoint) chains(all []*webhooks.Undelivered, isProbe bool) (chains [][]*webhooks.Undelivered) {
	now := d.repo.Store.Now().UnixMilli()
	index := map[site.ArticleID]int{} // -1: it has to wait
	taken := 0
	for _, u := range all {
		i, begun := index[u.Article]
		switch {
		case !begun && (u.Next > now && (!isProbe || taken > 0) || taken >= 2*batch):
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
	if u.Next > d.repo.Store.Now().UnixMilli() { // a probe
		return reason
	}
	u.Tries++
	if u.Tries > len(retries) {
		u.Tries, u.Next = 0, 0 // when the pause ends
		return fmt.Sprintf("an event failed %d times: %s", len(retries)+1, r.err)
	}
	pause := retries[u.Tries-1]
	pause += time.Duration((rand.Float64()*2 - 1) * float64(pause) / 10) // #nosec G404 -- so that not all come at one moment
	u.Next = d.repo.Store.Now().Add(max(pause, r.after)).UnixMilli()
	return reason
}
