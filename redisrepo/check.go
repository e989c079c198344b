package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Checked is how much Check read.
type Checked struct {
	Articles int // without deleted ones
	Deleted  int
	Groups   int // names, however many partitions have articles of a group
}

// Check reads the whole store and reports every inconsistency, as a sentence with the keys in it. In a
// consistent store:
//
//   - time:, score: and the hashes name the same articles;
//   - score is time + VoteScore for each vote, as equal doubles;
//   - while voting is open, the sets of voters have as many members as the counts say, plus one for a
//     poster's vote that does not count; they have no common member, and they expire;
//   - an article is in the sets of its groups and among its poster's articles, and in the group
//     interesting if and only if it has the votes;
//   - a group's set holds existing articles, and its stored listings are its intersections with the
//     rankings;
//   - a deleted article has a hash that says so, is in none of these places, and its voters are as above;
//   - no article has a number that has not been given out.
//
// Each article is read in one transaction, so Check may run while votes are cast. It does not report what
// legacy clients leave out: they maintain no indexes, and may add articles to groups that the hash does
// not list. But a stored listing that a legacy client's vote left outdated is reported until the listing
// is read again. Check changes nothing. It fails only if the store does not answer.
func (r *Repo) Check(ctx context.Context, report func(violation string)) (Checked, error) {
	c := checker{Repo: r, report: report, groups: map[string]struct{}{}}
	for _, p := range r.partitions {
		if err := c.partition(ctx, p); err != nil {
			return c.done, storeError("check", err)
		}
	}
	c.done.Groups = len(c.groups)
	return c.done, nil
}

type checker struct {
	*Repo
	report  func(string)
	done    Checked
	highest ArticleID
	groups  map[string]struct{} // names of those that were checked, in any partition
}

func (c *checker) reportf(format string, args ...any) { c.report(fmt.Sprintf(format, args...)) }

func (c *checker) partition(ctx context.Context, p partition) error {
	c.highest = 0
	// The articles in time: and deleted: are checked one by one. After that, score: and the hashes must
	// only name no others.
	times := c.client.ZScan(ctx, p.ranking(ByTime), 0, "", batchSize).Iterator()
	err := batches(ctx, times, 2, func(members []string) error {
		n, err := c.articles(ctx, p, p.ranking(ByTime), members, c.article)
		c.done.Articles += n
		return err
	})
	if err := c.wrongType(p.ranking(ByTime), err); err != nil {
		return err
	}
	deleted := c.client.ZScan(ctx, p.deleted(), 0, "", batchSize).Iterator()
	err = batches(ctx, deleted, 2, func(members []string) error {
		n, err := c.articles(ctx, p, p.deleted(), members, c.deleted)
		c.done.Deleted += n
		return err
	})
	if err := c.wrongType(p.deleted(), err); err != nil {
		return err
	}
	unlisted := func(where string) func([]string) error {
		return func(members []string) error { return c.unlisted(ctx, p, where, members) }
	}
	scores := c.client.ZScan(ctx, p.ranking(ByScore), 0, "", batchSize).Iterator()
	err = batches(ctx, scores, 2, unlisted(p.ranking(ByScore)))
	if err := c.wrongType(p.ranking(ByScore), err); err != nil {
		return err
	}
	hashes := c.client.Scan(ctx, 0, p.key(articlePrefix, "?*"), scanBatch).Iterator()
	if err := batches(ctx, hashes, 1, unlisted("a hash")); err != nil {
		return err
	}
	if err := c.counter(ctx, p); err != nil {
		return err
	}
	groups := c.client.Scan(ctx, 0, p.group("?*"), scanBatch).Iterator()
	return batches(ctx, groups, 1, func(keys []string) error {
		for _, key := range keys {
			name := strings.TrimPrefix(key, p.group(""))
			c.groups[name] = struct{}{}
			if err := c.group(ctx, p, GroupName(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// wrongType reports a key of the wrong type. It returns any other error.
func (c *checker) wrongType(key string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		c.reportf("%s: has the wrong type", key)
		return nil
	}
	return err
}

// unlisted reports articles that are in where, but not in time:. A deleted article may have a hash. An
// article that has left where since it was scanned is not reported.
func (c *checker) unlisted(ctx context.Context, p partition, where string, keys []string) error {
	times, scores := make([]*redis.FloatCmd, len(keys)), make([]*redis.FloatCmd, len(keys))
	hashes, deleted := make([]*redis.IntCmd, len(keys)), make([]*redis.FloatCmd, len(keys))
	err := c.transaction(ctx, func(pipe redis.Pipeliner) {
		for i, key := range keys {
			member := strings.TrimPrefix(key, string(p))
			times[i] = pipe.ZScore(ctx, p.ranking(ByTime), member)
			scores[i] = pipe.ZScore(ctx, p.ranking(ByScore), member)
			hashes[i] = pipe.Exists(ctx, p.key(member))
			deleted[i] = pipe.ZScore(ctx, p.deleted(), member)
		}
	})
	if err != nil {
		return err
	}
	for i, key := range keys {
		isThere := hashes[i].Val() == 1 && deleted[i].Err() != nil
		if where == p.ranking(ByScore) {
			isThere = scores[i].Err() == nil
		}
		if isThere && times[i].Err() != nil {
			c.reportf("%s: is in %s, but not in %s", key, where, p.ranking(ByTime))
		}
	}
	return nil
}

// counter reports a counter that is below the number of an existing article.
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

// transaction runs the commands that queue adds, all at one moment. A missing value or a key of the wrong
// type is not an error: the checks of the values report it.
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
