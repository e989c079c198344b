package settings

import (
	"os"
	"slices"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
)

// API are the settings of GraphQL over HTTP.
type API struct {
	BodyLimit           int64         `env:"BODY_LIMIT" default:"${body_limit}" help:"Maximum size of a request body, a query string or a WebSocket message, bytes."`
	RequestTimeout      time.Duration `env:"REQUEST_TIMEOUT" default:"${request_timeout}" help:"Maximum time for one query or mutation, at least 1ms."`
	MaxConcurrent       int           `env:"MAX_CONCURRENT" default:"${max_concurrent}" help:"Maximum number of queries and mutations at work. Others wait up to 500ms and are then refused with 503. 0 means unlimited."`
	SharedAnswers       time.Duration `env:"SHARED_ANSWERS" default:"${shared_answers}" help:"How old the answer to a query may be that is the same for all callers: equal queries within this time are executed once. The articles in other answers may be as old. At most 1m; 0 shares nothing."`
	CacheMaxAge         time.Duration `env:"CACHE_MAX_AGE" default:"${cache_max_age}" help:"How long a cache may keep such an answer to an anonymous GET, whole seconds, at most 1h; 0: not at all."`
	TokenLimit          int           `env:"TOKEN_LIMIT" default:"${token_limit}" help:"Maximum number of tokens in a document."`
	DepthLimit          int           `env:"DEPTH_LIMIT" default:"${depth_limit}" help:"Maximum nesting depth of fields. Introspection has a limit of its own."`
	AliasLimit          int           `env:"ALIAS_LIMIT" default:"${alias_limit}" help:"Maximum number of aliases in an operation."`
	RootFieldLimit      int           `env:"ROOT_FIELD_LIMIT" default:"${root_field_limit}" help:"Maximum number of fields at the root of an operation."`
	DirectiveLimit      int           `env:"DIRECTIVE_LIMIT" default:"${directive_limit}" help:"Maximum number of directives in an operation."`
	FieldLimit          int           `env:"FIELD_LIMIT" default:"${field_limit}" help:"Maximum number of fields in an operation."`
	ComplexityLimit     int           `env:"COMPLEXITY_LIMIT" default:"${complexity_limit}" help:"Maximum number of objects and scalars in a response, computed from the page sizes before the operation runs."`
	PingInterval        time.Duration `env:"PING_INTERVAL" default:"${ping_interval}" help:"Interval of the pings on open streams, and maximum time for one write to a stream, at least 100ms."`
	StreamsPerAddress   int           `env:"STREAMS_PER_ADDRESS" default:"${streams_per_address}" help:"Maximum number of WebSockets and event streams per address."`
	StreamsPerViewer    int           `env:"STREAMS_PER_VIEWER" default:"${streams_per_viewer}" help:"Maximum number of WebSockets and event streams per user."`
	OperationsPerSocket int           `env:"OPERATIONS_PER_SOCKET" default:"${operations_per_socket}" help:"Maximum number of concurrent operations on one WebSocket."`
	MaxWatched          int           `env:"MAX_WATCHED" default:"${max_watched}" help:"Maximum number of articles watched by all subscriptions. An article counts once for each subscription that watches it."`
	WatchedPerAddress   int           `env:"WATCHED_PER_ADDRESS" default:"${watched_per_address}" help:"Maximum number of articles watched per address."`
	WatchedPerViewer    int           `env:"WATCHED_PER_VIEWER" default:"${watched_per_viewer}" help:"Maximum number of articles watched per user."`
	Introspection       bool          `env:"INTROSPECTION" default:"true" negatable:"" help:"Let clients query the schema. If off, error messages suggest no names either."`
	GETPreflight        bool          `env:"GET_PREFLIGHT" name:"get-preflight" negatable:"" help:"Require the header GraphQL-Require-Preflight or Apollo-Require-Preflight in a GET."`
	CORSOrigins         []string      `env:"CORS_ORIGINS" name:"cors-origins" placeholder:"ORIGIN" help:"Origins, such as https://example.org, whose pages may use the API; one * in each matches anything. The site's own pages always may."`
	TrustedDocuments    string        `env:"TRUSTED_DOCUMENTS" placeholder:"FILE" help:"File with a JSON object of GraphQL documents by hash. If set, no other document is accepted."`
}

