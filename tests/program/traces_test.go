package program_test

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// receiver is a collector of traces by OTLP.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*trace.Span
	text  string // all that was received, as JSON
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || req.URL.Path != "/v1/traces" || req.Header.Get("X-Key") != "k" || proto.Unmarshal(body, &sent) != nil {
			t.Errorf("an invalid export: %s %v", req.URL, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.text += protojson.Format(&sent)
		for _, resource := range sent.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// tree returns the names of the spans below a parent, in their order: "a(b c(d))".
func (r *receiver) tree(traceID, parent []byte) string {
	var text []string
	for _, s := range r.spans {
		if string(s.GetTraceId()) != string(traceID) || string(s.GetParentSpanId()) != string(parent) {
			continue
		}
		name := s.GetName()
		if below := r.tree(traceID, s.GetSpanId()); below != "" {
			name += "(" + below + ")"
		}
		text = append(text, name)
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

func TestTracesOfRequestsOperationsAndRoundTrips(t *testing.T) {
	t.Parallel()
	r, redis := newReceiver(t), redistest.Start(t)
	s := start(t, "REDIS_URL="+redis.URL(), "OTEL_EXPORTER_OTLP_ENDPOINT="+r.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k", "OTEL_SERVICE_NAME=votes", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=tests", "FRONTPAGE_LOG_FORMAT=json", "FRONTPAGE_ACCESS_LOG=all", "FRONTPAGE_SHARED_ANSWERS=0s")
	s.useIt()
	parent := "00f067aa0ba902b7"
	for i, operation := range []string{`query Front { articles { title viewerVote } }`, `mutation V { vote(input: {article: 1, direction: DOWN}) { changed } }`, `{ whisper }`} {
		s.post(http.DefaultClient, operation, "X-User-ID", "alice", "traceparent", "00-"+strings.Repeat("0", 31)+string(rune('1'+i))+"-"+parent+"-01", "X-Request-Id", "request-1")
	}
	if _, answer, err := s.socket("query Now { articles { title } }").Read(t.Context()); err != nil {
		t.Fatalf("ask over a WebSocket: %s (%v)", answer, err)
	}
	require.NoError(t, redis.Client.Set(t.Context(), "score:", "of another type", 0).Err())
	s.post(http.DefaultClient, `query Front { articles { title } }`, "X-Request-Id", "request-2", "traceparent", "00-"+strings.Repeat("0", 31)+"4-"+parent+"-01")
	log := s.Stop()

	parentID, _ := hex.DecodeString(parent)
	for i, want := range []string{"POST /query(query(PIPELINE PIPELINE ZRANGE))", "POST /query(mutation(EVALSHA))", "POST /query(operation)", "POST /query(query(ZRANGE ZRANGE))"} { // an error is read again, typed
		if got := r.tree(append(make([]byte, 15), byte(i+1)), parentID); got != want {
			t.Errorf("request %d: got the spans %s, want %s", i+1, got, want)
		}
	}
	var handshake []byte
	for _, span := range r.spans {
		for _, a := range span.GetAttributes() {
			if a.GetKey() == "http.response.status_code" && a.GetValue().GetIntValue() == 101 {
				handshake = span.GetSpanId()
			}
		}
	}
	linked := slices.ContainsFunc(r.spans, func(s *trace.Span) bool {
		return s.GetName() == "query" && len(s.GetParentSpanId()) == 0 && len(s.GetLinks()) == 1 && string(s.GetLinks()[0].GetSpanId()) == string(handshake)
	})
	if handshake == nil || !linked {
		t.Error("an operation on a WebSocket has no trace of its own with a link to the handshake")
	}
	for _, private := range []string{"alice", "hisper", "score:", "article:", "voted", "127.0.0.1", redis.Socket(), "WRONGTYPE", "of another type"} {
		if strings.Contains(r.text, private) {
			t.Errorf("the spans contain %q:\n%s", private, r.text)
		}
	}
	for _, wanted := range []string{`"votes"`, `"deployment.environment.name"`, `"service.version"`, `"request-1"`, `"INTERNAL"`, `"GRAPHQL_VALIDATION_FAILED"`} {
		if !strings.Contains(r.text, wanted) {
			t.Errorf("the spans lack %s", wanted)
		}
	}
	faults := 0
	for text := range strings.Lines(log) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if line["request_id"] == "request-2" && line["trace_id"] == strings.Repeat("0", 31)+"4" && (line["level"] == "ERROR" || line["msg"] == "request") {
			faults++
		}
	}
	if faults != 2 {
		t.Errorf("got %d lines with the ids of the request that failed, want its fault and its request:\n%s", faults, log)
	}
}

// Without a collector, or with tracing off, requests are served; the log says once that spans were not sent.
func TestTracesNeedNoCollector(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env   []string
		lines int
	}{
		"unreachable": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_EXPORTER_OTLP_TIMEOUT=100"}, 1},
		"disabled":    {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_SDK_DISABLED=true"}, 0},
		"not sampled": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0"}, 0},
		"no exporter": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_EXPORTER=none"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, append(tt.env, "REDIS_URL=memory://")...)
			for range 20 {
				s.ask(frontPage)
			}
			if tt.lines > 0 {
				s.AwaitLog("spans were not sent")
			}
			log := s.Stop()
			if got := strings.Count(log, "spans were not sent"); got != tt.lines {
				t.Errorf("got %d lines that spans were not sent, want %d:\n%s", got, tt.lines, log)
			}
		})
	}
}

func TestUnusableTracingStopsTheStart(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":               "OTEL_EXPORTER_OTLP_PROTOCOL: \"grpc\" is not http/protobuf",
		"OTEL_TRACES_EXPORTER=zipkin":                    "OTEL_TRACES_EXPORTER",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=localhost:1": "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: it is not a URL",
		"OTEL_BSP_MAX_QUEUE_SIZE=-5":                     "OTEL_BSP_MAX_QUEUE_SIZE: \"-5\" is not a positive number",
		"OTEL_TRACES_SAMPLER=bogus":                      "unsupported sampler: bogus",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere":        "read tls ca cert file",
		"OTEL_EXPORTER_OTLP_HEADERS=key=%secret":         "escape header value",
		"OTEL_RESOURCE_ATTRIBUTES=a":                     "OTEL_RESOURCE_ATTRIBUTES",
	} {
		_, stderr, code := programtest.Run(t, []string{"REDIS_URL=memory://", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", variable})
		if code != 2 || !strings.Contains(stderr, want) || strings.Contains(stderr, "secret") {
			t.Errorf("%s: exit code %d, want 2 and %q:\n%s", variable, code, want, stderr)
		}
	}
}
