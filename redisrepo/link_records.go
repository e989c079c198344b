package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ArticleByLink returns the id of the newest article with a link, in whatever form, or nil. The article may be a
// deleted one. The Refusal of an invalid link is that of Post.
func (r *Repo) ArticleByLink(ctx context.Context, link string) (*ArticleID, error) {
	text, broken := postRules.checkLink(&link)
	if text == "" && broken == nil {
		broken = refuse(Invalid, "link", "the link is empty: give an absolute http or https URL")
	}
	if broken != nil {
		return nil, broken
	}
	record, err := r.client.Get(ctx, r.linkRecord(text)).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("look up a link", err)
	}
	id, _, err := parseLinkRecord(record)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// linkRecord is the key that names the newest article with a link. It is in the partition to which the link is posted;
// an article of an import or of a copy may be in another one.
func (r *Repo) linkRecord(link string) string {
	digest := linkDigest(link)
	return r.partitions[linkIndex(len(r.partitions), digest)].link(digest)
}

// parseLinkRecord returns the article that the record of a link names, and its posting time as text.
func parseLinkRecord(record string) (id ArticleID, time string, err error) {
	member, time, _ := strings.Cut(record, " ")
	if id, err = ParseArticleID(member); err != nil {
		return 0, "", fmt.Errorf("record of a link: %w", err)
	}
	return id, time, nil
}

// linked is an article with a link, and its posting time as text.
type linked struct {
	id         ArticleID
	link, time string
}

// linksTogether is the number of links that one call of link.lua records.
const linksTogether = 200

// recordLinks records which articles have links, unless newer ones are known to have them.
func (r *Repo) recordLinks(ctx context.Context, articles []linked) error {
	keys, args := make([][]string, len(r.partitions)), make([][]any, len(r.partitions))
	for _, a := range articles {
		digest := linkDigest(a.link)
		i := linkIndex(len(r.partitions), digest)
		keys[i] = append(keys[i], r.partitions[i].link(digest))
		args[i] = append(args[i], a.id.String(), a.time)
	}
	if len(articles) == 0 {
		return nil
	}
	return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for i := range keys {
			for some := range slices.Chunk(keys[i], linksTogether) {
				linkScript.EvalSha(ctx, pipe, some, args[i][:2*len(some)]...)
				args[i] = args[i][2*len(some):]
			}
		}
	})
}

// readLinks returns those of the articles of a partition that have links.
func (r *Repo) readLinks(ctx context.Context, p partition, members []string) ([]linked, error) {
	hashes := make([]*redis.SliceCmd, len(members))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, member := range members {
			hashes[i] = pipe.HMGet(ctx, p.key(member), fieldLink, fieldTime)
		}
	})
	if err != nil {
		return nil, err
	}
	articles := make([]linked, 0, len(members))
	for i, member := range members {
		link, time := reply(hashes[i].Val()).text(0), reply(hashes[i].Val()).text(1)
		_, isTime := parseNumber(time)
		if id, err := ParseArticleID(member); err == nil && link != "" && isTime == nil {
			articles = append(articles, linked{id, link, cmp.Or(time, "0")})
		}
	}
	return articles, nil
}

// linksRead is the number of articles whose links an upgrade reads in one round trip.
const linksRead = 1000

// indexGroupsAndLinks counts the articles of all groups, and records the links of all articles. It is the upgrade from
// layout 1, which had neither the index of sizes nor the links of articles that were posted long ago or imported.
// Records of that layout under names that links have no more expire by themselves.
func (r *Repo) indexGroupsAndLinks(ctx context.Context, p partition) error {
	if err := r.indexAllGroups(ctx, p); err != nil {
		return err
	}
	return r.eachLinked(ctx, p, "recording all links", []string{p.ranking(ByTime), p.deleted()}, func(articles []linked) error {
		return r.recordLinks(ctx, articles)
	})
}

// eachLinked calls handle with the articles in some sets that have links, and reports the progress.
func (r *Repo) eachLinked(ctx context.Context, p partition, doing string, sets []string, handle func([]linked) error) error {
	total, done := 0, 0
	for _, set := range sets {
		n, err := r.client.ZCard(ctx, set).Result()
		if err != nil {
			return err
		}
		total += int(n)
	}
	for _, set := range sets {
		err := r.onOneServer(ctx, set, func(ctx context.Context, server redis.Cmdable) error {
			return walk(2, func(members []string) error {
				done += len(members)
				r.onProgress(doing, min(done, total), total)
				articles, err := r.readLinks(ctx, p, members)
				if err != nil {
					return err
				}
				return handle(articles)
			}, func(cursor uint64) *redis.ScanCmd { return server.ZScan(impatient(ctx), set, cursor, "", linksRead) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}
