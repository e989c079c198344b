package main

import (
	"fmt"
	"net/url"
	"os"
	"time"

	"frontpage/endpoint"
	"frontpage/graph"
)

// endpointSettings are the settings of GraphQL over HTTP.
type endpointSettings struct {
	BodyLimit        int64         `env:"BODY_LIMIT" default:"${body_limit}" help:"Largest body of a request, and largest query string, bytes."`
	RequestTimeout   time.Duration `env:"REQUEST_TIMEOUT" default:"${request_timeout}" help:"Longest time for one query or mutation."`
	TokenLimit       int           `env:"TOKEN_LIMIT" default:"${token_limit}" help:"Most words and signs of a GraphQL document."`
	DepthLimit       int           `env:"DEPTH_LIMIT" default:"${depth_limit}" help:"Most levels of fields in each other. Introspection has its own limit."`
	AliasLimit       int           `env:"ALIAS_LIMIT" default:"${alias_limit}" help:"Most aliases of an operation."`
	RootFieldLimit   int           `env:"ROOT_FIELD_LIMIT" default:"${root_field_limit}" help:"Most fields at the root of an operation."`
	DirectiveLimit   int           `env:"DIRECTIVE_LIMIT" default:"${directive_limit}" help:"Most directives of an operation."`
	FieldLimit       int           `env:"FIELD_LIMIT" default:"${field_limit}" help:"Most fields of an operation."`
	ComplexityLimit  int           `env:"COMPLEXITY_LIMIT" default:"${complexity_limit}" help:"Most objects and scalars that an answer may have by the sizes of its lists."`
	PingInterval     time.Duration `env:"PING_INTERVAL" default:"${ping_interval}" help:"How often an open stream shows that it is alive, and the longest time for one write to it."`
	StreamsAddress   int           `env:"STREAMS_PER_ADDRESS" name:"streams-per-address" default:"${streams_per_address}" help:"Most WebSockets and event streams that one address may have open."`
	StreamsViewer    int           `env:"STREAMS_PER_VIEWER" name:"streams-per-viewer" default:"${streams_per_viewer}" help:"Most WebSockets and event streams that one user may have open."`
	SocketOperations int           `env:"OPERATIONS_PER_SOCKET" name:"operations-per-socket" default:"${operations_per_socket}" help:"Most operations that may run at once on one WebSocket."`
	Introspection    string        `env:"INTROSPECTION" default:"on" enum:"on,off" help:"Whether clients can ask for the schema: on or off. When off, no error suggests a name either."`
	GETPreflight     string        `env:"GET_PREFLIGHT" name:"get-preflight" default:"off" enum:"on,off" help:"Whether a GET needs the header GraphQL-Require-Preflight or Apollo-Require-Preflight: on or off."`
	CORSOrigins      []string      `env:"CORS_ORIGINS" name:"cors-origins" placeholder:"ORIGIN,..." help:"Origins, such as https://example.org, whose pages may use the API. The site's own always may."`
	TrustedDocuments string        `env:"TRUSTED_DOCUMENTS" placeholder:"FILE" help:"JSON object of GraphQL documents by their hashes. When set, nothing else runs."`
}

func endpointDefaults() map[string]string {
	o := endpoint.DefaultOptions()
	return map[string]string{
		"ping_interval":         o.Streams.Ping.String(),
		"streams_per_address":   fmt.Sprint(o.Streams.PerAddress),
		"streams_per_viewer":    fmt.Sprint(o.Streams.PerViewer),
		"operations_per_socket": fmt.Sprint(o.Streams.Operations),
		"body_limit":            fmt.Sprint(o.BodyLimit),
		"request_timeout":       o.Timeout.String(),
		"token_limit":           fmt.Sprint(o.Limits.Tokens),
		"depth_limit":           fmt.Sprint(o.Limits.Depth),
		"alias_limit":           fmt.Sprint(o.Limits.Aliases),
		"root_field_limit":      fmt.Sprint(o.Limits.RootFields),
		"directive_limit":       fmt.Sprint(o.Limits.Directives),
		"field_limit":           fmt.Sprint(o.Limits.Fields),
		"complexity_limit":      fmt.Sprint(o.Limits.Cost),
	}
}

func (e *endpointSettings) check() error {
	if e.BodyLimit < 1 {
		return fmt.Errorf("--body-limit: %d is below 1 byte", e.BodyLimit)
	}
	if e.RequestTimeout < time.Millisecond {
		return fmt.Errorf("--request-timeout: %v is below 1ms", e.RequestTimeout)
	}
	if e.PingInterval < 100*time.Millisecond {
		return fmt.Errorf("--ping-interval: %v is below 100ms", e.PingInterval)
	}
	for _, limit := range []struct {
		flag         string
		value, least int
	}{
		{"token-limit", e.TokenLimit, 1},
		{"depth-limit", e.DepthLimit, 1},
		{"alias-limit", e.AliasLimit, 0},
		{"root-field-limit", e.RootFieldLimit, 1},
		{"directive-limit", e.DirectiveLimit, 0},
		{"field-limit", e.FieldLimit, 1},
		{"complexity-limit", e.ComplexityLimit, 1},
		{"streams-per-address", e.StreamsAddress, 1},
		{"streams-per-viewer", e.StreamsViewer, 1},
		{"operations-per-socket", e.SocketOperations, 1},
	} {
		if limit.value < limit.least {
			return fmt.Errorf("--%s: %d is below %d", limit.flag, limit.value, limit.least)
		}
	}
	for _, origin := range e.CORSOrigins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Scheme+"://"+u.Host != origin || u.Host == "") {
			return fmt.Errorf("--cors-origins: %q is not of the form https://example.org", origin)
		}
	}
	return nil
}

// options reads the file of trusted documents, too.
func (s *settings) options() (endpoint.Options, error) {
	o := endpoint.Options{
		BodyLimit:     s.BodyLimit,
		Timeout:       s.RequestTimeout,
		Introspection: s.Introspection == "on",
		GETPreflight:  s.GETPreflight == "on",
		Origins:       s.CORSOrigins,
		Proxies:       s.TrustedProxies,
		AuditSecret:   s.AuditSecret,
		Rates:         s.rates(),
		Streams: endpoint.StreamLimits{
			Ping: s.PingInterval, PerAddress: s.StreamsAddress, PerViewer: s.StreamsViewer, Operations: s.SocketOperations,
		},
		Limits: endpoint.Limits{
			Tokens: s.TokenLimit, Depth: s.DepthLimit, Aliases: s.AliasLimit, RootFields: s.RootFieldLimit,
			Directives: s.DirectiveLimit, Fields: s.FieldLimit, Cost: s.ComplexityLimit, PageSize: s.PageSize,
		},
	}
	if s.TrustedDocuments == "" {
		return o, nil
	}
	file, err := os.ReadFile(s.TrustedDocuments)
	if err == nil {
		o.Trusted, err = endpoint.ReadTrusted(file, graph.Schema(), o.Limits)
	}
	if err != nil {
		return o, fmt.Errorf("--trusted-documents: %w", err)
	}
	return o, nil
}
