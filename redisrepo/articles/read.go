package articles

import (
	"context"
	"errors"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// ArticlesByID reads articles in one round trip. Both results have one element for each id, in order.
// The error for an article that does not exist is a Refusal with NotFound, and for a deleted one a site.Deleted.
func (r *Articles) ArticlesByID(ctx context.Context, ids []site.ArticleID) ([]*site.Article, []error) {
	articles, errs := r.ReadArticles(ctx, ids)
	for i, a := range articles {
		if a != nil && a.DeletedAt != nil {
			articles[i], errs[i] = nil, site.Deleted{Article: a}
		}
	}
	return articles, errs
}

// ReadArticles is ArticlesByID including deleted articles. The articles share memory: to keep one of them, keep
// a Clone.
func (r *Articles) ReadArticles(ctx context.Context, ids []site.ArticleID) ([]*site.Article, []error) {
	articles, errs := make([]*site.Article, len(ids)), make([]error, len(ids))
	replies := r.readHashes(ctx, ids)
	found, unclear := make([]Decoded, len(ids)), []int(nil)
	for i, id := range ids {
		raw, err := replies[i].Result()
		if err != nil {
			errs[i] = failover.Wrap("read "+id.String(), err)
			continue
		}
		h, fields, ok := ParseHash(unsafe.String(unsafe.SliceData(raw), len(raw))) // #nosec G103 -- nothing writes to it now
		if !ok {
			unclear = append(unclear, i)
			continue
		}
		articles[i], errs[i] = r.ObserveHash(id, h, fields, &found[i])
	}
	if len(unclear) > 0 {
		r.readAgain(ctx, ids, unclear, articles, errs)
	}
	return articles, errs
}

// Unanswered returns the first error of a read to which the store gave no answer, or nil. It ignores articles that do
// not exist or cannot be decoded.
func Unanswered(errs []error) error {
	for _, err := range errs {
		if errors.Is(err, failover.ErrUnavailable) {
			return err
		}
	}
	return nil
}

// readHashes reads the hashes of articles as raw replies. Every command has its own error: a lost connection fails all
// of them. A raw reply may be an error of Redis.
func (r *Articles) readHashes(ctx context.Context, ids []site.ArticleID) []*redis.RawCmd {
	replies, commands := make([]*redis.RawCmd, len(ids)), make([]redis.Cmder, len(ids))
	keys, args := r.articleKeys(ids), make([]any, 2*len(ids))
	for i := range ids {
		args[2*i], args[2*i+1] = "hgetall", &keys[i]
		replies[i] = redis.NewRawCmd(ctx, args[2*i:2*i+2:2*i+2]...)
		commands[i] = replies[i]
	}
	_ = r.store.Read(ctx, func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, commands...) })
	return replies
}

// articleKeys returns the keys of the articles' hashes, which are parts of one string.
func (r *Articles) articleKeys(ids []site.ArticleID) []string {
	keys, ends, all := make([]string, len(ids)), make([]int, len(ids)), make([]byte, 0, 24*len(ids))
	for i, id := range ids {
		all = r.store.Partition(id).AppendArticle(all, id)
		ends[i] = len(all)
	}
	text, start := string(all), 0
	for i, end := range ends {
		keys[i], start = text[start:end], end
	}
	return keys
}

// readAgain reads the articles at some indexes by commands whose replies go-redis decodes: it knows errors, which of
// them are worth repeating, and redirections.
func (r *Articles) readAgain(ctx context.Context, ids []site.ArticleID, indexes []int, articles []*site.Article, errs []error) {
	hashes, _ := wire.ReadEach(ctx, r.store, indexes, func(pipe redis.Pipeliner, i int) *redis.MapStringStringCmd {
		return pipe.HGetAll(ctx, r.store.Partition(ids[i]).Article(ids[i]))
	})
	for j, i := range indexes {
		fields, err := hashes[j].Result()
		if err != nil {
			errs[i] = failover.Wrap("read "+ids[i].String(), err)
			continue
		}
		articles[i], errs[i] = r.ObserveHash(ids[i], HashOf(fields), len(fields), new(Decoded))
	}
}

// ObserveHash decodes and observes a hash. If it has no fields, the article does not exist, and the Refusal is
// NotFound. The same applies to an article that a legacy client has just posted, whose hash does not list its groups.
func (r *Articles) ObserveHash(id site.ArticleID, h Hash, fields int, a *Decoded) (*site.Article, error) {
	if fields == 0 || !h.Grouped {
		return nil, site.NoArticle(id)
	}
	return r.observe(id, h, a)
}

// ArticleCounts returns the number of articles in each group, in one round trip; 0 for an empty group.
func (r *Articles) ArticleCounts(ctx context.Context, names []site.GroupName) ([]int, error) {
	cards := make([]*redis.IntCmd, 0, len(names)*len(r.store.Partitions))
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for _, name := range names {
			for _, p := range r.store.Partitions {
				cards = append(cards, pipe.SCard(ctx, p.Group(name)))
			}
		}
	})
	if err != nil {
		return nil, failover.Wrap("count articles", err)
	}
	counts := make([]int, len(names))
	for i, card := range cards {
		counts[i/len(r.store.Partitions)] += int(card.Val())
	}
	return counts, nil
}

// groupsCacheSize is the number of articles whose groups a Repo caches.
const groupsCacheSize = 10_000
