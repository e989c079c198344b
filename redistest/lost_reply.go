package redistest

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// LostReply is a hook that lets a connection fail once: after the next call of a script was executed, before its reply
// is read.
type LostReply struct {
	Armed atomic.Bool // whether the next reply will be lost; false once it was
	Then  func()      // called when the reply is lost, if not nil
}

type lossyConn struct {
	net.Conn
	h    *LostReply
	lose atomic.Bool
}

// DialHook implements redis.Hook.
func (h *LostReply) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := next(ctx, network, address)
		return &lossyConn{Conn: conn, h: h}, err
	}
}

// ProcessHook implements redis.Hook.
func (*LostReply) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (*LostReply) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *lossyConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("evalsha")) && c.h.Armed.CompareAndSwap(true, false) {
		c.lose.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b) // the script has run
	if c.lose.Load() && err == nil {
		_ = c.Close()
		if c.h.Then != nil {
			c.h.Then()
		}
		return 0, io.EOF
	}
	return n, err
}
