package live_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// cutSite opens a site whose Repo listens over connections that f can cut, and another process on its store.
func cutSite(t *testing.T) (l *listener, other *repotest.Site, f *fails) {
	t.Helper()
	other = repotest.New(t, nil, repotest.One)
	other.Server.Own()
	f = newFails()
	client := other.Client(f)
	client.Options().ReadTimeout = 5 * time.Second // how soon silence is noticed
	return listen(other.Reopened(client, nil)), other, f
}

// outages are the ways in which Listen receives nothing for a while.
var outages = map[string]struct{ begin, end func(*listener, *fails) }{
	"Redis is killed": {
		begin: func(l *listener, f *fails) {
			f.dial.Store(true)
			l.Server.Kill()
			await(l.T, l.fault, "a report")
			l.Server.Restart() // for other processes; ours is still disconnected
		},
		end: func(_ *listener, f *fails) { f.dial.Store(false) },
	},
	"the connections are cut": {
		begin: func(l *listener, f *fails) { l.cut(f) },
		end:   func(_ *listener, f *fails) { f.dial.Store(false) },
	},
}

func eachOutage(t *testing.T, test func(l *listener, other *repotest.Site, begin, end func())) {
	t.Helper()
	t.Parallel()
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, other, f := cutSite(t)
			test(l, other, func() {
				before := f.refused.Load()
				outage.begin(l, f)
				require.Eventually(t, "more attempts to connect", func() bool { return f.refused.Load() > before+3 })
			}, func() { outage.end(l, f) })
		})
	}
}

func TestChangesDuringAnOutageAreDeliveredAfterIt(t *testing.T) { // with the race detector
	eachOutage(t, func(l *listener, other *repotest.Site, begin, end func()) {
		a, b, still := other.MustPost("alice", "go"), other.MustPost("alice"), other.MustPost("alice")
		other.MustVote(still.ID, "zoe", site.Up)
		l.pass()
		w, posts := l.watch(a.ID, b.ID, still.ID), l.watchPosts("")
		other.MustVote(still.ID, "zoe", site.Down)
		l.wantTaken(w, still.ID)
		quiet := l.watch(still.ID, 99) // gets nothing before the first outage
		for i := range 3 {
			begin()
			voter := repotest.Users[i+1]
			other.MustVote(a.ID, voter, site.Up)
			other.MustRegroup(b, []string{string(voter)}, nil)
			end()
			l.wantTaken(w, a.ID, b.ID)
			l.wantTaken(quiet)
			l.wantTaken(posts)
			l.wantReports(1) // however often it was tried
			for _, id := range []site.ArticleID{a.ID, b.ID} {
				if got, want := l.Article(id), other.Article(id); repotest.Show(got) != repotest.Show(want) {
					l.T.Errorf("article = %s, want %s", repotest.Show(got), repotest.Show(want))
				}
			}
		}
		other.MustVote(b.ID, "bob", site.Up)
		if got := next(l.T, w); got.ID != b.ID || got.Votes != 2 || len(got.Groups) != 3 {
			l.T.Errorf("delivered %s, want 2 votes in 3 groups", repotest.Show(got))
		}
	})
}

// The state in Redis is delivered even if Redis has lost a newer one, with its entry, that was delivered before.
func TestOlderStateOfRedisIsDeliveredAfterACrash(t *testing.T) { // with the race detector
	eachOutage(t, func(l *listener, other *repotest.Site, begin, end func()) {
		a := other.MustPost("alice", "go")
		other.MustVote(a.ID, "bob", site.Up)
		l.settle()
		w := l.watch(a.ID)
		other.MustVote(a.ID, "carol", site.Up)
		if got := until(l.T, w, 3); got.Upvotes != 3 {
			l.T.Errorf("delivered %s, want 3 votes", repotest.Show(got))
		}
		begin()
		other.Do("HSET", a.ID.String(), "votes", 1, "revision", 1)
		other.Do("ZADD score:", float64(repotest.Opened.Unix()+432), a.ID.String())
		other.Do("SREM voted:1 user:bob user:carol")
		l.loseEntry()
		end()
		if got := until(l.T, w, 1); got.Upvotes != 1 || got.Score != float64(repotest.Opened.Unix()+432) {
			l.T.Errorf("delivered %s, want 1 vote", repotest.Show(got))
		}
		l.wantTaken(w)
		other.MustVote(a.ID, "dave", site.Down) // revision 2 is not the one that was delivered before
		if got := next(l.T, w); got.Votes != 0 || got.Downvotes != 1 {
			l.T.Errorf("delivered %s, want 0 votes", repotest.Show(got))
		}
		l.wantReports(1)
	})
}

