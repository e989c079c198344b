package redisrepo

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

// history is what this process knows about the past of a partition. A store goes back in time when a crash loses
// the end of its append-only file, when a replica that lags takes over, when a backup is restored, and when all is
// flushed. Article numbers are then given out again.
type history struct {
	mu      sync.Mutex
	epoch   string // of meta:; every new store has another one
	highest int64  // highest number that the counter of articles is known to have had
	lost    int    // how often messages may have been lost
	renewed int    // how often the epoch has changed
}

// reached notes a number that was drawn. It returns false if that is not higher than all before.
func (h *history) reached(n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n <= h.highest {
		return false
	}
	h.highest = n
	return true
}

// forget has everything read again that this process knows of a partition.
func (r *Repo) forget(index int) {
	r.version.Add(1)
	h := &r.histories[index]
	h.mu.Lock()
	h.lost++
	h.mu.Unlock()
	r.onForget()
	r.live.markLost(func(id ArticleID) bool { return r.index(id) == index })
}

// forgetAll is forget for each partition, after another process may have failed to publish.
func (r *Repo) forgetAll() {
	for i := range r.partitions {
		r.forget(i)
	}
}

// checkHistory finds out whether a partition went back in time. Then it forgets the lost future, and gives an empty
// store what it needs.
func (r *Repo) checkHistory(ctx context.Context, index int) error {
	p, h := r.partitions[index], &r.histories[index]
	h.mu.Lock()
	before, highest := h.epoch, h.highest
	h.mu.Unlock()
	var epoch, key, counter *redis.StringCmd
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		epoch, key = pipe.HGet(ctx, p.meta(), fieldEpoch), pipe.HGet(ctx, p.meta(), fieldCursorKey)
		counter = pipe.Get(ctx, p.counter())
	})
	if err != nil {
		return storeError("read "+p.meta(), err)
	}
	r.useCursorKey(key.Val())
	now := epoch.Val()
	if now == "" {
		if now, err = r.onLost(ctx, index); err != nil {
			return err
		}
	}
	n, err := counter.Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return storeError("read "+p.counter(), err)
	}
	h.mu.Lock()
	if h.epoch != before { // another call was faster
		h.mu.Unlock()
		return nil
	}
	renewed := now != before
	back := renewed || n < highest
	h.epoch = now
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
		r.live.goBack(index, ArticleID(n*int64(len(r.partitions))+int64(index)))
		r.forget(index)
	}
	return nil
}

// followHistory finds posts whose messages may have been lost. While Redis refuses writes, or a right is missing, it
// may be impossible to know; the next call will.
func (r *Repo) followHistory(ctx context.Context, index int) error {
	if err := r.checkHistory(ctx, index); err != nil && !errors.Is(err, ErrReadOnly) && !errors.Is(err, ErrDenied) {
		return err
	}
	h := &r.histories[index]
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
