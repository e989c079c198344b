package redisrepo

import (
	"context"
	"unsafe"

	"github.com/redis/go-redis/v9"
)

// ArticlesByID reads articles in one round trip. Both results have one element for each id, in order.
// The error for an article that does not exist or is deleted is a Refusal with NotFound.
func (r *Repo) ArticlesByID(ctx context.Context, ids []ArticleID) ([]*Article, []error) {
	articles, errs := r.readArticles(ctx, ids)
	for i, a := range articles {
		if a != nil && a.DeletedAt != nil {
			articles[i], errs[i] = nil, noArticle(a.ID)
		}
	}
	return articles, errs
}

// readArticles is ArticlesByID including deleted articles. What it reads shares its memory: keep a clone of an article,
// not the article.
func (r *Repo) readArticles(ctx context.Context, ids []ArticleID) ([]*Article, []error) {
	articles, errs := make([]*Article, len(ids)), make([]error, len(ids))
	replies := r.readHashes(ctx, ids)
	found, unclear := make([]decoded, len(ids)), []int(nil)
	for i, id := range ids {
		raw, err := replies[i].Result()
		if err != nil {
			errs[i] = storeError("read "+id.String(), err)
			continue
		}
		h, fields, ok := parseHash(unsafe.String(unsafe.SliceData(raw), len(raw))) // #nosec G103 -- nothing writes to it now
		if !ok {
			unclear = append(unclear, i)
			continue
		}
		articles[i], errs[i] = r.observeHash(id, h, fields, &found[i])
	}
	if len(unclear) > 0 {
		r.readAgain(ctx, ids, unclear, articles, errs)
	}
	return articles, errs
}

// readHashes reads the hashes of articles as raw replies. Every command has its own error: a lost connection fails all
// of them. A raw reply may be an error of Redis.
func (r *Repo) readHashes(ctx context.Context, ids []ArticleID) []*redis.RawCmd {
	replies, commands := make([]*redis.RawCmd, len(ids)), make([]redis.Cmder, len(ids))
	keys, args := r.articleKeys(ids), make([]any, 2*len(ids))
	for i := range ids {
		args[2*i], args[2*i+1] = "hgetall", &keys[i]
		replies[i] = redis.NewRawCmd(ctx, args[2*i:2*i+2:2*i+2]...)
		commands[i] = replies[i]
	}
	_, _ = r.pipelined(ctx, func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, commands...) })
	return replies
}

// articleKeys returns the keys of the articles' hashes, which are parts of one string.
func (r *Repo) articleKeys(ids []ArticleID) []string {
	keys, ends, all := make([]string, len(ids)), make([]int, len(ids)), make([]byte, 0, 24*len(ids))
	for i, id := range ids {
		all = r.partition(id).appendArticle(all, id)
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
func (r *Repo) readAgain(ctx context.Context, ids []ArticleID, indexes []int, articles []*Article, errs []error) {
	hashes := make([]*redis.MapStringStringCmd, len(indexes))
	_, _ = r.pipelined(ctx, func(pipe redis.Pipeliner) {
		for j, i := range indexes {
			hashes[j] = pipe.HGetAll(ctx, r.partition(ids[i]).article(ids[i]))
		}
	})
	for j, i := range indexes {
		fields, err := hashes[j].Result()
		if err != nil {
			errs[i] = storeError("read "+ids[i].String(), err)
			continue
		}
		articles[i], errs[i] = r.observeHash(ids[i], hashOf(fields), len(fields), new(decoded))
	}
}

func (r *Repo) observeHash(id ArticleID, h hash, fields int, a *decoded) (*Article, error) {
	if fields == 0 {
		return nil, noArticle(id)
	}
	return r.observe(id, h, a)
}

// ArticleCounts returns the number of articles in each group, in one round trip; 0 for an empty group.
func (r *Repo) ArticleCounts(ctx context.Context, names []GroupName) ([]int, error) {
	cards := make([]*redis.IntCmd, 0, len(names)*len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, name := range names {
			for _, p := range r.partitions {
				cards = append(cards, pipe.SCard(ctx, p.group(name)))
			}
		}
	})
	if err != nil {
		return nil, storeError("count articles", err)
	}
	counts := make([]int, len(names))
	for i, card := range cards {
		counts[i/len(r.partitions)] += int(card.Val())
	}
	return counts, nil
}

// Count returns the number of articles in a listing, in one round trip.
func (r *Repo) Count(ctx context.Context, l Listing) (int, error) {
	if l.group != "" {
		counts, err := r.ArticleCounts(ctx, []GroupName{l.group})
		if err != nil {
			return 0, err
		}
		return counts[0], nil
	}
	var cards []*redis.IntCmd
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		cards = nil
		for _, p := range r.partitions {
			cards = append(cards, pipe.ZCard(ctx, l.key(p)))
		}
	})
	if err != nil {
		return 0, storeError("count articles", err)
	}
	count := 0
	for _, card := range cards {
		count += int(card.Val())
	}
	return count, nil
}
