package layout

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// buildCasts enters the votes on articles whose voters are known into the histories of these users. A vote has its time if
// that is recorded with a bucket, else that of the posting.
func (r *Layout) buildCasts(ctx context.Context, b *building) error {
	oldest := r.casts.OldestVoters()
	fill := func(articles []redis.Z) error {
		for some := range slices.Chunk(articles, wire.BatchSize) {
			if err := r.fillCasts(ctx, b, some); err != nil {
				return err
			}
		}
		return nil
	}
	// An article was posted before it was deleted. There are few, so an interrupted start begins with them again.
	deleted, err := r.store.Client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: b.p.Deleted(), ByScore: true, Start: site.Number(oldest), Stop: "+inf"}).Result()
	if err != nil {
		return err
	}
	if err := fill(deleted); err != nil {
		return err
	}
	if from, err := site.ParseNumber(b.from); b.from == "" || err != nil || from < oldest {
		b.from = site.Number(oldest)
	}
	return r.inOrderOfTime(ctx, b, fill)
}

// fillCasts enters the votes on some articles of a partition.
func (r *Layout) fillCasts(ctx context.Context, b *building, batch []redis.Z) error {
	p := b.p
	begun := make([]*redis.Cmd, 0, len(batch))
	var ids []site.ArticleID
	err := r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, z := range batch {
			if id, err := site.ParseArticleID(fmt.Sprint(z.Member)); err == nil && (b.only == nil || b.only(id)) {
				ids, begun = append(ids, id), append(begun, r.queueFill(ctx, pipe, p, id, 0, nil))
			}
		}
	})
	if err != nil {
		return err
	}
	var sets []articles.VoterSet
	months := map[site.ArticleID]int64{}
	for i, id := range ids {
		answer, err := wire.StatusReply(begun[i])
		if err != nil {
			return fmt.Errorf("%v: %w", id, err)
		}
		months[id] = site.HourOfText(answer.Text(1)).Month()
		sets = append(sets, articles.VoterSet{Article: id, Vote: site.Up, Size: answer.Number(2)}, articles.VoterSet{Article: id, Vote: site.Down, Size: answer.Number(3)})
	}
	return r.articles.EachVoter(ctx, p, sets, ImportVoters, func(voters []articles.Named) error {
		return r.store.Write(ctx, func(pipe redis.Pipeliner) {
			for some := range Runs(voters, func(v articles.Named) site.ArticleID { return v.Article }) {
				r.queueFill(ctx, pipe, p, some[0].Article, months[some[0].Article], some)
			}
		})
	})
}

// queueFill queues a call of fillcasts.lua for voters of an article that was posted in a month.
func (r *Layout) queueFill(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, id site.ArticleID, month int64, voters []articles.Named) *redis.Cmd {
	keys := []string{
		p.Article(id),   // KEYS[1] article
		p.Voted(id),     // KEYS[2] voted
		p.Downvoted(id), // KEYS[3] downvoted
		p.Audit(id),     // KEYS[4] audit
	}
	args := []any{
		id.Number(),                              // ARGV[1] number
		site.Seconds(r.store.Rules.VotingWindow), // ARGV[2] window
		site.Seconds(r.store.Rules.VoteHistory),  // ARGV[3] history
		r.store.ScriptNow(),                      // ARGV[4] now
	}
	for _, v := range voters {
		keys, args = append(keys, p.Cast(v.Voter, month)), append(args, v.Voter.Member()) // KEYS[5...], ARGV[5...]
	}
	return fillCastsScript.EvalSha(ctx, pipe, keys, args...)
}

// forgetCasts removes what articles say about the histories.
func (r *Layout) forgetCasts(ctx context.Context, p keys.Partition) error {
	if err := r.store.Client.HDel(ctx, p.Views(), "cast").Err(); err != nil {
		return err
	}
	for _, set := range []string{p.Ranking(site.ByTime), p.Deleted()} {
		err := r.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: set, Step: 2, Handle: func(members []string) error {
			return r.store.Read(ctx, func(pipe redis.Pipeliner) {
				for _, member := range members {
					pipe.HDel(ctx, p.Key(member), site.FieldCast)
				}
			})
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Runs yields the runs of consecutive elements of a list that have the same key.
func Runs[T any, K comparable](list []T, key func(T) K) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for first := 0; first < len(list); {
			next := first + 1
			for next < len(list) && key(list[next]) == key(list[first]) {
				next++
			}
			if !yield(list[first:next]) {
				return
			}
			first = next
		}
	}
}

// FillCasts enters the votes on articles whose voters are known into the histories, for articles for which only returns
// true.
func (r *Layout) FillCasts(ctx context.Context, only func(site.ArticleID) bool) error {
	for _, feature := range Features() {
		for _, p := range r.store.Partitions {
			if feature.Name == "cast" && feature.On(r.store.Rules) {
				if err := feature.Build(r, ctx, &building{Feature: feature, p: p, only: only}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
