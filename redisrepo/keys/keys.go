// Package keys names the keys of a site in Redis. Every key begins with the tag of its partition.
package keys

import (
	"net/url"
	"strconv"
	"strings"

	"frontpage/redisrepo/site"
)

// Partition is the hash tag at the start of every key of its articles. On a single Redis it is empty,
// so the keys are those of legacy clients.
//
// Its methods are the only Go code that builds keys, and Kinds has all kinds of them.
type Partition string

// Key returns a key of the partition, joined from parts.
func (p Partition) Key(parts ...string) string { return string(p) + strings.Join(parts, "") }

// Meta is the key of the partition's record: layout, rules and features.
func (p Partition) Meta() string { return p.Key("meta:") }

// Counter is the key of the last article number.
func (p Partition) Counter() string { return p.Key(site.ArticlePrefix) }

// Article is the key of an article's hash.
func (p Partition) Article(id site.ArticleID) string { return string(p.AppendArticle(nil, id)) }

// Voted is the key voted:, see Kinds.
func (p Partition) Voted(id site.ArticleID) string { return p.Key("voted:", id.Number()) }

// Downvoted is the key downvoted:, see Kinds.
func (p Partition) Downvoted(id site.ArticleID) string { return p.Key("downvoted:", id.Number()) }

// Posted is the key posted:, see Kinds.
func (p Partition) Posted(poster site.UserName) string { return p.Key("posted:", string(poster)) }

// Lists returns the keys of the lists by posting time that contain an article: of its poster and, with a link, of its
// host.
func (p Partition) Lists(poster site.UserName, link string) []string {
	lists := []string{p.Posted(poster)}
	if host := site.HostOf(link); host != "" {
		lists = append(lists, p.Host(host))
	}
	return lists
}

// Host is the key host:, see Kinds.
func (p Partition) Host(name site.HostName) string { return p.Key(site.HostPrefix, string(name)) }

// Groups is the key groups:, see Kinds.
func (p Partition) Groups() string { return p.Key("groups:") }

// Sizes is the key of the groups by number of articles.
func (p Partition) Sizes() string { return p.Ranking(site.BySize) }

// Deleted is the key deleted:, see Kinds.
func (p Partition) Deleted() string { return p.Key("deleted:") }

// Unexplained is the key unexplained:, see Kinds.
func (p Partition) Unexplained() string { return p.Key("unexplained:") }

// Moderation is the key moderation:, see Kinds.
func (p Partition) Moderation() string { return p.Key("moderation:") }

// Events is the key events:, see Kinds.
func (p Partition) Events() string { return p.Key("events:") }

// Views is the key views:, see Kinds.
func (p Partition) Views() string { return p.Key("views:") }

// Flags is the key flags:, see Kinds.
func (p Partition) Flags(id site.ArticleID) string { return p.Key("flags:", id.Number()) }

// Flagged is the key flagged:, see Kinds.
func (p Partition) Flagged() string { return p.Key("flagged:") }

// Contact is the key contact: of an article's notices after this number of decisions, see Kinds.
func (p Partition) Contact(id site.ArticleID, decisions int) string {
	return p.Key("contact:", id.Number(), ":", strconv.Itoa(decisions))
}

// Reported is the key reported:, see Kinds.
func (p Partition) Reported(name site.UserName) string { return p.Key("reported:", string(name)) }

// Denials is the key denials:, see Kinds.
func (p Partition) Denials() string { return p.Key("denials:") }

// Blockers is the key blockers:, see Kinds.
func (p Partition) Blockers() string { return p.Key("blockers:") }

// Blocked is the key blocked:, see Kinds.
func (p Partition) Blocked(by site.UserName) string { return p.Key("blocked:", string(by)) }

// Saved is the key saved:, see Kinds.
func (p Partition) Saved(by site.UserName) string { return p.Key("saved:", string(by)) }

// Following is the key following:, see Kinds.
func (p Partition) Following(by site.UserName) string { return p.Key("following:", string(by)) }

// Erased is the key erased:, see Kinds.
func (p Partition) Erased() string { return p.Key("erased:") }

// Erasing is the key erasing:, see Kinds.
func (p Partition) Erasing() string { return p.Key("erasing:") }

// LogCopy is the key of the copy of a stream that leaves out the name with this digest.
func (p Partition) LogCopy(stream, digest string) string {
	return p.Key("erasing:", strings.TrimPrefix(stream, string(p)), digest)
}

// Lease is the key lease:, see Kinds.
func (p Partition) Lease() string { return p.Key("lease:") }

// Described is the key described:, see Kinds.
func (p Partition) Described() string { return p.Key("described:") }

// Webhooks is the key webhooks:, see Kinds.
func (p Partition) Webhooks() string { return p.Key("webhooks:") }

// Webhook is the key webhook:, see Kinds.
func (p Partition) Webhook(name string) string { return p.Key("webhook:", name) }

// Undelivered is the key undelivered:, see Kinds.
func (p Partition) Undelivered(name string) string { return p.Key("undelivered:", name) }

// Void is the key void:, see Kinds.
func (p Partition) Void(id site.ArticleID) string { return p.Key("void:", id.Number()) }

// Audit is the key audit:, see Kinds.
func (p Partition) Audit(id site.ArticleID) string { return p.Key("audit:", id.Number()) }

