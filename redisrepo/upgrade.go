package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// upgrade brings the data of a partition from one layout to the next. It works in batches, between which Redis serves
// other clients, and is safe to interrupt, to repeat, and to run in several processes at once: what it finds done, it
// does not do again.
type upgrade struct {
	what string // for the log
	run  func(r *Repo, ctx context.Context, p partition) error
}

// upgrades[i] leads from layout i to layout i+1. Layout 0 is that of legacy clients, which record none.
var upgrades = []upgrade{
	{"looking for the groups of legacy clients", (*Repo).indexLegacyGroups},
	{"counting the articles of groups, and recording all links", (*Repo).indexGroupsAndLinks},
	{"making room for the calendar, users' votes, front pages and events", (*Repo).markFeatures},
	{"listing the articles of hosts", (*Repo).indexHosts},
}

// lastLayout is the layout that this program needs.
func (r *Repo) lastLayout() int { return len(r.upgrades) }

// layouts returns the layout of each partition, and at last that of the record of a site with tags. What does not exist
// yet has the newest.
func (r *Repo) layouts(ctx context.Context) ([]int, error) {
	keys := make([]string, len(r.partitions), len(r.partitions)+1)
	for i, p := range r.partitions {
		keys[i] = p.meta()
	}
	if r.partitions[0] != untagged {
		keys = append(keys, untagged.meta())
	}
	recorded := make([]*redis.StringCmd, len(keys))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, key := range keys {
			recorded[i] = pipe.HGet(ctx, key, fieldLayout)
		}
	})
	if err != nil {
		return nil, storeError("read meta:", err)
	}
	found := make([]int, len(keys))
	for i, key := range keys {
		text, err := recorded[i].Result()
		switch {
		case errors.Is(err, redis.Nil) && key == untagged.meta() && len(keys) == 1:
			keys, err := r.client.DBSize(ctx).Result()
			if err != nil {
				return nil, storeError("count the keys", err)
			}
			if found[i] = r.lastLayout(); keys > 0 {
				found[i] = 0
			}
		case errors.Is(err, redis.Nil):
			found[i] = r.lastLayout()
		default:
			if found[i], err = strconv.Atoi(text); err != nil || found[i] < 0 {
				return nil, fmt.Errorf("%s: the data has layout %s, this program needs %d", key, text, r.lastLayout())
			}
			if found[i] > r.lastLayout() {
				return nil, fmt.Errorf("%s: the data has layout %d, this program needs %d: use the version of Frontpage that the data was upgraded for, or a newer one", key, found[i], r.lastLayout())
			}
		}
	}
	return found, nil
}

// upgradeLayout brings the data to the newest layout. meta: of a partition records each step when it is done, so a start
// that was interrupted goes on with the partition that it was at.
func (r *Repo) upgradeLayout(ctx context.Context) error {
	found, err := r.layouts(ctx)
	if err != nil {
		return err
	}
	if pending := r.pendingUpgrades(found); pending != nil && r.keepRules {
		return fmt.Errorf("the data has layout %d, and a start of the server with this version would %s; a command does not do that: "+
			"start the server first, or use the version of Frontpage that the data is for", slices.Min(found), strings.Join(pending, ", "))
	}
	for from := slices.Min(found); from < r.lastLayout(); from++ {
		if err := r.mustBeAlone(ctx, from); err != nil {
			return err
		}
		step := r.upgrades[from]
		for i, layout := range found {
			if layout != from {
				continue
			}
			p := untagged // the record
			if i < len(r.partitions) {
				p = r.partitions[i]
				r.onProgress(fmt.Sprintf("upgrading the layout from %d to %d: %s", from, from+1, step.what), i, len(r.partitions))
				if err := step.run(r, ctx, p); err != nil {
					return storeError(step.what, err)
				}
			}
			found[i]++
			if _, err := r.run(ctx, layoutScript, []string{p.meta()}, []any{found[i]}); err != nil {
				return storeError("write "+p.meta(), err)
			}
		}
	}
	return nil
}

// mustBeAlone returns an error if a process serves the site with its present layout: it would go on to write that. Legacy
// clients know of no layout.
func (r *Repo) mustBeAlone(ctx context.Context, layout int) error {
	if layout == 0 {
		return nil
	}
	n, err := r.listeners(ctx)
	if err != nil {
		return storeError("count the processes of the site", err)
	}
	if n > 0 {
		return fmt.Errorf("the data has layout %d, this program needs %d, and %d processes of the site still run: stop them, and start this version again", layout, r.lastLayout(), n)
	}
	return nil
}

// pendingUpgrades returns what has to be done with data of these layouts.
func (r *Repo) pendingUpgrades(found []int) (pending []string) {
	for from := slices.Min(found); from < r.lastLayout(); from++ {
		pending = append(pending, fmt.Sprintf("upgrade the layout from %d to %d: %s", from, from+1, r.upgrades[from].what))
	}
	return pending
}

// Pending returns what New would do to the data of a store before it opens the site: upgrades of the layout, and
// re-ranking under changed rules. It changes nothing.
func Pending(ctx context.Context, client redis.UniversalClient, rules Rules, options ...Option) (pending []string, err error) {
	r, err := newRepo(ctx, client, rules, options...)
	if err != nil {
		return nil, err
	}
	if r.incomplete {
		return nil, ErrIncomplete
	}
	found, err := r.layouts(ctx)
	if err != nil {
		return nil, err
	}
	pending = r.pendingUpgrades(found)
	steps, err := r.featureSteps(ctx)
	if err != nil {
		return nil, storeError("read the rules", err)
	}
	for _, f := range features() {
		if text := pendingSteps(f, steps); text != "" {
			pending = append(pending, text)
		}
	}
	_, changed, err := r.outdated(ctx)
	if err != nil {
		return nil, storeError("read the rules", err)
	}
	for _, change := range changed {
		pending = append(pending, "re-rank all articles: "+change)
	}
	return pending, nil
}
