package endpoint

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/endpoint/plan"
)

// read parses a request, unless it is known. Nothing of a refused one has been executed.
func (t *httpTransport) read(w http.ResponseWriter, req *http.Request, op *operation) (*request, *refusal) {
	raw, refused := t.receive(w, req)
	if refused != nil {
		return nil, refused
	}
	op.read()
	if known, ok := t.exec.requests.get(raw); ok {
		return known, nil
	}
	if kind := likelyKind(raw.text); t.exec.slots.full(kind) {
		return nil, t.exec.slots.await(req.Context(), kind, nil, nil)
	}
	parsed := &request{raw: raw}
	if raw.method == http.MethodPost {
		refused = parsed.parseBody(raw.text)
	} else {
		refused = parsed.parseQuery(raw.text)
	}
	if refused == nil {
		refused = parsed.complete()
	}
	return parsed, refused
}

// receive returns what a request consists of, once it may be read at all.
func (t *httpTransport) receive(w http.ResponseWriter, req *http.Request) (raw requestKey, refused *refusal) {
	switch req.Method {
	case http.MethodPost, methodQuery:
		raw.method = http.MethodPost
		raw.text, refused = t.receiveBody(w, req)
	case http.MethodGet, http.MethodHead:
		raw.method = http.MethodGet
		raw.text = req.URL.RawQuery
		if length := int64(len(raw.text)); length > t.bodyLimit {
			refused = t.tooLarge(length, http.StatusRequestURITooLong)
		}
	default:
		w.Header().Set("Allow", methods)
		refused = &refusal{code: codeMethod, message: "use GET, POST or QUERY", status: http.StatusMethodNotAllowed}
	}
	return raw, refused
}

// receiveBody returns the body of a POST or a QUERY. An HTML form cannot send its media type, so that a foreign page cannot run a
// mutation without a CORS preflight.
func (t *httpTransport) receiveBody(w http.ResponseWriter, req *http.Request) (string, *refusal) {
	if !sendsJSON(req.Header) {
		return "", unsupported("the body must be uncompressed " + mediaJSON + " in UTF-8")
	}
	if req.ContentLength > t.bodyLimit {
		return "", t.tooLarge(req.ContentLength, http.StatusRequestEntityTooLarge)
	}
	var body []byte
	var err error
	if req.ContentLength >= 0 { // net/http reads no more
		body = make([]byte, req.ContentLength)
		_, err = io.ReadFull(req.Body, body)
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, req.Body, t.bodyLimit))
	}
	switch {
	case err == nil:
		return unsafe.String(unsafe.SliceData(body), len(body)), nil // #nosec G103 -- nothing writes to it now
	case errors.As(err, new(*http.MaxBytesError)):
		return "", t.tooLarge(t.bodyLimit+1, http.StatusRequestEntityTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", &refusal{code: codeBadRequest, message: "the body did not come in time", status: http.StatusRequestTimeout}
	}
	return "", badRequest("the body is incomplete")
}

// sendsJSON reports whether the headers of a request announce uncompressed JSON in UTF-8.
func sendsJSON(header http.Header) bool {
	if encoding := header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return false
	}
	sent := header.Get("Content-Type")
	if sent == mediaJSON {
		return true
	}
	media, parameters, err := mime.ParseMediaType(sent)
	charset := parameters["charset"]
	return err == nil && media == mediaJSON && (charset == "" || strings.EqualFold(charset, "utf-8"))
}

func (r *request) parseBody(body string) *refusal {
	switch {
	case !utf8.ValidString(body):
		return unsupported("the body is not valid UTF-8")
	case decode(strings.NewReader(body), r):
		return nil
	case json.Valid([]byte(body)):
		return malformed("the body must be one JSON object with query, operationName, variables, extensions and onError of the right types")
	}
	return badRequest("the body is not JSON")
}

func unsupported(message string) *refusal {
	return &refusal{code: codeMediaType, message: message, status: http.StatusUnsupportedMediaType}
}

