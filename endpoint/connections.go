package endpoint

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
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

// Receiver bounds the memory of one address' connections, and of the requests on them until they are answered. net/http
// keeps up to MaxHeaderBytes of a header for each connection, and an idle connection for IdleTimeout; an HTTP/2
// connection has hundreds of requests at a time, and a proxy's connection has those of many clients. WebSockets, and
// event streams over HTTP/1, are bounded by StreamLimits instead.
type Receiver struct {
	*net.TCPListener
	accounts *Accounts
	next     http.Handler
	limit    int            // bytes of one address
	longest  int            // of one connection: what an unfinished header takes
	body     int64          // the longest that is read, bytes
	proxies  []netip.Prefix // whose connections are not bounded, only the requests of each client
}

// Receive makes a server bound each address to a 32nd of memory, in bytes, but at least one connection with a header of
// the maximum length. The server must accept connections from the returned listener. Call it before the server serves.
func Receive(server *http.Server, listener *net.TCPListener, memory int64, o Options) *Receiver {
	longest := perHeaderByte * server.MaxHeaderBytes
	r := &Receiver{
		TCPListener: listener, accounts: o.Accounts, next: server.Handler, limit: max(int(memory/32), perConnection+longest), longest: longest,
		body: o.BodyLimit, proxies: o.Proxies,
	}
	server.Handler, server.ConnState, server.ConnContext = r, r.follow, WithConn
	return r
}

// received is what a connection or a request counts as.
type received struct {
	by      *Receiver
	address netip.Addr
	bytes   int // guarded by accounts.mu
}

// add counts bytes, up to most in all, and reports whether the address may have them.
func (r *received) add(bytes, most int) (allowed bool) {
	r.by.accounts.mu.Lock()
	defer r.by.accounts.mu.Unlock()
	bytes = max(min(bytes, most-r.bytes), 0)
	change(r.by.accounts.addresses, r.address, func(a *account) {
		allowed = bytes == 0 || a.received+bytes <= r.by.limit
		if allowed {
			a.received += bytes
			r.bytes += bytes
		}
	})
	return allowed
}

// set sets the bytes, whether the address may have them or not.
func (r *received) set(bytes int) {
	r.by.accounts.mu.Lock()
	defer r.by.accounts.mu.Unlock()
	change(r.by.accounts.addresses, r.address, func(a *account) { a.received += bytes - r.bytes })
	r.bytes = bytes
}

// Accept implements net.Listener. A connection that exceeds the bound is closed at once, without a response, which
// would need memory, too.
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
		joined := &joinedConn{TCPConn: conn}
		if isProxy(address, r.proxies) {
			return joined, nil
		}
		counted := &countedConn{joinedConn: joined, received: received{by: r, address: Viewer{Address: address}.Network()}}
		counted.perByte.Store(perHeaderByte)
		if counted.add(perConnection, perConnection) {
			return counted, nil
		}
		_ = conn.Close()
	}
}

// joinedConn is a connection that can send a response by one system call. net/http makes two of a longer one: it sends what has
// room in its buffer, and then the rest.
type joinedConn struct {
	*net.TCPConn
	waits bool    // the next Write waits for the one after it
	start *[]byte // what has waited
}

// httpBuffer is the size of the buffer of net/http for what it sends, bytes.
const httpBuffer = 4 << 10

var starts = sync.Pool{New: func() any { return new(make([]byte, 0, httpBuffer)) }}

// sendTogether has header and body of a response be sent by one system call, if its body of that many bytes is written by one
// call of Write after this. It saves a sixth of what a shared page costs.
func sendTogether(req *http.Request, bytes int) {
	if bytes < httpBuffer || req.ProtoMajor != 1 {
		return
	}
	if conn, ok := connOf(req.Context()).(interface{ join() }); ok {
		conn.join()
	}
}

func (c *joinedConn) join() { c.waits = true }

// Write implements net.Conn.
func (c *joinedConn) Write(part []byte) (int, error) {
	if c.waits {
		c.waits, c.start = false, starts.Get().(*[]byte)
		*c.start = append((*c.start)[:0], part...)
		return len(part), nil
	}
	if c.start == nil {
		return c.TCPConn.Write(part)
	}
	both := net.Buffers{*c.start, part}
	waited := int64(len(*c.start))
	n, err := both.WriteTo(c.TCPConn)
	starts.Put(c.start)
	c.start = nil
	return int(max(n-waited, 0)), err
}

// countedConn is a connection that is closed if what it sends would take its address over the limit.
type countedConn struct {
	*joinedConn
	received
	perByte atomic.Int32 // what a byte that it sends counts as; 0: nothing
}

// Read implements net.Conn. One header at a time is unfinished: it counts as no more than the longest.
func (c *countedConn) Read(to []byte) (int, error) {
	n, err := c.TCPConn.Read(to)
	if !c.add(int(c.perByte.Load())*n, perConnection+c.by.longest) {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// becomes sets what a connection counts as, and what each byte does that it sends from now on.
func (c *countedConn) becomes(bytes int, perByte int32) {
	c.perByte.Store(perByte)
	c.set(bytes)
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
		c.becomes(perConnection, perHeaderByte)
	case http.StateHijacked, http.StateClosed:
		c.becomes(0, 0)
	}
}

// ServeHTTP implements http.Handler. A request over HTTP/1 without a body is bounded by its connection.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	bytes := headerSize(req)
	if conn, ok := connOf(req.Context()).(*countedConn); ok && req.ProtoMajor == 1 {
		conn.becomes(perConnection+bytes, 0)
		bytes = 0
	} else if ok {
		conn.becomes(perConnection, perFrameByte) // others may be open
	}
	if req.ProtoMajor == 1 && req.ContentLength == 0 {
		r.next.ServeHTTP(w, req)
		return
	}
	body := req.ContentLength
	if body < 0 || body > r.body {
		body = r.body
	}
	request := &received{by: r, address: NetworkOf(req, r.proxies)}
	if bytes += int(body); !request.add(bytes, bytes) {
		Unavailable(w, "too many requests of your address are being received: try again in a moment")
		return
	}
	defer request.set(0)
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
