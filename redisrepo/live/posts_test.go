package live_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestPostsAreDelivered(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	old := s[1].MustPost("alice", "go")
	l := listen(s[0])
	all, twin, goers, other := l.watchPosts(""), l.watchPosts(""), l.watchPosts("go"), l.watchPosts("empty")
	l.wantTaken(all)
	a := s[0].MustPost("alice", "go", "x")
	l.pass()
	b := s[1].MustPost("alice", "x")
	l.pass()
	c := s[1].MustPost("alice", "go")
	l.pass()
	s[1].MustRegroup(b, []string{"go"}, nil)
	s[1].MustVote(old.ID, "bob", site.Up)
	s[1].MustRegroup(old, nil, []string{"go"})
	s[1].MustRegroup(old, []string{"go"}, nil)
	s[1].MustImport(repotest.OldArticles(5)...)
	fresh := repotest.OldArticles(6)[5]
	fresh.PostedAt, fresh.Draft.Groups = repotest.Opened, []string{"go"}
	s[1].MustImport(fresh)
	l.wantTaken(all, a.ID, b.ID, c.ID)
	l.wantTaken(twin, a.ID, b.ID, c.ID)
	l.wantTaken(goers, a.ID, c.ID)
	l.wantTaken(other)
	l.wantReports(0)
}

// A process may subscribe late, for example because a partition's server is away when it starts.
func TestPostsBeforeTheFirstSubscriptionAreDelivered(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustPost("alice")
	late := s.Reopened(s.Client(), nil)
	w := require.Value(late.Live.WatchPosts(s.Ctx, ""))(t)
	a := s.MustPost("alice")
	l := listen(late)
	l.wantTaken(w, a.ID)
	b := s.MustPost("alice")
	l.wantTaken(w, b.ID)
}

// While the server's clock was ahead, articles got times that are later than those of articles posted after it.
func TestWatchBeginsAlsoWhilePostsGoOn(t *testing.T) {
	t.Parallel()
	beside := repotest.New(t, nil)
	reads := 0
	var s *repotest.Site
	s = beside.Reopened(beside.Client(repotest.Before("xrange", func(context.Context) {
		if s == nil {
			return // the start reads the log, too
		}
		if reads++; reads < 100 {
			s.MustPost("alice")
		}
	})), nil)
	require.Value(s.Live.WatchPosts(s.Ctx, ""))(t)
	if reads != 1 {
		t.Errorf("a watch began after %d reads of the log, want 1", reads)
	}
}

func TestPostThatWasOvertakenAfterTheClockWentBackIsDelivered(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	l := listen(s.Reopened(s.Client(), nil))
	w := l.watchPosts("")
	s.Clock.Advance(time.Hour)
	first := s.MustPost("alice")
	s.Clock.Advance(-time.Hour)
	s.Do("INCR article:") // 2 is drawn
	third := s.MustPost("alice")
	l.wantTaken(w, first.ID, third.ID)
	s.Clock.Advance(time.Second)
	s.Do("SET article: 1")
	l.wantTaken(w, s.MustPost("alice").ID)
}

// A crash takes back a post, its number is given out again, and the clock is behind.
func TestPostWithAReusedNumberIsDeliveredWhateverTheClock(t *testing.T) {
	eachOutage(t, func(l *listener, other *repotest.Site, begin, end func()) {
		other.MustPost("alice")
		l.settle()
		w := l.watchPosts("")
		lost := other.MustPost("alice")
		l.wantTaken(w, lost.ID)
		begin()
		other.Do("DEL article:2 voted:2 downvoted:2")
		other.Do("ZREM time: article:2")
		other.Do("ZREM score: article:2")
		other.Do("SET article: 1")
		other.Clock.Advance(-time.Minute)
		if a := other.MustPost("alice"); a.ID != lost.ID {
			t.Errorf("posted %v, want %v again", a.ID, lost.ID)
		}
		end()
		l.wantTaken(w, lost.ID)
	})
}

func TestWatchPostsRefusesInteresting(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	_, err := s.Live.WatchPosts(s.Ctx, "interesting")
	repotest.WantRefused(t, err, "INVALID group")
}

