package events_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestModerationLogRecordsActionsOfModerators(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "a", "b")
	regroup := func(by site.Actor, add, remove []string) {
		t.Helper()
		s.Clock.Advance(time.Second)
		require.Value(s.Regroup(s.Ctx, a.ID, by, add, remove))(t)
	}
	regroup(repotest.Alice(), []string{"c"}, nil)                               // by the poster: not logged
	regroup(site.Actor{Name: "alice", Moderator: true}, nil, []string{"c"})     // by the poster, who is a moderator: not logged either
	regroup(repotest.Moderator, []string{"a"}, []string{"x"})                   // changes nothing
	regroup(repotest.Moderator, nil, []string{"a", "b"})                        // 4s
	regroup(site.Actor{Name: "two words", Moderator: true}, []string{"b"}, nil) // 5s
	s.MustDelete(a.ID, repotest.Alice())
	s.MustDelete(a.ID, repotest.Moderator)
	s.Clock.Advance(time.Second)
	s.MustUndelete(a.ID)
	s.MustUndelete(a.ID)
	_, err := s.Delete(s.Ctx, a.ID, site.Actor{Name: "bob"}, site.Why{})
	repotest.WantRefused(t, err, "FORBIDDEN article")
	want := []string{
		"undeleted article:1 mod 6s [] []",
		"deleted article:1 alice 5s [] []",
		"regrouped article:1 two words 5s [] [b]",
		"regrouped article:1 mod 4s [a b] []",
	}
	if got := s.ModerationLog(); !slices.Equal(got, want) {
		t.Errorf("log = %q, want %q", got, want)
	}
	s.Do("XADD moderation: * by unknown") // skipped by readers
	if got := s.ModerationLog(); !slices.Equal(got, want) {
		t.Errorf("log = %q, want %q", got, want)
	}
}

func TestModerationLogIsPaged(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		if entries, info, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{}); err != nil || len(entries) != 0 || info != (site.PageInfo{}) {
			t.Errorf("ModerationLog of an empty log = %v, %+v, %v, want an empty page", entries, info, err)
		}
		const total = 30
		for i := range total { // many of them in one millisecond
			key := tags[i%len(tags)] + "moderation:"
			s.Do("XADD", key, fmt.Sprintf("%d-%d", 1000+i/10, i%10/len(tags)+1), "kind", "deleted", "article", fmt.Sprint("article:", i+1), "by", "user:mod", "at", repotest.Opened.Unix())
		}
		all, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{First: new(100)})
		if err != nil || len(all) != total {
			t.Fatalf("ModerationLog = %v, %v, want %d entries", all, err, total)
		}
		id := func(e events.ModerationEntry) string { return e.ID() }
		names := map[string]bool{}
		for _, e := range all {
			names[e.ID()] = true
		}
		if len(names) != total {
			t.Errorf("the %d entries have %d ids", total, len(names))
		}
		for _, backward := range []bool{false, true} {
			for _, size := range []int{1, 2, 3, 7, 30, 100} {
				got := repotest.WalkAll(t, size, backward, total, func(span site.PageRequest) ([]events.ModerationEntry, site.PageInfo, error) {
					return s.Log.ModerationLog(s.Ctx, span)
				})
				if !slices.EqualFunc(got, all, func(a, b events.ModerationEntry) bool { return id(a) == id(b) }) {
					t.Errorf("pages of %d, backward %t: %v, want %v", size, backward, got, all)
				}
			}
		}
		for i := range all { // between two cursors
			for j := i + 1; j < len(all); j += 5 {
				got, info, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{First: new(100), After: &all[i].Cursor, Before: &all[j].Cursor})
				if err != nil || len(got) != j-i-1 || !info.HasPreviousPage || !info.HasNextPage {
					t.Fatalf("between entries %d and %d: %d entries, %+v, %v, want %d", i, j, len(got), info, err, j-i-1)
				}
			}
		}
		s.MustPost("alice", "go")
		groups, _, _ := s.Lists.Groups(s.Ctx, lists.GroupList{}, site.PageRequest{})
		for _, span := range []site.PageRequest{{After: &groups[0].Cursor}, {After: new("x")}} {
			_, _, err := s.Log.ModerationLog(s.Ctx, span)
			repotest.WantRefused(t, err, "INVALID after")
		}
		_, _, err = s.Log.ModerationLog(s.Ctx, site.PageRequest{First: new(0)})
		repotest.WantRefused(t, err, "INVALID first")
		_, _, err = s.Lists.Groups(s.Ctx, lists.GroupList{}, site.PageRequest{Before: &all[0].Cursor})
		repotest.WantRefused(t, err, "INVALID before")
	})
}

