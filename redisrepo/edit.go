package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// MaxVersions is how many earlier versions of an article are kept: the first, the one that got the most votes of the others,
// and the newest.
const MaxVersions = 20

// newestVersions is how many of them are the newest in any case.
const newestVersions = MaxVersions - 2

// fieldBest is the field of a history beside the versions: see VotedVersion.
const fieldBest = "best"

// maxReason is the maximum number of characters of a reason in the moderation log.
const maxReason = 500

// Edit is a change of an article. What is nil stays.
type Edit struct {
	Title  *string  // as in a Draft
	Text   *string  // at most 10,000 characters; a blank one removes the text
	Groups []string // all groups that the article is to be in, at most 10

	// IfRevision, if not nil, is a revision of the article that the caller knows: the edit is refused if the title, the
	// text or the groups have been changed since. Votes do not matter.
	IfRevision *int64
	Reason     *string // for the moderation log, at most 500 characters
}

// Edit changes an article and returns it. If the title or the text changes, the article keeps its earlier version: see
// Versions. An edit that changes nothing is a no-op, not an error, so the call is safe to repeat.
//
// The poster may change the title for Rules.EditWindow, the text while voting is open, and the groups at any time.
// Moderators may change any article at any time; what they change in the articles of others, or in reserved groups, is
// entered in the moderation log.
//
// The Refusal is NotFound if the article does not exist, Forbidden if the actor is neither its poster nor a moderator,
// EditClosed if it is too late, and Conflict if the article was changed after IfRevision: then the article is returned,
// too. It is Invalid or TooLong for invalid values, and for an edit that would leave neither a link nor a text.
func (r *Repo) Edit(ctx context.Context, id ArticleID, by Actor, edit Edit) (article *Article, err error) {
	defer func() { r.stats.edits.count(true, err) }()
	change, err := edit.check()
	if err != nil {
		return nil, err
	}
	if broken := r.rules.checkFamilies("groups", edit.Groups); len(broken) > 0 {
		return nil, broken
	}
	var reserved []GroupName // that it would be put into or taken out of
	answer, err := r.runWithGroups(ctx, id, "", func(e expected) (reply, error) {
		reserved = nil
		if change.regroups {
			reserved = slices.DeleteFunc(differing(groupNames(e.groups), change.groups), func(name GroupName) bool { return r.rules.family(name) == "" })
		}
		return r.callEdit(ctx, id, by, change, e, len(reserved) > 0)
	})
	if err != nil {
		return nil, storeError(fmt.Sprintf("edit %v", id), err)
	}
	if answer.status() == "RESERVED" {
		return nil, refuseReserved(reserved, edit.Groups)
	}
	return r.edited(id, answer)
}

// callEdit calls edit.lua for an article that is in the expected groups.
func (r *Repo) callEdit(ctx context.Context, id ArticleID, by Actor, change editChange, e expected, reserved bool) (reply, error) {
	p := r.partition(id)
	keys := append(make([]string, 0, 32),
		p.article(id),         // KEYS[1] article
		p.history(id),         // KEYS[2] history
		p.ranking(ByTime),     // KEYS[3] times
		p.ranking(ByScore),    // KEYS[4] scores
		p.groups(),            // KEYS[5] group_names
		p.changes(r.database), // KEYS[6] changes
		p.moderation(),        // KEYS[7] log
		p.sizes(),             // KEYS[8] sizes
		p.events(),            // KEYS[9] events
		p.clock(""),           // KEYS[10] clock
	)
	if change.regroups {
		names := slices.Concat(groupNames(e.groups), change.groups)
		keys = r.groupTopKeys(groupKeys(keys, p, names...), p, e.posted, names...)
	}
	return r.write(ctx, editScript, keys, []any{
		id.String(),                              // ARGV[1] member
		by.Name.member(),                         // ARGV[2] by
		by.Moderator,                             // ARGV[3] is_moderator
		change.title,                             // ARGV[4] title
		change.text,                              // ARGV[5] text
		change.regroups,                          // ARGV[6] regroups
		groupText(change.groups),                 // ARGV[7] wanted
		e.groups,                                 // ARGV[8] current
		change.ifRevision,                        // ARGV[9] if_revision
		seconds(r.rules.EditWindow),              // ARGV[10] edit_window
		seconds(r.rules.VotingWindow),            // ARGV[11] window
		MaxVersions,                              // ARGV[12] max_versions
		change.reason,                            // ARGV[13] reason
		moderationEntries,                        // ARGV[14] max_entries
		r.scriptNow(),                            // ARGV[15] now
		by.via(),                                 // ARGV[16] via
		reserved,                                 // ARGV[17] logged
		reserved && !by.Moderator && !by.Service, // ARGV[18] reserved
		r.on,                                     // ARGV[19] features
	})
}

