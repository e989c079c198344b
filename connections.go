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

// perConnection is what a connection counts as besides what it has sent, bytes: its buffers and goroutines.
const perConnection = 16 << 10

// connections bound what the connections of one address take, with the headers and bodies that they have begun: net/http
// keeps up to MaxHeaderBytes for each, and an idle one for IdleTimeout. WebSockets, and event streams over HTTP/1, are
// bounded by STREAMS_PER_ADDRESS instead.
type connections struct {
	limit   int            // bytes of one address
	longest int            // of one connection: what an unfinished request takes
	proxies []netip.Prefix // are not bounded: each has the connections of many clients

	mu sync.Mutex
	of map[netip.Addr]int // bytes, by address
}

// newConnections bounds the connections of an address to a share of memory, in which one with a longest request has room.
func newConnections(memory int64, longest int, proxies []netip.Prefix) *connections {
	return &connections{limit: max(addressShare(memory), perConnection+longest), longest: longest, proxies: proxies, of: map[netip.Addr]int{}}
}

// addressShare is how much of GOMEMLIMIT the connections of one address take, at most, and what the requests of one do.
func addressShare(memory int64) int { return int(memory / 32) }

// countedListener accepts connections as long as those of their address take less than the limit. It closes others at once,
// without a response, which would need memory, too.
type countedListener struct {
	*net.TCPListener
	connections *connections
}

// Accept implements net.Listener.
func (l countedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		var address netip.Addr
		if from, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			address = from.AddrPort().Addr().Unmap().WithZone("")
		}
		if slices.ContainsFunc(l.connections.proxies, func(p netip.Prefix) bool { return p.Contains(address) }) {
			return conn, nil
		}
		counted := &countedConn{TCPConn: conn, all: l.connections, address: endpoint.Viewer{Address: address}.Network(), counting: true}
		if counted.add(perConnection) {
			return counted, nil
		}
		_ = conn.Close()
	}
}

// countedConn is a connection that is closed if what it sends would take its address over the limit.
type countedConn struct {
	*net.TCPConn
	all     *connections
	address netip.Addr

	// Guarded by all.mu.
	counting bool
	bytes    int // what it counts as
}

// Read implements net.Conn.
func (c *countedConn) Read(to []byte) (int, error) {
	n, err := c.TCPConn.Read(to)
	if !c.add(n) {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// add counts bytes of a connection, and reports whether its address may have them. Over HTTP/2 it may never be idle, but one
// header at a time is unfinished: it counts as no more than the longest request.
func (c *countedConn) add(bytes int) bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	bytes = min(bytes, perConnection+c.all.longest-c.bytes)
	if !c.counting || bytes <= 0 {
		return true
	}
	if c.all.of[c.address]+bytes > c.all.limit {
		return false
	}
	c.set(c.bytes + bytes)
	return true
}

// set is for those who hold all.mu.
func (c *countedConn) set(bytes int) {
	if c.all.of[c.address] += bytes - c.bytes; c.all.of[c.address] == 0 {
		delete(c.all.of, c.address)
	}
	c.bytes = bytes
}

// follow is for http.Server.ConnState.
func (*connections) follow(conn net.Conn, state http.ConnState) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	c, ok := conn.(*countedConn)
	if !ok {
		return
	}
	switch state {
	case http.StateNew, http.StateActive: // its reads count
	case http.StateIdle: // its requests have ended
		c.count(perConnection)
	case http.StateHijacked, http.StateClosed:
		c.count(0)
	}
}

// BeginStream is for endpoint.WithConn: the connection does not count towards the limit until it is idle again.
func (c *countedConn) BeginStream() { c.count(0) }

// count sets what a connection counts as; with 0, what it sends does not count either.
func (c *countedConn) count(bytes int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.counting = bytes > 0
	c.set(bytes)
}
