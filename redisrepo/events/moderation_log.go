package events

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// ModerationKind is the kind of a moderation log entry.
type ModerationKind string

// The kinds of entries.
const (
	LogDeleted   ModerationKind = "deleted"        // by a moderator or by the poster
	LogUndeleted ModerationKind = "undeleted"      // by a moderator
	LogRegrouped ModerationKind = "regrouped"      // by a moderator who is not the poster, or into or out of a reserved group
	LogEdited    ModerationKind = "edited"         // by a moderator who is not the poster; or the description or rules of a group
	LogActed     ModerationKind = "acted"          // a moderator did something because of reports of the article
	LogDismissed ModerationKind = "dismissed"      // a moderator rejected the reports
	LogDenied    ModerationKind = "denied"         // a moderator denied a user changes, or links to a host
	LogAllowed   ModerationKind = "allowed"        // a moderator ended that
	LogVoided    ModerationKind = "votes_voided"   // a moderator took votes out of the counts
	LogRestored  ModerationKind = "votes_restored" // a moderator put votes back
)

// Valid reports whether the kind is one of these.
func (k ModerationKind) Valid() bool {
	return slices.Contains([]ModerationKind{LogDeleted, LogUndeleted, LogRegrouped, LogEdited, LogActed, LogDismissed, LogVoided, LogRestored, LogDenied, LogAllowed}, k)
}

// ModerationEntry is an entry of the moderation log: an action on an article, a user, a host or a group.
type ModerationEntry struct {
	Kind          ModerationKind
	Target        string         // such as article:17, user:eve, host:go.dev or group:go
	Article       site.ArticleID // 0 for a user, a host or a group
	By            site.UserName
	OnBehalfOf    *site.UserName   // for whom By, a service, acted; nil: for itself
	At            time.Time        // UTC, whole seconds
	Before, After []site.GroupName // the article's groups, sorted; only if the action changed them
	Cursor        string

	// The next three are nil in entries of earlier versions of Frontpage.
	Title  *string // of the article after the action
	Link   *string // nil if it had none with http or https
	Reason *string // nil if none was given

	Ground *site.Ground // nil if none was given
	Basis  *string      // the rule or the law; nil if none was given

	Until *time.Time // when a denial ends, UTC, whole seconds; nil: never, and for other actions

	entry LogCursor
}

// ID names the entry on this site. It does not change when the number of partitions does.
func (e *ModerationEntry) ID() string { return e.entry.name("moderation", e.Article) }

// ByUser returns the user who acted, or nil for the command line or an erased user.
func (e *ModerationEntry) ByUser() *site.User { return e.By.User() }

// moderationList is the name of the log in its cursors.
const moderationList = "moderation"

// ModerationLog reads a page of the actions on articles in the moderation log, newest entry first, in one round trip.
// The log keeps the last 100,000 entries of each partition, or slightly more. Actions on users, hosts and groups are
// left out, so a page may have fewer entries than requested: see Actions. Invalid requests are refused as by Walk.
func (r *Log) ModerationLog(ctx context.Context, p site.PageRequest) ([]ModerationEntry, site.PageInfo, error) {
	q, err := site.ParseRequest(p, r.store.Rules.PageSize, decodeLogCursor)
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	found, err := r.readLog(ctx, q, nil)
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	entries := make([]ModerationEntry, 0, len(found.Items))
	for _, e := range found.Items {
		if entry, ok := e.shown(); ok && entry.Article != 0 {
			entries = append(entries, entry)
		}
	}
	return entries, found.Info(func(e LogEntry) string { return e.At.encode() }), nil
}

