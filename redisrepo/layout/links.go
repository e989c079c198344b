package layout

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// linksTogether is the number of links that one call of link.lua records.
const linksTogether = 200

// RecordLinks records which articles have links, unless newer articles have them.
func (r *Layout) RecordLinks(ctx context.Context, articles []articles.Linked) error {
	scriptKeys, args := make([][]string, len(r.store.Partitions)), make([][]any, len(r.store.Partitions))
	for _, a := range articles {
		digest := site.LinkDigest(a.Link)
		i := keys.LinkIndex(len(r.store.Partitions), digest)
		scriptKeys[i] = append(scriptKeys[i], r.store.Partitions[i].Link(digest))
		args[i] = append(args[i], a.ID.String(), a.Time)
	}
	if len(articles) == 0 {
		return nil
	}
	return r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for i := range scriptKeys {
			for some := range slices.Chunk(scriptKeys[i], linksTogether) {
				linkScript.EvalSha(ctx, pipe, some, args[i][:2*len(some)]...)
				args[i] = args[i][2*len(some):]
			}
		}
	})
}

// readLinks returns those of the articles of a partition that have links.
func (r *Layout) readLinks(ctx context.Context, p keys.Partition, members []string) ([]articles.Linked, error) {
	hashes, err := wire.ReadEach(ctx, r.store, members, func(pipe redis.Pipeliner, member string) *redis.SliceCmd {
		return pipe.HMGet(ctx, p.Key(member), site.FieldLink, site.FieldTime)
	})
	if err != nil {
		return nil, err
	}
	found := make([]articles.Linked, 0, len(members))
	for i, member := range members {
		link, time := wire.Reply(hashes[i].Val()).Text(0), wire.Reply(hashes[i].Val()).Text(1)
		_, isTime := site.ParseNumber(time)
		if id, err := site.ParseArticleID(member); err == nil && link != "" && isTime == nil {
			found = append(found, articles.Linked{ID: id, Link: link, Time: cmp.Or(time, "0")})
		}
	}
	return found, nil
}

// linksRead is the number of articles whose links an upgrade reads in one round trip.
const linksRead = 1000

// moveLinks moves the records of a partition that name an article whose link has another digest now: the upgrade from
// layout 6, which knew fewer parameters for tracking, and no fragments that are paths. The new record comes first, so
// that none is lost. A start that goes on, or another one, finds the old one again, or gone.
func (r *Layout) moveLinks(ctx context.Context, p keys.Partition) error {
	return r.store.EachMatching(ctx, p, p.Link("*"), func(found []string) error {
		records, err := wire.ReadEach(ctx, r.store, found, func(pipe redis.Pipeliner, key string) *redis.StringCmd { return pipe.Get(ctx, key) })
		if err != nil {
			return err
		}
		links, err := wire.ReadEach(ctx, r.store, records, func(pipe redis.Pipeliner, record *redis.StringCmd) *redis.StringCmd {
			id, _, _ := articles.ParseLinkRecord(record.Val())
			return pipe.HGet(ctx, r.store.Partition(id).Article(id), site.FieldLink)
		})
		if err != nil {
			return err
		}
		var moved []articles.Linked
		var old []string
		var values []any
		for i, key := range found {
			id, time, err := articles.ParseLinkRecord(records[i].Val())
			if link := links[i].Val(); err == nil && link != "" && p.Link(site.LinkDigest(link)) != key {
				moved = append(moved, articles.Linked{ID: id, Link: link, Time: time})
				old, values = append(old, key), append(values, records[i].Val())
			}
		}
		if len(moved) == 0 {
			return nil
		}
		if err := r.RecordLinks(ctx, moved); err != nil {
			return err
		}
		return r.store.Write(ctx, func(pipe redis.Pipeliner) {
			for some := range slices.Chunk(old, linksTogether) {
				dropLinkScript.EvalSha(ctx, pipe, some, values[:len(some)]...)
				values = values[len(some):]
			}
		})
	})
}

// recordLinks is the upgrade from layout 7, of which some records were dropped for newer articles that had their links.
// Records of deleted articles were moved, unless their links were free.
func (r *Layout) recordLinks(ctx context.Context, p keys.Partition) error {
	times, done := p.Ranking(site.ByTime), 0
	total, err := r.store.Client.ZCard(ctx, times).Result()
	if err != nil {
		return err
	}
	return r.store.At(ctx, times, func(ctx context.Context, server redis.Cmdable) error {
		return wire.Walk(2, func(members []string) error {
			done += len(members)
			r.OnProgress("recording all links", min(done, int(total)), int(total))
			linked, err := r.readLinks(ctx, p, members)
			if err != nil {
				return err
			}
			return r.RecordLinks(ctx, linked)
		}, func(cursor uint64) *redis.ScanCmd {
			return server.ZScan(failover.Impatient(ctx), times, cursor, "", linksRead)
		})
	})
}

// RecordSkeletons records the skeletons of the names of posters and accounts, at the end of an import, whose posters do
// not count as new.
func (r *Layout) RecordSkeletons(ctx context.Context, p keys.Partition) error {
	return r.store.EachMatching(ctx, p, p.Key("[ap][co]*"), func(found []string) error {
		var names []site.UserName
		var accounts []*redis.StringCmd
		err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
			for _, key := range found {
				if name, is := strings.CutPrefix(key, p.Posted("")); is {
					names = append(names, site.UserName(name))
				} else if strings.HasPrefix(key, p.Account("")) {
					accounts = append(accounts, pipe.Get(ctx, key))
				}
			}
		})
		if err != nil {
			return err
		}
		for _, account := range accounts {
			names = append(names, site.UserName(account.Val()))
		}
		return r.sessions.RecordSkeletons(ctx, names)
	})
}
