package redisrepo

import (
	"net/url"
	"strconv"
	"strings"
)

// Members of the sorted sets and sets, and the interesting group's name.
// They carry no tag, so a listing reads the same however it is partitioned.
const (
	articlePrefix = "article:"
	userPrefix    = "user:"
	groupPrefix   = "group:"

	interesting GroupName = "interesting"
)

// partition is the hash tag in front of every key of the articles it holds:
// empty on a single Redis, which makes them the book's own keys. Only this
// file knows what a key looks like.
type partition string

func (p partition) key(parts ...string) string { return string(p) + strings.Join(parts, "") }

func (p partition) meta() string                  { return p.key("meta:") }
func (p partition) counter() string               { return p.key(articlePrefix) }
func (p partition) article(id ArticleID) string   { return p.key(id.String()) }
func (p partition) voted(id ArticleID) string     { return p.key("voted:", id.number()) }
func (p partition) downvoted(id ArticleID) string { return p.key("downvoted:", id.number()) }
func (p partition) posted(poster UserName) string { return p.key("posted:", string(poster)) }
func (p partition) groups() string                { return p.key("groups:") }
func (p partition) deleted() string               { return p.key("deleted:") }
func (p partition) moderation() string            { return p.key("moderation:") }
func (p partition) audit(id ArticleID) string     { return p.key("audit:", id.number()) }
func (p partition) link(digest string) string     { return p.key("link:", digest) }
func (p partition) group(name GroupName) string   { return p.key(groupPrefix, string(name)) }

// limit is the count of what somebody does by a rule.
func (p partition) limit(rule, who string) string { return p.key("limit:", rule, ":", who) }

// changes is the channel that scripts publish on. Channels are the same for all
// databases of a server, so the number of the database is in the name.
func (p partition) changes(database int) string { return p.key("changes:", strconv.Itoa(database)) }

// sharded tells whether the channel is one of a shard.
func (p partition) sharded() bool { return p != "" }

// ranking is the sorted set of all articles of the partition in one order.
func (p partition) ranking(o Order) string { return p.key(o.prefix()) }

// listing is the same for one group. The names of groups are never empty, or
// this would be the ranking itself.
func (p partition) listing(o Order, name GroupName) string { return p.key(o.prefix(), string(name)) }

// post is the record of an idempotency key. The key is escaped, so that the
// last colon always separates it from the user.
func (p partition) post(poster UserName, key string) string {
	return p.key("post:", string(poster), ":", url.QueryEscape(key))
}

// document is the place for the documents whose SHA-256 begins with the same
// three hex digits: 4096 places, however many documents there are.
func (p partition) document(hash string) string { return p.key("query:", hash[:3]) }

func (o Order) prefix() string {
	if o == ByTime {
		return "time:"
	}
	return "score:"
}

func (id ArticleID) number() string { return strconv.FormatInt(int64(id), 10) }

func (u UserName) member() string { return userPrefix + string(u) }

func userOf(member string) UserName { return UserName(strings.TrimPrefix(member, userPrefix)) }
