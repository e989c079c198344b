// Package check looks for inconsistencies in a store.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

// Checked counts what Check read and found.
type Checked struct {
	Articles int // without deleted ones
	Deleted  int
	Groups   int // names, however many partitions have articles of a group

	Violations int // number of reports

	// ByBook reports whether legacy clients may have caused a violation: Layout.Adopt takes over what they wrote.
	ByBook bool
}

// Check reads the whole store and reports every inconsistency, as a sentence with the keys in it. In a
// consistent store:
//
//   - time:, score: and the hashes name the same articles;
//   - score is time + what the votes are worth, as equal doubles;
//   - while voting is open, the sets of voters have as many members as the counts say, plus one for a
//     poster's vote that does not count; they have no common member, and they expire;
//   - an article is in the sets of its groups, among its poster's articles and among those of its link's host, in the group
//     interesting if and only if it has the votes, and in at most one of a family of reserved groups;
//   - a group's set holds existing articles, its stored listings are its intersections with the
//     rankings, and the index of sizes has its number of articles;
//   - the record of a link names the newest article with the link, and its posting time;
//   - an article is in exactly the lists of the calendar that its time and the fold pointer say, with its votes, and so
//     with GroupTop in those of its groups; no list holds another article, and no peak is below its list's best;
//   - an article has an earlier version for each edit, up to MaxVersions;
//   - a saved front page has at most 100 articles, which exist or are deleted, sorted, and is not of an hour after the last
//     one in clock:; the best ranks are those of the saved pages, except for ranks before these;
//   - a deleted article has a hash that says so, is in none of these places, and its voters are as above;
//   - the events of an article have its revisions in turn, up to its revision, and a milestone is a positive number, not
//     below those of the events;
//   - a user's history of votes has articles of its month, each up or down, and the user is in the article's set of voters
//     while that is kept; a vote in these sets is in the voter's history, unless that was cut, or the article has votes
//     from before the histories were kept;
//   - no article has a number that has not been given out.
//
// Each article is read in one transaction, so Check may run while users vote. It changes nothing, and fails only if the
// store does not answer.
func Check(ctx context.Context, r *redisrepo.Repo, report func(violation string)) (Checked, error) {
	return Compare(ctx, r, true, report)
}

// Compare is Check, but checks families of groups only on request: an import keeps the groups of another site.
func Compare(ctx context.Context, r *redisrepo.Repo, families bool, report func(violation string)) (Checked, error) {
	c := checker{Repo: r, report: report, families: families, reported: map[string]bool{}, hasBest: map[site.ArticleID]bool{}, lags: map[keys.Partition]*views.Lag{}}
	for _, p := range r.Store.Partitions {
		if err := c.partition(ctx, p); err != nil {
			return c.done, failover.Wrap("check", err)
		}
	}
	err := c.bestRanks(ctx)
	if err == nil {
		err = c.allKeys(ctx)
	}
	return c.done, failover.Wrap("check", err)
}

type checker struct {
	*redisrepo.Repo
	report   func(string)
	families bool // whether an article may be in one group of a family only
	reported map[string]bool
	done     Checked
	highest  site.ArticleID
	lags     map[keys.Partition]*views.Lag

	badPages bool                    // whether a saved front page cannot be read
	hasBest  map[site.ArticleID]bool // articles with a best rank
}

// reportf reports a violation, unless it was found before: a walk may begin again.
func (c *checker) reportf(format string, args ...any) {
	if violation := fmt.Sprintf(format, args...); !c.reported[violation] {
		c.reported[violation] = true
		c.done.Violations++
		c.report(violation)
	}
}

// reportByBook is reportf for what a program of the book may have caused.
func (c *checker) reportByBook(format string, args ...any) {
	c.done.ByBook = true
	c.reportf(format, args...)
}

// partition checks the articles in time: and deleted: one by one. After that, score: and the hashes must only name no
// others. Then come the events, the counter and the saved front pages.
func (c *checker) partition(ctx context.Context, p keys.Partition) (err error) {
	if c.lags[p], err = c.Views.NewLag(ctx, p); err != nil {
		return err
	}
	c.highest = 0
	if err := c.articlesIn(ctx, p, p.Ranking(site.ByTime), &c.done.Articles, c.article); err != nil {
		return err
	}
	if err := c.articlesIn(ctx, p, p.Deleted(), &c.done.Deleted, c.deleted); err != nil {
		return err
	}
	scores := p.Ranking(site.ByScore)
	err = c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: scores, Step: 2, Handle: func(members []string) error {
		return c.unlisted(ctx, p, scores, members)
	}})
	if err := c.wrongType(scores, err); err != nil {
		return err
	}
	if err := c.events(ctx, p); err != nil {
		return err
	}
	if err := c.counter(ctx, p); err != nil {
		return err
	}
	return c.frontPages(ctx, p)
}

// articlesIn checks the articles in a sorted set, and adds their number to done.
func (c *checker) articlesIn(ctx context.Context, p keys.Partition, set string, done *int, check func(keys.Partition, site.ArticleID, facts)) error {
	before := *done
	begin := func() { *done = before }
	err := c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: set, Step: 2, Begin: begin, Handle: func(members []string) error {
		n, err := c.articles(ctx, p, set, members, check)
		*done += n
		return err
	}})
	return c.wrongType(set, err)
}

