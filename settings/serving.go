package settings

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/net/idna"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store/watchfile"
	"frontpage/site/feeds"
	"frontpage/site/pages"
	"frontpage/site/web"
)

// Serving are the settings of the HTTP server and of the pages that it serves.
type Serving struct {
	Addr           string        `default:"127.0.0.1:8080" help:"Address to listen on, HOST:PORT. In development mode it must be a loopback address, unless FRONTPAGE_DEV_HOSTS is set. Port 0 picks a free port."`
	DevHosts       []string      `placeholder:"NAME" help:"Names besides localhost by which development mode can be reached, such as devbox or *.app.github.dev, for containers. FRONTPAGE_ADDR may then be any address. Everyone who can connect can act as any user."`
	TLSCertFile    string        `name:"tls-cert-file" placeholder:"FILE" help:"Certificate in PEM format, for serving https. Needs FRONTPAGE_TLS_KEY_FILE."`
	TLSKeyFile     string        `name:"tls-key-file" placeholder:"FILE" help:"Private key of that certificate."`
	Serves         []string      `name:"serve" default:"site,explorer" help:"What is served besides the API: site, at /; explorer, GraphiQL at /graphiql; both, or off."`
	PublicURL      string        `name:"public-url" placeholder:"URL" help:"Address at which visitors reach the site, such as https://news.example.org. Links begin with it, and requests for other hosts get 421. Required if sign-in is configured and FRONTPAGE_ADDR is not a loopback address. Default: the address of each request, which must be this machine's."`
	SignInURL      string        `name:"sign-in-url" placeholder:"URL" help:"URL or path of your sign-in page. It must contain {return}, which is replaced by the URL to redirect users back to; with tokens, append #token=TOKEN to that URL."`
	EmbedOrigins   []string      `placeholder:"ORIGIN" help:"Origins, such as https://example.org, whose pages may have the site's vote button. Default: none."`
	WebhookOrigins []string      `placeholder:"ORIGIN" help:"Origins of webhooks, such as http://10.0.0.5:9000, besides those at public addresses by https on port 443. Webhooks need FRONTPAGE_SECRET, too."`
	ShutdownDelay  time.Duration `default:"0s" help:"How long requests are still served after SIGTERM, while /readyz is 503, so that load balancers notice. 0 or more."`
	DrainTime      time.Duration `default:"5s" help:"Over how much time WebSockets and event streams are ended after that, at most 100ms apart. 0 ends all at once."`
	DemoArticles   bool          `help:"Fill an empty store with sample articles at the start."`
}

// Has reports whether a page is served besides the API: site or explorer.
func (s *Serving) Has(page string) bool { return slices.Contains(s.Serves, page) }

func (s *Serving) check() error {
	if _, _, err := net.SplitHostPort(s.Addr); err != nil {
		example := "127.0.0.1:8080"
		if _, err := strconv.ParseUint(s.Addr, 10, 16); err == nil {
			example = "127.0.0.1:" + s.Addr
		}
		return Invalid(fmt.Errorf("%q is not of the form HOST:PORT, such as %s", s.Addr, example), "addr")
	}
	if text := strings.Join(s.Serves, ","); !slices.Contains([]string{"site", "explorer", "site,explorer", "explorer,site", "off"}, text) {
		return Invalid(fmt.Errorf("%q is not site, explorer, both separated by a comma, or off", text), "serve")
	}
	if (s.TLSCertFile == "") != (s.TLSKeyFile == "") {
		return Invalid(errors.New("one is set and the other is not"), "tls-cert-file", "tls-key-file")
	}
	if s.ShutdownDelay < 0 {
		return Invalid(fmt.Errorf("%v is below 0", s.ShutdownDelay), "shutdown-delay")
	}
	if s.DrainTime < 0 {
		return Invalid(fmt.Errorf("%v is below 0", s.DrainTime), "drain-time")
	}
	if _, err := s.publicURL(); err != nil {
		return err
	}
	if err := checkOrigins(s.EmbedOrigins, "embed-origins"); err != nil {
		return err
	}
	if err := checkOrigins(s.WebhookOrigins, "webhook-origins"); err != nil {
		return err
	}
	if s.SignInURL == "" {
		return nil
	}
	u, err := url.Parse(strings.ReplaceAll(s.SignInURL, "{return}", ""))
	address := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	path := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/")
	if !address && !path {
		return Invalid(fmt.Errorf("%q is neither an http or https URL nor a path that begins with /", s.SignInURL), "sign-in-url")
	}
	if !strings.Contains(s.SignInURL, "{return}") {
		return Invalid(errors.New("it lacks {return}, which is replaced by the URL to redirect users back to"), "sign-in-url")
	}
	return nil
}

// checkOrigins returns an error unless all are origins as browsers write them.
func checkOrigins(origins []string, flag string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+strings.ToLower(u.Host) != origin {
			return Invalid(fmt.Errorf("%q is not an origin, such as https://example.org, without a slash at the end", origin), flag)
		}
		if strings.Contains(origin, "*") {
			return Invalid(fmt.Errorf("%q has a *, which stands for nothing here: list each origin", origin), flag)
		}
	}
	return nil
}

