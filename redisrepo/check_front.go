package redisrepo

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// frontPages checks the saved front pages of a partition.
func (c *checker) frontPages(ctx context.Context, p partition) error {
	const whole = "the field %s of %s is not a number of hours: %q"
	var since, before int64 // before: the hour of the page before
	for first := "-inf"; ; {
		var clock *redis.SliceCmd
		var pages *redis.ZSliceCmd
		err := c.transaction(ctx, func(pipe redis.Pipeliner) {
			clock = pipe.HMGet(ctx, p.clock(""), "front", "front_since")
			pages = pipe.ZRangeArgsWithScores(ctx, somePages(p, first))
		})
		if err != nil {
			return err
		}
		if clock.Err() != nil || pages.Err() != nil {
			c.badPages = true
			return cmp.Or(c.wrongType(p.clock(""), clock.Err()), c.wrongType(p.front(), pages.Err()))
		}
		saved, sinceText := reply(clock.Val()).text(0), reply(clock.Val()).text(1)
		last, err := strconv.ParseInt(saved, 10, 64)
		if err != nil && (saved != "" || len(pages.Val()) > 0) {
			c.reportf(whole, "front", p.clock(""), saved)
			return nil
		}
		if since, err = strconv.ParseInt(sinceText, 10, 64); err != nil && saved != "" {
			c.reportf(whole, "front_since", p.clock(""), sinceText)
			return nil
		}
		var named []ArticleID
		for _, z := range pages.Val() {
			page, err := parseFrontPage(z.Member.(string))
			switch hour := int64(page.hour); {
			case err != nil:
				c.reportf("%s: %v", p.front(), err)
				c.badPages = true
				continue
			case float64(hour) != z.Score:
				c.reportf("%s: the page of hour %d has the score %.17g", p.front(), hour, z.Score)
			case hour > last:
				c.reportf("%s: has a page of hour %d, but front of %s is %d", p.front(), hour, p.clock(""), last)
			case hour < since:
				c.reportf("%s: has a page of hour %d, but front_since of %s is %d", p.front(), hour, p.clock(""), since)
			case hour == before:
				c.reportf("%s: has two pages of hour %d", p.front(), hour)
			}
			before = int64(page.hour)
			named = append(named, c.frontPage(p, page)...)
		}
		if err := c.exist(ctx, p, named); err != nil || len(pages.Val()) < pagesTogether {
			return err
		}
		first = "(" + strconv.FormatFloat(pages.Val()[pagesTogether-1].Score, 'f', -1, 64)
	}
}

// frontPage checks one page, and returns the articles on it.
func (c *checker) frontPage(p partition, page savedPage) []ArticleID {
	ids := idsOf(page.items)
	if len(ids) > frontPageSize {
		c.reportf("%s: the page of hour %d has %d articles", p.front(), page.hour, len(ids))
	}
	listing := AllArticles(ByScore, Descending)
	for i, id := range ids {
		if c.Repo.partition(id) != p {
			c.reportf("%s: the page of hour %d has %v, which belongs to another partition", p.front(), page.hour, id)
		}
		if i > 0 && listing.compare(placeOf(page.items[i-1]), placeOf(page.items[i])) >= 0 {
			c.reportf("%s: the page of hour %d has %v after %v", p.front(), page.hour, id, ids[i-1])
		}
	}
	return ids
}

// exist reports articles that were never there. A deleted one keeps its hash.
func (c *checker) exist(ctx context.Context, p partition, ids []ArticleID) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	hashes := make([]*redis.IntCmd, len(ids))
	err := c.transaction(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			hashes[i] = pipe.Exists(ctx, p.article(id))
		}
	})
	if err != nil {
		return err
	}
	for i, id := range ids {
		if hashes[i].Val() == 0 {
			c.reportf("%s: has %v, which does not exist", p.front(), id)
		}
	}
	return nil
}

// bestRanks checks best: of all partitions against the saved pages. Ranks of hours before these are as they are.
func (c *checker) bestRanks(ctx context.Context) error {
	if c.badPages {
		return nil
	}
	clocks := make([]*redis.SliceCmd, len(c.partitions))
	err := c.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range c.partitions {
			clocks[i] = pipe.HMGet(ctx, p.clock(""), "ranked", "front_since")
		}
	})
	if err != nil {
		return err
	}
	first, last := hour(0), hour(math.MaxInt64)
	for i, clock := range clocks {
		ranked, err := strconv.ParseInt(cmp.Or(reply(clock.Val()).text(0), "0"), 10, 64) // 0: none is entered
		if err != nil {
			c.reportf("the field ranked of %s is not a number of hours: %q", c.partitions[i].clock(""), clock.Val()[0])
		}
		since, _ := strconv.ParseInt(reply(clock.Val()).text(1), 10, 64)
		first, last = max(first, hour(since)), min(last, hour(ranked))
	}
	want, err := c.bestByPages(ctx, first, last)
	if err != nil {
		return err
	}
	for _, p := range c.partitions {
		err := c.scan(ctx, scan{command: redis.Cmdable.ZScan, key: p.best(), step: 1, handle: func(pairs []string) error {
			for pair := range slices.Chunk(pairs, 2) {
				c.bestRank(p, pair[0], pair[1], first, last, want)
			}
			return nil
		}})
		if err := c.wrongType(p.best(), err); err != nil {
			return err
		}
	}
	for id := range want {
		if !c.hasBest[id] {
			p := c.Repo.partition(id)
			c.reportf("%s: lacks %v, which is on a saved page", p.best(), id)
		}
	}
	return nil
}

// bestByPages returns the best ranks of some hours, as best: has them.
func (c *checker) bestByPages(ctx context.Context, first, last hour) (map[ArticleID]int64, error) {
	best := map[ArticleID]int64{}
	for from := first; from <= last; from += hoursTogether {
		pages, err := c.readFront(ctx, from, strconv.FormatInt(int64(min(from+hoursTogether-1, last)), 10))
		if err != nil {
			return nil, err
		}
		for id, score := range bestOf(pages) {
			if before, known := best[id]; !known || score < before {
				best[id] = score
			}
		}
	}
	return best, nil
}

// bestRank checks one member of best:.
func (c *checker) bestRank(p partition, member, text string, first, last hour, want map[ArticleID]int64) {
	id, ok := articleOfMember(member)
	score, err := parseNumber(text)
	at := hour(math.Mod(score, perRank))
	byPages, known := want[id]
	c.hasBest[id] = true
	switch {
	case !ok || c.Repo.partition(id) != p:
		c.reportf("%s: has %q, which is no article of this partition", p.best(), member)
	case err != nil || score < perRank || score >= (frontPageSize+1)*perRank || score != math.Trunc(score):
		c.reportf("%s: the score of %s is not a rank and an hour: %s", p.best(), member, text)
	case known && int64(score) > byPages, (!known || int64(score) < byPages) && at >= first && at <= last:
		c.reportf("%s: says that %s was %d at hour %d, but the saved pages do not", p.best(), member, int(score)/perRank, at)
	}
}
