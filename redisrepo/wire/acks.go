package wire

import (
	"context"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
)

// Confirmed returns a context for a call all of whose commands write.
func (r *Store) Confirmed(ctx context.Context) context.Context {
	if r.acks == 0 {
		return ctx
	}
	return context.WithValue(ctx, failover.WritesKey{}, new(failover.Writes))
}

// Send runs a command that writes. WAIT can only follow it in a pipeline.
func (r *Store) Send(ctx context.Context, command redis.Cmder) error {
	if failover.WritesOf(ctx) == nil {
		return r.Client.Process(ctx, command)
	}
	_, _ = r.Pipelined(ctx, func(pipe redis.Pipeliner) { _ = pipe.Process(ctx, command) })
	return command.Err()
}

// ConfirmWrites adds the hooks for WithAcks to the client, and checks that the user may run what they need.
func (r *Store) ConfirmWrites(ctx context.Context) error {
	if r.acks == 0 {
		return nil
	}
	return failover.Confirm(ctx, r.Client, r.acks)
}
