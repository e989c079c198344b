package redisrepo

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// unrepeated is a command that is sent again after a connection was lost, but not after a timeout: Redis may be busy
// with it, and would be for twice as long.
type unrepeated struct{ *redis.Cmd }

// NoRetry reports whether the command has failed in such a way. go-redis asks after each attempt.
func (u *unrepeated) NoRetry() bool { return isTimeout(u.Err()) }

// isUnanswered reports whether a command has failed and must not be repeated.
func isUnanswered(c redis.Cmder) bool {
	u, ok := c.(*unrepeated)
	return ok && u.NoRetry()
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() && !isDial(err)
}

// queueUnrepeated queues a call of a script by its digest.
func queueUnrepeated(ctx context.Context, pipe redis.Pipeliner, s *redis.Script, keys []string, args []any) *redis.Cmd {
	command := scriptCommand(ctx, scriptWords(s, keys, args))
	_ = pipe.Process(ctx, &unrepeated{command})
	return command
}
