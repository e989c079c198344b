package redisrepo_test

import (
	"syscall"
	"testing"
	"time"

	"frontpage/redisrepo/site"
)

// One outage is reported once, even if Redis accepts subscriptions before other commands, as it does while it
// loads its data.
func TestOutageIsReportedOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command string
		begin   func(l *listener, a *site.Article)
	}{
		"posts cannot be looked for": {"zrange", func(l *listener, _ *site.Article) { l.do("CLIENT KILL TYPE pubsub") }},
		"articles cannot be read":    {"hgetall", func(l *listener, _ *site.Article) { l.do("CLIENT KILL TYPE pubsub") }},
		"a post cannot be read":      {"hgetall", func(l *listener, a *site.Article) { l.publish("", "posted article:2 1 1 0 0 ") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, other, f := cutSite(t)
			a := other.post("alice")
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
			other.vote(a.ID, "bob", up)
			b := other.post("alice")
			until(t, w, 2)
			if got := next(t, posts); got.ID != b.ID {
				t.Errorf("delivered %v, want %v", got.ID, b.ID)
			}
		})
	}
}

// An unchanged article is not delivered, even to a watcher that never got anything.
func TestOutageWithoutChangesDeliversNothing(t *testing.T) {
	eachOutage(t, func(l *listener, other *testSite, begin, end func()) {
		a, b := other.post("alice", "go"), other.post("alice")
		l.pass()
		w, posts := l.watch(a.ID, b.ID, 99), l.watchPosts("")
		begin()
		end()
		l.wantTaken(w)
		l.wantTaken(posts)
	})
}

// An imported article is not a post, not even if it was imported during an outage.
func TestImportsDuringAnOutageAreNotPosts(t *testing.T) {
	eachOutage(t, func(l *listener, other *testSite, begin, end func()) {
		other.post("alice")
		l.pass()
		posts := l.watchPosts("")
		other.imports(old(5, time.Hour, 3), old(6, time.Second, 3), old(7, 3*week, 3))
		l.settle()
		begin()
		end()
		l.wantTaken(posts)
	})
}

// A watch of an article that was posted during an outage delivers the votes of the outage, too, even if the post
// and the votes become known at the same time.
func TestWatchedPostOfAnOutageIsDelivered(t *testing.T) {
	t.Parallel()
	other := newSite(t, nil, one)
	f, h := &fails{tried: make(chan struct{}, 1000)}, newHolds()
	l := other.reopened(other.client(f, h), nil).listen()
	first := other.post("alice")
	l.pass()
	posts, busy := l.watchPosts(""), l.watch(first.ID)
	h.read.on.Store(true)
	l.publish("", "unknown article:1 1 1 0 0 ")
	await(t, h.read.reached, "a read that keeps watchers from being notified")
	l.cut(f)
	a := other.post("alice")
	w := l.watch(a.ID)
	other.vote(a.ID, "bob", up)
	f.dial.Store(false)
	l.settle()
	close(h.read.free)
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
func TestNothingOlderIsDeliveredAfterADisconnection(t *testing.T) {
	t.Parallel()
	other := newSite(t, nil)
	h := newHolds()
	s := other.reopened(other.client(h), nil)
	l := s.listen()
	a := other.post("alice")
	other.vote(a.ID, "bob", up)
	l.pass()
	w := l.watch(a.ID)
	h.look.on.Store(true)
	h.read.on.Store(true)
	l.do("CLIENT KILL TYPE pubsub")
	await(t, h.look.reached, "the search for posts")
	await(t, h.read.reached, "the read of the watched articles")
	delivered := s.vote(a.ID, "carol", up).Article
	close(h.read.free) // with the state before the votes
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
	close(h.look.free)
	l.pass()
	if look(); shown != delivered.Upvotes {
		t.Errorf("delivered %d upvotes in the end, want %d", shown, delivered.Upvotes)
	}
}

func TestListenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(l *listener, f *fails){
		"while Redis answers": func(*listener, *fails) {},
		"while Redis is gone": func(l *listener, _ *fails) {
			l.server.Kill()
			await(l.t, l.fault, "a report")
		},
		"while nothing is dialled": func(l *listener, f *fails) { l.cut(f) },
		"while Redis hangs": func(l *listener, _ *fails) {
			pid := l.pid()
			l.signal(pid, syscall.SIGSTOP)
			l.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
		},
		"while Redis hangs, and is dialled": func(l *listener, f *fails) {
			pid := l.pid()
			l.signal(pid, syscall.SIGSTOP)
			l.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
			f.dialled.Store(0)
			await(l.t, l.fault, "a report of the silence")
			eventually(l.t, "a connection", func() bool { return f.dialled.Load() > 0 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _, f := cutSite(t)
			before(l, f)
			begun := time.Now()
			l.stop()
			if took := time.Since(begun); took > patience {
				t.Errorf("Listen took %v to end, want at most %v", took, patience)
			}
		})
	}
}