func TestModerationLogIsBounded(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice")
	s.Do("EVAL", "redis.call('DEL', KEYS[1]) for i = 1, 101000 do redis.call('XADD', KEYS[1], string.format('%d-1', i), 'kind', 'deleted') end", 1, "moderation:")
	s.MustDelete(a.ID, repotest.Moderator)
	if n := s.Do("XLEN moderation:").(int64); n < 100_000 || n > 100_200 {
		t.Errorf("the log has %d entries, want 100,000 or slightly more", n)
	}
	if got := s.ModerationLog(); len(got) != 1 {
		t.Errorf("log = %q, want the deletion alone", got)
	}
}

// Any client can make a cursor with a valid checksum. Every one is a place in its list or refused as Invalid.
func TestForgedCursorsAreAPlaceOrRefused(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustDelete(s.MustPost("alice", "a", "b").ID, repotest.Moderator)
	s.MustPost("alice", "c", "b")
	forged := func(parts ...string) *string {
		text := strings.Join(parts, "\n")
		cursor := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32([]byte(text), crc32.ChecksumIEEE([]byte(text))))
		return &cursor
	}
	const most = "18446744073709551615"
	log := func(p site.PageRequest) error { _, _, err := s.Log.ModerationLog(s.Ctx, p); return err }
	walk := func(p site.PageRequest) error {
		_, _, err := s.Lists.Walk(s.Ctx, lists.AllArticles(site.ByScore, site.Descending), p)
		return err
	}
	groups := func(p site.PageRequest) error {
		_, _, err := s.Lists.Groups(s.Ctx, lists.GroupList{}, p)
		return err
	}
	for _, tt := range []struct {
		cursor *string
		read   func(site.PageRequest) error
		want   string // the code of the refusal, or empty
	}{
		{forged("moderation", "0-0", "0"), log, "INVALID"},
		{forged("moderation", most+"-"+most, "0"), log, "INVALID"},
		{forged("moderation", "0-1", "0"), log, ""},
		{forged("moderation", "1-0", "-9223372036854775808"), log, ""},
		{forged("moderation", most+"-0", "9223372036854775807"), log, ""},
		{forged("moderation", "0-"+most, "0"), log, ""},
		{forged("moderation", most+"0-1", "0"), log, "INVALID"},
		{forged("moderation", "1-1", "9223372036854775808"), log, "INVALID"},
		{forged("score:1", "NaN", "article:1"), walk, "INVALID"},
		{forged("score:1", "1e308", "article:1"), walk, "INVALID"},
		{forged("score:1", "-9007199254740992", ""), walk, ""},
		{forged("score:1", "9007199254740992", strings.Repeat("x", 100_000)), walk, ""},
		{forged("score:1", "5e-324", "\x00\xff"), walk, ""},
		{forged("groups", ""), groups, ""},
		{forged("groups", "\x00\xff"+strings.Repeat("x", 100_000)), groups, ""},
	} {
		one := 1
		for _, p := range []site.PageRequest{{After: tt.cursor}, {Before: tt.cursor}, {After: tt.cursor, Last: &one}, {Before: tt.cursor, Last: &one}, {Before: tt.cursor, After: tt.cursor}} {
			err := tt.read(p)
			var refusal site.Refusal
			if got := ""; errors.As(err, &refusal) {
				got = string(refusal[0].Code)
				if got != tt.want {
					t.Errorf("%.60s: got %v, want %q", *tt.cursor, err, tt.want)
				}
			} else if err != nil || tt.want != "" {
				t.Errorf("%.60s: got %v, want %q", *tt.cursor, err, tt.want)
			}
		}
	}
}

