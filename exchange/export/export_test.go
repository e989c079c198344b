package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"frontpage/exchange/csvimport"
	"frontpage/exchange/export"
	"frontpage/redisrepo"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// site is a Repo on a Redis of its own, with any number of partitions.
type testSite struct {
	*redisrepo.Repo
	client redis.UniversalClient
}

func open(t *testing.T, client redis.UniversalClient, partitions int) testSite {
	t.Helper()
	box := require.Value(secretbox.New("the secret of the sites of all tests"))(t)
	repo := require.Value(redisrepo.New(t.Context(), client, site.DefaultRules(), redisrepo.WithPartitions(partitions), redisrepo.WithReports(reports.Options{Box: box})))(t)
	return testSite{repo, client}
}

func newSite(t *testing.T, partitions int) testSite {
	t.Helper()
	return open(t, redistest.Start(t).Client, partitions)
}

var moderator = site.Actor{Name: "mod", Moderator: true}

// fill gives a site everything that a site can have.
func (s testSite) fill(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	posted := func(a *site.Article, err error) *site.Article { return require.Value(a, err)(t) }
	var ids []site.ArticleID
	for i := range 25 {
		d := site.Draft{Title: fmt.Sprintf("article %d <&> \u2028", i), Link: new(fmt.Sprintf("https://example.com/%d", i)), Groups: []string{"go", fmt.Sprint("g", i%3)}}
		if i%4 == 0 {
			d.Link, d.Text = nil, new("text with \"quotes\",\nlines and ünïcode")
		}
		ids = append(ids, posted(s.Post(ctx, site.UserName(fmt.Sprint("poster ", i%5)), d)).ID)
	}
	for i := range 400 {
		vote := site.Up
		if i%5 == 0 {
			vote = site.Down
		}
		bucket := ""
		if i%3 == 0 {
			bucket = "00ff00ff00ff"
		}
		require.Value(s.Vote(ctx, ids[i%7], site.UserName(fmt.Sprint("voter", i)), vote, bucket))(t)
	}
	now := time.Now().Truncate(time.Second)
	imported := []redisrepo.Imported{
		{ID: 1000, Poster: "old", PostedAt: now.AddDate(0, 0, -40), Votes: 300, Draft: site.Draft{Title: "its voters are forgotten", Groups: []string{"go"}}},
		{ID: 1004, Poster: "old", PostedAt: now.AddDate(0, 0, -7).Add(-time.Minute), Votes: 300, Draft: site.Draft{Title: "voting on it has just ended"}},
		{ID: 1001, Poster: "new", PostedAt: now.Add(-time.Hour), Votes: 250, Draft: site.Draft{Title: "its voters have no names"}},
		{ID: 1002, Poster: "new", PostedAt: now.Add(-time.Hour), Votes: -5, Draft: site.Draft{Title: "downvoted"}},
		{ID: 1003, Poster: "new", PostedAt: now.Add(-time.Hour), Votes: 6000, Draft: site.Draft{Title: "many voters"}},
	}
	_, errs := s.Import(ctx, imported)
	require.NoError(t, errors.Join(errs...))
	mine := site.Actor{Name: "poster 1"}
	for n := range 25 {
		if n == 2 { // the version that is kept for its votes
			require.Value(s.Vote(ctx, ids[1], "reader", site.Up, ""))(t)
		}
		posted(s.Edit(ctx, ids[1], mine, redisrepo.Edit{Title: new(fmt.Sprint("edit ", n)), Text: new(fmt.Sprint("\"text\"\n", n%3))}))
	}
	posted(s.Edit(ctx, ids[6], moderator, redisrepo.Edit{Title: new("edited"), Groups: []string{"go", "moved"}, Why: site.Why{Reason: "a reason"}}))
	posted(s.Edit(ctx, ids[21], mine, redisrepo.Edit{Text: new("a text")}))
	posted(s.Delete(ctx, ids[21], mine, site.Why{})) // frees its link
	posted(s.Delete(ctx, ids[3], site.Actor{Name: "poster 3"}, site.Why{}))
	require.Value(s.Reports.Flag(ctx, "reporter 0", ids[4], reports.Duplicate, ""))(t)
	posted(s.SettleByDeleting(ctx, ids[4], moderator, reports.Settling{Through: 1, State: reports.Acted, Decision: "deleted"}))
	posted(s.Delete(ctx, ids[5], moderator, site.Why{}))
	for i, reason := range []reports.Reason{reports.Spam, reports.Illegal, reports.Other} {
		for _, id := range ids[8:11] {
			require.Value(s.Reports.Flag(ctx, site.UserName(fmt.Sprint("reporter ", i)), id, reason, "a note\nof two lines <&>"))(t)
		}
	}
	require.Value(s.Reports.Flag(ctx, "reporter 0", ids[8], reports.Abuse, ""))(t) // leaves a gap
	require.NoError(t, s.Reports.Settle(ctx, ids[8], moderator, reports.Settling{Through: 3, State: reports.Dismissed, Decision: "no"}))
	require.NoError(t, s.Reports.Settle(ctx, ids[9], moderator, reports.Settling{Through: 3, State: reports.Acted}))
	require.Value(s.Reports.Notify(ctx, reports.NoticeDraft{Locations: []string{ids[8].String(), ids[11].String()}, Explanation: "This is illegal for some reason.", GoodFaith: true, WithoutContact: true, IdempotencyKey: new("k")}))(t)
	posted(s.Undelete(ctx, ids[5], moderator))
	posted(s.Regroup(ctx, ids[6], moderator, []string{"moved"}, []string{"go"}))
	require.Value(s.Denials.DenyUser(ctx, "eve <&>", nil, site.GroundIllegal, "a \"reason\"", moderator))(t)
	require.Value(s.Denials.DenyUser(ctx, "a user", new(time.Now().Add(time.Hour)), site.GroundRules, "x", moderator))(t)
	require.Value(s.Denials.DenyHost(ctx, "bücher.example", true, true, "x", moderator))(t)
	require.Value(s.Denials.DenyHost(ctx, "ended.example", true, false, "x", moderator))(t)
	require.Value(s.Denials.DenyHost(ctx, "ended.example", false, false, "", moderator))(t)
	for i := range 250 {
		require.Value(s.Denials.BlockUser(ctx, site.UserName(fmt.Sprint("voter", i%120)), fmt.Sprint("poster ", i%7), true))(t)
	}
	require.Value(s.Denials.BlockUser(ctx, "voter1", "poster 2", false))(t)
	for i := range 250 {
		name := site.UserName(fmt.Sprint("voter", i%110))
		require.NoError(t, s.Saved.SaveArticle(ctx, name, ids[i%7], true))
		require.NoError(t, s.Saved.FollowTarget(ctx, site.UserName(fmt.Sprint("voter", i%120)), []saved.Target{{User: "poster 1"}, {Group: "go"}}[i%2], true))
	}
	for i := range 3 {
		require.Value(s.Descriptions.DescribeGroup(ctx, fmt.Sprint("g", i), "All <about> it", []string{"one", "two"}[:i], moderator))(t)
	}
	posted(s.Regroup(ctx, ids[7], site.Actor{Name: "poster 2"}, nil, []string{"go", "g1"}))
	for i, vote := range []site.Vote{site.Up, site.Down, site.Up} {
		require.Value(s.Vote(ctx, ids[12], site.UserName(fmt.Sprint("ring ", i)), vote, ""))(t)
	}
	if _, n, err := s.VoidVotes(ctx, ids[12], moderator, []string{"ring 0", "ring 1"}, true, "a <ring>"); n != 2 || err != nil {
		t.Errorf("%d votes are out, %v, want 2", n, err)
	}
	s.fillKeys(t, now, ids[13])
}

