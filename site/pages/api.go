package pages

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"frontpage/site/web"
)

// api executes the operations of the site's script.
type api struct {
	handler http.Handler
	headers []string          // of a request for a page, that are passed on
	texts   map[string]string // of the documents, by the names of their operations
}

// request is a GraphQL request, as the site's script would send it.
type request struct {
	OperationName string `json:"operationName"`
	Query         string `json:"query"`
	Variables     any    `json:"variables"`
}

// passed are headers that the API needs besides those that identify callers.
var passed = []string{"Forwarded", "X-Forwarded-For", "Traceparent", "Tracestate", "X-Request-Id"}

func newAPI(handler http.Handler, headers []string) api {
	a := api{handler: handler, headers: slices.Concat(headers, passed), texts: map[string]string{}}
	var byHash map[string]string
	if err := json.Unmarshal(web.Documents(), &byHash); err != nil {
		panic(err) // impossible: the documents are embedded
	}
	operation := regexp.MustCompile(`^(?:query|mutation) (\w+)`)
	for _, text := range byHash {
		if name := operation.FindStringSubmatch(text); name != nil {
			a.texts[name[1]] = text
		}
	}
	return a
}

func (a api) request(name string, variables any) request {
	return request{OperationName: name, Query: a.texts[name], Variables: variables}
}

// anonymous is the API for a visitor who is not signed in.
func (a api) anonymous() api {
	a.headers = passed
	return a
}

// response is a response of the API.
type response struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (r *response) Header() http.Header               { return r.header }
func (r *response) WriteHeader(status int)            { r.status = status }
func (r *response) Write(content []byte) (int, error) { return r.body.Write(content) }

// passHeaders copies the headers of a refusal.
func (r *response) passHeaders(header http.Header) {
	for _, name := range []string{"Retry-After", "WWW-Authenticate", "RateLimit", "RateLimit-Policy"} {
		if values := r.header.Values(name); values != nil {
			header[name] = values
		}
	}
}

// answer is the body of a response.
type answer struct {
	Data   json.RawMessage
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

func (r *response) read() (a answer, err error) {
	err = json.Unmarshal(r.body.Bytes(), &a)
	return a, err
}

// code is the code of the first error, empty without errors.
func (a answer) code() string {
	if len(a.Errors) == 0 {
		return ""
	}
	return a.Errors[0].Extensions.Code
}

// ask executes a query for the visitor who asks for a page.
func (a api) ask(page *http.Request, name string, variables any) *response {
	encoded, err := json.Marshal(variables)
	if err != nil {
		panic(err) // impossible: variables are strings
	}
	query := url.Values{"query": {a.texts[name]}, "operationName": {name}, "variables": {string(encoded)}}
	req := a.by(page, http.MethodGet, query.Encode())
	return a.execute(req)
}

// change executes a mutation for the visitor who sent a form, which no page of another origin may have sent.
func (a api) change(form *http.Request, name string, variables any) *response {
	encoded, err := json.Marshal(a.request(name, variables))
	if err != nil {
		panic(err) // impossible: variables are strings
	}
	req := a.by(form, http.MethodPost, "")
	req.Header.Set("Content-Type", "application/json")
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(encoded)), int64(len(encoded))
	return a.execute(req)
}

// by returns a request to the API by the sender of a request for a page.
func (a api) by(page *http.Request, method, query string) *http.Request {
	req := page.Clone(page.Context())
	req.Method, req.Header = method, http.Header{}
	req.URL = &url.URL{Path: "/query", RawQuery: query}
	req.RequestURI = req.URL.RequestURI()
	req.Body, req.ContentLength, req.TransferEncoding = http.NoBody, 0, nil
	req.Form, req.PostForm = nil, nil
	for _, name := range a.headers {
		if values := page.Header.Values(name); values != nil {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	req.Header.Set("Accept", "application/graphql-response+json")
	return req
}

func (a api) execute(req *http.Request) *response {
	got := &response{status: http.StatusOK, header: http.Header{}}
	a.handler.ServeHTTP(got, req)
	return got
}
