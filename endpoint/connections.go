package endpoint

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
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
	// perHeader is what a header counts as besides its fields, and perField what a field does besides its name and value,
	// bytes: it is in a map.
	perHeader = 4 << 10
	perField  = 200
)

// Receiver bounds what the connections of one address take, with the requests on them until they are answered. net/http keeps
// up to MaxHeaderBytes of a header for each, and an idle one for IdleTimeout; a connection of HTTP/2 has hundreds of requests
// at a time, and that of a proxy has those of many clients. WebSockets, and event streams over HTTP/1, are bounded by
// StreamLimits instead.
type Receiver struct {
	*net.TCPListener
	accounts *Accounts
	next     http.Handler
	limit    int            // bytes of one address
	longest  int            // of one connection: what an unfinished header takes
	body     int64          // the longest that is read, bytes
	proxies  []netip.Prefix // whose connections are not bounded, only the requests of each client
}

// Receive has a server bound what an address takes to a 32nd of memory, in bytes, in which at least one connection with a
// header of the maximum length has room. The server has to accept from the listener that it returns. It is called before the
// server serves.
func Receive(server *http.Server, listener *net.TCPListener, memory int64, o Options) *Receiver {
	longest := perHeaderByte * server.MaxHeaderBytes
	r := &Receiver{
		TCPListener: listener, accounts: o.Accounts, next: server.Handler, limit: max(int(memory/32), perConnection+longest), longest: longest,
		body: o.BodyLimit, proxies: o.Proxies,
	}
	server.Handler, server.ConnState, server.ConnContext = r, r.follow, WithConn
	return r
}

// receive counts bytes of an address, and reports whether it may have them. It is for those who hold accounts.mu.
func (r *Receiver) receive(address netip.Addr, bytes int) bool {
	a := accountOf(r.accounts.addresses, address)
	defer dropUnused(r.accounts.addresses, address)
	if bytes > 0 && a.received+bytes > r.limit {
		return false
	}
	a.received += bytes
	return true
}

// Accept implements net.Listener. It closes connections for which there is no room at once, without a response, which would
// need memory, too.
func (r *Receiver) Accept() (net.Conn, error) {
	for {
		conn, err := r.AcceptTCP()
		if err != nil {
			return nil, err
		}
		var address netip.Addr
		if from, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			address = plain(from.AddrPort().Addr())
		}
		if isProxy(address, r.proxies) {
			return conn, nil
		}
		counted := &countedConn{TCPConn: conn, receiver: r, address: Viewer{Address: address}.Network(), perByte: perHeaderByte}
		r.accounts.mu.Lock()
		fits := counted.add(perConnection)
		r.accounts.mu.Unlock()
		if fits {
			return counted, nil
		}
		_ = conn.Close()
	}
}

// countedConn is a connection that is closed if what it sends would take its address over the limit.
type countedConn struct {
	*net.TCPConn
	receiver *Receiver
	address  netip.Addr

	// Guarded by accounts.mu.
	perByte int // what a byte that it sends counts as; 0: nothing
	bytes   int // what it counts as
}

// Read implements net.Conn.
func (c *countedConn) Read(to []byte) (int, error) {
	n, err := c.TCPConn.Read(to)
	c.receiver.accounts.mu.Lock()
	fits := c.add(c.perByte * n)
	c.receiver.accounts.mu.Unlock()
	if !fits {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// add counts memory of a connection, and reports whether its address may have it. One header at a time is unfinished: it
// counts as no more than the longest. It is for those who hold accounts.mu.
func (c *countedConn) add(bytes int) bool {
	bytes = max(min(bytes, perConnection+c.receiver.longest-c.bytes), 0)
	if !c.receiver.receive(c.address, bytes) {
		return false
	}
	c.bytes += bytes
	return true
}

// count sets what a connection counts as, and what each byte does that it sends from now on.
func (c *countedConn) count(bytes, perByte int) {
	c.receiver.accounts.mu.Lock()
	defer c.receiver.accounts.mu.Unlock()
	accountOf(c.receiver.accounts.addresses, c.address).received += bytes - c.bytes
	dropUnused(c.receiver.accounts.addresses, c.address)
	c.bytes, c.perByte = bytes, perByte
}

// follow is for http.Server.ConnState.
func (*Receiver) follow(conn net.Conn, state http.ConnState) {
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

// ServeHTTP implements http.Handler. A request over HTTP/1 without a body is bounded by its connection.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	bytes := headerSize(req)
	if conn, ok := connOf(req.Context()).(*countedConn); ok && req.ProtoMajor == 1 {
		conn.count(perConnection+bytes, 0)
		bytes = 0
	} else if ok {
		conn.count(perConnection, perFrameByte) // others may be open
	}
	if req.ProtoMajor == 1 && req.ContentLength == 0 {
		r.next.ServeHTTP(w, req)
		return
	}
	body := req.ContentLength
	if body < 0 || body > r.body {
		body = r.body
	}
	client := NetworkOf(req, r.proxies)
	bytes += int(body)
	r.accounts.mu.Lock()
	received := r.receive(client, bytes)
	r.accounts.mu.Unlock()
	if !received {
		Unavailable(w, "too many requests of your address are being received: try again in a moment")
		return
	}
	defer func() {
		r.accounts.mu.Lock()
		defer r.accounts.mu.Unlock()
		r.receive(client, -bytes)
	}()
	r.next.ServeHTTP(w, req)
}

// headerSize returns how many bytes a request takes without its body, roughly.
func headerSize(req *http.Request) int {
	size := perHeader + len(req.RequestURI)
	for name, values := range req.Header {
		size += perField
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size
}

// Unavailable responds with 503 and a reason.
func Unavailable(w http.ResponseWriter, reason string) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, reason, http.StatusServiceUnavailable)
}