// fillKeys gives a site what is in keys of its own: votes whose voters are forgotten, accounts, and what is sealed.
func (s testSite) fillKeys(t *testing.T, now time.Time, noticed site.ArticleID) {
	t.Helper()
	ctx := t.Context()
	month := site.HourOf(float64(now.AddDate(0, 0, -40).Unix())).Month()
	for i, member := range []string{"1000", "-1000", casts.CastCut} {
		key := s.Store.Partition(1000).Cast(site.UserName(fmt.Sprint("a:b", i)), month)
		require.NoError(t, s.client.ZAdd(ctx, key, redis.Z{Score: float64(now.Unix() - 1000), Member: member}).Err())
		require.NoError(t, s.client.ExpireAt(ctx, key, s.Casts.CastExpiry(month)).Err())
	}
	meta := s.Store.Partitions[0].Meta() // as if the site had lists of votes since then
	since := strings.Fields(require.Value(s.client.HGet(ctx, meta, "cast_since").Result())(t))
	since[1] = fmt.Sprint(month)
	require.NoError(t, s.client.HSet(ctx, meta, "cast_since", strings.Join(since, " ")).Err())
	for i := range 5 {
		require.Value(s.Sessions.AccountName(ctx, fmt.Sprint("account ", i), fmt.Sprint("Name ", i)))(t)
	}
	require.Value(s.Reports.Notify(ctx, reports.NoticeDraft{Locations: []string{noticed.String()}, Explanation: "This is illegal for some reason.", GoodFaith: true,
		Name: new("Zoe"), Email: new("zoe@example.com"), IdempotencyKey: new("l")}))(t)
	home := s.Store.Partitions[0]
	require.NoError(t, s.client.HSet(ctx, home.Webhooks(), "hook", "https://example.com/").Err())
	require.NoError(t, s.client.HSet(ctx, home.Webhook("hook"), "config", "{}", "cursor", "x").Err())
	require.NoError(t, s.client.HSet(ctx, home.Undelivered("hook"), "1", "{}").Err())
	require.NoError(t, s.client.Expire(ctx, home.Undelivered("hook"), 90*time.Minute).Err())
	require.NoError(t, s.client.ZAdd(ctx, home.Erased(), redis.Z{Score: 5, Member: site.UserName("gone").Digest()}).Err())
}

