// Package migrate copies a site to another store while it is used, and moves partitions between the primaries of a cluster.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
	"frontpage/redisrepo/wire"
)

// How Migrate copies a site. A pass compares all keys of both stores and makes the target's like those of the original,
// which it only reads. The members of a sorted set or of a group go to the partition of their article. Passes run until
// one that began and ended without a process that could write to the original finds nothing to change: then both sides
// are equal. Until then the layout in the target's meta: is wire.IncompleteLayout, so that no program opens it, and a pass
// after a kill goes on with what is there.

const (
	silencePoll   = 200 * time.Millisecond // how often the original is asked whether its processes have stopped
	maxLastPasses = 5
)

// Migrate copies a site to an empty store, while the site is used, and changes nothing in the original. Once
// the copy has nearly caught up, it says so and waits until no process listens to changes of the original, or
// the original refuses writes. Then it copies what has changed since, compares all listings, checks the copy,
// and makes it a site. pause is how long these steps took. say is called with each step, once at a time.
//
// The rules are those of the site, the options those of New for the copy: WithPartitions may give it more
// partitions than the site has. By default it gets as many, or, if the site has a single partition, as many as
// a new site gets.
//
// It is safe to stop at any moment: the next call with the same stores goes on. A target that holds anything but an
// incomplete copy of the same site is an error, and is not changed.
func Migrate(ctx context.Context, from, to redis.UniversalClient, rules site.Rules, say func(string), options ...redisrepo.Option) (pause time.Duration, err error) {
	m, err := newMigration(ctx, from, to, rules, options...)
	if err != nil {
		return 0, err
	}
	var saying sync.Mutex
	m.say = func(text string) {
		saying.Lock()
		defer saying.Unlock()
		say(text)
	}
	if err := m.claim(ctx); err != nil {
		return 0, fmt.Errorf("the target: %w", err)
	}
	if err := m.copyUsed(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := m.copyRest(ctx); err != nil {
		return 0, err
	}
	if err := m.verify(ctx); err != nil {
		return 0, err
	}
	for _, field := range []string{keys.FieldCastSince, keys.FieldCursorKey, keys.FieldUUID} { // or votes would count as unknown, cursors expire, and ids in feeds change
		if err := m.copyMeta(ctx, field); err != nil {
			return 0, failover.Wrap("copy "+field+" of meta:", err)
		}
	}
	if err := m.to.Layout.MarkComplete(ctx); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// copyMeta copies a field of meta: of the first partition, if the original has it.
func (m *migration) copyMeta(ctx context.Context, field string) error {
	value, err := m.from.Store.Client.HGet(ctx, m.from.Store.Partitions[0].Meta(), field).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.to.Store.Client.HSet(ctx, m.to.Store.Partitions[0].Meta(), field, value).Err()
}

// newMigration returns a migration whose target can have the copy. It changes nothing.
func newMigration(ctx context.Context, from, to redis.UniversalClient, rules site.Rules, options ...redisrepo.Option) (*migration, error) {
	m := &migration{say: func(string) {}}
	var err error
	if m.from, err = redisrepo.FindComplete(ctx, from, rules); err != nil {
		return nil, fmt.Errorf("the original: %w", err)
	}
	if err := m.readMeta(ctx); err != nil {
		return nil, fmt.Errorf("the original: %w", err)
	}
	if n := len(m.from.Store.Partitions); n > 1 {
		options = append([]redisrepo.Option{redisrepo.WithPartitions(n)}, options...)
	}
	if m.to, err = redisrepo.Find(ctx, to, rules, options...); err != nil {
		return nil, fmt.Errorf("the target: %w", err)
	}
	if err := m.mustBeFree(ctx); err != nil {
		return nil, fmt.Errorf("the target: %w", err)
	}
	m.to.Articles.Forgotten.Store(m.from.Articles.Forgotten.Load())
	return m, nil
}

// Plan is what Migrate would do.
type Plan struct {
	Articles           int // deleted ones, too
	Keys, Unknown      int // of the original; Unknown are not the site's, and are not copied
	Partitions, Target int // numbers of partitions of the original and of the copy
	Processes          int // of the site that run: they have to be stopped once Migrate says so
	Resumes            bool
}

// PlanMigration returns what Migrate would do, or the error with which it would refuse to begin. It changes
// nothing.
func PlanMigration(ctx context.Context, from, to redis.UniversalClient, rules site.Rules, options ...redisrepo.Option) (Plan, error) {
	m, err := newMigration(ctx, from, to, rules, options...)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Partitions: len(m.from.Store.Partitions), Target: len(m.to.Store.Partitions), Resumes: m.to.Store.Incomplete}
	if plan.Articles, err = transfer.CountStored(ctx, m.from); err != nil {
		return plan, err
	}
	processes, err := m.from.Store.Listeners(ctx)
	if err != nil {
		return plan, failover.Wrap("count the processes of the site", err)
	}
	plan.Processes = int(processes)
	var keys, unknownKeys atomic.Int64
	err = eachBatch(ctx, m.from, func(_ context.Context, batch []*copiedKey) error {
		keys.Add(int64(len(batch)))
		for _, k := range batch {
			if k.Name == "" {
				unknownKeys.Add(1)
			}
		}
		return nil
	})
	plan.Keys, plan.Unknown = int(keys.Load()), int(unknownKeys.Load())
	return plan, err
}

type migration struct {
	from, to *redisrepo.Repo
	say      func(string)
	origin   string // epoch of the original

	changed atomic.Int64 // values of the copy, by this pass
	unknown atomic.Int64 // keys of the original that are not the site's

	mu          sync.Mutex
	done, total int // keys of this pass
}

func (m *migration) sayf(format string, args ...any) { m.say(fmt.Sprintf(format, args...)) }

// readMeta checks that the original is a site that this program understands.
func (m *migration) readMeta(ctx context.Context) error {
	if strings.Contains(probe(ctx, m.from), "READONLY") {
		return errors.New("it is a replica, which cannot know whether its primary is still written to: use the address of the primary")
	}
	metas, err := wire.ReadEach(ctx, m.from.Store, m.from.Store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.MapStringStringCmd {
		return pipe.HGetAll(ctx, p.Meta())
	})
	if err != nil {
		return failover.Wrap("read meta:", err)
	}
	for i, p := range m.from.Store.Partitions {
		meta := metas[i].Val()
		if meta[keys.FieldEpoch] == "" {
			return fmt.Errorf("%s has no %s: start this version of Frontpage on it once, and check REDIS_URL", p.Meta(), keys.FieldEpoch)
		}
		if meta[keys.FieldLayout] != layout.LayoutVersion {
			return fmt.Errorf("%s: the data has layout %s, this program needs %s", p.Meta(), meta[keys.FieldLayout], layout.LayoutVersion)
		}
		m.from.Layout.NoteForgotten(meta)
		for rule, value := range m.from.Layout.RankingRules() {
			if was := layout.RecordedRule(meta, rule); was != value {
				return fmt.Errorf("%s is %s in the data and %s in the settings: use the same settings as the server", rule, was, value)
			}
		}
		for _, f := range layout.Features() {
			if on := f.On(m.from.Store.Rules); on != (meta[f.Name] == layout.FeatureOn) || !on && meta[f.Name] != "" {
				return fmt.Errorf("%s is %q in the data and %t in the settings: use the same settings as the server", f.Name, meta[f.Name], on)
			}
		}
	}
	m.origin = metas[0].Val()[keys.FieldEpoch]
	return nil
}

// mustBeFree returns an error unless the target is empty or holds an incomplete copy of the same site.
func (m *migration) mustBeFree(ctx context.Context) error {
	if from, to := len(m.from.Store.Partitions), len(m.to.Store.Partitions); to < from {
		return &wire.PartitionsError{Problem: fmt.Sprintf("a site with %s cannot be copied to one with %s: use as many, or more", keys.PartitionsText(from), keys.PartitionsText(to))}
	}
	record, err := m.to.Store.Client.HGetAll(ctx, keys.Untagged.Meta()).Result()
	if err != nil {
		return failover.Wrap("read meta:", err)
	}
	size, err := m.to.Store.Client.DBSize(ctx).Result()
	switch {
	case err != nil:
		return failover.Wrap("count the keys", err)
	case record[keys.FieldOrigin] == m.origin && record[keys.FieldLayout] == layout.LayoutVersion:
		return errors.New("it is already a complete copy of this site: start Frontpage on it; nothing was changed")
	case record[keys.FieldLayout] == wire.IncompleteLayout && record[keys.FieldOrigin] != m.origin:
		return errors.New("it holds an incomplete copy of another site: empty it, or use another store")
	case record[keys.FieldLayout] != wire.IncompleteLayout && size > 0:
		return fmt.Errorf("it is not empty: it has %d keys; empty it, or use another store", size)
	}
	return nil
}

// claim marks the target as a copy that is incomplete.
func (m *migration) claim(ctx context.Context) error {
	if err := m.to.Prepare(ctx); err != nil {
		return err
	}
	return m.to.Layout.MarkIncomplete(ctx, m.origin)
}

// copyUsed copies while the site is used, and returns when it is no longer.
func (m *migration) copyUsed(ctx context.Context) error {
	for pass := 1; ; pass++ {
		silent, why, err := m.silent(ctx)
		if err != nil || silent {
			return err
		}
		if pass > 2 {
			break
		}
		m.sayf("pass %d, while the site is used (%s)", pass, why)
		took, err := m.pass(ctx)
		if err != nil {
			return err
		}
		m.sayf("pass %d took %v and changed %d values in the copy", pass, took, m.changed.Load())
		if pass == 2 {
			m.sayf("now stop all processes of the site, imports and other writers, or have the original refuse writes: the rest will take about %v", (6 * took).Round(time.Second))
		}
	}
	for {
		failover.Wait(ctx, silencePoll)
		if silent, _, err := m.silent(ctx); err != nil || silent {
			return err
		}
	}
}

// copyRest copies what has changed since, until both sides are equal.
func (m *migration) copyRest(ctx context.Context) error {
	for pass := 1; pass <= maxLastPasses; pass++ {
		m.sayf("last pass %d", pass)
		took, err := m.pass(ctx)
		if err != nil {
			return err
		}
		if err := m.mustBeSilent(ctx); err != nil {
			return err
		}
		m.sayf("last pass %d took %v and changed %d values in the copy", pass, took, m.changed.Load())
		if m.changed.Load() == 0 {
			return nil
		}
	}
	return fmt.Errorf("the original still changes after %d passes, although no process of the site uses it: stop imports, legacy clients and other writers, and run this again", maxLastPasses)
}

// silent reports whether no process of the site uses the original, or it refuses writes. why says who does.
func (m *migration) silent(ctx context.Context) (silent bool, why string, err error) {
	if err := ctx.Err(); err != nil {
		return false, "", err
	}
	n, err := m.from.Store.Listeners(ctx)
	if err != nil {
		return false, "", failover.Wrap("count the processes of the site", err)
	}
	if n > 0 && strings.Contains(probe(ctx, m.from), "NOREPLICAS") {
		return true, "", nil
	}
	return n == 0, fmt.Sprintf("%d of its processes run", n), nil
}

// probe returns the error of a write without effect, by a script as all writes of articles: Redis 6.2 lets scripts write
// where it refuses single commands.
func probe(ctx context.Context, r *redisrepo.Repo) string {
	const write = "return redis.call('ZADD', KEYS[1], 'XX', 0, ARGV[1])"
	if err := r.Store.Client.Eval(ctx, write, []string{r.Store.Partitions[0].Ranking(site.ByTime)}, keys.Reserved).Err(); err != nil {
		return err.Error()
	}
	return ""
}

func (m *migration) mustBeSilent(ctx context.Context) error {
	silent, why, err := m.silent(ctx)
	if err == nil && !silent {
		err = fmt.Errorf("the original is used again (%s): stop them, and run this again", why)
	}
	return err
}

// verify compares all listings of both sides, and checks the copy.
func (m *migration) verify(ctx context.Context) error {
	m.say("comparing all listings, and checking the copy")
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return m.compare(groupCtx) })
	group.Go(func() error { return m.check(groupCtx) })
	if err := group.Wait(); err != nil {
		return err
	}
	return m.mustBeSilent(ctx)
}

func (m *migration) compare(ctx context.Context) error {
	original, result, err := m.digests(ctx)
	if err != nil {
		return err
	}
	if original != result {
		return fmt.Errorf("the listings differ: %v in the original, %v in the copy: run this again", original, result)
	}
	m.sayf("all listings of both sides are equal: %v", original)
	return nil
}

func (m *migration) check(ctx context.Context) error {
	checked, err := check.Check(ctx, m.to, func(violation string) { m.say("check of the copy: " + violation) })
	if err != nil {
		return err
	}
	if checked.Violations > 0 {
		return fmt.Errorf("the copy has %d inconsistencies: run frontpage check on the original, too, and remove those that it has", checked.Violations)
	}
	m.sayf("check of the copy: %d articles, %d deleted articles and %d groups: 0 violations", checked.Articles, checked.Deleted, checked.Groups)
	return nil
}
