package redisrepo

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ModerationKind is what was done.
type ModerationKind string

// The kinds of entries.
const (
	LogDeleted   ModerationKind = "deleted"   // by a moderator or by the poster
	LogUndeleted ModerationKind = "undeleted" // by a moderator
	LogRegrouped ModerationKind = "regrouped" // by a moderator who is not the poster
)

// ModerationEntry is an entry of the moderation log.
type ModerationEntry struct {
	Kind          ModerationKind
	Article       ArticleID
	By            UserName
	At            time.Time   // UTC, whole seconds
	Before, After []GroupName // the article's groups, sorted; of a regrouping only
	Cursor        string
}

// moderationList is the name of the log in its cursors.
const moderationList = "moderation"

// ModerationLog reads a part of the moderation log, the newest entry first, in
// one round trip. The log keeps the last 100,000 entries of each partition, or a
// few more. It refuses what Walk does.
func (r *Repo) ModerationLog(ctx context.Context, s Span) ([]ModerationEntry, PageInfo, error) {
	most, last, err := r.size(s)
	if err != nil {
		return nil, PageInfo{}, err
	}
	after, err := entryPlaceOf("after", s.After)
	if err != nil {
		return nil, PageInfo{}, err
	}
	before, err := entryPlaceOf("before", s.Before)
	if err != nil {
		return nil, PageInfo{}, err
	}
	// One more than asked for tells whether there is more; what lies beyond the
	// cursors has to be looked for.
	count := int64(most) + 1
	var parts, fronts, behinds []*redis.XMessageSliceCmd
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		parts, fronts, behinds = nil, nil, nil
		for i, p := range r.partitions {
			newest, oldest := "+", "-"
			if after != nil {
				newest = after.older(i)
				fronts = append(fronts, pipe.XRangeN(ctx, p.moderation(), after.notOlder(i), "+", 1))
			}
			if before != nil {
				oldest = before.newer(i)
				behinds = append(behinds, pipe.XRangeN(ctx, p.moderation(), "-", before.notNewer(i), 1))
			}
			if last {
				parts = append(parts, pipe.XRangeN(ctx, p.moderation(), oldest, newest, count))
			} else {
				parts = append(parts, pipe.XRevRangeN(ctx, p.moderation(), newest, oldest, count))
			}
		}
	})
	if err != nil {
		return nil, PageInfo{}, storeError("read the moderation log", err)
	}
	var found []logged
	var info PageInfo
	for i := range r.partitions {
		for _, message := range parts[i].Val() {
			found = append(found, logged{newEntryPlace(message.ID, i), message.Values})
		}
		info.HasPreviousPage = info.HasPreviousPage || after != nil && len(fronts[i].Val()) > 0
		info.HasNextPage = info.HasNextPage || before != nil && len(behinds[i].Val()) > 0
	}
	slices.SortFunc(found, func(a, b logged) int { return b.place.compare(a.place) })
	if extra := len(found) - most; extra > 0 && last {
		found, info.HasPreviousPage = found[extra:], true
	} else if extra > 0 {
		found, info.HasNextPage = found[:most], true
	}
	entries := make([]ModerationEntry, 0, len(found))
	for _, f := range found {
		entry, cursor := f.entry(), f.place.cursor()
		if info.StartCursor == nil {
			info.StartCursor = &cursor
		}
		info.EndCursor = &cursor
		if entry != nil {
			entries = append(entries, *entry)
		}
	}
	return entries, info, nil
}

// logged is an entry as it is in the stream.
type logged struct {
	place  entryPlace
	fields map[string]any
}

// entry is nil for what record in shared.lua did not write: like articles that
// are none, it is passed over.
func (l logged) entry() *ModerationEntry {
	field := func(name string) string {
		text, _ := l.fields[name].(string)
		return text
	}
	id, err := ParseArticleID(field("article"))
	at, atErr := parseNumber(field("at"))
	if err != nil || atErr != nil {
		return nil
	}
	return &ModerationEntry{
		Kind: ModerationKind(field("kind")), Article: id, By: userOf(field("by")), At: unixTime(at),
		Before: groupNames(field("before")), After: groupNames(field("after")), Cursor: l.place.cursor(),
	}
}

// entryPlace is where an entry is in the log. Ids rise within a stream; those of
// two partitions may be the same, and then the partition decides.
type entryPlace struct {
	milliseconds, sequence uint64
	partition              int
}

func newEntryPlace(id string, partition int) entryPlace {
	milliseconds, sequence, _ := strings.Cut(id, "-")
	p := entryPlace{partition: partition}
	p.milliseconds, _ = strconv.ParseUint(milliseconds, 10, 64) // Redis gave it
	p.sequence, _ = strconv.ParseUint(sequence, 10, 64)
	return p
}

func (p entryPlace) compare(q entryPlace) int {
	return cmp.Or(cmp.Compare(p.milliseconds, q.milliseconds), cmp.Compare(p.sequence, q.sequence), cmp.Compare(p.partition, q.partition))
}

func (p entryPlace) id() string {
	return strconv.FormatUint(p.milliseconds, 10) + "-" + strconv.FormatUint(p.sequence, 10)
}

// older, newer, notOlder and notNewer are bounds for the stream of a partition:
// its entry of the same id is older than this place in a lower partition, and
// newer in a higher one.
func (p entryPlace) older(partition int) string    { return p.bound(partition < p.partition) }
func (p entryPlace) newer(partition int) string    { return p.bound(partition > p.partition) }
func (p entryPlace) notOlder(partition int) string { return p.bound(partition >= p.partition) }
func (p entryPlace) notNewer(partition int) string { return p.bound(partition <= p.partition) }

func (p entryPlace) bound(with bool) string {
	if with {
		return p.id()
	}
	return "(" + p.id()
}

func (p entryPlace) cursor() string {
	return encodeCursor(moderationList, p.id(), strconv.Itoa(p.partition))
}

// entryPlaceOf reads a cursor of the log; nil for none.
func entryPlaceOf(field string, cursor *string) (*entryPlace, error) {
	if cursor == nil {
		return nil, nil
	}
	parts, err := decodeCursor(field, moderationList, *cursor)
	if err != nil {
		return nil, err
	}
	if len(parts) == 2 {
		partition, err := strconv.Atoi(parts[1])
		if p := newEntryPlace(parts[0], partition); err == nil && p.id() == parts[0] {
			return &p, nil
		}
	}
	return nil, refuse(Invalid, field, "%s is not a cursor of an entry", field)
}
