// Package redisrepo stores articles, votes and groups in Redis.
//
// keys.Kinds describes all kinds of keys. Each key starts with the tag of its partition, which is empty on a single
// Redis.
//
// # Legacy clients
//
// A legacy client is a program that runs the code of Redis in Action, chapter 1, on the same store. It knows the keys
// article:, article:<n>, time:, score:, voted:<n> and group:<name>, and the hash fields title, link, poster, time and
// votes. This package uses them with the same meaning, so that a legacy client can read them. It must not write while a
// process of the site runs. New takes over what it wrote before, and Layout.Adopt what it wrote since: until then such
// an article cannot be changed.
//
// # Writes
//
// Every change of an article is one Lua script, which is safe to run twice. Redis does not roll back, so a script
// checks the types of its keys before its first write. The start checks rights. Redis itself checks memory, once for
// each script.
//
// # Partitions
//
// WithPartitions spreads articles over several partitions, each of which fits on one shard of a Redis
// Cluster. Then the key meta: without a tag also exists, with the number of partitions.
package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/descriptions"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/lease"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/newcomers"
	"frontpage/redisrepo/personal"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/retention"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/search"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/voids"
	"frontpage/redisrepo/webhooks"
	"frontpage/redisrepo/wire"
)

// Repo is one site: the packages below redisrepo, and the writes of articles. It is safe for concurrent use.
// Any number of processes may use the same store.
type Repo struct {
	Store        *wire.Store
	Rates        *rates.Rates
	Sessions     *sessions.Sessions
	Denials      *denials.Denials
	Articles     *articles.Articles
	Log          *events.Log
	Views        *views.Views
	Lists        *lists.Lists
	Rankings     *rankings.Rankings
	Casts        *casts.Casts
	Voids        *voids.Voids
	Live         *live.Live
	Reports      *reports.Reports
	Personal     *personal.Personal
	Retention    *retention.Retention
	Newcomers    *newcomers.Newcomers
	Webhooks     *webhooks.Webhooks
	Descriptions *descriptions.Descriptions
	Saved        *saved.Saved
	Search       *search.Search
	Lease        *lease.Lease // of the deliveries
	Erasing      *lease.Lease // of erasures
	Layout       *layout.Layout

	Writes WriteStats

	voting *voting
}

// New opens the site in the store, or creates an empty one. It returns a *RuleError for rules that are out of bounds,
// and an error for a store whose data has a newer layout. Data with an older one is upgraded first, in steps, so that
// the next start continues an interrupted one. While the store is loading, or slow, each call waits for up to a minute.
// If the rules have changed since the store was last opened, New first re-ranks all articles; no other process should
// then use the store under the old rules.
func New(ctx context.Context, client redis.UniversalClient, rules site.Rules, options ...Option) (*Repo, error) {
	ctx = failover.Starting(ctx)
	r, err := FindComplete(ctx, client, rules, options...)
	if err != nil {
		return nil, err
	}
	if err := r.Prepare(ctx); err != nil {
		return nil, err
	}
	if err := r.checkMeta(ctx); err != nil {
		return nil, err
	}
	if err := r.Layout.ApplyRules(ctx); err != nil {
		return nil, failover.Wrap("apply the rules", err)
	}
	if err := r.Casts.OpenCasts(ctx); err != nil {
		return nil, failover.Wrap("open the histories of votes", err)
	}
	if !r.Store.KeepRules {
		_ = r.Views.CatchUp(ctx) // if it fails, reads apply what a view lacks
	}
	if err := r.Layout.AdoptNew(ctx); err != nil {
		return nil, failover.Wrap("look for what programs of the book have written", err)
	}
	if err := r.Denials.ReadDenials(ctx); err != nil {
		return nil, err
	}
	if err := r.Rankings.ReadSaved(ctx); err != nil {
		return nil, failover.Wrap("find the last front page", err)
	}
	return r, nil
}

