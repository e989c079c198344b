package endpoint

import (
	"encoding/json"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/endpoint/plan"
)

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
