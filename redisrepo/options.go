package redisrepo

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/search"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/webhooks"
	"frontpage/redisrepo/wire"
)

// Option is an option of New.
type Option func(*opening)

// opening is how New opens a site.
type opening struct {
	layout.Options
	store                             wire.Options
	reports                           reports.Options
	webhooks                          webhooks.Options
	search                            search.Options
	deletedTexts                      time.Duration
	newUserAge                        time.Duration
	mostSmall, gatherStep, stepLooked int // 0: the defaults
}

// WithClock sets the clock that decides posting times and the end of voting. The default is the clock
// of the Redis server, which all processes share.
func WithClock(now func() time.Time) Option {
	return func(o *opening) { o.store.Clock = now }
}

// WithReports sets how notices of illegal content are kept. The default is that none are taken.
func WithReports(options reports.Options) Option {
	return func(o *opening) { o.reports = options }
}

// WithWebhooks sets how endpoints for events are kept. The default is that there are none.
func WithWebhooks(options webhooks.Options) Option {
	return func(o *opening) { o.webhooks = options }
}

// WithSearch says what the site searches, and in how much memory. Without it, the site has no search.
func WithSearch(options search.Options) Option {
	return func(o *opening) { o.search = options }
}

// WithDeletedTexts sets how long after the deletion of an article its title, text, link and earlier versions are erased by
// Retention. The default, 0, is never.
func WithDeletedTexts(kept time.Duration) Option {
	return func(o *opening) { o.deletedTexts = kept }
}

// WithNewUserAge sets for how long users are new, see NewUntil. The default, 0, is not at all.
func WithNewUserAge(age time.Duration) Option {
	return func(o *opening) { o.newUserAge = age }
}

// WithAcks has a write return only after n replicas of its primary have received it; if they do not, it fails
// with ErrUnavailable and may have taken effect. So a failover loses no write that has returned. While a
// primary has fewer healthy replicas it waits for those, or for none: then a second failure can lose writes.
// Each write takes longer by one round trip between primary and replica.
//
// New adds hooks to the client: open one Repo with each.
func WithAcks(n int) Option {
	return func(o *opening) { o.store.Acks = n }
}

// OnProgress sets a function that New calls while it prepares a store, after each batch: with the step, and
// how much of it is done. A store is prepared when it is first opened and when the rules have changed. The
// total is an estimate if the store is changed meanwhile.
func OnProgress(f func(step string, done, total int)) Option {
	return func(o *opening) { o.OnProgress = f }
}

// WithPartitions spreads the articles of a new site by number over n partitions, which is 1, 2, 4 and so on up to
// MaxPartitions. The number belongs to the data: New reads it from the store, and returns a *PartitionsError if the
// site there has another one. 0, the default, means what the store has; a new site then has 1, and 16 in a
// Redis Cluster.
func WithPartitions(n int) Option {
	return func(o *opening) { o.store.Partitions = n }
}

// OnRerank sets a function that New calls before it re-ranks all articles, with the changed rules as text.
func OnRerank(f func(changes string)) Option {
	return func(o *opening) { o.OnRerank = f }
}

// KeepRules makes New fail if the rules differ from those of the data, or if the data has an older layout. It is for programs
// that run beside the server: they must not re-rank its articles because they were started with other settings, nor lock an
// older server out by an upgrade.
func KeepRules() Option {
	return func(o *opening) { o.store.KeepRules = true }
}

// Pending returns what New would do to the data of a store before it opens the site: upgrades of the layout, and
// re-ranking under changed rules. It changes nothing.
func Pending(ctx context.Context, client redis.UniversalClient, rules site.Rules, options ...Option) (pending []string, err error) {
	r, err := FindComplete(ctx, client, rules, options...)
	if err != nil {
		return nil, err
	}
	found, err := r.Layout.Layouts(ctx)
	if err != nil {
		return nil, err
	}
	pending = r.Layout.PendingUpgrades(found)
	steps, err := r.Layout.FeatureSteps(ctx)
	if err != nil {
		return nil, failover.Wrap("read the rules", err)
	}
	for _, f := range layout.Features() {
		if text := layout.PendingSteps(f, steps); text != "" {
			pending = append(pending, text)
		}
	}
	_, changed, err := r.Layout.Outdated(ctx)
	if err != nil {
		return nil, failover.Wrap("read the rules", err)
	}
	for _, change := range changed {
		pending = append(pending, "re-rank all articles: "+change)
	}
	return pending, nil
}
