package redistest

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Hook is a client's hook for round trips, of one command or a pipeline. It may pass them to send.
type Hook func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error

// Before returns a hook that calls see with the commands before each round trip.
func Before(see func(commands ...redis.Cmder)) Hook {
	return func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		see(commands...)
		return send(ctx, commands)
	}
}

// IsAside reports whether a command, alone or the first in a pipeline, is not part of a call: it opens a connection, or
// notifies other processes.
func IsAside(command redis.Cmder) bool {
	return slices.Contains([]string{"hello", "client", "publish"}, command.Name())
}

// Fail sets the error of all commands, and returns it.
func Fail(err error, commands []redis.Cmder) error {
	for _, command := range commands {
		command.SetErr(err)
	}
	return err
}

// DialHook implements redis.Hook.
func (Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	send := func(ctx context.Context, commands []redis.Cmder) error { return next(ctx, commands[0]) }
	return func(ctx context.Context, command redis.Cmder) error { return h(ctx, []redis.Cmder{command}, send) }
}

// ProcessPipelineHook implements redis.Hook.
func (h Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error { return h(ctx, commands, next) }
}

// dialing is a hook that wraps each new connection.
type dialing func(net.Conn) net.Conn

func (wrap dialing) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := next(ctx, network, address)
		return wrap(conn), err
	}
}

func (dialing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Writing returns a hook for writes to connections. write writes the bytes to conn, fails, or drops them.
func Writing(write func(conn net.Conn, b []byte) (int, error)) redis.Hook {
	return dialing(func(conn net.Conn) net.Conn { return writingConn{conn, write} })
}

type writingConn struct {
	net.Conn
	write func(conn net.Conn, b []byte) (int, error)
}

func (c writingConn) Write(b []byte) (int, error) { return c.write(c.Conn, b) }

// LostReply is a hook that breaks a connection once: after the next script was executed, before its reply is read.
type LostReply struct {
	dialing             // for other hooks than DialHook
	Armed   atomic.Bool // whether the next reply will be lost; false once it was
	Then    func()      // called when the reply is lost, if not nil
}

type lossyConn struct {
	net.Conn
	h    *LostReply
	lose atomic.Bool
}

// DialHook implements redis.Hook.
func (h *LostReply) DialHook(next redis.DialHook) redis.DialHook {
	return dialing(func(conn net.Conn) net.Conn { return &lossyConn{Conn: conn, h: h} }).DialHook(next)
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
