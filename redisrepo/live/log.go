package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

const (
	// watchInterval is the minimum time between two notifications about one article.
	watchInterval = 250 * time.Millisecond
	// gatherPause is how long notifyWatches waits for further changes, so that one pipeline reads them all.
	gatherPause = 20 * time.Millisecond
	// readPause is the minimum time between two reads of the logs, and between two messages of a process.
	readPause = 20 * time.Millisecond
	// pollPause is how long a change may stay unnoticed whose message was lost.
	pollPause = time.Second
	// retryPause is the pause before what failed is tried again.
	retryPause = 100 * time.Millisecond
	// mostRead is how many entries of a log are read at once.
	mostRead = 500
	// recentPosts is how many of the newest articles are looked at to know which ones are not new.
	recentPosts = 100
)

// logReader is how far a process has read the log of a partition, whose last entry is at. It is known as long as
// something is watched.
type logReader struct {
	known bool
	epoch string              // of the store in which it was read
	at    events.FeedPosition // the zero value: before the first entry
	end   string              // id of the last entry that was seen, also while nothing is watched
	due   atomic.Bool         // it may have more
	doubt atomic.Bool         // the connection was lost: what replies told of the partition may be lost without a trace in the log
}

// logs are the logs of all partitions. The mutex is held during reads, which are impatient.
type logs struct {
	mu   sync.Mutex
	all  []logReader
	wake chan struct{} // has a value if one is due

	report  func(error) // of Listen; nil: it does not run
	failing [2]bool     // looking, and reading
}

// Listen reads the logs and notifies watches, until ctx ends. Processes announce on one channel which partitions they
// have changed, and each also polls once a second. While nothing is watched, no entries are read. report gets a lasting
// failure once.
func (r *Live) Listen(ctx context.Context, report func(error)) {
	ctx = failover.Impatient(ctx) // it repeats its calls itself
	r.logs.mu.Lock()
	r.logs.report = report
	r.logs.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() { r.receive(ctx) })
	all.Go(func() { r.poll(ctx) })
	all.Go(func() { r.followLogs(ctx) })
	all.Go(func() { r.followEvents(ctx) })
	r.notifyWatches(ctx, report)
	all.Wait()
}

// receive has the logs read of which other processes tell.
func (r *Live) receive(ctx context.Context) {
	subscription := r.store.Client.Subscribe(ctx, keys.ChangesChannel(r.store.Database))
	defer func() { _ = subscription.Close() }()
	messages := subscription.ChannelWithSubscriptions()
	for first := true; ; {
		select {
		case <-ctx.Done():
			return
		case message, open := <-messages:
			if !open {
				return
			}
			m, ok := message.(*redis.Message)
			if !ok { // subscribed
				for i := range r.logs.all {
					if !first {
						r.logs.all[i].doubt.Store(true)
					}
				}
				first = false
				continue
			}
			if sender, indexes := r.parseMessage(m.Payload); sender != r.id {
				r.store.Changes.Add(1)
				r.markDue(indexes...)
			}
		}
	}
}

// parseMessage returns who sent a message, and the partitions that it names; if it is no such message, all.
func (r *Live) parseMessage(text string) (sender string, indexes []int) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return "", r.every
	}
	for _, word := range words[1:] {
		i, err := strconv.Atoi(word)
		if err != nil || i < 0 || i >= len(r.logs.all) {
			return "", r.every
		}
		indexes = append(indexes, i)
	}
	return words[0], indexes
}

// markDue has the logs of partitions read soon.
func (r *Live) markDue(indexes ...int) {
	for _, i := range indexes {
		r.logs.all[i].due.Store(true)
	}
	wake(r.live.feedWake)
	wake(r.logs.wake)
}

// announcer tells other processes which partitions this one has changed.
type announcer struct {
	mu      sync.Mutex
	changed map[int]bool // not told yet; nil: no message is on its way
	last    time.Time
}

// announce takes note that this process has changed a partition.
func (r *Live) announce(index int) {
	r.markDue(index)
	a := &r.announcer
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = map[int]bool{}
		time.AfterFunc(max(0, readPause-time.Since(a.last)), r.tell)
	}
	a.changed[index] = true
}

// tell sends the message. A lost one costs the others a second.
func (r *Live) tell() {
	a := &r.announcer
	a.mu.Lock()
	text := []byte(r.id)
	for index := range a.changed {
		text = strconv.AppendInt(append(text, ' '), int64(index), 10)
	}
	a.changed = map[int]bool{}
	a.mu.Unlock()
	_ = r.store.Client.Publish(failover.Impatient(context.Background()), keys.ChangesChannel(r.store.Database), text).Err()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last = time.Now(); len(a.changed) == 0 {
		a.changed = nil
	} else {
		time.AfterFunc(readPause, r.tell)
	}
}