// uncounted posts an article whose poster's vote does not count.
func (s testSite) uncounted(t *testing.T) {
	t.Helper()
	rules := site.DefaultRules()
	rules.PosterVotes = false
	repo := require.Value(redisrepo.New(t.Context(), s.client, rules))(t)
	require.Value(repo.Post(t.Context(), "modest", site.Draft{Title: "t", Text: new("x")}))(t)
}

// legacy adds an article as a legacy client does.
func (s testSite) legacy(t *testing.T) {
	t.Helper()
	at := float64(time.Now().Unix()-60) + 0.25
	_, err := s.client.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
		pipe.HSet(t.Context(), "article:5000", "title", "legacy", "link", "http://l.example/", "poster", "user:9", "time", at, "votes", 2)
		pipe.SAdd(t.Context(), "voted:5000", "user:9", "user:10")
		pipe.Expire(t.Context(), "voted:5000", 7*24*time.Hour)
		pipe.ZAdd(t.Context(), "time:", redis.Z{Score: at, Member: "article:5000"})
		pipe.ZAdd(t.Context(), "score:", redis.Z{Score: at + 864, Member: "article:5000"})
		pipe.SAdd(t.Context(), "group:go", "article:5000")
		pipe.Set(t.Context(), "article:", 5000, 0)
		return nil
	})
	require.NoError(t, err)
}

func (s testSite) export(t *testing.T) string {
	t.Helper()
	var to bytes.Buffer
	require.Value(export.Write(t.Context(), s.Repo, &to, export.Options{Report: t.Output()}))(t)
	return to.String()
}

func (s testSite) wantClean(t *testing.T) {
	t.Helper()
	require.Value(check.Check(t.Context(), s.Repo, func(violation string) { t.Errorf("check: %s", violation) }))(t)
}

func read(ctx context.Context, client redis.UniversalClient, text string, partitions int) (export.Summary, error) {
	return export.Read(ctx, client, site.DefaultRules(), strings.NewReader(text), export.Options{}, redisrepo.WithPartitions(partitions))
}

// A site can have fewer articles than the other has partitions.
func TestExportOfOneArticleIsTheSameAfterAnImport(t *testing.T) {
	t.Parallel()
	from := newSite(t, 1)
	text := "text"
	require.Value(from.Post(t.Context(), "alice", site.Draft{Title: "Only", Text: &text}))(t)
	first := from.export(t)
	client := redistest.Start(t).Client
	require.Value(read(t.Context(), client, first, 16))(t)
	if second := open(t, client, 0).export(t); second != first {
		t.Errorf("the second export differs:\n%s", difference(first, second))
	}
}

