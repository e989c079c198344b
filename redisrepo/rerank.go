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

// OnRerank sets a function that New calls before it re-ranks all articles, with the changed rules as text.
func OnRerank(f func(changes string)) Option {
	return func(r *Repo) { r.onRerank = f }
}

// KeepRules makes New fail if the rules differ from those of the data, or if the data has an older layout. It is for programs
// that run beside the server: they must not re-rank its articles because they were started with other settings, nor lock an
// older server out by an upgrade.
func KeepRules() Option {
	return func(r *Repo) { r.keepRules = true }
}

// Rules returns the rules of the site.
func (r *Repo) Rules() Rules { return r.rules }

const (
	ruleVoteScore = "vote_score"
	ruleRanking   = "ranking"

	// unfinished is what meta: records as the ranking while articles are re-ranked: some have the old scores, so that a
	// start under either rules has to go on.
	unfinished = "unfinished"
)

// RankingRules returns the rules that scores are computed by, as meta: records them.
func (r *Repo) RankingRules() map[string]string {
	rules := map[string]string{
		ruleVoteScore:       strconv.Itoa(r.rules.VoteScore),
		ruleRanking:         r.rules.Ranking.String(),
		"voting_window":     strconv.FormatInt(seconds(r.rules.VotingWindow), 10),
		"interesting_votes": strconv.Itoa(r.rules.InterestingVotes),
	}
	switch r.rules.Ranking {
	case Linear: // by vote_score alone
	case Capped:
		rules["rank_cap"] = strconv.FormatInt(seconds(r.rules.RankCap), 10)
	case HalfLifeRanking:
		rules["half_life"] = strconv.FormatInt(seconds(r.rules.HalfLife), 10)
	}
	return rules
}

// recordedRule returns a rule of those that meta: or an export has; empty: it has none. Without a ranking, it is of a
// version that had only the linear one.
func recordedRule(rules map[string]string, rule string) string {
	if rule == ruleRanking && rules[rule] == "" && rules[ruleVoteScore] != "" {
		return Linear.String()
	}
	return rules[rule]
}

// applyRules re-ranks all articles if the rules differ from those in meta:. It is safe to interrupt: the
// next start begins again, also under the rules of before.
func (r *Repo) applyRules(ctx context.Context) error {
	rules := r.RankingRules()
	outdated, changed, err := r.outdated(ctx)
	if err != nil {
		return err
	}
	if changed != nil && r.keepRules {
		return fmt.Errorf("the rules differ from those of the data: %s: use the same settings as the server", strings.Join(changed, ", "))
	}
	if changed != nil && r.onRerank != nil {
		r.onRerank(strings.Join(changed, ", "))
	}
	if err := r.recordForgotten(ctx, outdated); err != nil {
		return err
	}
	if changed != nil {
		if err := r.recordRules(ctx, outdated, map[string]string{ruleRanking: unfinished}); err != nil {
			return err
		}
	}
	return r.rerank(ctx, outdated, rules)
}

// outdated returns the partitions whose data follows other rules, or none yet, and what has changed.
func (r *Repo) outdated(ctx context.Context) (outdated []partition, changed []string, err error) {
	rules := r.RankingRules()
	metas := make([]*redis.MapStringStringCmd, len(r.partitions))
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			metas[i] = pipe.HGetAll(ctx, p.meta())
		}
	})
	if err != nil {
		return nil, nil, err
	}
	for i, p := range r.partitions {
		meta := metas[i].Val()
		r.noteForgotten(meta)
		differs := false
		for _, rule := range slices.Sorted(maps.Keys(rules)) {
			was := recordedRule(meta, rule)
			if was == rules[rule] {
				continue
			}
			differs = true
			change := fmt.Sprintf("%s was %s and is %s", rule, was, rules[rule])
			if was != "" && !slices.Contains(changed, change) {
				changed = append(changed, change)
			}
		}
		if differs {
			outdated = append(outdated, p)
		}
	}
	return outdated, changed, nil
}

// rerank re-ranks the articles of partitions, and records the rules in each when it is done.
func (r *Repo) rerank(ctx context.Context, partitions []partition, rules map[string]string) error {
	if len(partitions) == 0 {
		return nil
	}
	cards := make([][]*redis.IntCmd, len(partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range partitions {
			cards[i] = []*redis.IntCmd{pipe.ZCard(ctx, p.ranking(ByTime)), pipe.ZCard(ctx, p.deleted())}
		}
	})
	if err != nil {
		return err
	}
	var empty []partition
	total, done := 0, 0
	for i, p := range partitions {
		n := int(cards[i][0].Val() + cards[i][1].Val())
		total += n
		if n == 0 {
			empty = append(empty, p)
		}
	}
	if err := r.recordRules(ctx, empty, rules); err != nil {
		return err
	}
	ranked := func(n int) {
		done += n
		r.onProgress("ranking all articles", min(done, total), total)
	}
	for _, p := range partitions {
		if slices.Contains(empty, p) {
			continue
		}
		if err := r.rerankPartition(ctx, p, ranked); err != nil {
			return err
		}
		if err := r.recordRules(ctx, []partition{p}, rules); err != nil {
			return err
		}
	}
	return nil
}

