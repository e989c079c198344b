// Command frontpage serves a site where people post articles and vote on them.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"frontpage/demo"
	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/redisrepo"
	"frontpage/store"
	"frontpage/web"
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

type serve struct {
	Demo bool `env:"DEMO" help:"Fill an empty site with some articles to look at."`
}

// Run serves until ctx ends, and then finishes what runs.
func (serve serve) Run(ctx context.Context, s *settings, log *slog.Logger) (err error) {
	options, err := s.options()
	if err != nil {
		return err
	}
	encryption, err := s.encryption()
	if err != nil {
		return err
	}
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	defer stopListening()
	options.Identity, err = s.verifier(listening, log)
	if err != nil {
		return err
	}
	listener, err := listen(s.Addr, s.development())
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
	if s.development() {
		log.Warn(options.Identity.String() + "; only this machine can connect")
	} else {
		log.Info(options.Identity.String())
	}
	if serve.Demo {
		added, err := demo.Fill(ctx, repo)
		if err != nil {
			return err
		}
		log.Info("articles to look at", "added", added)
	}
	var background sync.WaitGroup
	background.Go(func() {
		repo.Listen(listening, func(err error) { log.Warn("live updates", "err", err) })
	})
	defer background.Wait()
	defer stopListening()

	api := graph.NewHandler(repo, log, options)
	server := &http.Server{
		Handler:           routes(repo, log, api, web.Handler(s.pageOptions())),
		ReadHeaderTimeout: 5 * time.Second,
		// These are for finished answers: a stream takes its own.
		ReadTimeout:    10 * time.Second,
		WriteTimeout:   options.Timeout + 25*time.Second,
		IdleTimeout:    2 * time.Minute,
		ConnContext:    endpoint.WithConn,
		MaxHeaderBytes: int(min(options.BodyLimit, 16<<20)) + 64<<10, // room for the longest query string
		ErrorLog:       errorLog(log),
	}
	if s.development() {
		server.Handler = ownNames(server.Handler)
	}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(s.H2C == "on")
	scheme := "http"
	failed := make(chan error, 1)
	if encryption != nil {
		scheme, server.TLSConfig = "https", encryption
		go func() { failed <- server.ServeTLS(listener, "", "") }()
	} else {
		go func() { failed <- server.Serve(listener) }()
	}
	site := scheme + "://" + listener.Addr().String()
	var serving []any
	if s.Site == "on" {
		serving = append(serving, "site", site+"/")
	}
	if s.Explorer == "on" {
		serving = append(serving, "explorer", site+"/graphiql")
	}
	log.Info("serving", append(serving, "endpoint", site+"/query")...)

	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping: no new requests, those that run may finish")
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	streams := make(chan error, 1)
	go func() { streams <- api.Shutdown(limit) }()
	if err := errors.Join(server.Shutdown(limit), <-streams); err != nil {
		log.Warn("requests were cut off", "after", shutdownTimeout)
		return server.Close()
	}
	log.Info("stopped")
	return nil
}

// encryption is how to serve by https; nil when that was not asked for.
func (s *settings) encryption() (*tls.Config, error) {
	if s.TLSCertFile == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(s.TLSCertFile, s.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file, --tls-key-file: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// errorLog takes what net/http has to say, but for handshakes that fail, of which
// anybody can make thousands.
func errorLog(log *slog.Logger) *stdlog.Logger {
	lines := slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	return stdlog.New(writerFunc(func(line []byte) (int, error) {
		if !bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
			lines.Print(string(line))
		}
		return len(line), nil
	}), "", 0)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(line []byte) (int, error) { return f(line) }

// listen refuses what others could reach in development mode, where everybody
// may be anybody.
func listen(addr string, development bool) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	if development && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("--addr: %s is not a loopback address, and without sign-in whoever reaches the server can be any user: use 127.0.0.1:%d, or set JWT_SECRET, JWKS_URL or PROXY_USER_HEADER", addr, resolved.Port)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	return listener, nil
}

// ownNames serves under the names of this machine only. A page of elsewhere can
// have its own name point here, and so be taken for a page of this site.
func ownNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		host, _, err := net.SplitHostPort(req.Host)
		if err != nil {
			host = strings.Trim(req.Host, "[]")
		}
		host = strings.TrimSuffix(strings.ToLower(host), ".")
		address, err := netip.ParseAddr(host)
		if own := err == nil && address.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost"); !own {
			http.Error(w, "in development mode this server is localhost, or 127.0.0.1: it does not answer to other names", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func routes(repo *redisrepo.Repo, log *slog.Logger, api, pages http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/query", api)
	mux.Handle("/", pages)
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
