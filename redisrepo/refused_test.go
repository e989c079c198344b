package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// redisError is an error reply of Redis.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// The errors of all supported versions, in and outside of scripts, tell whether Redis serves reads. An error that
// only quotes such a code, in the text of an article for example, is a fault.
func TestErrorsOfRedisAreClassified(t *testing.T) {
	t.Parallel()
	wrapped := func(text string) string {
		return "ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791): @user_script:12: " + text
	}
	for text, want := range map[string]error{
		"OOM command not allowed when used memory > 'maxmemory'.":                         failover.ErrReadOnly,
		"OOM command not allowed. script: a7f30a77, on @user_script:1.":                   failover.ErrReadOnly,
		wrapped("@user_script: 12: -OOM command not allowed"):                             failover.ErrReadOnly,
		wrapped("@user_script: 12: -READONLY You can't write against a read only"):        failover.ErrReadOnly,
		wrapped("@user_script: 12: -MISCONF Redis is configured to save RDB snapshots"):   failover.ErrReadOnly,
		"NOREPLICAS Not enough good replicas to write.":                                   failover.ErrReadOnly,
		"NOAUTH Authentication required.":                                                 failover.ErrDenied,
		"WRONGPASS invalid username-password pair or user is disabled.":                   failover.ErrDenied,
		"NOPERM this user has no permissions to run the 'get' command":                    failover.ErrDenied,
		"ERR The user executing the script can't run this command or subcommand script:":  failover.ErrDenied,
		"ERR ACL failure in script: User default has no permissions to run the 'set'":     failover.ErrDenied,
		wrapped("@user_script: 12: The user executing the script can't run this command"): failover.ErrDenied,
		"LOADING Redis is loading the dataset in memory":                                  failover.ErrUnavailable,
		"BUSY Redis is busy running a script.":                                            failover.ErrUnavailable,
		"ERR max number of clients reached":                                               failover.ErrUnavailable,
		"ERR value is not an integer, but OOM ":                                           nil,
		"ERR Protocol error: unauthenticated multibulk length":                            failover.ErrDenied,
		"OOMPH":                              nil,
		wrapped("CORRUPT votes of OOM "):     nil,
		wrapped("WRONGTYPE Operation: -OOM"): nil,
		"ERR x @user_script: 12: -OOM comma": nil,
	} {
		err := redisrepo.StoreError(redisError(text))
		for _, class := range []error{failover.ErrReadOnly, failover.ErrDenied} {
			if got := errors.Is(err, class); got != errors.Is(want, class) {
				t.Errorf("%s: is %q: %t, want %t", text, class, got, !got)
			}
		}
		if got := errors.Is(err, failover.ErrUnavailable); got != (want != nil) {
			t.Errorf("%s: is %q: %t, want %t", text, failover.ErrUnavailable, got, !got)
		}
	}
}

// refusals are the ways in which Redis refuses writes while it serves reads, and how they end.
var refusals = map[string]struct{ begin, end string }{
	"full memory":       {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
	"too few replicas":  {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
	"read-only replica": {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	"full disk":         {"BGSAVE", "BGSAVE"},
}

func TestReadsWorkWhileRedisRefusesWrites(t *testing.T) {
	t.Parallel()
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			var ids []site.ArticleID
			for range 7 {
				s.clock.advance(time.Second)
				ids = append(ids, s.post("alice", "go", "redis").ID)
			}
			s.vote(ids[2], "bob", up)
			s.vote(ids[3], "bob", down)
			s.delete(ids[6], moderator)
			require.NoError(t, s.Sessions.KeepDocument(s.ctx, "abcdef", "{ __typename }"))
			before := s.everything(ids)
			s.do("DEL score:go time:go score:redis time:redis")

			dump := filepath.Join(filepath.Dir(s.server.Socket()), "dump.rdb")
			if name == "full disk" {
				s.do("CONFIG SET save", "3600 1")
				require.NoError(t, os.MkdirAll(filepath.Join(dump, "in the way"), 0o700))
			}
			s.do(refusal.begin)
			require.Eventually(t, "refused writes", func() bool { return errors.Is(s.Ready(s.ctx), failover.ErrReadOnly) })
			if got := s.everything(ids); got != before {
				t.Errorf("read\n%s\nwant\n%s", got, before)
			}
			_, err := s.Vote(s.ctx, ids[0], "carol", up, "")
			s.wantReadOnly("Vote", err)
			_, err = s.Post(s.ctx, "carol", s.fresh("go"))
			s.wantReadOnly("Post", err)
			_, err = s.Rates.Charge(s.ctx, "", []rates.Charge{{Rule: "x", Most: 1, Window: time.Second, Amount: 1, User: "bob"}})
			s.wantReadOnly("Charge", err)

			require.NoError(t, os.RemoveAll(dump))
			s.do(refusal.end)
			require.Eventually(t, "accepted writes", func() bool { return s.Ready(s.ctx) == nil })
			s.vote(ids[0], "carol", up)
			s.wantClean()
		})
	}
}

func (s *testSite) wantReadOnly(call string, err error) {
	s.t.Helper()
	if !errors.Is(err, failover.ErrReadOnly) || !errors.Is(err, failover.ErrUnavailable) {
		s.t.Errorf("%s: got %v, want ErrReadOnly, which is ErrUnavailable, too", call, err)
	}
}

