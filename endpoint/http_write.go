package endpoint

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// status is the HTTP status of an answer, why nil when the operation ran. Clients
// that take application/json read the answer whatever its status, and proxies
// between may replace one that is not 200. The draft of GraphQL over HTTP of
// August 2026 wants 294 and 422 in places; the audits of graphql-http do not yet.
func status(media string, why *refused, answer *graphql.Response) int {
	switch {
	case why != nil && why.status != 0:
		return why.status
	case answer.Data != nil, media == mediaJSON:
		return http.StatusOK
	default:
		return http.StatusBadRequest
	}
}

// write sends an answer. Its data are finished JSON and sent as they are.
func write(w http.ResponseWriter, media string, why *refused, answer *graphql.Response) {
	body := appendResponse(make([]byte, 0, len(answer.Data)+512), answer)
	header := w.Header()
	header.Set("Content-Type", media+"; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	if why != nil && why.wait > 0 {
		header.Set("Retry-After", strconv.Itoa(seconds(why.wait)))
	}
	w.WriteHeader(status(media, why, answer))
	_, _ = w.Write(body) // an error is the client's absence
}

// appendAnswer adds an answer as JSON.
func appendResponse(to []byte, answer *graphql.Response) []byte {
	separator := byte('{')
	member := func(name string, text []byte) {
		to = append(strconv.AppendQuote(append(to, separator), name), ':')
		to = append(to, text...)
		separator = ','
	}
	if len(answer.Errors) > 0 {
		member("errors", asJSON(answer.Errors))
	}
	if answer.Data != nil {
		member("data", answer.Data)
	}
	if len(answer.Extensions) > 0 {
		member("extensions", asJSON(answer.Extensions))
	}
	return append(to, '}')
}

func asJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}
