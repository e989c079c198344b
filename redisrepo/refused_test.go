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
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestReadsWorkWhileRedisRefusesWrites(t *testing.T) {
	t.Parallel()
	for name, refusal := range repotest.Refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil)
			var ids []site.ArticleID
			for range 7 {
				s.Clock.Advance(time.Second)
				ids = append(ids, s.MustPost("alice", "go", "redis").ID)
			}
			s.MustVote(ids[2], "bob", up)
			s.MustVote(ids[3], "bob", down)
			s.MustDelete(ids[6], repotest.Moderator)
			require.NoError(t, s.Sessions.KeepDocument(s.Ctx, "abcdef", "{ __typename }"))
			before := everything(s, ids)
			s.Do("DEL score:go time:go score:redis time:redis")

			dump := filepath.Join(filepath.Dir(s.Server.Socket()), "dump.rdb")
			if name == "full disk" {
				s.Do("CONFIG SET save", "3600 1")
				require.NoError(t, os.MkdirAll(filepath.Join(dump, "in the way"), 0o700))
			}
			s.Do(refusal.Begin)
			require.Eventually(t, "refused writes", func() bool { return errors.Is(s.Ready(s.Ctx), failover.ErrReadOnly) })
			if got := everything(s, ids); got != before {
				t.Errorf("read\n%s\nwant\n%s", got, before)
			}
			_, err := s.Vote(s.Ctx, ids[0], "carol", up, "")
			wantReadOnly(s, "Vote", err)
			_, err = s.Post(s.Ctx, "carol", s.Fresh("go"))
			wantReadOnly(s, "Post", err)
			_, err = s.Rates.Charge(s.Ctx, "", []rates.Charge{{Rule: "x", Most: 1, Window: time.Second, Amount: 1, User: "bob"}})
			wantReadOnly(s, "Charge", err)

			require.NoError(t, os.RemoveAll(dump))
			s.Do(refusal.End)
			require.Eventually(t, "accepted writes", func() bool { return s.Ready(s.Ctx) == nil })
			s.MustVote(ids[0], "carol", up)
			s.WantClean()
		})
	}
}

func wantReadOnly(s *repotest.Site, call string, err error) {
	s.T.Helper()
	if !errors.Is(err, failover.ErrReadOnly) || !errors.Is(err, failover.ErrUnavailable) {
		s.T.Errorf("%s: got %v, want ErrReadOnly, which is ErrUnavailable, too", call, err)
	}
}

// everything returns what all reads return, as text.
func everything(s *repotest.Site, ids []site.ArticleID) string {
	s.T.Helper()
	var b strings.Builder
	add := func(what string, value any, err error) {
		s.T.Helper()
		if err != nil {
			s.T.Errorf("%s: %v", what, err)
		}
		fmt.Fprintf(&b, "%s: %+v\n", what, value)
	}
	two := 2
	for _, l := range []lists.Listing{
		repotest.Best("go"), lists.InGroup("go", site.ByTime, site.Ascending),
		lists.InGroup("go", site.ByScore, site.Ascending), lists.PostedBy("alice"),
		lists.AllArticles(site.ByScore, site.Descending), repotest.Best(site.Interesting),
	} {
		page, err := s.Lists.List(s.Ctx, l, 2, &two)
		add("page", page, err)
		edges, info, err := s.Lists.Walk(s.Ctx, l, site.PageRequest{First: &two})
		add("first", edges, err)
		for info.HasNextPage {
			edges, info, err = s.Lists.Walk(s.Ctx, l, site.PageRequest{First: &two, After: info.EndCursor})
			add("next", edges, err)
			add("has previous", info.HasPreviousPage, err)
		}
		edges, _, err = s.Lists.Walk(s.Ctx, l, site.PageRequest{Last: &two, Before: info.StartCursor})
		add("before", edges, err)
		count, err := s.Lists.Count(s.Ctx, l)
		add("count", count, err)
	}
	for formula := rankings.RankTop; formula <= rankings.RankLinear; formula++ {
		add("ranking", s.Ranking(rankings.RankQuery{By: rankings.RankBy{Formula: formula}}), nil)
	}
	articles, errs := s.Articles.ArticlesByID(s.Ctx, ids[:6])
	for i, a := range articles {
		add("article", a.Title+fmt.Sprint(a.Votes, a.Groups), errs[i])
	}
	fmt.Fprintln(&b, s.Positions("bob", ids[:6]...))
	groups, err := s.Groups()
	for _, group := range groups {
		add("group", *group, err)
	}
	log, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{})
	add("log", len(log), err)
	audit, err := s.Audit(s.Ctx, ids[2])
	add("audit", len(audit), err)
	text, err := s.Sessions.Document(s.Ctx, "abcdef")
	add("document", text, err)
	return b.String()
}

