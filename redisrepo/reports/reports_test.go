package reports_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// confidential are the options of a site that takes notices.
func confidential(t *testing.T, secrets ...string) redisrepo.Option {
	t.Helper()
	return redisrepo.WithReports(reports.Options{Box: require.Value(secretbox.New(secrets...))(t), Origin: "https://news.example.org", ContactKept: 2 * site.Day})
}

var (
	oldSecret = strings.Repeat("old", 11)
	newSecret = strings.Repeat("new", 11)
)

// queued returns the whole queue as text: the articles with their open reports.
func queued(s *repotest.Site, kind *reports.Kind) (shown []string) {
	s.T.Helper()
	var after *string
	for {
		items, info, err := s.Reports.Queue(s.Ctx, kind, new(2), after)
		require.NoError(s.T, err)
		open := require.Value(s.Reports.OpenReports(s.Ctx, items, 100))(s.T)
		for i, item := range items {
			text := fmt.Sprint(item.Article.Number(), ":")
			for _, r := range open[i] {
				text += fmt.Sprint(" ", r.By, r.Reason)
			}
			if item.Open != len(open[i]) {
				text += fmt.Sprint(" of ", item.Open)
			}
			shown = append(shown, text)
		}
		if !info.HasNextPage {
			return shown
		}
		after = info.EndCursor
	}
}

func wantQueue(s *repotest.Site, want ...string) {
	s.T.Helper()
	if got := queued(s, nil); !slices.Equal(got, want) {
		s.T.Errorf("queue = %q, want %q", got, want)
	}
}

func settling(through int, state reports.State, decision string) reports.Settling {
	return reports.Settling{Through: through, State: state, Decision: decision}
}

// A user has one report of each article, and can change it while it is open.
func TestUsersReportAnArticleOnce(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		a, b := s.MustPost("alice", "go"), s.MustPost("alice", "go")
		first := s.MustFlag(a.ID, "bob", reports.Spam, "an advertisement")
		if again := s.MustFlag(a.ID, "bob", reports.Spam, "an advertisement"); again.ID() != first.ID() {
			t.Errorf("the same report has the ids %s and %s", first.ID(), again.ID())
		}
		s.Clock.Advance(time.Second)
		changed := s.MustFlag(a.ID, "bob", reports.Abuse, "")
		if changed.ID() == first.ID() || changed.Reason != reports.Abuse || changed.Note != "" || !changed.At.Equal(first.At) || changed.State != reports.Open {
			t.Errorf("first %+v, then %+v", first, changed)
		}
		wantQueue(s, a.ID.Number()+": bobabuse")
		_, err := s.Reports.Flag(s.Ctx, "alice", a.ID, reports.Spam, "")
		repotest.WantRefused(t, err, "FORBIDDEN target")
		_, err = s.Reports.Flag(s.Ctx, "bob", 999, reports.Spam, "")
		repotest.WantRefused(t, err, "NOT_FOUND target")
		_, err = s.Reports.Flag(s.Ctx, "bob", a.ID, "dull", strings.Repeat("x", 501))
		repotest.WantRefused(t, err, "TOO_LONG note", "INVALID reason")
		_, err = s.Reports.Flag(s.Ctx, "bob", a.ID, reports.Spam, "\x00")
		repotest.WantRefused(t, err, "INVALID note")
		s.MustDelete(b.ID, repotest.Alice())
		_, err = s.Reports.Flag(s.Ctx, "bob", b.ID, reports.Spam, "")
		repotest.WantRefused(t, err, "NOT_FOUND target")

		require.NoError(t, s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, settling(changed.Number, reports.Dismissed, "it is fine")))
		_, err = s.Reports.Flag(s.Ctx, "bob", a.ID, reports.Spam, "again")
		repotest.WantRefused(t, err, "CONFLICT target")
		if kept := s.MustFlag(a.ID, "bob", reports.Abuse, ""); kept.State != reports.Dismissed || *kept.Decision != "it is fine" || !kept.DecidedAt.Equal(s.Clock.Now()) {
			t.Errorf("decided: %+v", kept)
		}
		wantQueue(s)
		edges, info, err := s.Reports.Reported(s.Ctx, "bob", nil, nil)
		if err != nil || info.HasNextPage || len(edges) != 1 || edges[0].Node.ID() != changed.ID() || edges[0].Node.State != reports.Dismissed {
			t.Errorf("bob's reports: %+v, %+v, %v", edges, info, err)
		}
		s.WantClean()
	})
}