// readLog reads entries of the partitions, or of one of them, newest first.
func (r *Log) readLog(ctx context.Context, q site.Request[LogCursor], only *int) (site.Page[LogEntry], error) {
	newestFirst := func(a, b LogEntry) int { return b.At.Compare(a.At) }
	page, err := wire.ReadPage(ctx, r.store, q, newestFirst, func(pipe redis.Pipeliner, i int, b wire.Between[LogCursor]) func() []LogEntry {
		if only != nil && i != *only {
			return func() []LogEntry { return nil }
		}
		newest, oldest := "+", "-" // of entries with equal ids, the one in the higher partition comes first
		if c := b.After; c != nil {
			newest = c.bound(i < c.partition || b.Inclusive && i == c.partition)
		}
		if c := b.Before; c != nil {
			oldest = c.bound(i > c.partition || b.Inclusive && i == c.partition)
		}
		key, count := r.store.Partitions[i].Moderation(), int64(b.Count)
		read, from, to := pipe.XRevRangeN, newest, oldest
		if b.Last {
			read, from, to = pipe.XRangeN, oldest, newest
		}
		found := read(ctx, key, from, to, count)
		return func() []LogEntry {
			return site.Collect(found.Val(), func(m redis.XMessage) LogEntry {
				return LogEntry{At: NewLogCursor(m.ID, i), Fields: m.Values}
			})
		}
	})
	return page, failover.Wrap("read the moderation log", err)
}

// LogEntry is an entry as the stream holds it.
type LogEntry struct {
	At     LogCursor
	Fields wire.Fields
}

// shown is Decode for callers, to whom the operator's commands are a name.
func (e LogEntry) shown() (ModerationEntry, bool) {
	entry, ok := e.Decode()
	entry.By = site.UserName(strings.TrimSpace(string(entry.By))) // see CommandLine
	return entry, ok
}

// Decode decodes an entry. It reports false for one that log_moderation did not write, which readers skip.
func (e LogEntry) Decode() (ModerationEntry, bool) {
	field := e.Fields.Text
	target := field("article")
	id, err := site.ParseArticleID(target)
	if err == nil {
		target = id.String()
	} else if hasNoArticle(target) {
		err = nil
	}
	at, atErr := site.ParseNumber(field("at"))
	if err != nil || atErr != nil {
		return ModerationEntry{}, false
	}
	entry := ModerationEntry{
		Kind: ModerationKind(field("kind")), Target: target, Article: id, By: site.UserOf(field("by")), At: site.UnixTime(at),
		Before: site.GroupNames(field("before")), After: site.GroupNames(field("after")), Cursor: e.At.encode(),
		Title: site.Optional(field("title")), Reason: site.Optional(field("reason")), Basis: site.Optional(field("basis")), entry: e.At,
	}
	if ground := field("ground"); ground != "" {
		entry.Ground = new(site.Ground(ground))
	}
	if link := field("link"); site.HasWebScheme(link) {
		entry.Link = &link
	}
	if user := field("on_behalf_of"); user != "" {
		entry.OnBehalfOf = new(site.UserOf(user))
	}
	if until, err := site.ParseNumber(field("until")); err == nil && field("until") != "" {
		entry.Until = new(site.UnixTime(until))
	}
	return entry, true
}

// LogCursor is the id of an entry and its partition. Ids rise within a stream; entries of two
// partitions may have the same id, and are then sorted by partition.
type LogCursor struct {
	wire.EntryID
	partition int
}

// NewLogCursor is the position of an entry of a partition, by the id in its stream.
func NewLogCursor(id string, partition int) LogCursor {
	return LogCursor{wire.ParseEntryID(id), partition} // for the id of a forged cursor, decodeLogCursor compares the result
}

// Compare orders positions by time, and then by partition.
func (c LogCursor) Compare(d LogCursor) int {
	return cmp.Or(c.EntryID.Compare(d.EntryID), cmp.Compare(c.partition, d.partition))
}

// name names an entry about an article. Entries of two partitions may have the same id, but an article is in one.
func (c LogCursor) name(log string, article site.ArticleID) string {
	return log + ":" + c.String() + "-" + strconv.Itoa(int(article))
}

// bound is the id as a bound of a range of the stream.
func (c LogCursor) bound(inclusive bool) string {
	if inclusive {
		return c.String()
	}
	return "(" + c.String()
}

func (c LogCursor) encode() string {
	return site.EncodeCursor(moderationList, c.String(), strconv.Itoa(c.partition))
}

