package views

import (
	"cmp"
	"context"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Lag reads the log entries that the views of a partition may lack, in one round trip with other commands. It is not
// safe for concurrent use.
type Lag struct {
	p     keys.Partition
	views []string // their names
	from  string   // they have the entries up to this one

	positions *redis.SliceCmd
	entries   *redis.XMessageSliceCmd
}

// NewLag reads how far the views of a partition are.
func (v *Views) NewLag(ctx context.Context, p keys.Partition) (*Lag, error) {
	l := &Lag{p: p, from: noEntry, views: v.names()}
	err := v.store.Read(ctx, func(pipe redis.Pipeliner) {
		l.positions = pipe.HMGet(ctx, p.Views(), l.views...)
	})
	if err == nil {
		l.advance()
	}
	return l, err
}

// Queue queues the commands for Entries and Articles.
func (l *Lag) Queue(ctx context.Context, pipe redis.Pipeliner) {
	l.positions, l.entries = pipe.HMGet(ctx, l.p.Views(), l.views...), pipe.XRange(ctx, l.p.Events(), after(l.from), "+")
}

// advance notes how far the views are.
func (l *Lag) advance() {
	l.from = cmp.Or(earliest(texts(l.positions.Val())), noEntry)
}

// Entries returns the entries that a view lacks, with their fields.
func (l *Lag) Entries() (messages []redis.XMessage) {
	if l.entries == nil {
		return nil
	}
	l.advance()
	return since(l.entries.Val(), l.from)
}

// Articles returns the articles of the entries.
func (l *Lag) Articles() map[site.ArticleID]bool {
	all := map[site.ArticleID]bool{}
	for _, e := range decode(l.Entries()) {
		all[e.Article] = true
	}
	return all
}

// isAfter reports whether an id belongs to a later entry than another.
func isAfter(id, other string) bool {
	return wire.ParseEntryID(id).Compare(wire.ParseEntryID(other)) > 0
}
