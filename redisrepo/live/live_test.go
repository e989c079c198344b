package live_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// However many users vote, a watcher gets at most one state in 250 ms and in the end the last one. None is older
// than an earlier one, or than a state that this Repo returned before.
func TestBurstOfVotesIsDeliveredTogether(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	l := listen(s[0])
	a := s[1].MustPost("alice", "go")
	const votes, watchers = 2_000, 3
	var delivered atomic.Int64 // the most upvotes that this Repo returned
	noteReturned := func(a *site.Article) {
		for n := int64(a.Upvotes); ; {
			if before := delivered.Load(); n <= before || delivered.CompareAndSwap(before, n) {
				return
			}
		}
	}
	begun := time.Now()
	var all sync.WaitGroup
	for range watchers {
		w := l.watch(a.ID)
		all.Go(func() {
			takes, last := 0, 0
			timeout := time.After(require.Timeout)
			for last <= votes {
				select {
				case <-w.Wake():
				case <-timeout:
					t.Errorf("the last state delivered has %d upvotes, want %d", last, votes+1)
					return
				}
				least := max(int(delivered.Load()), last)
				d, ok := w.Take()
				if !ok {
					continue
				}
				shown := d.Newest()
				if takes++; shown.Upvotes < least {
					t.Errorf("took %d upvotes, want at least %d, which were returned before", shown.Upvotes, least)
				}
				least = max(int(delivered.Load()), shown.Upvotes)
				if last = d.Newest().Upvotes; last < least {
					t.Errorf("Newest has %d upvotes, want at least %d, which were returned before", last, least)
				}
				d.Done(true)
			}
			if most := int(time.Since(begun)/(250*time.Millisecond)) + 2; takes > most {
				t.Errorf("delivered %d times in %v, want at most %d", takes, time.Since(begun), most)
			}
			if again := take(w); again != nil {
				t.Errorf("after the last state, delivered %s, want nothing", repotest.Show(again))
			}
		})
	}
	repotest.Together(17, func(worker int) {
		for i := range votes / 16 {
			if worker == 16 {
				noteReturned(s[0].Article(a.ID))
				continue
			}
			voted := s[worker%2].MustVote(a.ID, site.UserName(fmt.Sprint("voter", worker, "-", i)), site.Up)
			if worker%2 == 0 {
				noteReturned(voted.Article)
			}
		}
	})
	all.Wait()
}

func TestNewestIsTheStateAtTheTimeOfSending(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	l, a, b := listen(s), s.MustPost("alice"), s.MustPost("alice")
	w := l.watch(a.ID, b.ID)
	s.MustVote(a.ID, "bob", site.Up)
	d := delivery(t, w)
	taken := d.Newest()
	if taken.Votes != 2 {
		t.Errorf("took %s, want 2 votes", repotest.Show(taken))
	}
	s.MustVote(b.ID, "bob", site.Up) // a change of another article
	if newest := d.Newest(); newest != taken {
		t.Errorf("Newest = %s, want the state that was taken", repotest.Show(newest))
	}
	s.MustVote(a.ID, "carol", site.Up)
	if newest := d.Newest(); newest.ID != a.ID || newest.Votes != 3 {
		t.Errorf("Newest = %v, want 3 votes", newest)
	}
	d.Done(true)
	l.wantTaken(w, b.ID)
}

// An article with the id may be posted later.
func TestMissingArticlesCanBeWatched(t *testing.T) {
	t.Parallel()
	s := repotest.Two(t, repotest.One)
	l := listen(s[0])
	w := l.watch(2, 1, 2, 99)
	l.tell("", "voted article:99 2 2 0 0 ")
	l.wantTaken(w)
	s[1].MustPost("alice")
	s[0].MustPost("alice")
	l.pass()
	for take(w) != nil { // the post itself may or may not be delivered as a change
		continue
	}
	s[1].MustVote(1, "bob", site.Up)
	s[1].MustVote(2, "bob", site.Up)
	l.pass()
	votes := map[site.ArticleID]int{}
	for a := take(w); a != nil; a = take(w) {
		votes[a.ID] += a.Votes
	}
	if want := map[site.ArticleID]int{1: 2, 2: 2}; !reflect.DeepEqual(votes, want) {
		t.Errorf("votes delivered = %v, want %v", votes, want)
	}
	w.Close()
	l.wantReports(0)
}

func TestWatchAcceptsOneToMaxWatchedArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	for n, ok := range map[int]bool{0: false, 1: true, live.MaxWatched: true, live.MaxWatched + 1: false} {
		ids := make([]site.ArticleID, n)
		for i := range ids {
			ids[i] = site.ArticleID(i + 1)
		}
		if _, err := s.Live.WatchArticles(s.Ctx, ids); !ok {
			repotest.WantRefused(t, err, "INVALID ids")
		} else if err != nil {
			t.Errorf("WatchArticles with %d ids: %v", n, err)
		}
	}
}

func TestEveryWatchedArticleGetsItsTurn(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	l := listen(s[0])
	ids := make([]site.ArticleID, live.MaxWatched)
	for i := range ids {
		ids[i] = s[1].MustPost("alice").ID
	}
	w := l.watch(ids...)
	for _, id := range ids {
		s[1].MustVote(id, "bob", site.Up)
	}
	seen := map[site.ArticleID]bool{}
	for turn := range ids {
		if turn < 3 { // an article that changes all the time must not keep others from being delivered
			s[1].MustVote(ids[0], site.UserName(fmt.Sprint("voter", turn)), site.Up)
			l.pass()
		}
		a := take(w)
		if a == nil || seen[a.ID] {
			t.Fatalf("turn %d: took %v (repeated: %t), want an article that was not taken yet", turn, a, a != nil)
		}
		seen[a.ID] = true
	}
	l.wantTaken(w, ids[0])
}

// An entry may come from a later version, or from any program.
func TestInvalidEntriesAreReportedAndSkipped(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	l, a := listen(s), s.MustPost("alice", "go")
	l.pass()
	w, posts := l.watch(a.ID), l.watchPosts("")
	for _, entry := range []string{
		"", "voted", "voted x 2 2 0 0", "voted article:0 2 2 0 0", "voted group:1 2 2 0 0",
		"voted article:1 x 2 0 0", "voted article:1 2.5 2 0 0", "voted article:1 2 x 0 0", "voted article:1 2 2 x 0",
		"voted article:1 99999999999999999999 2 0 0", "posted article:1 1 1e99 0 0", "\x00 \xff \n a b c", strings.Repeat("x ", 10_000),
	} {
		l.tell("", entry)
		l.settle()
		l.mutex.Lock()
		if len(l.reports) != 1 {
			t.Errorf("entry %.40q: %d reports, want 1: %v", entry, len(l.reports), l.reports)
		}
		l.reports = nil
		l.mutex.Unlock()
	}
	l.wantTaken(w)

	// From an entry of an unknown kind only the id is used: the article is read.
	s.Do("HSET article:1 title renamed revision 2")
	l.tell("", "retitled article:1 7 7 7 7 x y")
	want := s.Raw.HGet(s.Ctx, "article:1", "title").Val()
	if got := next(t, w); got.Title != want || got.Votes != 1 || !reflect.DeepEqual(got.Groups, a.Groups) {
		t.Errorf("delivered %s, want %s", repotest.Show(got), want)
	}
	l.wantTaken(posts)
	l.wantReports(0)
}

// An entry may be read after the state that it describes.
func TestEarlierChangesAreNotDelivered(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	l, a := listen(s), s.MustPost("alice", "go")
	s.MustVote(a.ID, "bob", site.Up)
	l.pass()
	for _, message := range []string{
		"voted article:1 2 2 0 0 go",
		"voted article:1 1 1 0 0 go",
		"posted article:1 1 1 0 0 go",
	} {
		t.Run(message, func(t *testing.T) {
			w := l.watch(a.ID)
			l.tell("", message)
			l.wantTaken(w)
			w.Close()
		})
	}
}