// The queue has illegal content first, and then what waits longest, over all partitions.
func TestTheQueueIsInOrder(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)), confidential(t, oldSecret))
		var posted []*site.Article
		for range 9 {
			posted = append(posted, s.MustPost("alice", "go"))
		}
		slices.SortFunc(posted, func(a, b *site.Article) int { return int(a.ID - b.ID) })
		id := func(i int) site.ArticleID { return posted[i].ID }
		for _, i := range []int{8, 3, 5} {
			s.MustFlag(id(i), "bob", reports.Spam, "")
			s.Clock.Advance(time.Second)
		}
		for _, i := range []int{7, 6, 4, 2} { // at once
			s.MustFlag(id(i), "bob", reports.OffTopic, "")
		}
		s.Clock.Advance(time.Second)
		s.MustFlag(id(8), "carol", reports.Other, "")
		s.MustFlag(id(1), "carol", reports.Illegal, "")
		s.MustFlag(id(5), "carol", reports.Illegal, "")
		want := []string{
			id(5).Number() + ": bobspam carolillegal", id(1).Number() + ": carolillegal", id(8).Number() + ": bobspam carolother", id(3).Number() + ": bobspam",
		}
		for _, i := range []int{2, 4, 6, 7} {
			want = append(want, id(i).Number()+": boboff_topic")
		}
		wantQueue(s, want...)
		if n := require.Value(s.Reports.QueueLength(s.Ctx))(t); n != 8 {
			t.Errorf("the queue has %d articles", n)
		}
		s.MustFlag(id(5), "carol", reports.Duplicate, "") // is not illegal any more
		wantQueue(s, slices.Concat(want[1:4], []string{id(5).Number() + ": bobspam carolduplicate"}, want[4:])...)
		s.Clock.Advance(time.Second)
		require.Value(s.Reports.Notify(s.Ctx, notice(id(3), id(0))))(t)
		flags, notices := reports.Flag, reports.Notice
		if got, want := queued(s, &notices), []string{id(3).Number() + ": bobspam illegal", id(0).Number() + ": illegal"}; !slices.Equal(got, want) {
			t.Errorf("notices = %q, want %q", got, want)
		}
		if got := queued(s, &flags); len(got) != 8 || !strings.HasPrefix(got[0], id(3).Number()+":") {
			t.Errorf("flags = %q", got)
		}
		_, _, err := s.Reports.Queue(s.Ctx, nil, nil, new("x"))
		repotest.WantRefused(t, err, "INVALID after")
		_, _, err = s.Reports.Queue(s.Ctx, nil, new(101), nil)
		repotest.WantRefused(t, err, "INVALID first")
		s.WantClean()
	})
}

