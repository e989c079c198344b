package views

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/wire"
)

// pause is about how long Follow waits between two looks at the log. So no read has more to apply than the votes of
// this time, and of several processes the one that looks first does the work for all.
const pause = 500 * time.Millisecond

// CatchUpAll calls CatchUp and then trims the log.
func (v *Views) CatchUpAll(ctx context.Context) error {
	return errors.Join(v.CatchUp(ctx), v.trim(ctx))
}

// Follow keeps all views up to date and trims the log until ctx ends. report gets a lasting failure once.
func (v *Views) Follow(ctx context.Context, report func(error)) {
	failing := false
	for ctx.Err() == nil {
		err := v.CatchUpAll(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			report(failover.Wrap("apply the log", err))
		}
		failing = err != nil
		failover.Wait(ctx, pause/2+rand.N(pause)) // #nosec G404 -- spreads the processes
	}
}

// mostTrimmed is how many entries one call of trim.lua looks at: up to 1 ms.
const mostTrimmed = 200

// trim drops the entries that all views have, beyond the events that the site keeps.
func (v *Views) trim(ctx context.Context) error {
	args := []any{
		v.store.Rules.Events,   // ARGV[1] kept
		mostTrimmed,            // ARGV[2] most
		v.Young.Milliseconds(), // ARGV[3] young
	}
	args = append(args, wire.Anys(v.names())...) // ARGV[4...] view
	var errs []error
	for open := slices.Clone(v.store.Partitions); len(open) > 0; {
		replies := map[keys.Partition]*redis.Cmd{}
		errs = append(errs, v.store.WriteDerived(ctx, func(pipe redis.Pipeliner) {
			for _, p := range open {
				scriptKeys := []string{
					p.Events(), // KEYS[1] events
					p.Views(),  // KEYS[2] views
				}
				replies[p] = trimScript.EvalSha(ctx, pipe, scriptKeys, args...)
			}
		}))
		open = slices.DeleteFunc(open, func(p keys.Partition) bool {
			if replies[p] == nil {
				return true // Redis refuses writes
			}
			answer, err := wire.StatusReply(replies[p])
			return err != nil || answer.Number(1) < mostTrimmed
		})
	}
	return errors.Join(errs...)
}
