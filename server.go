// Command frontpage serves a site where users post articles and vote on them.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"frontpage/endpoint"
	"frontpage/exchange/demo"
	"frontpage/graph"
	"frontpage/identity/signin"
	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/store"
	"frontpage/redisrepo/wire"
	"frontpage/settings"
	"frontpage/site/feeds"
	"frontpage/site/pages"
	"frontpage/site/web"
	"frontpage/telemetry/outagelog"
	"frontpage/telemetry/tracing"
	"frontpage/webhooks"
)

//go:generate go run ./graph/generate

//go:embed schema.graphqls
var schema []byte

//go:embed graph/subgraph.graphqls
var ofSubgraphs []byte

//go:embed deploy/subgraph.graphqls
var subgraph string

const description = "A site where users post articles and vote on them: GraphQL over Redis. Every setting is an environment variable or a flag; the flag takes precedence."

func main() { os.Exit(run(os.Args[1:])) }

// run runs the program and returns its exit code: 2 for an invalid setting or argument, 1 if the
// command failed.
func run(args []string) int {
	var p program
	command, err := settings.Parse(&p, args, description, thisBuild().String())
	if err != nil {
		fmt.Fprintln(os.Stderr, "frontpage:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGHUP) // of a terminal that was closed, or for a reload: files that change are read again anyway
	context.AfterFunc(ctx, stop)  // a second signal ends the process at once
	setMemory(settings.Memory())
	log := p.Logger()
	if name := command.Selected().Name; name == "serve" || name == "config" {
		settings.Warn(command, log)
	}
	if name := command.Selected().Name; name != "serve" {
		p.Command = name
	}
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(&p.Settings, log); err != nil {
		text := err.Error()
		if ctx.Err() != nil {
			text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
		}
		fmt.Fprintln(os.Stderr, "frontpage:", text)
		if errors.As(err, new(*settings.Error)) || errors.As(err, new(*store.OptionError)) {
			return 2
		}
		return 1
	}
	return 0
}

// openSite opens the site in an open store.
func openSite(ctx context.Context, s *settings.Settings, st *store.Store, options ...redisrepo.Option) (*redisrepo.Repo, error) {
	repo, err := redisrepo.New(ctx, st.Client, s.SiteRules(), append(options, siteOptions(s, st)...)...)
	return repo, explainPartitions(err, st)
}

func siteOptions(s *settings.Settings, st *store.Store) []redisrepo.Option {
	return []redisrepo.Option{redisrepo.WithPartitions(cmp.Or(st.Partitions, s.Partitions)), redisrepo.WithAcks(st.Acks), redisrepo.WithReports(s.Reports()), redisrepo.WithWebhooks(s.Webhooks()), redisrepo.WithDeletedTexts(s.DeletedTexts()), redisrepo.WithNewUserAge(s.NewUserAge), redisrepo.WithSearch(s.SearchOptions())}
}

// explainPartitions names the setting of a wrong number of partitions.
func explainPartitions(err error, st *store.Store) error {
	if !errors.As(err, new(*wire.PartitionsError)) {
		return err
	}
	if st.Partitions != 0 {
		return fmt.Errorf("%s: %w", settings.Name("redis-url"), err)
	}
	return fmt.Errorf("%s: %w", settings.Name("partitions"), err)
}

// logProgress returns a function that logs the progress of a long start: the beginning of each step, and
// then a line a second.
func logProgress(log *slog.Logger, prefix string) func(step string, done, total int) {
	var step string
	var last time.Time
	return func(doing string, done, total int) {
		if doing == step && time.Since(last) < time.Second {
			return
		}
		step, last = doing, time.Now()
		log.Info(prefix+doing, "done", done, "of", total)
	}
}

type serve struct{}

// Run serves until ctx ends, and then lets running requests finish.
func (serve) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) (err error) {
	r := &running{s: s}
	defer func() { err = errors.Join(err, r.end()) }()
	if err := r.prepare(ctx, log); err != nil {
		return err
	}
	if err := r.listen(); err != nil {
		return err
	}
	if err := r.openSite(ctx); err != nil {
		if ctx.Err() != nil {
			r.log.Info("stopped before the store was loaded")
			return nil
		}
		return err
	}
	r.follow()
	r.mount(ctx)
	announce(s, r.address, r.log)
	select {
	case err := <-r.failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		return r.gate.shutdown(ctx, r.server, r.api, s)
	}
}

// running is a server from its start to its end. Its methods open its parts, in this order.
type running struct {
	s     *settings.Settings
	close []closer // what is open; the last is closed first

	// Set by prepare.
	wanted         *net.TCPAddr // where to listen
	log            *slog.Logger
	away           *outagelog.Log
	requests       *tracing.Tracing
	encryption     *tls.Config
	options        endpoint.Options
	users          *signin.SignIn
	names          *signin.Names
	operator       *operator
	background     context.Context // ends before the store is closed
	stopBackground context.CancelFunc

	// Set by listen.
	gate    *gate
	server  *http.Server
	address net.Addr
	failed  chan error // why the server no longer serves

	// Set by openSite and mount.
	store  *store.Store
	repo   *redisrepo.Repo
	sender *webhooks.Sender
	api    *endpoint.Handler
}

// closer closes a part of a server.
type closer struct {
	part  string
	close func() error
}

// opened adds a part that has to be closed.
func (r *running) opened(part string, shut func() error) {
	r.close = append(r.close, closer{part, shut})
}

// end closes what is open.
func (r *running) end() error {
	var errs []error
	for _, c := range slices.Backward(r.close) {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// prepare makes what does not need the store.
func (r *running) prepare(ctx context.Context, log *slog.Logger) (err error) {
	s := r.s
	r.away = outagelog.New(log.Handler())
	r.log = tracing.Logger(r.away.Logger())
	log = r.log
	if r.wanted, err = wantedAddress(s); err != nil {
		return err
	}
	if err := s.StoreOptions(log).Check(); err != nil {
		return err
	}
	if r.encryption, err = s.TLS(log); err != nil {
		return err
	}
	if r.options, err = s.Endpoint(graph.Schema(), graph.Scalars); err != nil {
		return err
	}
	r.requests, err = tracing.Open(ctx, tracing.Options{Access: tracing.Access(s.AccessLog), Lines: s.AccessLogger(), Log: log, Build: thisBuild().version})
	if err != nil {
		return settings.Invalid(err) // names the variables
	}
	r.opened("tracing", r.requests.Close)
	r.options.Observers = append(r.options.Observers, r.requests.Observers()...)
	r.background, r.stopBackground = context.WithCancel(context.WithoutCancel(ctx))
	r.opened("background", func() error { r.stopBackground(); return nil })
	if r.users, err = s.OIDC(r.background, log); err != nil {
		return err
	}
	r.names = signin.NewNames(nil)
	if r.options.Identity, err = s.Verifier(r.background, r.users, r.names, log); err != nil {
		return err
	}
	if r.operator, err = serveOperator(s, r.options.Trusted, log); err != nil {
		return err
	}
	thisBuild().log(log) // after what may be invalid: that is an error in one line
	if r.operator != nil {
		log.Info("serving metrics and profiles", "admin", "http://"+r.operator.address.String()+"/")
		r.opened("operator", func() error { r.operator.close(); return nil })
		r.options.Observers = append(r.options.Observers, r.operator.metrics.Observer())
	}
	return nil
}

// listen opens the port. The gate refuses what needs the store until that is loaded.
func (r *running) listen() error {
	log := r.log
	listener, err := listen(r.wanted)
	if err != nil {
		return err
	}
	r.address = listener.Addr()
	r.gate = newGate(log, r.options)
	server := newServer(r.gate, r.options, r.encryption, log)
	server.Protocols.SetUnencryptedHTTP2(r.encryption == nil)
	accepting := endpoint.Receive(server, listener, debug.SetMemoryLimit(-1), r.options)
	server.Handler = r.requests.Handler(server.Handler)
	r.server = server
	r.opened("server", func() error { _ = server.Close(); return nil })
	r.failed = make(chan error, 1)
	go func() {
		if r.encryption != nil {
			r.failed <- server.ServeTLS(accepting, "", "")
		} else {
			r.failed <- server.Serve(accepting)
		}
	}()
	log.Info("listening; /readyz says when the store is loaded", "address", r.address.String())
	return nil
}

// openSite opens the store and the site in it, and adds the sample articles.
func (r *running) openSite(ctx context.Context) (err error) {
	s, log := r.s, r.log
	if r.store, err = store.Open(ctx, s.StoreOptions(log)); err != nil {
		return err
	}
	r.opened("store", r.store.Close)
	failover.LimitWaiting(r.store.Client)
	progress := logProgress(log, "preparing the store: ")
	r.repo, err = openSite(ctx, s, r.store,
		redisrepo.OnProgress(func(step string, done, total int) {
			r.gate.starts(fmt.Sprintf("%s, %d of %d", step, done, total))
			progress(step, done, total)
		}),
		redisrepo.OnRerank(func(changed string) {
			log.Warn("rules changed: re-ranking all articles; stop processes with the former rules", "changed", changed)
		}))
	if err != nil {
		return err
	}
	if r.requests.On() {
		r.store.Client.AddHook(r.requests.RedisHook())
	}
	r.sender = webhooks.New(r.repo, webhooks.Options{Log: log})
	if r.operator != nil {
		r.operator.metrics.FollowStore(r.store.Client, r.repo)
		r.operator.metrics.FollowWebhooks(r.sender)
	}
	if err := wire.Join(ctx, r.store.Client, wire.JoinWait); err != nil {
		return err
	}
	log.Info("the store is " + r.store.String())
	if advice := advise(ctx, r.repo, log); advice != nil {
		log.Info(advice.String(), "see", "frontpage rank --ranking "+advice.Ranking())
	}
	switch {
	case len(s.DevHosts) > 0:
		log.Warn(r.options.Identity.String()+"; FRONTPAGE_DEV_HOSTS is set: everyone who can connect can act as any user, also as a moderator", "address", r.address.String(), "dev_hosts", s.DevHosts)
	case s.Development():
		log.Warn(r.options.Identity.String() + "; only this machine can connect. To go online, set up sign-in: docs/sign-in.md")
	default:
		log.Info(r.options.Identity.String())
	}
	if !s.DemoArticles {
		return nil
	}
	added, err := demo.Fill(ctx, r.repo)
	if err != nil {
		return err
	}
	if added == 0 {
		log.Warn("no sample articles were added: the site has, or had, articles; to see the samples, use another directory, such as FRONTPAGE_DATA_DIR=demo")
	} else {
		log.Info("sample articles", "added", added)
	}
	return nil
}

// follow follows outages of the store, and live updates.
func (r *running) follow() {
	r.away.Follow(r.background, r.repo.Serves)
	var updates sync.WaitGroup
	updates.Go(func() {
		r.repo.Live.Listen(r.background, r.warns("live updates are interrupted until the log can be read again: see err"))
	})
	updates.Go(func() {
		r.repo.Views.Follow(r.background, r.warns("listings, rankings and lists of votes are not updated in the background: reads are slower until this works again, see err"))
	})
	updates.Go(func() { r.repo.Denials.Follow(r.background) })
	updates.Go(func() { r.sender.Follow(r.background, r.warns("webhooks are delayed: trying again, see err")) })
	updates.Go(func() {
		r.repo.Retention.Follow(r.background, r.warns("erasing the texts of deleted articles is delayed: trying again, see err"))
	})
	updates.Go(func() { r.followSearch() })
	r.awaitSearch()
	r.opened("followers", func() error { r.stopBackground(); updates.Wait(); r.away.Wait(); return nil })
}

// warns returns a function that logs an error while the store serves: the error is then no sign of an outage.
func (r *running) warns(message string) func(error) {
	return func(err error) {
		if r.away.Check() {
			r.log.Warn(message, "err", err.Error())
		}
	}
}

// followSearch keeps the index of search complete. While that takes more than a second, it logs its progress.
func (r *running) followSearch() {
	next, logged := time.Now().Add(time.Second), false
	r.repo.Search.Follow(r.background, func(done, total int) {
		if done < total && time.Now().After(next) {
			next, logged = time.Now().Add(time.Second), true
			r.log.Info("building the search index", "done", done, "of", total)
		} else if done >= total && logged {
			logged = false
			r.log.Info("the search index is complete", "articles", done)
		}
	}, r.warns("search lacks the latest articles: trying again, see err"))
}

// awaitSearch waits for the index of a small site, so that its first search finds all.
func (r *running) awaitSearch() {
	for late := time.Now().Add(searchWait); r.repo.Search.On() && !r.repo.Search.Status().Ready && time.Now().Before(late); {
		failover.Wait(r.background, 5*time.Millisecond)
	}
}

// searchWait is the maximum time that the start waits for the index of search.
const searchWait = 300 * time.Millisecond

// endpoints are the paths of the API, which are the same in every respect. Others' servers have the second one.
var endpoints = []string{"/query", "/graphql"}

// mount opens the gate to the API, the site and the sign-in.
func (r *running) mount(ctx context.Context) {
	s, log, repo := r.s, r.log, r.repo
	api := graph.NewHandler(repo, about(s), log, r.options)
	r.api = api
	r.opened("leases", func() error { returnLeases(ctx, repo, log); return nil })
	if r.operator != nil {
		r.operator.metrics.FollowEndpoint(api)
	}
	site := http.NewServeMux()
	files := s.Pages()
	if s.ServesSchema() {
		files.Schema = schema
		if s.Subgraph {
			files.Schema = slices.Concat(schema, []byte("\n"), ofSubgraphs)
		}
	}
	if s.Has("site") {
		listed, rendered := s.Feeds(log), s.Rendered(r.options, log)
		listed.Work, rendered.Work = api.Work, api.Work
		feeds.Handle(site, repo, listed)
		files.Missing = pages.Handle(site, api, repo, rendered)
	}
	site.Handle("/", web.Handler(files))
	documents := http.NewServeMux()
	documents.Handle("/", site)
	r.names.Use(repo)
	if r.users != nil {
		r.users.Use(repo)
		r.users.Handle(documents) // with a page to sign in instead of the site's
	}
	known := knownHosts(s)
	var served http.Handler = api
	if s.Has("explorer") {
		served = web.ForBrowsers(api)
	}
	if s.Development() {
		served = known(served) // otherwise the API needs credentials to act as a user; it repeats no host
	}
	r.gate.open(known(documents), served, repo)
}

// about returns what clients need to know of the site.
func about(s *settings.Settings) graph.Site {
	site := graph.Site{Name: s.SiteName, Version: thisBuild().version, SignIn: graph.ByToken, Explorer: s.Has("explorer"), PublicLog: s.PublicLog}
	if s.Contact != "" {
		site.Contact = &s.Contact
	}
	if s.Subgraph {
		site.Subgraph = subgraph
	}
	switch {
	case s.Development():
		site.SignIn = graph.ByName
	case s.ProxyUserHeader != "":
		site.SignIn = graph.ByProxy
	case s.OIDCIssuer != "":
		site.SignIn, site.SignInURL = graph.BySession, new(signin.Path+"?return={return}")
	}
	if s.SignInURL != "" {
		site.SignInURL = &s.SignInURL
	}
	return site
}

// newServer returns a server for http or, if encryption is not nil, https.
func newServer(handler http.Handler, options endpoint.Options, encryption *tls.Config, log *slog.Logger) *http.Server {
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         encryption,
		ReadHeaderTimeout: 5 * time.Second,
		// These limit requests and ordinary responses; a stream sets its own deadlines.
		ReadTimeout:    10 * time.Second,
		WriteTimeout:   options.Timeout + 25*time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: int(min(options.BodyLimit, 16<<20)) + 64<<10, // room for the longest query string
		ErrorLog:       errorLog(log),
		Protocols:      new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	return server
}

// announce logs the URLs of the site, the explorer and the endpoint.
func announce(s *settings.Settings, address net.Addr, log *slog.Logger) {
	origin := "http://" + address.String()
	if s.TLSCertFile != "" {
		origin = "https://" + address.String()
	}
	var addresses []any
	if s.Has("site") {
		addresses = append(addresses, "site", origin+"/")
	}
	if s.Has("explorer") {
		addresses = append(addresses, "explorer", origin+"/graphiql")
	}
	log.Info("serving", append(addresses, "endpoint", origin+"/query")...)
	if page := pageToOpen(s, origin, address); page != "" && s.LogFormat == "text" && s.LogLevel <= slog.LevelInfo {
		fmt.Fprintln(os.Stderr, "Open "+page)
	}
}

// pageToOpen returns the URL of the site or, without it, of the explorer; empty without both.
func pageToOpen(s *settings.Settings, origin string, address net.Addr) string {
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		origin = strings.Replace(origin, address.String(), fmt.Sprintf("127.0.0.1:%d", tcp.Port), 1)
	}
	origin = cmp.Or(s.Address(), origin)
	switch {
	case s.Has("site"):
		return origin + "/"
	case s.Has("explorer"):
		return origin + "/graphiql"
	}
	return ""
}

// errorLog logs the errors of net/http without addresses of clients. A line with one, such as a failed TLS
// handshake or a broken HTTP/2 frame, is about what a client did, and is left out. Any client can cause
// thousands. Panics, and errors of the listener, are logged.
func errorLog(log *slog.Logger) *stdlog.Logger {
	lines := slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	return stdlog.New(writerFunc(func(line []byte) (int, error) {
		switch {
		case bytes.HasPrefix(line, []byte("http: Accept error")): // it has the address of the server
			lines.Print(string(line))
		case bytes.Contains(line, []byte(": panic serving ")):
			lines.Print(string(clientAddress.ReplaceAll(line, []byte("a client"))))
		case !clientAddress.Match(line):
			lines.Print(string(line))
		}
		return len(line), nil
	}), "", 0)
}

// clientAddress matches an IPv4 or IPv6 address with a port, as net/http writes it.
var clientAddress = regexp.MustCompile(`\[[0-9a-fA-F:.]+(%[^]]*)?\]:\d+|\d+\.\d+\.\d+\.\d+:\d+`)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(line []byte) (int, error) { return f(line) }

// wantedAddress returns FRONTPAGE_ADDR. It must be a loopback address in development mode, in which callers may claim any name,
// and as long as the site has no public URL.
func wantedAddress(s *settings.Settings) (*net.TCPAddr, error) {
	resolved, err := net.ResolveTCPAddr("tcp", s.Addr)
	if err != nil {
		return nil, settings.Invalid(err, "addr")
	}
	switch {
	case resolved.IP.IsLoopback():
	case s.Development() && len(s.DevHosts) == 0:
		return nil, settings.Invalid(fmt.Errorf("%s is not a loopback address, and without sign-in every client can claim to be any user: "+
			"use 127.0.0.1:%d, or set FRONTPAGE_OIDC_ISSUER, FRONTPAGE_JWT_SECRET, FRONTPAGE_JWKS or FRONTPAGE_PROXY_USER_HEADER; in a container that only you can reach, set FRONTPAGE_DEV_HOSTS", s.Addr, resolved.Port), "addr")
	case !s.Development() && s.PublicURL == "":
		return nil, settings.Invalid(fmt.Errorf("it is missing, and FRONTPAGE_ADDR %s is not a loopback address: set it to the address at which visitors reach the site, "+
			"such as https://news.example.org; links in pages, feeds and the sitemap begin with it, and other hosts get no pages", s.Addr), "public-url")
	}
	return resolved, nil
}

func listen(wanted *net.TCPAddr) (*net.TCPListener, error) {
	listener, err := net.ListenTCP("tcp", wanted)
	if errors.Is(err, syscall.EADDRINUSE) {
		other := *wanted
		other.Port = wanted.Port%65535 + 1
		return nil, fmt.Errorf("%s: port %d is already in use: choose another one, such as FRONTPAGE_ADDR=%v", settings.Name("addr"), wanted.Port, &other)
	}
	if err != nil {
		return nil, cannotListen(err, "addr")
	}
	return listener, nil
}

// cannotListen names the setting of an address. A port that is in use or forbidden may be free the next time: it does not
// make the setting invalid.
func cannotListen(err error, flag string) error {
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("%s: %w", settings.Name(flag), err)
	}
	return settings.Invalid(err, flag)
}

// knownHosts returns what serves only requests to this machine, as localhost or by a loopback address, and to the names of
// the site: FRONTPAGE_DEV_HOSTS in development mode, where anyone can make the host name of a web page resolve to this machine (DNS
// rebinding) and a browser would treat this server as that page's own origin; else FRONTPAGE_PUBLIC_URL, because pages must not be
// made, and kept by caches, for a host that a visitor has invented.
func knownHosts(s *settings.Settings) func(http.Handler) http.Handler {
	names, reason := s.DevHosts, "in development mode this server accepts only requests to localhost, 127.0.0.1 and FRONTPAGE_DEV_HOSTS"
	if !s.Development() {
		names, reason = nil, "the site is not at this address: its operator sets the right one as FRONTPAGE_PUBLIC_URL"
		if site, err := url.Parse(s.Address()); err == nil && s.PublicURL != "" {
			names = []string{site.Hostname()}
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if isKnown(req.Host, names) {
				next.ServeHTTP(w, req)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, reason, http.StatusMisdirectedRequest)
		})
	}
}

// isKnown reports whether the header Host has one of the names, with any port, or this machine's own. A star stands for any
// names before the rest.
func isKnown(header string, names []string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.Trim(header, "[]")
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if address, err := netip.ParseAddr(host); err == nil && address.IsLoopback() {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.ContainsFunc(names, func(name string) bool {
		name = strings.ToLower(name)
		rest, wildcard := strings.CutPrefix(name, "*")
		return host == name || wildcard && strings.HasSuffix(host, rest)
	})
}