// A decision is about the reports that the moderator has seen: what came later, or was changed, stays open.
func TestLaterReportsStayOpen(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		a := s.MustPost("alice", "go")
		s.MustFlag(a.ID, "bob", reports.Spam, "")
		seen := s.MustFlag(a.ID, "carol", reports.Illegal, "")
		s.Clock.Advance(time.Minute)
		s.MustFlag(a.ID, "dave", reports.Abuse, "")
		s.MustFlag(a.ID, "bob", reports.Spam, "worse than I thought")
		other := site.Actor{Name: "other", Moderator: true}
		dismiss := settling(seen.Number, reports.Dismissed, "no")
		require.NoError(t, s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, dismiss))
		wantQueue(s, a.ID.Number()+": daveabuse bobspam")
		require.NoError(t, s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, dismiss)) // the reply was lost
		for i, again := range []reports.Settling{settling(seen.Number, reports.Acted, "no"), settling(seen.Number, reports.Dismissed, "yes"), settling(1, reports.Dismissed, "no"), settling(99, reports.Dismissed, "no")} {
			if err := s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, again); err == nil {
				t.Errorf("decision %d is accepted", i)
			} else {
				repotest.WantRefused(t, err, "CONFLICT throughReport")
			}
		}
		repotest.WantRefused(t, s.Reports.Settle(s.Ctx, a.ID, other, dismiss), "CONFLICT throughReport")
		repotest.WantRefused(t, s.Reports.Settle(s.Ctx, 999, repotest.Moderator, dismiss), "NOT_FOUND target")

		items := require.Value(s.Reports.Items(s.Ctx, []site.ArticleID{a.ID}))(t)
		if items[0].Open != 2 || !items[0].Since.Equal(repotest.Opened) {
			t.Errorf("open: %+v, since %v", items[0], repotest.Opened)
		}
		s.Clock.Advance(time.Minute)
		removed := require.Value(s.SettleByDeleting(s.Ctx, a.ID, other, reports.Settling{Through: items[0].Latest, State: reports.Acted, Decision: "deleted", Why: site.Why{Ground: site.GroundRules, Reason: "spam"}}))(t)
		if removed.DeletedAt == nil || !removed.Removal.FromReport || removed.Removal.Reason != "spam" {
			t.Errorf("deleted: %+v, %+v", removed.DeletedAt, removed.Removal)
		}
		for name, want := range map[site.UserName]string{"bob": "acted deleted", "carol": "dismissed no", "dave": "acted deleted"} {
			edges, _, err := s.Reports.Reported(s.Ctx, name, nil, nil)
			require.NoError(t, err)
			if got := fmt.Sprint(edges[0].Node.State, " ", *edges[0].Node.Decision); got != want {
				t.Errorf("the answer to %s is %q, want %q", name, got, want)
			}
		}
		var logged []string
		log, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{})
		require.NoError(t, err)
		for _, e := range log {
			logged = append(logged, fmt.Sprint(e.Kind, " ", e.By))
		}
		if want := []string{"deleted other", "acted other", "dismissed mod"}; !slices.Equal(logged, want) {
			t.Errorf("log = %q, want %q", logged, want)
		}
		wantQueue(s)
		if restored := s.MustUndelete(a.ID); restored.Removal != nil {
			t.Errorf("restored with %+v", restored.Removal)
		}
		wantQueue(s) // what was decided stays decided
		if again := require.Value(s.Delete(s.Ctx, a.ID, repotest.Moderator, site.Why{Reason: "x"}))(t); again.Removal.FromReport {
			t.Error("a deletion without a report is from one")
		}
		s.WantClean()
	})
}

// Reports of an article that is deleted already can be decided by deleting it, and say why.
func TestReportsOfDeletedArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "go")
	deleting := func(report *reports.Report, why site.Why) reports.Settling {
		return reports.Settling{Through: report.Number, State: reports.Acted, Why: why}
	}
	r := s.MustFlag(a.ID, "bob", reports.Spam, "")
	_, err := s.SettleByDeleting(s.Ctx, a.ID, site.Actor{Name: "carol"}, deleting(r, site.Why{}))
	repotest.WantRefused(t, err, "FORBIDDEN article")
	wantQueue(s, "1: bobspam")
	s.MustDelete(a.ID, repotest.Moderator)
	wantQueue(s, "1: bobspam")
	got := require.Value(s.SettleByDeleting(s.Ctx, a.ID, repotest.Moderator, deleting(r, site.Why{Ground: site.GroundOther, Reason: "why"})))(t)
	if got.Removal == nil || !got.Removal.FromReport || got.Removal.Reason != "why" {
		t.Errorf("removal = %+v", got.Removal)
	}
	_, err = s.SettleByDeleting(s.Ctx, a.ID, repotest.Moderator, deleting(r, site.Why{Ground: site.GroundOther, Reason: "why"}))
	require.NoError(t, err)
	s.MustUndelete(a.ID)
	r = s.MustFlag(a.ID, "carol", reports.Spam, "")
	s.MustDelete(a.ID, repotest.Alice())
	got = require.Value(s.SettleByDeleting(s.Ctx, a.ID, repotest.Moderator, deleting(r, site.Why{Reason: "why"})))(t)
	if got.Removal != nil || *got.DeletedBy != "alice" {
		t.Errorf("an own deletion has %+v by %v", got.Removal, *got.DeletedBy)
	}
	wantQueue(s)
	s.WantClean()
}

