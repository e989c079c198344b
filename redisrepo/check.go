package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// checkBatch is how many articles or members are read in one transaction: small
// enough that nobody waits for it.
const checkBatch = 100

// Checked is how much Check has read.
type Checked struct{ Articles, Groups int }

// Check reads the whole store and reports every fact that contradicts another,
// as a sentence with the keys in it:
//
//   - time:, score: and the hashes name the same articles;
//   - score is time + VoteScore for each vote, as equal doubles;
//   - while voting is open the sets of voters are as large as the counts, beside
//     a poster's vote that is not counted, have no common member, and end;
//   - an article is in the sets of its groups, in the index of what its poster
//     posted, and in the group of the interesting ones just when it has the votes;
//   - a group's set holds existing articles, and its kept listings are the
//     intersection with the ranking;
//   - no article has a number that is still to be given out.
//
// An article is read in one transaction, so Check may run while people vote.
// What only the book's code writes is not held against it: it keeps no index,
// and may put articles into groups that their hash does not list. Check changes
// nothing. Its error is that of a store that does not answer.
func (r *Repo) Check(ctx context.Context, report func(violation string)) (Checked, error) {
	c := checker{Repo: r, report: report}
	for _, p := range r.partitions {
		if err := c.partition(ctx, p); err != nil {
			return c.done, storeError("check", err)
		}
	}
	return c.done, nil
}

type checker struct {
	*Repo
	report  func(string)
	done    Checked
	highest ArticleID
}

func (c *checker) reportf(format string, args ...any) { c.report(fmt.Sprintf(format, args...)) }

func (c *checker) partition(ctx context.Context, p partition) error {
	c.highest = 0
	// Every article is checked where time: names it; the other two places only
	// have to name no further ones.
	times := c.client.ZScan(ctx, p.ranking(ByTime), 0, "", checkBatch).Iterator()
	err := batches(ctx, times, 2, func(ids []string) error { return c.articles(ctx, p, ids) })
	if err := c.wrongType(p.ranking(ByTime), err); err != nil {
		return err
	}
	unlisted := func(where string) func([]string) error {
		return func(members []string) error { return c.unlisted(ctx, p, where, members) }
	}
	scores := c.client.ZScan(ctx, p.ranking(ByScore), 0, "", checkBatch).Iterator()
	err = batches(ctx, scores, 2, unlisted(p.ranking(ByScore)))
	if err := c.wrongType(p.ranking(ByScore), err); err != nil {
		return err
	}
	hashes := c.client.Scan(ctx, 0, p.key(articlePrefix, "?*"), 1000).Iterator()
	if err := batches(ctx, hashes, 1, unlisted("a hash")); err != nil {
		return err
	}
	if err := c.counter(ctx, p); err != nil {
		return err
	}
	groups := c.client.Scan(ctx, 0, p.group("?*"), 1000).Iterator()
	return batches(ctx, groups, 1, func(keys []string) error {
		for _, key := range keys {
			c.done.Groups++
			if err := c.group(ctx, p, GroupName(strings.TrimPrefix(key, p.group("")))); err != nil {
				return err
			}
		}
		return nil
	})
}

// wrongType reports a scanned key that is of another type; of other errors it
// returns the error.
func (c *checker) wrongType(key string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		c.reportf("%s: is of another type", key)
		return nil
	}
	return err
}

