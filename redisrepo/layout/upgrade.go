package layout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/wire"
)

// upgrade brings the data of a partition from one layout to a later one. It works in batches, between which Redis serves
// other clients, and is safe to interrupt, to repeat, and to run in several processes at once: what it finds done, it
// does not do again.
type upgrade struct {
	what string // for the log
	to   int    // the layout that it leads to
	run  func(r *Layout, ctx context.Context, p keys.Partition) error
}

// upgrades are the upgrades by the layout from which they lead. Layout 0 is that of the programs of the book, which record
// none; layout 6 that of Frontpage 0.9.0, the first release.
var upgrades = map[int]upgrade{
	0: {adopting, 9, (*Layout).adoptBook},
	6: {"moving the records of links", 7, (*Layout).moveLinks},
	7: {"recording all links", 8, (*Layout).recordLinks},
	8: {adopting, 9, (*Layout).adoptRest},
}

// LayoutVersion is the version of the layout of all keys, as meta: records it. A new one needs an upgrade: see
// upgrades.
const LayoutVersion = "9"

// LastLayout is the layout that this program needs.
func (r *Layout) LastLayout() int {
	last := 0
	for _, u := range r.upgrades {
		last = max(last, u.to)
	}
	return last
}

// Layouts returns the layout of each partition and, on a site with tags, that of its record as the last element. A
// partition that does not exist yet has the newest layout. A layout newer than LastLayout, or one without an upgrade,
// is an error.
func (r *Layout) Layouts(ctx context.Context) ([]int, error) {
	metas := make([]string, len(r.store.Partitions), len(r.store.Partitions)+1)
	for i, p := range r.store.Partitions {
		metas[i] = p.Meta()
	}
	if r.store.Partitions[0] != keys.Untagged {
		metas = append(metas, keys.Untagged.Meta())
	}
	recorded, err := wire.ReadEach(ctx, r.store, metas, func(pipe redis.Pipeliner, key string) *redis.StringCmd {
		return pipe.HGet(ctx, key, keys.FieldLayout)
	})
	if err != nil {
		return nil, failover.Wrap("read meta:", err)
	}
	size := new(redis.IntCmd) // of a site without tags that has no record
	if r.store.Partitions[0] == keys.Untagged && errors.Is(recorded[0].Err(), redis.Nil) {
		// The record is a site's first key, and another start may write it now. So it is read again, after the size: keys that
		// were there without it are those of programs of the book.
		err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
			size, recorded[0] = pipe.DBSize(ctx), pipe.HGet(ctx, metas[0], keys.FieldLayout)
		})
		if err != nil {
			return nil, failover.Wrap("count the keys", err)
		}
	}
	found := make([]int, len(metas))
	for i, key := range metas {
		text, err := recorded[i].Result()
		switch {
		case errors.Is(err, redis.Nil) && size.Val() > 0:
			found[i] = 0
		case errors.Is(err, redis.Nil):
			found[i] = r.LastLayout()
		default:
			if found[i], err = strconv.Atoi(text); err != nil || found[i] < 0 {
				return nil, fmt.Errorf("%s: the data has layout %s, this program needs %d", key, text, r.LastLayout())
			}
			if found[i] > r.LastLayout() {
				return nil, fmt.Errorf("%s: the data has layout %d, this program needs %d: use the version of Frontpage that the data was upgraded for, or a newer one", key, found[i], r.LastLayout())
			}
			if _, ok := r.upgrades[found[i]]; !ok && found[i] < r.LastLayout() {
				return nil, fmt.Errorf("%s: the data has layout %d, of a time before the first release, this program needs %d: start Frontpage 0.9.0 with it once, which upgrades it, and then this version", key, found[i], r.LastLayout())
			}
		}
	}
	return found, nil
}

// UpgradeLayout brings the data to the newest layout. meta: of a partition records each completed step, so the next
// start continues an interrupted one at its partition.
func (r *Layout) UpgradeLayout(ctx context.Context) error {
	found, err := r.Layouts(ctx)
	if err != nil {
		return err
	}
	if pending := r.PendingUpgrades(found); pending != nil && r.store.KeepRules {
		return fmt.Errorf("the data has layout %d, and a start of the server with this version would %s; a command does not do that: "+
			"start the server first, or use the version of Frontpage that the data is for", slices.Min(found), strings.Join(pending, ", "))
	}
	for from := slices.Min(found); from < r.LastLayout(); from = slices.Min(found) {
		n := int64(0)
		if from > 0 { // the programs of the book know of no layout
			if n, err = r.store.Listeners(ctx); err != nil {
				return failover.Wrap("count the processes of the site", err)
			}
		}
		if n > 0 {
			// They would go on to write the present layout, unless another start has upgraded the data and serves.
			if found, err = r.Layouts(ctx); err != nil {
				return err
			}
			if slices.Min(found) == from {
				return fmt.Errorf("the data has layout %d, this program needs %d, and %d processes of the site still run: stop them, and start this version again", from, r.LastLayout(), n)
			}
			continue
		}
		step := r.upgrades[from]
		for i, layout := range found {
			if layout != from {
				continue
			}
			p := keys.Untagged // the record
			if i < len(r.store.Partitions) {
				p = r.store.Partitions[i]
				r.OnProgress(fmt.Sprintf("upgrading the layout from %d to %d: %s", from, step.to, step.what), i, len(r.store.Partitions))
				if err := step.run(r, ctx, p); err != nil {
					return failover.Wrap(step.what, err)
				}
			}
			found[i] = step.to
			if _, err := r.store.Call(ctx, layoutScript, []string{p.Meta()}, []any{found[i]}); err != nil {
				return failover.Wrap("write "+p.Meta(), err)
			}
		}
	}
	return nil
}

// PendingUpgrades describes the upgrades that data of these layouts needs.
func (r *Layout) PendingUpgrades(found []int) (pending []string) {
	for from := slices.Min(found); from < r.LastLayout(); from = r.upgrades[from].to {
		pending = append(pending, fmt.Sprintf("upgrade the layout from %d to %d: %s", from, r.upgrades[from].to, r.upgrades[from].what))
	}
	return pending
}