// endpointFlags are the flags of the options that endpoint validates.
var endpointFlags = map[string]string{
	"BodyLimit":                 "body-limit",
	"Timeout":                   "request-timeout",
	"MaxConcurrent":             "max-concurrent",
	"SharedAnswers":             "shared-answers",
	"MaxAge":                    "cache-max-age",
	"Origins":                   "cors-origins",
	"Limits.Tokens":             "token-limit",
	"Limits.Depth":              "depth-limit",
	"Limits.Aliases":            "alias-limit",
	"Limits.RootFields":         "root-field-limit",
	"Limits.Directives":         "directive-limit",
	"Limits.Fields":             "field-limit",
	"Limits.Cost":               "complexity-limit",
	"Limits.PageSize":           "page-size",
	"Streams.Ping":              "ping-interval",
	"Streams.PerAddress":        "streams-per-address",
	"Streams.PerViewer":         "streams-per-viewer",
	"Streams.Operations":        "operations-per-socket",
	"Streams.Watched":           "max-watched",
	"Streams.WatchedPerAddress": "watched-per-address",
	"Streams.WatchedPerViewer":  "watched-per-viewer",
	"Streams.Memory":            "memory-limit-mib",
	"Rates.Cost":                "rate-cost",
	"Rates.Votes":               "rate-votes",
	"Rates.Posts":               "rate-posts",
	"Rates.Changes":             "rate-changes",
	"Rates.Addresses":           "rate-addresses",
}

// endpointOptions returns the options of the endpoint, without trusted documents and Identity.
func (s *Settings) endpointOptions() endpoint.Options {
	return endpoint.Options{
		BodyLimit:     s.BodyLimit,
		Timeout:       s.RequestTimeout,
		MaxConcurrent: s.MaxConcurrent,
		SharedAnswers: s.SharedAnswers,
		MaxAge:        s.CacheMaxAge,
		Introspection: s.Introspection,
		GETPreflight:  s.GETPreflight,
		Origins:       s.origins(),
		Proxies:       s.TrustedProxies,
		AuditSecret:   s.auditSecret,
		Rates:         s.Rates.values(s.Development()),
		Streams: endpoint.StreamLimits{
			Ping: s.PingInterval, PerAddress: s.StreamsPerAddress, PerViewer: s.StreamsPerViewer, Operations: s.OperationsPerSocket,
			Watched: s.MaxWatched, WatchedPerAddress: s.WatchedPerAddress, WatchedPerViewer: s.WatchedPerViewer,
			Memory: s.MemoryLimitMiB << 20 / 4,
		},
		Limits: endpoint.Limits{
			Tokens: s.TokenLimit, Depth: s.DepthLimit, Aliases: s.AliasLimit, RootFields: s.RootFieldLimit,
			Directives: s.DirectiveLimit, Fields: s.FieldLimit, Cost: s.ComplexityLimit, PageSize: s.PageSize,
		},
	}
}

// origins returns whose pages' scripts may use the endpoint. What forwards to a container may change the header Host, so
// that pages of DEV_HOSTS look foreign.
func (s *Settings) origins() []string {
	origins := slices.Clone(s.CORSOrigins)
	for _, host := range s.DevHosts {
		origins = append(origins, "https://"+host)
	}
	return origins
}

// Endpoint returns the options of the endpoint, without Identity. It reads the trusted documents, which
// must be valid for schema.
func (s *Settings) Endpoint(schema *ast.Schema) (endpoint.Options, error) {
	o := s.endpointOptions()
	if s.TrustedDocuments == "" {
		return o, nil
	}
	file, err := os.ReadFile(s.TrustedDocuments)
	if err == nil {
		o.Trusted, err = endpoint.ReadTrusted(file, schema, o.Limits)
	}
	if err != nil {
		return o, Invalid(err, "trusted-documents")
	}
	return o, nil
}
