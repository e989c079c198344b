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
	body := appendAnswer(make([]byte, 0, len(answer.Data)+512), answer)
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
func appendAnswer(to []byte, answer *graphql.Response) []byte {
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

// acceptance is how a client takes its answer.
type acceptance struct {
	any         bool   // it takes one of those that there are
	media       string // of a finished answer
	events      bool   // it takes a stream
	eventsFirst bool   // it wants one even where a finished answer would do
}

// negotiate chooses from the headers Accept: the media type of the highest
// quality, on a tie the one that is listed first. The zero request takes
// application/json, and so does a wildcard: a stream must be asked for by name.
func negotiate(accept []string) acceptance {
	listed := strings.Join(accept, ",")
	if listed == "" || listed == "*/*" || listed == mediaJSON {
		return acceptance{any: true, media: mediaJSON}
	}
	a := acceptance{media: mediaJSON}
	best, first := 0.0, 0
	for _, offer := range []string{mediaJSON, mediaGraphQL} {
		quality, at := qualityOf(offer, listed)
		if quality > best || quality == best && quality > 0 && at < first {
			a.media, best, first = offer, quality, at
		}
	}
	if strings.Contains(strings.ToLower(listed), mediaEvents) {
		quality, at := qualityOf(mediaEvents, listed)
		a.events = quality > 0
		a.eventsFirst = quality > best || a.events && quality == best && at < first
	}
	a.any = best > 0 || a.events
	return a
}

// qualityOf is how much a list of ranges wants a media type, 0 to 1, and where in
// it. The most specific range that fits decides (RFC 9110, 12.5.1).
func qualityOf(offer, listed string) (quality float64, at int) {
	family := offer[:strings.IndexByte(offer, '/')] + "/*"
	specific := 0
	for i, item := range strings.Split(listed, ",") {
		wanted, parameters, err := mime.ParseMediaType(item)
		fits := map[string]int{"*/*": 1, family: 2, offer: 3}[wanted]
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