// Of two moderators who decide at once, one decides; many decisions and reports at once leave what they would one after the other.
func TestModeratorsDecideAtOnce(t *testing.T) { // with the race detector
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		for range 10 {
			a := s.MustPost("alice", "go")
			r := s.MustFlag(a.ID, "bob", reports.Spam, "")
			won, conflicts := make([]bool, 4), make([]error, 4)
			repotest.Together(4, func(i int) {
				by := site.Actor{Name: site.UserName(fmt.Sprint("mod", i)), Moderator: true}
				decision := settling(r.Number, reports.Dismissed, by.Name.Member())
				if i%2 == 0 {
					_, conflicts[i] = s.SettleByDeleting(s.Ctx, a.ID, by, decision)
				} else {
					conflicts[i] = s.Reports.Settle(s.Ctx, a.ID, by, decision)
				}
				won[i] = conflicts[i] == nil
			})
			winner := slices.Index(won, true)
			for i, err := range conflicts {
				if i != winner {
					repotest.WantRefused(t, err, "CONFLICT throughReport")
				}
			}
			found := require.Value(s.Reports.Flag(s.Ctx, "bob", a.ID, reports.Spam, ""))(t)
			if want := fmt.Sprint("user:mod", winner); *found.Decision != want {
				t.Errorf("decided %q, want %q", *found.Decision, want)
			}
			if deleted := article0(s, a.ID).DeletedAt != nil; deleted != (winner%2 == 0) {
				t.Errorf("moderator %d won, and the article is deleted: %t", winner, deleted)
			}
		}
		wantQueue(s)
		s.WantClean()
	})
}

// article0 reads an article that may be deleted.
func article0(s *repotest.Site, id site.ArticleID) *site.Article {
	s.T.Helper()
	if a, err := s.Deleted(s.Ctx, id); err == nil {
		return a
	}
	return s.Article(id)
}

// A model keeps what each user reported last; after many calls at once the store has the same.
func TestReportsWhileModeratorsDecide(t *testing.T) { // with the race detector
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		a := s.MustPost("alice", "go")
		const reporters, rounds = 12, 8
		last := make([]*reports.Report, reporters) // what each reporter knows of its report
		decided := make([]map[string]bool, reporters+2)
		repotest.Together(reporters+2, func(i int) {
			decided[i] = map[string]bool{}
			if i >= reporters {
				by := site.Actor{Name: site.UserName(fmt.Sprint("mod", i)), Moderator: true}
				for n := range 3 * rounds {
					items := require.Value(s.Reports.Items(s.Ctx, []site.ArticleID{a.ID}))(t)
					if items[0].Open == 0 {
						continue
					}
					open := require.Value(s.Reports.OpenReports(s.Ctx, items, 3))(t)[0]
					if len(open) == 0 {
						continue
					}
					told := fmt.Sprint(i, " ", n)
					err := s.Reports.Settle(s.Ctx, a.ID, by, settling(open[len(open)-1].Number, reports.Dismissed, told))
					var refusal site.Refusal
					switch {
					case err == nil:
						decided[i][told] = true
					case !errors.As(err, &refusal) || refusal[0].Code != site.Conflict:
						t.Errorf("Settle: %v", err)
					}
				}
				return
			}
			name := site.UserName(fmt.Sprint("user", i))
			for n := range rounds {
				reason := []reports.Reason{reports.Spam, reports.Illegal}[n%2]
				report, err := s.Reports.Flag(s.Ctx, name, a.ID, reason, fmt.Sprint("note ", n))
				if err != nil {
					repotest.WantRefused(t, err, "CONFLICT target")
					return
				}
				last[i] = report
			}
		})
		all := map[string]bool{}
		for _, some := range decided {
			for told := range some {
				all[told] = true
			}
		}
		open, told, illegal := 0, map[string]bool{}, false
		for i, known := range last {
			edges, _, err := s.Reports.Reported(s.Ctx, site.UserName(fmt.Sprint("user", i)), nil, nil)
			require.NoError(t, err)
			r := edges[0].Node
			if r.Number != known.Number || r.Note != known.Note || r.Reason != known.Reason {
				t.Errorf("user%d has %+v, want %+v", i, r, known)
			}
			if r.State == reports.Open {
				open++
				illegal = illegal || r.Reason == reports.Illegal
			} else {
				told[*r.Decision] = true
			}
		}
		for decision := range all {
			if !told[decision] {
				t.Errorf("decision %q is about no report", decision)
			}
		}
		for decision := range told {
			if !all[decision] {
				t.Errorf("a reporter gets the answer %q, which is of no decision", decision)
			}
		}
		items := require.Value(s.Reports.Items(s.Ctx, []site.ArticleID{a.ID}))(t)
		if items[0].Open != open || len(require.Value(s.Reports.OpenReports(s.Ctx, items, 100))(t)[0]) != open {
			t.Errorf("%d reports are open, want %d", items[0].Open, open)
		}
		score, err := s.Raw.ZScore(s.Ctx, tags[0]+"flagged:", a.ID.Number()).Result()
		if len(tags) == 1 && (open > 0) != (err == nil) || err == nil && illegal != (score < 0) {
			t.Errorf("in the queue at %v (%v), with %d open ones, illegal: %t", score, err, open, illegal)
		}
		if n := require.Value(s.Reports.QueueLength(s.Ctx))(t); (n == 1) != (open > 0) {
			t.Errorf("the queue has %d articles, with %d open reports", n, open)
		}
		require.NoError(t, func() error {
			if open == 0 {
				return nil
			}
			return s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, settling(items[0].Latest, reports.Dismissed, ""))
		}())
		wantQueue(s)
		s.WantClean()
	})
}