// An export that is imported into an empty store gives a consistent site, whose export has the same bytes, and which
// goes on where the first one was.
func TestExportAndImportGiveTheSameSite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to int }{{1, 1}, {1, 16}, {16, 16}, {4, 16}} {
		t.Run(fmt.Sprintf("%d to %d partitions", tt.from, tt.to), func(t *testing.T) {
			t.Parallel()
			from := newSite(t, tt.from)
			from.fill(t)
			from.uncounted(t)
			if tt.from == 1 {
				from.legacy(t)
				require.Value(from.Layout.Adopt(t.Context()))(t)
			}
			from.wantClean(t)
			first := from.export(t)
			client := redistest.Start(t).Client
			sum := require.Value(read(t.Context(), client, first, tt.to))(t)
			to := open(t, client, 0)
			to.wantClean(t)
			if second := to.export(t); second != first {
				t.Errorf("the second export differs:\n%s", difference(first, second))
			}
			for i := range 5 {
				if name := require.Value(to.Sessions.AccountName(t.Context(), fmt.Sprint("account ", i), "another"))(t); name != site.UserName(fmt.Sprint("Name ", i)) {
					t.Errorf("the account %d has the name %s", i, name)
				}
			}
			if ttl := client.TTL(t.Context(), to.Store.Partitions[0].Undelivered("hook")).Val(); (ttl - 90*time.Minute).Abs() > time.Minute {
				t.Errorf("what a webhook did not get is kept for %v, want 90 minutes", ttl)
			}
			for voter, want := range map[site.UserName]int{"a:b0": 1, "a:b1": 1, "a:b2": 0, "voter1": 1, "voter5": 1, "poster 1": 5} { // up, down, own articles
				votes, _, err := to.Casts.CastVotes(t.Context(), voter, nil, nil, nil)
				if err != nil || len(votes) != want || want > 0 && time.Since(votes[0].At) > time.Hour {
					t.Errorf("the list of %s's votes is %v, %v, want %d", voter, votes, err, want)
				}
			}
			if d := to.Denials.DenialOf("eve <&>"); d == nil || d.Reason != `a "reason"` || len(to.Denials.CheckLinks("https://a.bücher.example", "")) != 1 || !to.Denials.HasBlocks("voter119") {
				t.Errorf("denials are missing: %+v", d)
			}
			for _, name := range []site.UserName{"voter3", "voter119"} {
				was, _, err := from.Saved.SavedArticles(t.Context(), name, nil, nil)
				is, _, errIs := to.Saved.SavedArticles(t.Context(), name, nil, nil)
				if err := errors.Join(err, errIs); err != nil || !reflect.DeepEqual(was, is) || (len(is) > 0) != (name == "voter3") {
					t.Errorf("%s has saved %v, want %v, %v", name, is, was, err)
				}
				if was, is := require.Value(from.Saved.Following(t.Context(), name))(t), require.Value(to.Saved.Following(t.Context(), name))(t); !reflect.DeepEqual(was, is) || len(is) == 0 {
					t.Errorf("%s follows %v, want %v", name, is, was)
				}
			}
			groups := []*site.Group{{Name: "g2"}, {Name: "g4"}}
			if require.NoError(t, to.Descriptions.Describe(t.Context(), groups)); *groups[0].Description != "All <about> it" || len(groups[0].Rules) != 2 || groups[1].Description != nil {
				t.Errorf("got the descriptions %+v, %+v", groups[0], groups[1])
			}
			if sum.Deleted != 3 || sum.Log != 19 || sum.Voters < 400 || sum.Articles < 30 {
				t.Errorf("imported %v, want all articles, 3 deleted ones, 19 entries of the log and 400 voters", sum)
			}
			ring, _, err := to.Casts.CastVotes(t.Context(), "ring 1", nil, nil, nil)
			if err != nil || len(ring) != 1 || ring[0].Vote != site.Down {
				t.Errorf("a vote that does not count is in the list of its voter as %v, %v", ring, err)
			} else if _, err := to.Vote(t.Context(), ring[0].Article, "ring 1", site.Up, ""); err == nil || !strings.Contains(err.Error(), "a <ring>") {
				t.Errorf("another vote of its voter: %v, want it to be refused", err)
			} else if _, n, err := to.VoidVotes(t.Context(), ring[0].Article, moderator, []string{"ring 0", "ring 1"}, false, ""); n != 0 || err != nil {
				t.Errorf("%d votes are out after they are put back: %v", n, err)
			}
			to.wantClean(t)
			if edges, _, err := to.Lists.Walk(t.Context(), lists.Unexplained(), site.PageRequest{}); err != nil || len(edges) != 1 {
				t.Errorf("%d articles were deleted without a ground, %v, want 1", len(edges), err)
			}
			items, _, err := to.Reports.Queue(t.Context(), nil, nil, nil)
			if err != nil || len(items) != 4 {
				t.Errorf("the queue has %v, %v, want the articles with open reports", items, err)
			}
			for _, reporter := range []site.UserName{"reporter 0", "reporter 1"} {
				was, _, err := from.Reports.Reported(t.Context(), reporter, nil, nil)
				is, _, errIs := to.Reports.Reported(t.Context(), reporter, nil, nil)
				if err != nil || errIs != nil || len(is) != len(was) || len(is) < 3 {
					t.Errorf("%s has %d reports, want %d, %v, %v", reporter, len(is), len(was), err, errIs)
				}
			}
			if _, err := to.Post(t.Context(), "late", site.Draft{Title: "again", Link: new("http://example.com/1")}); err == nil || !strings.Contains(err.Error(), "this link was posted recently") {
				t.Errorf("a link that was posted before the export: %v, want it to be reserved", err)
			}
			if _, err := to.Post(t.Context(), "P\u043ester 1", site.Draft{Title: "alike", Text: new("x")}); err == nil || !strings.Contains(err.Error(), `looks like "poster 1"`) {
				t.Errorf("a post under a name that looks like an imported one: %v, want a refusal", err)
			}
			a := require.Value(to.Post(t.Context(), "late", site.Draft{Title: "new", Text: new("x")}))(t)
			if last := require.Value(transfer.LastNumber(t.Context(), from.Repo))(t); a.ID <= last {
				t.Errorf("a new article has number %d, want more than %d", a.ID, last)
			}
			if _, err := read(t.Context(), client, first, 0); err == nil || !strings.Contains(err.Error(), "this file has been imported already") {
				t.Errorf("the same import again: %v, want an error that says so", err)
			}
		})
	}
}

