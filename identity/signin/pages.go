package signin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
)

//go:embed page.html
var pageSource string

// page is what a user sees between the site and the provider.
type page struct {
	Title, Text string
	To, Link    string // where a link leads, and its text
	At          string // where the browser goes by itself; empty: nowhere
}

var (
	pages = template.Must(template.New("page").Parse(pageSource))
	// pagePolicy allows the style of the page, and nothing else.
	pagePolicy = "default-src 'none'; style-src '" + styleHash() + "'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

func styleHash() string {
	_, rest, _ := strings.Cut(pageSource, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// show responds with a page.
func show(w http.ResponseWriter, status int, p page) {
	var text bytes.Buffer
	if err := pages.Execute(&text, p); err != nil {
		panic(err) // impossible: the template is fixed, and texts cannot fail
	}
	private(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // fails only if the client is gone
}

// private keeps a response out of caches, and its address, which may have a code, from other sites.
func private(header http.Header) {
	header.Set("Cache-Control", "private, no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// again is a page about a sign-in that failed, with a link to try it again.
func again(w http.ResponseWriter, status int, text, to string) {
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
	}
	show(w, status, page{Title: "You are not signed in", Text: text, To: address(to), Link: "Try again"})
}