func notice(ids ...site.ArticleID) reports.NoticeDraft {
	d := reports.NoticeDraft{
		Explanation: "This is a forgery of my passport.", Name: new("Erika Mustermann"), Email: new("erika@example.org"), GoodFaith: true,
	}
	for i, id := range ids {
		d.Locations = append(d.Locations, []string{id.String(), "https://news.example.org/a/" + id.Number()}[i%2])
	}
	return d
}

func TestNoticesOfIllegalContent(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)), confidential(t, oldSecret))
		a, b := s.MustPost("alice", "go"), s.MustPost("alice", "go")
		if b.ID < a.ID {
			a, b = b, a
		}
		draft := notice(a.ID, b.ID, 99)
		draft.IdempotencyKey = new("k")
		receipt := require.Value(s.Reports.Notify(s.Ctx, draft))(t)
		if again := require.Value(s.Reports.Notify(s.Ctx, draft))(t); again != receipt {
			t.Errorf("the same notice has the receipts %+v and %+v", receipt, again)
		}
		draft.Explanation += " Really."
		if other := require.Value(s.Reports.Notify(s.Ctx, draft))(t); other.Reference == receipt.Reference || other.Secret == receipt.Secret {
			t.Errorf("two notices have the receipts %+v and %+v", receipt, other)
		}
		wantQueue(s, a.ID.Number()+": illegal illegal", b.ID.Number()+": illegal illegal")
		for _, wrong := range [][2]string{{receipt.Reference, ""}, {receipt.Reference, receipt.Secret + "x"}, {receipt.Reference + "-1", receipt.Secret}, {"", receipt.Secret}, {"A-1", receipt.Secret}, {"decided-1", ""}} {
			if found, err := s.Reports.Noticed(s.Ctx, wrong[0], wrong[1], false); err != nil || len(found) > 0 {
				t.Errorf("%+v finds %v, %v", wrong, found, err)
			}
		}
		require.NoError(t, s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, settling(1, reports.Dismissed, "it is a joke")))
		found := require.Value(s.Reports.Noticed(s.Ctx, receipt.Reference, receipt.Secret, false))(t)
		if len(found) != 2 || found[0].State != reports.Dismissed || *found[0].Decision != "it is a joke" || found[1].State != reports.Open || found[1].Note != notice().Explanation {
			t.Errorf("the notice says %+v", found)
		}
		if byModerator := require.Value(s.Reports.Noticed(s.Ctx, receipt.Reference, "", true))(t); len(byModerator) != 2 {
			t.Errorf("a moderator finds %v", byModerator)
		}
		contacts := require.Value(s.Reports.Contacts(s.Ctx, found))(t)
		for i, c := range contacts {
			if c == nil || c.Name != "Erika Mustermann" || c.Email != "erika@example.org" {
				t.Errorf("contact %d = %+v", i, c)
			}
		}
		if dump := s.Dump(); strings.Contains(dump, "Erika") || strings.Contains(dump, "erika@") || strings.Contains(dump, receipt.Secret) {
			t.Errorf("the store has contacts or secrets:\n%s", dump)
		}
		s.WantClean()
	})
}

