package endpoint

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/redisrepo/rates"
)

// status returns the HTTP status of a response. Clients that accept application/json read the response whatever its
// status, but proxies may replace one that is not 200. The draft of GraphQL over HTTP of August 2026 asks for 294
// and 422 in places; the audits of graphql-http do not yet.
func (f *finished) status(media string) int {
	switch {
	case f.refused != nil && f.refused.status != 0:
		return f.refused.status
	case f.data, media == mediaJSON:
		return http.StatusOK
	default:
		return http.StatusBadRequest
	}
}

// Values of headers, made once.
var (
	contentType   = map[string][]string{mediaJSON: {mediaJSON + "; charset=utf-8"}, mediaGraphQL: {mediaGraphQL + "; charset=utf-8"}}
	contentCoding = map[string][]string{"gzip": {"gzip"}, "zstd": {"zstd"}}
	nosniff       = []string{"nosniff"}
)

// publish lets caches keep a response to a GET that is the same for all callers. A caller who has signed in gets none
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

// matches reports whether If-None-Match names a tag.
func matches(listed []string, tag string) bool {
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
	if tag := header.Get("ETag"); tag != "" && matches(req.Header.Values("If-None-Match"), tag) {
		op.responds(f, 0)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	sent, coding := f.encoded(req)
	header["Content-Type"], header["Content-Length"] = contentType[media], sent.length
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
