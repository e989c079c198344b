package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

const (
	// watchInterval is the minimum time between two notifications about one article.
	watchInterval = 250 * time.Millisecond
	// gatherPause is how long notifyWatches waits for further changes, so that one pipeline reads them all.
	gatherPause = 20 * time.Millisecond
	// maxSilence is how long the connection may be silent before it is checked.
	maxSilence = time.Second
	// retryPause is the pause before the second attempt to subscribe. It doubles with each further one, up to
	// maxRetryPause: an attempt at a cluster that is gone dials all its nodes, for each partition.
	retryPause    = 100 * time.Millisecond
	maxRetryPause = time.Second
	// recentPosts is how many of the newest articles are searched for posts whose messages were lost.
	recentPosts = 100
)

// Listen notifies watches of the changes that the scripts publish, until ctx ends. It holds one
// subscription for each partition, however many watches there are. When a subscription is lost, it
// subscribes again and reads all watched articles, since messages may have been lost. It finds articles
// that were posted meanwhile if they are among the 100 newest, and cannot tell them from imported ones.
// report gets each failure once for as long as it lasts, however many partitions it concerns.
func (r *Live) Listen(ctx context.Context, report func(error)) {
	ctx = failover.Impatient(ctx) // it repeats its calls itself
	var all sync.WaitGroup
	for i := range r.store.Partitions {
		all.Go(func() { r.subscribe(ctx, i, report) })
	}
	all.Go(func() { r.followEvents(ctx) })
	r.notifyWatches(ctx, report)
	all.Wait()
}

// subscribe keeps the channel of a partition subscribed.
func (r *Live) subscribe(ctx context.Context, index int, report func(error)) {
	disconnected, pause := false, retryPause
	for ctx.Err() == nil {
		err := r.receive(ctx, index, report, func() {
			pause = retryPause
			if disconnected {
				disconnected = false
				r.live.lost.Add(-1)
			}
		})
		if ctx.Err() == nil && !disconnected {
			disconnected = true
			if r.live.lost.Add(1) == 1 {
				report(failover.Wrap("listen to "+r.store.Partitions[index].Changes(r.store.Database), err))
			}
		}
		failover.Wait(ctx, pause)
		pause = min(2*pause, maxRetryPause)
	}
}

// receive handles messages until the connection fails. It calls connected when it has subscribed.
func (r *Live) receive(ctx context.Context, index int, report func(error), connected func()) error {
	p, s := r.store.Partitions[index], r.seen[index]
	subscription, owns, err := r.openChannel(ctx, p)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() }) // ReceiveTimeout does not watch ctx
	defer func() {
		if stop() {
			_ = subscription.Close()
		}
	}()
	var checked time.Time
	check := func() error {
		checked = time.Now()
		return r.followHistory(ctx, index)
	}
	subscribed, pinged := false, false
	for {
		if subscribed && time.Since(checked) >= maxSilence {
			if err := check(); err != nil {
				return err
			}
		}
		message, err := subscription.ReceiveTimeout(ctx, maxSilence)
		if err != nil {
			var network net.Error
			if errors.As(err, &network) && network.Timeout() && !pinged {
				pinged = true
				if err = subscription.Ping(ctx); err == nil {
					continue
				}
			}
			if !errors.Is(failover.Class(err), failover.ErrReadOnly) { // with a full disk this is Redis' reply to a ping
				return err
			}
		}
		pinged = false
		switch m := message.(type) {
		case *redis.Subscription:
			if strings.HasSuffix(m.Kind, "unsubscribe") {
				r.reload(ctx)
				return errMoved
			}
			if err := owns(); err != nil {
				return err
			}
			r.forget(index)
			if err := check(); err != nil {
				return err
			}
			subscribed = true
			connected()
		case *redis.Message:
			if err := r.handleMessage(m.Payload, s); err != nil {
				report(err)
			}
		}
	}
}

