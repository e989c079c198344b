// Package reports stores reports of articles by users, and notices of illegal content by any client, in one queue for
// moderators, and records decisions.
//
// All of an article's reports are in its partition, in one hash: see keys.Kinds. A decision is about the reports up to
// a number, so later reports, and those that were changed since, stay open.
package reports

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontpage/redisrepo/events"
	_ "frontpage/redisrepo/rankings" // worth.lua
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	_ "frontpage/redisrepo/views" // append.lua
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	flagScript     = wire.Script(luaFiles, "flag.lua")
	settleScript   = wire.Script(luaFiles, "settle.lua")
	reportedScript = wire.Script(luaFiles, "reported.lua")
)

// Reports are the reports of the articles of a site.
type Reports struct {
	store *wire.Store
	o     Options
}

// Options say how notices are kept.
type Options struct {
	Box         *secretbox.Box // encrypts contacts of notices; nil: no notices are accepted
	ContactKept time.Duration
	Origin      string // of the site's pages, such as https://news.example.org; empty: locations may name any host
}

// DefaultContactKept is how long the contact of a notice is kept after the decision, by default.
const DefaultContactKept = 180 * site.Day

// Kept is how long reports are kept after the last decision. Contacts are not kept longer.
const Kept = 400 * site.Day

// New returns the reports of a site.
func New(store *wire.Store, o Options) *Reports {
	if o.ContactKept == 0 {
		o.ContactKept = DefaultContactKept
	}
	return &Reports{store, o}
}

// Kind is the kind of a report, by its sender.
type Kind string

// The kinds of reports.
const (
	Flag   Kind = "flag"   // a signed-in user
	Notice Kind = "notice" // a notice of illegal content, which needs no sign-in
)

// Reason is what is wrong with an article.
type Reason string

// The reasons.
const (
	Spam      Reason = "spam"
	Abuse     Reason = "abuse"
	OffTopic  Reason = "off_topic"
	Duplicate Reason = "duplicate"
	Illegal   Reason = "illegal"
	Other     Reason = "other"
)

var allReasons = []Reason{Spam, Abuse, OffTopic, Duplicate, Illegal, Other}

// State is the outcome of a report.
type State string

// The states.
const (
	Open      State = "open"
	Acted     State = State(events.LogActed)     // a moderator acted on it
	Dismissed State = State(events.LogDismissed) // a moderator rejected it
)

// Report is a report of an article.
type Report struct {
	Article   site.ArticleID
	Number    int // among those of the article; a change gives it a new one
	Kind      Kind
	Reason    Reason
	Note      string
	At        time.Time     // when it was first made, UTC, whole seconds
	By        site.UserName // empty for a notice
	Reference string        // of a notice; empty for a user's

	State     State
	DecidedAt *time.Time // UTC, whole seconds; nil while it is open
	Decision  *string    // the answer to the reporter; nil: none

	digest string // of the secret of a notice
	batch  int    // which key has the contact
}

// ID is the report's id, such as report:17.3.
func (r *Report) ID() string { return fmt.Sprintf("%s%d.%d", idPrefix, r.Article, r.Number) }

// NoteIfAny returns the note, nil if it is empty.
func (r *Report) NoteIfAny() *string { return site.Optional(r.Note) }

// ReferenceIfAny returns the reference of a notice, nil for a user's report.
func (r *Report) ReferenceIfAny() *string { return site.Optional(r.Reference) }

const idPrefix = "report:"

// ParseID parses the id of a report.
func ParseID(text string) (article site.ArticleID, number int, err error) {
	left, right, _ := strings.Cut(strings.TrimPrefix(text, idPrefix), ".")
	article, err = site.ParseArticleID(left)
	if err == nil {
		number, err = strconv.Atoi(right)
	}
	if r := (&Report{Article: article, Number: number}); err != nil || number < 1 || r.ID() != text {
		return 0, 0, site.Refuse(site.Invalid, "throughReport", "%s is not the id of a report, such as report:17.3", site.Shown(text))
	}
	return article, number, nil
}

// state is what the fields 0 and decided of flags: say of all reports of an article.
type state struct {
	last, open, notices int
	since               time.Time
	through             []int // the numbers up to which reports were decided
}

// parseState parses replies that may be nil.
func parseState(head, decided any) (s state, err error) {
	text, _ := head.(string)
	if text == "" {
		return s, nil
	}
	var since, illegal int64
	if _, err := fmt.Sscanf(text, "%d %d %d %d %d", &s.last, &s.open, &since, &illegal, &s.notices); err != nil {
		return s, fmt.Errorf("reports are %q: %w", text, err)
	}
	s.since = time.Unix(since, 0).UTC()
	text, _ = decided.(string)
	for word := range strings.FieldsSeq(text) {
		number, err := strconv.Atoi(word)
		if err != nil {
			return s, fmt.Errorf("decided is %q", text)
		}
		s.through = append(s.through, number)
	}
	return s, nil
}

// decided is the number up to which all reports are decided.
func (s state) decided() int {
	if len(s.through) == 0 {
		return 0
	}
	return s.through[len(s.through)-1]
}

// batch returns how many decisions came before a report, and the number up to which the first one after it decided, 0 if none did.
func (s state) batch(number int) (before, through int) {
	before, _ = slices.BinarySearch(s.through, number)
	if before < len(s.through) {
		through = s.through[before]
	}
	return before, through
}

// decisionField is the field with the decision of the reports up to a number.
func decisionField(through int) string { return "=" + strconv.Itoa(through) }

// report parses a report as flag.lua writes it, and the decision of it, which is empty while it is open.
func (s state) report(article site.ArticleID, number int, text, decision string) (*Report, error) {
	first, note, _ := strings.Cut(text, "\n")
	words := strings.SplitN(first, " ", 4)
	if len(words) != 4 {
		return nil, fmt.Errorf("report %d of %v is %q", number, article, first)
	}
	at, err := site.ParseNumber(words[1])
	if err != nil {
		return nil, fmt.Errorf("report %d of %v: %w", number, article, err)
	}
	r := &Report{Article: article, Number: number, Kind: Flag, Reason: Reason(words[0]), Note: note, At: site.UnixTime(at), State: Open, digest: words[2]}
	if reference, isNotice := strings.CutPrefix(words[3], noticePrefix); isNotice {
		r.Kind, r.Reference = Notice, reference
	} else {
		r.By = site.UserOf(words[3])
	}
	r.batch, _ = s.batch(number)
	if decision == "" {
		return r, nil
	}
	d, err := parseDecision(article, number, decision)
	if err != nil {
		return nil, err
	}
	r.State, r.DecidedAt, r.Decision = d.State, new(time.Unix(d.At, 0).UTC()), site.Optional(d.Answer)
	return r, nil
}

// parseDecision parses what settling.lua writes of the reports up to a number.
func parseDecision(article site.ArticleID, number int, text string) (StoredDecision, error) {
	first, answer, _ := strings.Cut(text, "\n")
	words := strings.SplitN(first, " ", 3)
	if len(words) != 3 {
		return StoredDecision{}, fmt.Errorf("decision about report %d of %v is %q", number, article, first)
	}
	at, err := site.ParseNumber(words[1])
	if err != nil {
		return StoredDecision{}, fmt.Errorf("decision about report %d of %v: %w", number, article, err)
	}
	return StoredDecision{number, State(words[0]), int64(at), site.UserOf(words[2]), answer}, nil
}
