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

// The media types of answers. mediaGraphQL lets the status say what happened,
// mediaEvents is for streams.
const (
	mediaJSON    = "application/json"
	mediaGraphQL = "application/graphql-response+json"
	mediaEvents  = "text/event-stream"
)

// request is the JSON of a request.
type request struct {
	graphql.RawParams
	DocumentID string `json:"documentId"` // of a persisted or trusted document
}

// read makes out what is asked, or why it cannot be. What it refuses has not
// been executed in any part.
func (t *httpTransport) read(w http.ResponseWriter, req *http.Request) (*graphql.RawParams, *refused) {
	var asked request
	var why *refused
	switch req.Method {
	case http.MethodPost:
		why = t.readBody(w, req, &asked)
	case http.MethodGet, http.MethodHead:
		why = t.readQuery(req, &asked)
	default:
		w.Header().Set("Allow", methods)
		why = &refused{code: codeMethod, message: "the method is GET or POST", status: http.StatusMethodNotAllowed}
	}
	if why != nil {
		return nil, why
	}
	return asked.params(req.Header)
}

// params are what gqlgen takes, if there is something to run.
func (asked *request) params(header http.Header) (*graphql.RawParams, *refused) {
	if asked.DocumentID != "" {
		if asked.Extensions == nil {
			asked.Extensions = map[string]any{}
		}
		asked.Extensions[persistedExtension] = map[string]any{
			"version": json.Number("1"), "sha256Hash": strings.TrimPrefix(asked.DocumentID, "sha256:"),
		}
	}
	if asked.Query == "" && asked.Extensions[persistedExtension] == nil {
		return nil, badRequest("there is no query in the request")
	}
	asked.Headers = header
	return &asked.RawParams, nil
}

// readBody reads a POST. A form of a foreign page cannot send its media type, so
// no such page can have a mutation run without the browser asking first.
func (t *httpTransport) readBody(w http.ResponseWriter, req *http.Request, asked *request) *refused {
	media, parameters, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	charset, encoding := parameters["charset"], req.Header.Get("Content-Encoding")
	if err != nil || media != mediaJSON || charset != "" && !strings.EqualFold(charset, "utf-8") || encoding != "" && encoding != "identity" {
		return &refused{code: codeMediaType, message: "the body is " + mediaJSON + " in UTF-8, not compressed", status: http.StatusUnsupportedMediaType}
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
		return badRequest("the body could not be read to its end")
	case !utf8.Valid(body.Bytes()):
		return &refused{code: codeMediaType, message: "the body is not UTF-8", status: http.StatusUnsupportedMediaType}
	case !decode(&body, asked):
		return badRequest("the body is not one JSON object with query, operationName, variables and extensions of the right types")
	}
	return nil
}

// readQuery reads a GET.
func (t *httpTransport) readQuery(req *http.Request, asked *request) *refused {
	if t.preflight && req.Header.Get("GraphQL-Require-Preflight") == "" && req.Header.Get("Apollo-Require-Preflight") == "" {
		return &refused{code: codePreflight, message: "a GET needs the header GraphQL-Require-Preflight", status: http.StatusForbidden}
	}
	if length := int64(len(req.URL.RawQuery)); length > t.bodyLimit {
		return t.tooLarge(length, http.StatusRequestURITooLong)
	}
	values, err := url.ParseQuery(req.URL.RawQuery)
	if text, decodeErr := url.QueryUnescape(req.URL.RawQuery); err != nil || decodeErr != nil || !utf8.ValidString(text) {
		return badRequest("the query string of the URL is malformed")
	}
	asked.Query, asked.OperationName, asked.DocumentID = values.Get("query"), values.Get("operationName"), values.Get("documentId")
	for name, object := range map[string]*map[string]any{"variables": &asked.Variables, "extensions": &asked.Extensions} {
		if text := values.Get(name); text != "" && !decode(strings.NewReader(text), object) {
			return badRequest("%s is not a JSON object", name)
		}
	}
	return nil
}

func (t *httpTransport) tooLarge(asked int64, status int) *refused {
	return &refused{code: codeBodyLimit, message: "the request is too large", status: status, asked: asked, allowed: t.bodyLimit}
}

// decode reads one JSON value and nothing behind it. Numbers stay as they are
// written.
func decode(from io.Reader, into any) bool {
	d := json.NewDecoder(from)
	d.UseNumber()
	if d.Decode(into) != nil {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}
