package live

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// History is what this process knows about the past of a partition. A store goes back in time when a crash loses
// the end of its append-only file, when a replica that lags takes over, when a backup is restored, and when all is
// flushed. Article numbers are then given out again.
type History struct {
	mu      sync.Mutex
	Epoch   string // of meta:; every new store has another one
	highest int64  // highest number that the counter of articles is known to have had
	lost    int    // how often messages may have been lost
	renewed int    // how often the epoch has changed
}

// Reached notes a number that was drawn. It returns false if that is not higher than all before.
func (h *History) Reached(n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n <= h.highest {
		return false
	}
	h.highest = n
	return true
}

// forget has everything read again that this process knows of a partition.
func (r *Live) forget(index int) {
	r.store.Changes.Add(1)
	h := &r.Histories[index]
	h.mu.Lock()
	h.lost++
	h.mu.Unlock()
	r.hooks.OnForget()
	r.live.markLost(func(id site.ArticleID) bool { return r.store.Index(id) == index })
}

// forgetAll is forget for each partition, after another process may have failed to publish.
func (r *Live) forgetAll() {
	for i := range r.store.Partitions {
		r.forget(i)
	}
}

// CheckHistory finds out whether a partition went back in time. Then it forgets the lost future, and gives an empty
// store what it needs.
func (r *Live) CheckHistory(ctx context.Context, index int) error {
	p, h := r.store.Partitions[index], &r.Histories[index]
	h.mu.Lock()
	before, highest := h.Epoch, h.highest
	h.mu.Unlock()
	var epoch, key, counter *redis.StringCmd
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		epoch, key = pipe.HGet(ctx, p.Meta(), keys.FieldEpoch), pipe.HGet(ctx, p.Meta(), keys.FieldCursorKey)
		counter = pipe.Get(ctx, p.Counter())
	})
	if err != nil {
		return failover.Wrap("read "+p.Meta(), err)
	}
	r.store.UseCursorKey(key.Val())
	now := epoch.Val()
	if now == "" {
		if now, err = r.hooks.Reopen(ctx, index); err != nil {
			return err
		}
	}
	n, err := counter.Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return failover.Wrap("read "+p.Counter(), err)
	}
	h.mu.Lock()
	if h.Epoch != before { // another call was faster
		h.mu.Unlock()
		return nil
	}
	renewed := now != before
	back := renewed || n < highest
	h.Epoch = now
	if renewed {
		h.renewed++
	}
	if back || n > h.highest {
		h.highest = n
	}
	h.mu.Unlock()
	if renewed && before != "" {
		n = 0 // all articles of a new store are new
	}
	if back {
		r.live.goBack(index, site.ArticleID(n*int64(len(r.store.Partitions))+int64(index)))
		r.forget(index)
	}
	return nil
}

// followHistory finds posts whose messages may have been lost. While Redis refuses writes, or a right is missing, it
// may be impossible to know; the next call will.
func (r *Live) followHistory(ctx context.Context, index int) error {
	if err := r.CheckHistory(ctx, index); err != nil && !errors.Is(err, failover.ErrReadOnly) && !errors.Is(err, failover.ErrDenied) {
		return err
	}
	h := &r.Histories[index]
	h.mu.Lock()
	lost, renewed := h.lost, h.renewed
	h.mu.Unlock()
	s := r.seen[index]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.renewed != renewed {
		s.highest, s.newest = 0, 0
		s.forgetDeleted()
	}
	if s.lost == lost && s.renewed == renewed {
		return nil
	}
	if err := r.findPosts(ctx, index); err != nil {
		return err
	}
	s.lost, s.renewed = lost, renewed
	return nil
}
