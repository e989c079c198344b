package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"
)

const (
	// watchInterval is how often watchers of one article are told of it at most.
	watchInterval = 250 * time.Millisecond
	// gather is how long news wait for others, so that one pipeline reads them all.
	gather = 20 * time.Millisecond
	// silence is after how long without a message the connection is tried.
	silence = time.Second
	// retry is the pause between two attempts to subscribe.
	retry = 100 * time.Millisecond
	// recentPosts is how many posts are looked through for those that came while
	// messages were lost.
	recentPosts = 100
)

// Listen tells watches of what the scripts publish, until ctx ends. It holds one
// subscription for each partition, however many watches there are. When it is
// lost, Listen subscribes anew and reads all that is watched, since messages may
// have been lost with it; of articles that were posted meanwhile, the 100 newest
// are found, and imported ones with them. report gets the faults, each once for
// as long as it lasts.
func (r *Repo) Listen(ctx context.Context, report func(error)) {
	var all sync.WaitGroup
	for _, p := range r.partitions {
		all.Go(func() { r.subscribe(ctx, p, report) })
	}
	r.tellWatches(ctx, report)
	all.Wait()
}

// Kinds of changes, with which messages begin. New says hello.
const (
	kindPosted    = "posted"
	kindImported  = "imported"
	kindVoted     = "voted"
	kindRegrouped = "regrouped"
	kindDeleted   = "deleted"
	kindUndeleted = "undeleted"
	hello         = "hello"
)

// mayPublish makes sure that the user of the store has the right to publish. A
// script that learned in its midst that it has not would leave a vote half done.
func (r *Repo) mayPublish(ctx context.Context) error {
	for _, p := range r.partitions {
		publish := r.client.Publish
		if p.sharded() {
			publish = r.client.SPublish
		}
		if err := publish(ctx, p.changes(r.database), hello).Err(); err != nil {
			return err
		}
	}
	return nil
}

// subscribe keeps one channel subscribed.
func (r *Repo) subscribe(ctx context.Context, p partition, report func(error)) {
	a, err := newArrivals()
	if err != nil {
		report(err)
		return
	}
	for ctx.Err() == nil {
		err := r.receive(ctx, p, a, report)
		if ctx.Err() == nil && !a.cut { // once for each time that it is cut
			a.cut = true
			report(storeError("listen to "+p.changes(r.database), err))
		}
		wait(ctx, retry)
	}
}

// receive takes messages until the connection fails.
func (r *Repo) receive(ctx context.Context, p partition, a *arrivals, report func(error)) error {
	subscribe := r.client.Subscribe
	if p.sharded() {
		subscribe = r.client.SSubscribe
	}
	subscription := subscribe(ctx, p.changes(r.database))
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() }) // what waits for messages does not look at ctx
	defer func() {
		if stop() {
			_ = subscription.Close()
		}
	}()
	asked := false
	for {
		message, err := subscription.ReceiveTimeout(ctx, silence)
		var network net.Error
		if errors.As(err, &network) && network.Timeout() && !asked {
			asked = true
			if err = subscription.Ping(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		asked = false
		switch m := message.(type) {
		case *redis.Subscription:
			r.live.lose(func(id ArticleID) bool { return r.partition(id) == p })
			if err := r.findPosts(ctx, p, a); err != nil {
				return err
			}
			a.cut = false
		case *redis.Message:
			if err := r.heard(m.Payload, a); err != nil {
				report(err)
			}
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// arrivals are the posts that are known of, so that others can be told from them.
type arrivals struct {
	known   *lru.Cache[ArticleID, struct{}]
	highest ArticleID
	begun   bool
	cut     bool // there is no connection by which to learn of more
}

func newArrivals() (*arrivals, error) {
	known, err := lru.New[ArticleID, struct{}](10 * recentPosts)
	return &arrivals{known: known}, err
}

func (a *arrivals) add(id ArticleID) (isNew bool) {
	before, _ := a.known.ContainsOrAdd(id, struct{}{})
	a.highest = max(a.highest, id)
	return !before
}

// findPosts looks for posts whose messages were lost. Whatever is there the
// first time is not new.
func (r *Repo) findPosts(ctx context.Context, p partition, a *arrivals) error {
	// What was deleted is not new when it comes back, which it may have by now.
	newest := redis.ZRangeArgs{Key: p.deleted(), Start: 0, Stop: recentPosts - 1, Rev: true}
	deleted, err := r.client.ZRangeArgs(ctx, newest).Result()
	if err != nil {
		return err
	}
	for _, member := range deleted {
		if id, err := ParseArticleID(member); err == nil {
			a.known.Add(id, struct{}{})
		}
	}
	members, err := r.client.ZRevRange(ctx, p.ranking(ByTime), 0, recentPosts-1).Result()
	if err != nil {
		return err
	}
	slices.Reverse(members)
	// Numbers rise with time, but for those that are being posted, and when an
	// article is deleted an old one comes into view.
	oldest := a.highest - ArticleID(recentPosts*len(r.partitions))
	for _, member := range members {
		id, err := ParseArticleID(member)
		if err != nil {
			continue // a foreign member
		}
		if a.add(id) && a.begun && id > oldest {
			r.live.arrived(id)
		}
	}
	a.begun = true
	return nil
}

// heard takes note of a message of tell in shared.lua.
func (r *Repo) heard(message string, a *arrivals) error {
	if message == hello {
		return nil
	}
	line, more, _ := strings.Cut(message, "\n")
	words := strings.Fields(line)
	if len(words) < 6 {
		return fmt.Errorf("a message of %d words on the channel of changes", len(words))
	}
	id, err := ParseArticleID(words[1])
	if err != nil {
		return fmt.Errorf("a message on the channel of changes: %w", err)
	}
	revision, errR := strconv.ParseInt(words[2], 10, 64)
	votes, errV := parseNumber(words[3])
	downvotes, errD := parseNumber(words[4])
	if err := errors.Join(errR, errV, errD); err != nil {
		return fmt.Errorf("a message about %v on the channel of changes: %w", id, err)
	}
	s := standing{revision: revision, votes: votes, downvotes: downvotes, groups: words[6:]}
	switch words[0] {
	case kindPosted:
		if a.add(id) {
			r.live.arrived(id)
		}
	case kindImported:
		a.add(id)
		r.live.changed(id)
	case kindVoted, kindRegrouped:
		r.moved(id, s, more)
	case kindDeleted:
		at, by, _ := strings.Cut(more, " ")
		if s.deleted, err = parseDeletion(at, by); err != nil {
			return fmt.Errorf("a message about %v on the channel of changes: %w", id, err)
		}
		r.moved(id, s, "")
	case kindUndeleted:
		a.add(id) // it is no post
		r.moved(id, s, "")
	default: // of a later version
		r.live.changed(id)
	}
	return nil
}
