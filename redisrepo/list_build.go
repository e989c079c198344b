package redisrepo

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// The defaults of WithLargeGroups: one command builds the listing of 2,000 articles in 3 to 4 ms of Redis, and a step takes
// 1 to 2 ms.
const (
	mostSmall  = 2000
	gatherStep = 500
)

// WithLargeGroups sets how many articles a group has at most of which one command builds the listing, which then expires
// after Rules.GroupCacheTTL, and about how many articles each step adds to the listing of a larger group, which is kept.
// The defaults are 2,000 and 500.
func WithLargeGroups(mostSmall, step int) Option {
	return func(r *Repo) { r.mostSmall, r.gatherStep = mostSmall, step }
}

// maxBuilds is how often a read builds a listing that is dropped again meanwhile.
const maxBuilds = 5

// readListings runs commands that read a listing, in one round trip. If it is that of a large group and not complete, it
// is built first: each reader helps, and if one gives up, the others go on where it was.
func (r *Repo) readListings(ctx context.Context, l Listing, queue func(redis.Pipeliner)) error {
	for range maxBuilds {
		err := r.pipeline(ctx, queue)
		if !redis.HasErrorPrefix(err, "BUILDING") {
			return err
		}
		for _, p := range r.partitions {
			for more := true; more; {
				if more, err = r.gather(ctx, p, l); err != nil {
					return err
				}
			}
		}
	}
	return fmt.Errorf("%w: the listing is dropped faster than it is built", ErrUnavailable)
}

// gather makes one step in building the listing of a large group, and reports whether there may be more. A process makes
// one step at a time, so that Redis serves others between two steps, however many wait for listings.
func (r *Repo) gather(ctx context.Context, p partition, l Listing) (more bool, err error) {
	select {
	case r.kept.turn <- struct{}{}:
		defer func() { <-r.kept.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	var call *redis.Cmd
	keys := []string{l.key(p), p.group(l.group), p.ranking(l.order), p.groups(), p.sizes()}
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		call = gatherScript.EvalSha(ctx, pipe, keys,
			r.gatherStep,        // ARGV[1] count
			string(l.indexed()), // ARGV[2] name
		)
	})
	if err != nil {
		return false, err
	}
	answer, err := statusReply(call)
	if err == nil && answer.status() == "OK" {
		r.kept.unranked.Add(keys[0], answer.number(1))
	}
	return answer.status() == "MORE", err
}

// indexed is the name of a group as it is in the list of groups, empty for another listing.
func (l Listing) indexed() GroupName {
	if l.group == Interesting {
		return ""
	}
	return l.group
}

// queueBuilding queues the command that finds out whether a listing is not complete: then it has a member with the
// score -inf. Its value is 1 or 0.
func queueBuilding(ctx context.Context, pipe redis.Pipeliner, key string) *redis.IntCmd {
	return pipe.ZCount(ctx, key, "-inf", "-inf")
}