func TestClosedWatchIsNotRead(t *testing.T) { // with the race detector
	t.Parallel()
	s, counted := repotest.New(t, nil), new(repotest.Counter)
	other := s.Reopened(s.Client(redistest.Before(counted.Add)), nil)
	l := listen(other)
	a := s.MustPost("alice", "go")
	l.settle()
	open := l.watch(a.ID)
	watches := []*live.Watch{l.watch(a.ID, 2, 99), l.watch(a.ID), l.watchPosts(""), l.watchPosts("go")}
	s.MustVote(a.ID, "bob", site.Up)
	s.MustPost("alice", "go")
	l.pass()
	next(t, watches[2]) // the other watches have changes that were not taken
	open.Close()
	for _, w := range watches {
		w.Close()
		select {
		case <-w.Wake():
		default:
		}
	}

	l.pass()
	counted.Reset()
	l.settle()
	s.MustVote(a.ID, "carol", site.Up)
	s.MustPost("alice", "go")
	l.tell("", "unknown article:1 1 1 0 0 go")
	l.tell("", "unknown article:2 1 1 0 0 go")
	l.pass()
	reads := counted.Reset()
	if n := strings.Count(reads.Names, "hgetall"); n != 0 {
		t.Errorf("%d articles were read, want none: %s", n, reads.Names)
	}
	for i, w := range watches {
		select {
		case <-w.Wake():
			t.Errorf("watch %d was woken after Close, want no more signals", i)
		default:
		}
	}
}

// Watchers get the states in the log: no article is read, however many watchers there are.
func TestWatchersCauseNoReads(t *testing.T) { // with the race detector
	t.Parallel()
	const articles, votes = 25, 500
	for _, watchers := range []int{1, 200} {
		t.Run(fmt.Sprint(watchers, " watches"), func(t *testing.T) {
			t.Parallel()
			s, counted := repotest.New(t, nil), new(repotest.Counter)
			l := listen(s.Reopened(s.Client(redistest.Before(func(commands ...redis.Cmder) {
				if name := commands[0].Name(); name != "xrange" && name != "hmget" { // of the log, and once a second whether there is more
					counted.Add(commands...)
				}
			})), nil))
			ids := make([]site.ArticleID, articles)
			for i := range ids {
				ids[i] = s.MustPost("alice", "go").ID
			}
			l.settle()
			counted.Reset()
			watches := make([]*live.Watch, watchers)
			for i := range watches {
				watches[i] = l.watch(ids...)
			}
			if read := counted.Reset(); read.Trips != 1 || read.Commands != articles {
				t.Errorf("WatchArticles sent %d commands in %d round trips: %s; want one command for each article in 1 round trip", read.Commands, read.Trips, read.Names)
			}
			for i := range votes {
				s.MustVote(ids[i%articles], site.UserName(fmt.Sprint("voter", i)), site.Up)
			}
			for _, w := range watches {
				for last := 0; last < articles; {
					if next(t, w).Votes == 1+votes/articles {
						last++
					}
				}
			}
			if read := counted.Reset(); read.Commands != 0 {
				t.Errorf("%d commands were sent: %s; want none", read.Commands, read.Names)
			}
		})
	}
}

// An article shares its memory with the page that it was read with: a watch keeps only its own.
func TestWatchKeepsNoOtherArticlesInMemory(t *testing.T) { // not parallel: it measures the heap
	s := repotest.New(t, nil)
	const pages, size = 30, 100
	for i := 1; i <= pages*size; i++ {
		s.Raw.HSet(s.Ctx, site.ArticleID(i).String(), "title", "t", "time", "1700000000")
	}
	text := strings.Repeat("text ", 2000)
	var watches []*live.Watch
	heap := func() int {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	before := heap()
	for page := range pages {
		ids := make([]site.ArticleID, size)
		for i := range ids {
			ids[i] = site.ArticleID(page*size + i + 1)
			if i > 0 {
				s.Raw.HSet(s.Ctx, ids[i].String(), "text", text)
			}
		}
		all := require.Value(s.Live.WatchArticles(s.Ctx, ids))(t)
		one := require.Value(s.Live.WatchArticles(s.Ctx, ids[:1]))(t)
		all.Close()
		watches = append(watches, one)
	}
	if got := heap() - before; got > pages*len(text)*size/10 {
		t.Errorf("%d watches of a small article each keep %d bytes, want less than a tenth of what was read with them", len(watches), got)
	}
	runtime.KeepAlive(watches)
}
