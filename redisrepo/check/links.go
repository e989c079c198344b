package check

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// links checks the records of the links of some articles. Each names the newest article that has the link, and its
// posting time, or 0 if it is free because that article was deleted.
func (c *checker) links(ctx context.Context, p keys.Partition, batch []facts) error {
	var keys []string
	var found []facts
	for _, f := range batch {
		if link := f.hash.Val()[site.FieldLink]; link != "" {
			keys, found = append(keys, c.Articles.LinkRecord(link)), append(found, f)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	records := make([]*redis.StringCmd, len(keys))
	_ = c.Store.Read(ctx, func(pipe redis.Pipeliner) { // the commands have the errors
		for i, key := range keys {
			records[i] = pipe.Get(ctx, key)
		}
	})
	named := make([]*redis.SliceCmd, len(keys))
	_ = c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, record := range records {
			id, _, _ := articles.ParseLinkRecord(record.Val())
			named[i] = pipe.HMGet(ctx, c.Repo.Store.Partition(id).Article(id), site.FieldLink, site.FieldTime, site.FieldDeleted)
		}
	})
	for i, f := range found {
		key := c.Repo.Store.Partition(f.id).Article(f.id)
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
func (c *checker) link(p keys.Partition, key string, f facts, record *redis.StringCmd, named wire.Reply) error {
	hash := f.hash.Val()
	_, complete := hash[site.FieldGroups] // else only legacy clients wrote it
	id, since, err := articles.ParseLinkRecord(record.Val())
	recorded, _ := site.ParseNumber(since)
	posted, _ := site.ParseNumber(named.Text(1))
	own, _ := site.ParseNumber(hash[site.FieldTime])
	switch {
	case errors.Is(record.Err(), redis.Nil):
		if complete && f.time.Err() == nil { // it is not deleted
			c.reportf("%s: lacks %s%v, which has the link", key, p, f.id)
		}
	case record.Err() != nil:
		return c.wrongType(key, record.Err())
	case err != nil:
		c.reportf("%s: names no article: %q", key, record.Val())
	case named.Text(0) == "" || c.Articles.LinkRecord(named.Text(0)) != key:
		c.reportf("%s: names %v, which has another link", key, id)
	case recorded != posted && (recorded != 0 || named.Text(2) == ""):
		c.reportf("%s: says that %v was posted at %s, not at %s", key, id, since, named.Text(1))
	case own > posted && complete:
		c.reportf("%s: names %v, but %s%v is newer", key, id, p, f.id)
	}
	return nil
}
