package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

const (
	// MaxNote is the maximum length of a user's note, characters.
	MaxNote = 500

	// mostReported is the maximum number of articles in the list of a user's reports.
	mostReported = 1000
	// reportedKept is how long that is kept after the last report: long enough for a late decision.
	reportedKept = 2 * Kept
	// maxStale is how often a call is repeated because reports were decided meanwhile.
	maxStale = 100
)

// Flag reports an article to the moderators. A user has one report of each article: a second call changes it while it
// is open. The same report again is a no-op, not an error.
//
// The Refusal is NotFound if the article does not exist or is deleted, Forbidden if it is the user's own, Conflict if the report
// is decided, and Invalid or TooLong for an invalid reason or note.
func (r *Reports) Flag(ctx context.Context, by site.UserName, id site.ArticleID, reason Reason, note string) (*Report, error) {
	note, broken := site.CheckNote("note", note, MaxNote)
	if !slices.Contains(allReasons, reason) {
		broken = append(broken, site.Refuse(site.Invalid, "reason", "there is no such reason")...)
	}
	if len(broken) > 0 {
		return nil, broken
	}
	f := filing{by: by.Member(), reason: reason, note: note, digest: "-", onlyCheck: 1}
	if err := r.flagged(ctx, id, f); err != nil {
		return nil, err
	}
	// The list comes first: it may have an article too much, but never one too few.
	_, err := r.store.Call(ctx, reportedScript, []string{
		r.store.Home(by).Reported(by), // KEYS[1] reported
	}, []any{
		id.Number(),                // ARGV[1] number
		mostReported,               // ARGV[2] most
		site.Seconds(reportedKept), // ARGV[3] kept
		r.store.ScriptNow(),        // ARGV[4] now
	})
	if err != nil {
		return nil, failover.Wrap("report "+id.String(), err)
	}
	f.onlyCheck = 0
	if err := r.flagged(ctx, id, f); err != nil {
		return nil, err
	}
	reports, err := r.find(ctx, []filed{{id, by.Member()}})
	if err != nil {
		return nil, err
	}
	return reports[0], nil
}

// flagged calls flag.lua for a user, and returns the Refusal of Flag if the article cannot be reported.
func (r *Reports) flagged(ctx context.Context, id site.ArticleID, f filing) error {
	status, err := r.flag(ctx, id, f)
	switch {
	case err != nil:
		return failover.Wrap("report "+id.String(), err)
	case status == "NOT_FOUND":
		return site.InField("target", site.NoArticle(id))
	case status == "FORBIDDEN":
		return site.Refuse(site.Forbidden, "target", "this is your own article: edit or delete it")
	case status == "DECIDED":
		return site.Refuse(site.Conflict, "target", "your report of %v was decided already, and cannot be changed", id)
	}
	return nil
}

// filing is a report as flag.lua takes it.
type filing struct {
	by           string // the member of the user, or ! and the reference of a notice
	reason       Reason
	note         string
	digest       string
	contact      []byte // sealed; nil: none
	decisionsFor int    // how often reports were decided, as expected
	onlyCheck    int    // 1: nothing is reported yet
}

// flag calls flag.lua, and returns its status.
func (r *Reports) flag(ctx context.Context, id site.ArticleID, f filing) (status string, err error) {
	p := r.store.Partition(id)
	for range maxStale {
		scriptKeys := []string{
			p.Article(id), // KEYS[1] article
			p.Flags(id),   // KEYS[2] flags
			p.Flagged(),   // KEYS[3] flagged
			p.Events(),    // KEYS[4] events
		}
		if f.contact != nil {
			scriptKeys = append(scriptKeys, p.Contact(id, f.decisionsFor)) // KEYS[5] contacts
		}
		answer, err := r.store.Call(ctx, flagScript, scriptKeys, []any{
			id.Number(),                 // ARGV[1] number
			f.by,                        // ARGV[2] by
			string(f.reason),            // ARGV[3] reason
			f.note,                      // ARGV[4] note
			f.digest,                    // ARGV[5] digest
			f.contact,                   // ARGV[6] contact
			f.decisionsFor,              // ARGV[7] decisions
			r.store.ScriptNow(),         // ARGV[8] now
			r.store.Rules.RankingText(), // ARGV[9] ranking
			f.onlyCheck,                 // ARGV[10] only_check
		})
		switch {
		case err != nil:
			return "", err
		case answer.Status() == "STALE":
			f.decisionsFor = int(answer.Number(1))
		default:
			return answer.Status(), nil
		}
	}
	return "", errKeepChanging
}

