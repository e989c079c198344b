package redisrepo

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ModerationKind is the kind of a moderation log entry.
type ModerationKind string

// The kinds of entries.
const (
	LogDeleted   ModerationKind = "deleted"   // by a moderator or by the poster
	LogUndeleted ModerationKind = "undeleted" // by a moderator
	LogRegrouped ModerationKind = "regrouped" // by a moderator who is not the poster, or into or out of a reserved group
	LogEdited    ModerationKind = "edited"    // by a moderator who is not the poster
)

// Valid reports whether it is one of the kinds above.
func (k ModerationKind) Valid() bool {
	return k == LogDeleted || k == LogUndeleted || k == LogRegrouped || k == LogEdited
}

// ModerationEntry is an entry of the moderation log.
type ModerationEntry struct {
	Kind          ModerationKind
	Article       ArticleID
	By            UserName
	OnBehalfOf    *UserName   // for whom By, a service, acted; nil: for itself
	At            time.Time   // UTC, whole seconds
	Before, After []GroupName // the article's groups, sorted; only if the action changed them
	Cursor        string

	// The next three are empty in entries of earlier versions of this package.
	Title  *string // of the article after the action
	Link   *string // nil if it had none with http or https
	Reason *string // nil if none was given

	entry logCursor
}

// ID names the entry on this site. It does not change when the number of partitions does.
func (e *ModerationEntry) ID() string { return e.entry.name("moderation", e.Article) }

// moderationList is the name of the log in its cursors.
const moderationList = "moderation"

// ModerationLog reads a page of the moderation log, newest entry first, in one round trip. The log keeps the
// last 100,000 entries of each partition, or slightly more. Invalid requests are refused as by Walk.
func (r *Repo) ModerationLog(ctx context.Context, p PageRequest) ([]ModerationEntry, PageInfo, error) {
	q, err := parseRequest(p, r.rules.PageSize, decodeLogCursor)
	if err != nil {
		return nil, PageInfo{}, err
	}
	newestFirst := func(a, b logEntry) int { return b.at.compare(a.at) }
	found, err := readPage(ctx, r, q, newestFirst, func(pipe redis.Pipeliner, i int, b between[logCursor]) func() []logEntry {
		newest, oldest := "+", "-"
		if b.after != nil {
			newest = b.after.newestAfter(i, b.inclusive)
		}
		if b.before != nil {
			oldest = b.before.oldestBefore(i, b.inclusive)
		}
		key, count := r.partitions[i].moderation(), int64(b.count)
		if b.last {
			return logEntries(pipe.XRangeN(ctx, key, oldest, newest, count), i)
		}
		return logEntries(pipe.XRevRangeN(ctx, key, newest, oldest, count), i)
	})
	if err != nil {
		return nil, PageInfo{}, storeError("read the moderation log", err)
	}
	entries := make([]ModerationEntry, 0, len(found.items))
	for _, e := range found.items {
		if entry, ok := e.decode(); ok {
			entry.By = UserName(strings.TrimSpace(string(entry.By))) // see CommandLine
			entries = append(entries, entry)
		}
	}
	return entries, found.info(func(e logEntry) string { return e.at.encode() }), nil
}

// logEntry is an entry as the stream holds it.
type logEntry struct {
	at     logCursor
	fields map[string]any
}

// logEntries returns a function for the entries that c reads from a partition.
func logEntries(c *redis.XMessageSliceCmd, partition int) func() []logEntry {
	return func() []logEntry {
		entries := make([]logEntry, len(c.Val()))
		for i, message := range c.Val() {
			entries[i] = logEntry{at: newLogCursor(message.ID, partition), fields: message.Values}
		}
		return entries
	}
}

// decode reports false for an entry that log_moderation in shared.lua did not write. Readers skip it.
func (e logEntry) decode() (ModerationEntry, bool) {
	field := func(name string) string {
		text, _ := e.fields[name].(string)
		return text
	}
	id, err := ParseArticleID(field("article"))
	at, atErr := parseNumber(field("at"))
	if err != nil || atErr != nil {
		return ModerationEntry{}, false
	}
	entry := ModerationEntry{
		Kind: ModerationKind(field("kind")), Article: id, By: userOf(field("by")), At: unixTime(at),
		Before: groupNames(field("before")), After: groupNames(field("after")), Cursor: e.at.encode(),
		Title: optional(field("title")), Reason: optional(field("reason")), entry: e.at,
	}
	if link := field("link"); hasWebScheme(link) {
		entry.Link = &link
	}
	if user := field("on_behalf_of"); user != "" {
		name := userOf(user)
		entry.OnBehalfOf = &name
	}
	return entry, true
}

// value is the opposite of optional.
func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// optional is nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// logCursor is the id of an entry and its partition. Ids rise within a stream; entries of two
// partitions may have the same id, and are then sorted by partition.
type logCursor struct {
	milliseconds, sequence uint64
	partition              int
}

func newLogCursor(id string, partition int) logCursor {
	milliseconds, sequence, _ := strings.Cut(id, "-")
	c := logCursor{partition: partition}
	// An id of Redis is always valid. For the id of a forged cursor, decodeLogCursor compares the result.
	c.milliseconds, _ = strconv.ParseUint(milliseconds, 10, 64)
	c.sequence, _ = strconv.ParseUint(sequence, 10, 64)
	return c
}

func (c logCursor) compare(d logCursor) int {
	return cmp.Or(cmp.Compare(c.milliseconds, d.milliseconds), cmp.Compare(c.sequence, d.sequence), cmp.Compare(c.partition, d.partition))
}

// name names an entry about an article. Entries of two partitions may have the same id, but an article is in one.
func (c logCursor) name(log string, article ArticleID) string {
	return log + ":" + c.id() + "-" + strconv.Itoa(int(article))
}

func (c logCursor) id() string {
	return strconv.FormatUint(c.milliseconds, 10) + "-" + strconv.FormatUint(c.sequence, 10)
}

// newestAfter is the newest id in a partition's stream that follows the cursor, newest first. Of entries
// with equal ids, the one in the higher partition comes first.
func (c logCursor) newestAfter(partition int, inclusive bool) string {
	return c.bound(partition < c.partition || inclusive && partition == c.partition)
}

// oldestBefore is the oldest id in a partition's stream that precedes the cursor, in the same order.
func (c logCursor) oldestBefore(partition int, inclusive bool) string {
	return c.bound(partition > c.partition || inclusive && partition == c.partition)
}

// bound is the id as a bound of a range of the stream.
func (c logCursor) bound(inclusive bool) string {
	if inclusive {
		return c.id()
	}
	return "(" + c.id()
}

func (c logCursor) encode() string {
	return encodeCursor(moderationList, c.id(), strconv.Itoa(c.partition))
}

func decodeLogCursor(field, text string) (logCursor, error) {
	parts, err := decodeCursor(field, moderationList, text)
	if err != nil {
		return logCursor{}, err
	}
	if len(parts) == 2 {
		partition, err := strconv.Atoi(parts[1])
		c := newLogCursor(parts[0], partition)
		// Redis gives no entry the lowest or the highest id, and refuses a range beyond them.
		extreme := c.milliseconds|c.sequence == 0 || c.milliseconds&c.sequence == math.MaxUint64
		if err == nil && c.id() == parts[0] && !extreme {
			return c, nil
		}
	}
	return logCursor{}, refuse(Invalid, field, "%s is not a cursor of an entry", field)
}
