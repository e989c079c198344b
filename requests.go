package main

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"frontpage/endpoint"
	"frontpage/settings"
)

const (
	// perRequest is what a request counts as besides its header and body, bytes.
	perRequest = 4 << 10
	// perField is what a field of a header counts as besides its name and value, bytes: it is in a map.
	perField = 200
)

// requests bound what the requests of one client take while they are received and answered, also of one behind a proxy: a
// connection of HTTP/2 has hundreds at a time. Those without a body over HTTP/1 are bounded by its connections.
type requests struct {
	http.Handler
	limit   int // bytes of one client
	body    int64
	proxies []netip.Prefix

	mu sync.Mutex
	of map[netip.Addr]int // bytes, by client
}

// newRequests bounds the requests for a handler to a share of memory. body is the longest body that is read.
func newRequests(handler http.Handler, memory, body int64, proxies []netip.Prefix) *requests {
	return &requests{Handler: handler, limit: addressShare(memory), body: body, proxies: proxies, of: map[netip.Addr]int{}}
}

// ServeHTTP implements http.Handler.
func (r *requests) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	bytes := headerSize(req)
	if conn, ok := endpoint.ConnOf(req.Context()).(*countedConn); ok {
		conn.begins(req, bytes)
	}
	if req.ProtoMajor == 1 && req.ContentLength == 0 {
		r.Handler.ServeHTTP(w, req)
		return
	}
	body := req.ContentLength
	if body < 0 || body > r.body {
		body = r.body
	}
	client := endpoint.NetworkOf(req, r.proxies)
	bytes += int(body)
	if !r.add(client, bytes) {
		unavailable(w, "too many requests of your address are being received: try again in a moment")
		return
	}
	defer r.add(client, -bytes)
	r.Handler.ServeHTTP(w, req)
}

// headerSize returns how many bytes a request takes without its body, roughly.
func headerSize(req *http.Request) int {
	size := perRequest + len(req.RequestURI)
	for name, values := range req.Header {
		size += perField
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size
}

// add counts bytes, and reports whether the client may have them. One request always has room.
func (r *requests) add(client netip.Addr, bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if had := r.of[client]; bytes > 0 && had > 0 && had+bytes > r.limit {
		return false
	}
	if r.of[client] += bytes; r.of[client] == 0 {
		delete(r.of, client)
	}
	return true
}

// knownHosts returns what serves only requests to this machine, as localhost or by a loopback address, and to the names of
// the site: FRONTPAGE_DEV_HOSTS in development mode, where anyone can make the host name of a web page resolve to this machine (DNS
// rebinding) and a browser would treat this server as that page's own origin; else FRONTPAGE_PUBLIC_URL, because pages must not be
// made, and kept by caches, for a host that a visitor has invented.
func knownHosts(s *settings.Settings) func(http.Handler) http.Handler {
	names, reason := s.DevHosts, "in development mode this server accepts only requests to localhost, 127.0.0.1 and FRONTPAGE_DEV_HOSTS"
	if !s.Development() {
		names, reason = nil, "the site is not at this address: its operator sets the right one as FRONTPAGE_PUBLIC_URL"
		if site, err := url.Parse(s.Address()); err == nil && s.PublicURL != "" {
			names = []string{site.Hostname()}
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if isKnown(req.Host, names) {
				next.ServeHTTP(w, req)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, reason, http.StatusMisdirectedRequest)
		})
	}
}

// isKnown reports whether the header Host has one of the names, with any port, or this machine's own. A star stands for any
// names before the rest.
func isKnown(header string, names []string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.Trim(header, "[]")
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if address, err := netip.ParseAddr(host); err == nil && address.IsLoopback() {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.ContainsFunc(names, func(name string) bool {
		name = strings.ToLower(name)
		rest, wildcard := strings.CutPrefix(name, "*")
		return host == name || wildcard && strings.HasSuffix(host, rest)
	})
}