// Prepare must be called before the first write: it sets up the confirmation of writes by replicas, loads the scripts,
// and checks the rights of the Redis user.
func (r *Repo) Prepare(ctx context.Context) error {
	if err := r.Store.ConfirmWrites(ctx); err != nil {
		return fmt.Errorf("find out who confirms writes: %w", err)
	}
	if err := r.loadScripts(ctx); err != nil {
		return failover.Wrap("load scripts", err)
	}
	if err := r.Store.CheckRights(ctx); err != nil {
		return fmt.Errorf("check the rights: %w", err)
	}
	return nil
}

// Find returns a Repo for the site in the store, or for a new one, without preparing it. It changes nothing.
func Find(ctx context.Context, client redis.UniversalClient, rules site.Rules, options ...Option) (*Repo, error) {
	if err := rules.Validate(); err != nil {
		return nil, err
	}
	o := opening{Options: layout.Options{OnProgress: func(string, int, int) {}}}
	for _, option := range options {
		option(&o)
	}
	store, err := wire.Open(ctx, client, rules, layout.FeaturesOf(rules), o.store)
	if err != nil {
		return nil, err
	}
	return assemble(store, o)
}

// FindComplete is Find, but a store that holds an incomplete copy of a site is an error.
func FindComplete(ctx context.Context, client redis.UniversalClient, rules site.Rules, options ...Option) (*Repo, error) {
	r, err := Find(ctx, client, rules, options...)
	if err == nil && r.Store.Incomplete {
		err = layout.ErrIncomplete
	}
	return r, err
}

// assemble makes the rooms of a site, each with those that it uses.
func assemble(store *wire.Store, o opening) (*Repo, error) {
	r := &Repo{Store: store, Sessions: sessions.New(store), Denials: denials.New(store), Log: events.New(store), Views: views.New(store), Reports: reports.New(store, o.reports), Retention: retention.New(store, o.deletedTexts)}
	var errs [6]error
	r.Rates, errs[0] = rates.New(store)
	r.Articles, errs[1] = articles.New(store)
	r.Lists, errs[2] = lists.New(store, r.Articles, r.Views, o.mostSmall, o.gatherStep)
	r.Rankings, errs[3] = rankings.New(store, r.Lists, r.Views, o.stepLooked)
	r.Casts = casts.New(store, r.Articles, r.Views)
	r.Newcomers, errs[5] = newcomers.New(store, r.Casts, r.Sessions, o.newUserAge)
	r.Voids = voids.New(store, r.Casts)
	r.Descriptions = descriptions.New(store)
	r.Saved = saved.New(store, r.Lists)
	r.Webhooks = webhooks.New(store, r.Log, o.webhooks)
	r.Lease, r.Erasing = lease.New(store, store.Partitions[0].Lease()), lease.New(store, store.Partitions[0].Erasing())
	r.Search = search.New(store, r.Articles, r.Log, o.search)
	r.Personal = personal.New(store, r.Articles, r.Casts, r.Views, r.Reports, r.Denials, r.Sessions, r.Voids, r.Saved)
	r.Layout = layout.New(store, r.Articles, r.Rankings, r.Casts, r.Sessions, r.Views, o.Options)
	r.voting = &voting{script: voteScript(store)}
	r.voting.calls, errs[4] = newVoteCalls()
	r.Denials.OnErased = r.forgetErased
	r.Live = live.New(store, r.Articles, r.Lists, r.Casts, r.Log, live.Hooks{OnForget: r.forget, Reopen: r.reopen})
	return r, errors.Join(errs[:]...)
}

// forget drops what this process knows of the data, which may have gone back.
func (r *Repo) forget() {
	r.Newcomers.ForgetNewcomers()
	r.voting.calls.forget()
	r.Lists.Forget()
	for i := range r.Store.Partitions {
		r.Rankings.ForgetSaved(i)
	}
}

