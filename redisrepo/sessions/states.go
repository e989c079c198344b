package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/wire"
)

// UseState reports whether the state of a sign-in is used for the first time. It is remembered for some time, by its digest.
func (r *Sessions) UseState(ctx context.Context, state string, during time.Duration) (bool, error) {
	digest, mine := digestOf(state), rand.Text()
	key := r.digested(digest).State(digest)
	err := r.store.Send(ctx, redis.NewStatusCmd(ctx, "set", key, mine, "px", during.Milliseconds(), "nx"))
	if errors.Is(err, redis.Nil) { // it is this call's own if the first reply was lost
		stored, err := r.store.Client.Get(wire.Reading(ctx), key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, failover.Wrap("use a state", err)
		}
		return stored == mine, nil
	}
	return err == nil, failover.Wrap("use a state", err)
}
