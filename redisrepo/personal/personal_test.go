package personal_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// exported returns all parts of a user's export.
func exported(s *repotest.Site, user site.UserName) (parts []string) {
	s.T.Helper()
	var after *string
	for {
		part := require.Value(s.Personal.ExportUser(s.Ctx, user, after))(s.T)
		if parts = append(parts, part.NDJSON); part.IsLast() {
			return parts
		}
		after = part.Cursor
	}
}

// linesOf parses an export, compares what its last line says of it, and returns the others.
func linesOf(t *testing.T, parts []string) (lines []map[string]any) {
	t.Helper()
	text := strings.Join(parts, "")
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); {
		var l map[string]any
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &l))
		lines = append(lines, l)
	}
	end := lines[len(lines)-1]
	body := text[:strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1]
	sum := sha256.Sum256([]byte(body))
	if end["kind"] != "end" || end["lines"] != float64(len(lines)-1) || end["sha256"] != hex.EncodeToString(sum[:]) {
		t.Errorf("the export ends with %v, after %d lines with %x", end, len(lines)-1, sum)
	}
	return lines[:len(lines)-1]
}

// leftOut returns the kinds of keys that docs/export-user.md says are in no line of an export.
func leftOut(t *testing.T) (kinds []string) {
	t.Helper()
	text := string(require.Value(os.ReadFile("../../docs/export-user.md"))(t))
	_, table, found := strings.Cut(text, "## What is left out")
	if !found {
		t.Fatal("docs/export-user.md has no list of what is left out")
	}
	for line := range strings.Lines(table) {
		if key, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), ":` | "); ok && strings.HasPrefix(line, "| `") && len(rest) > 20 {
			kinds = append(kinds, key)
		}
	}
	return kinds
}

