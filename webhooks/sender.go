// Package webhooks sends the events of a site's change feed to its webhooks, by the Standard Webhooks specification 1.0.0
// (https://www.standardwebhooks.com).
//
// One process of the site sends at a time: the one that has the lease. An event is delivered at least once while the
// feed keeps it, and the events of an article in order: a failed one delays only later ones of its article.
package webhooks

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lease"
	"frontpage/redisrepo/webhooks"
)

// Options are the options of New. The zero value is for the Internet.
type Options struct {
	Log   *slog.Logger  // nil: nothing is logged
	Pause time.Duration // between two looks at the feed; 0: a second
	// MaxWaiting is the maximum number of an endpoint's events that wait to be sent again, a tenth of them about one
	// article; 0: 10,000. Later events wait in the feed.
	MaxWaiting int
}

// lookPause is how long a process that delivers nothing waits until it looks for endpoints and the lease.
const lookPause = 5 * time.Second

// Sender delivers events to the endpoints of a site.
type Sender struct {
	repo   *redisrepo.Repo
	o      Options
	client *http.Client
	counts counts

	mu     sync.Mutex
	states map[string]State // of the endpoints by id, while this process has the lease
}

// New returns the sender of a process.
func New(repo *redisrepo.Repo, o Options) *Sender {
	o.Pause, o.Log, o.MaxWaiting = cmp.Or(o.Pause, time.Second), cmp.Or(o.Log, slog.New(slog.DiscardHandler)), cmp.Or(o.MaxWaiting, 10_000)
	s := &Sender{repo: repo, o: o, states: map[string]State{}}
	s.client = NewClient(repo.Webhooks)
	return s
}

// Follow delivers events until ctx ends, while the process has the lease. Any number of processes may call it. On a site
// that cannot have webhooks it returns at once. report is called with errors of the store.
func (s *Sender) Follow(ctx context.Context, report func(error)) {
	if !s.repo.Webhooks.HasWebhooks() {
		return
	}
	for ctx.Err() == nil {
		if err := s.hold(ctx, report); err != nil && ctx.Err() == nil {
			report(err)
		}
		failover.Wait(ctx, min(lookPause, 5*s.o.Pause))
	}
}

// hold takes the lease, if there are endpoints, and delivers until it has lost it, or there are none.
func (s *Sender) hold(ctx context.Context, report func(error)) error {
	if all, err := s.repo.Webhooks.Endpoints(ctx); err != nil || len(all) == 0 {
		return err
	}
	token, taken, err := s.repo.Lease.Take(ctx)
	if err != nil || !taken {
		return err
	}
	h := &holding{Sender: s, token: token, report: report, running: map[string]*running{}}
	defer h.end(ctx)
	until := time.Now().Add(lease.Duration)
	for ctx.Err() == nil {
		all, err := s.repo.Webhooks.Endpoints(ctx)
		if err == nil {
			h.follow(ctx, all)
			if len(all) == 0 {
				return nil
			}
		}
		failover.Wait(ctx, s.o.Pause)
		now, kept, leaseErr := s.repo.Lease.Take(ctx)
		switch {
		case leaseErr == nil && (!kept || now != token):
			return nil
		case leaseErr == nil:
			until = time.Now().Add(lease.Duration)
		case time.Now().After(until): // another process may have it
			return leaseErr
		}
		if err != nil && ctx.Err() == nil {
			report(err)
		}
	}
	return nil
}

// holding is what a process delivers while it has the lease.
type holding struct {
	*Sender
	token   string
	report  func(error)
	running map[string]*running // by the endpoint's id
}

// running is the delivery to one endpoint as it was read.
type running struct {
	edition string
	paused  bool
	stop    context.CancelFunc
	done    chan struct{}
}

// end ends the delivery, and waits for that.
func (r *running) end() {
	r.stop()
	<-r.done
}

// follow begins and ends deliveries, so that they are to these endpoints. One that was changed, or whose delivery has ended, is
// begun again by the next call.
func (h *holding) follow(ctx context.Context, all []*webhooks.Endpoint) {
	states := map[string]State{}
	for _, e := range all {
		states[e.ID()] = State{Paused: e.Paused != "", Undelivered: e.Undelivered}
		if r := h.running[e.ID()]; r != nil {
			ended := r.edition != e.Edition || r.paused != (e.Paused != "")
			select {
			case <-r.done: // it has paused itself, or after an error
				ended = true
			default:
			}
			if ended {
				r.end()
				delete(h.running, e.ID()) // all may be older than what it saved last: the next ones are not
			}
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		r := &running{edition: e.Edition, paused: e.Paused != "", stop: stop, done: make(chan struct{})}
		h.running[e.ID()] = r
		go func() {
			defer close(r.done)
			if r.paused {
				<-ctx.Done()
				return
			}
			if err := h.deliver(ctx, e); err != nil && ctx.Err() == nil {
				h.report(err)
				failover.Wait(ctx, lookPause)
			}
		}()
	}
	for id, r := range h.running {
		if _, present := states[id]; !present {
			r.end()
			delete(h.running, id)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states = states
}

// end ends all deliveries, and gives the lease back.
func (h *holding) end(ctx context.Context) {
	for _, r := range h.running {
		r.end()
	}
	h.mu.Lock()
	h.states = map[string]State{}
	h.mu.Unlock()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = h.repo.Lease.GiveBack(ctx) // it ends anyway
}

// State is the state of the deliveries to an endpoint.
type State struct {
	Paused      bool
	Undelivered int
}

// Stats are the deliveries of a process, and the states of the endpoints while it has the lease.
type Stats struct {
	Delivered, Failed uint64           // attempts
	Endpoints         map[string]State // by id
}

type counts struct{ delivered, failed atomic.Uint64 }

// Stats returns the present numbers.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{s.counts.delivered.Load(), s.counts.failed.Load(), s.states}
}
