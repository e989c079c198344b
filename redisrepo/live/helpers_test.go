package live_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// listener is a site whose Repo listens.
type listener struct {
	*repotest.Site
	tags   []string
	stop   func() // ends Listen, and waits for its end
	proved chan string
	probes int
	passes int

	mutex   sync.Mutex
	reports []error       // except those of probes
	fault   chan struct{} // has a value for each report
}

// listen runs Listen until the test ends, and returns when it is subscribed. tags are those of the partitions.
func listen(s *repotest.Site, tags ...string) *listener {
	s.T.Helper()
	if len(tags) == 0 {
		tags = s.Tags()
	}
	l := &listener{Site: s, tags: tags, proved: make(chan string, 1000), fault: make(chan struct{}, 1000)}
	ctx, cancel := context.WithCancel(s.Ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Live.Listen(ctx, l.report)
	}()
	l.stop = func() {
		cancel()
		await(s.T, done, "the end of Listen")
	}
	s.T.Cleanup(l.stop)
	l.watch(sentinel) // while nothing is watched, the log is not read
	l.settle()
	return l
}

func (l *listener) report(err error) {
	if _, probe, ok := strings.Cut(err.Error(), "probe-"); ok {
		probe, _, _ = strings.Cut(probe, "-")
		select {
		case l.proved <- probe:
		default:
		}
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.reports = append(l.reports, err)
	select {
	case l.fault <- struct{}{}:
	default:
	}
}

// wantReports fails the test unless want failures were reported since its last call.
func (l *listener) wantReports(want int) {
	l.T.Helper()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.reports) != want {
		l.T.Errorf("%d reports, want %d: %v", len(l.reports), want, l.reports)
	}
	l.reports = nil
}

// await waits for a channel to be closed, or for one value.
func await[T any](t *testing.T, c <-chan T, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(require.Timeout):
		t.Fatalf("timed out waiting for %s", what)
	}
}

// tell adds an entry to a partition's log, and tells processes of it. The text is kind, article, revision, votes, downvotes,
// score and groups, as logged returns it.
func (l *listener) tell(tag, text string) {
	words := append(strings.SplitN(text, " ", 7), make([]string, 7)...)
	score, _ := site.ParseNumber(words[5])
	votes, _ := site.ParseNumber(words[3])
	entry := []any{"kind", words[0], "article", strings.TrimPrefix(words[1], "article:"), "revision", words[2], "votes", words[3],
		"downvotes", words[4], "score", words[5], "time", score - l.Rules.Worth(votes), "groups", words[6], "at", "0"}
	// If the server is down, the caller adds it again.
	_ = l.Raw.Eval(l.Ctx, addScript, []string{tag + "events:"}, entry...).Err()
	_ = l.Raw.Publish(l.Ctx, "changes:0", fmt.Sprint("another ", slices.Index(l.tags, tag))).Err()
}

// addScript adds an entry with the id next to the last one, since tests have ids of their own.
const addScript = `local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local time, count = string.match(last and last[1] or '0-0', '(%d+)-(%d+)')
return redis.call('XADD', KEYS[1], time .. '-' .. count + 1, unpack(ARGV))`

// wantClean checks the site without the entries of probes and of the sentinel.
func (l *listener) wantClean() {
	l.T.Helper()
	for _, tag := range l.Tags() {
		for _, m := range l.Raw.XRange(l.Ctx, tag+"events:", "-", "+").Val() {
			if article, _ := m.Values["article"].(string); strings.HasPrefix(article, "probe-") || article == sentinel.Number() {
				l.Raw.XDel(l.Ctx, tag+"events:", m.ID)
			}
		}
	}
	l.Site.WantClean()
}

// loseEntry removes the last entry of the log, as a crash does.
func (l *listener) loseEntry() {
	l.T.Helper()
	l.Do("EVAL", `local entries = redis.call('XRANGE', KEYS[1], '-', '+')
redis.call('DEL', KEYS[1])
for i = 1, #entries - 1 do redis.call('XADD', KEYS[1], entries[i][1], unpack(entries[i][2])) end`, 1, "events:")
	l.Do("PUBLISH", "changes:0", "another 0")
}