// batches hands on what the iterator gives, of every step values the first.
func batches(ctx context.Context, values *redis.ScanIterator, step int, handle func([]string) error) error {
	var batch []string
	for i := 0; values.Next(ctx); i++ {
		if i%step == 0 {
			batch = append(batch, values.Val())
		}
		if len(batch) == checkBatch {
			if err := handle(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	if err := values.Err(); err != nil || len(batch) == 0 {
		return err
	}
	return handle(batch)
}

// unlisted reports articles that time: does not hold, though where does.
func (c *checker) unlisted(ctx context.Context, p partition, where string, keys []string) error {
	times, scores := make([]*redis.FloatCmd, len(keys)), make([]*redis.FloatCmd, len(keys))
	hashes := make([]*redis.IntCmd, len(keys))
	err := c.transaction(ctx, func(pipe redis.Pipeliner) {
		for i, key := range keys {
			member := strings.TrimPrefix(key, string(p))
			times[i] = pipe.ZScore(ctx, p.ranking(ByTime), member)
			scores[i] = pipe.ZScore(ctx, p.ranking(ByScore), member)
			hashes[i] = pipe.Exists(ctx, p.key(member))
		}
	})
	if err != nil {
		return err
	}
	for i, key := range keys {
		stays := hashes[i].Val() == 1
		if where == p.ranking(ByScore) {
			stays = scores[i].Err() == nil
		}
		if stays && times[i].Err() != nil {
			c.reportf("%s: is in %s, but not in %s", key, where, p.ranking(ByTime))
		}
	}
	return nil
}

func (c *checker) counter(ctx context.Context, p partition) error {
	given, err := c.client.Get(ctx, p.counter()).Result()
	if err := c.wrongType(p.counter(), err); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	last, err := strconv.ParseInt(cmp.Or(given, "0"), 10, 64)
	if err != nil {
		c.reportf("%s: is not a number: %q", p.counter(), given)
		return nil
	}
	if n := int64(c.highest) / int64(len(c.partitions)); last < n {
		c.reportf("%s is %d, but %v exists", p.counter(), last, c.highest)
	}
	return nil
}

// facts are what the store says about one article at one moment.
type facts struct {
	hash               *redis.MapStringStringCmd
	time, score        *redis.FloatCmd
	voted, downvoted   *redis.IntCmd
	votedTTL, downTTL  *redis.DurationCmd
	both               *redis.StringSliceCmd
	posterVoted        *redis.BoolCmd
	posted             *redis.FloatCmd
	interesting        *redis.BoolCmd
	groups             []*redis.BoolCmd
	indexed            []*redis.FloatCmd
	knownPoster, known string // what the last three were asked with
}

// articles checks a batch. Which keys an article has is in its hash, so that is
// read before the transaction, and again within: articles that were regrouped
// in between are looked at once more.
func (c *checker) articles(ctx context.Context, p partition, members []string) error {
	ids := make([]ArticleID, 0, len(members))
	for _, member := range members {
		id, err := ParseArticleID(member)
		if err != nil || id.String() != member {
			c.reportf("%s: is in %s, but no article can have that id", member, p.ranking(ByTime))
			continue
		}
		if c.Repo.partition(id) != p {
			c.reportf("%s: belongs to another partition", p.article(id))
		}
		c.highest = max(c.highest, id)
		ids = append(ids, id)
	}
	c.done.Articles += len(ids)
	for len(ids) > 0 {
		before := make([]*redis.SliceCmd, len(ids))
		err := c.transaction(ctx, func(pipe redis.Pipeliner) {
			for i, id := range ids {
				before[i] = pipe.HMGet(ctx, p.article(id), fieldGroups, fieldPoster)
			}
		})
		if err != nil {
			return err
		}
		batch := make([]facts, len(ids))
		err = c.transaction(ctx, func(pipe redis.Pipeliner) {
			for i, id := range ids {
				batch[i] = c.queue(ctx, pipe, p, id, reply(before[i].Val()).text(0), reply(before[i].Val()).text(1))
			}
		})
		if err != nil {
			return err
		}
		var again []ArticleID
		for i, id := range ids {
			f, hash := batch[i], batch[i].hash.Val()
			if hash[fieldGroups] != f.known || hash[fieldPoster] != f.knownPoster {
				again = append(again, id)
				continue
			}
			c.article(p, id, f)
		}
		ids = again
	}
	return nil
}

func (c *checker) queue(ctx context.Context, pipe redis.Pipeliner, p partition, id ArticleID, groups, poster string) facts {
	f := facts{
		hash:        pipe.HGetAll(ctx, p.article(id)),
		time:        pipe.ZScore(ctx, p.ranking(ByTime), id.String()),
		score:       pipe.ZScore(ctx, p.ranking(ByScore), id.String()),
		voted:       pipe.SCard(ctx, p.voted(id)),
		downvoted:   pipe.SCard(ctx, p.downvoted(id)),
		votedTTL:    pipe.PTTL(ctx, p.voted(id)),
		downTTL:     pipe.PTTL(ctx, p.downvoted(id)),
		both:        pipe.SInter(ctx, p.downvoted(id), p.voted(id)),
		posterVoted: pipe.SIsMember(ctx, p.voted(id), poster),
		posted:      pipe.ZScore(ctx, p.posted(userOf(poster)), id.String()),
		interesting: pipe.SIsMember(ctx, p.group(interesting), id.String()),
		known:       groups,
		knownPoster: poster,
	}
	for _, name := range groupNames(groups) {
		f.groups = append(f.groups, pipe.SIsMember(ctx, p.group(name), id.String()))
		f.indexed = append(f.indexed, pipe.ZScore(ctx, p.groups(), string(name)))
	}
	return f
}

func (c *checker) article(p partition, id ArticleID, f facts) {
	key := p.article(id)
	if f.time.Err() != nil {
		return // deleted since it was listed
	}
	a, err := c.decode(id, f.hash.Val())
	switch {
	case len(f.hash.Val()) == 0:
		c.reportf("%s: is in %s, but has no hash", key, p.ranking(ByTime))
		return
	case err != nil:
		c.reportf("%s%v", p, err)
		return
	case f.score.Err() != nil:
		c.reportf("%s: is not in %s", key, p.ranking(ByScore))
		return
	}
	if posted, _ := parseNumber(f.hash.Val()[fieldTime]); posted != f.time.Val() {
		c.reportf("%s: time is %v, but %s says %v", key, posted, p.ranking(ByTime), f.time.Val())
	}
	if f.score.Val() != a.Score {
		c.reportf("%s: score is %.17g, not %.17g: time %v and %d votes", key, f.score.Val(), a.Score, f.time.Val(), a.Votes)
	}
	c.voters(p, a, f)

	_, ours := f.hash.Val()[fieldGroups]
	if !ours {
		return
	}
	if f.posted.Err() != nil || f.posted.Val() != f.time.Val() {
		c.reportf("%s: is not in %s with its time", key, p.posted(a.Poster.Name))
	}
	if f.interesting.Val() != a.IsInteresting {
		c.reportf("%s: %d votes, but in %s: %t", key, a.Votes, p.group(interesting), f.interesting.Val())
	}
	if !slices.IsSorted(a.Groups) || len(slices.Compact(slices.Clone(a.Groups))) != len(a.Groups) {
		c.reportf("%s: groups are not different names in order: %v", key, a.Groups)
	}
	for i, name := range a.Groups {
		if !f.groups[i].Val() {
			c.reportf("%s: is not in %s", key, p.group(name))
		}
		if f.indexed[i].Err() != nil {
			c.reportf("%s: its group %s is not in %s", key, name, p.groups())
		}
	}
}

// voters checks the sets of one article against its counts.
func (c *checker) voters(p partition, a *Article, f facts) {
	key := p.article(a.ID)
	if f.votedTTL.Val() == forever {
		c.reportf("%s: never ends", p.voted(a.ID))
	}
	if f.downTTL.Val() == forever {
		c.reportf("%s: never ends", p.downvoted(a.ID))
	}
	if len(f.both.Val()) > 0 {
		c.reportf("%s: voted up and down: %v", key, f.both.Val())
	}
	uncounted := 0
	if !a.posterVotes {
		uncounted = 1
	}
	open := !c.now().Truncate(time.Second).After(a.VotingEndsAt)
	exist := f.voted.Val() > 0 || f.downvoted.Val() > 0
	if !open && !exist {
		return // forgotten, as they should be
	}
	// A set outlives the window; the two end at the same moment, but one that
	// was never filled is not there.
	if open || f.votedTTL.Val() > 0 {
		if f.voted.Val() != int64(a.Upvotes+uncounted) {
			c.reportf("%s: has %d members, not %d", p.voted(a.ID), f.voted.Val(), a.Upvotes+uncounted)
		}
		if uncounted == 1 && !f.posterVoted.Val() {
			c.reportf("%s: lacks the poster", p.voted(a.ID))
		}
	}
	if open || f.downTTL.Val() > 0 {
		if f.downvoted.Val() != int64(a.Downvotes) {
			c.reportf("%s: has %d members, not %d", p.downvoted(a.ID), f.downvoted.Val(), a.Downvotes)
		}
	}
}

// forever is how go-redis gives the PTTL of a key that does not expire.
const forever = -1

// group checks one set, and the listings that are kept of it.
func (c *checker) group(ctx context.Context, p partition, name GroupName) error {
	members := c.client.SScan(ctx, p.group(name), 0, "", checkBatch).Iterator()
	err := batches(ctx, members, 1, func(ids []string) error { return c.members(ctx, p, name, ids) })
	if err := c.wrongType(p.group(name), err); err != nil {
		return err
	}
	for _, order := range []Order{ByScore, ByTime} {
		listing := p.listing(order, name)
		var kept, want *redis.ZSliceCmd
		var exists *redis.IntCmd
		err := c.transaction(ctx, func(pipe redis.Pipeliner) {
			exists = pipe.Exists(ctx, listing)
			kept = pipe.ZRangeWithScores(ctx, listing, 0, -1)
			want = pipe.ZInterWithScores(ctx, &redis.ZStore{Keys: []string{p.group(name), p.ranking(order)}, Weights: []float64{0, 1}})
		})
		if err != nil {
			return err
		}
		if exists.Val() == 1 && !slices.Equal(kept.Val(), want.Val()) {
			c.reportf("%s: is not the intersection of %s and %s", listing, p.group(name), p.ranking(order))
		}
	}
	return nil
}

// members checks that a group's articles exist.
func (c *checker) members(ctx context.Context, p partition, name GroupName, ids []string) error {
	stays, times := make([]*redis.BoolCmd, len(ids)), make([]*redis.FloatCmd, len(ids))
	err := c.transaction(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			stays[i] = pipe.SIsMember(ctx, p.group(name), id)
			times[i] = pipe.ZScore(ctx, p.ranking(ByTime), id)
		}
	})
	if err != nil {
		return err
	}
	for i, id := range ids {
		if stays[i].Val() && times[i].Err() != nil {
			c.reportf("%s: holds %s, which is not in %s", p.group(name), id, p.ranking(ByTime))
		}
	}
	return nil
}

// transaction reads at one moment. A value that is missing, or a key of another
// type than it should be, is a fact and not an error: it will contradict another.
func (c *checker) transaction(ctx context.Context, queue func(redis.Pipeliner)) error {
	commands, err := c.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		queue(pipe)
		return nil
	})
	if err == nil {
		return nil
	}
	for _, command := range commands {
		if err := command.Err(); err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return err
		}
	}
	return nil
}