// A file of version 1 has no lists of votes, front pages and keys. The lists get the votes whose voters it names.
func TestExportsOfVersion1AreImported(t *testing.T) {
	t.Parallel()
	from := newSite(t, 4)
	from.fill(t)
	whole := from.export(t)
	first := regexp.MustCompile(`(?m)^\{"(front|voter|key)":.*\n`).ReplaceAllString(whole, "")
	first = regexp.MustCompile(`"cast":-?\d+,`).ReplaceAllString(first, "")
	first = regexp.MustCompile(`,"(cursor_key|cast_since)":"[^"]*"|,"front_since":\d+|,"(fronts|casts|keys)":\d+`).ReplaceAllString(first, "")
	first = strings.Replace(first, `"version":2`, `"version":1`, 1)
	client := redistest.Start(t).Client
	require.Value(read(t.Context(), client, first, 16))(t)
	to := open(t, client, 0)
	to.wantClean(t)
	if votes, _, err := to.Casts.CastVotes(t.Context(), "voter1", nil, nil, nil); err != nil || len(votes) != 1 {
		t.Errorf("the list of votes is %v, %v, want one", votes, err)
	}
	if _, err := to.Post(t.Context(), "P\u043ester 1", site.Draft{Title: "alike", Text: new("x")}); err == nil || !strings.Contains(err.Error(), `looks like "poster 1"`) {
		t.Errorf("a post under a name that looks like an imported one: %v, want a refusal", err)
	}
}

// The UUID of an export is that of the site afterwards, also in a process that serves the empty site meanwhile. A file without one
// leaves the site its own.
func TestImportKeepsTheUUIDOfTheExport(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		from := newSite(t, partitions)
		require.Value(from.Post(t.Context(), "alice", site.Draft{Title: "t", Text: new("x")}))(t)
		whole, was := from.export(t), from.Store.UUID.Load().String()
		for text, keeps := range map[string]bool{whole: true, strings.Replace(whole, `"uuid":"`+was+`",`, "", 1): false} {
			serving := newSite(t, partitions)
			want := serving.Store.UUID.Load().String()
			if keeps {
				want = was
			}
			require.Value(read(t.Context(), serving.client, text, partitions))(t)
			require.NoError(t, serving.Live.CheckHistory(t.Context(), 0))
			for what, s := range map[string]testSite{"the process": serving, "another": open(t, serving.client, 0)} {
				if got := s.Store.UUID.Load().String(); got != want || got == uuid.Nil.String() {
					t.Errorf("%s has the UUID %s, want %s", what, got, want)
				}
			}
		}
	}
}

// Articles whose texts were erased long after their deletion are exported and imported as such.
func TestEmptiedArticlesAreExported(t *testing.T) {
	t.Parallel()
	from := newSite(t, 4)
	from.fill(t)
	empties := require.Value(redisrepo.New(t.Context(), from.client, site.DefaultRules(), redisrepo.WithDeletedTexts(time.Nanosecond)))(t)
	if n := require.Value(empties.Retention.EmptyDeleted(t.Context()))(t); n != 3 {
		t.Errorf("%d articles were emptied, want 3", n)
	}
	from.wantClean(t)
	first := from.export(t)
	if n := strings.Count(first, `"title":"","poster"`); n != 3 {
		t.Errorf("%d exported articles have no title, want 3", n)
	}
	client := redistest.Start(t).Client
	require.Value(read(t.Context(), client, first, 4))(t)
	to := open(t, client, 0)
	to.wantClean(t)
	if second := to.export(t); second != first {
		t.Errorf("the second export differs:\n%s", difference(first, second))
	}
}

