package main

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"frontpage/endpoint"
)

// headers bound what the unfinished headers of one address take, over all its connections: net/http keeps up to
// MaxHeaderBytes for each of them until ReadHeaderTimeout.
type headers struct {
	limit   int            // bytes of one address
	proxies []netip.Prefix // are not bounded: each sends the headers of many clients

	mu sync.Mutex
	of map[netip.Addr]int // bytes, by address
}

func newHeaders(limit int, proxies []netip.Prefix) *headers {
	return &headers{limit: limit, proxies: proxies, of: map[netip.Addr]int{}}
}

// countedListener accepts connections that count the bytes of unfinished headers.
type countedListener struct {
	*net.TCPListener
	headers *headers
}

// Accept implements net.Listener.
func (l countedListener) Accept() (net.Conn, error) {
	conn, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	var address netip.Addr
	if from, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		address = from.AddrPort().Addr().Unmap().WithZone("")
	}
	if slices.ContainsFunc(l.headers.proxies, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return conn, nil
	}
	return &countedConn{TCPConn: conn, headers: l.headers, address: endpoint.Viewer{Address: address}.Network(), counting: true}, nil
}

// countedConn is a connection that is closed if its header would take its address over the limit.
type countedConn struct {
	*net.TCPConn
	headers *headers
	address netip.Addr

	// Guarded by headers.mu.
	counting bool // what is read is part of a header
	bytes    int
}

// Read implements net.Conn.
func (c *countedConn) Read(to []byte) (int, error) {
	n, err := c.TCPConn.Read(to)
	if !c.headers.add(c, n) {
		_ = c.Close() // at once: a response would need memory, too
		return 0, net.ErrClosed
	}
	return n, err
}

// add counts what a connection has read, and reports whether its address may send it.
func (h *headers) add(c *countedConn, bytes int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !c.counting || bytes <= 0 {
		return true
	}
	if h.of[c.address]+bytes > h.limit {
		return false
	}
	c.bytes += bytes
	h.of[c.address] += bytes
	return true
}

// follow is for http.Server.ConnState. A connection is active from the end of a header to the end of the response.
func (h *headers) follow(conn net.Conn, state http.ConnState) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	c, ok := conn.(*countedConn)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c.counting = state == http.StateNew || state == http.StateIdle
	if h.of[c.address] -= c.bytes; h.of[c.address] == 0 {
		delete(h.of, c.address)
	}
	c.bytes = 0
}