// forgetErased drops what this process knows of users, and of articles that may have had the name of an erased user.
func (r *Repo) forgetErased() {
	r.Newcomers.ForgetNewcomers()
	r.voting.calls.forget()
	r.Store.Changes.Add(1)
}

// checkMeta upgrades the layout of the data to this program's, or records it in a new store.
func (r *Repo) checkMeta(ctx context.Context) error {
	if err := r.Layout.UpgradeLayout(ctx); err != nil {
		return err
	}
	if err := r.Layout.RecordSite(ctx); err != nil {
		return err
	}
	answers := make([]*redis.Cmd, len(r.Store.Partitions))
	err := r.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.Store.Partitions {
			answers[i] = layout.OpenScript.EvalSha(ctx, pipe, []string{p.Meta()}, r.Layout.Opening(i)...)
		}
	})
	if err != nil {
		return failover.Wrap("open the store", err)
	}
	for i, p := range r.Store.Partitions {
		answer, err := answers[i].Slice()
		if err != nil {
			return failover.Wrap("open "+p.Meta(), err)
		}
		found, err := layout.CheckLayout(p.Meta(), r.Layout.Layout(i), answer)
		if err != nil {
			return err
		}
		r.Live.Histories[i].Epoch = found[keys.FieldEpoch]
		r.Store.UseMeta(found[keys.FieldCursorKey], found[keys.FieldUUID])
	}
	return nil
}

// reopen gives a partition that lost all its data what New gives a new one, and returns its epoch.
func (r *Repo) reopen(ctx context.Context, index int) (epoch string, err error) {
	if err := r.Layout.RecordSite(ctx); err != nil { // it may have been lost, too
		return "", err
	}
	meta := r.Store.Partitions[index].Meta()
	answer, err := r.Store.Call(ctx, layout.OpenScript, []string{meta}, r.Layout.Opening(index))
	if err != nil {
		return "", failover.Wrap("open "+meta, err)
	}
	found, err := layout.CheckLayout(meta, r.Layout.Layout(index), answer)
	if err != nil {
		return "", err
	}
	if err := r.Layout.ApplyRules(ctx); err != nil { // writes them
		return "", failover.Wrap("apply the rules", err)
	}
	r.Store.UseMeta(found[keys.FieldCursorKey], found[keys.FieldUUID])
	return found[keys.FieldEpoch], nil
}

// Ready returns ErrReadOnly if the store refuses writes, and another error, usually ErrUnavailable, if it does not
// answer. The store is ready while only some shards of a cluster are down.
func (r *Repo) Ready(ctx context.Context) error {
	writes, err := r.Store.TryWrites(ctx)
	if !slices.ContainsFunc(writes, func(c redis.Cmder) bool { return c.Err() == nil }) {
		return failover.Wrap("write", err)
	}
	return r.Store.MayWrite(ctx)
}

// Serves returns an error as Ready does, but also if only some partitions do not answer or refuse writes.
func (r *Repo) Serves(ctx context.Context) error {
	if _, err := r.Store.TryWrites(ctx); err != nil {
		return failover.Wrap("write", err)
	}
	return r.Store.MayWrite(ctx)
}

// WriteStats are counters of calls since a Repo was opened. The zero value is ready to use.
type WriteStats struct{ Votes, Posts, Edits, Regroupings, Deletions, Undeletions Writes }

// Writes counts the calls of one kind by their result.
type Writes struct {
	Done      atomic.Uint64
	Unchanged atomic.Uint64 // votes that set the position that the voter had
	Refused   atomic.Uint64 // by the rules of the site
	Failed    atomic.Uint64 // they may have taken effect
}

// count counts a call.
func (w *Writes) count(changed bool, err error) {
	switch {
	case errors.As(err, new(site.Refusal)):
		w.Refused.Add(1)
	case err != nil:
		w.Failed.Add(1)
	case changed:
		w.Done.Add(1)
	default:
		w.Unchanged.Add(1)
	}
}