// settle returns when the process is subscribed and has handled every entry that was added before: it
// adds invalid entries, the probes, until one is reported.
func (l *listener) settle() {
	l.T.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(require.Timeout)
	for _, tag := range l.tags {
		first := l.probes + 1
		for handled := false; !handled; {
			l.probes++
			l.tell(tag, fmt.Sprintf("posted probe-%d- 1 1 0 0 ", l.probes))
			select {
			case probe := <-l.proved:
				n, _ := strconv.Atoi(probe)
				handled = n >= first
			case <-tick.C:
			case <-timeout:
				l.T.Fatalf("timed out waiting for a subscription, for %sevents:", tag)
			}
		}
	}
}

// sentinel is an article that only pass changes.
const sentinel site.ArticleID = 2_000_000_000

// pass returns when watchers have been notified of everything that was added before. It changes the sentinel twice:
// the second change is delivered 250 ms after the first, when the others have been.
func (l *listener) pass() {
	l.T.Helper()
	l.settle()
	tag := l.tags[int(sentinel)%len(l.tags)]
	l.Do("HSET", tag+sentinel.String(), "title", "sentinel", "time", 0, "groups", "", "votes", l.passes)
	w := l.watch(sentinel)
	for range 2 {
		l.passes++
		// A process that finds that messages were lost reads the votes instead.
		l.Do("HSET", tag+sentinel.String(), "votes", l.passes)
		l.tell(tag, fmt.Sprintf("voted %v %d %d 0 %d ", sentinel, l.passes, l.passes, l.passes*l.Rules.VoteScore))
		for next(l.T, w).Votes != l.passes {
			continue
		}
	}
	w.Close() // waits for the round in which it was notified
}

func (l *listener) watch(ids ...site.ArticleID) *live.Watch {
	l.T.Helper()
	return require.Value(l.Live.WatchArticles(l.Ctx, ids))(l.T)
}

func (l *listener) watchPosts(group site.GroupName) *live.Watch {
	l.T.Helper()
	w, err := l.Live.WatchPosts(l.Ctx, group)
	if err != nil {
		l.T.Fatalf("WatchPosts of %q: %v", group, err)
	}
	return w
}

// take takes an article as if it were sent at once. It returns nil if there is nothing to take.
func take(w *live.Watch) *site.Article {
	d, ok := w.Take()
	for !ok && w.Behind() {
		if err := w.CatchUp(context.Background()); err != nil {
			return nil
		}
		d, ok = w.Take()
	}
	if !ok {
		return nil
	}
	defer d.Done(true)
	return d.Newest()
}

// next waits until there is something to take, and takes it.
func next(t *testing.T, w *live.Watch) *site.Article {
	t.Helper()
	d := delivery(t, w)
	defer d.Done(true)
	return d.Newest()
}

// delivery waits until there is something to take, and returns it before it is sent.
func delivery(t *testing.T, w *live.Watch) live.Delivery {
	t.Helper()
	timeout := time.After(require.Timeout)
	for {
		if d, ok := w.Take(); ok {
			return d
		}
		if w.Behind() && w.CatchUp(t.Context()) == nil {
			continue
		}
		select {
		case <-w.Wake():
		case <-timeout:
			t.Fatal("timed out waiting for something to take")
		}
	}
}

// until takes until an article has the votes.
func until(t *testing.T, w *live.Watch, votes int) *site.Article {
	t.Helper()
	for {
		if a := next(t, w); a.Votes == votes {
			return a
		}
	}
}

// wantTaken fails the test unless the watch has exactly these articles to take, in order.
func (l *listener) wantTaken(w *live.Watch, want ...site.ArticleID) {
	l.T.Helper()
	l.pass()
	var got []site.ArticleID
	for a := take(w); a != nil; a = take(w) {
		got = append(got, a.ID)
	}
	if !slices.Equal(got, want) {
		l.T.Errorf("took %v, want %v", got, want)
	}
}