// noteForgotten takes from meta: which voters are forgotten. If the window changes now, they include those that were kept
// for the earlier one only.
func (r *Repo) noteForgotten(meta map[string]string) {
	since, window, _ := strings.Cut(meta[fieldForgotten], " ")
	before, _ := strconv.ParseInt(since, 10, 64)
	was, err := strconv.ParseInt(meta["voting_window"], 10, 64)
	now := seconds(r.rules.VotingWindow)
	if err == nil && was != now && window != strconv.FormatInt(now, 10) { // else an interrupted start has found it out
		before = max(before, r.now().Unix()-was-seconds(voterMargin))
	}
	r.forgotten.Store(max(r.forgotten.Load(), before))
}

// recordForgotten records which voters are forgotten, before re-ranking keeps the others longer.
func (r *Repo) recordForgotten(ctx context.Context, partitions []partition) error {
	if r.forgotten.Load() == 0 || len(partitions) == 0 {
		return nil
	}
	return r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, p := range partitions {
			pipe.HSet(ctx, p.meta(), fieldForgotten, r.forgottenText())
		}
	})
}

func (r *Repo) forgottenText() string {
	return fmt.Sprint(r.forgotten.Load(), " ", seconds(r.rules.VotingWindow))
}

// votersForgotten reports whether it is not known any more who voted on an article.
func (r *Repo) votersForgotten(a *Article) bool {
	if r.now().After(a.VotingEndsAt.Add(voterMargin)) {
		return true
	}
	voted := a.Upvotes != 0 || a.Downvotes != 0 || !a.posterVotes // else there was no voter to forget
	return voted && a.postedAt < float64(r.forgotten.Load())
}

func (r *Repo) recordRules(ctx context.Context, partitions []partition, rules map[string]string) error {
	if len(partitions) == 0 {
		return nil
	}
	return r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, p := range partitions {
			pipe.HSet(ctx, p.meta(), rules)
		}
	})
}

func (r *Repo) rerankPartition(ctx context.Context, p partition, ranked func(int)) error {
	// Deleted articles have no rank, but their voters are kept.
	for _, set := range []string{p.ranking(ByTime), p.deleted()} {
		if err := r.rerankAll(ctx, p, set, ranked); err != nil {
			return err
		}
	}
	// Stored listings hold the old scores; they are rebuilt when they are next read.
	return r.scan(ctx, scan{command: redis.Cmdable.ZScan, key: p.groups(), step: 2, handle: func(names []string) error {
		return r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for _, name := range names {
				pipe.Unlink(ctx, p.listing(ByScore, GroupName(name)))
			}
		})
	}})
}

// rerankAll re-ranks the articles of a sorted set, and calls ranked with the number of each batch.
func (r *Repo) rerankAll(ctx context.Context, p partition, set string, ranked func(int)) error {
	return r.scan(ctx, scan{command: redis.Cmdable.ZScan, key: set, step: 1, handle: func(members []string) error {
		defer ranked(len(members) / 2)
		return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
			for pair := range slices.Chunk(members, 2) {
				member, time := pair[0], pair[1] // a deleted article's is that of its deletion
				id, err := ParseArticleID(member)
				if err != nil {
					continue // not an article; Check reports it
				}
				keys := []string{
					p.article(id),      // KEYS[1] article
					p.voted(id),        // KEYS[2] voted
					p.downvoted(id),    // KEYS[3] downvoted
					p.audit(id),        // KEYS[4] audit
					p.ranking(ByTime),  // KEYS[5] times
					p.ranking(ByScore), // KEYS[6] scores
				}
				keys = rankingKeys(keys, p, hourOfText(time)) // KEYS[7] to [13]
				rerankScript.EvalSha(ctx, pipe, groupKeys(keys, p, Interesting),
					member,                        // ARGV[1] member
					r.rules.rankingText(),         // ARGV[2] ranking
					seconds(r.rules.VotingWindow), // ARGV[3] window
					seconds(voterMargin),          // ARGV[4] margin
					r.rules.InterestingVotes,      // ARGV[5] interesting_votes
					r.scriptNow(),                 // ARGV[6] now
					r.on,                          // ARGV[7] features
				)
			}
		})
	}})
}