// The operator's commands act under a name that no user can have. Its space is stored, exported and not shown.
func TestTheNameOfTheOperatorsCommandsIsShownWithoutItsSpace(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	id := s.MustPost("alice").ID
	s.MustDelete(id, repotest.Moderator)
	require.Value(s.Undelete(s.Ctx, id, site.Actor{Name: site.CommandLine, Moderator: true}))(t)
	entries, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{First: new(1)})
	if err != nil || len(entries) != 1 || entries[0].By != "command line" {
		t.Errorf("the moderation log has %v, %v, want an entry by command line", entries, err)
	}
	page := s.Events(nil, 100, events.EventUndeleted)
	if len(page.Edges) != 1 || page.Edges[0].Node.By.Name != "command line" {
		t.Errorf("the feed has %v, want an event by command line", page.Edges)
	}
	for _, key := range []string{"moderation:", "events:"} {
		if last := s.Raw.XRevRangeN(s.Ctx, key, "+", "-", 1).Val(); !strings.HasSuffix(fmt.Sprint(last[0].Values["by"]), string(site.CommandLine)) {
			t.Errorf("%s has %v, want the name with its space", key, last)
		}
	}
	if _, err := site.ParseUserName(string(site.CommandLine)); err == nil {
		t.Error("a user can have the name of the operator's commands")
	}
}

func TestAuditListsVotersWithTimeAndBucket(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice")
	from := func(voter site.UserName, vote site.Vote, bucket string) {
		t.Helper()
		s.Clock.Advance(time.Second)
		require.Value(s.Vote(s.Ctx, a.ID, voter, vote, bucket))(t)
	}
	if s.MustVote(a.ID, "zoe", site.Up); s.Do("EXISTS audit:1") != int64(0) {
		t.Error("a vote without a bucket was recorded, want no record")
	}
	from("bob", site.Up, "b1")
	from("bob", site.Up, "b2") // changes nothing
	from("carol", site.Down, "b1")
	from("dave", site.Up, "b 3")
	from("dave", site.None, "b4")
	from("erin", site.Up, "b5")
	s.MustVote(a.ID, "erin", site.Down) // was not recorded
	from("frank", site.Down, "b6")
	s.MustVote(a.ID, "frank", site.None)
	from("grace", site.None, "b7") // changes nothing
	want := []string{"alice +1", "erin -1", "zoe +1", "bob +1 1s b1", "carol -1 3s b1", "dave +0 5s b4"}
	if got := repotest.Audited(s, a.ID); !slices.Equal(got, want) {
		t.Errorf("Audit = %q, want %q", got, want)
	}
	if left := s.TTL("audit:1"); left > repotest.Week+time.Hour || left < repotest.Week {
		t.Errorf("audit:1 expires in %v, want as long as the voters", left)
	}
	s.WantClean()
	s.MustDelete(a.ID, repotest.Moderator)
	if got := repotest.Audited(s, a.ID); !slices.Equal(got, want) {
		t.Errorf("Audit of a deleted article = %q, want %q", got, want)
	}
	s.Do("PERSIST audit:1")
	s.WantViolations("audit:1: does not expire")
	_, err := s.Audit(s.Ctx, 99)
	repotest.WantRefused(t, err, "NOT_FOUND article")
}

func TestAuditListsAllOfManyVoters(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustImport(repotest.Old(1, time.Hour, 700))
	for i := range 300 {
		require.Value(s.Vote(s.Ctx, 1, site.UserName(fmt.Sprint("voter", i)), site.Up, "bucket"))(t)
	}
	got := repotest.Audited(s, 1)
	if len(got) != 301 || got[0] != "zoe +1" || got[300] != "voter99 +1 0s bucket" {
		t.Errorf("Audit has %d entries, from %s to %s; want 301, from zoe to voter99", len(got), got[0], got[len(got)-1])
	}
}