// allKeys checks what only the names of keys tell: which articles have a hash, who has a history of votes, and which
// groups exist. It reads the names once for each server that has partitions.
func (c *checker) allKeys(ctx context.Context) error {
	groups := map[string]keys.Partition{} // by key
	err := c.Store.EachServer(ctx, func(ctx context.Context, server redis.Cmdable, has []keys.Partition) error {
		return c.keys(ctx, server, has, groups)
	})
	if err != nil {
		return err
	}
	for _, p := range c.Store.Partitions {
		if err := c.sizes(ctx, p, groups); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for key, p := range groups {
		name := strings.TrimPrefix(key, p.Group(""))
		names[name] = true
		if err := c.group(ctx, p, site.GroupName(name)); err != nil {
			return err
		}
	}
	c.done.Groups = len(names)
	return nil
}

// keys checks the hashes of articles and the histories of votes in partitions of a server, and notes the keys of groups.
func (c *checker) keys(ctx context.Context, server redis.Cmdable, partitions []keys.Partition, groups map[string]keys.Partition) error {
	hashes, casts := map[keys.Partition][]string{}, map[keys.Partition][]string{}
	checks := map[string]func(p keys.Partition, key string) error{ // by the name of the kind
		"article": func(p keys.Partition, key string) error { hashes[p] = append(hashes[p], key); return nil },
		"cast":    func(p keys.Partition, key string) error { casts[p] = append(casts[p], key); return nil },
		"group":   func(p keys.Partition, key string) error { groups[key] = p; return nil },
		"top":     func(p keys.Partition, key string) error { return c.list(ctx, p, key) },
	}
	match := "["
	for name := range checks {
		match += name[:1]
	}
	if match += "]*"; partitions[0] != keys.Untagged {
		match = "{*}" + match
	}
	unlisted := func(p keys.Partition, keys []string) error { return c.unlisted(ctx, p, "a hash", keys) }
	castKeys := func(p keys.Partition, keys []string) error { return c.castKeys(ctx, p, keys) }
	err := wire.Walk(1, wire.InBatches(func(names []string) error {
		for _, key := range names {
			p := c.Store.PartitionOfKey(key)
			name, rest, _ := strings.Cut(strings.TrimPrefix(key, string(p)), ":")
			if check := checks[name]; check != nil && rest != "" && slices.Contains(partitions, p) {
				if err := check(p, key); err != nil {
					return err
				}
			}
		}
		return errors.Join(eachFull(hashes, wire.BatchSize, unlisted), eachFull(casts, wire.BatchSize, castKeys))
	}), func(cursor uint64) *redis.ScanCmd {
		return server.Scan(failover.Impatient(ctx), cursor, match, wire.ScanBatch)
	})
	if err != nil {
		return err
	}
	return errors.Join(eachFull(hashes, 1, unlisted), eachFull(casts, 1, castKeys))
}

// eachFull calls check with the keys of each partition that has at least least, and removes them.
func eachFull(keys map[keys.Partition][]string, least int, check func(keys.Partition, []string) error) error {
	for p, some := range keys {
		if len(some) >= least {
			if err := check(p, some); err != nil {
				return err
			}
			delete(keys, p)
		}
	}
	return nil
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
func (c *checker) unlisted(ctx context.Context, p keys.Partition, where string, keys []string) error {
	members := site.Collect(keys, func(key string) string { return strings.TrimPrefix(key, string(p)) })
	var times, scores, deleted *redis.SliceCmd
	hashes := make([]*redis.IntCmd, len(keys))
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		times, scores = queuePlaces(ctx, pipe, p.Ranking(site.ByTime), members), queuePlaces(ctx, pipe, p.Ranking(site.ByScore), members)
		deleted = queuePlaces(ctx, pipe, p.Deleted(), members)
		for i, member := range members {
			hashes[i] = pipe.Exists(ctx, p.Key(member))
		}
	}, wire.Atomic)
	if err != nil {
		return err
	}
	for i, key := range keys {
		isThere := hashes[i].Val() == 1 && !placeIn(deleted, i).has
		if where == p.Ranking(site.ByScore) {
			isThere = placeIn(scores, i).has
		}
		if isThere && !placeIn(times, i).has {
			c.reportf("%s: is in %s, but not in %s", key, where, p.Ranking(site.ByTime))
		}
	}
	return nil
}

// counter reports a counter that is below the number of an existing article.
func (c *checker) counter(ctx context.Context, p keys.Partition) error {
	given, err := c.Store.Client.Get(ctx, p.Counter()).Result()
	if err := c.wrongType(p.Counter(), err); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	last, err := strconv.ParseInt(cmp.Or(given, "0"), 10, 64)
	if err != nil {
		c.reportf("%s: is not a number: %q", p.Counter(), given)
		return nil
	}
	if n := int64(c.highest) / int64(len(c.Store.Partitions)); last < n {
		c.reportf("%s is %d, but %v exists", p.Counter(), last, c.highest)
	}
	return nil
}