// edited returns the article, or what refuses the edit.
func (r *Repo) edited(id ArticleID, answer reply) (*Article, error) {
	switch status := answer.status(); status {
	case "OK":
		return r.observeReply(id, answer)
	case "CONFLICT":
		article, err := r.observeReply(id, answer)
		if err != nil {
			return nil, err
		}
		return article, refuse(Conflict, "ifRevision", "%v has been edited since: look at it as it is now, and edit that", id)
	case "NOT_FOUND":
		return nil, noArticle(id)
	case "FORBIDDEN":
		return nil, refuse(Forbidden, "article", "only its poster and moderators can edit %v", id)
	case "CLOSED":
		return nil, r.editClosed(answer.text(1))
	case "EMPTY":
		return nil, refuse(Invalid, "text", "the article has no link, so it needs a text")
	default:
		return nil, fmt.Errorf("edit %v: the script replied %q", id, status)
	}
}

// differing returns the names that are in one of the lists only.
func differing(a, b []GroupName) (names []GroupName) {
	for _, name := range slices.Concat(a, b) {
		if !slices.Contains(a, name) || !slices.Contains(b, name) {
			names = append(names, name)
		}
	}
	return names
}

func (r *Repo) editClosed(field string) error {
	if field == fieldTitle {
		return refuse(EditClosed, field, "a title can be changed for %s after posting", formatWindow(r.rules.EditWindow))
	}
	return refuse(EditClosed, field, "a text can be changed for %s after posting", formatWindow(max(r.rules.EditWindow, r.rules.VotingWindow)))
}

// CanEdit reports whether Edit would accept a change of at least the text by the actor now. Like CanVote, it uses this
// process's clock.
func (r *Repo) CanEdit(by Actor, a *Article) bool {
	window := max(r.rules.EditWindow, r.rules.VotingWindow)
	return by.MayDelete(a) && (by.Moderator || !r.now().Truncate(time.Second).After(a.CreatedAt.Add(window)))
}

// editChange is a checked edit, as edit.lua takes it.
type editChange struct {
	title      string // empty: it stays
	text       string // "=" and the text; empty: it stays
	regroups   bool
	groups     []GroupName
	ifRevision string // empty: any
	reason     string
}

// check returns what to store, or a Refusal with all errors of the edit.
func (e Edit) check() (editChange, error) {
	var c editChange
	var refusals, broken Refusal
	if e.Title == nil && e.Text == nil && e.Groups == nil {
		return c, refuse(Invalid, "title", "give a new title, text or groups")
	}
	if e.Title != nil {
		c.title, broken = postRules.checkTitle(*e.Title)
		refusals = append(refusals, broken...)
	}
	if e.Text != nil {
		c.text, broken = postRules.checkText(e.Text)
		c.text = "=" + c.text
		refusals = append(refusals, broken...)
	}
	if c.regroups = e.Groups != nil; c.regroups {
		groups, err := parseGroups("groups", e.Groups)
		if errors.As(err, &broken) {
			refusals = append(refusals, broken...)
		} else if len(groups) > MaxGroups {
			refusals = append(refusals, tooManyGroups("groups", len(groups))...)
		}
		slices.Sort(groups)
		c.groups = groups
	}
	if e.IfRevision != nil {
		c.ifRevision = strconv.FormatInt(*e.IfRevision, 10)
	}
	c.reason, broken = checkReason(e.Reason)
	if refusals = append(refusals, broken...); len(refusals) > 0 {
		return c, refusals
	}
	return c, nil
}

// checkReason returns the reason for an entry of the moderation log, empty for none.
func checkReason(given *string) (string, Refusal) {
	if given == nil {
		return "", nil
	}
	reason := strings.TrimSpace(*given)
	if n := utf8.RuneCountInString(reason); n > maxReason {
		return "", refuse(TooLong, "reason", "the reason has at most %d characters, this one has %d", maxReason, n)
	}
	if !utf8.ValidString(reason) || strings.ContainsFunc(reason, postRules.isControl) {
		return "", refuse(Invalid, "reason", "the reason contains a control character: write it on one line of plain text")
	}
	return reason, nil
}