// A new connection that may not log in fails each call in the same way, also those of several commands.
func TestRefusedLoginIsAnOutage(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustPost("alice", "go")
	other := s.Reopened(s.Limited("~* &* +@all"), nil)
	other.List(repotest.Best("go"))
	s.Do("ACL SETUSER limited resetpass >another")
	s.Do("CLIENT KILL TYPE normal")
	for name, call := range map[string]func() error{
		"List": func() error { _, err := other.Lists.List(s.Ctx, repotest.Best("go"), 1, nil); return err },
		"Vote": func() error { _, err := other.Vote(s.Ctx, 1, "bob", up, ""); return err },
		"Read": func() error { _, errs := other.Articles.ArticlesByID(s.Ctx, []site.ArticleID{1}); return errs[0] },
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
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		first := s.Fresh()
		require.Value(s.Post(s.Ctx, "alice", first))(t)
		mine := require.Value(s.Post(s.Ctx, "alice", s.Fresh()))(t)
		keys := func() []string { // without the counters of articles: numbers may be skipped
			all := slices.Sorted(slices.Values(s.Raw.Keys(s.Ctx, "*").Val()))
			return slices.DeleteFunc(all, func(key string) bool { return strings.HasSuffix(key, "article:") })
		}
		before := keys()
		for n := range 8 { // of some, the key is in another partition than the link
			again := first
			again.IdempotencyKey = new(fmt.Sprint("key ", n))
			_, err := s.Post(s.Ctx, site.UserName(fmt.Sprint("new", n)), again)
			repotest.WantRefused(t, err, "DUPLICATE_LINK link")
			again.Link = new(fmt.Sprint("https://example.com/other/", n))
			_, err = s.Post(s.Ctx, "\u0430lice", again) // it looks like alice
			repotest.WantRefused(t, err, "FORBIDDEN")
		}
		_, err := s.Reports.Flag(s.Ctx, "bob", 9999, reports.Spam, "")
		repotest.WantRefused(t, err, "NOT_FOUND target")
		_, err = s.Reports.Flag(s.Ctx, "alice", mine.ID, reports.Spam, "")
		repotest.WantRefused(t, err, "FORBIDDEN target")
		if after := keys(); !slices.Equal(after, before) {
			t.Errorf("keys %v, want %v", after, before)
		}
	})
}

// The first post of a user, sent twice at the same time with one idempotency key, is one article for both: the link that the one
// has reserved does not refuse the other.
func TestFirstPostSentTwiceAtOnceIsOneArticle(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		for n := range 8 { // of some, the key is in another partition than the link
			poster, d := site.UserName(fmt.Sprint("new", n)), s.Fresh()
			d.IdempotencyKey = new("key")
			var first *site.Article
			between := s.Client(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
				if first == nil && commands[0].Name() == "get" && strings.Contains(fmt.Sprint(commands[0].Args()...), "link:") {
					first = require.Value(s.Post(s.Ctx, poster, d))(t)
				}
				return send(ctx, commands)
			}))
			second := require.Value(s.Reopened(between, nil, redisrepo.WithPartitions(len(tags))).Post(s.Ctx, poster, d))(t)
			if first == nil || first.ID != second.ID {
				t.Errorf("got %v and %v, want one article", first, second.ID)
			}
		}
	})
}