// Denials are in the log with the actions on articles, each once, and moderationLog has those on articles only.
func TestActionsAreThoseOnArticlesUsersAndHosts(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		a, b := s.MustPost("alice"), s.MustPost("alice")
		step := func() {
			s.Clock.Advance(time.Second)
			began := require.Value(s.Raw.Time(s.Ctx).Result())(t).UnixMilli()
			require.Eventually(t, "another millisecond of Redis, by which entries are ordered", func() bool { return require.Value(s.Raw.Time(s.Ctx).Result())(t).UnixMilli() > began })
		}
		s.MustDelete(a.ID, repotest.Moderator)
		step()
		require.Value(s.Denials.DenyUser(s.Ctx, "eve", nil, site.GroundIllegal, "threats", site.Actor{Name: "mod", Moderator: true, Via: "bot"}))(t)
		step()
		require.Value(s.Denials.DenyHost(s.Ctx, "spam.example", true, true, "spam", repotest.Moderator))(t)
		step()
		s.MustDeny("eve", new(s.Clock.Now().Add(time.Hour)), "a pause")
		step()
		s.MustDeny("eve", new(s.Clock.Now()), "")
		step()
		require.Value(s.Denials.DenyHost(s.Ctx, "spam.example", false, true, "spam", repotest.Moderator))(t)
		step()
		s.MustDelete(b.ID, repotest.Moderator)
		first, last := fmt.Sprint("deleted ", a.ID, " by mod"), fmt.Sprint("deleted ", b.ID, " by mod")
		all := []string{
			last, "allowed host:spam.example by mod rules: spam until 5s", "allowed user:eve by mod rules until 4s",
			"denied user:eve by mod rules: a pause until 1h0m3s", "denied host:spam.example by mod rules: spam", "denied user:eve by bot for mod illegal: threats", first,
		}
		for _, size := range []int{1, 2, 100} {
			if got := s.Actions(events.Actions{}, size); !slices.Equal(got, all) {
				t.Errorf("in pages of %d:\n got %q\nwant %q", size, got, all)
			}
			if got := s.Actions(events.Actions{Target: "user:eve"}, size); !slices.Equal(got, []string{all[2], all[3], all[5]}) {
				t.Errorf("on eve, in pages of %d: %q", size, got)
			}
			if got := s.Actions(events.Actions{Target: a.ID.String()}, size); !slices.Equal(got, []string{first}) {
				t.Errorf("on %v, in pages of %d: %q", a.ID, size, got)
			}
			if got := s.Actions(events.Actions{Kinds: []events.ModerationKind{events.LogAllowed}}, size); !slices.Equal(got, all[1:3]) {
				t.Errorf("ends of denials, in pages of %d: %q", size, got)
			}
		}
		if got := s.ModerationLog(); len(got) != 2 {
			t.Errorf("the actions on articles are %q", got)
		}
		s.WantClean()
	})
}

// A page of a rare kind ends after a bounded number of entries, and the next one goes on there.
func TestRareActionsAreFoundInSteps(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustDeny("eve", nil, "x")
	for i := range 60 { // 6,000 entries
		args := []any{"EVAL", "for i = 1, 100 do redis.call('XADD', KEYS[1], '*', 'kind', 'edited', 'article', 'article:1', 'by', 'user:mod', 'at', ARGV[1]) end return 1", 1, "moderation:", i}
		require.NoError(t, s.Raw.Do(s.Ctx, args...).Err())
	}
	entries, info, looked, err := s.Log.Actions(s.Ctx, events.Actions{Target: "user:eve"}, nil, nil)
	if err != nil || len(entries) > 0 || !info.HasNextPage || looked != 5000 {
		t.Fatalf("the first page has %d actions of %d entries, %+v, %v", len(entries), looked, info, err)
	}
	entries, info, looked, err = s.Log.Actions(s.Ctx, events.Actions{Target: "user:eve"}, nil, info.EndCursor)
	if err != nil || len(entries) != 1 || info.HasNextPage || looked != 1001 {
		t.Errorf("the second page has %v of %d entries, %+v, %v", entries, looked, info, err)
	}
	for text, want := range map[string]string{"17": "article:17", "article:17": "article:17", "user:eve": "user:eve", "host:Go.Dev.": "host:go.dev", "group:Go": "group:go"} {
		if got, err := events.ParseTarget(text); got != want || err != nil {
			t.Errorf("the target %q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "user:", "host:a b", "group:", "group:a b"} {
		if got, err := events.ParseTarget(text); err == nil {
			t.Errorf("the target %q is %q", text, got)
		}
	}
	if _, _, _, err := s.Log.Actions(s.Ctx, events.Actions{}, new(0), nil); err == nil {
		t.Error("a page without actions was accepted")
	}
}
