package live

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// History detects that a partition went back in time: when a crash loses the end of its append-only file, when a
// lagging replica takes over, when a backup is restored, and when all is flushed. Article numbers are then given out
// again.
type History struct {
	mu      sync.Mutex
	Epoch   string // of meta:; every new store has another one
	highest int64  // highest number that the counter of articles is known to have had
}

// Reached notes an article number that the store gave out. It returns false if the number is not higher than
// all before.
func (h *History) Reached(n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n <= h.highest {
		return false
	}
	h.highest = n
	return true
}

// epoch returns Epoch, which may change.
func (h *History) epoch() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Epoch
}

// forget has everything read again that this process knows of a partition.
func (r *Live) forget(index int) {
	r.store.Changes.Add(1)
	r.hooks.OnForget()
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
	for id, t := range r.live.topics {
		if r.store.Index(id) == index {
			r.live.loseTopic(t)
		}
	}
}

// historyReply are the commands that tell whether a partition went back in time, and what was known before them.
type historyReply struct {
	before  string
	highest int64
	meta    *redis.SliceCmd // epoch, key of cursors, UUID
	counter *redis.StringCmd
}

func (r *Live) queueHistory(ctx context.Context, pipe redis.Pipeliner, index int) historyReply {
	p, h := r.store.Partitions[index], &r.Histories[index]
	h.mu.Lock()
	defer h.mu.Unlock()
	return historyReply{h.Epoch, h.highest, pipe.HMGet(ctx, p.Meta(), keys.FieldEpoch, keys.FieldCursorKey, keys.FieldUUID), pipe.Get(ctx, p.Counter())}
}

// err returns the first error of the commands; what does not exist is none.
func (h historyReply) err() error {
	if err := h.counter.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return h.meta.Err()
}

// CheckHistory checks whether a partition went back in time. If so, this process drops its caches of the partition, and
// prepares it again if it is empty.
func (r *Live) CheckHistory(ctx context.Context, index int) error {
	var found historyReply
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) { found = r.queueHistory(ctx, pipe, index) })
	if err != nil {
		return failover.Wrap("read "+r.store.Partitions[index].Meta(), err)
	}
	return r.compareHistory(ctx, index, found)
}

// compareHistory is CheckHistory with what was read.
func (r *Live) compareHistory(ctx context.Context, index int, found historyReply) error {
	p, h := r.store.Partitions[index], &r.Histories[index]
	meta := wire.Reply(found.meta.Val())
	r.store.UseMeta(meta.Text(1), meta.Text(2))
	now, err := meta.Text(0), error(nil)
	if now == "" {
		if now, err = r.hooks.Reopen(ctx, index); err != nil {
			return err
		}
	}
	n, err := found.counter.Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return failover.Wrap("read "+p.Counter(), err)
	}
	h.mu.Lock()
	if h.Epoch != found.before { // another call was faster
		h.mu.Unlock()
		return nil
	}
	renewed := now != found.before
	back := renewed || n < found.highest
	h.Epoch = now
	if back || n > h.highest {
		h.highest = n
	}
	h.mu.Unlock()
	if renewed && found.before != "" {
		n = 0 // all articles of a new store are new
	}
	if back {
		r.live.goBack(index, site.ArticleID(n*int64(len(r.store.Partitions))+int64(index)))
		r.forget(index)
	}
	return nil
}
