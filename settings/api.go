package settings

import (
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
)

// API are the settings of GraphQL over HTTP.
type API struct {
	RequestTimeout    time.Duration `default:"${Timeout}" help:"Maximum time for one query or mutation, at least 1ms."`
	MaxConcurrent     int           `default:"${MaxConcurrent}" help:"Maximum number of queries and mutations at work. Others wait up to 500ms and are then refused with 503. 0 means unlimited."`
	SharedAnswers     time.Duration `default:"${SharedAnswers}" help:"How old the answer to a query may be that is the same for all callers: equal queries within this time are executed once. The articles in other answers may be as old. At most 1m; 0 shares nothing."`
	CacheMaxAge       time.Duration `default:"${MaxAge}" help:"How long a cache may keep such an answer to an anonymous GET, whole seconds, at most 1h; 0: not at all."`
	DepthLimit        int           `default:"${Depth}" help:"Maximum nesting depth of fields. Introspection has a limit of its own."`
	ComplexityLimit   int           `default:"${Cost}" help:"Maximum number of objects and scalars in a response, computed from the page sizes before the operation runs."`
	PingInterval      time.Duration `default:"${Ping}" help:"Interval of the pings on open streams, and maximum time for one write to a stream, at least 100ms."`
	StreamsPerAddress int           `default:"${PerAddress}" help:"Maximum number of WebSockets and event streams per address. A user may have a 60th of it, or 100 if that is more. Unfinished request headers of an address may take 700 bytes for each stream."`
	MaxWatched        int           `default:"${Watched}" help:"Maximum number of articles watched by all subscriptions. An article counts once for each subscription that watches it. Those of one address may be a quarter of them, those of one user a 100th."`
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
