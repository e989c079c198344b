package check

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// frontPages checks the saved front pages of a partition.
func (c *checker) frontPages(ctx context.Context, p keys.Partition) error {
	const whole = "the field %s of %s is not a number of hours: %q"
	var since, before int64 // before: the hour of the page before
	for first := "-inf"; ; {
		var clock *redis.SliceCmd
		var pages *redis.ZSliceCmd
		err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
			clock = pipe.HMGet(ctx, p.Clock(""), "front", "front_since")
			pages = pipe.ZRangeArgsWithScores(ctx, rankings.SomePages(p, first))
		}, wire.Atomic)
		if err != nil {
			return err
		}
		if clock.Err() != nil || pages.Err() != nil {
			c.badPages = true
			return cmp.Or(c.wrongType(p.Clock(""), clock.Err()), c.wrongType(p.Front(), pages.Err()))
		}
		saved, sinceText := wire.Reply(clock.Val()).Text(0), wire.Reply(clock.Val()).Text(1)
		last, err := strconv.ParseInt(saved, 10, 64)
		if err != nil && (saved != "" || len(pages.Val()) > 0) {
			c.reportf(whole, "front", p.Clock(""), saved)
			return nil
		}
		if since, err = strconv.ParseInt(sinceText, 10, 64); err != nil && saved != "" {
			c.reportf(whole, "front_since", p.Clock(""), sinceText)
			return nil
		}
		var named []site.ArticleID
		for _, z := range pages.Val() {
			page, err := rankings.ParseFrontPage(z.Member.(string))
			switch hour := int64(page.Hour); {
			case err != nil:
				c.reportf("%s: %v", p.Front(), err)
				c.badPages = true
				continue
			case float64(hour) != z.Score:
				c.reportf("%s: the page of hour %d has the score %.17g", p.Front(), hour, z.Score)
			case hour > last:
				c.reportf("%s: has a page of hour %d, but front of %s is %d", p.Front(), hour, p.Clock(""), last)
			case hour < since:
				c.reportf("%s: has a page of hour %d, but front_since of %s is %d", p.Front(), hour, p.Clock(""), since)
			case hour == before:
				c.reportf("%s: has two pages of hour %d", p.Front(), hour)
			}
			before = int64(page.Hour)
			named = append(named, c.frontPage(p, page)...)
		}
		if err := c.exist(ctx, p, named); err != nil || len(pages.Val()) < rankings.PagesTogether {
			return err
		}
		first = "(" + strconv.FormatFloat(pages.Val()[rankings.PagesTogether-1].Score, 'f', -1, 64)
	}
}

// frontPage checks one page, and returns the articles on it.
func (c *checker) frontPage(p keys.Partition, page rankings.SavedPage) []site.ArticleID {
	ids := lists.IDsOf(page.Items)
	if len(ids) > rankings.FrontPageSize {
		c.reportf("%s: the page of hour %d has %d articles", p.Front(), page.Hour, len(ids))
	}
	listing := lists.AllArticles(site.ByScore, site.Descending)
	for i, id := range ids {
		if c.Repo.Store.Partition(id) != p {
			c.reportf("%s: the page of hour %d has %v, which belongs to another partition", p.Front(), page.Hour, id)
		}
		if i > 0 && listing.Compare(lists.PlaceOf(page.Items[i-1]), lists.PlaceOf(page.Items[i])) >= 0 {
			c.reportf("%s: the page of hour %d has %v after %v", p.Front(), page.Hour, id, ids[i-1])
		}
	}
	return ids
}

// exist reports articles that were never there. A deleted one keeps its hash.
func (c *checker) exist(ctx context.Context, p keys.Partition, ids []site.ArticleID) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	hashes, err := wire.ReadEach(ctx, c.Store, ids, func(pipe redis.Pipeliner, id site.ArticleID) *redis.IntCmd {
		return pipe.Exists(ctx, p.Article(id))
	}, wire.Atomic)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if hashes[i].Val() == 0 {
			c.reportf("%s: has %v, which does not exist", p.Front(), id)
		}
	}
	return nil
}

// bestRanks checks best: of all partitions against the saved pages. Ranks of hours before these are as they are.
func (c *checker) bestRanks(ctx context.Context) error {
	if c.badPages {
		return nil
	}
	clocks, err := wire.ReadEach(ctx, c.Store, c.Store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.SliceCmd {
		return pipe.HMGet(ctx, p.Clock(""), "ranked", "front_since")
	})
	if err != nil {
		return err
	}
	first, last := site.Hour(0), site.Hour(math.MaxInt64)
	for i, clock := range clocks {
		ranked, err := strconv.ParseInt(cmp.Or(wire.Reply(clock.Val()).Text(0), "0"), 10, 64) // 0: none is entered
		if err != nil {
			c.reportf("the field ranked of %s is not a number of hours: %q", c.Store.Partitions[i].Clock(""), clock.Val()[0])
		}
		since, _ := strconv.ParseInt(wire.Reply(clock.Val()).Text(1), 10, 64)
		first, last = max(first, site.Hour(since)), min(last, site.Hour(ranked))
	}
	want, err := c.bestByPages(ctx, first, last)
	if err != nil {
		return err
	}
	for _, p := range c.Store.Partitions {
		err := c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: p.Best(), Step: 1, Handle: func(pairs []string) error {
			for pair := range slices.Chunk(pairs, 2) {
				c.bestRank(p, pair[0], pair[1], first, last, want)
			}
			return nil
		}})
		if err := c.wrongType(p.Best(), err); err != nil {
			return err
		}
	}
	for id := range want {
		if !c.hasBest[id] {
			p := c.Repo.Store.Partition(id)
			c.reportf("%s: lacks %v, which is on a saved page", p.Best(), id)
		}
	}
	return nil
}

// bestByPages returns the best ranks of some hours, as best: has them.
func (c *checker) bestByPages(ctx context.Context, first, last site.Hour) (map[site.ArticleID]int64, error) {
	best := map[site.ArticleID]int64{}
	for from := first; from <= last; from += rankings.HoursTogether {
		pages, err := c.Rankings.ReadFront(ctx, from, strconv.FormatInt(int64(min(from+rankings.HoursTogether-1, last)), 10))
		if err != nil {
			return nil, err
		}
		for id, score := range rankings.BestOf(pages) {
			if before, known := best[id]; !known || score < before {
				best[id] = score
			}
		}
	}
	return best, nil
}

// bestRank checks one member of best:.
func (c *checker) bestRank(p keys.Partition, member, text string, first, last site.Hour, want map[site.ArticleID]int64) {
	id, ok := lists.ArticleOfMember(member)
	score, err := site.ParseNumber(text)
	at := site.Hour(math.Mod(score, rankings.PerRank))
	byPages, known := want[id]
	c.hasBest[id] = true
	switch {
	case !ok || c.Repo.Store.Partition(id) != p:
		c.reportf("%s: has %q, which is no article of this partition", p.Best(), member)
	case err != nil || score < rankings.PerRank || score >= (rankings.FrontPageSize+1)*rankings.PerRank || score != math.Trunc(score):
		c.reportf("%s: the score of %s is not a rank and an hour: %s", p.Best(), member, text)
	case known && int64(score) > byPages, (!known || int64(score) < byPages) && at >= first && at <= last:
		c.reportf("%s: says that %s was %d at hour %d, but the saved pages do not", p.Best(), member, int(score)/rankings.PerRank, at)
	}
}
