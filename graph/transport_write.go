package graph

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"

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
	body := make([]byte, 0, len(answer.Data)+512)
	body = appendMember(body, "errors", answer.Errors, len(answer.Errors))
	if answer.Data != nil {
		body = append(appendName(body, "data"), answer.Data...)
	}
	body = append(appendMember(body, "extensions", answer.Extensions, len(answer.Extensions)), '}')

	header := w.Header()
	header.Set("Content-Type", media+"; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status(media, why, answer))
	_, _ = w.Write(body) // an error is the client's absence
}

// appendMember adds a member to a JSON object, unless it is empty.
func appendMember(object []byte, name string, value any, length int) []byte {
	if length == 0 {
		return object
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(appendName(object, name), text...)
}

func appendName(object []byte, name string) []byte {
	if len(object) == 0 {
		object = append(object, '{')
	} else {
		object = append(object, ',')
	}
	return append(strconv.AppendQuote(object, name), ':')
}

// negotiate chooses the media type of the answer from the headers Accept: the
// one of the highest quality, on a tie the one that is listed first. The zero
// request takes application/json, and so does a wildcard. What else a client
// lists, such as text/event-stream for subscriptions, does not matter here.
func negotiate(accept []string) (media string, acceptable bool) {
	listed := strings.Join(accept, ",")
	if listed == "" || listed == "*/*" || listed == mediaJSON {
		return mediaJSON, true
	}
	best, first := 0.0, 0
	media = mediaJSON
	for _, offer := range []string{mediaJSON, mediaGraphQL} {
		quality, at := qualityOf(offer, listed)
		if quality > best || quality == best && quality > 0 && at < first {
			media, best, first = offer, quality, at
		}
	}
	return media, best > 0
}

// qualityOf is how much a list of ranges wants a media type, 0 to 1, and where in
// it. The most specific range that fits decides (RFC 9110, 12.5.1).
func qualityOf(offer, listed string) (quality float64, at int) {
	specific := 0
	for i, item := range strings.Split(listed, ",") {
		wanted, parameters, err := mime.ParseMediaType(item)
		fits := map[string]int{"*/*": 1, "application/*": 2, offer: 3}[wanted]
		if err != nil || fits <= specific {
			continue
		}
		specific, quality, at = fits, 1, i
		if q, given := parameters["q"]; given {
			if quality, err = strconv.ParseFloat(q, 64); err != nil || !(quality >= 0 && quality <= 1) {
				quality = 0
			}
		}
	}
	return quality, at
}