// Link is the key link:, see Kinds.
func (p Partition) Link(digest string) string { return p.Key("link:", digest) }

// History is the key history:, see Kinds.
func (p Partition) History(id site.ArticleID) string { return p.Key("history:", id.Number()) }

// Group is the key group:, see Kinds.
func (p Partition) Group(name site.GroupName) string { return p.Key(site.GroupPrefix, string(name)) }

// Front is the key front:, see Kinds.
func (p Partition) Front() string { return p.Key("front:") }

// Best is the key best:, see Kinds.
func (p Partition) Best() string { return p.Key("best:") }

// Account is the key account:, see Kinds.
func (p Partition) Account(digest string) string { return p.Key("account:", digest) }

// NameOwner is the key name:, see Kinds; folded is the digest of a folded name, or of a skeleton that similar names
// share.
func (p Partition) NameOwner(folded string) string { return p.Key("name:", folded) }

// State is the key state:, see Kinds.
func (p Partition) State(digest string) string { return p.Key("state:", digest) }

// Session is the key session:, see Kinds.
func (p Partition) Session(digest string) string { return p.Key("session:", digest) }

// Ended is the key ended:, see Kinds.
func (p Partition) Ended(digest string) string { return p.Key("ended:", digest) }

// Cast is the key of what a user voted on among the articles of a month.
func (p Partition) Cast(voter site.UserName, month int64) string {
	key := append(append(append(make([]byte, 0, 100), p...), CastPrefix...), voter...)
	return string(strconv.AppendInt(append(key, ':'), month, 10)) // allocated once, for each vote
}

// Clock is the key of the state of the calendar of all articles, or of a group's.
func (p Partition) Clock(name site.GroupName) string { return p.Key("clock:", string(name)) }

// Top is the key of a list of the calendar: that of an hour (h), a day (d) or a month (m), of all articles or
// of a group.
func (p Partition) Top(unit string, number int64, name site.GroupName) string {
	list := TopPrefix + unit + ":" + strconv.FormatInt(number, 10)
	if name == "" {
		return p.Key(list)
	}
	return p.Key(list, ":", string(name))
}

// AppendArticle appends the key of an article's hash.
func (p Partition) AppendArticle(key []byte, id site.ArticleID) []byte {
	return strconv.AppendInt(append(append(key, p...), site.ArticlePrefix...), int64(id), 10)
}

// Rate is the counter of a rule for one subject: the member of a user, or an address.
func (p Partition) Rate(s site.Subject) string {
	if s.User != "" {
		return p.Key("rate:", s.Rule, ":", s.User.Member())
	}
	return p.Key("rate:", s.Rule, ":address:", s.Address.String())
}

// ChangesChannel is the channel on which processes announce which partitions they have changed. All databases
// of a server share their channels, so the name holds the number of the database.
func ChangesChannel(database int) string { return "changes:" + strconv.Itoa(database) }

// Ranking is the sorted set of all the partition's articles in one order.
func (p Partition) Ranking(o site.Order) string { return p.Key(o.Prefix()) }

// Listing is the ranking of one group. Group names are never empty, otherwise this would be the
// ranking of all articles.
func (p Partition) Listing(o site.Order, name site.GroupName) string {
	return p.Key(o.Prefix(), string(name))
}

// Post is the record of an idempotency key. The idempotency key is escaped, so that the last colon always separates it
// from the user.
func (p Partition) Post(poster site.UserName, key string) string {
	return p.Key("post:", string(poster), ":", url.QueryEscape(key))
}

// Document is the slot of all documents whose SHA-256 begins with the same three hex digits: there
// are 4096 slots, however many documents are stored.
func (p Partition) Document(hash string) string { return p.Key("query:", hash[:3]) }

const (
	// CastPrefix begins the keys of the lists of users' votes.
	CastPrefix = "cast:"
	// TopPrefix begins the keys of the lists of calendars.
	TopPrefix = "top:"
	// PeakPrefix begins the fields with the peaks of lists.
	PeakPrefix = "p:"
)

// ParseList parses the unit and the number of a list, such as d:20715.
func ParseList(text string) (unit string, number int64, ok bool) {
	unit, digits, _ := strings.Cut(text, ":")
	number, err := strconv.ParseInt(digits, 10, 64)
	return unit, number, err == nil && (unit == "h" || unit == "d" || unit == "m")
}

// FieldCastSince is the field of meta: that says since when the histories have all votes, and under which
// rules.
const FieldCastSince = "cast_since"

// FieldOrigin is the field of meta: with the digest of the export that Fill imported.
const FieldOrigin = "origin"

// FieldCursorKey is the field of meta:, of the first partition, with the key of cursors of rankings.
const FieldCursorKey = "cursor_key"

// FieldUUID is the field of meta:, of the first partition, with the site's UUID, which its copies keep. The ids in
// feeds are derived from it.
const FieldUUID = "uuid"

// Fields of meta:.
const (
	FieldLayout     = "layout"
	FieldPartitions = "partitions"
	FieldIndex      = "index"
	FieldEpoch      = "epoch"     // a random name that a store gets when it is created
	FieldEmptied    = "emptied"   // time of deletion up to which articles are emptied, see retention
	FieldForgotten  = "forgotten" // see Articles.Forgotten, and the voting window for which that was determined
)