// livesFully has a user do, and others do to the user, everything that leaves the user's name in the store.
func livesFully(s *repotest.Site, user site.UserName) {
	s.T.Helper()
	t, self := s.T, site.Actor{Name: user}
	require.Value(s.Sessions.AccountName(s.Ctx, "issuer subject", string(user)))(t)
	require.Value(s.Rates.Charge(s.Ctx, "", []rates.Charge{{Rule: "votes", Most: 9, Window: time.Minute, Amount: 1, User: user}}))(t)
	require.NoError(t, s.Sessions.KeepDocument(s.Ctx, "abc123", `{ user(name: "`+string(user)+`") { id } }`))

	d := s.Fresh("go", "rust")
	d.Text, d.IdempotencyKey = new("a text of mine"), new("key")
	kept := require.Value(s.Post(s.Ctx, user, d))(t)
	edited, removed, own := s.MustPost(user, "go"), s.MustPost(user, "go"), s.MustPost(user, "go")
	s.MustEdit(edited.ID, self, redisrepo.Edit{Title: new("second title")})
	s.MustEdit(edited.ID, repotest.Moderator, redisrepo.Edit{Title: new("third title"), Why: site.Why{Ground: site.GroundRules, Reason: "shouting"}})
	flag := require.Value(s.Reports.Flag(s.Ctx, "rita", removed.ID, reports.Spam, "rita reports this"))(t)
	require.Value(s.SettleByDeleting(s.Ctx, removed.ID, repotest.Moderator, reports.Settling{Through: flag.Number, State: reports.Acted, Why: site.Why{Ground: site.GroundRules, Reason: "advertising"}}))(t)
	s.MustVote(kept.ID, "vera", site.Up)
	s.MustDelete(own.ID, self)
	s.MustRegroup(kept, []string{"lua"}, nil)

	for i, vote := range []site.Vote{site.Up, site.Down, site.Up, site.None} {
		other := s.MustPost("zoe")
		require.Value(s.Vote(s.Ctx, other.ID, user, site.Up, "bucket"))(t)
		require.Value(s.Vote(s.Ctx, other.ID, user, vote, "bucket"))(t)
		if i == 2 {
			s.MustDelete(other.ID, repotest.Moderator)
		}
	}
	legacy := s.MustPost("zoe")
	s.Do(fmt.Sprintf("SADD %s user:%s", s.Store.Partition(legacy.ID).Voted(legacy.ID), user))
	s.Do(fmt.Sprintf("HINCRBY %s votes 1", s.Store.Partition(legacy.ID).Article(legacy.ID)))

	recent, forgotten := s.MustPost("zoe"), s.MustPost("zoe")
	s.MustVote(recent.ID, user, site.Up)
	s.MustVote(forgotten.ID, user, site.Down)
	for _, id := range []site.ArticleID{legacy.ID, recent.ID, forgotten.ID} {
		require.Value(s.Void(id, true, string(user)))(t)
	}
	s.MustDelete(forgotten.ID, repotest.Moderator)

	reported := s.MustPost("zoe")
	require.Value(s.Reports.Flag(s.Ctx, user, reported.ID, reports.Abuse, "my note"))(t)
	require.Value(s.Reports.Flag(s.Ctx, user, legacy.ID, reports.Spam, ""))(t)
	require.NoError(t, s.Reports.Settle(s.Ctx, reported.ID, repotest.Moderator, reports.Settling{Through: 1, State: reports.Dismissed, Decision: "fine by us"}))

	require.Value(s.Denials.BlockUser(s.Ctx, user, "bob", true))(t)
	require.Value(s.Denials.BlockUser(s.Ctx, "bob", string(user), true))(t)
	s.MustSave(user, kept.ID, true)
	s.MustSave(user, forgotten.ID, true)
	s.MustFollow(user, saved.Target{User: "bob"}, true)
	s.MustFollow(user, saved.Target{Group: "go"}, true)
	s.MustFollow("bob", saved.Target{User: user}, true)
	s.MustDeny(string(user), new(s.Store.Now().Add(time.Minute)), "advertising")
	s.Clock.Advance(time.Hour)

	acting := site.Actor{Name: user, Moderator: true} // the user was a moderator for a while
	theirs := s.MustPost("yan", "go")
	s.MustEdit(theirs.ID, acting, redisrepo.Edit{Title: new("mended")})
	require.Value(s.Denials.DenyHost(s.Ctx, "spam.example", true, true, "spam", acting))(t)
	require.Value(s.Reports.Flag(s.Ctx, "rita", theirs.ID, reports.Spam, ""))(t)
	require.NoError(t, s.Reports.Settle(s.Ctx, theirs.ID, acting, reports.Settling{Through: 1, State: reports.Dismissed}))
	s.MustDelete(theirs.ID, acting)
	service := site.Actor{Name: user, Via: "robot"}
	require.Value(s.PostAs(s.Ctx, service, s.Fresh("go")))(t)
}

