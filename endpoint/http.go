package endpoint

import (
	"context"
	"encoding/json"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"

	"frontpage/identity"
	"frontpage/redisrepo/rates"
)

// transport is what operations are served with, over HTTP and over WebSockets.
type transport struct {
	exec      *executor
	log       *slog.Logger
	bodyLimit int64
	timeout   time.Duration
	streams   *streams
	identity  *identity.Verifier
	meter     *meter
}

// httpTransport serves GET, HEAD, POST and QUERY: with a single JSON response, or, for subscriptions and for clients
// that prefer it, with server-sent events.
//
// It replaces gqlgen's GET, POST and SSE transports. Those choose no media type by quality, bound neither body
// nor duration, and gqlgen's SSE writes without deadlines and makes every event when it is published instead of
// when the client can take it.
type httpTransport struct {
	transport
	maxAge time.Duration
}

// methodQuery is the method of RFC 10008: a POST that changes nothing, whose response a cache may keep for its body.
const methodQuery = "QUERY"

// methods is the value of the header Allow.
const methods = "GET, HEAD, POST, QUERY, OPTIONS"

// serve serves one request. All refusals are written here.
func (t *httpTransport) serve(ctx context.Context, w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header()["Accept-Query"] = acceptQuery
	}
	if req.Method == http.MethodOptions {
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	accept := negotiate(req.Header.Values("Accept"))
	op := t.exec.receive(ctx, OverHTTP)
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(op.ctx, t.log, cause)
			refused := &refusal{code: codeInternal, message: "internal error", status: http.StatusInternalServerError}
			write(w, req, accept.media, op, refused.finish(op))
		}
	}()
	op.turns = t.streams.turns
	defer t.streams.dismiss(op)
	refused := t.begin(w, req, accept, op)
	var f *finished
	switch {
	case refused.streamable() && (accept.eventsFirst || refused == nil && op.subscribes()):
		if refused = t.stream(w, req, op, refused); refused == nil {
			return
		}
	case refused == nil:
		f = op.run(t.timeout)
		defer op.sent()
	}
	if refused != nil {
		f = refused.finish(op)
	}
	t.publish(w.Header(), req, op, f)
	write(w, req, accept.media, op, f)
}

// begin reads an operation, checks that it may run over this request, and charges it.
func (t *httpTransport) begin(w http.ResponseWriter, req *http.Request, accept acceptance, op *operation) *refusal {
	if !accept.ok {
		return &refusal{
			code: codeNotAcceptable, message: "accept " + mediaJSON + ", " + mediaGraphQL + " or " + mediaEvents,
			status: http.StatusNotAcceptable,
		}
	}
	asked, refused := t.read(w, req, op)
	if refused != nil {
		return refused
	}
	if refused = op.prepare(asked, req.Header); refused == nil {
		refused = allowed(w, req, accept, op)
	}
	if refused != nil {
		refused = t.meter.chargeRefused(op, refused)
		billOf(op.ctx).header(w.Header())
		return refused
	}
	if op.subscribes() {
		if refused = t.streams.admit(op, perEventStream); refused != nil {
			return refused
		}
		refused = t.streams.begins(op.ctx, t.timeout, func() *refusal { return t.meter.charge(op) })
	} else {
		refused = t.meter.charge(op)
	}
	billOf(op.ctx).header(w.Header())
	return refused
}

// allowed refuses an operation that cannot run over this request.
func allowed(w http.ResponseWriter, req *http.Request, accept acceptance, op *operation) *refusal {
	if !op.reads() && req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &refusal{code: codeMethod, message: "send mutations by POST", status: http.StatusMethodNotAllowed}
	}
	if op.subscribes() && !accept.events {
		return badRequest("subscriptions need a stream: accept " + mediaEvents + ", or connect by WebSocket")
	}
	return nil
}

// statusPartial is the status of a response that has errors beside data.
const statusPartial = 294

// status returns the HTTP status of a response, as GraphQL over HTTP of 2026-08-06 has it for mediaGraphQL. Clients that
// accept application/json read the response whatever its status, but proxies may replace one that is not 200; what is
// not a GraphQL request at all is 400 for them.
func (f *finished) status(media string) int {
	status := http.StatusOK
	switch {
	case f.refused != nil && f.refused.status != 0:
		status = f.refused.status
	case media == mediaJSON || f.whole:
	case f.data:
		status = statusPartial
	case f.code == errcode.ParseFailed:
		status = http.StatusBadRequest
	default:
		status = http.StatusUnprocessableEntity
	}
	if status == http.StatusUnprocessableEntity && media == mediaJSON {
		return http.StatusBadRequest
	}
	return status
}

// Values of headers, made once.
var (
	contentType   = map[string][]string{mediaJSON: {mediaJSON + "; charset=utf-8"}, mediaGraphQL: {mediaGraphQL + "; charset=utf-8"}}
	contentCoding = map[string][]string{"gzip": {"gzip"}, "zstd": {"zstd"}}
	nosniff       = []string{"nosniff"}
	acceptQuery   = []string{mediaJSON}
)

