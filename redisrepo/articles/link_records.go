package articles

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// ArticleByLink returns the id of the newest article with a link, in whatever form, or nil. The article may be a
// deleted one. The Refusal of an invalid link is that of Post.
func (r *Articles) ArticleByLink(ctx context.Context, link string) (*site.ArticleID, error) {
	text, broken := site.PostRules.CheckLink(&link)
	if text == "" && broken == nil {
		broken = site.Refuse(site.Invalid, "link", "the link is empty: give an absolute http or https URL")
	}
	if broken != nil {
		return nil, broken
	}
	record, err := r.store.Client.Get(ctx, r.LinkRecord(text)).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, failover.Wrap("look up a link", err)
	}
	id, _, err := ParseLinkRecord(record)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// LinkRecord is the key that names the newest article with a link. It is in the partition to which the link is posted;
// an article of an import or of a copy may be in another one.
func (r *Articles) LinkRecord(link string) string {
	digest := site.LinkDigest(link)
	return r.store.Partitions[keys.LinkIndex(len(r.store.Partitions), digest)].Link(digest)
}

// ParseLinkRecord returns the article that the record of a link names, and its posting time as text.
func ParseLinkRecord(record string) (id site.ArticleID, time string, err error) {
	member, time, _ := strings.Cut(record, " ")
	if id, err = site.ParseArticleID(member); err != nil {
		return 0, "", fmt.Errorf("record of a link: %w", err)
	}
	return id, time, nil
}

// Linked is an article with a link, and its posting time as text.
type Linked struct {
	ID         site.ArticleID
	Link, Time string
}