// Address returns the URL at which visitors reach the site, without a final slash; empty without FRONTPAGE_PUBLIC_URL.
func (s *Serving) Address() string {
	address, _ := s.publicURL() // checked when the settings were read
	return address
}

// publicURL returns FRONTPAGE_PUBLIC_URL as links begin with it: without a slash at the end, and with the host in ASCII.
func (s *Serving) publicURL() (string, error) {
	if s.PublicURL == "" {
		return "", nil
	}
	site, err := url.Parse(s.PublicURL)
	if err != nil || site.Scheme != "http" && site.Scheme != "https" || site.Hostname() == "" || site.User != nil || strings.Trim(site.Path, "/")+site.RawQuery+site.Fragment != "" {
		return "", Invalid(fmt.Errorf("%q is not an http or https URL without a path, such as https://news.example.org", s.PublicURL), "public-url")
	}
	if ascii, err := idna.Lookup.ToASCII(site.Hostname()); err == nil {
		site.Host = strings.Replace(site.Host, site.Hostname(), ascii, 1)
	}
	return site.Scheme + "://" + site.Host, nil
}

// HTTPS reports whether browsers reach the site by https. Cookies are then sent by https only.
func (s *Serving) HTTPS() bool {
	return s.TLSCertFile != "" || strings.HasPrefix(strings.ToLower(s.PublicURL), "https:")
}

// TLS returns the configuration to serve https with, or nil without a certificate. The certificate is read again when its
// files change.
func (s *Serving) TLS(log *slog.Logger) (*tls.Config, error) {
	if s.TLSCertFile == "" {
		return nil, nil
	}
	pair, err := watchfile.Read(log, func(contents [][]byte) (tls.Certificate, error) {
		return tls.X509KeyPair(contents[0], contents[1])
	}, s.TLSCertFile, s.TLSKeyFile)
	if err != nil {
		return nil, Invalid(err, "tls-cert-file", "tls-key-file")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return new(pair.Latest()), nil
	}}, nil
}

// Feeds returns the options of the feeds, without Charge.
func (s *Settings) Feeds(log *slog.Logger) feeds.Options {
	return feeds.Options{Name: s.SiteName, PublicURL: s.Address(), PageSize: s.PageSize, Timeout: s.RequestTimeout, Has: web.Options{Without: s.without()}.Has, Log: log}
}

// Rendered returns the options of the pages that the server renders. api are those of the endpoint.
func (s *Settings) Rendered(api endpoint.Options, log *slog.Logger) pages.Options {
	return pages.Options{Site: s.Pages(), PublicURL: s.Address(), Secure: s.HTTPS(), API: api, Log: log, EmbedOrigins: s.EmbedOrigins}
}

// ServesSchema reports whether any client may read the schema at its URL.
func (s *Settings) ServesSchema() bool { return s.Introspection || s.PublicSchema }

// Pages returns the options of the site and the explorer.
func (s *Settings) Pages() web.Options {
	texts, _ := web.ReadTexts(s.SiteLanguage) // checked when the settings were read, like the rest
	logo, _ := s.logo()
	links, _ := s.links()
	rules, _ := s.rules()
	if s.box != nil {
		links = append(links, web.Link{Text: texts.Text("noticeLink"), URL: "/notice"})
	}
	if address := web.ContactURL(s.Contact); address != "" {
		links = append(links, web.Link{Text: texts.Text("contact"), URL: address})
	}
	if s.PublicLog {
		links = append(links, web.Link{Text: texts.Text("publicLog"), URL: "/log"})
	}
	return web.Options{
		Without: s.without(),
		Site:    s.Has("site"), Explorer: s.Has("explorer"),
		Name: s.SiteName, About: s.SiteAbout, Texts: texts, Accent: s.SiteAccent, Logo: logo, Links: links, Rules: rules,
		Editable: web.Editable{Title: int(s.EditWindow.Seconds()), Text: int(s.SiteRules().TextWindow().Seconds())},
	}
}

// without returns the pages that the rules leave out, as web.Options has them.
func (s *Settings) without() (pages []string) {
	for page, has := range map[string]bool{
		"top": s.Calendar != "off", "group-top": s.Calendar == "groups", "lab": s.Calendar != "off", "past": s.FrontPagesKept > 0, "votes": s.VotesKept != History(site.NoHistory),
		"notice": s.box != nil, "search": s.SearchOptions().Titles && s.EventsKept > 0,
	} {
		if !has {
			pages = append(pages, page)
		}
	}
	slices.Sort(pages)
	return pages
}

