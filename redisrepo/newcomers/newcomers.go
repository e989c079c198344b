// Package newcomers determines which users are new to a site.
package newcomers

import (
	"context"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// maxKnown is of how many users a process remembers since when they are there.
const maxKnown = 10_000

// Newcomers determines which users are new.
type Newcomers struct {
	store    *wire.Store
	casts    *casts.Casts
	sessions *sessions.Sessions
	age      time.Duration
	since    *lru.Cache[site.UserName, time.Time]
}

// New returns Newcomers for a site. Users are new until they reach the age; 0: no user is.
func New(store *wire.Store, casts *casts.Casts, sessions *sessions.Sessions, age time.Duration) (*Newcomers, error) {
	since, err := lru.New[site.UserName, time.Time](maxKnown)
	return &Newcomers{store, casts, sessions, age, since}, err
}

// NewUntil returns until when a user is new, UTC, or the zero time for one who is not. The age counts from created, the
// time in a token; if that is zero, from the first sign-in, or else from the first stored post or vote. Without any of
// these it counts from now. It takes at most one round trip, and none for a cached user.
func (n *Newcomers) NewUntil(ctx context.Context, user site.UserName, created time.Time) (time.Time, error) {
	if n.age == 0 {
		return time.Time{}, nil
	}
	since, now := created, n.store.Now()
	if since.IsZero() {
		var err error
		if since, err = n.firstSeen(ctx, user); err != nil {
			return time.Time{}, err
		}
		if since.IsZero() {
			since = now
		}
	}
	if until := since.Add(n.age); now.Before(until) {
		return until.UTC(), nil
	}
	return time.Time{}, nil
}

// ForgetNewcomers drops the cache.
func (n *Newcomers) ForgetNewcomers() { n.since.Purge() }

// firstSeen returns when a user first signed in, or else posted or voted; the zero time: never.
func (n *Newcomers) firstSeen(ctx context.Context, user site.UserName) (time.Time, error) {
	if since, found := n.since.Get(user); found {
		return since, nil
	}
	var owner *redis.StringCmd
	var oldest []*redis.ZSliceCmd
	seen, err := n.casts.Read(ctx, user, func(pipe redis.Pipeliner) {
		owner, oldest = pipe.Get(ctx, n.sessions.NameKey(user)), nil
		first, last := n.casts.Months()
		for _, p := range n.store.Partitions {
			oldest = append(oldest, pipe.ZRangeWithScores(ctx, p.Posted(user), 0, 0))
			for month := first; month <= last; month++ {
				oldest = append(oldest, pipe.ZRangeWithScores(ctx, p.Cast(user, month), 0, 0))
			}
		}
	})
	if err != nil {
		return time.Time{}, failover.Wrap("look since when a user is there", err)
	}
	since := sessions.SignedInAt(owner.Val())
	if since.IsZero() {
		for _, found := range oldest {
			for _, z := range found.Val() {
				seen = append(seen, site.UnixTime(z.Score))
			}
		}
		if len(seen) > 0 {
			since = slices.MinFunc(seen, time.Time.Compare)
		}
	}
	if !since.IsZero() {
		n.since.Add(user, since)
	}
	return since, nil
}
