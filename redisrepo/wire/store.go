// Package wire calls Redis for all other packages: commands in one round trip, scripts by digest, writes that replicas
// confirm and that are refused while a right is missing, and scans of many keys.
package wire

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// Store is the open store of a site: its client, partitions, rules and clock. It is safe for concurrent use.
type Store struct {
	Client     redis.UniversalClient
	Rules      site.Rules
	Partitions []keys.Partition
	Database   int              // number of the database on its server
	Clock      func() time.Time // nil: the clock of Redis
	KeepRules  bool             // the data must have these rules, and the newest layout
	Incomplete bool             // Fill has not finished the data
	On         string           // names of the features that are on, as the scripts get them

	Changes    atomic.Uint64             // see Version
	CursorKey  atomic.Pointer[string]    // of cursors of rankings
	UUID       atomic.Pointer[uuid.UUID] // of the site
	VotingText string                    // of vote.lua
	OnChange   func(index int)           // is called after this process has changed a partition

	acks   int // replicas that confirm each write
	rights rights
}

// Options are the options of Open.
type Options struct {
	Partitions int // 0: those of the site in the store, or the default for a new one
	Acks       int // replicas that confirm each write
	KeepRules  bool
	Clock      func() time.Time // nil: the clock of Redis
}

// Open finds the partitions of the site in a store, or those of a new site. It changes nothing. It returns a
// *PartitionsError if the site has another number of partitions than o.
func Open(ctx context.Context, client redis.UniversalClient, rules site.Rules, on string, o Options) (*Store, error) {
	s := &Store{Client: client, Rules: rules, On: on, Clock: o.Clock, KeepRules: o.KeepRules, acks: o.Acks, OnChange: func(int) {}}
	if single, ok := client.(interface{ Options() *redis.Options }); ok { // a cluster has one database
		s.Database = single.Options().DB
	}
	s.UseMeta(rand.Text(), uuid.Nil.String()) // until those of the store are known
	return s, s.findPartitions(ctx, o.Partitions)
}

// ThisHour returns the present hour.
func (r *Store) ThisHour() site.Hour { return site.HourOf(float64(r.Now().Unix())) }

// Has reports whether a feature is on.
func (r *Store) Has(feature string) bool { return strings.Contains(r.On, feature) }

// EachMatching calls handle with the keys of a partition that match a pattern. It scans all keys of the server.
func (r *Store) EachMatching(ctx context.Context, p keys.Partition, pattern string, handle func(keys []string) error) error {
	return r.At(ctx, p.Meta(), func(ctx context.Context, server redis.Cmdable) error {
		return Walk(1, InBatches(handle), func(cursor uint64) *redis.ScanCmd {
			return server.Scan(failover.Impatient(ctx), cursor, pattern, ScanBatch)
		})
	})
}

// Version returns a number that grows with every change of the store that this process makes or learns of: before a
// write returns, whatever its outcome, and before a watch delivers a state. So a read that begins at the present
// version includes all changes that any client of this process can know of.
func (r *Store) Version() uint64 { return r.Changes.Load() }

// IncompleteLayout is the layout in meta: while Fill writes the data.
const IncompleteLayout = "incomplete copy"

// Changed notes that this process has changed a partition: Version grows, and other processes are notified.
func (r *Store) Changed(index int) {
	r.Changes.Add(1)
	r.OnChange(index)
}

// Listeners returns the number of processes that listen to changes: each subscribes at one of the nodes.
func (r *Store) Listeners(ctx context.Context) (int64, error) {
	channel, all := keys.ChangesChannel(r.Database), atomic.Int64{}
	if cluster, ok := r.Client.(*redis.ClusterClient); ok {
		err := cluster.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error {
			found, err := node.PubSubNumSub(ctx, channel).Result()
			all.Add(found[channel])
			return err
		})
		return all.Load(), err
	}
	found, err := r.Client.PubSubNumSub(ctx, channel).Result()
	return found[channel], err
}

// UseMeta sets the key of the cursors of rankings and the UUID of the site, from meta: of a partition. Empty values,
// which partitions other than the first have, are ignored.
func (r *Store) UseMeta(cursorKey, id string) {
	if cursorKey != "" {
		r.CursorKey.Store(&cursorKey)
	}
	if parsed, err := uuid.Parse(id); err == nil {
		r.UUID.Store(&parsed)
	}
}

// TryWrites sends each partition a write without an effect, which Redis may refuse.
func (r *Store) TryWrites(ctx context.Context) ([]redis.Cmder, error) {
	return r.pipelined(failover.Impatient(ctx), func(pipe redis.Pipeliner) {
		for _, p := range r.Partitions {
			pipe.ZAddXX(ctx, p.Ranking(site.ByTime), redis.Z{Member: keys.Reserved})
		}
	})
}

// Index returns the number of the article's partition.
func (r *Store) Index(id site.ArticleID) int { return int(id) % len(r.Partitions) }

// Partition returns the article's partition.
func (r *Store) Partition(id site.ArticleID) keys.Partition { return r.Partitions[r.Index(id)] }

// HomeIndex returns the number of the partition with a user's keys by name.
func (r *Store) HomeIndex(name site.UserName) int {
	return keys.HomeIndex(len(r.Partitions), string(name))
}

// Home returns the partition with a user's keys by name.
func (r *Store) Home(name site.UserName) keys.Partition { return r.Partitions[r.HomeIndex(name)] }

// Now returns this process's time, for display. Scripts use ScriptNow.
func (r *Store) Now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}

// ScriptNow returns the argument now of scripts; empty stands for the clock of Redis.
func (r *Store) ScriptNow() string {
	if r.Clock == nil {
		return ""
	}
	return strconv.FormatInt(r.Clock().Unix(), 10)
}