// Version is what an article was before an edit.
type Version struct {
	Title string
	Text  *string   // nil if it had none
	By    User      // who replaced it
	Until time.Time // when it was replaced, UTC
	Votes int       // net votes at that time
}

// Versions returns the earlier versions of each article, newest first and most at most, in one round trip. Up to
// MaxVersions of an article are kept, so between two of them others may be missing.
func (r *Repo) Versions(ctx context.Context, articles []*Article, most int) ([][]*Version, error) {
	newest, whole := make([]*redis.SliceCmd, len(articles)), make([]*redis.MapStringStringCmd, len(articles))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, a := range articles {
			at, n := r.partition(a.ID).history(a.ID), min(a.edits, int64(most))
			if n > newestVersions {
				whole[i] = pipe.HGetAll(ctx, at)
			} else if n > 0 {
				newest[i] = pipe.HMGet(ctx, at, versionNumbers(a.edits, n)...)
			}
		}
	})
	if err != nil {
		return nil, storeError("read versions", err)
	}
	all := make([][]*Version, len(articles))
	for i, a := range articles {
		all[i] = []*Version{}
		var texts []string
		if whole[i] != nil {
			texts = newestFirst(whole[i].Val(), most)
		} else if newest[i] != nil {
			texts = present(newest[i].Val())
		}
		for _, text := range texts {
			version, err := parseVersion(text)
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
	numbers := numbersOf(history)
	slices.Reverse(numbers)
	for _, n := range numbers[:min(len(numbers), most)] {
		texts = append(texts, history[strconv.FormatInt(n, 10)])
	}
	return texts
}

// numbersOf returns the numbers of the edits whose versions a history has, the oldest first.
func numbersOf(history map[string]string) (numbers []int64) {
	for field := range history {
		if n, err := strconv.ParseInt(field, 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
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

// VotedVersion names the version of an article that got the most votes while it was shown, of those after the first. It is
// kept like the first, so that an article that was voted on cannot be exchanged unseen by many edits.
type VotedVersion struct {
	Number int64 `json:"number"` // of the edit that replaced it
	Votes  int64 `json:"votes"`  // net votes that it got
}

// parse parses the field best of a history, and leaves zeros for none.
func (b *VotedVersion) parse(text string) error {
	if text == "" {
		return nil
	}
	n, votes, _ := strings.Cut(text, " ")
	var errN, errV error
	b.Number, errN = strconv.ParseInt(n, 10, 64)
	b.Votes, errV = strconv.ParseInt(votes, 10, 64)
	return errors.Join(errN, errV)
}

// format is the opposite of parse.
func (b *VotedVersion) format() string { return fmt.Sprintf("%d %d", b.Number, b.Votes) }

// StoredVersion is a Version as the store and an export have it.
type StoredVersion struct {
	// Number is that of the edit that replaced it; 0 in exports of earlier versions of Frontpage, which have the last ones
	// without a gap.
	Number int64 `json:"number,omitempty"`

	Title string   `json:"title"`
	Text  string   `json:"text,omitempty"`
	By    UserName `json:"by"`    // who replaced it
	Until float64  `json:"until"` // when it was replaced, Unix seconds
	Votes int64    `json:"votes"` // net votes at that time
}

// Version returns what the stored version is.
func (v StoredVersion) Version() *Version {
	version := &Version{Title: v.Title, By: User{Name: v.By}, Until: unixTime(v.Until), Votes: int(v.Votes)}
	if v.Text != "" {
		version.Text = &v.Text
	}
	return version
}

var errVersion = errors.New("a version of its history is malformed")

// parseVersion parses a version as edit.lua writes it: time, votes, bytes of the title and user on a line, the title and
// the text after it.
func parseVersion(value string) (v StoredVersion, err error) {
	line, rest, ok := strings.Cut(value, "\n")
	words := strings.SplitN(line, " ", 4)
	if !ok || len(words) < 4 {
		return v, errVersion
	}
	size, errS := strconv.Atoi(words[2])
	var errT, errV error
	v.Until, errT = parseNumber(words[0])
	v.Votes, errV = strconv.ParseInt(words[1], 10, 64)
	if errors.Join(errS, errT, errV) != nil || size < 0 || size > len(rest) {
		return v, errVersion
	}
	v.Title, v.Text, v.By = rest[:size], rest[size:], userOf(words[3])
	return v, nil
}

// format is the opposite of parseVersion.
func (v StoredVersion) format() string {
	return fmt.Sprintf("%s %d %d %s\n%s%s", number(v.Until), v.Votes, len(v.Title), v.By.member(), v.Title, v.Text)
}
