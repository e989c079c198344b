package redisrepo

import (
	"context"
	"slices"
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

// WithClock sets the clock of posting times and of the end of voting. The default is the clock of the Redis server,
// which all processes share.
func WithClock(now func() time.Time) Option {
	return func(o *opening) { o.store.Clock = now }
}

// WithReports sets how notices of illegal content are kept. By default the site accepts none.
func WithReports(options reports.Options) Option {
	return func(o *opening) { o.reports = options }
}

// WithWebhooks sets how webhooks are kept. By default the site has none.
func WithWebhooks(options webhooks.Options) Option {
	return func(o *opening) { o.webhooks = options }
}

// WithSearch sets what the site searches, and the memory of the index. By default the site has no search.
func WithSearch(options search.Options) Option {
	return func(o *opening) { o.search = options }
}

// WithDeletedTexts sets how long after the deletion of an article its title, text, link and earlier versions are erased by
// Retention. The default, 0, is never.
func WithDeletedTexts(kept time.Duration) Option {
	return func(o *opening) { o.deletedTexts = kept }
}

// WithNewUserAge sets for how long users are new, see NewUntil. With the default, 0, none are.
func WithNewUserAge(age time.Duration) Option {
	return func(o *opening) { o.newUserAge = age }
}

// WithAcks makes a write return only after n replicas of its primary have received it; otherwise it fails with
// ErrUnavailable and may have taken effect. So a failover loses no write that has returned. While a primary has fewer
// than n healthy replicas, a write waits for these only: then a second failure can lose writes. Each write takes one
// more round trip, between primary and replica.
//
// New adds hooks to the client: open only one Repo with each client.
func WithAcks(n int) Option {
	return func(o *opening) { o.store.Acks = n }
}

// OnProgress sets a function that New calls after each batch while it prepares a store, which it does for a new store
// and after a change of rules. The total is an estimate if the store changes meanwhile.
func OnProgress(f func(step string, done, total int)) Option {
	return func(o *opening) { o.OnProgress = f }
}

// WithPartitions spreads the articles of a new site by number over n partitions, which is 1, 2, 4 and so on up to
// MaxPartitions. The number belongs to the data: New returns a *PartitionsError if the site in the store has another
// one. 0, the default, stands for the number of the store; a new site then has 1, in a Redis Cluster 16.
func WithPartitions(n int) Option {
	return func(o *opening) { o.store.Partitions = n }
}

// OnRerank sets a function that New calls before it re-ranks all articles, with the changed rules as text.
func OnRerank(f func(changes string)) Option {
	return func(o *opening) { o.OnRerank = f }
}

// KeepRules makes New fail if the rules differ from those of the data, or if the data has an older layout. It is for
// programs that run beside the server, which must neither re-rank its articles because of other settings, nor lock out
// an older server by an upgrade.
func KeepRules() Option {
	return func(o *opening) { o.store.KeepRules = true }
}

// WithLargeGroups has one command build the listings of groups of at most mostSmall articles, and each step of a larger one add
// about step articles. Tests set it, and the next two.
func WithLargeGroups(mostSmall, step int) Option {
	return func(o *opening) { o.mostSmall, o.gatherStep = mostSmall, step }
}

// WithStep has each step of reading a ranking look at so many members.
func WithStep(members int) Option { return func(o *opening) { o.stepLooked = members } }

// WithUpgrade adds an upgrade after the real ones.
func WithUpgrade(u layout.Upgrade) Option {
	return func(o *opening) { o.Upgrades = append(slices.Clip(o.Upgrades), u) }
}

// Pending describes what New would do to the data of a store: upgrades of the layout, and re-ranking under changed
// rules. It changes nothing.
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
