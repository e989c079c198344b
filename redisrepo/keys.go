package redisrepo

import (
	"net/url"
	"strconv"
	"strings"
)

// Prefixes of the members of sets and sorted sets. Members carry no tag, so a listing reads the same
// however it is partitioned.
const (
	articlePrefix = "article:"
	userPrefix    = "user:"
	groupPrefix   = "group:"
	hostPrefix    = "host:"
)

// Interesting is the name of the group that the scripts maintain: it holds the articles with at least
// Rules.InterestingVotes net votes. Articles cannot be posted or regrouped into it.
const Interesting GroupName = "interesting"

// partition is the hash tag at the start of every key of its articles. On a single Redis it is empty,
// so the keys are those of legacy clients.
//
// Its methods are the only Go code that builds keys. Two other places know a detail of a key: Check scans
// for the prefixes of articles and groups, and shared.lua recognizes a tag by its brace.
type partition string

func (p partition) key(parts ...string) string { return string(p) + strings.Join(parts, "") }

func (p partition) meta() string                   { return p.key("meta:") }
func (p partition) counter() string                { return p.key(articlePrefix) }
func (p partition) article(id ArticleID) string    { return string(p.appendArticle(nil, id)) }
func (p partition) voted(id ArticleID) string      { return p.key("voted:", id.number()) }
func (p partition) downvoted(id ArticleID) string  { return p.key("downvoted:", id.number()) }
func (p partition) posted(poster UserName) string  { return p.key("posted:", string(poster)) }
func (p partition) host(name HostName) string      { return p.key(hostPrefix, string(name)) }
func (p partition) groups() string                 { return p.key("groups:") }
func (p partition) sizes() string                  { return p.ranking(bySize) }
func (p partition) deleted() string                { return p.key("deleted:") }
func (p partition) moderation() string             { return p.key("moderation:") }
func (p partition) events() string                 { return p.key("events:") }
func (p partition) audit(id ArticleID) string      { return p.key("audit:", id.number()) }
func (p partition) link(digest string) string      { return p.key("link:", digest) }
func (p partition) history(id ArticleID) string    { return p.key("history:", id.number()) }
func (p partition) group(name GroupName) string    { return p.key(groupPrefix, string(name)) }
func (p partition) front() string                  { return p.key("front:") }
func (p partition) best() string                   { return p.key("best:") }
func (p partition) account(digest string) string   { return p.key("account:", digest) }
func (p partition) nameOwner(folded string) string { return p.key("name:", folded) }
func (p partition) state(digest string) string     { return p.key("state:", digest) }
func (p partition) session(digest string) string   { return p.key("session:", digest) }
func (p partition) ended(digest string) string     { return p.key("ended:", digest) }

// cast is what a user voted on among the articles of a month.
func (p partition) cast(voter UserName, month int64) string {
	return string(p) + castPrefix + string(voter) + ":" + strconv.FormatInt(month, 10) // allocated once, for each vote
}

// clock is the state of the calendar of all articles, or of a group's.
func (p partition) clock(name GroupName) string { return p.key("clock:", string(name)) }

// top is a list of the calendar: that of an hour (h), a day (d) or a month (m), of all articles or of a group.
func (p partition) top(unit string, number int64, name GroupName) string {
	list := topPrefix + unit + ":" + strconv.FormatInt(number, 10)
	if name == "" {
		return p.key(list)
	}
	return p.key(list, ":", string(name))
}

func (p partition) appendArticle(key []byte, id ArticleID) []byte {
	return strconv.AppendInt(append(append(key, p...), articlePrefix...), int64(id), 10)
}

// rate is the counter of a rule for one subject: the member of a user, or an address.
func (p partition) rate(s Subject) string {
	if s.user != "" {
		return p.key("rate:", s.rule, ":", s.user.member())
	}
	return p.key("rate:", s.rule, ":address:", s.address.String())
}

// changes is the channel that the scripts publish on. All databases of a server share their
// channels, so the name holds the number of the database.
func (p partition) changes(database int) string { return p.key("changes:", strconv.Itoa(database)) }

// partitionOfKey returns the partition that a key begins with the tag of; it may be one that the site does not have.
func (r *Repo) partitionOfKey(key string) partition {
	if r.partitions[0] == untagged {
		return untagged
	}
	return partition(key[:strings.IndexByte(key, '}')+1])
}

// sharded reports whether the partition's channel is a sharded one.
func (p partition) sharded() bool { return p != "" }

// ranking is the sorted set of all the partition's articles in one order.
func (p partition) ranking(o Order) string { return p.key(o.prefix()) }

// listing is the ranking of one group. Group names are never empty, otherwise this would be the
// ranking of all articles.
func (p partition) listing(o Order, name GroupName) string { return p.key(o.prefix(), string(name)) }

// post is the record of an idempotency key. The key is escaped, so that the last colon always
// separates it from the user.
func (p partition) post(poster UserName, key string) string {
	return p.key("post:", string(poster), ":", url.QueryEscape(key))
}

// document is the slot of all documents whose SHA-256 begins with the same three hex digits: there
// are 4096 slots, however many documents are stored.
func (p partition) document(hash string) string { return p.key("query:", hash[:3]) }

func (id ArticleID) number() string { return strconv.FormatInt(int64(id), 10) }

func (u UserName) member() string { return userPrefix + string(u) }

func userOf(member string) UserName { return UserName(strings.TrimPrefix(member, userPrefix)) }