// everything returns what all reads return, as text.
func (s *testSite) everything(ids []site.ArticleID) string {
	s.t.Helper()
	var b strings.Builder
	add := func(what string, value any, err error) {
		s.t.Helper()
		if err != nil {
			s.t.Errorf("%s: %v", what, err)
		}
		fmt.Fprintf(&b, "%s: %+v\n", what, value)
	}
	two := 2
	for _, l := range []lists.Listing{
		best("go"), lists.InGroup("go", site.ByTime, site.Ascending),
		lists.InGroup("go", site.ByScore, site.Ascending), lists.PostedBy("alice"),
		lists.AllArticles(site.ByScore, site.Descending), best(site.Interesting),
	} {
		page, err := s.Lists.List(s.ctx, l, 2, &two)
		add("page", page, err)
		edges, info, err := s.Lists.Walk(s.ctx, l, site.PageRequest{First: &two})
		add("first", edges, err)
		for info.HasNextPage {
			edges, info, err = s.Lists.Walk(s.ctx, l, site.PageRequest{First: &two, After: info.EndCursor})
			add("next", edges, err)
			add("has previous", info.HasPreviousPage, err)
		}
		edges, _, err = s.Lists.Walk(s.ctx, l, site.PageRequest{Last: &two, Before: info.StartCursor})
		add("before", edges, err)
		count, err := s.Lists.Count(s.ctx, l)
		add("count", count, err)
	}
	for formula := rankings.RankTop; formula <= rankings.RankLinear; formula++ {
		add("ranking", s.ranking(rankings.RankQuery{By: rankings.RankBy{Formula: formula}}), nil)
	}
	articles, errs := s.Articles.ArticlesByID(s.ctx, ids[:6])
	for i, a := range articles {
		add("article", a.Title+fmt.Sprint(a.Votes, a.Groups), errs[i])
	}
	fmt.Fprintln(&b, s.positions("bob", ids[:6]...))
	groups, err := s.groups()
	for _, group := range groups {
		add("group", *group, err)
	}
	log, _, err := s.Log.ModerationLog(s.ctx, site.PageRequest{})
	add("log", len(log), err)
	audit, err := s.Audit(s.ctx, ids[2])
	add("audit", len(audit), err)
	text, err := s.Sessions.Document(s.ctx, "abcdef")
	add("document", text, err)
	return b.String()
}

// A new connection that may not log in fails each call in the same way, also those of several commands.
func TestRefusedLoginIsAnOutage(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.post("alice", "go")
	other := s.reopened(s.limited("~* &* +@all"), nil)
	other.list(best("go"))
	s.do("ACL SETUSER limited resetpass >another")
	s.do("CLIENT KILL TYPE normal")
	for name, call := range map[string]func() error{
		"List": func() error { _, err := other.Lists.List(s.ctx, best("go"), 1, nil); return err },
		"Vote": func() error { _, err := other.Vote(s.ctx, 1, "bob", up, ""); return err },
		"Read": func() error { _, errs := other.Articles.ArticlesByID(s.ctx, []site.ArticleID{1}); return errs[0] },
	} {
		for range 3 { // some find a connection that was killed
			if err := call(); !errors.Is(err, failover.ErrUnavailable) {
				t.Errorf("%s = %v, want ErrUnavailable", name, err)
			}
		}
	}
}

// The first post and the first report of a user, if they are refused, leave no key: no name, no idempotency key, no list.
func TestRefusedFirstCallsOfAUserLeaveNoKey(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		first := s.fresh()
		require.Value(s.Post(s.ctx, "alice", first))(t)
		mine := require.Value(s.Post(s.ctx, "alice", s.fresh()))(t)
		keys := func() []string { // without the counters of articles: numbers may be skipped
			all := slices.Sorted(slices.Values(s.raw.Keys(s.ctx, "*").Val()))
			return slices.DeleteFunc(all, func(key string) bool { return strings.HasSuffix(key, "article:") })
		}
		before := keys()
		for n := range 8 { // of some, the key is in another partition than the link
			again := first
			again.IdempotencyKey = new(fmt.Sprint("key ", n))
			_, err := s.Post(s.ctx, site.UserName(fmt.Sprint("new", n)), again)
			wantRefused(t, err, "DUPLICATE_LINK link")
			again.Link = new(fmt.Sprint("https://example.com/other/", n))
			_, err = s.Post(s.ctx, "\u0430lice", again) // it looks like alice
			wantRefused(t, err, "FORBIDDEN")
		}
		_, err := s.Reports.Flag(s.ctx, "bob", 9999, reports.Spam, "")
		wantRefused(t, err, "NOT_FOUND target")
		_, err = s.Reports.Flag(s.ctx, "alice", mine.ID, reports.Spam, "")
		wantRefused(t, err, "FORBIDDEN target")
		if after := keys(); !slices.Equal(after, before) {
			t.Errorf("keys %v, want %v", after, before)
		}
	})
}

// The first post of a user, sent twice at the same time with one idempotency key, is one article for both: the link that the one
// has reserved does not refuse the other.
func TestFirstPostSentTwiceAtOnceIsOneArticle(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		for n := range 8 { // of some, the key is in another partition than the link
			poster, d := site.UserName(fmt.Sprint("new", n)), s.fresh()
			d.IdempotencyKey = new("key")
			var first *site.Article
			between := s.client(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
				if first == nil && commands[0].Name() == "get" && strings.Contains(fmt.Sprint(commands[0].Args()...), "link:") {
					first = require.Value(s.Post(s.ctx, poster, d))(t)
				}
				return send(ctx, commands)
			}))
			second := require.Value(s.reopened(between, nil, redisrepo.WithPartitions(len(tags))).Post(s.ctx, poster, d))(t)
			if first == nil || first.ID != second.ID {
				t.Errorf("got %v and %v, want one article", first, second.ID)
			}
		}
	})
}
