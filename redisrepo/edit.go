package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// newestVersions is how many of them are the newest in any case.
const newestVersions = site.MaxVersions - 2

// FieldBest is the field of a history that holds a VotedVersion; the others hold versions.
const FieldBest = "best"

// Edit is a change of an article. A nil field leaves its value unchanged.
type Edit struct {
	Title  *string  // as in a Draft
	Text   *string  // at most 10,000 characters; a blank one removes the text
	Groups []string // all groups that the article is to be in, at most 10

	// IfRevision, if not nil, is the revision that the caller has read: the edit is refused if the title, the text or the
	// groups have changed since. Votes do not matter.
	IfRevision *int64
	Why        site.Why // why a moderator edits another user's article; stored with the article, its event and the moderation log
}

// Edit changes an article and returns it. If the title or the text changes, the article keeps its earlier version: see
// Versions. An edit that changes nothing is a no-op, not an error, so the call is safe to repeat.
//
// The poster may change the title for Rules.EditWindow, the text for that time or while voting is open, whichever is
// longer, and the groups at any time. Moderators may change any article at any time; their changes of others' articles,
// or of reserved groups, are entered in the moderation log.
//
// The Refusal is NotFound if the article does not exist, Forbidden if the actor is neither its poster nor a moderator,
// EditClosed if it is too late, and Conflict if the article was changed after IfRevision; with Conflict the article is
// returned, too. It is Invalid or TooLong for invalid values, and for an edit that would leave neither a link nor a
// text. It is HostDenied if the text links to a denied host.
func (r *Repo) Edit(ctx context.Context, id site.ArticleID, by site.Actor, edit Edit) (article *site.Article, err error) {
	defer func() { r.Writes.Edits.count(true, err) }()
	change, err := edit.check()
	if err != nil {
		return nil, err
	}
	if broken := r.Store.Rules.CheckFamilies("groups", edit.Groups); len(broken) > 0 {
		return nil, broken
	}
	if broken := r.Denials.CheckLinks("", strings.TrimPrefix(change.text, "=")); len(broken) > 0 {
		return nil, broken
	}
	var reserved []site.GroupName // that it would be put into or taken out of
	answer, err := r.runWithGroups(id, "", func(e expected) (wire.Reply, error) {
		reserved, change.may = nil, by.Moderator
		if change.regroups {
			reserved = r.Store.Rules.Reserved(differing(site.GroupNames(e.groups), change.groups))
		}
		change.logged = len(reserved) > 0
		change.refused = change.logged && !by.Moderator && !by.Service
		return r.callEdit(ctx, id, by, change, e)
	})
	switch answer.Status() {
	case "REFUSED":
		return nil, site.RefuseReserved(reserved, edit.Groups)
	case "CONFLICT":
		article, err := r.Articles.ObserveReply(id, answer)
		if err != nil {
			return nil, err
		}
		return article, site.Refuse(site.Conflict, "ifRevision", "%v has been edited since: look at it as it is now, and edit that", id)
	case "CLOSED":
		return nil, r.editClosed(answer.Text(1))
	case "EMPTY":
		return nil, site.Refuse(site.Invalid, "text", "the article has no link, so it needs a text")
	}
	return r.changed("edit", id, answer, err)
}