func decodeLogCursor(field, text string) (LogCursor, error) {
	parts, err := site.DecodeCursor(field, moderationList, text)
	if err != nil {
		return LogCursor{}, err
	}
	if len(parts) == 2 {
		partition, err := strconv.Atoi(parts[1])
		c := NewLogCursor(parts[0], partition)
		// Redis gives no entry the lowest or the highest id, and refuses a range beyond them.
		extreme := c.Milliseconds|c.Sequence == 0 || c.Milliseconds&c.Sequence == math.MaxUint64
		if err == nil && c.String() == parts[0] && !extreme {
			return c, nil
		}
	}
	return LogCursor{}, site.Refuse(site.Invalid, field, "%s is not a cursor of an entry", field)
}

const (
	// logBatch is how many entries are read at once to find those of a few kinds or of one target.
	logBatch = 500
	// maxLogBatches is how often one page reads further.
	maxLogBatches = 10
)

// hasNoArticle reports whether an action is on a user, a host or a group.
func hasNoArticle(target string) bool {
	return slices.ContainsFunc([]string{site.UserPrefix, site.HostPrefix, site.GroupPrefix}, func(prefix string) bool {
		return strings.HasPrefix(target, prefix) && len(target) > len(prefix)
	})
}

// ParseTarget parses the target of an action: an article by its id or its number, a user, a host or a group. It returns
// the form of ModerationEntry.Target. The Refusal is Invalid for anything else.
func ParseTarget(text string) (string, error) {
	if name, is := strings.CutPrefix(text, site.UserPrefix); is {
		user, err := site.ParseUserName(name)
		return user.Member(), err
	}
	if name, is := strings.CutPrefix(text, site.HostPrefix); is {
		host, err := site.ParseHostName(name)
		return site.HostPrefix + string(host), err
	}
	if name, is := strings.CutPrefix(text, site.GroupPrefix); is {
		group, err := site.ParseGroupName(name)
		return site.GroupPrefix + string(group), err
	}
	id, err := site.ParseArticleID(text)
	if err != nil {
		return "", site.Refuse(site.Invalid, "target", "%s is neither an article, such as article:17, nor user:alice, host:go.dev or group:go", site.Shown(text))
	}
	return id.String(), nil
}

// Actions selects actions of the moderation log.
type Actions struct {
	Target string           // as ParseTarget returns it; empty: any
	Kinds  []ModerationKind // none: all
}

func (a Actions) has(e ModerationEntry) bool {
	return (a.Target == "" || a.Target == e.Target) && (len(a.Kinds) == 0 || slices.Contains(a.Kinds, e.Kind))
}

// Actions reads a page of the moderation log with the actions on users, hosts and groups, newest entry first. looked is
// the number of entries read, at most 5,000: a page of few kinds, or of one target, may have fewer actions than
// requested, or none, although others follow; PageInfo says so, and its EndCursor is after all entries that were read.
// Invalid requests are refused as by Walk.
func (r *Log) Actions(ctx context.Context, a Actions, first *int, after *string) (entries []ModerationEntry, info site.PageInfo, looked int, err error) {
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, r.store.Rules.PageSize, decodeLogCursor)
	if err != nil {
		return nil, info, 0, err
	}
	var only *int
	switch id, err := site.ParseArticleID(a.Target); {
	case a.Target == "":
	case err == nil:
		only = new(r.store.Index(id))
	default:
		only = new(0) // see deny.lua and describe.lua
	}
	size := q.Size
	if a.Target != "" || len(a.Kinds) > 0 {
		q.Size = logBatch
	}
	info.HasPreviousPage = q.After != nil
	for range maxLogBatches {
		page, err := r.readLog(ctx, q, only)
		if err != nil {
			return nil, info, looked, err
		}
		info.HasNextPage = page.HasNext
		for i, e := range page.Items {
			looked++
			q.After = &page.Items[i].At
			info.EndCursor = new(e.At.encode())
			if entry, ok := e.shown(); ok && a.has(entry) {
				entries = append(entries, entry)
			}
			if len(entries) == size {
				info.HasNextPage = info.HasNextPage || i+1 < len(page.Items)
				break
			}
		}
		if !info.HasNextPage || len(entries) == size {
			break
		}
	}
	if len(entries) > 0 {
		info.StartCursor = &entries[0].Cursor
	}
	return entries, info, looked, nil
}
