package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// gzipAccepted matches one element of Accept-Encoding that accepts gzip, by the grammar of RFC 9110.
var gzipAccepted = regexp.MustCompile(`(?i)^[\t ]*gzip[\t ]*(;[\t ]*q[\t ]*=[\t ]*(1(\.0{0,3})?|0\.[0-9]{0,2}[1-9][0-9]{0,2})[\t ]*)?$`)

func FuzzAcceptsGzip(f *testing.F) {
	for _, header := range []string{"", "gzip", "GZIP;q=0", "br, gzip;q=0.001", "gzip; q=1.000, *;q=0", "gzip;q=0, gzip", "identity;q=1", ",,gzip ;\tq=0.5"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		accepts := func(values ...string) bool {
			return AcceptsGzip(&http.Request{Header: http.Header{"Accept-Encoding": values}})
		}
		got := accepts(header)
		if got && !strings.Contains(strings.ToLower(header), "gzip") {
			t.Errorf("AcceptsGzip(%q) without gzip", header)
		}
		// Only the first element that names gzip counts, in one header or several.
		if values := strings.Split(header, ","); accepts(values...) != got {
			t.Errorf("AcceptsGzip(%q) differs from the same elements in several headers", header)
		}
		if accepts("br;q=0, "+header) != got || accepts(header+", br") != got {
			t.Errorf("AcceptsGzip(%q) depends on elements that do not name gzip", header)
		}
		if !strings.Contains(header, ",") && gzipAccepted.MatchString(header) && !got {
			t.Errorf("AcceptsGzip(%q) is false", header)
		}
		if accepts("gzip;q=0, " + header) {
			t.Errorf("AcceptsGzip(%q) in spite of gzip;q=0 before it", header)
		}
	})
}
