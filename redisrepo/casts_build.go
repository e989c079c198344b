package redisrepo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// oldestVoters is the posting time of the oldest article whose voters may be known.
func (r *Repo) oldestVoters() float64 {
	return float64(r.now().Add(-r.rules.VotingWindow - voterMargin).Unix())
}

// buildCasts enters the votes on articles whose voters are known into the histories of these users. A vote has its time if
// that is recorded with a bucket, else that of the posting.
func (r *Repo) buildCasts(ctx context.Context, b *building) error {
	oldest := r.oldestVoters()
	fill := func(articles []redis.Z) error {
		for some := range slices.Chunk(articles, batchSize) {
			if err := r.fillCasts(ctx, b.p, some); err != nil {
				return err
			}
		}
		return nil
	}
	// An article was posted before it was deleted. There are few, so an interrupted start begins with them again.
	deleted, err := r.client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: b.p.deleted(), ByScore: true, Start: number(oldest), Stop: "+inf"}).Result()
	if err != nil {
		return err
	}
	if err := fill(deleted); err != nil {
		return err
	}
	if from, err := parseNumber(b.from); b.from == "" || err != nil || from < oldest {
		b.from = number(oldest)
	}
	return r.inOrderOfTime(ctx, b, fill)
}

// fillCasts enters the votes on some articles of a partition.
func (r *Repo) fillCasts(ctx context.Context, p partition, articles []redis.Z) error {
	begun := make([]*redis.Cmd, 0, len(articles))
	var ids []ArticleID
	err := r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for _, z := range articles {
			if id, err := ParseArticleID(fmt.Sprint(z.Member)); err == nil {
				ids, begun = append(ids, id), append(begun, r.queueFill(ctx, pipe, p, id, 0, nil))
			}
		}
	})
	if err != nil {
		return err
	}
	var sets []voterSet
	months := map[ArticleID]int64{}
	for i, id := range ids {
		answer, err := statusReply(begun[i])
		if err != nil {
			return fmt.Errorf("%v: %w", id, err)
		}
		months[id] = hourOfText(answer.text(1)).month()
		sets = append(sets, voterSet{id, Up, answer.number(2)}, voterSet{id, Down, answer.number(3)})
	}
	return r.eachVoter(ctx, p, sets, importVoters, func(voters []named) error {
		return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
			for some := range runs(voters, func(v named) ArticleID { return v.article }) {
				r.queueFill(ctx, pipe, p, some[0].article, months[some[0].article], some)
			}
		})
	})
}

// queueFill queues a call of fillcasts.lua for voters of an article that was posted in a month.
func (r *Repo) queueFill(ctx context.Context, pipe redis.Pipeliner, p partition, id ArticleID, month int64, voters []named) *redis.Cmd {
	keys := []string{
		p.article(id),   // KEYS[1] article
		p.voted(id),     // KEYS[2] voted
		p.downvoted(id), // KEYS[3] downvoted
		p.audit(id),     // KEYS[4] audit
	}
	args := []any{
		id.number(),                   // ARGV[1] number
		seconds(r.rules.VotingWindow), // ARGV[2] window
		seconds(r.rules.VoteHistory),  // ARGV[3] history
		r.scriptNow(),                 // ARGV[4] now
	}
	for _, v := range voters {
		keys, args = append(keys, p.cast(v.voter, month)), append(args, v.voter.member()) // KEYS[5...], ARGV[5...]
	}
	return fillCastsScript.EvalSha(ctx, pipe, keys, args...)
}

// dropCasts removes the histories, and what articles say about them.
func (r *Repo) dropCasts(ctx context.Context, p partition) error {
	err := r.eachMatching(ctx, p, p.key(castPrefix, "*"), func(keys []string) error {
		return r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for _, key := range keys {
				pipe.Unlink(ctx, key)
			}
		})
	})
	for _, set := range []string{p.ranking(ByTime), p.deleted()} {
		if err != nil {
			return err
		}
		err = r.scan(ctx, scan{command: redis.Cmdable.ZScan, key: set, step: 2, handle: func(members []string) error {
			return r.pipeline(ctx, func(pipe redis.Pipeliner) {
				for _, member := range members {
					pipe.HDel(ctx, p.key(member), fieldCast)
				}
			})
		}})
	}
	return err
}

// expireCasts gives the histories the expiry of the present rules.
func (r *Repo) expireCasts(ctx context.Context) error {
	for _, p := range r.partitions {
		err := r.eachMatching(ctx, p, p.key(castPrefix, "*"), func(keys []string) error {
			return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
				for _, key := range keys {
					month, err := strconv.ParseInt(key[strings.LastIndexByte(key, ':')+1:], 10, 64)
					switch end := r.castExpiry(month); {
					case err != nil: // not a history
					case end.IsZero():
						pipe.Persist(ctx, key)
					default:
						pipe.Expire(ctx, key, end.Sub(r.now()))
					}
				}
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
