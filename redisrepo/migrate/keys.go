package migrate

import (
	"fmt"
	"net/url"
	"strings"

	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// content is what the value of a key is, and how Migrate copies it.
type content int

const (
	notCopied content = iota // of use in one store only, or derived from other keys
	unknown                  // not a key of a site
	texts                    // a string with its expiry
	hashes
	sets
	zsets
	numbers // the last article number
	entries // the moderation log
)

// cell is a key without the tag of its partition.
type cell struct {
	name    string
	content content
	id      site.ArticleID // the key belongs to this article; 0: to none
	split   bool           // its members are articles, each in its own partition
	spread  bool           // it is about articles: each partition that gets some of them gets all of it
}

// expires reports whether the expiry of the key is copied, too. Other split keys have none, but for those of users' votes.
func (c cell) expires() bool { return !c.split || strings.HasPrefix(c.name, keys.CastPrefix) }

func parseCell(name string) cell {
	prefix, rest, _ := strings.Cut(name, ":")
	c := cell{name: name, content: unknown}
	switch prefix {
	case "article", "history", "voted", "downvoted", "audit":
		id, err := site.ParseArticleID(site.ArticlePrefix + rest)
		if err == nil && id.Number() == rest {
			c.id = id
			c.content = map[string]content{"article": hashes, "history": hashes, "voted": sets, "downvoted": sets, "audit": hashes}[prefix]
		} else if name == site.ArticlePrefix {
			c.content = numbers
		}
	case "time", "score":
		if rest == "" {
			c.content, c.split = zsets, true
		} else {
			c.content = notCopied // the listing of a group
		}
	case "posted", "host", "deleted", "top", "cast", "best":
		c.content, c.split = zsets, true
	case "clock":
		c.content, c.spread = hashes, true
	case "group":
		c.content, c.split = sets, true
	case "link", "query", "rate", "post", "account", "name", "session", "ended", "state":
		c.content = texts
	case "moderation":
		c.content = entries
	case "groups", "sizes", "meta", "front", "events":
		c.content = notCopied
	}
	return c
}

// isMark reports whether a member of a user's votes says that older ones were dropped. It is of no article.
func (c cell) isMark(member string) bool {
	return member == casts.CastCut && strings.HasPrefix(c.name, keys.CastPrefix)
}

// index is the partition, of n, of a key that is not split. An idempotency key can be in another one, too.
func (c cell) index(n int) (int, error) {
	if c.id != 0 {
		return int(c.id) % n, nil
	}
	prefix, rest, _ := strings.Cut(c.name, ":")
	switch prefix {
	case "link", "account", "name", "ended", "state":
		return keys.LinkIndex(n, rest), nil
	case "session":
		digest, _, _ := strings.Cut(rest, ":")
		return keys.LinkIndex(n, digest), nil
	case "query":
		return keys.DocumentIndex(n, rest), nil
	case "rate":
		_, subject, _ := strings.Cut(rest, ":")
		return keys.SubjectIndex(n, strings.TrimPrefix(subject, "address:")), nil
	case "post":
		last := strings.LastIndexByte(rest, ':')
		if last < 0 {
			break
		}
		key, err := url.QueryUnescape(rest[last+1:])
		return keys.KeyIndex(n, site.UserName(rest[:last]), key), err
	}
	return 0, fmt.Errorf("%s: has no partition", c.name)
}

// indexOf is the partition, of n, of a member of a key.
func (c cell) indexOf(n int, member string) (int, error) {
	if !c.split {
		return c.index(n)
	}
	if strings.HasPrefix(c.name, keys.CastPrefix) {
		member = strings.TrimPrefix(member, "-")
	}
	id, err := site.ParseArticleID(member)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not an article: remove it", c.name, member)
	}
	return int(id) % n, nil
}