// A crash may lose a vote that this process knows by its reply only: the log has no gap then.
func TestVoteOfALostReplyIsTakenBack(t *testing.T) {
	t.Parallel()
	l, other, f := cutSite(t)
	a := other.MustPost("alice", "go")
	l.settle()
	w := l.watch(a.ID)
	f.command.Store("xrange") // so that the log is not read
	l.MustVote(a.ID, "bob", site.Up)
	await(t, f.tried, "an attempt to read the log")
	other.Do("HSET", a.ID.String(), "votes", 1, "revision", 1)
	other.Do("ZADD score:", float64(repotest.Opened.Unix()+432), a.ID.String())
	other.Do("SREM voted:1 user:bob")
	l.loseEntry()
	f.command.Store("")
	until(t, w, 1)
}

// Imported articles are no posts, not even those of an outage.
func TestPostsDuringAnOutageAreDeliveredOnce(t *testing.T) { // with the race detector
	eachOutage(t, func(l *listener, other *repotest.Site, begin, end func()) {
		post := func(groups ...string) site.ArticleID {
			other.Clock.Advance(time.Second)
			return other.MustPost("alice", groups...).ID
		}
		for range 120 { // more than Listen reads at first
			post("go")
		}
		l.pass()
		all, goers := l.watchPosts(""), l.watchPosts("go")
		other.MustImport(repotest.Old(500, time.Hour, 3), repotest.Old(501, time.Second, 3), repotest.Old(502, 3*repotest.Week, 3)) // which are no posts
		l.settle()
		for range 2 {
			begin()
			a, b := post("go"), post("x")
			end()
			l.pass()
			c := post("go")
			l.wantTaken(all, a, b, c)
			l.wantTaken(goers, a, c)
			l.wantReports(1)
		}
		begin()
		var missed []site.ArticleID
		for range 110 {
			missed = append(missed, post("go"))
		}
		other.Do("DEL", missed[60].String())
		other.Do("ZREM time:", missed[60].String()) // then an older one is among the 100 newest
		end()
		l.pass()
		l.wantTaken(all, slices.Delete(missed, 60, 61)...)
	})
}

// A connection that fails while votes are cast loses no change, however often it fails.
func TestDisconnectionLosesNoChange(t *testing.T) {
	t.Parallel()
	l, other, _ := cutSite(t)
	a := other.MustPost("alice")
	l.pass()
	w, posts := l.watch(a.ID), l.watchPosts("")
	for i, voter := range repotest.Users[1:] {
		l.Do("CLIENT KILL TYPE pubsub")
		l.Do("CLIENT KILL TYPE normal")
		other.MustVote(a.ID, voter, site.Up)
		b := other.MustPost("alice")
		if got := until(t, w, 2+i); got.Upvotes != 2+i {
			t.Errorf("delivered %s, want %d upvotes", repotest.Show(got), 2+i)
		}
		if got := next(t, posts); got.ID != b.ID {
			t.Errorf("delivered %v, want %v", got.ID, b.ID)
		}
		l.settle()
	}
	l.wantTaken(posts)
	l.wantReports(0)
}