// callEdit calls edit.lua for an article that is in the expected groups.
func (r *Repo) callEdit(ctx context.Context, id site.ArticleID, by site.Actor, change editChange, e expected) (wire.Reply, error) {
	p := r.Store.Partition(id)
	keys := append(make([]string, 0, 32),
		p.Article(id),           // KEYS[1] article
		p.History(id),           // KEYS[2] history
		p.Ranking(site.ByTime),  // KEYS[3] times
		p.Ranking(site.ByScore), // KEYS[4] scores
		p.Groups(),              // KEYS[5] group_names
		p.Moderation(),          // KEYS[6] log
		p.Sizes(),               // KEYS[7] sizes
		p.Events(),              // KEYS[8] events
	)
	if change.regroups {
		names := site.GroupNames(e.groups)
		for _, name := range change.groups {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		keys = lists.GroupKeys(keys, p, names...)
	}
	return r.Store.Call(ctx, editScript, keys, []any{
		id.String(),                              // ARGV[1] member
		by.Name.Member(),                         // ARGV[2] by
		change.may,                               // ARGV[3] may
		change.title,                             // ARGV[4] title
		change.text,                              // ARGV[5] text
		change.regroups,                          // ARGV[6] regroups
		site.GroupText(change.groups),            // ARGV[7] wanted
		e.groups,                                 // ARGV[8] current
		change.ifRevision,                        // ARGV[9] if_revision
		site.Seconds(r.Store.Rules.EditWindow),   // ARGV[10] edit_window
		site.Seconds(r.Store.Rules.VotingWindow), // ARGV[11] window
		site.MaxVersions,                         // ARGV[12] max_versions
		change.why.Reason,                        // ARGV[13] reason
		site.ModerationEntries,                   // ARGV[14] max_entries
		r.Store.ScriptNow(),                      // ARGV[15] now
		by.ViaMember(),                           // ARGV[16] via
		string(change.why.Ground),                // ARGV[17] ground
		change.why.Basis,                         // ARGV[18] basis
		change.logged,                            // ARGV[19] logged
		change.refused,                           // ARGV[20] refused
	})
}

// differing returns the names that are in one of the lists only.
func differing(a, b []site.GroupName) (names []site.GroupName) {
	for _, name := range slices.Concat(a, b) {
		if !slices.Contains(a, name) || !slices.Contains(b, name) {
			names = append(names, name)
		}
	}
	return names
}

func (r *Repo) editClosed(field string) error {
	if field == site.FieldTitle {
		return site.Refuse(site.EditClosed, field, "a title can be changed for %s after posting", formatWindow(r.Store.Rules.EditWindow))
	}
	return site.Refuse(site.EditClosed, field, "a text can be changed for %s after posting", formatWindow(r.Store.Rules.TextWindow()))
}

// CanEdit reports whether Edit would accept a change of at least the text by the actor now. Like CanVote, it uses this
// process's clock.
func (r *Repo) CanEdit(by site.Actor, a *site.Article) bool {
	return by.MayDelete(a) && (by.Moderator || !r.Store.Now().Truncate(time.Second).After(a.CreatedAt.Add(r.Store.Rules.TextWindow())))
}

// editChange is a checked edit, as edit.lua takes it.
type editChange struct {
	title      string // empty: it stays
	text       string // "=" and the text; empty: it stays
	regroups   bool
	groups     []site.GroupName
	ifRevision string // empty: any
	why        site.Why

	may     bool // whether the actor may change the articles of others, and at any time
	logged  bool // whether a change of the groups is entered in the log in any case
	refused bool // whether the groups may not change like this
}

// check returns what to store, or a Refusal with all errors of the edit.
func (e Edit) check() (editChange, error) {
	var c editChange
	var refusals, broken site.Refusal
	if e.Title == nil && e.Text == nil && e.Groups == nil {
		return c, site.Refuse(site.Invalid, "title", "give a new title, text or groups")
	}
	if e.Title != nil {
		c.title, broken = site.PostRules.CheckTitle(*e.Title)
		refusals = append(refusals, broken...)
	}
	if e.Text != nil {
		c.text, broken = site.PostRules.CheckText(e.Text)
		c.text = "=" + c.text
		refusals = append(refusals, broken...)
	}
	if c.regroups = e.Groups != nil; c.regroups {
		c.groups, broken = site.CheckGroups(e.Groups)
		refusals = append(refusals, broken...)
	}
	if e.IfRevision != nil {
		c.ifRevision = strconv.FormatInt(*e.IfRevision, 10)
	}
	c.why, broken = e.Why.Check()
	if refusals = append(refusals, broken...); len(refusals) > 0 {
		return c, refusals
	}
	return c, nil
}

// Versions returns the earlier versions of each article, newest first, up to most of each, in one round trip. Up to
// MaxVersions of an article are kept, so some in between may be missing.
func (r *Repo) Versions(ctx context.Context, articles []*site.Article, most int) ([][]*site.Version, error) {
	newest, whole := make([]*redis.SliceCmd, len(articles)), make([]*redis.MapStringStringCmd, len(articles))
	err := r.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, a := range articles {
			at, n := r.Store.Partition(a.ID).History(a.ID), min(a.Stored.Edits, int64(most))
			if n > newestVersions {
				whole[i] = pipe.HGetAll(ctx, at)
			} else if n > 0 {
				newest[i] = pipe.HMGet(ctx, at, versionNumbers(a.Stored.Edits, n)...)
			}
		}
	})
	if err != nil {
		return nil, failover.Wrap("read versions", err)
	}
	all := make([][]*site.Version, len(articles))
	for i, a := range articles {
		all[i] = []*site.Version{}
		var texts []string
		if whole[i] != nil {
			texts = newestFirst(whole[i].Val(), most)
		} else if newest[i] != nil {
			texts = present(newest[i].Val())
		}
		for _, text := range texts {
			version, err := site.ParseVersion(text)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", a.ID, err)
			}
			all[i] = append(all[i], version.Version())
		}
	}
	return all, nil
}

// versionNumbers returns the n newest of the numbers up to last, as fields of a history.
func versionNumbers(last, n int64) []string {
	numbers := make([]string, n)
	for i := range numbers {
		numbers[i] = strconv.FormatInt(last-int64(i), 10)
	}
	return numbers
}

// newestFirst returns the versions of a history, the newest first and most at most.
func newestFirst(history map[string]string, most int) (texts []string) {
	numbers := site.VersionNumbers(history)
	slices.Reverse(numbers)
	for _, n := range numbers[:min(len(numbers), most)] {
		texts = append(texts, history[strconv.FormatInt(n, 10)])
	}
	return texts
}

// present returns the texts of a reply, without those that were dropped since the article was read.
func present(values []any) (texts []string) {
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// VotedVersion names the version, other than the first, that got the most votes while it was shown. Like the first
// version, it is never dropped, so that many edits cannot hide what users voted for.
type VotedVersion struct {
	Number int64 `json:"number"` // of the edit that replaced it
	Votes  int64 `json:"votes"`  // net votes that it got
}

// Parse parses the field best of a history. An empty text is a no-op.
func (b *VotedVersion) Parse(text string) error {
	if text == "" {
		return nil
	}
	n, votes, _ := strings.Cut(text, " ")
	var errN, errV error
	b.Number, errN = strconv.ParseInt(n, 10, 64)
	b.Votes, errV = strconv.ParseInt(votes, 10, 64)
	return errors.Join(errN, errV)
}

// Format is the inverse of Parse.
func (b *VotedVersion) Format() string { return fmt.Sprintf("%d %d", b.Number, b.Votes) }