// publish lets caches keep a response to a GET or a QUERY that is the same for all callers. A caller who has signed in gets none
// from a cache, since Vary names the headers that identify callers: it would not show what the caller just changed.
func (t *httpTransport) publish(header http.Header, req *http.Request, op *operation, f *finished) {
	if t.maxAge == 0 || req.Method == http.MethodPost || !f.whole || op.prepared.dependence == OnCaller || ViewerOf(op.ctx).Name != "" {
		return
	}
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(t.maxAge.Seconds())))
	header.Set("ETag", f.etag())
	header.Del("RateLimit") // they are about one caller
	header.Del("RateLimit-Policy")
	if vary := header["Vary"]; len(vary) > 1 {
		header["Vary"] = []string{strings.Join(vary, ", ")} // of several lines, nginx 1.22 knows the last one only
	}
}

// Matches reports whether the values of If-None-Match name a tag, which may be weak.
func Matches(listed []string, tag string) bool {
	for item := range strings.SplitSeq(strings.Join(listed, ","), ",") {
		if item = strings.TrimSpace(item); item == "*" || strings.TrimPrefix(item, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// write sends the response to an operation.
func write(w http.ResponseWriter, req *http.Request, media string, op *operation, f *finished) {
	header := w.Header()
	header["X-Content-Type-Options"] = nosniff
	if tag := header.Get("ETag"); tag != "" && Matches(req.Header.Values("If-None-Match"), tag) {
		op.responds(f, 0)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	sent, coding := f.encoded(req)
	header["Content-Type"], header["Content-Length"] = contentType[media], sent.length[:]
	if coding != "" {
		header["Content-Encoding"] = contentCoding[coding]
	}
	if f.refused != nil && f.refused.wait > 0 {
		header.Set("Retry-After", strconv.Itoa(rates.Seconds(f.refused.wait)))
	}
	length := len(sent.body)
	if req.Method == http.MethodHead {
		length = 0
	}
	op.responds(f, length)
	sendTogether(req, length)
	w.WriteHeader(f.status(media))
	_, _ = w.Write(sent.body) // fails only if the client is gone
}

// appendResponse appends a response as JSON.
func appendResponse(to []byte, response *graphql.Response) []byte {
	separator := byte('{')
	member := func(name string, text []byte) {
		to = append(strconv.AppendQuote(append(to, separator), name), ':')
		to = append(to, text...)
		separator = ','
	}
	if len(response.Errors) > 0 {
		member("errors", asJSON(response.Errors))
	}
	if response.Data != nil {
		member("data", response.Data)
	}
	if len(response.Extensions) > 0 {
		member("extensions", asJSON(response.Extensions))
	}
	return append(to, '}')
}

func asJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // impossible: value holds strings and numbers
	}
	return text
}

// The media types of responses. With mediaGraphQL the HTTP status says whether the operation ran; mediaEvents is
// for streams.
const (
	mediaJSON    = "application/json"
	mediaGraphQL = "application/graphql-response+json"
	mediaEvents  = "text/event-stream"
)

// acceptance describes the responses that a client accepts.
type acceptance struct {
	ok          bool   // at least one supported media type is acceptable
	media       string // of a single response
	events      bool   // a stream is acceptable
	eventsFirst bool   // a stream is preferred even for a single response
}

// negotiate chooses by the Accept headers: the media type of the highest quality, on a tie the one listed first.
// Without a header the response is application/json, as for a wildcard: streams must be asked for by name.
func negotiate(accept []string) acceptance {
	listed := strings.Join(accept, ",")
	if listed == "" || listed == "*/*" || listed == mediaJSON {
		return acceptance{ok: true, media: mediaJSON}
	}
	a := acceptance{media: mediaJSON}
	best, first := 0.0, 0
	for _, offer := range []string{mediaJSON, mediaGraphQL} {
		quality, at := qualityOf(offer, listed)
		if quality > best || quality == best && quality > 0 && at < first {
			a.media, best, first = offer, quality, at
		}
	}
	if strings.Contains(strings.ToLower(listed), mediaEvents) {
		quality, at := qualityOf(mediaEvents, listed)
		a.events = quality > 0
		a.eventsFirst = quality > best || a.events && quality == best && at < first
	}
	a.ok = best > 0 || a.events
	return a
}

// qualityOf returns the quality of a media type in a list of ranges, 0 to 1, and its position there. The most
// specific range that matches decides (RFC 9110, 12.5.1).
func qualityOf(offer, listed string) (quality float64, at int) {
	family := offer[:strings.IndexByte(offer, '/')] + "/*"
	specific := 0
	for i, item := range strings.Split(listed, ",") {
		wanted, parameters, err := mime.ParseMediaType(item)
		matches := map[string]int{"*/*": 1, family: 2, offer: 3}[wanted]
		if err != nil || matches <= specific {
			continue
		}
		specific, quality, at = matches, 1, i
		if q, given := parameters["q"]; given {
			if quality, err = strconv.ParseFloat(q, 64); err != nil || !(quality >= 0 && quality <= 1) {
				quality = 0
			}
		}
	}
	return quality, at
}