// openChannel subscribes to the channel of a partition. In a cluster, owns returns an error if the server of the
// subscription is not, or no longer, the partition's primary: a replica accepts subscriptions, too, but messages may not
// reach it. When a primary is replaced later, it ends its subscriptions.
func (r *Live) openChannel(ctx context.Context, p keys.Partition) (subscription *redis.PubSub, owns func() error, err error) {
	channel, owns := p.Changes(r.store.Database), func() error { return nil }
	cluster, many := r.store.Client.(*redis.ClusterClient)
	switch {
	case many:
		primary, err := cluster.MasterForKey(ctx, channel)
		if err != nil {
			return nil, nil, err
		}
		return primary.SSubscribe(ctx, channel), func() error {
			err := primary.Exists(ctx, p.Meta()).Err()
			if err != nil {
				r.reload(ctx)
			}
			return err
		}, nil
	case p.Sharded():
		return r.store.Client.SSubscribe(ctx, channel), owns, nil
	default:
		return r.store.Client.Subscribe(ctx, channel), owns, nil
	}
}

// reload has the client of a cluster look for the servers again.
func (r *Live) reload(ctx context.Context) {
	if cluster, ok := r.store.Client.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}

// errMoved is the error of a subscription that Redis has ended because the partition moved to another primary.
var errMoved = fmt.Errorf("%w: the partition has moved", failover.ErrUnavailable)

// seenPosts are the articles of a partition that are not new any more. Numbers are given out again if the store
// goes back in time, so an article is known by its posting time, too.
type seenPosts struct {
	mu       sync.Mutex
	ids      *lru.Cache[site.ArticleID, seenPost]
	highest  site.ArticleID
	newest   float64 // latest posting time
	complete bool    // the articles that existed before the first watch, or before Listen, are among them

	lost, renewed int // of the history, when findPosts was last called
}

type seenPost struct {
	postedAt  float64
	deleted   bool // seen as deleted
	announced bool // by a message
}

func newSeenPosts() (*seenPosts, error) {
	ids, err := lru.New[site.ArticleID, seenPost](10 * recentPosts)
	return &seenPosts{ids: ids}, err
}

// samePost reports whether two posting times of one number belong to the same article. A message's time may be
// rounded.
func samePost(a, b float64) bool { return math.Abs(a-b) < 0.5 }

// isOther reports whether an article posted at this time is another one than the one that was seen.
func (p seenPost) isOther(postedAt float64) bool { return !samePost(p.postedAt, postedAt) }

// add adds an article that was found. It is new if its number was not seen, or belonged to another article: again.
func (s *seenPosts) add(id site.ArticleID, postedAt float64) (isNew, again bool) {
	before, seen := s.ids.Get(id)
	again = seen && before.isOther(postedAt)
	isNew = !seen || again
	if isNew || before.deleted {
		s.ids.Add(id, seenPost{postedAt: postedAt})
	}
	s.highest, s.newest = max(s.highest, id), max(s.newest, postedAt)
	return isNew, again
}

// addPosted adds an article that a message announces. Redis publishes each post once: a second message is about
// another article with the number, but an article that was found before its message came is known. A number below
// recent was given out before, too.
func (s *seenPosts) addPosted(id site.ArticleID, postedAt float64, recent site.ArticleID) (isNew, again bool) {
	before, seen := s.ids.Get(id)
	again = seen && (before.announced || before.isOther(postedAt)) || !seen && id < recent
	s.ids.Add(id, seenPost{postedAt: postedAt, announced: true})
	s.highest, s.newest = max(s.highest, id), max(s.newest, postedAt)
	return !seen || again || before.deleted, again
}

// recent is the number below which posts that overtake each other do not fall. The caller holds s.mu.
func (r *Live) recent(s *seenPosts) site.ArticleID {
	return s.highest - site.ArticleID(recentPosts*len(r.store.Partitions))
}

