package lists

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/wire"
)

// The defaults of New: one command builds the listing of 2,000 articles in 3 to 4 ms of Redis, and a step takes
// 1 to 2 ms.
const (
	defaultSmall = 2000
	defaultStep  = 500
)

// maxBuilds is how often a read builds a listing that is dropped again meanwhile.
const maxBuilds = 5

// part is a listing in one partition.
type part struct {
	p keys.Partition
	l Listing
}

// partsOf returns the parts of some listings.
func (r *Lists) partsOf(listings ...Listing) []part {
	parts := make([]part, 0, len(listings)*len(r.store.Partitions))
	for _, l := range listings {
		for _, p := range r.store.Partitions {
			parts = append(parts, part{p, l})
		}
	}
	return parts
}

// ReadListings runs commands that read a listing, in one round trip. An incomplete listing of a large group is built
// first: all readers help, and if one gives up, the others continue.
func (r *Lists) ReadListings(ctx context.Context, l Listing, queue func(redis.Pipeliner)) error {
	return r.readParts(ctx, func() []part { return r.partsOf(l) }, queue)
}

// readParts is ReadListings for parts of several listings. parts is called if one is not complete.
func (r *Lists) readParts(ctx context.Context, parts func() []part, queue func(redis.Pipeliner)) error {
	for range maxBuilds {
		err := r.store.Read(ctx, queue)
		switch {
		case redis.HasErrorPrefix(err, "BEHIND"):
			r.Forget() // where the read began
			if err = r.views.CatchUp(ctx); err != nil {
				return err
			}
			continue
		case !redis.HasErrorPrefix(err, "BUILDING"):
			return err
		}
		for _, of := range parts() {
			for more := true; more; {
				if more, err = r.gather(ctx, of.p, of.l); err != nil {
					return err
				}
			}
		}
	}
	return fmt.Errorf("%w: the listing is dropped faster than it is built", failover.ErrUnavailable)
}

// gather makes one step in building the listing of a large group, and reports whether there may be more. A process makes
// one step at a time, so that Redis serves others between two steps, however many wait for listings.
func (r *Lists) gather(ctx context.Context, p keys.Partition, l Listing) (more bool, err error) {
	if err := r.building.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer r.building.Release(1)
	var call *redis.Cmd
	keys := []string{l.key(p), p.Group(l.group), p.Ranking(l.order)}
	err = r.store.Read(ctx, func(pipe redis.Pipeliner) {
		call = gatherScript.EvalSha(ctx, pipe, keys,
			r.gatherStep, // ARGV[1] count
		)
	})
	if err != nil {
		return false, err
	}
	answer, err := wire.StatusReply(call)
	return answer.Status() == "MORE", err
}

// QueueBuilding queues the command that replies 1 while a listing is being built, when it has a member with the score
// -inf, and else 0.
func QueueBuilding(ctx context.Context, pipe redis.Pipeliner, key string) *redis.IntCmd {
	return pipe.ZCount(ctx, key, "-inf", "-inf")
}
