package casts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/rings"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// MaxRingDays is the maximum number of days whose votes Rings compares.
const MaxRingDays = 366

// Rings compares the votes of the last days, 1 to MaxRingDays, and returns pairs and groups of users who voted together
// more often than by chance, the least likely first. It scans all keys of the store, in steps between which Redis
// serves others, reads the votes, and computes for about half a second for each 100,000 votes. It changes nothing.
//
// The Refusal is Invalid for other numbers of days, for more votes than rings.MaxVotes, and on a site without the history.
func (r *Casts) Rings(ctx context.Context, days int) ([]rings.Ring, error) {
	if days < 1 || days > MaxRingDays {
		return nil, site.Refuse(site.Invalid, "days", "days is between 1 and %d, not %d", MaxRingDays, days)
	}
	if !r.store.Has("cast") {
		return nil, site.Refuse(site.Invalid, "voteRings", "this site keeps no list of votes")
	}
	if err := r.views.CatchUp(ctx); err != nil {
		return nil, failover.Wrap("read votes", err)
	}
	var votes rings.Votes
	since := r.store.Now().Add(-time.Duration(days) * site.Day)
	for _, p := range r.store.Partitions {
		err := r.store.EachMatching(ctx, p, p.Key(keys.CastPrefix, "*"), func(names []string) error {
			return r.votesSince(ctx, p, r.sinceMonth(names, since), since, &votes)
		})
		if errors.As(err, new(rings.TooManyError)) {
			return nil, site.Refuse(site.Invalid, "days", "there are more than %d votes in %d days: ask for fewer days", rings.MaxVotes, days)
		}
		if err != nil {
			return nil, failover.Wrap("read votes", err)
		}
	}
	for ids := range slices.Chunk(votes.Articles(), wire.BatchSize) {
		groups, err := wire.ReadEach(ctx, r.store, ids, func(pipe redis.Pipeliner, number int) *redis.SliceCmd {
			id := site.ArticleID(number)
			return pipe.HMGet(ctx, r.store.Partition(id).Article(id), site.FieldGroups)
		})
		if err != nil {
			return nil, failover.Wrap("read the groups of articles", err)
		}
		for i, id := range ids {
			votes.SetGroups(id, strings.Fields(wire.Reply(groups[i].Val()).Text(0)))
		}
	}
	return votes.Find(ctx)
}

// sinceMonth returns those of the keys whose articles could be voted on after a time.
func (r *Casts) sinceMonth(names []string, since time.Time) []string {
	oldest := site.HourOf(float64(since.Add(-r.store.Rules.VotingWindow).Unix())).Month()
	return slices.DeleteFunc(names, func(key string) bool {
		month, err := strconv.ParseInt(key[strings.LastIndexByte(key, ':')+1:], 10, 64)
		return err != nil || month < oldest
	})
}

// votesSince adds the votes after a time that histories of a partition have.
func (r *Casts) votesSince(ctx context.Context, p keys.Partition, names []string, since time.Time, to *rings.Votes) error {
	found, err := wire.ReadEach(ctx, r.store, names, func(pipe redis.Pipeliner, key string) *redis.ZSliceCmd {
		return pipe.ZRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Min: fmt.Sprint("(", since.Unix()), Max: "+inf"})
	})
	if err != nil {
		return err
	}
	for i, key := range names {
		voter := key[len(p.Key(keys.CastPrefix)):strings.LastIndexByte(key, ':')]
		for _, z := range found[i].Val() {
			member := z.Member.(string)
			id, err := site.ParseArticleID(strings.TrimPrefix(member, "-"))
			if err != nil { // CastCut
				continue
			}
			if err := to.Add(voter, int(id), VoteOfMember(member) == site.Up, int64(z.Score)); err != nil {
				return err
			}
		}
	}
	return nil
}
