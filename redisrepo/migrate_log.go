package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// logBatch is the number of entries of the moderation log that are copied together.
const logBatch = 500

// copyLog appends to the moderation logs of the copy what they lack. Each entry goes to the partition of its article and
// keeps its id. All partitions of the copy that get entries of one partition get them from no other.
func (m *migration) copyLog(ctx context.Context) error {
	for i, p := range m.from.partitions {
		last, err := m.lastEntries(ctx, i)
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

// lastEntries returns the last entries of the logs of the copy that get those of partition i, by partition.
func (m *migration) lastEntries(ctx context.Context, i int) (map[int]logCursor, error) {
	replies := map[int]*redis.XMessageSliceCmd{}
	err := m.to.exchange(ctx, func(pipe redis.Pipeliner) {
		for j := i; j < len(m.to.partitions); j += len(m.from.partitions) {
			replies[j] = pipe.XRevRangeN(ctx, m.to.partitions[j].moderation(), "+", "-", 1)
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
	highest, given := int64(0), make([]*redis.StringCmd, len(m.from.partitions))
	err := m.from.exchange(ctx, func(pipe redis.Pipeliner) {
		for i, p := range m.from.partitions {
			given[i] = pipe.Get(ctx, p.counter())
		}
	})
	if err != nil {
		return err
	}
	for i, reply := range given {
		if n, err := reply.Int64(); err == nil {
			highest = max(highest, n*int64(len(given))+int64(i))
		} else if !errors.Is(err, redis.Nil) {
			return fmt.Errorf("%s: is not a number: %q", m.from.partitions[i].counter(), reply.Val())
		}
	}
	stored, n := make([]*redis.StringCmd, len(m.to.partitions)), int64(len(m.to.partitions))
	err = m.to.exchange(ctx, func(pipe redis.Pipeliner) {
		for j, p := range m.to.partitions {
			stored[j] = pipe.Get(ctx, p.counter())
		}
	})
	if err != nil {
		return err
	}
	return m.to.exchange(m.to.confirmed(ctx), func(pipe redis.Pipeliner) {
		for j, p := range m.to.partitions {
			if last := (highest - int64(j)) / n; last > 0 && stored[j].Val() != strconv.FormatInt(last, 10) {
				pipe.Set(ctx, p.counter(), last, 0)
				m.changed.Add(1)
			}
		}
	})
}
