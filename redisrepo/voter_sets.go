package redisrepo

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// voterSet is one of an article's two sets of voters.
type voterSet struct {
	article ArticleID
	vote    Vote // Up or Down
	size    int64
}

func (s voterSet) key(p partition) string {
	if s.vote == Down {
		return p.downvoted(s.article)
	}
	return p.voted(s.article)
}

// named is a voter in a set. Placeholders of imports are not voters.
type named struct {
	voterSet
	voter UserName
}

// eachVoter calls handle with the voters in sets of a partition, up to most at a time. Many small sets take one round trip,
// and a large one is read in parts. A voter may be handled twice, and one who joins or leaves a set meanwhile, or not.
func (r *Repo) eachVoter(ctx context.Context, p partition, sets []voterSet, most int, handle func([]named) error) error {
	var found []named
	add := func(s voterSet, members []string) {
		for _, member := range members {
			if strings.HasPrefix(member, userPrefix) {
				found = append(found, named{s, userOf(member)})
			}
		}
	}
	flush := func(least int) error {
		for len(found) >= max(least, 1) {
			n := min(most, len(found))
			if err := handle(found[:n]); err != nil {
				return err
			}
			found = found[n:]
		}
		return nil
	}
	var small []voterSet
	for _, s := range sets {
		if s.size <= batchSize {
			if s.size > 0 {
				small = append(small, s)
			}
			continue
		}
		err := r.scan(ctx, scan{command: redis.Cmdable.SScan, key: s.key(p), step: 1, handle: func(members []string) error {
			add(s, members)
			return flush(most)
		}})
		if err != nil {
			return err
		}
	}
	for len(small) > 0 {
		some := small[:min(batchSize, len(small))]
		small = small[len(some):]
		replies := make([]*redis.StringSliceCmd, len(some))
		err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for i, s := range some {
				replies[i] = pipe.SMembers(ctx, s.key(p))
			}
		})
		if err != nil {
			return err
		}
		for i, s := range some {
			add(s, replies[i].Val())
		}
		if err := flush(most); err != nil {
			return err
		}
	}
	return flush(1)
}
