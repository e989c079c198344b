package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

const (
	batchSize = 200
	pause     = time.Second // between two looks at the store; a search looks as well

	// walkPause is the minimum time between two walks over all articles. Imports add articles without an event: their number shows
	// that some are missing.
	walkPause = 30 * time.Second
)

// changes are the kinds of events after which an article has other words, or is another one of the site's.
var changes = []events.EventKind{events.EventPosted, events.EventEdited, events.EventDeleted, events.EventUndeleted}

// place is how far the index has come.
type place struct {
	at      []events.FeedPosition // after the last event that was applied
	walked  time.Time
	differs bool // at the last look, the index had another number of articles than the store
}

// Follow builds the index and keeps it complete, until ctx ends. On a site without search it returns at once.
// onProgress is called while the index is built, with the number of articles read and their total; report is called
// with errors of the store.
func (s *Search) Follow(ctx context.Context, onProgress func(done, total int), report func(error)) {
	if !s.On() {
		return
	}
	ctx = failover.Impatient(ctx)
	for ctx.Err() == nil {
		if err := s.follow(ctx, onProgress); err != nil && ctx.Err() == nil {
			report(failover.Wrap("bring the index of search up to date", err))
		}
		failover.Wait(ctx, pause)
	}
}

// follow builds the index, if it has lost its place in the log, and then applies what has happened.
func (s *Search) follow(ctx context.Context, onProgress func(done, total int)) error {
	if s.place.Load() == nil {
		at, err := s.log.FeedEnd(ctx)
		if err == nil {
			err = s.walk(ctx, true, onProgress)
		}
		if err != nil {
			return err
		}
		s.place.Store(&place{at: at, walked: s.store.Now()})
	}
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	p := s.place.Load()
	if p == nil {
		return nil
	}
	articles, _, since := s.index.size()
	n, err := s.store.Sum(ctx, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd {
		return pipe.ZCount(ctx, p.Ranking(site.ByTime), strconv.Itoa(int(since)), "+inf")
	})
	missing := n != articles
	walks := missing && p.differs && s.store.Now().Sub(p.walked) >= walkPause
	if p.differs = missing; err != nil || !walks {
		return err
	}
	p.walked = s.store.Now()
	return s.walk(ctx, false, func(int, int) {})
}

// catchUp applies the events up to now.
func (s *Search) catchUp(ctx context.Context) error {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.turn.Release(1)
	p, began := s.place.Load(), s.store.Now()
	for more := p != nil; more; {
		batch, err := s.log.ReadFeed(ctx, events.FeedStart{At: p.at}, 5*batchSize)
		if err != nil {
			return err
		}
		if batch.Gap || batch.Expired != nil {
			s.place.Store(nil) // the next call of follow reads all articles
			return nil
		}
		var ids []site.ArticleID
		for _, e := range batch.Edges(changes, false) {
			ids = append(ids, e.Node.Article)
		}
		if err := s.read(ctx, ids); err != nil {
			return err
		}
		p.at, more = batch.End(), batch.More
	}
	if p != nil {
		s.through.Store(&began)
	}
	return nil
}

// walk reads all articles of the site or, unless again is set, those that the index lacks. Those that the store no longer lists
// are read, too. Events are applied meanwhile.
func (s *Search) walk(ctx context.Context, again bool, onProgress func(done, total int)) error {
	total, err := s.store.Sum(ctx, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd {
		return pipe.ZCard(ctx, p.Ranking(site.ByTime))
	})
	if err != nil {
		return err
	}
	s.done.Store(0)
	s.total.Store(int64(total))
	listed, each := map[uint32]bool{}, int64(batchSize/len(s.store.Partitions)+1)
	for start := int64(0); ; start += each { // the partitions beside each other: in the index, newer articles come later
		pages, err := wire.ReadEach(ctx, s.store, s.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.ZSliceCmd {
			return pipe.ZRangeWithScores(ctx, p.Ranking(site.ByTime), start, start+each-1)
		})
		if err != nil {
			return err
		}
		found := 0
		var ids []site.ArticleID
		for _, page := range pages {
			for _, z := range page.Val() {
				found++
				id, isArticle := site.ParseArticleID(z.Member.(string))
				if isArticle != nil {
					continue
				}
				listed[uint32(id)] = true                               // #nosec G115 -- ids have 31 bits
				if again || !s.index.has(uint32(id), second(z.Score)) { // #nosec G115
					ids = append(ids, id)
				}
			}
		}
		if found == 0 {
			break
		}
		if err := s.readInTurn(ctx, ids); err != nil {
			return err
		}
		s.done.Add(int64(found))
		onProgress(int(s.done.Load()), total)
	}
	var unlisted []site.ArticleID
	for _, number := range s.index.numbers() {
		if !listed[number] {
			unlisted = append(unlisted, site.ArticleID(number))
		}
	}
	return s.readInTurn(ctx, unlisted)
}

// second is a posting time in the index.
func second(seconds float64) uint32 { return uint32(min(max(seconds, 0), math.MaxUint32)) }

func (s *Search) readInTurn(ctx context.Context, ids []site.ArticleID) error {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.turn.Release(1)
	return s.read(ctx, ids)
}

// read puts articles into the index as they are now. The caller has the turn.
func (s *Search) read(ctx context.Context, ids []site.ArticleID) error {
	for batch := range slices.Chunk(ids, batchSize) {
		found, errs := s.articles.ArticlesByID(ctx, batch)
		if err := cmp.Or(articles.Unanswered(errs), ctx.Err()); err != nil {
			return err
		}
		for i, id := range batch {
			number, a := uint32(id), found[i] // #nosec G115 -- ids have 31 bits
			if a == nil {
				s.index.remove(number)
				continue
			}
			all := words(a.Title)
			if s.o.Texts {
				all = append(all, words(site.Value(a.Text))...)
			}
			s.index.put(number, second(a.Stored.PostedAt), all, s.o.Memory)
		}
	}
	return nil
}
