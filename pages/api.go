package pages

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"frontpage/web"
)

// api executes the queries of the site's script.
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
	operation := regexp.MustCompile(`^query (\w+)`)
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

// code is that of the first error, empty without errors.
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
	req := page.Clone(page.Context())
	req.Method, req.Header = http.MethodGet, http.Header{}
	req.URL = &url.URL{Path: "/query", RawQuery: query.Encode()}
	req.RequestURI = req.URL.RequestURI()
	req.Body, req.ContentLength, req.TransferEncoding = http.NoBody, 0, nil
	for _, name := range a.headers {
		if values := page.Header.Values(name); values != nil {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	req.Header.Set("Accept", "application/graphql-response+json")
	req.Header.Set("GraphQL-Require-Preflight", "1") // no page of another origin sends this request
	got := &response{status: http.StatusOK, header: http.Header{}}
	a.handler.ServeHTTP(got, req)
	return got
}
