package check

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/voids"
	"frontpage/redisrepo/wire"
)

// voidsOf checks the votes on some articles that do not count: as many as the hashes say, and none of them counted.
func (c *checker) voidsOf(ctx context.Context, p keys.Partition, batch []facts) error {
	for _, f := range batch {
		key, stored := p.Void(f.id), f.hash.Val()[site.FieldVoided]
		if err := c.wrongType(key, f.voids.Err()); err != nil {
			return err
		}
		if n, err := strconv.Atoi(stored); stored != "" && (err != nil || n < 1) || n != int(f.voids.Val()) {
			c.reportf("%s: voided is %q, but %s has %d votes", p.Article(f.id), stored, key, f.voids.Val())
		}
		if f.voids.Val() == 0 {
			continue
		}
		all, err := c.Voids.Voided(ctx, f.id)
		if errors.Is(err, voids.ErrMalformed) {
			c.reportf("%s: %v", key, err)
			continue
		}
		if err != nil {
			return err
		}
		for some := range slices.Chunk(all, wire.BatchSize) {
			if err := c.uncounted(ctx, p, f.id, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// uncounted reports votes that do not count of users who are in the sets of voters.
func (c *checker) uncounted(ctx context.Context, p keys.Partition, id site.ArticleID, some []*voids.Void) error {
	members := make([]string, len(some))
	for i, v := range some {
		members[i] = v.Voter.Member()
	}
	sets := []string{p.Voted(id), p.Downvoted(id)}
	are, still := make([]*redis.BoolSliceCmd, len(sets)), (*redis.SliceCmd)(nil)
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) { // they may have been put back since
		still = pipe.HMGet(ctx, p.Void(id), members...)
		for i, set := range sets {
			are[i] = pipe.SMIsMember(ctx, set, wire.Anys(members)...)
		}
	}, wire.Atomic)
	if err != nil {
		return err
	}
	for i, member := range members {
		for j, set := range sets {
			if are[j].Err() == nil && are[j].Val()[i] && still.Val()[i] != nil {
				c.reportf("%s: has %s, but a moderator took this vote out: void it again", set, member)
			}
		}
	}
	return nil
}
