// Package admin serves metrics and profiles of a process to operators, on a separate listener.
package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof" // #nosec G108 -- it also registers with the default mux, which the program does not serve
	"net/netip"
	"strings"
	"time"
)

// maxProfile is the maximum time for one response: net/http/pprof refuses a longer profile.
const maxProfile = 2 * time.Minute

// ErrOpen is wrapped by the error of Listen for an address that is not a loopback one, without a token.
var ErrOpen = errors.New("without a token only a loopback address such as 127.0.0.1:9090 is allowed")

// Listen listens on a TCP address. Without a token it must be a loopback address: otherwise the error wraps ErrOpen.
func Listen(address, token string) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if token == "" && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("%s: %w", address, ErrOpen)
	}
	return net.ListenTCP("tcp", resolved)
}

// NewServer returns a server of /metrics, /debug/pprof and a page that lists them. If token is not empty, a request must
// show it: as a bearer token or, for browsers and go tool pprof, as the password of Basic authentication.
func NewServer(token, program string, metrics http.Handler, log *slog.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	// Without pprof.Cmdline: a command line may have secrets.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = page.Execute(w, program) // fails only if the client is gone
	})
	return &http.Server{
		Handler:           guard(token, mux),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      maxProfile,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// page links to the endpoints.
var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Frontpage: admin</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 2em auto; padding: 0 1em; color-scheme: light dark } pre { white-space: pre-wrap }</style>
<h1>Frontpage: admin</h1>
<pre>{{.}}</pre>
<ul>
<li><a href="/metrics">/metrics</a>: metrics for Prometheus
<li><a href="/debug/pprof/">/debug/pprof</a>: profiles for <code>go tool pprof</code>
<li><a href="/debug/pprof/goroutine?debug=1">/debug/pprof/goroutine?debug=1</a>: what all goroutines do now
<li><a href="/debug/pprof/heap?debug=1">/debug/pprof/heap?debug=1</a>: what takes memory
</ul>
`))

// guard lets requests with the token through. Without a token, it refuses those that address this machine by another
// name than localhost: any page on the web could give its own name a loopback address, and read the responses.
func guard(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		// The digests have the same length, so the time of the comparison says nothing about the token.
		shown := sha256.Sum256([]byte(tokenOf(req)))
		switch {
		case token == "" && !isLocal(req.Host):
			http.Error(w, "without FRONTPAGE_ADMIN_TOKEN this server accepts only requests to localhost or 127.0.0.1", http.StatusMisdirectedRequest)
		case token != "" && subtle.ConstantTimeCompare(shown[:], want[:]) != 1:
			header.Set("WWW-Authenticate", `Basic realm="frontpage admin", charset="UTF-8"`)
			http.Error(w, "send FRONTPAGE_ADMIN_TOKEN as a bearer token, or as the password of Basic authentication", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

// tokenOf returns the token that a request shows, or an empty text.
func tokenOf(req *http.Request) string {
	if _, password, ok := req.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// isLocal reports whether a Host header is localhost or a loopback address.
func isLocal(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.IsLoopback() || strings.EqualFold(name, "localhost")
}
