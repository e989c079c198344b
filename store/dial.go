package store

import (
	"context"
	"net"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// dialHook hides failed dials from go-redis' pool: a failed dial returns a connection that fails on first use.
// Otherwise, after as many failures as it has connections, the pool would refuse every command until a probe,
// sent once a second, succeeds: Redis would be back and commands would still fail.
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

// SyscallConn makes the pool drop the connection if it became idle because the command that requested it was
// cancelled.
func (c deadConn) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// dialError is a net.Error that does not unwrap: go-redis retries a command whose error wraps a failed dial,
// and would wait for two dials.
type dialError struct{ error }

// Is lets it be told from a timeout, which it claims to be.
func (dialError) Is(target error) bool { return target == syscall.ENOTCONN }

func (dialError) Timeout() bool   { return true }
func (dialError) Temporary() bool { return true }
