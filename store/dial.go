package store

import (
	"context"
	"net"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// dialHook hides failed dials from go-redis' pool. After as many of them as it
// has connections the pool refuses every command until a probe, made once a
// second, succeeds: Redis would be back and commands would still fail. So a
// failed dial gives a connection that fails on first use.
type dialHook struct{}

func (dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			return conn, nil
		}
		unconnected, _ := net.Pipe() // for the addresses and deadlines
		return deadConn{unconnected, dialError{err}}, nil
	}
}

func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type deadConn struct {
	net.Conn
	err error
}

func (c deadConn) Read([]byte) (int, error)  { return 0, c.err }
func (c deadConn) Write([]byte) (int, error) { return 0, c.err }

// SyscallConn makes the pool drop the connection when it became idle because
// the command that had asked for it was given up.
func (c deadConn) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// dialError is a net.Error that does not unwrap: go-redis repeats a command
// whose error holds a failed dial, so it would wait for two dials.
type dialError struct{ error }

func (dialError) Timeout() bool   { return true }
func (dialError) Temporary() bool { return true }