// followLogs reads the logs that are due until ctx ends. While nothing is watched, they wait.
func (r *Live) followLogs(ctx context.Context) {
	for pause := readPause; ; failover.Wait(ctx, pause) {
		select {
		case <-ctx.Done():
			return
		case <-r.logs.wake:
		}
		if !r.live.isWatched() {
			continue
		}
		r.logs.mu.Lock()
		err := errors.Join(r.startReading(ctx), r.readLogs(ctx))
		leavesOut := false // what fails until a look succeeds
		for i := range r.logs.all {
			leavesOut = leavesOut || r.logs.all[i].doubt.Load()
		}
		if err != nil || !leavesOut {
			r.logs.note(ctx, 1, err)
		}
		r.logs.mu.Unlock()
		if pause = readPause; err != nil {
			pause = retryPause
		}
	}
}

// poll looks for changes of which no message came until ctx ends.
func (r *Live) poll(ctx context.Context) {
	for pause := retryPause; ctx.Err() == nil; failover.Wait(ctx, pause) {
		err := r.look(ctx)
		r.logs.mu.Lock()
		r.logs.note(ctx, 0, err)
		r.logs.mu.Unlock()
		if pause = min(2*pause, pollPause); err == nil {
			pause = pollPause
		}
	}
}

// note reports a failure of looking (0) or reading (1), unless one lasts already. The caller holds the mutex.
func (l *logs) note(ctx context.Context, doing int, err error) {
	if err != nil && ctx.Err() == nil && !l.failing[0] && !l.failing[1] {
		l.report(failover.Wrap("follow the log", err))
	}
	l.failing[doing] = err != nil
}

// isWatched reports whether articles or posts are watched. Watches of events read the feed themselves.
func (l *live) isWatched() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.topics)+len(l.postWatches) > 0
}

// look finds partitions that went back in time, and logs with another end than the last one that was seen. It holds no mutex
// while it waits: one partition that hangs delays no others.
func (r *Live) look(ctx context.Context) error {
	histories, ends := make([]historyReply, len(r.logs.all)), make([]*redis.XMessageSliceCmd, len(r.logs.all))
	failed := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			histories[i], ends[i] = r.queueHistory(ctx, pipe, i), pipe.XRevRangeN(ctx, p.Events(), "+", "-", 1)
		}
	})
	lost := int64(0)
	for i := range r.logs.all {
		log := &r.logs.all[i]
		err := errors.Join(histories[i].err(), ends[i].Err())
		if err == nil {
			err = unlessRefused(r.compareHistory(ctx, i, histories[i]))
		}
		if err != nil {
			log.doubt.Store(true)
			failed, lost = err, lost+1
			continue
		}
		if log.doubt.Swap(false) {
			r.forget(i)
			r.markDue(i)
		}
		r.logs.mu.Lock()
		if end := lastID(ends[i].Val()); end != log.end {
			log.end = end
			r.store.Changes.Add(1)
			r.markDue(i)
		}
		log.known = log.known && r.live.isWatched()
		r.logs.mu.Unlock()
	}
	r.live.lost.Store(lost)
	return failed
}

// unlessRefused returns nil for an error of a store that refuses writes: an empty one cannot get what it needs now, and the
// next look tries again.
func unlessRefused(err error) error {
	if errors.Is(err, failover.ErrReadOnly) || errors.Is(err, failover.ErrDenied) {
		return nil
	}
	return err
}

// lastID returns the id of the last entry, empty without one.
func lastID(messages []redis.XMessage) string {
	if len(messages) == 0 {
		return ""
	}
	return messages[len(messages)-1].ID
}

// beginReading has the logs of partitions read from now on, and waits for them as calls of a request do.
func (r *Live) beginReading(ctx context.Context, indexes []int) error {
	for first := true; ; first = false {
		r.logs.mu.Lock()
		err := r.startReading(ctx)
		isUnknown := slices.ContainsFunc(indexes, func(i int) bool { return !r.logs.all[i].known })
		r.logs.mu.Unlock()
		if !isUnknown {
			return nil
		} else if !first {
			return err
		}
		_ = r.store.Read(ctx, func(pipe redis.Pipeliner) { // which outlasts a failover
			for _, i := range indexes {
				pipe.Exists(ctx, r.store.Partitions[i].Meta())
			}
		})
	}
}

// startReading has the logs read from their present ends on, unless they are read already. Then the articles in the store
// are not new: each end is read first, so that an article which comes between is not new either. The caller holds logs.mu.
func (r *Live) startReading(ctx context.Context) error {
	ctx = failover.Impatient(ctx)
	var unknown []int
	for i := range r.logs.all {
		if !r.logs.all[i].known {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	ends, newest := make([]*redis.XMessageSliceCmd, len(unknown)), make([]*redis.ZSliceCmd, len(unknown))
	failed := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for k, i := range unknown {
			p := r.store.Partitions[i]
			ends[k] = pipe.XRevRangeN(ctx, p.Events(), "+", "-", 1)
			newest[k] = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: p.Ranking(site.ByTime), Start: 0, Stop: recentPosts - 1, Rev: true})
		}
	})
	for k, i := range unknown {
		err := errors.Join(ends[k].Err(), newest[k].Err())
		if err == nil {
			err = r.startPosts(ctx, i, newest[k].Val())
		}
		var at events.FeedPosition
		if found := ends[k].Val(); err == nil && len(found) > 0 {
			at, err = r.log.PositionAfter(ctx, found[0], i)
		}
		if err != nil {
			failed = err
			continue
		}
		r.goOn(at, lastID(ends[k].Val()), i)
	}
	if failed != nil {
		return failover.Wrap("look for the newest articles", failed)
	}
	return nil
}

