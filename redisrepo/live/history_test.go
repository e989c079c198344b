package live_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// An empty store takes the place of the one that a process knows. The numbers of its articles are those of lost
// ones, even with the posting times of those.
func TestFlushedStoreShowsNothingOfTheLostOne(t *testing.T) { // with the race detector
	t.Parallel()
	for name, passes := range map[string]time.Duration{"in the same second": 0, "later": time.Minute} {
		for _, by := range []string{"the same", "another"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, nil, repotest.One)
				l, writer := listen(s), s
				if by == "another" {
					writer = s.Reopened(s.Client(), nil)
				}
				first, second := writer.MustPost("alice", "go"), writer.MustPost("alice", "go")
				l.pass()
				w, posts := l.watch(first.ID, second.ID), l.watchPosts("")
				writer.MustVote(first.ID, "bob", site.Up)
				until(t, w, 2)
				s.Do("FLUSHALL")
				s.Clock.Advance(passes)
				lost := l.watch(second.ID) // of an article that does not exist any more
				third, err := writer.Post(s.Ctx, "carol", repotest.Draft("third", "go"))
				if err != nil || third.ID != first.ID {
					t.Fatalf("Post = %+v, %v, want the number of %v", third, err, first.ID)
				}
				if got := next(t, posts); got.ID != third.ID || got.Title != "third" {
					t.Errorf("announced %v %q, want %v third", got.ID, got.Title, third.ID)
				}
				writer.MustVote(third.ID, "dave", site.Up)
				for {
					got := next(t, w)
					if got.Title != "third" {
						t.Errorf("delivered %v %q, want third", got.ID, got.Title)
					}
					if got.Votes == 2 {
						break
					}
				}
				l.wantTaken(lost)
				require.Eventually(t, "an epoch", func() bool { return s.Do("HGET meta: epoch") != nil })
				s.Do("DEL " + sentinel.String())
				l.wantClean()
			})
		}
	}
}

// A number that a deleted article had is given out again while a process is disconnected, and before, perhaps after the clock
// was set back.
func TestNumberOfADeletedArticleIsAnnouncedAgain(t *testing.T) {
	t.Parallel()
	for i, disconnected := range []bool{false, true, true} {
		for name, lose := range map[string]string{"emptied": "FLUSHALL", "lost tail": "SET article: 0"} {
			step := []time.Duration{time.Second, time.Second, -time.Hour}[i]
			t.Run(fmt.Sprint(name, ", disconnected ", disconnected, ", ", step), func(t *testing.T) {
				t.Parallel()
				s, f := repotest.New(t, nil, repotest.One), newFails()
				first := s.MustPost("alice", "go")
				s.MustDelete(first.ID, site.Actor{Name: "alice"})
				l := listen(s.Reopened(s.Client(f), nil))
				posts, w := l.watchPosts(""), l.watch(first.ID)
				l.settle()
				if disconnected {
					l.cut(f)
				}
				s.Do("DEL article:1 deleted:")
				s.Do(lose)
				s.Clock.Advance(step)
				again, err := s.Post(s.Ctx, "carol", repotest.Draft("again", "go"))
				if err != nil || again.ID != first.ID {
					t.Fatalf("Post = %+v, %v, want the number of %v", again, err, first.ID)
				}
				f.dial.Store(false)
				if got := next(t, posts); got.ID != again.ID || got.Title != "again" {
					t.Errorf("announced %v %q, want %v again", got.ID, got.Title, again.ID)
				}
				if got := next(t, w); got.Title != "again" {
					t.Errorf("delivered %q, want again", got.Title)
				}
			})
		}
	}
}

// A post whose message is lost is found, even if the clock was set back and all other articles seem newer.
func TestPostIsFoundAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	s, f := repotest.New(t, nil), newFails()
	first := s.MustPost("alice")
	for range 100 * max(repotest.Partitions, 1) * 2 {
		s.Clock.Advance(time.Second)
		s.MustPost("alice")
	}
	s.MustDelete(first.ID, repotest.Moderator)
	l := listen(s.Reopened(s.Client(f), nil), repotest.Tags(max(repotest.Partitions, 1))...)
	posts := l.watchPosts("")
	l.settle()
	l.cut(f)
	s.MustUndelete(first.ID)
	s.MustImport(repotest.Old(100_001, 4*repotest.Week, 1)) // which is not new
	s.Clock.Advance(-6 * time.Hour)
	a := s.MustPost("bob")
	f.dial.Store(false)
	l.wantTaken(posts, a.ID)
}

// The posts of an empty store are new, also if the clock was set back and the process no longer remembers the articles that
// had their numbers.
func TestPostIntoAFlushedStoreIsAnnouncedAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"by its message": false, "after its message was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := repotest.New(t, nil, repotest.One), newFails()
			for range 250 {
				s.Clock.Advance(time.Second)
				s.MustPost("alice")
			}
			l := listen(s.Reopened(s.Client(f), nil), "")
			posts := l.watchPosts("")
			l.settle()
			if lost {
				l.cut(f)
			}
			s.Clock.Advance(-6 * time.Hour)
			s.Do("FLUSHALL")
			a := s.MustPost("bob")
			f.dial.Store(false)
			l.wantTaken(posts, a.ID)
		})
	}
}

