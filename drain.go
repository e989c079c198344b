package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/settings"
)

const (
	readyTimeout = time.Second
	// finishMargin is how much longer than FRONTPAGE_REQUEST_TIMEOUT running requests may take to finish after all streams have
	// ended: to send the answer, and to close a socket whose client is silent.
	finishMargin = 3 * time.Second
)

// gate is the handler of the server from the moment when its port is open until the process ends. It answers /healthz
// and /readyz. It refuses all else until the store is loaded.
type gate struct {
	log      *slog.Logger
	health   *http.ServeMux
	starting http.Handler // of /query

	step     atomic.Pointer[string]     // what the start is doing
	site     atomic.Pointer[servedSite] // nil until the store is loaded
	stopping atomic.Bool                // /readyz is unready, and clients are asked to close their connections after the next response
}

// servedSite is what is served once the store is loaded.
type servedSite struct {
	http.Handler
	api  http.Handler // of endpoints: they are most requests, and need no search for a pattern
	repo *redisrepo.Repo
}

func newGate(log *slog.Logger, o endpoint.Options) *gate {
	g := &gate{log: log, health: http.NewServeMux(), starting: endpoint.Starting(o)}
	g.starts("waiting for the store")
	g.health.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	g.health.HandleFunc("GET /readyz", g.ready)
	return g
}

// starts notes what the start is doing, for /readyz.
func (g *gate) starts(step string) { g.step.Store(&step) }

// open lets requests through to the site.
func (g *gate) open(handler, api http.Handler, repo *redisrepo.Repo) {
	g.site.Store(&servedSite{handler, api, repo})
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if g.stopping.Load() {
		w.Header().Set("Connection", "close") // over HTTP/2, it announces the end of the connection
	}
	site := g.site.Load()
	switch {
	case req.URL.Path == "/healthz" || req.URL.Path == "/readyz":
		g.health.ServeHTTP(w, req)
	case slices.Contains(endpoints, req.URL.Path):
		req.Pattern = req.URL.Path
		if site == nil {
			g.starting.ServeHTTP(w, req)
		} else {
			site.api.ServeHTTP(w, req)
		}
	case site != nil:
		site.ServeHTTP(w, req)
	default:
		endpoint.Unavailable(w, "the server is starting: try again in a moment")
	}
}

// ready reports whether this process should get requests, and why not.
func (g *gate) ready(w http.ResponseWriter, req *http.Request) {
	site := g.site.Load()
	switch {
	case g.stopping.Load():
		endpoint.Unavailable(w, "stopping")
		return
	case site == nil:
		endpoint.Unavailable(w, "starting: "+*g.step.Load())
		return
	}
	ctx, cancel := context.WithTimeout(req.Context(), readyTimeout)
	defer cancel()
	err := site.repo.Ready(ctx)
	if req.Context().Err() != nil {
		return // the client did not wait
	}
	state, serves := "the store does not reply", false
	switch {
	case err == nil:
		state, serves = "ready", true
	case errors.Is(err, failover.ErrReadOnly):
		state, serves = "ready for reads: the store refuses writes", true
	case strings.Contains(err.Error(), "LOADING "):
		state = "the store is loading its data"
	}
	if err != nil {
		g.log.WarnContext(ctx, state, "err", err) // a line of an outage
	}
	if serves { // with another status, reading would stop as well
		fmt.Fprintln(w, state)
		if search := site.repo.Search.Problem(); search != "" {
			fmt.Fprintln(w, search)
		}
	} else {
		endpoint.Unavailable(w, state)
	}
}

// shutdown stops serving in three steps. At first only /readyz changes, so that load balancers send new requests
// elsewhere. Then the listener is closed, and streams are ended one after another. Last, what runs may finish; what
// takes longer than any request may is cut off, which is not an error.
func (g *gate) shutdown(ctx context.Context, server *http.Server, api *endpoint.Handler, s *settings.Settings) error {
	g.stopping.Store(true)
	if s.ShutdownDelay > 0 {
		g.log.Info("stopping: /readyz responds with 503, and requests are served for a while", "shutdown_delay", s.ShutdownDelay)
		<-time.After(s.ShutdownDelay) // a second signal ends the process
	}
	g.log.Info("stopping: accepting no connections, ending streams, finishing running requests", "drain_time", s.DrainTime)
	longest := s.DrainTime + s.RequestTimeout + finishMargin
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	streams := make(chan error, 1)
	go func() { streams <- api.Shutdown(limit, s.DrainTime) }()
	if err := errors.Join(server.Shutdown(limit), <-streams); err != nil {
		g.log.Warn("requests were cut off: raise FRONTPAGE_DRAIN_TIME if this happens often", "after", longest)
		return server.Close()
	}
	g.log.Info("stopped")
	return nil
}

// returnLeases gives back what is left of the quotas that this process has leased for its clients.
func returnLeases(ctx context.Context, repo *redisrepo.Repo, log *slog.Logger) {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := repo.Rates.ReturnLeases(limit); err != nil {
		log.Info("unused leased points of the rate of cost were not returned: they count for one more window", "err", err)
	}
}
