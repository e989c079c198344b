package redisrepo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// OnRerank is called before New ranks all articles anew, with what has changed.
func OnRerank(changed func(string)) Option {
	return func(r *Repo) { r.onRerank = changed }
}

// KeepRules makes New refuse rules that are not those of the data. It is for
// programs beside the server, which must not rank its articles anew because
// they were started with other settings.
func KeepRules() Option {
	return func(r *Repo) { r.keepRules = true }
}

// applyRules brings all articles under the rules, when those that meta: names
// are others. To be interrupted is safe: the next start begins again.
func (r *Repo) applyRules(ctx context.Context) error {
	rules := map[string]string{
		"vote_score":        strconv.Itoa(r.rules.VoteScore),
		"voting_window":     strconv.FormatInt(seconds(r.rules.VotingWindow), 10),
		"interesting_votes": strconv.Itoa(r.rules.InterestingVotes),
	}
	for _, p := range r.partitions {
		meta, err := r.client.HGetAll(ctx, p.meta()).Result()
		if err != nil {
			return err
		}
		applied := maps.Clone(meta)
		maps.Copy(applied, rules)
		if maps.Equal(applied, meta) {
			continue
		}
		var changed []string
		for _, rule := range slices.Sorted(maps.Keys(rules)) {
			if was := meta[rule]; was != "" && was != rules[rule] {
				changed = append(changed, fmt.Sprintf("%s was %s and is %s", rule, was, rules[rule]))
			}
		}
		if changed != nil && r.keepRules {
			return fmt.Errorf("the data are under other rules than these: %s: set the same as for the server", strings.Join(changed, ", "))
		}
		if changed != nil && r.onRerank != nil {
			r.onRerank(strings.Join(changed, ", "))
		}
		if err := r.rerank(ctx, p); err != nil {
			return err
		}
		if err := r.client.HSet(ctx, p.meta(), rules).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) rerank(ctx context.Context, p partition) error {
	// Deleted articles have no rank, but voters that are kept.
	for _, articles := range []string{p.ranking(ByTime), p.deleted()} {
		if err := r.rerankAll(ctx, p, articles); err != nil {
			return err
		}
	}
	// Kept listings hold the old scores, and are built again when they are read.
	names := r.client.ZScan(ctx, p.groups(), 0, "", batchSize).Iterator()
	return batches(ctx, names, 2, func(names []string) error {
		return r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for _, name := range names {
				pipe.Unlink(ctx, p.listing(ByScore, GroupName(name)))
			}
		})
	})
}

// rerankAll brings the articles of a sorted set under the rules.
func (r *Repo) rerankAll(ctx context.Context, p partition, set string) error {
	articles := r.client.ZScan(ctx, set, 0, "", batchSize).Iterator()
	return batches(ctx, articles, 2, func(members []string) error {
		return r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for _, member := range members {
				id, err := ParseArticleID(member)
				if err != nil {
					continue // a foreign member has no votes; Check reports it
				}
				keys := []string{p.article(id), p.voted(id), p.downvoted(id), p.audit(id), p.ranking(ByTime), p.ranking(ByScore)}
				rerankScript.EvalSha(ctx, pipe, groupKeys(keys, p, Interesting), member,
					r.rules.VoteScore, seconds(r.rules.VotingWindow), seconds(voterMargin), r.rules.InterestingVotes, r.scriptNow())
			}
		})
	})
}