// difference shows the first lines that differ.
func difference(a, b string) string {
	first, second := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(first), len(second)) {
		if first[i] != second[i] {
			return fmt.Sprintf("line %d:\n%.500s\n%.500s", i+1, first[i], second[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(first), len(second))
}

var errCut = errors.New("cut off")

// An import that is interrupted anywhere leaves a store that no program takes for a site, and the next one goes on.
func TestInterruptedImportGoesOn(t *testing.T) {
	t.Parallel()
	from := newSite(t, 1)
	from.fill(t)
	first := from.export(t)
	server := redistest.Start(t)
	interrupted := 0
	for calls := 1; ; calls += 9 {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
		var left atomic.Int64 // notifications are sent beside the import
		left.Store(int64(calls))
		client.AddHook(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
			if left.Add(-1) < 0 {
				return redistest.Fail(errCut, commands)
			}
			return send(ctx, commands)
		}))
		_, err := read(t.Context(), client, first, 1)
		_ = client.Close()
		if err == nil {
			break
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("import that is cut off after %d calls: %v", calls, err)
		}
		if begun := server.Client.HGet(t.Context(), "meta:", "layout").Val(); begun != "" {
			interrupted++
			if _, err := redisrepo.New(t.Context(), server.Client, site.DefaultRules()); !errors.Is(err, layout.ErrIncomplete) {
				t.Fatalf("New after %d calls of an import: %v, want %v", calls, err, layout.ErrIncomplete)
			}
			if _, err := read(t.Context(), server.Client, strings.Replace(first, "article 2 ", "another 2 ", 1), 1); !errors.Is(err, layout.ErrIncomplete) {
				t.Fatalf("import of another file after that: %v, want %v", err, layout.ErrIncomplete)
			}
		}
	}
	if interrupted < 5 {
		t.Errorf("the import was interrupted %d times, want at least 5", interrupted)
	}
	to := open(t, server.Client, 0)
	to.wantClean(t)
	if second := to.export(t); second != first {
		t.Errorf("the export differs after interruptions:\n%s", difference(first, second))
	}
}

func TestImportRefusesAStoreThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	from := newSite(t, 1)
	from.fill(t)
	first := from.export(t)
	before := from.export(t)
	changed := strings.Replace(first, "article 2 ", "another 2 ", 1)
	if _, err := read(t.Context(), from.client, changed, 0); err == nil || !strings.Contains(err.Error(), "the store is not empty: it has ") {
		t.Errorf("import into a site: %v, want an error that says so", err)
	}
	if after := from.export(t); after != before {
		t.Errorf("it changed the site:\n%s", difference(before, after))
	}
	other := redistest.Start(t).Client
	require.NoError(t, other.Set(t.Context(), "cart:17", "x", 0).Err())
	if _, err := read(t.Context(), other, first, 0); err == nil || !strings.Contains(err.Error(), "it has 1 keys, and no site") {
		t.Errorf("import into a Redis with other keys: %v, want an error that says so", err)
	}
	rules := site.DefaultRules()
	rules.VoteScore = 100
	_, err := export.Read(t.Context(), redistest.Start(t).Client, rules, strings.NewReader(first), export.Options{})
	if err == nil || !strings.Contains(err.Error(), "vote_score is 432 in the file and 100 in the settings") {
		t.Errorf("import under other rules: %v, want an error that names them", err)
	}
	// A site without articles is empty, also while a process serves it.
	empty := newSite(t, 1)
	if _, err := read(t.Context(), empty.client, first, 0); err != nil {
		t.Error(err)
	}
	if second := empty.export(t); second != first {
		t.Errorf("after an import into a site without articles:\n%s", difference(first, second))
	}
}