// forgetDeleted drops the articles that were seen as deleted: a new store has others with their numbers.
func (s *seenPosts) forgetDeleted() {
	for _, id := range s.ids.Keys() {
		if seen, _ := s.ids.Peek(id); seen.deleted {
			s.ids.Remove(id)
		}
	}
}

// knowPosts finds the articles that exist before the first watch for posts, if Listen has not yet: those that Listen
// finds after that are new, however late it subscribes.
func (r *Live) knowPosts(ctx context.Context) error {
	for i, s := range r.seen {
		s.mu.Lock()
		var err error
		if !s.complete {
			err = r.findPosts(ctx, i)
		}
		s.mu.Unlock()
		if err != nil {
			return failover.Wrap("look for the newest articles", err)
		}
	}
	return nil
}

// findPosts announces posts whose messages were lost. What it finds the first time is not new. The caller holds s.mu.
func (r *Live) findPosts(ctx context.Context, index int) error {
	p, s, announced := r.store.Partitions[index], r.seen[index], 0
	if err := r.findDeleted(ctx, index); err != nil {
		return err
	}
	found, err := r.newest(ctx, p.Ranking(site.ByTime))
	if err != nil {
		return err
	}
	drawn, err := r.lastDrawn(ctx, index)
	if err != nil {
		return err
	}
	slices.Reverse(found)
	// Numbers rise with time, except those of posts that overtake each other, and after the store went back in
	// time or its clock was set back. Older articles come into view after deletions, and are not new.
	oldest, newest := r.recent(s), s.newest
	for _, z := range append(drawn, found...) {
		id, ok := lists.ArticleOf(z)
		if !ok {
			continue
		}
		if isNew, again := s.add(id, z.Score); isNew && s.complete && (id > oldest || z.Score > newest) {
			r.live.announcePost(index, id, z.Score, again)
			announced++
		}
	}
	switch {
	case !s.complete:
		s.complete = true
		return r.startPosts(ctx, index, found)
	case announced >= recentPosts:
		r.live.postsMissed()
	}
	return nil
}

// findDeleted notes the articles that were deleted last: they are not new when they are undeleted, which may have happened
// when the others are read. The caller holds the mutex of seenPosts.
func (r *Live) findDeleted(ctx context.Context, index int) error {
	p, s := r.store.Partitions[index], r.seen[index]
	deleted, err := r.newest(ctx, p.Deleted())
	if err != nil {
		return err
	}
	posted := map[site.ArticleID]*redis.StringCmd{}
	err = r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for _, z := range deleted {
			if id, ok := lists.ArticleOf(z); ok && !s.ids.Contains(id) {
				posted[id] = pipe.HGet(ctx, p.Article(id), site.FieldTime)
			}
		}
	})
	if err != nil {
		return err
	}
	for id, text := range posted {
		if postedAt, err := site.ParseNumber(text.Val()); err == nil {
			s.ids.Add(id, seenPost{postedAt: postedAt, deleted: true})
		}
	}
	return nil
}

// lastDrawn returns the articles of the recentPosts highest numbers with their posting times, as far as they exist: after the
// clock was set back they are not those with the latest times. Those posted more than a day before the newest are imports.
func (r *Live) lastDrawn(ctx context.Context, index int) (found []redis.Z, err error) {
	p, newest := r.store.Partitions[index], r.seen[index].newest
	n, err := r.store.Client.Get(ctx, p.Counter()).Int64()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var members []string
	for drawn := max(1, n-recentPosts+1); drawn <= n; drawn++ {
		members = append(members, site.ArticleID(drawn*int64(len(r.store.Partitions))+int64(index)).String())
	}
	if len(members) == 0 {
		return nil, nil
	}
	times, err := r.store.Client.ZMScore(ctx, p.Ranking(site.ByTime), members...).Result()
	for i, postedAt := range times {
		if postedAt != 0 && postedAt > newest-site.Day.Seconds() { // 0: it does not exist
			found = append(found, redis.Z{Member: members[i], Score: postedAt})
		}
	}
	return found, err
}