// goOn has a log read after a position, which is that of its last entry.
func (r *Live) goOn(at events.FeedPosition, end string, index int) {
	l := &r.logs.all[index]
	l.known, l.epoch, l.at, l.end = true, r.Histories[index].epoch(), at, end
	wake(r.live.feedWake)
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
	r.live.places[index] = place{}
	for _, z := range found {
		if id, ok := lists.ArticleOf(z); ok {
			r.live.places[index].add(id, site.SecondOf(z.Score))
		}
	}
	return nil
}

// readLogs reads the logs that are due, and passes on what they tell; what falls due meanwhile waits for the next call. An
// event that this process has read and that is gone shows that the store went back, or that the log was trimmed meanwhile:
// what is watched is read then. The caller holds logs.mu.
func (r *Live) readLogs(ctx context.Context) error {
	ctx = failover.Impatient(ctx)
	var due, long []int
	for i := range r.logs.all {
		if log := &r.logs.all[i]; log.known && !log.doubt.Load() && log.due.Swap(false) {
			due = append(due, i)
		}
	}
	for ; len(due) > 0; due, long = long, nil {
		replies, err := wire.ReadEach(ctx, r.store, due, func(pipe redis.Pipeliner, i int) *redis.XMessageSliceCmd {
			return pipe.XRangeN(ctx, r.store.Partitions[i].Events(), r.logs.all[i].at.First(), "+", mostRead)
		})
		for k, i := range due {
			log, found := &r.logs.all[i], replies[k].Val()
			if replies[k].Err() != nil {
				log.doubt.Store(true) // it is read after the next look that succeeds
				continue
			}
			found, isThere := log.at.Rest(found)
			if before, ok := log.at.WithoutHidden(); !isThere && ok {
				log.at, long = before, append(long, i)
				continue
			}
			if !isThere {
				if gapErr := r.passGap(ctx, i); gapErr != nil {
					r.markDue(i)
					err = gapErr
				}
				continue
			}
			for _, m := range found {
				if err := r.handleEntry(m, i); err != nil && r.logs.report != nil {
					r.logs.report(err)
				}
			}
			if len(found) > 0 {
				r.goOn(log.at.PositionAfter(found, i), lastID(found), i)
			}
			if len(found) >= mostRead-1 {
				long = append(long, i)
			}
		}
		if err != nil {
			r.markDue(long...)
			return err
		}
	}
	return nil
}

// passGap goes on at the end of a log that does not have the last entry that was read, and in another store at its beginning.
func (r *Live) passGap(ctx context.Context, index int) error {
	if err := unlessRefused(r.CheckHistory(ctx, index)); err != nil {
		return err
	}
	r.forget(index)
	log := &r.logs.all[index]
	if r.Histories[index].epoch() != log.epoch {
		r.goOn(events.FeedPosition{}, "", index)
		r.markDue(index)
		return nil
	}
	log.known = false
	defer r.live.postsMissed()
	return r.startReading(ctx)
}

// Entry is an entry of the log with the state of its article.
type Entry struct {
	wire.Entry
	State    articles.State
	postedAt float64
}

// ParseEntry parses an entry of the log.
func ParseEntry(m redis.XMessage) (e Entry, err error) {
	if e.Entry, err = wire.EntryOf(m); err != nil {
		return e, err
	}
	var errs [5]error
	e.State.Revision, errs[0] = strconv.ParseInt(e.Revision, 10, 64)
	e.State.Votes, errs[1] = site.ParseNumber(e.Votes)
	e.State.Downvotes, errs[2] = site.ParseNumber(e.Downvotes)
	e.State.Groups = e.Groups
	e.postedAt, errs[3] = site.ParseNumber(e.Time)
	if e.Kind == site.KindDeleted {
		e.State.Deleted, errs[4] = articles.ParseDeletion(e.At, site.UserName(e.By).Member())
	}
	if err := errors.Join(errs[:]...); err != nil {
		return e, fmt.Errorf("an entry of the log about article %q: %w", e.Article.Number(), err)
	}
	return e, nil
}

// handleEntry passes an entry of a partition's log on to the watches.
func (r *Live) handleEntry(m redis.XMessage, index int) error {
	e, err := ParseEntry(m)
	if err != nil {
		return err
	}
	r.store.Changes.Add(1)
	r.live.count(e.Kind)
	switch e.Kind {
	case site.KindPosted:
		r.live.announcePost(index, e)
	case site.KindVoted, site.KindVoided, site.KindRegrouped, site.KindDeleted, site.KindUndeleted:
		r.applyChange(e)
	case string(events.EventMilestone): // the entry of its vote says all
	case site.KindFlagged, site.KindSettled: // the article is the same
	default:
		r.live.markStale(e.Article)
	}
	return nil
}