// Nothing is written for a file with an error, whose line the message names.
func TestBrokenExportsAreRefused(t *testing.T) {
	t.Parallel()
	from := newSite(t, 1)
	from.fill(t)
	whole := from.export(t)
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	replaced := func(line int, text string) string {
		changed := append([]string(nil), lines...)
		changed[line-1] = text
		return strings.Join(changed, "")
	}
	denial := 2 + strings.Count(whole, "\n{\"log\":")                                                   // the first, after the log
	keeper := denial + strings.Count(whole, "\n{\"denial\":") + strings.Count(whole, "\n{\"blocker\":") // the first, after the denials
	group := keeper + strings.Count(whole, "\n{\"keeper\":")                                            // the first, after those
	article := group + strings.Count(whole, "\n{\"described\":")
	lastArticle := article + strings.Count(whole, "\n{\"article\":") - 1
	front := lastArticle + 1
	voter := front + strings.Count(whole, "\n{\"front\":")
	key := voter + strings.Count(whole, "\n{\"voter\":")
	client := redistest.Start(t).Client
	for name, tt := range map[string]struct{ text, want string }{
		"empty":               {"", "line 0: the file ends here"},
		"another file":        {"{\"a\":1}\n", "line 1: the file is no export"},
		"newer version":       {replaced(1, strings.Replace(lines[0], `"version":2`, `"version":3,"more":true`, 1)), "line 1: the version of the format is 3: this program reads versions up to 2"},
		"no UUID":             {replaced(1, strings.Replace(lines[0], `"uuid":"`, `"uuid":"7`, 1)), "is no UUID"},
		"no JSON":             {replaced(article, "{\"article\":\n"), fmt.Sprintf("line %d: ", article)},
		"two objects":         {replaced(article, strings.TrimSpace(lines[article-1])+"{}\n"), "more than one JSON object"},
		"unknown member":      {replaced(article, strings.Replace(lines[article-1], "{", `{"article":1,"colour":"red",`, 1)), `unknown field "colour"`},
		"twice":               {replaced(article+1, lines[article-1]), fmt.Sprintf("line %d: article:1 is not between", article+1)},
		"a line is missing":   {replaced(article, ""), "the file should have 30 articles"},
		"the end is missing":  {strings.Join(lines[:len(lines)-1], ""), fmt.Sprintf("line %d: the file ends here, without its last line", len(lines)-1)},
		"cut":                 {whole[:len(whole)-len(lines[len(lines)-1])-10], fmt.Sprintf("line %d: ", len(lines)-1)},
		"more":                {whole + "{\"article\":9}\n", fmt.Sprintf("line %d: there is more after the last line", len(lines)+1)},
		"no UTF-8":            {replaced(article, strings.Replace(lines[article-1], "article 0", "article \xff", 1)), "it is not UTF-8"},
		"counts":              {replaced(article, strings.Replace(lines[article-1], `"votes":`, `"votes":1`, 1)), "upvoters and"},
		"a group":             {replaced(article, strings.Replace(lines[article-1], `"groups":["g`, `"groups":["G`, 1)), "is no canonical name of a group"},
		"no counts":           {replaced(len(lines), "{\"end\":null}\n"), "it is no last line of an export"},
		"a kind of entry":     {replaced(2, strings.Replace(lines[1], `"log":"`, `"log":"not `, 1)), "its kind, its id or its article is invalid"},
		"a deletion":          {replaced(lastArticle, `{"article":5000,"title":"t","poster":"p","time":1,"votes":1,"revision":0,"deleted":{"at":2}}`+"\n"), "deleted: by is missing"},
		"too many votes":      {replaced(lastArticle, `{"article":5000,"title":"t","poster":"p","time":1,"votes":9007199254740992,"revision":0}`+"\n"), "votes: 9007199254740992 is out of range"},
		"a denial twice":      {replaced(denial+1, lines[denial-1]), "it does not come after the line before"},
		"no denial":           {replaced(denial, `{"denial":"user:a","says":"soon"}`+"\n"), "the denial is invalid"},
		"no denial's user":    {replaced(denial, strings.Replace(lines[denial-1], `host:`, `HOST:`, 1)), "the denial is invalid"},
		"a keeper twice":      {replaced(keeper+1, lines[keeper-1]), "it does not come after the line before"},
		"a keeper too early":  {replaced(keeper-1, lines[keeper-1]+lines[keeper-2]), "it does not come after"},
		"no keeper":           {replaced(keeper, `{"keeper":" ","saved":{"1":5}}`+"\n"), "has saved and follows is invalid"},
		"nothing kept":        {replaced(keeper, `{"keeper":"zoe"}`+"\n"), "has saved and follows is invalid"},
		"no article":          {replaced(keeper, `{"keeper":"zoe","saved":{"01":5}}`+"\n"), "has saved and follows is invalid"},
		"no target":           {replaced(keeper, `{"keeper":"zoe","following":{"host:go.dev":5}}`+"\n"), "has saved and follows is invalid"},
		"a time twice":        {replaced(keeper, `{"keeper":"zoe","saved":{"1":5,"2":5}}`+"\n"), "has saved and follows is invalid"},
		"a group twice":       {replaced(group+1, lines[group-1]), "it does not come after the line before"},
		"no group":            {replaced(group, `{"described":"Go","rules":["a"]}`+"\n"), "what is said about a group is invalid"},
		"no rule":             {replaced(group, `{"described":"go","rules":["a",""]}`+"\n"), "what is said about a group is invalid"},
		"nothing said":        {replaced(group, `{"described":"go"}`+"\n"), "what is said about a group is invalid"},
		"a group is missing":  {replaced(group, ""), "2 described groups"},
		"a keeper is missing": {replaced(keeper, ""), "users who keep lists"},
		"no blocks":           {replaced(keeper-1, `{"blocker":"zoe"}`+"\n"), "the blocks are invalid"},
		"a denial is missing": {replaced(denial, ""), "123 denials and blocks"},
		"a vote twice":        {replaced(voter+1, lines[voter-1]), "it does not come after the line before"},
		"no vote":             {replaced(voter, `{"voter":"alice","month":1,"cast":{"0x1":5}}`+"\n"), "the list of votes is invalid"},
		"no front page":       {replaced(voter, `{"front":"1 2"}`+"\n"), "is not a front page"},
		"a page of no hour":   {replaced(voter, `{"front":"0 2 =5"}`+"\n"), "the front page is invalid"},
		"another kind of key": {replaced(key, `{"key":"session:1","text":"x"}`+"\n"), "the key is invalid"},
		"another type":        {replaced(key, `{"key":"account:1","fields":{"a":"b"}}`+"\n"), "the key is invalid"},
		"a key too early":     {replaced(lastArticle, lines[key-1]+lines[lastArticle-1]), "not in its place"},
		"keys in version 1":   {replaced(1, strings.Replace(lines[0], `"version":2`, `"version":1`, 1)), "not in its place"},
		"a rank":              {replaced(article, strings.Replace(lines[article-1], `"votes":`, `"best_rank":{"rank":0,"hour":5},"votes":`, 1)), "best_rank: it is out of range"},
		"no time of lists":    {replaced(1, strings.Replace(lines[0], `"last":`, `"cast_since":"soon","last":`, 1)), "cast_since is invalid"},
		"a list is missing":   {replaced(voter, ""), "lists of votes"},
		"a log at the end":    {replaced(len(lines)-1, lines[1]), "it is no line of an export, or not in its place"},
	} {
		_, err := read(t.Context(), client, tt.text, 1)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if n := client.DBSize(t.Context()).Val(); n != 0 {
			t.Fatalf("%s: %d keys were written", name, n)
		}
	}
}

