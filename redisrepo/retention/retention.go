// Package retention empties articles that were deleted long ago: their titles, texts, links and earlier versions.
package retention

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var emptyScript = wire.Script(luaFiles, "empty.lua")

// A sweep takes two commands for each partition, and empties at most batch articles of each, or all that were deleted in one
// second.
const (
	batch = 100
	pause = time.Minute // after a sweep that found articles, or failed
	rest  = time.Hour   // after one that found none
)

// Retention empties the articles of a site that were deleted long ago.
type Retention struct {
	store *wire.Store
	kept  time.Duration
}

// New returns a Retention that empties articles when kept has passed since their deletion; 0: never.
func New(store *wire.Store, kept time.Duration) *Retention { return &Retention{store, kept} }

// Follow empties articles until ctx ends. Any number of processes may do so. report is called with errors.
func (r *Retention) Follow(ctx context.Context, report func(error)) {
	ctx = failover.Impatient(ctx)
	for r.kept > 0 && ctx.Err() == nil {
		next := pause
		if emptied, err := r.EmptyDeleted(ctx); err != nil && ctx.Err() == nil {
			report(err)
		} else if emptied == 0 {
			next = rest
		}
		failover.Wait(ctx, next)
	}
}

// EmptyDeleted empties up to about 100 articles of each partition that were deleted long enough ago, the first deleted
// first, and returns how many it looked at; 0 if none is left for now. Articles stay deleted, and cannot be restored.
// It is safe to repeat, and continues where another process stopped.
func (r *Retention) EmptyDeleted(ctx context.Context) (found int, err error) {
	if r.kept == 0 {
		return 0, nil
	}
	through, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.SliceCmd {
		return pipe.HMGet(ctx, p.Meta(), keys.FieldEmptied)
	})
	if err != nil {
		return 0, failover.Wrap("find deleted articles", err)
	}
	next := make([]string, len(through))
	for i, field := range through {
		if next[i] = "-inf"; field.Val()[0] != nil {
			next[i] = fmt.Sprint("(", field.Val()[0])
		}
	}
	for i, p := range r.store.Partitions {
		n, err := r.empty(ctx, p, next[i])
		if err != nil {
			return found, failover.Wrap("empty deleted articles", err)
		}
		found += n
	}
	return found, nil
}

// empty empties articles of a partition that were deleted from a time on.
func (r *Retention) empty(ctx context.Context, p keys.Partition, from string) (int, error) {
	until := site.Number(float64(r.store.Now().Add(-r.kept).Unix()))
	var members []redis.Z
	for count := batch; ; count *= 4 {
		var read *redis.ZSliceCmd
		err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
			read = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: p.Deleted(), ByScore: true, Start: from, Stop: until, Count: int64(count)})
		})
		if err != nil {
			return 0, err
		}
		if members = read.Val(); len(members) < count {
			break
		}
		last := members[len(members)-1].Score // others may have been deleted in the same second
		for len(members) > 0 && members[len(members)-1].Score == last {
			members = members[:len(members)-1]
		}
		if len(members) > 0 {
			break
		}
	}
	if len(members) == 0 {
		return 0, nil
	}
	scriptKeys := []string{
		p.Meta(), // KEYS[1] meta
	}
	for _, z := range members { // KEYS[2...] article
		if id, err := site.ParseArticleID(z.Member.(string)); err == nil {
			scriptKeys = append(scriptKeys, p.Article(id), p.History(id))
		}
	}
	_, err := r.store.Call(ctx, emptyScript, scriptKeys, []any{
		site.Number(members[len(members)-1].Score), // ARGV[1] through
		site.Seconds(r.kept),                       // ARGV[2] kept
		r.store.ScriptNow(),                        // ARGV[3] now
	})
	return len(members), err
}
