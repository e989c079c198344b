package endpoint

import (
	"mime"
	"strconv"
	"strings"
)

// The media types of responses. With mediaGraphQL the HTTP status says whether the operation ran; mediaEvents is
// for streams.
const (
	mediaJSON    = "application/json"
	mediaGraphQL = "application/graphql-response+json"
	mediaEvents  = "text/event-stream"
)

// acceptance describes the responses that a client accepts.
type acceptance struct {
	ok          bool   // at least one supported media type is acceptable
	media       string // of a single response
	events      bool   // a stream is acceptable
	eventsFirst bool   // a stream is preferred even for a single response
}

// negotiate chooses by the Accept headers: the media type of the highest quality, on a tie the one listed first.
// Without a header the response is application/json, as for a wildcard: streams must be asked for by name.
func negotiate(accept []string) acceptance {
	listed := strings.Join(accept, ",")
	if listed == "" || listed == "*/*" || listed == mediaJSON {
		return acceptance{ok: true, media: mediaJSON}
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
	a.ok = best > 0 || a.events
	return a
}

// qualityOf returns the quality of a media type in a list of ranges, 0 to 1, and its position there. The most
// specific range that matches decides (RFC 9110, 12.5.1).
func qualityOf(offer, listed string) (quality float64, at int) {
	family := offer[:strings.IndexByte(offer, '/')] + "/*"
	specific := 0
	for i, item := range strings.Split(listed, ",") {
		wanted, parameters, err := mime.ParseMediaType(item)
		matches := map[string]int{"*/*": 1, family: 2, offer: 3}[wanted]
		if err != nil || matches <= specific {
			continue
		}
		specific, quality, at = matches, 1, i
		if q, given := parameters["q"]; given {
			if quality, err = strconv.ParseFloat(q, 64); err != nil || !(quality >= 0 && quality <= 1) {
				quality = 0
			}
		}
	}
	return quality, at
}