// Redis may refuse commands again while an empty store gets what it needs: that is not a fault of the program.
func TestFlushedStoreThatFailsToOpenIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{"evalsha", "hset"} { // of the script that creates meta:, and of the rules
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			f := newFails()
			process := s.Reopened(s.Client(f), nil)
			s.MustPost("alice", "go")
			_ = process.MustPost("alice", "go")
			s.Do("FLUSHALL")
			f.command.Store(refused)
			_, err := process.Post(s.Ctx, "carol", repotest.Draft("third", "go"))
			if !errors.Is(err, failover.ErrUnavailable) {
				t.Errorf("Post = %v, want %v", err, failover.ErrUnavailable)
			}
		})
	}
}

// A process that only watches finds out as well, and so does one that is quiet: the new epoch is written without a
// call.
func TestFlushedStoreIsNoticedByAQuietProcess(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice")
	before := s.Do("HGET meta: epoch")
	l := listen(s)
	w := l.watch(1)
	s.Do("FLUSHALL")
	require.Eventually(t, "another epoch", func() bool {
		now := s.Do("HGET meta: epoch")
		return now != nil && now != before && s.Do("HGET meta: vote_score") != nil
	})
	l.wantTaken(w)
}

// A crash loses the end of the append-only file: numbers are given out again, and votes are lost.
func TestLostTailShowsNothingOfTheLostArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.Server.Own()
	l := listen(s)
	kept := s.MustPost("alice", "go")
	s.MustVote(kept.ID, "bob", site.Up)
	l.pass()
	file := require.Value(os.Stat(s.Server.AppendOnlyFile()))(t)
	s.Clock.Advance(time.Minute)
	posts := l.watchPosts("")
	lost := s.MustPost("alice", "go")
	w := l.watch(kept.ID, lost.ID)
	s.MustVote(kept.ID, "carol", site.Up)
	s.MustVote(lost.ID, "carol", site.Up)
	if got := next(t, posts); got.ID != lost.ID {
		t.Fatalf("announced %v, want %v", got.ID, lost.ID)
	}
	until(t, w, 3)

	s.Server.Kill()
	require.NoError(t, os.Truncate(s.Server.AppendOnlyFile(), file.Size()))
	s.Server.Restart()
	s.Clock.Advance(time.Minute)
	again := postAgain(s, lost.ID, posts)
	for seen := map[site.ArticleID]int{}; seen[kept.ID] != 2 || seen[again.ID] != 1; {
		got := next(t, w)
		if seen[got.ID] = got.Votes; got.ID == again.ID && got.Title != "again" && got.Title != lost.Title {
			t.Errorf("delivered %q", got.Title)
		}
		if got.ID == again.ID && got.Title == lost.Title && got.Votes != 2 {
			t.Errorf("delivered %q with %d votes, want again with 1", got.Title, got.Votes)
		}
	}
	s.Do("DEL " + sentinel.String())
	l.wantClean()
}

// A replica that lags takes over: the same epoch, a lower counter.
func TestLaggingFailoverShowsNothingOfTheLostArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	replica := redistest.Start(t)
	var failedOver atomic.Bool
	process := s.Reopened(s.ClientWith(func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			socket := s.Server.Socket()
			if failedOver.Load() {
				socket = replica.Socket()
			}
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}), nil)
	kept := s.MustPost("alice", "go")
	for _, key := range s.Raw.Keys(s.Ctx, "*").Val() {
		require.NoError(t, replica.Client.RestoreReplace(s.Ctx, key, 0, s.Raw.Dump(s.Ctx, key).Val()).Err())
	}
	l := listen(process)
	posts := l.watchPosts("")
	s.Clock.Advance(time.Minute)
	lost := s.MustPost("alice", "go")
	if got := next(t, posts); got.ID != lost.ID {
		t.Fatalf("announced %v, want %v", got.ID, lost.ID)
	}
	w := l.watch(kept.ID, lost.ID)
	s.MustVote(lost.ID, "bob", site.Up)
	until(t, w, 2)
	failedOver.Store(true)
	s.Server.Kill()
	s.Clock.Advance(time.Minute)
	postAgain(process, lost.ID, posts)
	require.Eventually(t, "the new article", func() bool { got := take(w); return got != nil && got.Title == "again" && got.Votes == 1 })
}

// postAgain posts an article, which gets a lost number, and waits for its announcement.
func postAgain(s *repotest.Site, lost site.ArticleID, posts *live.Watch) *site.Article {
	s.T.Helper()
	var again *site.Article
	require.Eventually(s.T, "a post", func() bool {
		var err error
		again, err = s.Post(s.Ctx, "dave", repotest.Draft("again", "go"))
		return err == nil
	})
	if again.ID != lost {
		s.T.Fatalf("posted %v, want the lost number %v", again.ID, lost)
	}
	if got := next(s.T, posts); got.ID != again.ID || got.Title != "again" {
		s.T.Errorf("announced %v %q, want %v again", got.ID, got.Title, again.ID)
	}
	return again
}