// A post is delivered in the state that it has when it is sent.
func TestPostIsDeliveredInItsNewestState(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	l := listen(s[0])
	w := l.watchPosts("")
	a := s[1].MustPost("alice", "go")
	await(t, w.Wake(), "the post")
	s[1].MustVote(a.ID, "bob", site.Up)
	s[1].MustRegroup(a, []string{"x"}, nil)
	l.pass()
	d, ok := w.Take()
	if !ok {
		t.Fatal("Take returned nothing, want the post")
	}
	taken, want := *d.Newest(), *l.Article(a.ID)
	taken.Stored.Recorded, want.Stored.Recorded = false, false
	if !reflect.DeepEqual(taken, want) || taken.Votes != 2 {
		t.Fatalf("took %+v, want %+v", taken, want)
	}
	voted := s[0].MustVote(a.ID, "carol", site.Up).Article
	if newest := d.Newest(); !reflect.DeepEqual(newest, voted) {
		t.Errorf("Newest = %+v, want %+v", newest, voted)
	}
	d.Done(true)
	l.wantTaken(w)
	w.Close()
}

// More posts than wait for a slow watcher are read from the store. Every watcher gets all posts in order.
func TestSlowWatcherGetsAllPosts(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t, repotest.One)
	l := listen(s[0])
	slow, goers := l.watchPosts(""), l.watchPosts("go")
	var posted []site.ArticleID
	for i := range 350 {
		groups := []string{"x"}
		if i%2 == 0 {
			groups = []string{"go"}
		}
		s[1].Clock.Advance(time.Second) // within a second, the order is any
		posted = append(posted, s[1].MustPost("alice", groups...).ID)
	}
	l.wantTaken(slow, posted...)
	var even []site.ArticleID
	for i := 0; i < len(posted); i += 2 {
		even = append(even, posted[i])
	}
	l.wantTaken(goers, even...)
}

func TestListenReceivesFromAllPartitions(t *testing.T) { // with the race detector
	t.Parallel()
	tags := repotest.Four
	s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
	other := s.Reopened(s.Client(), nil, redisrepo.WithPartitions(len(tags)))
	l := listen(s, tags...)
	posts := l.watchPosts("go")
	found := map[site.ArticleID]bool{}
	byPartition := map[site.ArticleID]site.ArticleID{}
	for i := 0; len(byPartition) < len(tags); i++ {
		a := other.MustPost("alice", "go")
		found[a.ID], byPartition[a.ID%4] = true, a.ID
	}
	for range found {
		if a := next(t, posts); !found[a.ID] {
			t.Errorf("delivered %s, want only the posted articles", repotest.Show(a))
		}
	}
	l.wantTaken(posts)
	w := l.watch(byPartition[0], byPartition[1], byPartition[2], byPartition[3])
	for i := range 3 {
		for _, id := range byPartition {
			other.MustVote(id, site.UserName(fmt.Sprint("voter", i)), site.Up)
			repotest.WantEqual(t, until(t, w, 2+i), l.Article(id))
		}
	}
	l.wantTaken(w)
	l.wantReports(0)
	s.Do("CLIENT KILL TYPE pubsub")
	s.Do("CLIENT KILL TYPE normal")
	for _, id := range byPartition {
		other.MustVote(id, "zoe", site.Down)
	}
	l.pass()
	for range byPartition {
		if a := take(w); a == nil || a.Downvotes != 1 {
			t.Errorf("after a reconnection, delivered %v, want an article with 1 downvote", a)
		}
	}
	l.wantTaken(w)
	l.wantTaken(posts)
}

