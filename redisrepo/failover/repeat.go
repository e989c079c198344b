package failover

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// Once is a command that go-redis does not send again after its reply was lost.
type Once struct {
	*redis.Cmd
	Lost  bool // it was sent again nevertheless, and may have taken effect before
	First any  // its first reply, if that is known though it was sent again
}

// NoRetry keeps go-redis from sending the command again: only LimitWaiting does.
func (*Once) NoRetry() bool { return true }

// Again notes that the command is about to be sent again.
func (o *Once) Again() {
	if !mayHaveRun(o.Err()) {
		return
	}
	if !o.Lost && errors.Is(o.Err(), errUnconfirmed) {
		o.First = o.Val()
	}
	o.Lost = true
}

// Unrepeated is a command that is sent again after a connection was lost, but not after a timeout: Redis may be busy
// with it, and would be for twice as long.
type Unrepeated struct{ *redis.Cmd }

// NoRetry reports whether the command has timed out. go-redis asks after each attempt.
func (u *Unrepeated) NoRetry() bool {
	var network net.Error
	err := u.Err()
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() && !isDial(err)
}

// isUnanswered reports whether a command has failed and must not be repeated.
func isUnanswered(c redis.Cmder) bool {
	u, ok := c.(*Unrepeated)
	return ok && u.NoRetry()
}