// unanswered is a hook that loses the replies to scripts.
var unanswered = redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	err := send(ctx, commands)
	if slices.Contains([]string{"evalsha", "eval"}, commands[0].Name()) {
		return redistest.Fail(io.EOF, commands)
	}
	return err
})

// Each write, whatever becomes of it, changes the version before it returns. Reads and charges change nothing.
func TestWritesChangeTheVersion(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	client := s.Client()
	lost := s.Reopened(client, nil)
	a, doomed := s.MustPost("alice", "go"), s.MustPost("alice")
	alice, mod := site.Actor{Name: "alice"}, site.Actor{Name: "mod", Moderator: true}
	first := site.PageRequest{First: new(5)}
	for name, tt := range map[string]struct {
		do      func() error
		changes bool
	}{
		"a post":       {func() error { _, err := s.Post(s.Ctx, "alice", s.Fresh()); return err }, true},
		"a vote":       {func() error { _, err := s.Vote(s.Ctx, a.ID, "bob", site.Up, ""); return err }, true},
		"a regrouping": {func() error { _, err := s.Regroup(s.Ctx, a.ID, alice, []string{"web"}, nil); return err }, true},
		"an edit": {func() error {
			_, err := s.Edit(s.Ctx, a.ID, alice, redisrepo.Edit{Text: new("text")})
			return err
		}, true},
		"a deletion":    {func() error { _, err := s.Delete(s.Ctx, doomed.ID, alice, site.Why{}); return err }, true},
		"an undeletion": {func() error { _, err := s.Undelete(s.Ctx, a.ID, mod); return err }, true},
		"an import": {func() error {
			_, errs := s.Import(s.Ctx, []redisrepo.Imported{{ID: 900, Poster: "alice", PostedAt: repotest.Opened, Votes: 1, Draft: repotest.Draft("imported")}})
			return errs[0]
		}, true},
		"a listing": {func() error {
			_, err := s.Lists.List(s.Ctx, lists.InGroup("go", site.ByScore, site.Descending), 1, nil)
			return err
		}, false},
		"a page": {func() error {
			_, _, err := s.Lists.Walk(s.Ctx, lists.AllArticles(site.ByScore, site.Descending), first)
			return err
		}, false},
		"an article":  {func() error { _, errs := s.Articles.ArticlesByID(s.Ctx, []site.ArticleID{a.ID}); return errs[0] }, false},
		"a kept text": {func() error { return s.Sessions.KeepDocument(s.Ctx, strings.Repeat("0", 64), "{ viewer { id } }") }, false},
		"a rate's count": {func() error {
			_, err := s.Rates.Charge(s.Ctx, "", []rates.Charge{{Rule: "votes", Most: 9, Window: time.Minute, Amount: 1, Address: netip.MustParseAddr("192.0.2.1")}})
			return err
		}, false},
	} {
		before := s.Store.Version()
		if err := tt.do(); err != nil || (s.Store.Version() > before) != tt.changes {
			t.Errorf("%s: got version %d after %d, %v, want a change: %v", name, s.Store.Version(), before, err, tt.changes)
		}
	}
	client.AddHook(unanswered)
	before := lost.Store.Version()
	if _, err := lost.Vote(s.Ctx, a.ID, "carol", site.Up, ""); !errors.Is(err, failover.ErrUnavailable) || lost.Store.Version() == before {
		t.Errorf("a vote without a reply: got version %d after %d, %v, want another one and no reply", lost.Store.Version(), before, err)
	}
}

// When a watch delivers a change, the version has changed, whether a message or a read brought it.
func TestVersionChangesBeforeWatchesDeliver(t *testing.T) { // with the race detector
	t.Parallel()
	s := listen(repotest.New(t, nil, repotest.One))
	a := s.MustPost("alice")
	other := s.Reopened(s.Client(), nil)
	watch := require.Value(s.Live.WatchArticles(s.Ctx, []site.ArticleID{a.ID}))(t)
	defer watch.Close()
	for i := range 10 {
		s.settle()
		before, votes := s.Store.Version(), s.Article(a.ID).Votes
		if i%2 == 0 {
			other.MustVote(a.ID, site.UserName(fmt.Sprint("user", i)), site.Up)
		} else { // as a program that publishes nothing
			s.Do("HINCRBY", "article:1", "votes", 1)
			s.Article(a.ID)
		}
		d := delivery(t, watch) // the watch may be woken for nothing
		if d.Newest().Votes != votes+1 || s.Store.Version() == before {
			t.Errorf("got %d votes after %d, version %d after %d, want one vote more and another version", d.Newest().Votes, votes, s.Store.Version(), before)
		}
		d.Done(true)
	}
}
