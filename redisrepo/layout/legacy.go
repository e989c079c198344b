package layout

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// indexLegacyGroups adds the groups of legacy clients to the lists of groups. It is the upgrade from layout 0: it runs on a
// store that has no meta: yet, and looks at all its keys. It is safe to interrupt, and to run in several processes at once:
// meta: is written after it.
func (r *Layout) indexLegacyGroups(ctx context.Context, p keys.Partition) error {
	total, err := r.store.Client.DBSize(ctx).Result()
	if err != nil || total == 0 {
		return err
	}
	const step = "looking for the groups of legacy clients"
	done := 0
	err = r.indexNewGroups(ctx, p, func() {
		r.OnProgress(step, min(done, int(total)), int(total))
		done += wire.ScanBatch
	})
	if err == nil {
		r.OnProgress(step, int(total), int(total))
	}
	return err
}

// indexNewGroups adds the groups of a partition that are in no list of groups to them. It looks at all keys of the server,
// and calls before each round trip.
func (r *Layout) indexNewGroups(ctx context.Context, p keys.Partition, before func()) error {
	return r.store.At(ctx, p.Groups(), func(ctx context.Context, server redis.Cmdable) error {
		add := func(keys []string) error {
			var names []string
			for _, key := range keys {
				name, err := site.ParseGroupName(strings.TrimPrefix(key, p.Group("")))
				if err != nil || p.Group(name) != key || name == site.Interesting {
					continue // not the canonical name of a group
				}
				names = append(names, string(name))
			}
			if len(names) == 0 {
				return nil
			}
			return r.lists.IndexNewGroups(ctx, server, p, names)
		}
		return wire.Walk(1, add, func(cursor uint64) *redis.ScanCmd {
			before()
			return server.ScanType(failover.Impatient(ctx), cursor, p.Group("*"), wire.ScanBatch, "set")
		})
	})
}

// groupFinder finds the groups of articles whose hashes do not list them, because only legacy clients wrote
// them. Such an article may be in any group, so all groups are asked. A pass over them serves every article
// that waits when it starts, and callers with the same article share its result.
type groupFinder struct {
	mutex   sync.Mutex
	lookups map[site.ArticleID]*groupLookup // waiting, or in the current pass
	waiting []site.ArticleID                // for the next pass
	running bool                            // whether a goroutine makes passes
	again   time.Time                       // when the pass may look for new groups again
}

type groupLookup struct {
	done   chan struct{} // closed when the rest is set
	groups string
	err    error
}

// Each command of a pass asks one group for at most maxFoundTogether articles, and each round trip has at
// most groupsPerTrip commands. Redis serves other clients in between.
const (
	maxFoundTogether = 100
	groupsPerTrip    = 500
)

// FindGroups returns the groups whose sets have an article, as a text of sorted names, as they were during the
// call or just before it. Groups that a legacy client made are found by scanning all keys, which is limited to
// a tenth of the time: a group younger than the last scan may be missed.
func (r *Layout) FindGroups(ctx context.Context, id site.ArticleID) (string, error) {
	f := &r.finders[r.store.Index(id)]
	f.mutex.Lock()
	lookup := f.lookups[id]
	if lookup == nil {
		lookup = &groupLookup{done: make(chan struct{})}
		if f.lookups == nil {
			f.lookups = map[site.ArticleID]*groupLookup{}
		}
		f.lookups[id] = lookup
		f.waiting = append(f.waiting, id)
	}
	if !f.running {
		f.running = true
		// A caller that gives up must not fail the others.
		go f.run(context.WithoutCancel(ctx), r, r.store.Partition(id))
	}
	f.mutex.Unlock()
	select {
	case <-lookup.done:
		return lookup.groups, lookup.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// run makes passes until no article waits.
func (f *groupFinder) run(ctx context.Context, r *Layout, p keys.Partition) {
	for {
		f.mutex.Lock()
		ids := f.waiting[:min(len(f.waiting), maxFoundTogether)]
		f.waiting = f.waiting[len(ids):]
		f.running = len(ids) > 0
		f.mutex.Unlock()
		if len(ids) == 0 {
			return
		}
		groups, err := r.askAllGroups(ctx, f, p, ids)
		f.mutex.Lock()
		for i, id := range ids {
			lookup := f.lookups[id]
			lookup.err = err
			if err == nil {
				lookup.groups = site.GroupText(groups[i])
			}
			delete(f.lookups, id)
			close(lookup.done)
		}
		f.mutex.Unlock()
	}
}

// askAllGroups is askGroups after a look for new groups. Legacy clients write to sites without tags only.
func (r *Layout) askAllGroups(ctx context.Context, f *groupFinder, p keys.Partition, ids []site.ArticleID) ([][]site.GroupName, error) {
	if began := r.store.Now(); p == keys.Untagged && !began.Before(f.again) {
		if err := r.indexNewGroups(ctx, p, func() {}); err != nil {
			return nil, err
		}
		ended := r.store.Now()
		f.again = ended.Add(9 * ended.Sub(began))
	}
	return r.askGroups(ctx, p, ids)
}

// askGroups asks each group in the list of groups which of the articles are in it, and returns the sorted
// groups of each article. The names are read in the round trips in which the groups before them are asked.
func (r *Layout) askGroups(ctx context.Context, p keys.Partition, ids []site.ArticleID) ([][]site.GroupName, error) {
	members := make([]any, len(ids))
	for i, id := range ids {
		members[i] = id.String()
	}
	groups := make([][]site.GroupName, len(ids))
	page := redis.ZRangeArgs{Key: p.Groups(), ByLex: true, Start: "-", Stop: "+", Count: groupsPerTrip}
	names, err := r.store.Client.ZRangeArgs(ctx, page).Result()
	for err == nil && len(names) > 0 {
		var next *redis.StringSliceCmd
		answers := make([]*redis.BoolSliceCmd, len(names))
		_ = r.store.Read(ctx, func(pipe redis.Pipeliner) { // the commands have the errors
			for i, name := range names {
				answers[i] = pipe.SMIsMember(ctx, p.Group(site.GroupName(name)), members...)
			}
			if len(names) == groupsPerTrip {
				page.Start = "(" + names[len(names)-1]
				next = pipe.ZRangeArgs(ctx, page)
			}
		})
		for i, answer := range answers {
			if err := answer.Err(); err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") { // that is for Check to report
				return nil, err
			}
			for j, isMember := range answer.Val() {
				if isMember {
					groups[j] = append(groups[j], site.GroupName(names[i]))
				}
			}
		}
		if next == nil {
			break
		}
		names, err = next.Result()
	}
	return groups, err
}
