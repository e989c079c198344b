package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

// copyFrontPages makes the saved front pages of the copy like those of the original. If the copy has more partitions, each
// page is split: together the parts have the same articles.
func (m *migration) copyFrontPages(ctx context.Context) error {
	for i, p := range m.from.Store.Partitions {
		for after, more := "-inf", true; more; {
			pages, err := m.from.Store.Client.ZRangeArgsWithScores(ctx, rankings.SomePages(p, after)).Result()
			if err != nil {
				return failover.Wrap("read "+p.Front(), err)
			}
			until := "+inf"
			if more = len(pages) == rankings.PagesTogether; more {
				until = strconv.FormatFloat(pages[rankings.PagesTogether-1].Score, 'f', -1, 64)
			}
			for j := i; j < len(m.to.Store.Partitions); j += len(m.from.Store.Partitions) {
				if err := m.putFrontPages(ctx, j, after, until, pages); err != nil {
					return err
				}
			}
			after = "(" + until
		}
	}
	return nil
}

// putFrontPages gives partition j of the copy its parts of the pages, and no others between the scores after and until.
func (m *migration) putFrontPages(ctx context.Context, j int, after, until string, pages []redis.Z) error {
	key := m.to.Store.Partitions[j].Front()
	wanted := make(map[string]float64, len(pages))
	for _, z := range pages {
		page, err := rankings.ParseFrontPage(z.Member.(string))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		part := rankings.SavedPage{Hour: page.Hour}
		for _, place := range page.Items {
			if id, ok := lists.ArticleOf(place); ok && m.to.Store.Index(id) == j {
				part.Items = append(part.Items, place)
			}
		}
		wanted[part.Text()] = z.Score
	}
	found, err := m.to.Store.Client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: key, Start: after, Stop: until, ByScore: true}).Result()
	if err != nil {
		return failover.Wrap("read "+key, err)
	}
	return m.to.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, z := range found {
			if score, ok := wanted[z.Member.(string)]; ok && score == z.Score {
				delete(wanted, z.Member.(string))
			} else {
				pipe.ZRem(ctx, key, z.Member)
				m.changed.Add(1)
			}
		}
		for text, score := range wanted {
			pipe.ZAdd(ctx, key, redis.Z{Member: text, Score: score})
			m.changed.Add(1)
		}
	})
}

// copyLog appends to the moderation logs of the copy what they lack. Each entry goes to the partition of its article and
// keeps its id. All partitions of the copy that get entries of one partition get them from no other.
func (m *migration) copyLog(ctx context.Context) error {
	for i, p := range m.from.Store.Partitions {
		last, err := m.to.Layout.LastEntries(ctx, i, len(m.from.Store.Partitions))
		if err != nil {
			return err
		}
		for start := "-"; start != ""; {
			if start, err = m.copyEntries(ctx, i, p.Moderation(), start, last); err != nil {
				return err
			}
		}
		first, err := m.from.Store.Client.XRangeN(ctx, p.Moderation(), "-", "+", 1).Result()
		if err != nil {
			return failover.Wrap("read "+p.Moderation(), err)
		}
		if len(first) == 0 {
			continue
		}
		err = m.to.Store.Write(ctx, func(pipe redis.Pipeliner) { // the original is trimmed now and then
			for j := i; j < len(m.to.Store.Partitions); j += len(m.from.Store.Partitions) {
				pipe.XTrimMinID(ctx, m.to.Store.Partitions[j].Moderation(), first[0].ID)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copyChanges gives the logs of changes of the copy the entries that the views of the original lack, with their ids, and no
// others: the copied views are as far as those of the original. What the change feed has is not copied.
func (m *migration) copyChanges(ctx context.Context) error {
	for i, p := range m.from.Store.Partitions {
		lacked, err := m.from.Views.Lacked(ctx, p)
		if err != nil {
			return failover.Wrap("read "+p.Events(), err)
		}
		wanted := map[int][]redis.XMessage{}
		for _, e := range lacked {
			if id, err := site.ParseArticleID(wire.Fields(e.Values).Text("article")); err == nil {
				wanted[m.to.Store.Index(id)] = append(wanted[m.to.Store.Index(id)], e)
			}
		}
		for j := i; j < len(m.to.Store.Partitions); j += len(m.from.Store.Partitions) {
			if err := m.putChanges(ctx, m.to.Store.Partitions[j], wanted[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// putChanges makes the log of changes of a partition of the copy that of these entries, which its views lack.
func (m *migration) putChanges(ctx context.Context, p keys.Partition, wanted []redis.XMessage) error {
	lacked, err := m.to.Views.Lacked(ctx, p)
	if err != nil {
		return failover.Wrap("read "+p.Events(), err)
	}
	if slices.EqualFunc(lacked, wanted, func(a, b redis.XMessage) bool { return a.ID == b.ID && maps.Equal(a.Values, b.Values) }) {
		return nil
	}
	m.changed.Add(1)
	return m.to.Store.Write(ctx, func(pipe redis.Pipeliner) {
		pipe.Unlink(ctx, p.Events(), p.Views())
		hidden := 0
		for _, e := range wanted {
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: p.Events(), ID: e.ID, Values: views.FieldsOf(e)})
			if wire.IsHidden(e) {
				hidden++
			}
		}
		if hidden > 0 {
			pipe.HSet(ctx, p.Views(), "hidden", hidden)
		}
	})
}

// copyEntries copies some entries from start on, and returns where the next ones start; empty: there are no more.
func (m *migration) copyEntries(ctx context.Context, i int, key, start string, last map[int]events.LogCursor) (next string, err error) {
	found, err := m.from.Store.Client.Do(ctx, "xrange", key, start, "+", "count", wire.LogBatch).Slice() // with the fields in their order
	if err != nil {
		return "", failover.Wrap("read "+key, err)
	}
	err = m.to.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, f := range found {
			entry, _ := f.([]any)
			if len(entry) != 2 {
				continue
			}
			id, _ := entry[0].(string)
			fields, _ := entry[1].([]any)
			next = "(" + id
			j := m.logIndex(i, fields)
			if events.NewLogCursor(id, 0).Compare(last[j]) > 0 {
				pipe.Do(ctx, append([]any{"xadd", m.to.Store.Partitions[j].Moderation(), id}, fields...)...)
				m.changed.Add(1)
			}
		}
	})
	return next, err
}

// logIndex is the partition of the copy for an entry of partition i: that of its article.
func (m *migration) logIndex(i int, fields []any) int {
	for f := 0; f+1 < len(fields); f += 2 {
		member, _ := fields[f+1].(string)
		if id, err := site.ParseArticleID(member); fields[f] == "article" && err == nil {
			return m.to.Store.Index(id)
		}
	}
	return i
}

// copyNumbers sets the counters of the copy so that no number that the original has given out is given out again.
func (m *migration) copyNumbers(ctx context.Context) error {
	last, err := transfer.LastNumber(ctx, m.from)
	if err != nil {
		return err
	}
	changed, err := m.to.Layout.SetNumbers(ctx, last)
	m.changed.Add(changed)
	return err
}
