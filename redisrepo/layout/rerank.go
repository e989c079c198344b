package layout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

const (
	ruleVoteScore = "vote_score"
	ruleRanking   = "ranking"

	// unfinished is what meta: records as the ranking while articles are re-ranked: some have the old scores, so that a
	// start under either rules has to go on.
	unfinished = "unfinished"
)

// RankingRules returns the rules that scores are computed by, as meta: records them.
func (r *Layout) RankingRules() map[string]string {
	rules := map[string]string{
		ruleVoteScore:       strconv.Itoa(r.store.Rules.VoteScore),
		ruleRanking:         r.store.Rules.Ranking.String(),
		"voting_window":     strconv.FormatInt(site.Seconds(r.store.Rules.VotingWindow), 10),
		"interesting_votes": strconv.Itoa(r.store.Rules.InterestingVotes),
	}
	switch r.store.Rules.Ranking {
	case site.Linear: // by vote_score alone
	case site.Capped:
		rules["rank_cap"] = strconv.FormatInt(site.Seconds(r.store.Rules.RankCap), 10)
	case site.HalfLifeRanking:
		rules["half_life"] = strconv.FormatInt(site.Seconds(r.store.Rules.HalfLife), 10)
	}
	return rules
}

// RecordedRule returns a rule as recorded in meta: or an export, or an empty text. A record without a ranking is from a
// version that had only the linear one.
func RecordedRule(rules map[string]string, rule string) string {
	if rule == ruleRanking && rules[rule] == "" && rules[ruleVoteScore] != "" {
		return site.Linear.String()
	}
	return rules[rule]
}

// ApplyRules builds the features that were switched on, and drops those that were switched off; that is an error while a
// process of the site runs. Then it re-ranks all articles if the rules differ from those in meta:. It is safe to interrupt:
// the next start begins again, under any rules.
func (r *Layout) ApplyRules(ctx context.Context) error {
	if err := r.applyFeatures(ctx); err != nil {
		return err
	}
	rules := r.RankingRules()
	outdated, changed, err := r.Outdated(ctx)
	if err != nil {
		return err
	}
	if changed != nil && r.store.KeepRules {
		return fmt.Errorf("the rules differ from those of the data: %s: use the same settings as the server", strings.Join(changed, ", "))
	}
	if changed != nil && r.OnRerank != nil {
		r.OnRerank(strings.Join(changed, ", "))
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

// Outdated returns the partitions whose data follows other rules, or no rules yet, and describes the changes.
func (r *Layout) Outdated(ctx context.Context) (outdated []keys.Partition, changed []string, err error) {
	rules := r.RankingRules()
	metas, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.MapStringStringCmd {
		return pipe.HGetAll(ctx, p.Meta())
	})
	if err != nil {
		return nil, nil, err
	}
	for i, p := range r.store.Partitions {
		meta := metas[i].Val()
		r.NoteForgotten(meta)
		differs := false
		for _, rule := range slices.Sorted(maps.Keys(rules)) {
			was := RecordedRule(meta, rule)
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
func (r *Layout) rerank(ctx context.Context, partitions []keys.Partition, rules map[string]string) error {
	if len(partitions) == 0 {
		return nil
	}
	cards := make([][]*redis.IntCmd, len(partitions))
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, p := range partitions {
			cards[i] = []*redis.IntCmd{pipe.ZCard(ctx, p.Ranking(site.ByTime)), pipe.ZCard(ctx, p.Deleted())}
		}
	})
	if err != nil {
		return err
	}
	var empty []keys.Partition
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
		r.OnProgress("ranking all articles", min(done, total), total)
	}
	for _, p := range partitions {
		if slices.Contains(empty, p) {
			continue
		}
		if err := r.rerankPartition(ctx, p, ranked); err != nil {
			return err
		}
		if err := r.recordRules(ctx, []keys.Partition{p}, rules); err != nil {
			return err
		}
	}
	return nil
}

// NoteForgotten sets Articles.Forgotten from meta:. After a change of the voting window it includes voters that were
// kept for the former window only.
func (r *Layout) NoteForgotten(meta map[string]string) {
	since, window, _ := strings.Cut(meta[keys.FieldForgotten], " ")
	before, _ := strconv.ParseInt(since, 10, 64)
	was, err := strconv.ParseInt(meta["voting_window"], 10, 64)
	now := site.Seconds(r.store.Rules.VotingWindow)
	if err == nil && was != now && window != strconv.FormatInt(now, 10) { // else an interrupted start has found it out
		before = max(before, r.store.Now().Unix()-was-site.Seconds(site.VoterMargin))
	}
	r.articles.Forgotten.Store(max(r.articles.Forgotten.Load(), before))
}

// recordForgotten records which voters are forgotten, before re-ranking keeps the others longer.
func (r *Layout) recordForgotten(ctx context.Context, partitions []keys.Partition) error {
	if r.articles.Forgotten.Load() == 0 {
		return nil
	}
	return r.recordRules(ctx, partitions, map[string]string{keys.FieldForgotten: r.forgottenText()})
}

func (r *Layout) forgottenText() string {
	return fmt.Sprint(r.articles.Forgotten.Load(), " ", site.Seconds(r.store.Rules.VotingWindow))
}

func (r *Layout) recordRules(ctx context.Context, partitions []keys.Partition, rules map[string]string) error {
	if len(partitions) == 0 {
		return nil
	}
	return r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for _, p := range partitions {
			pipe.HSet(ctx, p.Meta(), rules)
		}
	})
}