func TestHangingRedisIsNoticed(t *testing.T) {
	t.Parallel()
	l, other, _ := cutSite(t)
	a := other.MustPost("alice")
	l.settle()
	w := l.watch(a.ID)
	pid := l.pid()
	l.signal(pid, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	await(t, l.fault, "a report of the silence")
	l.signal(pid, syscall.SIGCONT)
	other.MustVote(a.ID, "bob", site.Up)
	if got := until(t, w, 2); got.ID != a.ID {
		t.Errorf("delivered %s, want 2 votes", repotest.Show(got))
	}
	l.wantTaken(w)
	l.wantReports(1)
}

func TestWatchFailsWhileRedisIsUnreachable(t *testing.T) { // with the race detector
	t.Parallel()
	l, other, f := cutSite(t)
	a, b := other.MustPost("alice"), other.MustPost("alice")
	l.settle()
	l.watch(a.ID)
	l.Server.Kill()
	if _, err := l.Live.WatchArticles(l.Ctx, []site.ArticleID{a.ID, b.ID}); !errors.Is(err, failover.ErrUnavailable) {
		t.Errorf("WatchArticles: %v, want ErrUnavailable", err)
	}
	ctx, cancel := context.WithCancel(l.Ctx)
	cancel()
	if _, err := l.Live.WatchArticles(ctx, []site.ArticleID{b.ID}); err == nil {
		t.Error("WatchArticles with a canceled context succeeded, want an error")
	}
	l.Server.Restart()
	f.dial.Store(false)
	w := l.watch(b.ID)
	other.MustVote(b.ID, "bob", site.Up)
	if got := until(t, w, 2); got.ID != b.ID {
		t.Errorf("delivered %s, want 2 votes", repotest.Show(got))
	}
}

// An outage of all partitions is one failure.
func TestOutageOfAllPartitionsIsReportedOnce(t *testing.T) { // with the race detector
	t.Parallel()
	sixteen := redisrepo.WithPartitions(16)
	f := newFails()
	other := repotest.New(t, nil, sixteen)
	other.Server.Own()
	l := listen(other.Reopened(other.Client(f), nil, sixteen))
	for range 2 {
		before := f.refused.Load()
		f.dial.Store(true)
		l.Server.Kill()
		require.Eventually(t, "report, and further attempts to connect", func() bool {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			return len(l.reports) > 0 && f.refused.Load() > before+4
		})
		l.Server.Restart()
		f.dial.Store(false)
		l.settle()
		l.wantReports(1)
	}
}

// One outage is reported once, even if Redis accepts subscriptions before other commands, as it does while it
// loads its data.
func TestOutageIsReportedOnce(t *testing.T) { // with the race detector
	t.Parallel()
	for name, tt := range map[string]struct {
		command string
		begin   func(l *listener, a *site.Article)
	}{
		"the log cannot be read":  {"xrange", func(l *listener, _ *site.Article) { l.tell("", "unknown article:1 1 1 0 0 ") }},
		"articles cannot be read": {"hgetall", func(l *listener, _ *site.Article) { l.loseEntry() }},
		"a post cannot be read":   {"hgetall", func(l *listener, a *site.Article) { l.tell("", "posted article:2 1 1 0 0 ") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, other, f := cutSite(t)
			a := other.MustPost("alice")
			l.settle()
			w, posts := l.watch(a.ID), l.watchPosts("")
			f.command.Store(tt.command)
			tt.begin(l, a)
			for range 6 {
				await(t, f.tried, "an attempt")
			}
			l.mutex.Lock()
			if n := len(l.reports); n < 1 || n > 2 { // one about the connection, and one about the command
				t.Errorf("%d reports after 6 attempts, want 1 or 2: %v", n, l.reports)
			}
			l.mutex.Unlock()
			f.command.Store("")
			other.MustVote(a.ID, "bob", site.Up)
			b := other.MustPost("alice")
			until(t, w, 2)
			if got := next(t, posts); got.ID != b.ID {
				t.Errorf("delivered %v, want %v", got.ID, b.ID)
			}
		})
	}
}

// A watch of an article that was posted during an outage delivers the votes of the outage, too, even if the post
// and the votes become known at the same time.
func TestWatchedPostOfAnOutageIsDelivered(t *testing.T) { // with the race detector
	t.Parallel()
	other := repotest.New(t, nil, repotest.One)
	f, h := newFails(), newHolds()
	l := listen(other.Reopened(other.Client(f, redistest.Hook(h.hook)), nil))
	first := other.MustPost("alice")
	l.pass()
	posts, busy := l.watchPosts(""), l.watch(first.ID)
	h.on.Store(true)
	l.tell("", "unknown article:1 1 1 0 0 ")
	await(t, h.reached, "a read that keeps watchers from being notified")
	l.cut(f)
	a := other.MustPost("alice")
	w := l.watch(a.ID)
	other.MustVote(a.ID, "bob", site.Up)
	f.dial.Store(false)
	l.settle()
	close(h.free)
	l.pass()
	if got := take(w); got == nil || got.Votes != 2 {
		t.Errorf("watching it, delivered %v, want 2 votes", got)
	}
	if got := take(posts); got == nil || got.Votes != 2 {
		t.Errorf("watching for posts, delivered %v, want 2 votes", got)
	}
	busy.Close()
}

// A client may get a newer state while the listener still reads what it missed. After that, no watcher gets an
// older one.
func TestNothingOlderIsDeliveredAfterADisconnection(t *testing.T) { // with the race detector
	t.Parallel()
	other := repotest.New(t, nil, repotest.One)
	h := newHolds()
	s := other.Reopened(other.Client(redistest.Hook(h.hook)), nil)
	l := listen(s)
	a := other.MustPost("alice")
	other.MustVote(a.ID, "bob", site.Up)
	l.pass()
	w := l.watch(a.ID)
	h.on.Store(true)
	l.loseEntry()
	await(t, h.reached, "the read of the watched articles")
	delivered := s.MustVote(a.ID, "carol", site.Up).Article
	close(h.free) // with the state before the votes
	shown := 0
	look := func() {
		got := take(w)
		if got == nil {
			return
		}
		if shown = got.Upvotes; shown < delivered.Upvotes {
			t.Errorf("delivered %d upvotes, want at least %d, which a client got before", shown, delivered.Upvotes)
		}
	}
	select {
	case <-w.Wake():
		look()
	case <-time.After(time.Second): // delivering nothing yet is right, too
	}
	l.pass()
	if look(); shown != delivered.Upvotes {
		t.Errorf("delivered %d upvotes in the end, want %d", shown, delivered.Upvotes)
	}
}

func TestListenEndsWithItsContext(t *testing.T) { // with the race detector
	t.Parallel()
	for name, before := range map[string]func(l *listener, f *fails){
		"while Redis answers": func(*listener, *fails) {},
		"while Redis is gone": func(l *listener, _ *fails) {
			l.Server.Kill()
			await(l.T, l.fault, "a report")
		},
		"while nothing is dialled": func(l *listener, f *fails) { l.cut(f) },
		"while Redis hangs": func(l *listener, _ *fails) {
			pid := l.pid()
			l.signal(pid, syscall.SIGSTOP)
			l.T.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
		},
		"while Redis hangs, and is dialled": func(l *listener, f *fails) {
			pid := l.pid()
			l.signal(pid, syscall.SIGSTOP)
			l.T.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
			f.dialled.Store(0)
			await(l.T, l.fault, "a report of the silence")
			require.Eventually(l.T, "a connection", func() bool { return f.dialled.Load() > 0 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _, f := cutSite(t)
			before(l, f)
			begun := time.Now()
			l.stop()
			if took := time.Since(begun); took > require.Timeout {
				t.Errorf("Listen took %v to end, want at most %v", took, require.Timeout)
			}
		})
	}
}
