package endpoint

import (
	"net"
	"sync"
	"time"
)

// boundedConn fails a write that takes longer than timeout, because the client does not read. Between hold and
// release it collects what is written, so that many messages are one system call.
type boundedConn struct {
	net.Conn
	timeout time.Duration

	mu   sync.Mutex
	held *[]byte // nil unless writes are collected
}

// buffers are free buffers for collected writes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxHeld is how much is collected before it is written, bytes.
const maxHeld = 64 << 10

func (c *boundedConn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = buffers.Get().(*[]byte)
}

func (c *boundedConn) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.flush()
	if cap(*c.held) <= 2*maxHeld {
		buffers.Put(c.held)
	}
	c.held = nil
	return err
}

// Write reports no error while it collects: release does.
func (c *boundedConn) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		return c.write(data)
	}
	*c.held = append(*c.held, data...)
	if len(*c.held) > maxHeld {
		return len(data), c.flush()
	}
	return len(data), nil
}

func (c *boundedConn) flush() error {
	defer func() { *c.held = (*c.held)[:0] }()
	_, err := c.write(*c.held)
	return err
}

func (c *boundedConn) write(data []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(data)
}
