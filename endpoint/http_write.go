package endpoint

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// status returns the HTTP status of a response; refused is nil if the operation ran. Clients that accept
// application/json read the response whatever its status, but proxies may replace one that is not 200. The
// draft of GraphQL over HTTP of August 2026 asks for 294 and 422 in places; the audits of graphql-http do not
// yet.
func status(media string, refused *refusal, response *graphql.Response) int {
	switch {
	case refused != nil && refused.status != 0:
		return refused.status
	case response.Data != nil, media == mediaJSON:
		return http.StatusOK
	default:
		return http.StatusBadRequest
	}
}

// write sends a response.
func write(w http.ResponseWriter, media string, refused *refusal, response *graphql.Response) {
	body := appendResponse(make([]byte, 0, len(response.Data)+512), response)
	header := w.Header()
	header.Set("Content-Type", media+"; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	if refused != nil && refused.wait > 0 {
		header.Set("Retry-After", strconv.Itoa(seconds(refused.wait)))
	}
	w.WriteHeader(status(media, refused, response))
	_, _ = w.Write(body) // fails only if the client is gone
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
