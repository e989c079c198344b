package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
)

// request is the JSON of a request.
type request struct {
	graphql.RawParams
	DocumentID string `json:"documentId"` // of a persisted or trusted document
}

// read parses a request. Nothing of a refused one has been executed.
func (t *httpTransport) read(w http.ResponseWriter, req *http.Request) (*graphql.RawParams, *refusal) {
	var parsed request
	var refused *refusal
	switch req.Method {
	case http.MethodPost:
		refused = t.readBody(w, req, &parsed)
	case http.MethodGet, http.MethodHead:
		refused = t.readQuery(req, &parsed)
	default:
		w.Header().Set("Allow", methods)
		refused = &refusal{code: codeMethod, message: "use GET or POST", status: http.StatusMethodNotAllowed}
	}
	if refused != nil {
		return nil, refused
	}
	return parsed.params(req.Header)
}

// params converts a request for gqlgen. It refuses one that names no document.
func (r *request) params(header http.Header) (*graphql.RawParams, *refusal) {
	if r.DocumentID != "" {
		if r.Extensions == nil {
			r.Extensions = map[string]any{}
		}
		r.Extensions[persistedExtension] = map[string]any{
			"version": json.Number("1"), "sha256Hash": strings.TrimPrefix(r.DocumentID, "sha256:"),
		}
	}
	if r.Query == "" && r.Extensions[persistedExtension] == nil {
		return nil, badRequest("the request has no query")
	}
	r.Headers = header
	return &r.RawParams, nil
}

// readBody reads a POST. An HTML form cannot send this media type, so that a foreign page cannot run a mutation
// without a CORS preflight.
func (t *httpTransport) readBody(w http.ResponseWriter, req *http.Request, parsed *request) *refusal {
	media, parameters, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	charset, encoding := parameters["charset"], req.Header.Get("Content-Encoding")
	if err != nil || media != mediaJSON || charset != "" && !strings.EqualFold(charset, "utf-8") || encoding != "" && encoding != "identity" {
		return unsupported("the body must be uncompressed " + mediaJSON + " in UTF-8")
	}
	if req.ContentLength > t.bodyLimit {
		return t.tooLarge(req.ContentLength, http.StatusRequestEntityTooLarge)
	}
	var body bytes.Buffer
	body.Grow(int(max(req.ContentLength, 0)) + bytes.MinRead)
	var over *http.MaxBytesError
	switch _, err := body.ReadFrom(http.MaxBytesReader(w, req.Body, t.bodyLimit)); {
	case errors.As(err, &over):
		return t.tooLarge(t.bodyLimit+1, http.StatusRequestEntityTooLarge)
	case err != nil:
		return badRequest("the body is incomplete")
	case !utf8.Valid(body.Bytes()):
		return unsupported("the body is not valid UTF-8")
	case !decode(&body, parsed):
		return badRequest("the body must be one JSON object with query, operationName, variables and extensions of the right types")
	}
	return nil
}

func unsupported(message string) *refusal {
	return &refusal{code: codeMediaType, message: message, status: http.StatusUnsupportedMediaType}
}

// readQuery reads a GET.
func (t *httpTransport) readQuery(req *http.Request, parsed *request) *refusal {
	if t.preflight && req.Header.Get("GraphQL-Require-Preflight") == "" && req.Header.Get("Apollo-Require-Preflight") == "" {
		return &refusal{code: codePreflight, message: "a GET needs the header GraphQL-Require-Preflight", status: http.StatusForbidden}
	}
	if length := int64(len(req.URL.RawQuery)); length > t.bodyLimit {
		return t.tooLarge(length, http.StatusRequestURITooLong)
	}
	values, err := url.ParseQuery(req.URL.RawQuery)
	if text, decodeErr := url.QueryUnescape(req.URL.RawQuery); err != nil || decodeErr != nil || !utf8.ValidString(text) {
		return badRequest("the query string of the URL is malformed")
	}
	parsed.Query, parsed.OperationName, parsed.DocumentID = values.Get("query"), values.Get("operationName"), values.Get("documentId")
	for name, object := range map[string]*map[string]any{"variables": &parsed.Variables, "extensions": &parsed.Extensions} {
		if text := values.Get(name); text != "" && !decode(strings.NewReader(text), object) {
			return badRequest("%s is not a JSON object", name)
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
