// Package layout upgrades the data of a store to this program's layout, rules and features, in steps, so that the next
// start continues an interrupted one.
package layout

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

// The scripts of upgrades, and those that a start calls.
var (
	adoptScript     = wire.Script(luaFiles, "adopt.lua")
	rerankScript    = wire.Script(luaFiles, "rerank.lua")
	OpenScript      = wire.Script(luaFiles, "open.lua")
	linkScript      = wire.Script(luaFiles, "link.lua")
	dropLinkScript  = wire.Script(luaFiles, "droplink.lua")
	buildScript     = wire.Script(luaFiles, "build.lua")
	layoutScript    = wire.Script(luaFiles, "layout.lua")
	fillCastsScript = wire.Script(luaFiles, "fillcasts.lua")
)

// Layout upgrades the data of a store to this program's layout, rules and features.
type Layout struct {
	Options
	store    *wire.Store
	articles *articles.Articles
	rankings *rankings.Rankings
	casts    *casts.Casts
	sessions *sessions.Sessions
	views    *views.Views
	upgrades map[int]upgrade
}

// Options are callbacks for progress, and upgrades that a test adds.
type Options struct {
	OnProgress func(step string, done, total int) // after each batch of a step
	OnRerank   func(changes string)               // before all articles are re-ranked
	Upgrades   []Upgrade                          // after the real ones
}

// Upgrade is an additional upgrade of the data, one partition at a time.
type Upgrade struct {
	What string
	Run  func(s *wire.Store, ctx context.Context, p keys.Partition) error
}

// New returns the Layout of a site.
func New(store *wire.Store, articles *articles.Articles, rankings *rankings.Rankings, casts *casts.Casts, sessions *sessions.Sessions, all *views.Views, o Options) *Layout {
	l := &Layout{Options: o, store: store, articles: articles, rankings: rankings, casts: casts, sessions: sessions, views: all, upgrades: upgrades}
	for _, u := range o.Upgrades {
		l.upgrades = maps.Clone(l.upgrades)
		l.upgrades[l.LastLayout()] = upgrade{u.What, l.LastLayout() + 1, func(_ *Layout, ctx context.Context, p keys.Partition) error { return u.Run(store, ctx, p) }}
	}
	return l
}

// ImportVoters is how many voters an import adds in one call.
const ImportVoters = 1000

// ErrIncomplete is the error of redisrepo.New for a store that Fill has begun to fill.
var ErrIncomplete = errors.New("this store holds an incomplete copy of a site: run the same frontpage import again to complete it, or empty the store")

// MarkIncomplete records that a store without articles is being filled from an export with the digest origin, so that
// no program opens it.
func (r *Layout) MarkIncomplete(ctx context.Context, origin string) error {
	index := keys.SiteIndex
	if r.store.Partitions[0] == keys.Untagged {
		index = 0
	}
	wanted := []any{keys.FieldPartitions, strconv.Itoa(len(r.store.Partitions)), keys.FieldIndex, strconv.Itoa(index), keys.FieldOrigin, origin}
	answer, err := r.store.Call(ctx, OpenScript, []string{keys.Untagged.Meta()}, append(wanted, keys.FieldLayout, wire.IncompleteLayout))
	if err != nil {
		return failover.Wrap("write meta:", err)
	}
	if _, err := CheckLayout(keys.Untagged.Meta(), wanted, answer); err != nil {
		return err
	}
	err = r.store.Write(ctx, func(pipe redis.Pipeliner) {
		pipe.HSet(ctx, keys.Untagged.Meta(), keys.FieldLayout, wire.IncompleteLayout)
	})
	return failover.Wrap("write meta:", err)
}

// MarkComplete records that a store has been filled, so that programs open it as a site.
func (r *Layout) MarkComplete(ctx context.Context) error {
	rules := r.RankingRules()
	if r.articles.Forgotten.Load() > 0 {
		rules[keys.FieldForgotten] = r.forgottenText()
	}
	err := r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			pipe.HSet(ctx, p.Meta(), rules)
			r.recordFeatures(ctx, pipe, p)
			OpenScript.EvalSha(ctx, pipe, []string{p.Meta()}, r.Opening(i)...)
		}
	})
	if err == nil {
		err = r.store.Write(ctx, func(pipe redis.Pipeliner) { pipe.HSet(ctx, keys.Untagged.Meta(), keys.FieldLayout, LayoutVersion) })
	}
	return failover.Wrap("write meta:", err)
}

// LastEntries returns the last entry of the moderation log of each partition.
func (r *Layout) LastEntries(ctx context.Context) (map[int]events.LogCursor, error) {
	replies, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.XMessageSliceCmd {
		return pipe.XRevRangeN(ctx, p.Moderation(), "+", "-", 1)
	})
	last := map[int]events.LogCursor{}
	for j, reply := range replies {
		for _, entry := range reply.Val() {
			last[j] = events.NewLogCursor(entry.ID, 0)
		}
	}
	return last, err
}

// SetNumbers sets the counters of all partitions so that new numbers follow highest.
func (r *Layout) SetNumbers(ctx context.Context, highest site.ArticleID) error {
	n := int64(len(r.store.Partitions))
	return r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for j, p := range r.store.Partitions {
			if last := (int64(highest) - int64(j)) / n; last > 0 {
				pipe.Set(ctx, p.Counter(), last, 0)
			}
		}
	})
}

// RecordSite writes the record of a site with tags, if it is missing. It must come before the first key of a
// partition.
func (r *Layout) RecordSite(ctx context.Context) error {
	if r.store.Partitions[0] == keys.Untagged {
		return nil
	}
	answer, err := r.store.Call(ctx, OpenScript, []string{keys.Untagged.Meta()}, r.Layout(keys.SiteIndex))
	if err != nil {
		return failover.Wrap("record the number of partitions", err)
	}
	_, err = CheckLayout(keys.Untagged.Meta(), r.Layout(keys.SiteIndex), answer)
	return err
}

// Layout returns the fields and values, in turn, that meta: of a partition must have.
func (r *Layout) Layout(index int) []any {
	return []any{keys.FieldLayout, strconv.Itoa(r.LastLayout()), keys.FieldPartitions, strconv.Itoa(len(r.store.Partitions)), keys.FieldIndex, strconv.Itoa(index)}
}

// Opening returns the arguments of open.lua for a partition: its layout, and an epoch and, for the first
// partition, a key of cursors and a UUID, in case it has none.
func (r *Layout) Opening(index int) []any {
	wanted := append(r.Layout(index), keys.FieldEpoch, rand.Text())
	if index == 0 {
		wanted = append(wanted, keys.FieldCursorKey, rand.Text(), keys.FieldUUID, uuid.NewString())
	}
	return wanted
}

// CheckLayout returns the fields in a reply of open.lua, or an error if those of layout have other values.
func CheckLayout(meta string, layout []any, answer wire.Reply) (map[string]string, error) {
	found := map[string]string{}
	if err := answer.Fields(1, func(field, value string) { found[field] = value }); err != nil {
		return nil, err
	}
	for pair := range slices.Chunk(layout, 2) {
		field, want := pair[0].(string), pair[1]
		if found[field] != want {
			return nil, fmt.Errorf("%s: the data has %s %s, this program needs %s", meta, field, found[field], want)
		}
	}
	return found, nil
}
