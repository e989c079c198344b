// Package tracing gives each request an id, which its log lines have, writes the access log, and makes OpenTelemetry
// spans of requests, operations and round trips to Redis.
//
// No line and no span has a query string, a document, a variable, a header, a token, the name of a user, an address of a
// client or a key of Redis.
package tracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options are the options of Open.
type Options struct {
	Access Access       // which requests the access log has
	Lines  *slog.Logger // receives the access log
	Log    *slog.Logger // gets a warning when spans cannot be sent
	Build  string       // version of the program
}

// Access selects the requests in the access log.
type Access string

// The values of Access. A request that fails has a status of 400 or more, or an operation with an error.
const (
	None   Access = "off"
	Failed Access = "errors"
	All    Access = "all"
)

// Tracing traces and logs the requests of a server.
type Tracing struct {
	access   Access
	lines    *slog.Logger
	tracer   trace.Tracer        // nil without spans
	provider *sdk.TracerProvider // nil without spans
}

// Open returns a Tracing. The variables of OpenTelemetry determine whether spans are made, and where they are sent:
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. It does not wait for a collector.
func Open(ctx context.Context, o Options) (*Tracing, error) {
	t := &Tracing{access: o.Access, lines: o.Lines}
	on, err := wanted()
	if err != nil || !on {
		return t, err
	}
	if err := checkVariables(); err != nil {
		return nil, err
	}
	// OpenTelemetry ignores what it cannot use, and says so to these. Values are left out: headers have secrets.
	var ignored []error
	otel.SetLogger(funcr.New(func(_, what string) { ignored = append(ignored, errors.New(what)) },
		funcr.Options{RenderArgsHook: func([]any) []any { return nil }}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { ignored = append(ignored, err) }))
	exporter, err := otlptracehttp.New(ctx) // it reads all other variables itself
	if err != nil {
		return nil, fmt.Errorf("send spans: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "frontpage"), attribute.String("service.version", o.Build)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t.provider = sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	if err := errors.Join(ignored...); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("a variable OTEL_* is invalid: %w", err)
	}
	otel.SetLogger(logr.Discard()) // it would print to standard error
	otel.SetErrorHandler(&complaints{log: o.Log})
	t.tracer = t.provider.Tracer("frontpage")
	return t, nil
}

// wanted reports whether spans are to be made.
func wanted() (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch to := os.Getenv("OTEL_TRACES_EXPORTER"); to {
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	case "":
		return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != "", nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not otlp or none", to)
	}
}

// checkVariables finds what OpenTelemetry would ignore, notice only when it sends spans, or panic at.
func checkVariables() error {
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	if protocol != "http/protobuf" {
		return fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not http/protobuf, which collectors receive on port 4318", protocol)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		u, err := url.Parse(os.Getenv(name))
		if os.Getenv(name) != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%s: it is not a URL such as http://127.0.0.1:4318", name)
		}
	}
	for _, name := range []string{"QUEUE_SIZE", "EXPORT_BATCH_SIZE"} {
		name = "OTEL_BSP_MAX_" + name
		if n, err := strconv.Atoi(cmp.Or(os.Getenv(name), "1")); err != nil || n < 1 {
			return fmt.Errorf("%s: %q is not a positive number", name, os.Getenv(name))
		}
	}
	return nil
}

// On reports whether spans are made.
func (t *Tracing) On() bool { return t.tracer != nil }

// closeTimeout is how long a collector may take to receive the last spans.
const closeTimeout = 2 * time.Second

// Close sends the remaining spans.
func (t *Tracing) Close() error {
	if !t.On() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// complainEvery is the minimum time between two lines that spans cannot be sent.
const complainEvery = time.Minute

// complaints logs the errors of OpenTelemetry. Spans that cannot be sent are dropped.
type complaints struct {
	log *slog.Logger

	mu     sync.Mutex
	last   time.Time
	errors int // since then
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors++
	if now := time.Now(); now.Sub(c.last) >= complainEvery {
		c.log.Warn("spans were not sent: check the collector and OTEL_EXPORTER_OTLP_ENDPOINT", "errors", c.errors, "err", err)
		c.last, c.errors = now, 0
	}
}
