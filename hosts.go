package main

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"frontpage/settings"
)

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