func (r *Layout) rerankPartition(ctx context.Context, p keys.Partition, ranked func(int)) error {
	// Deleted articles have no rank, but their voters are kept.
	for _, set := range []string{p.Ranking(site.ByTime), p.Deleted()} {
		if err := r.rerankAll(ctx, p, set, ranked); err != nil {
			return err
		}
	}
	// Stored listings hold the old scores; they are rebuilt when they are next read.
	return r.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: p.Groups(), Step: 2, Handle: func(names []string) error {
		return r.store.Read(ctx, func(pipe redis.Pipeliner) {
			for _, name := range names {
				pipe.Unlink(ctx, p.Listing(site.ByScore, site.GroupName(name)))
			}
		})
	}})
}

// rerankAll re-ranks the articles of a sorted set, and calls ranked with the number of each batch.
func (r *Layout) rerankAll(ctx context.Context, p keys.Partition, set string, ranked func(int)) error {
	return r.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: set, Step: 1, Handle: func(members []string) error {
		defer ranked(len(members) / 2)
		return r.store.Write(ctx, func(pipe redis.Pipeliner) {
			for pair := range slices.Chunk(members, 2) {
				member := pair[0]
				id, err := site.ParseArticleID(member)
				if err != nil {
					continue // not an article; Check reports it
				}
				scriptKeys := []string{
					p.Article(id),           // KEYS[1] article
					p.Voted(id),             // KEYS[2] voted
					p.Downvoted(id),         // KEYS[3] downvoted
					p.Audit(id),             // KEYS[4] audit
					p.Ranking(site.ByTime),  // KEYS[5] times
					p.Ranking(site.ByScore), // KEYS[6] scores
					p.Clock(""),             // KEYS[7] clock
					p.Front(),               // KEYS[8] pages
				}
				rerankScript.EvalSha(ctx, pipe, lists.GroupKeys(scriptKeys, p, site.Interesting),
					member,                                   // ARGV[1] member
					r.store.Rules.RankingText(),              // ARGV[2] ranking
					site.Seconds(r.store.Rules.VotingWindow), // ARGV[3] window
					site.Seconds(site.VoterMargin),           // ARGV[4] margin
					r.store.Rules.InterestingVotes,           // ARGV[5] interesting_votes
					r.store.ScriptNow(),                      // ARGV[6] now
					r.store.On,                               // ARGV[7] features
				)
			}
		})
	}})
}
