package reports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
)

// Stored are an article's reports with decisions, without contacts, in an export.
type Stored struct {
	Last      int              `json:"last"` // the highest number that was given out
	Reports   []StoredReport   `json:"reports"`
	Decisions []StoredDecision `json:"decisions,omitempty"`
}

// StoredReport is a report in an export.
type StoredReport struct {
	Number    int           `json:"number"`
	Reason    Reason        `json:"reason"`
	At        int64         `json:"at"` // Unix seconds
	By        site.UserName `json:"by,omitempty"`
	Reference string        `json:"reference,omitempty"` // of a notice
	Digest    string        `json:"digest,omitempty"`    // of its secret
	Note      string        `json:"note,omitempty"`
}

// StoredDecision is a decision in an export.
type StoredDecision struct {
	Through int           `json:"through"`
	State   State         `json:"state"`
	At      int64         `json:"at"` // Unix seconds
	By      site.UserName `json:"by"`
	Answer  string        `json:"answer,omitempty"`
}

// Parse parses the hash flags: of an article; nil if it is empty.
func Parse(id site.ArticleID, hash map[string]string) (*Stored, error) {
	state, err := parseState(hash["0"], hash["decided"])
	if err != nil || state.last == 0 {
		return nil, err
	}
	stored := &Stored{Last: state.last, Reports: []StoredReport{}}
	for field, text := range hash {
		number, err := strconv.Atoi(field)
		if err != nil || number == 0 {
			continue
		}
		r, err := state.report(id, number, text, "")
		if err != nil {
			return nil, err
		}
		s := StoredReport{Number: number, Reason: r.Reason, At: r.At.Unix(), By: r.By, Reference: r.Reference, Note: site.ValidUTF8(r.Note)}
		if r.Kind == Notice {
			s.Digest = r.digest
		}
		stored.Reports = append(stored.Reports, s)
	}
	slices.SortFunc(stored.Reports, func(a, b StoredReport) int { return a.Number - b.Number })
	for _, through := range state.through {
		decision, err := parseDecision(id, through, hash[decisionField(through)])
		if err != nil {
			return nil, err
		}
		stored.Decisions = append(stored.Decisions, decision)
	}
	return stored, nil
}

// Validate returns an error for reports that no script has written.
func (s *Stored) Validate() error {
	if s == nil {
		return nil
	}
	last := 0
	for _, r := range s.Reports {
		note, broken := site.CheckNote("note", r.Note, maxExplanation)
		isUser := r.By != "" && r.Reference == "" && r.Digest == ""
		isNotice := r.By == "" && isReference(r.Reference) && r.Reference != "" && len(r.Digest) == len(digestOf("")) && !strings.ContainsAny(r.Digest, " \n")
		switch {
		case r.Number <= last || r.Number > s.Last:
			return errors.New("reports: they are not sorted, or not unique")
		case len(broken) > 0 || note != r.Note || !slices.Contains(allReasons, r.Reason) || strings.Contains(string(r.By), "\n") || r.At < 0 || r.At > site.MaxExact:
			return errors.New("reports: one has no valid user, reason, note or time")
		case !isUser && !isNotice:
			return errors.New("reports: one has neither a user, nor a reference and a digest")
		}
		last = r.Number
	}
	last = 0
	for _, d := range s.Decisions {
		line, broken := site.CheckStoredLine("answer", d.Answer, site.MaxReason)
		if d.Through <= last || d.Through > s.Last || d.State != Acted && d.State != Dismissed || d.By == "" || len(broken) > 0 || line != d.Answer || d.At < 0 || d.At > site.MaxExact {
			return errors.New("reports: a decision is invalid")
		}
		last = d.Through
	}
	return nil
}

// Put queues the commands that store the reports of an imported article, and enter them into the lists of its
// reporters. It is safe to repeat.
func (r *Reports) Put(ctx context.Context, pipe redis.Pipeliner, id site.ArticleID, s *Stored) {
	p, decided, decisions := r.store.Partition(id), 0, ""
	var fields []any
	var ends time.Time
	for _, d := range s.Decisions {
		decided, ends = d.Through, time.Unix(d.At, 0).Add(Kept)
		decisions += fmt.Sprintf(" %d", d.Through)
		fields = append(fields, decisionField(d.Through), fmt.Sprintf("%s %d %s\n%s", d.State, d.At, d.By.Member(), d.Answer))
	}
	if decisions != "" {
		fields = append(fields, "decided", decisions)
	}
	open, illegal, notices, since := 0, 0, 0, int64(0)
	for _, report := range s.Reports {
		by, digest := report.By.Member(), "-"
		if report.Reference != "" {
			by, digest = noticePrefix+report.Reference, report.Digest
		} else {
			at := r.store.Home(report.By).Reported(report.By)
			pipe.ZAddNX(ctx, at, redis.Z{Score: float64(report.At), Member: id.Number()})
			pipe.Expire(ctx, at, reportedKept)
		}
		fields = append(fields, by, report.Number, strconv.Itoa(report.Number), fmt.Sprintf("%s %d %s %s\n%s", report.Reason, report.At, digest, by, report.Note))
		if report.Number <= decided {
			continue
		}
		if open++; open == 1 || report.At < since {
			since = report.At
		}
		if report.Reason == Illegal {
			illegal++
		}
		if report.Reference != "" {
			notices++
		}
	}
	fields = append(fields, "0", fmt.Sprintf("%d %d %d %d %d", s.Last, open, since, illegal, notices))
	pipe.HSet(ctx, p.Flags(id), fields...)
	if open == 0 {
		pipe.Expire(ctx, p.Flags(id), max(ends.Sub(r.store.Now()), time.Hour).Truncate(time.Second))
		return
	}
	score := float64(since)
	if illegal > 0 {
		score -= 1e10
	}
	pipe.ZAdd(ctx, p.Flagged(), redis.Z{Score: score, Member: id.Number()})
}
