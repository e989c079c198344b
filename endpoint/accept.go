package endpoint

import (
	"mime"
	"strconv"
	"strings"
)

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
