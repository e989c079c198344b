package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// told is what the events of an article say.
type told struct {
	revision  int // of the newest event
	milestone int // the highest
}

// events checks that the events of each article have its revisions in turn, up to its revision, and that its milestone is
// not below theirs. The stream is read first and its end again after the articles, since votes may be cast meanwhile.
func (c *checker) events(ctx context.Context, p keys.Partition) error {
	articles := map[site.ArticleID]told{}
	last, err := c.readEvents(ctx, p, "-", articles)
	if err != nil {
		return c.wrongType(p.Events(), err)
	}
	late := map[site.ArticleID]int{}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(articles)), wire.BatchSize) {
		if err := c.toldOf(ctx, p, ids, articles, late); err != nil {
			return err
		}
	}
	if len(late) == 0 {
		return nil
	}
	if _, err := c.readEvents(ctx, p, last, articles); err != nil {
		return c.wrongType(p.Events(), err)
	}
	for id, revision := range late {
		if newest := articles[id].revision; newest < revision {
			c.reportf("%s: its newest event is of revision %d, but its revision is %d", p.Article(id), newest, revision)
		}
	}
	return nil
}

// readEvents reads the stream from an id on, and returns where to go on.
func (c *checker) readEvents(ctx context.Context, p keys.Partition, from string, articles map[site.ArticleID]told) (string, error) {
	for {
		messages, err := c.Store.Client.XRangeN(ctx, p.Events(), from, "+", wire.ScanBatch).Result()
		if err != nil {
			return from, err
		}
		for _, m := range messages {
			e := events.DecodeEvent(m, 0)
			if wire.IsHidden(m) {
				continue
			}
			if e == nil {
				c.reportf("%s: %s is not an event: %v", p.Events(), m.ID, m.Values)
				continue
			}
			if problem := follow(articles, e); problem != "" {
				c.reportf("%s: %s: %v %s", p.Events(), m.ID, e.Article, problem)
			}
			if c.Repo.Store.Partition(e.Article) != p {
				c.reportf("%s: %s is about %v, which belongs to another partition", p.Events(), m.ID, e.Article)
			}
		}
		if len(messages) > 0 {
			from = "(" + messages[len(messages)-1].ID
		}
		if len(messages) < wire.ScanBatch {
			return from, nil
		}
	}
}

// follow notes an event, and returns what is wrong with its revision.
func follow(articles map[site.ArticleID]told, e *events.Event) (problem string) {
	before, known := articles[e.Article]
	now := told{e.Revision, before.milestone}
	want := before.revision + 1
	if e.Milestone != nil {
		now.milestone = max(now.milestone, *e.Milestone)
	}
	if !e.Kind.ChangesArticle() {
		want = before.revision
	}
	if known && e.Revision != want {
		problem = fmt.Sprintf("has an event of revision %d after that of revision %d", e.Revision, before.revision)
	}
	articles[e.Article] = now
	return problem
}

// toldOf compares articles with their events. Those whose newest event may have been added after the stream was read
// are added to late.
func (c *checker) toldOf(ctx context.Context, p keys.Partition, ids []site.ArticleID, articles map[site.ArticleID]told, late map[site.ArticleID]int) error {
	hashes, listed := make([]*redis.SliceCmd, len(ids)), make([]*redis.FloatCmd, 2*len(ids))
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			hashes[i] = pipe.HMGet(ctx, p.Article(id), site.FieldRevision, site.FieldMilestone)
			listed[2*i], listed[2*i+1] = pipe.ZScore(ctx, p.Ranking(site.ByTime), id.String()), pipe.ZScore(ctx, p.Deleted(), id.String())
		}
	}, wire.Atomic)
	if err != nil {
		return err
	}
	for i, id := range ids {
		e, hash := articles[id], wire.Reply(hashes[i].Val())
		revision, _ := strconv.Atoi(hash.Text(0))
		milestone, _ := strconv.Atoi(hash.Text(1))
		switch {
		case hash.Text(0) == "" && (listed[2*i].Err() == nil || listed[2*i+1].Err() == nil):
			continue // the check of the article reports that
		case revision < e.revision:
			c.reportf("%s: its newest event is of revision %d, but its revision is %d", p.Article(id), e.revision, revision)
		case revision > e.revision:
			late[id] = revision
		}
		if milestone < e.milestone {
			c.reportf("%s: milestone is %q, but an event says %d", p.Article(id), hash.Text(1), e.milestone)
		}
	}
	return nil
}
