package identity

import (
	"net/http"
	"net/url"
	"strings"
)

// hostPrefix begins names of cookies that browsers send by https only, and that other hosts of the domain cannot set.
const hostPrefix = "__Host-"

// CookieName returns the name of the site's cookie for a purpose. isSecure is whether browsers use the site by https.
func CookieName(purpose string, isSecure bool) string {
	if isSecure {
		return hostPrefix + "frontpage-" + purpose
	}
	return "frontpage-" + purpose
}

// Cookie returns a cookie of the site. Scripts cannot read it, and the browser does not send it with a request of another
// site's page, unless that is a link to this one. The prefix __Host- in its name makes it secure. seconds is how long the
// browser keeps it.
func Cookie(name, value string, seconds int) *http.Cookie {
	return &http.Cookie{ // #nosec G124 -- on http, which is for this machine only, Secure would hide it
		Name: name, Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: strings.HasPrefix(name, hostPrefix), SameSite: http.SameSiteLaxMode,
	}
}

// LocalPath returns the path and query of a page of this site, or / for anything else, and for more than most bytes: it
// is safe to redirect to.
func LocalPath(to string, most int) *url.URL {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || len(to) > most || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsRune(to, '\\') {
		return &url.URL{Path: "/"}
	}
	return &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
}