// While users vote, each article of an export has as many voters as votes.
func TestExportIsConsistentWhileUsersVote(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.fill(t)
	ctx, stop := context.WithCancel(t.Context())
	voted := make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			_, err := s.Vote(ctx, []site.ArticleID{1, 2, 1003}[i%3], site.UserName(fmt.Sprint("busy", i/3)), site.Up, "")
			if err != nil {
				voted <- err
				return
			}
		}
	}()
	for range programtest.Size(3, 10) {
		text := s.export(t)
		client := redistest.Start(t).Client
		if _, err := read(t.Context(), client, text, 1); err != nil {
			t.Error(err)
		}
	}
	stop()
	if err := <-voted; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestInconsistentArticlesAreReported(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.fill(t)
	s.client.SAdd(t.Context(), "voted:1", "user:twice")
	s.client.HSet(t.Context(), "article:2", "votes", "many")
	s.client.HSet(t.Context(), "article:3", "groups", "Go")
	s.client.HSet(t.Context(), "article:7", "votes", "-500")
	var to, report bytes.Buffer
	sum, err := export.Write(t.Context(), s.Repo, &to, export.Options{Report: &report})
	if !errors.Is(err, export.ErrInconsistent) || sum.Faults != 4 || sum.Articles != 27 ||
		!strings.Contains(report.String(), "article:1: exported without voters") || !strings.Contains(report.String(), "article:2: left out") {
		t.Errorf("export = %v, %v, and reports %s; want 4 inconsistent articles", sum, err, &report)
	}
	if strings.Contains(to.String(), "twice") || !strings.Contains(to.String(), `{"article":1,`) || strings.Contains(to.String(), `{"article":2,`) {
		t.Errorf("the export has what it says it has not")
	}
	// The article without voters gets some without names, so that users can still vote on it.
	other := redistest.Start(t).Client
	if sum, err := export.Read(t.Context(), other, site.DefaultRules(), strings.NewReader(to.String()), export.Options{Report: t.Output()}); err != nil || sum.Articles != 27 {
		t.Errorf("import of what could be exported: %v, %v, want 27 articles that are consistent", sum, err)
	}
}

// The CSV form is what csvimport reads.
func TestCSVIsImported(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.fill(t)
	var to, report bytes.Buffer
	require.Value(export.WriteCSV(t.Context(), s.Repo, &to, export.Options{}))(t)
	other := newSite(t, 1)
	sum, err := csvimport.Run(t.Context(), other.Repo, bytes.NewReader(to.Bytes()), csvimport.Options{Report: &report})
	if err != nil || sum.Added != 27 {
		t.Errorf("import: %v, %v, %s, want 27 articles", sum, err, &report)
	}
	other.wantClean(t)
	var again bytes.Buffer
	if _, err := export.WriteCSV(t.Context(), other.Repo, &again, export.Options{}); err != nil || again.String() != to.String() {
		t.Errorf("the second export differs, %v:\n%s", err, difference(to.String(), again.String()))
	}
}

func TestFailedWritesEndAnExport(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.fill(t)
	for _, write := range []func(context.Context, *redisrepo.Repo, io.Writer, export.Options) (export.Summary, error){export.Write, export.WriteCSV} {
		if _, err := write(t.Context(), s.Repo, full{}, export.Options{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("export to a full disk: %v, want %v", err, io.ErrShortWrite)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