func TestNoticesAreChecked(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One, confidential(t, oldSecret))
	a := s.MustPost("alice", "go")
	for want, change := range map[string]func(d *reports.NoticeDraft){
		"INVALID locations":          func(d *reports.NoticeDraft) { d.Locations = nil },
		"INVALID locations ":         func(d *reports.NoticeDraft) { d.Locations = slices.Repeat([]string{"1"}, 11) },
		"INVALID locations.1":        func(d *reports.NoticeDraft) { d.Locations = []string{"1", "https://other.example/a/1"} },
		"INVALID locations.0":        func(d *reports.NoticeDraft) { d.Locations = []string{"https://news.example.org/u/alice"} },
		"INVALID locations.0 ":       func(d *reports.NoticeDraft) { d.Locations = []string{"javascript:alert(1)"} },
		"INVALID locations.0  ":      func(d *reports.NoticeDraft) { d.Locations = []string{"https://news.example.org/a/article:1"} },
		"NOT_FOUND locations":        func(d *reports.NoticeDraft) { d.Locations = []string{"2"} },
		"INVALID explanation":        func(d *reports.NoticeDraft) { d.Explanation = "               short              " },
		"TOO_LONG explanation":       func(d *reports.NoticeDraft) { d.Explanation = strings.Repeat("x", 5001) },
		"INVALID name":               func(d *reports.NoticeDraft) { d.Name = nil },
		"TOO_LONG name":              func(d *reports.NoticeDraft) { d.Name = new(strings.Repeat("x", 201)) },
		"INVALID email":              func(d *reports.NoticeDraft) { d.Email = new("erika") },
		"INVALID email ":             func(d *reports.NoticeDraft) { d.Email = new("Erika <erika@example.org>") },
		"INVALID email  ":            func(d *reports.NoticeDraft) { d.Email, d.WithoutContact = new("erika@example.org\nBcc: x"), true },
		"INVALID goodFaith":          func(d *reports.NoticeDraft) { d.GoodFaith = false },
		"INVALID idempotencyKey":     func(d *reports.NoticeDraft) { d.IdempotencyKey = new("") },
		"INVALID name|INVALID email": func(d *reports.NoticeDraft) { d.Name, d.Email = nil, nil },
	} {
		d := notice(a.ID)
		change(&d)
		_, err := s.Reports.Notify(s.Ctx, d)
		var wanted []string
		for _, w := range strings.Split(want, "|") {
			wanted = append(wanted, strings.TrimSpace(w))
		}
		repotest.WantRefused(t, err, wanted...)
	}
	wantQueue(s)
	anonymous := notice(a.ID)
	anonymous.Name, anonymous.Email, anonymous.WithoutContact = nil, nil, true
	receipt := require.Value(s.Reports.Notify(s.Ctx, anonymous))(t)
	found := require.Value(s.Reports.Noticed(s.Ctx, receipt.Reference, receipt.Secret, false))(t)
	if c := require.Value(s.Reports.Contacts(s.Ctx, found))(t); len(c) != 1 || c[0] != nil {
		t.Errorf("contacts = %v", c)
	}
	_, err := repotest.New(t, nil, repotest.One).Reports.Notify(t.Context(), notice(a.ID))
	repotest.WantRefused(t, err, "FORBIDDEN")
}