// API are the settings of GraphQL over HTTP.
type API struct {
	RequestTimeout    time.Duration `default:"${Timeout}" help:"Maximum time for one query or mutation, at least 1ms."`
	MaxConcurrent     int           `default:"${MaxConcurrent}" help:"Maximum number of queries and mutations at work. Others wait up to 500ms and are then refused with 503. 0 means unlimited."`
	SharedAnswers     time.Duration `default:"${SharedAnswers}" help:"How long an answer that is the same for all callers serves equal queries. Articles in other answers may be as old. At most 1m; 0 shares nothing."`
	CacheMaxAge       time.Duration `default:"${MaxAge}" help:"How long a cache may keep such an answer to an anonymous GET, whole seconds, at most 1h; 0: not at all."`
	DepthLimit        int           `default:"${Depth}" help:"Maximum nesting depth of fields. Introspection has a limit of its own."`
	ComplexityLimit   int           `default:"${Cost}" help:"Maximum number of objects and scalars in a response, computed before the operation runs."`
	PingInterval      time.Duration `default:"${Ping}" help:"Interval of pings on open streams, and maximum time for one write, at least 100ms."`
	StreamsPerAddress int           `default:"${PerAddress}" help:"Maximum number of WebSockets and event streams per address. A user may have a 60th of it, but at least 100. Unfinished request headers of an address may take 700 bytes for each stream."`
	MaxWatched        int           `default:"${Watched}" help:"Maximum number of articles watched by all subscriptions, each counted once per subscription. An address may watch a quarter of them, a user a 100th."`
	Introspection     bool          `default:"true" negatable:"" help:"Let clients query the schema. If off, error messages suggest no names either."`
	PublicSchema      bool          `help:"Serve the schema at /schema.graphqls also if introspection is off."`
	Subgraph          bool          `help:"Answer a router of Apollo Federation: the schema then has _service and _entities."`
	CORSOrigins       []string      `name:"cors-origins" placeholder:"ORIGIN" help:"Origins, such as https://example.org, whose pages may use the API; one * in each matches anything. The site's own pages always may."`
	TrustedDocuments  string        `placeholder:"FILE" help:"File with a JSON object of GraphQL documents by hash. If set, no other document is accepted."`
}

// endpointFlags are the flags of the options that endpoint validates.
var endpointFlags = map[string]string{
	"Timeout":            "request-timeout",
	"MaxConcurrent":      "max-concurrent",
	"SharedAnswers":      "shared-answers",
	"MaxAge":             "cache-max-age",
	"Origins":            "cors-origins",
	"Limits.Depth":       "depth-limit",
	"Limits.Cost":        "complexity-limit",
	"Limits.PageSize":    "page-size",
	"Streams.Ping":       "ping-interval",
	"Streams.PerAddress": "streams-per-address",
	"Streams.Watched":    "max-watched",
	"Rates.Cost":         "rates",
	"Rates.Votes":        "rates",
	"Rates.Posts":        "rates",
	"Rates.Changes":      "rates",
	"Rates.Reports":      "rates",
	"Rates.New":          "rates",
	"Rates.Addresses":    "rates",
}

// endpointOptions returns the options of the endpoint, without trusted documents and Identity.
func (s *Settings) endpointOptions() endpoint.Options {
	o := endpoint.DefaultOptions()
	o.Timeout, o.MaxConcurrent, o.SharedAnswers, o.MaxAge = s.RequestTimeout, s.MaxConcurrent, s.SharedAnswers, s.CacheMaxAge
	o.Introspection, o.Origins, o.Proxies, o.AuditSecret = s.Introspection, s.origins(), s.TrustedProxies, s.auditSecret
	o.Rates = s.Rates.values(s.Development())
	o.Limits.Depth, o.Limits.Cost, o.Limits.PageSize = s.DepthLimit, s.ComplexityLimit, s.PageSize
	o.Streams.Ping, o.Streams.PerAddress, o.Streams.Watched = s.PingInterval, s.StreamsPerAddress, s.MaxWatched
	o.Streams.PerViewer = max(min(100, s.StreamsPerAddress), s.StreamsPerAddress/60)
	o.Streams.WatchedPerAddress, o.Streams.WatchedPerViewer = max(1, s.MaxWatched/4), max(1, s.MaxWatched/100)
	o.Streams.Memory = debug.SetMemoryLimit(-1) / 4
	return o
}

// origins returns whose pages' scripts may use the endpoint. What forwards to a container may change the header Host, so
// that pages of FRONTPAGE_DEV_HOSTS look foreign.
func (s *Settings) origins() []string {
	origins := slices.Clone(s.CORSOrigins)
	for _, host := range s.DevHosts {
		origins = append(origins, "https://"+host)
	}
	return origins
}

// Endpoint returns the options of the endpoint, without Identity. It reads the trusted documents, which
// must be valid for schema and its scalars.
func (s *Settings) Endpoint(schema *ast.Schema, scalars endpoint.Scalars) (endpoint.Options, error) {
	o := s.endpointOptions()
	if s.TrustedDocuments == "" {
		return o, nil
	}
	file, err := os.ReadFile(s.TrustedDocuments)
	if err == nil {
		o.Trusted, err = endpoint.ReadTrusted(file, schema, scalars, o.Limits)
	}
	if err != nil {
		return o, Invalid(err, "trusted-documents")
	}
	return o, nil
}
