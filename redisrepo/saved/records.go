package saved

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Record has what a user has saved and follows, in an export: members of the lists with their times, Unix seconds.
type Record struct {
	Keeper    site.UserName      `json:"keeper"`
	Saved     map[string]float64 `json:"saved,omitempty"`     // by the number of the article
	Following map[string]float64 `json:"following,omitempty"` // by the global id
}

// Validate returns an error for a record that no site can have.
func (r Record) Validate() error {
	isArticle := func(member string) bool {
		id, err := site.ParseArticleID(member)
		return err == nil && id.Number() == member
	}
	isTarget := func(member string) bool {
		t := parseTarget(member)
		group, groupErr := site.ParseGroupName(string(t.Group))
		user, userErr := site.ParseUserName(string(t.User))
		return groupErr == nil && group == t.Group || userErr == nil && user.Member() == member
	}
	name, err := site.ParseUserName(string(r.Keeper))
	if err != nil || name != r.Keeper || len(r.Saved)+len(r.Following) == 0 || !isList(r.Saved, MaxSaved, isArticle) || !isList(r.Following, MaxFollowed, isTarget) {
		return errors.New("what a user has saved and follows is invalid")
	}
	return nil
}

// isList reports whether a list has at most so many members, each of which is valid, and no time twice.
func isList(list map[string]float64, most int, valid func(member string) bool) bool {
	times := map[float64]bool{}
	for member, at := range list {
		if !valid(member) || at <= 0 || at > site.MaxExact || times[at] {
			return false
		}
		times[at] = true
	}
	return len(list) <= most
}

// Place returns the key by which an export sorts its lines: after those of denials.Record.
func (r Record) Place() string { return "\xff\xff" + string(r.Keeper) }

// keepers returns who has a list. It looks at all keys.
func (s *Saved) keepers(ctx context.Context) (map[site.UserName]bool, error) {
	names := map[site.UserName]bool{}
	match := "[sf]*"
	if s.store.Partitions[0] != keys.Untagged {
		match = "{*}" + match
	}
	err := s.store.EachServer(ctx, func(ctx context.Context, server redis.Cmdable, has []keys.Partition) error {
		return wire.Walk(1, func(found []string) error {
			for _, key := range found {
				p := s.store.PartitionOfKey(key)
				kind, name := keys.Parse(key[len(p):])
				if (kind.Name == "saved" || kind.Name == "following") && slices.Contains(has, p) {
					names[site.UserName(name)] = true
				}
			}
			return nil
		}, func(cursor uint64) *redis.ScanCmd {
			return server.Scan(failover.Impatient(ctx), cursor, match, wire.ScanBatch)
		})
	})
	return names, err
}

// Records calls visit with what all users have saved and follow, by name.
func (s *Saved) Records(ctx context.Context, visit func(Record) error) error {
	names, err := s.keepers(ctx)
	if err != nil {
		return failover.Wrap("find what users have saved", err)
	}
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(names)), wire.BatchSize) {
		read := func(key func(keys.Partition, site.UserName) string) ([]*redis.ZSliceCmd, error) {
			return wire.ReadEach(ctx, s.store, batch, func(pipe redis.Pipeliner, name site.UserName) *redis.ZSliceCmd {
				return pipe.ZRangeWithScores(ctx, key(s.store.Home(name), name), 0, -1)
			})
		}
		kept, err := read(keys.Partition.Saved)
		following, followingErr := read(keys.Partition.Following)
		if err := errors.Join(err, followingErr); err != nil {
			return failover.Wrap("read what users have saved", err)
		}
		for i, name := range batch {
			record := Record{name, timesOf(kept[i].Val()), timesOf(following[i].Val())}
			if len(record.Saved)+len(record.Following) == 0 {
				continue // gone
			}
			if err := visit(record); err != nil {
				return err
			}
		}
	}
	return nil
}

func timesOf(members []redis.Z) map[string]float64 {
	times := make(map[string]float64, len(members))
	for _, z := range members {
		times[z.Member.(string)] = z.Score
	}
	return times
}

// Put stores records in a store that no process serves yet. It is safe to repeat.
func (s *Saved) Put(ctx context.Context, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	return failover.Wrap("store what users have saved", s.store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, r := range records {
			home := s.store.Home(r.Keeper)
			for key, list := range map[string]map[string]float64{home.Saved(r.Keeper): r.Saved, home.Following(r.Keeper): r.Following} {
				for member, at := range list {
					pipe.ZAdd(ctx, key, redis.Z{Score: at, Member: member})
				}
			}
		}
	}))
}
