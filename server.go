// Command frontpage serves a site where people post articles and vote on them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/99designs/gqlgen/graphql/playground"
	"github.com/alecthomas/kong"

	"frontpage/graph"
	"frontpage/redisrepo"
	"frontpage/store"
)

//go:generate go run github.com/99designs/gqlgen

const (
	// shutdownTimeout is how long requests that run may take to end. With the
	// time that the store needs to close, the process ends within ten seconds.
	shutdownTimeout = 4 * time.Second
	readyTimeout    = time.Second
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the program. Its exit code is 2 for a setting or an argument that is
// not valid, and 1 when the command failed.
func run(args []string) int {
	var s settings
	parser, err := kong.New(&s, kong.Name("frontpage"), kong.Vars(defaults()),
		kong.Description("A site where people post articles and vote on them: GraphQL over Redis."))
	if err != nil {
		panic(err) // the settings above
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "frontpage:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	s.setMemory()
	log := s.logger()
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(&s, log); err != nil {
		fmt.Fprintln(os.Stderr, "frontpage:", err)
		return 1
	}
	return 0
}

// open opens the store and the site in it.
func open(ctx context.Context, o store.Options, rules redisrepo.Rules, options ...redisrepo.Option) (*store.Store, *redisrepo.Repo, error) {
	st, err := store.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	repo, err := redisrepo.New(ctx, st.Client, rules, options...)
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return st, repo, nil
}

type serve struct{}

// Run serves until ctx ends, and then finishes what runs.
func (serve) Run(ctx context.Context, s *settings, log *slog.Logger) (err error) {
	options, err := s.options()
	if err != nil {
		return err
	}
	listener, err := listen(s.Addr)
	if err != nil {
		return err
	}
	st, repo, err := open(ctx, s.storeOptions(log), s.rules(), redisrepo.OnRerank(func(changed string) {
		log.Warn("the rules have changed: all articles are ranked anew", "changed", changed)
	}))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	log.Info("the store is " + st.String())
	log.Warn("development mode: whoever sends the header X-User-ID is that user; only this machine can connect")

	var background sync.WaitGroup
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	background.Go(func() {
		repo.Listen(listening, func(err error) { log.Warn("live updates", "err", err) })
	})
	defer background.Wait()
	defer stopListening()

	endpoint := graph.NewHandler(repo, log, options)
	server := &http.Server{
		Handler:           routes(repo, log, endpoint),
		ReadHeaderTimeout: 5 * time.Second,
		// These are for finished answers: a stream takes its own.
		ReadTimeout:    10 * time.Second,
		WriteTimeout:   options.Timeout + 25*time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: int(min(options.BodyLimit, 16<<20)) + 64<<10, // room for the longest query string
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	log.Info("serving", "explorer", "http://"+listener.Addr().String()+"/", "endpoint", "http://"+listener.Addr().String()+"/query")

	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping: no new requests, those that run may finish")
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	streams := make(chan error, 1)
	go func() { streams <- endpoint.Shutdown(limit) }()
	if err := errors.Join(server.Shutdown(limit), <-streams); err != nil {
		log.Warn("requests were cut off", "after", shutdownTimeout)
		return server.Close()
	}
	log.Info("stopped")
	return nil
}

// listen refuses what others could reach: in development mode everybody may be anybody.
func listen(addr string) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	if !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("--addr: %s is not a loopback address, and without sign-in whoever reaches the server can be any user: use 127.0.0.1:%d", addr, resolved.Port)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	return listener, nil
}

func routes(repo *redisrepo.Repo, log *slog.Logger, endpoint http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/query", endpoint)
	mux.Handle("GET /{$}", playground.Handler("Frontpage", "/query"))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), readyTimeout)
		defer cancel()
		if err := repo.Ready(ctx); err != nil {
			log.WarnContext(ctx, "not ready", "err", err)
			http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}