func (r *request) parseQuery(query string) *refusal {
	values, err := url.ParseQuery(query)
	if text, decodeErr := url.QueryUnescape(query); err != nil || decodeErr != nil || !utf8.ValidString(text) {
		return badRequest("the query string of the URL is malformed")
	}
	r.Query, r.OperationName, r.DocumentID = values.Get("query"), values.Get("operationName"), values.Get("documentId")
	r.OnError = plan.OnError(values.Get("onError"))
	for name, object := range map[string]*map[string]any{"variables": &r.Variables, "extensions": &r.Extensions} {
		text := values.Get(name)
		switch {
		case text == "" || decode(strings.NewReader(text), object):
		case json.Valid([]byte(text)):
			return malformed(name + " is not a JSON object")
		default:
			return badRequest("%s is not JSON", name)
		}
	}
	return nil
}

func (t *httpTransport) tooLarge(asked int64, status int) *refusal {
	return &refusal{code: codeBodyLimit, message: "the request is too large", status: status, asked: asked, allowed: t.bodyLimit}
}

// decode reads exactly one JSON value. Numbers keep their spelling.
func decode(from io.Reader, into any) bool {
	d := json.NewDecoder(from)
	d.UseNumber()
	if d.Decode(into) != nil {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}

// request is a GraphQL request. Equal ones share it once it is known: then nothing of it may be changed.
type request struct {
	graphql.RawParams
	DocumentID string       `json:"documentId"` // of a persisted or trusted document
	OnError    plan.OnError `json:"onError"`

	raw       requestKey     // what was received; empty if it is not kept
	known     bool           // it is valid, and the fields below are set
	variables map[string]any // coerced
	text      string         // of variables, in JSON; empty if there are none
	cost      int
	arguments *plan.Arguments // of its fields
}

// requestKey is a request as it was received: the body of a POST or a QUERY, or the query string of a GET.
type requestKey struct {
	method string
	text   string
}

const (
	// requestBytes is how many bytes of requests are kept.
	requestBytes = 8 << 20
	// perRequest and perVariable are what a request takes besides its text, and for each byte of its variables, bytes.
	perRequest  = 1 << 10
	perVariable = 64
)

// requests are the valid requests that were received most recently. Many clients send the same ones, whose JSON need
// not be parsed, nor their variables be coerced and their cost be calculated, for each of them.
type requests struct {
	known *byteCache[requestKey, *request]
}

func newRequests() requests {
	return requests{newByteCache[requestKey, *request](requestBytes, perRequest)}
}

// get returns the request that was received as raw, if it is known.
func (r requests) get(raw requestKey) (*request, bool) {
	if len(raw.text) > maxDocument {
		return nil, false
	}
	return r.known.get(raw)
}

// add keeps the request of a valid operation.
func (r requests) add(asked *request, o *operation) {
	if asked.raw.text == "" || len(asked.raw.text) > maxDocument {
		return
	}
	kept := *asked
	kept.known, kept.variables, kept.text, kept.cost, kept.arguments = true, o.asked.Variables, o.variables, o.cost, new(plan.Arguments)
	besides := max(len(asked.raw.text)-len(asked.Query), 0)
	r.known.add(asked.raw, &kept, perRequest+len(asked.raw.text)+len(asked.Query)+perVariable*besides)
}

// complete checks that a request names a document, and what an error does to the response.
func (r *request) complete() *refusal {
	switch r.OnError {
	case "":
		r.OnError = plan.Propagate
	case plan.Propagate, plan.Null, plan.Halt:
	default:
		return malformed("onError is " + string(plan.Null) + ", " + string(plan.Propagate) + " or " + string(plan.Halt))
	}
	if r.DocumentID != "" {
		if r.Extensions == nil {
			r.Extensions = map[string]any{}
		}
		r.Extensions[persistedExtension] = map[string]any{
			"version": json.Number("1"), "sha256Hash": strings.TrimPrefix(r.DocumentID, "sha256:"),
		}
	}
	if r.Query == "" && r.Extensions[persistedExtension] == nil {
		return malformed("the request has no query")
	}
	return nil
}