// startPosts takes the newest articles of a partition as known to the watches for new ones.
func (r *Live) startPosts(ctx context.Context, index int, found []redis.Z) error {
	if n := len(found); n == recentPosts && site.SecondOf(found[0].Score) == site.SecondOf(found[n-1].Score) { // there may be more of the second
		second := redis.ZRangeArgs{Key: r.store.Partitions[index].Ranking(site.ByTime), Start: site.SecondOf(found[0].Score), Stop: "+inf", ByScore: true}
		var err error
		if found, err = r.store.Client.ZRangeArgsWithScores(ctx, second).Result(); err != nil {
			return err
		}
	}
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
	for _, z := range found {
		if id, ok := lists.ArticleOf(z); ok {
			r.live.places[index].add(id, site.SecondOf(z.Score))
		}
	}
	return nil
}

// newest returns the recentPosts members of the highest scores, the highest first.
func (r *Live) newest(ctx context.Context, set string) ([]redis.Z, error) {
	return r.store.Client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: set, Start: 0, Stop: recentPosts - 1, Rev: true}).Result()
}

// Message is a change as publish in publish.lua publishes it.
type Message struct {
	kind  string
	ID    site.ArticleID
	State articles.State
	score float64
	vote  string // position and voter; empty if the change is not a vote
}

// postedAt is the posting time of the message's article: its score without the votes.
func (m Message) postedAt(rules site.Rules) float64 {
	return m.score - rules.Worth(m.State.Votes)
}

// ParseMessage parses a message other than hello. It ignores what it does not know, since a later version
// may have published it.
func ParseMessage(text string) (m Message, err error) {
	line, more, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if len(words) < 6 {
		return m, fmt.Errorf("a message of %d words on the channel of changes", len(words))
	}
	m.kind = words[0]
	if m.ID, err = site.ParseArticleID(words[1]); err != nil {
		return m, fmt.Errorf("a message on the channel of changes: %w", err)
	}
	revision, errR := strconv.ParseInt(words[2], 10, 64)
	votes, errV := site.ParseNumber(words[3])
	downvotes, errD := site.ParseNumber(words[4])
	score, errS := site.ParseNumber(words[5])
	m.score = score
	m.State = articles.State{Revision: revision, Votes: votes, Downvotes: downvotes, Groups: site.GroupNames(strings.Join(words[6:], " "))}
	var errM error
	switch m.kind {
	case site.KindVoted, site.KindRegrouped:
		m.vote = more
	case site.KindDeleted:
		at, by, _ := strings.Cut(more, " ")
		m.State.Deleted, errM = articles.ParseDeletion(at, by)
	}
	if err := errors.Join(errR, errV, errD, errS, errM); err != nil {
		return m, fmt.Errorf("a message about %v on the channel of changes: %w", m.ID, err)
	}
	return m, nil
}

// handleMessage passes a message on to the watches.
func (r *Live) handleMessage(text string, s *seenPosts) error {
	if text == site.Hello {
		return nil
	}
	m, err := ParseMessage(text)
	if err != nil {
		return err
	}
	r.store.Changes.Add(1)
	r.live.feedChanged()
	r.live.received(m.kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.kind {
	case site.KindPosted:
		isNew, again := s.addPosted(m.ID, m.postedAt(r.store.Rules), r.recent(s))
		if again {
			r.live.markLost(func(id site.ArticleID) bool { return id == m.ID })
		}
		if isNew {
			r.live.announcePost(r.store.Index(m.ID), m.ID, m.postedAt(r.store.Rules), again)
		}
	case site.KindImported:
		s.add(m.ID, m.postedAt(r.store.Rules))
		r.live.markStale(m.ID)
	case site.KindVoted, site.KindRegrouped, site.KindDeleted:
		r.applyChange(m)
	case site.KindUndeleted:
		s.add(m.ID, m.postedAt(r.store.Rules)) // not a new article
		r.applyChange(m)
	default: // a kind of a later version
		r.live.markStale(m.ID)
	}
	return nil
}