// Every key that holds the name is in a line of the export, or on the list of those that are left out.
func TestAnExportHasWhateverNamesTheUser(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		const user = "mkvtqhwzrpxb"
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		livesFully(s, user)
		parts := exported(s, user)
		lines, text := linesOf(t, parts), strings.Join(parts, "")
		has := func(kind string, member, value string) bool {
			return slices.ContainsFunc(lines, func(l map[string]any) bool {
				return (kind == "" || l["kind"] == kind) && (member == "" || l[member] == value)
			})
		}
		represented := func(kind, of string) bool {
			article := "article:" + of
			switch kind {
			case "article", "history":
				return has("article", "id", article) || has("moderation", "article", article)
			case "voted", "downvoted", "audit", "void":
				return has("vote", "article", article)
			case "flags":
				return has("report", "article", article) || has("moderation", "article", article)
			case "posted":
				return has("article", "", "")
			case "cast":
				return has("vote", "", "")
			case "reported":
				return has("report", "", "")
			case "blocked":
				return of == user && has("block", "user", "user:bob")
			case "saved":
				return of == user && has("saved", "", "")
			case "following":
				return of == user && has("follow", "target", "user:bob") && has("follow", "target", "group:go")
			case "denials":
				return has("denial", "reason", "advertising")
			case "name", "account":
				return has("profile", "name", user)
			case "moderation":
				return has("moderation", "", "")
			}
			return false
		}
		exceptions, met := leftOut(t), map[string]bool{}
		names := require.Value(s.Raw.Keys(s.Ctx, "*").Result())(t)
		for _, key := range names {
			var content func() any
			typ := s.Do("TYPE", key).(string)
			_, _ = s.Raw.Pipelined(s.Ctx, func(p redis.Pipeliner) error { content = s.Content(p, typ, key); return nil })
			held := fmt.Sprint(content())
			if !strings.Contains(key+held, user) {
				continue
			}
			name := key
			for _, tag := range tags {
				if tag != "" {
					name = strings.TrimPrefix(name, tag)
				}
			}
			kind, of := keys.Parse(name)
			met[kind.Name] = true
			if !represented(kind.Name, of) && !slices.Contains(exceptions, kind.Name) {
				t.Errorf("no line has what %s holds: %s", key, held)
			}
		}
		for _, kind := range exceptions {
			if !met[kind] {
				t.Errorf("docs/export-user.md leaves %s: out, but no such key holds the name", kind)
			}
		}
		for _, name := range []string{"rita", "vera", "mod\"", "robot"} {
			if strings.Contains(text, name) {
				t.Errorf("the export names %s:\n%s", name, text)
			}
		}
		for kind, want := range map[string]int{"profile": 1, "denial": 1, "block": 1, "article": 5, "vote": 11, "report": 2, "saved": 2, "follow": 2} {
			found := 0
			for _, l := range lines {
				if l["kind"] == kind {
					found++
				}
			}
			if found != want {
				t.Errorf("%d lines of the kind %s, want %d", found, kind, want)
			}
		}
		if n := strings.Count(text, `"void":{"at":"`); n != 3 || strings.Contains(text, "article:0") {
			t.Errorf("%d votes do not count, want 3:\n%s", n, text)
		}
		for _, want := range []string{`"user":"user:mkvtqhwzrpxb","until":"2026-03-01T12:01:00Z","action":"denied"`, `"reason":"a ring"}}`, `"reason":"advertising"`, `"history":[{"title":"title"`, `"byYou":true}`, `"text":"a text of mine"`, `"note":"my note"`, `"decision":"fine by us"`, `"direction":"down"`, `"address":"bucket"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the export has no %s:\n%s", want, text)
			}
		}
		if lines := linesOf(t, exported(s, "unknown")); len(lines) != 1 || lines[0]["kind"] != "profile" {
			t.Errorf("the export of a user who does not exist is %v", lines)
		}
	})
}

// A user of thousands of articles and votes is exported in parts, each thing once, also while votes and articles are added, and if
// many have the same time.
func TestAnExportHasParts(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		var imported []redisrepo.Imported
		for i := range 1500 {
			imported = append(imported, redisrepo.Imported{ID: site.ArticleID(i + 1), Draft: site.Draft{Title: fmt.Sprint("title ", i), Text: new("text")}, Poster: "alice", PostedAt: s.Store.Now().Add(-time.Hour)})
		}
		s.MustImport(imported...)
		for range 30 {
			s.MustVote(s.MustPost("bob").ID, "alice", site.Up)
		}
		var parts []string
		var after *string
		for {
			part := require.Value(s.Personal.ExportUser(s.Ctx, "alice", after))(t)
			if n := strings.Count(part.NDJSON, "\n"); n > 1600 {
				t.Errorf("a part has %d lines", n)
			}
			parts = append(parts, part.NDJSON)
			if part.IsLast() {
				break
			}
			after = part.Cursor
			s.MustVote(s.MustPost("bob").ID, "alice", site.Up)
			if _, err := s.Personal.ExportUser(s.Ctx, "bob", after); err == nil {
				t.Error("a cursor of alice was accepted for bob")
			}
		}
		if len(parts) < 2 {
			t.Errorf("%d parts, want several", len(parts))
		}
		lines, seen, articles, votes := linesOf(t, parts), map[string]bool{}, 0, 0
		for _, l := range lines {
			name := fmt.Sprint(l["kind"], l["id"], l["article"])
			if seen[name] {
				t.Errorf("%s is in it twice", name)
			}
			seen[name] = true
			switch l["kind"] {
			case "article":
				articles++
			case "vote":
				votes++
			}
		}
		if articles != 1500 || votes < 30 {
			t.Errorf("%d articles and %d votes, want 1500 and at least 30", articles, votes)
		}
		_, err := s.Personal.ExportUser(s.Ctx, "alice", new("x"))
		repotest.WantRefused(t, err, "INVALID after")
	})
}