// Contacts can be read only with a secret of the site's, and for some time after the decision.
func TestContactsAreErased(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)), confidential(t, oldSecret))
		a := s.MustPost("alice", "go")
		receipt := require.Value(s.Reports.Notify(s.Ctx, notice(a.ID)))(t)
		later := require.Value(s.Reports.Notify(s.Ctx, notice(a.ID)))(t)
		contact := func(s *repotest.Site, receipt reports.Receipt) *reports.Contact {
			t.Helper()
			found := require.Value(s.Reports.Noticed(s.Ctx, receipt.Reference, "", true))(t)
			return require.Value(s.Reports.Contacts(s.Ctx, found))(t)[0]
		}
		reopened := func(option redisrepo.Option) *repotest.Site {
			return s.Reopened(s.Client(), nil, redisrepo.WithPartitions(len(tags)), option)
		}
		rotated := reopened(confidential(t, newSecret, oldSecret))
		if contact(s, receipt) == nil || contact(rotated, receipt) == nil {
			t.Error("the contact cannot be read with the secret, or after it was rotated")
		}
		if contact(reopened(confidential(t, newSecret)), receipt) != nil || contact(reopened(redisrepo.WithReports(reports.Options{})), receipt) != nil {
			t.Error("the contact can be read without the secret")
		}
		p := s.Store.Partition(a.ID)
		if ttl := s.TTL(p.Contact(a.ID, 0)); ttl != -time.Millisecond {
			t.Errorf("contacts expire in %v before the decision", ttl)
		}
		require.NoError(t, s.Reports.Settle(s.Ctx, a.ID, repotest.Moderator, settling(1, reports.Acted, "")))
		if ttl := s.TTL(p.Contact(a.ID, 0)); ttl < 47*time.Hour || ttl > 48*time.Hour {
			t.Errorf("contacts expire in %v, want two days", ttl)
		}
		if ttl := s.TTL(p.Contact(a.ID, 1)); ttl != -time.Millisecond {
			t.Errorf("the contact of a notice that is open expires in %v", ttl)
		}
		if ttl := s.TTL(p.Flags(a.ID)); ttl != -time.Millisecond {
			t.Errorf("open reports expire in %v", ttl)
		}
		s.Raw.PExpire(s.Ctx, p.Contact(a.ID, 0), time.Millisecond)
		require.Eventually(t, "the contact to be erased", func() bool { return contact(s, receipt) == nil })
		if contact(s, later) == nil {
			t.Error("the contact of a notice that is open was erased")
		}
		require.Value(s.Reports.Notify(s.Ctx, notice(a.ID)))(t)
		require.Value(s.SettleByDeleting(s.Ctx, a.ID, repotest.Moderator, settling(3, reports.Acted, "gone")))(t)
		for key, want := range map[string]time.Duration{p.Contact(a.ID, 1): 2 * site.Day, p.Flags(a.ID): reports.Kept} {
			if ttl := s.TTL(key); ttl < want-time.Hour || ttl > want {
				t.Errorf("%s expires in %v, want %v", key, ttl, want)
			}
		}
		s.MustUndelete(a.ID)
		s.MustFlag(a.ID, "bob", reports.Spam, "")
		if ttl := s.TTL(p.Flags(a.ID)); ttl != -time.Millisecond {
			t.Errorf("with a new report, reports expire in %v", ttl)
		}
		s.WantClean()
	})
}

// No reporter's name is in the change feed or in the moderation log.
func TestEventsDoNotNameReporters(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "go")
	r := s.MustFlag(a.ID, "whistleblower", reports.Illegal, "secretnote")
	require.Value(s.SettleByDeleting(s.Ctx, a.ID, repotest.Moderator, settling(r.Number, reports.Acted, "secretdecision")))(t)
	for _, stream := range []string{"events:", "moderation:"} {
		text := fmt.Sprint(s.Do("XRANGE", stream, "-", "+"))
		if strings.Contains(text, "whistleblower") || strings.Contains(text, "secretnote") {
			t.Errorf("%s has %s", stream, text)
		}
	}
	page := require.Value(s.Log.Events(s.Ctx, nil, []events.EventKind{events.EventDeleted}, nil))(t)
	if len(page.Edges) != 1 {
		t.Errorf("events = %v", page.Edges)
	}
}
