package redisrepo

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// links checks the records of the links of some articles. Each names the newest article that has the link, and its
// posting time, or 0 if it is free because that article was deleted.
func (c *checker) links(ctx context.Context, p partition, batch []facts) error {
	var keys []string
	var articles []facts
	for _, f := range batch {
		if link := f.hash.Val()[fieldLink]; link != "" {
			keys, articles = append(keys, c.linkRecord(link)), append(articles, f)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	records := make([]*redis.StringCmd, len(keys))
	_, _ = c.pipelined(ctx, func(pipe redis.Pipeliner) { // the commands have the errors
		for i, key := range keys {
			records[i] = pipe.Get(ctx, key)
		}
	})
	named := make([]*redis.SliceCmd, len(keys))
	_, _ = c.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, record := range records {
			id, _, _ := parseLinkRecord(record.Val())
			named[i] = pipe.HMGet(ctx, c.Repo.partition(id).article(id), fieldLink, fieldTime, fieldDeleted)
		}
	})
	for i, f := range articles {
		key := c.Repo.partition(f.id).article(f.id)
		if err := c.wrongType(key, named[i].Err()); err != nil {
			return err
		}
		if err := c.link(p, keys[i], f, records[i], named[i].Val()); err != nil {
			return err
		}
	}
	return nil
}

// link checks the record of an article's link, which names an article with these fields.
func (c *checker) link(p partition, key string, f facts, record *redis.StringCmd, named reply) error {
	hash := f.hash.Val()
	_, complete := hash[fieldGroups] // else only legacy clients wrote it
	id, since, err := parseLinkRecord(record.Val())
	recorded, _ := parseNumber(since)
	posted, _ := parseNumber(named.text(1))
	own, _ := parseNumber(hash[fieldTime])
	switch {
	case errors.Is(record.Err(), redis.Nil):
		if complete && f.time.Err() == nil { // it is not deleted
			c.reportf("%s: lacks %s%v, which has the link", key, p, f.id)
		}
	case record.Err() != nil:
		return c.wrongType(key, record.Err())
	case err != nil:
		c.reportf("%s: names no article: %q", key, record.Val())
	case named.text(0) == "" || c.linkRecord(named.text(0)) != key:
		c.reportf("%s: names %v, which has another link", key, id)
	case recorded != posted && (recorded != 0 || named.text(2) == ""):
		c.reportf("%s: says that %v was posted at %s, not at %s", key, id, since, named.text(1))
	case own > posted && complete:
		c.reportf("%s: names %v, but %s%v is newer", key, id, p, f.id)
	}
	return nil
}