var errKeepChanging = fmt.Errorf("%w: its reports are decided all the time", failover.ErrUnavailable)

// Settling is a moderator's decision about reports of an article.
type Settling struct {
	Through  int      // number of the last report that it decides
	State    State    // Acted or Dismissed
	Decision string   // the answer to the reporters, on a line of at most 500 characters
	Why      site.Why // for the moderation log, and for the poster if the article is deleted
}

// Check returns the decision as it is stored, or a Refusal: Invalid or TooLong.
func (s Settling) Check() (Settling, error) {
	decision, broken := site.CheckLine("decision", s.Decision, site.MaxReason)
	why, refusal := s.Why.Check()
	if broken = append(broken, refusal...); len(broken) > 0 {
		return s, broken
	}
	s.Decision, s.Why = decision, why
	return s, nil
}

// Settle decides the open reports of an article up to s.Through; Check must have returned s. The same decision again is
// a no-op, not an error, so the call is safe to repeat.
//
// The Refusal is NotFound if the article does not exist, and Conflict if none of these reports is open.
func (r *Reports) Settle(ctx context.Context, id site.ArticleID, by site.Actor, s Settling) error {
	p := r.store.Partition(id)
	answer, err := r.Decide(ctx, id, s, func(reportKeys []string, settled string) (wire.Reply, error) {
		// KEYS[1] article, KEYS[2] flags, KEYS[3] flagged, KEYS[4] contacts, KEYS[5] later_contacts, KEYS[6] log,
		// KEYS[7] events
		scriptKeys := append(append([]string{p.Article(id)}, reportKeys...), p.Moderation(), p.Events())
		return r.store.Call(ctx, settleScript, scriptKeys, []any{
			id.String(),                 // ARGV[1] member
			by.Name.Member(),            // ARGV[2] by
			by.ViaMember(),              // ARGV[3] via
			settled,                     // ARGV[4] settled
			s.Why.Reason,                // ARGV[5] reason
			string(s.Why.Ground),        // ARGV[6] ground
			s.Why.Basis,                 // ARGV[7] basis
			site.ModerationEntries,      // ARGV[8] max_entries
			r.store.ScriptNow(),         // ARGV[9] now
			r.store.Rules.RankingText(), // ARGV[10] ranking
		})
	})
	if err != nil {
		return failover.Wrap("settle the reports of "+id.String(), err)
	}
	if answer.Status() == "NOT_FOUND" {
		return site.InField("target", site.NoArticle(id))
	}
	return nil
}

// ReportKeys returns the keys of an article's reports, in the order of the scripts that decide them. decisions is the
// number of earlier decisions.
func (r *Reports) ReportKeys(id site.ArticleID, decisions int) []string {
	p := r.store.Partition(id)
	return []string{p.Flags(id), p.Flagged(), p.Contact(id, decisions), p.Contact(id, decisions+1)}
}

// Decide calls a script that decides reports: settle.lua, or that of an action which also decides them. call gets
// ReportKeys and the argument for settling_of, and may be called several times. The Refusal is Conflict if none of
// these reports is open.
func (r *Reports) Decide(ctx context.Context, id site.ArticleID, s Settling, call func(reportKeys []string, settled string) (wire.Reply, error)) (wire.Reply, error) {
	for range maxStale {
		state, err := r.state(ctx, id)
		if err != nil {
			return nil, err
		}
		decisions := len(state.through)
		settled := fmt.Sprintf("%d %s %d %d %d\n%s", s.Through, s.State, decisions, site.Seconds(r.o.ContactKept), site.Seconds(Kept), s.Decision)
		answer, err := call(r.ReportKeys(id, decisions), settled)
		if err != nil {
			return nil, err
		}
		switch answer.Status() {
		case "STALE_REPORTS":
		case "CONFLICT":
			return nil, site.Refuse(site.Conflict, "throughReport", "no report up to this one is open: they were decided or changed, so look again")
		default:
			return answer, nil
		}
	}
	return nil, errKeepChanging
}

// state reads all reports of an article.
func (r *Reports) state(ctx context.Context, id site.ArticleID) (state, error) {
	values, err := r.store.Client.HMGet(wire.Reading(ctx), r.store.Partition(id).Flags(id), stateFields...).Result()
	if err != nil {
		return state{}, err
	}
	return parseState(values[0], values[1])
}

var stateFields = []string{"0", "decided"}

// isReference reports whether a text can be the reference of a notice, so that it is safe in a field of a hash.
func isReference(text string) bool {
	return len(text) <= maxReference && !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	})
}