// The store in memory is miniredis, not Redis.
func TestWatchesWorkOnTheEmbeddedStore(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Embedded(t, nil)
	other, l := s.Reopened(s.Raw, nil), listen(s)
	posts := l.watchPosts("go")
	a := other.MustPost("alice", "go")
	if got := next(t, posts); !reflect.DeepEqual(got, a) {
		t.Errorf("delivered the post %+v, want %+v", got, a)
	}
	w := l.watch(a.ID)
	for _, write := range []func(){
		func() { other.MustVote(a.ID, "bob", site.Up) },
		func() { s.MustVote(a.ID, "carol", site.Down) },
		func() { other.MustRegroup(a, []string{"x"}, nil) },
	} {
		write()
		l.pass()
		repotest.WantEqual(t, take(w), l.Article(a.ID))
	}
	deleted := other.MustDelete(a.ID, repotest.Moderator)
	repotest.WantEqual(t, next(t, w), deleted)
	back := other.MustUndelete(a.ID)
	repotest.WantEqual(t, next(t, w), back)
	s.WantList(repotest.Best("go"), a.ID)
	_, err := s.Post(s.Ctx, "bob", site.Draft{Title: "again", Link: a.Link})
	repotest.WantDuplicate(t, err, a.ID)
	require.Value(s.Vote(s.Ctx, a.ID, "dave", site.Up, "b"))(t)
	l.pass()
	take(w)
	if got := fmt.Sprint(repotest.Audited(s, a.ID)); got != "[alice +1 bob +1 carol -1 dave +1 0s b]" {
		t.Errorf("Audit = %s, want the recorded votes", got)
	}
	first, info, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{First: new(1)})
	if err != nil || len(first) != 1 || first[0].Kind != events.LogUndeleted || !info.HasNextPage {
		t.Errorf("first page of the log = %+v, %+v, %v, want the undeletion and a next page", first, info, err)
	}
	second, info, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{First: new(1), After: info.EndCursor})
	if err != nil || len(second) != 1 || second[0].Kind != events.LogDeleted || info.HasNextPage || !info.HasPreviousPage {
		t.Errorf("second page of the log = %+v, %+v, %v, want the deletion and no next page", second, info, err)
	}
	s.Do("DEL", sentinel.String()) // pass created it
	l.wantClean()
	l.wantTaken(w)
	l.wantReports(0)
}

// fails is a hook that makes dials or commands of a client fail while it is switched on.
type fails struct {
	dial    atomic.Bool
	command atomic.Value // the name of the commands that fail
	tried   chan struct{}
	dialled atomic.Int64
	refused atomic.Int64
}

func newFails() *fails { return &fails{tried: make(chan struct{}, 1000)} }

var errCut = errors.New("the connection is cut")

// loading is the error of Redis while it loads its data. Clients can subscribe to channels then.
type loading struct{}

func (loading) Error() string { return "LOADING Redis is loading the dataset in memory" }
func (loading) RedisError()   {}

func (f *fails) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if f.dial.Load() {
			f.refused.Add(1)
			return nil, errCut
		}
		f.dialled.Add(1)
		return next(ctx, network, addr)
	}
}

func (f *fails) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return redistest.Hook(f.hook).ProcessHook(next)
}

func (f *fails) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return redistest.Hook(f.hook).ProcessPipelineHook(next)
}

func (f *fails) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	err := send(ctx, commands)
	for _, c := range commands {
		if c.Name() == f.command.Load() {
			c.SetErr(loading{})
			err = loading{}
		}
	}
	if errors.As(err, new(loading)) {
		f.tried <- struct{}{}
	}
	return err
}

// cut ends the connections of all clients, and f makes dials fail.
func (l *listener) cut(f *fails) {
	l.T.Helper()
	f.dial.Store(true)
	l.Do("CLIENT KILL TYPE pubsub")
	l.Do("CLIENT KILL TYPE normal")
	await(l.T, l.fault, "a report of the cut")
}

// signal sends a signal to the server.
func (l *listener) signal(pid int, signal syscall.Signal) {
	l.T.Helper()
	require.NoError(l.T, syscall.Kill(pid, signal))
}

func (l *listener) pid() int {
	l.T.Helper()
	_, rest, _ := strings.Cut(l.Do("INFO server").(string), "process_id:")
	return require.Value(strconv.Atoi(strings.Fields(rest)[0]))(l.T)
}

// holds is a hook that holds back one reply of hgetall in a pipeline, which reads articles, while its on is set.
type holds struct {
	on      atomic.Bool
	reached chan struct{}
	free    chan struct{} // closed to let the reply go on
}

func newHolds() *holds { return &holds{reached: make(chan struct{}), free: make(chan struct{})} }

func (h *holds) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	err := send(ctx, commands)
	if commands[0].Name() == "hgetall" && h.on.CompareAndSwap(true, false) {
		close(h.reached)
		select {
		case <-h.free:
		case <-ctx.Done():
		}
	}
	return err
}
