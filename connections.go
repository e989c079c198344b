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

const (
	// perConnection is what a connection counts as besides what it has sent, bytes: its buffers and goroutines.
	perConnection = 16 << 10
	// perHeaderByte is how many bytes of memory a byte of an unfinished header takes: a short line of it, which has five or
	// six, takes 200 in a map, and headers that were refused take as much until garbage is collected. Encryption, and the
	// compression of HTTP/2, conceal what lines there are.
	perHeaderByte = 64
	// perFrameByte is the same for HTTP/2 after its first request, when bodies come as well.
	perFrameByte = 8
)

// connections bound what the connections of one address take, with the headers and bodies that they have begun: net/http
// keeps up to MaxHeaderBytes for each, and an idle one for IdleTimeout. WebSockets, and event streams over HTTP/1, are
// bounded by STREAMS_PER_ADDRESS instead.
type connections struct {
	limit   int            // bytes of one address
	longest int            // of one connection: what an unfinished header takes
	proxies []netip.Prefix // are not bounded: each has the connections of many clients

	mu sync.Mutex
	of map[netip.Addr]int // bytes, by address
}

// newConnections bounds the connections of an address to a share of memory, in which one with a header of the maximum length
// has room.
func newConnections(memory int64, maxHeader int, proxies []netip.Prefix) *connections {
	longest := perHeaderByte * maxHeader
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
		counted := &countedConn{TCPConn: conn, all: l.connections, address: endpoint.Viewer{Address: address}.Network(), perByte: perHeaderByte}
		if counted.opens() {
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
	perByte int // what a byte that it sends counts as; 0: nothing
	bytes   int // what it counts as
}

// Read implements net.Conn.
func (c *countedConn) Read(to []byte) (int, error) {
	n, err := c.TCPConn.Read(to)
	if !c.reads(n) {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// opens counts a new connection, and reports whether its address may have it.
func (c *countedConn) opens() bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	return c.add(perConnection)
}

// reads counts bytes that the connection has sent, and reports whether its address may have them.
func (c *countedConn) reads(n int) bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	return c.add(c.perByte * n)
}

// add counts memory of a connection, and reports whether its address may have it. One header at a time is unfinished: it
// counts as no more than the longest. It is for those who hold all.mu.
func (c *countedConn) add(bytes int) bool {
	if bytes = min(bytes, perConnection+c.all.longest-c.bytes); bytes <= 0 {
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
		c.count(perConnection, perHeaderByte)
	case http.StateHijacked, http.StateClosed:
		c.count(0, 0)
	}
}

// BeginStream is for endpoint.WithConn: the connection does not count towards the limit until it is idle again.
func (c *countedConn) BeginStream() { c.count(0, 0) }

// begins counts a request whose header has been read, which takes as many bytes.
func (c *countedConn) begins(req *http.Request, header int) {
	if req.ProtoMajor == 1 {
		c.count(perConnection+header, 1)
	} else {
		c.count(perConnection, perFrameByte) // others may be open: requests bounds them
	}
}

// count sets what a connection counts as, and what each byte does that it sends from now on.
func (c *countedConn) count(bytes, perByte int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.perByte = perByte
	c.set(bytes)
}
