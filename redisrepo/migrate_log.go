package redisrepo

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// logBatch is the number of entries of the moderation log that are copied together.
const logBatch = 500

// copyLog appends to the moderation logs of the copy what they lack. Each entry goes to the partition of its article and
// keeps its id. All partitions of the copy that get entries of one partition get them from no other.
func (m *migration) copyLog(ctx context.Context) error {
	for i, p := range m.from.partitions {
		last, err := m.to.lastEntries(ctx, i, len(m.from.partitions))
		if err != nil {
			return err
		}
		for start := "-"; start != ""; {
			if start, err = m.copyEntries(ctx, i, p.moderation(), start, last); err != nil {
				return err
			}
		}
		first, err := m.from.client.XRangeN(ctx, p.moderation(), "-", "+", 1).Result()
		if err != nil {
			return storeError("read "+p.moderation(), err)
		}
		if len(first) == 0 {
			continue
		}
		err = m.to.exchange(m.to.confirmed(ctx), func(pipe redis.Pipeliner) { // the original is trimmed now and then
			for j := i; j < len(m.to.partitions); j += len(m.from.partitions) {
				pipe.XTrimMinID(ctx, m.to.partitions[j].moderation(), first[0].ID)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lastEntries returns the last entries of the logs of every step-th partition, by partition.
func (r *Repo) lastEntries(ctx context.Context, first, step int) (map[int]logCursor, error) {
	replies := map[int]*redis.XMessageSliceCmd{}
	err := r.exchange(ctx, func(pipe redis.Pipeliner) {
		for j := first; j < len(r.partitions); j += step {
			replies[j] = pipe.XRevRangeN(ctx, r.partitions[j].moderation(), "+", "-", 1)
		}
	})
	last := map[int]logCursor{}
	for j, reply := range replies {
		for _, entry := range reply.Val() {
			last[j] = newLogCursor(entry.ID, 0)
		}
	}
	return last, err
}

// copyEntries copies some entries from start on, and returns where the next ones start; empty: there are no more.
func (m *migration) copyEntries(ctx context.Context, i int, key, start string, last map[int]logCursor) (next string, err error) {
	found, err := m.from.client.Do(ctx, "xrange", key, start, "+", "count", logBatch).Slice() // with the fields in their order
	if err != nil {
		return "", storeError("read "+key, err)
	}
	err = m.to.exchange(m.to.confirmed(ctx), func(pipe redis.Pipeliner) {
		for _, f := range found {
			entry, _ := f.([]any)
			if len(entry) != 2 {
				continue
			}
			id, _ := entry[0].(string)
			fields, _ := entry[1].([]any)
			next = "(" + id
			j := m.logIndex(i, fields)
			if newLogCursor(id, 0).compare(last[j]) > 0 {
				pipe.Do(ctx, append([]any{"xadd", m.to.partitions[j].moderation(), id}, fields...)...)
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
		if id, err := ParseArticleID(member); fields[f] == "article" && err == nil {
			return m.to.index(id)
		}
	}
	return i
}

// copyNumbers sets the counters of the copy so that no number that the original has given out is given out again.
func (m *migration) copyNumbers(ctx context.Context) error {
	last, err := m.from.LastNumber(ctx)
	if err != nil {
		return err
	}
	changed, err := m.to.setNumbers(ctx, last)
	m.changed.Add(changed)
	return err
}

// setNumbers sets the counters of all partitions to the last number, and returns how many that changed.
func (r *Repo) setNumbers(ctx context.Context, highest ArticleID) (changed int64, err error) {
	stored, n := make([]*redis.StringCmd, len(r.partitions)), int64(len(r.partitions))
	err = r.exchange(ctx, func(pipe redis.Pipeliner) {
		for j, p := range r.partitions {
			stored[j] = pipe.Get(ctx, p.counter())
		}
	})
	if err != nil {
		return 0, err
	}
	err = r.exchange(r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for j, p := range r.partitions {
			if last := (int64(highest) - int64(j)) / n; last > 0 && stored[j].Val() != strconv.FormatInt(last, 10) {
				pipe.Set(ctx, p.counter(), last, 0)
				changed++
			}
		}
	})
	return changed, err
}
