package redisrepo_test

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// Whatever changed, the whole article is delivered in its state after the change.
func TestWholeArticleIsDelivered(t *testing.T) {
	t.Parallel()
	writes := map[string]func(s *testSite, a *site.Article){
		"a vote":                         func(s *testSite, a *site.Article) { s.vote(a.ID, "bob", up) },
		"a vote down":                    func(s *testSite, a *site.Article) { s.vote(a.ID, "bob", down) },
		"the poster's, back":             func(s *testSite, a *site.Article) { s.vote(a.ID, "alice", none) },
		"votes that make it interesting": func(s *testSite, a *site.Article) { s.vote(a.ID, "bob", up); s.vote(a.ID, "carol", up) },
		"into a group":                   func(s *testSite, a *site.Article) { s.regroup(a, []string{"new"}, nil) },
		"out of its groups":              func(s *testSite, a *site.Article) { s.regroup(a, nil, []string{"go", "x"}) },
		"a vote on a legacy article": func(s *testSite, a *site.Article) {
			s.vote(bookPost(s, "user:alice"), "x", up)
			s.vote(a.ID, "bob", up)
		},
	}
	for name, write := range writes {
		for _, by := range []string{"the same", "another"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 3 }, one)
				l, writer := s.listen(), s
				if by == "another" {
					writer = s.reopened(s.client(), nil)
				}
				a := writer.post("alice", "go", "x")
				w := l.watch(a.ID)
				write(writer, a)
				l.pass()
				got := take(w)
				if want := l.article(a.ID); !reflect.DeepEqual(redisrepo.Comparable(*got), redisrepo.Comparable(*want)) || reflect.DeepEqual(redisrepo.Comparable(*got), redisrepo.Comparable(*a)) {
					t.Errorf("delivered %+v, want %+v", got, want)
				}
				if again := take(w); again != nil {
					t.Errorf("delivered again: %s, want nothing", show(again))
				}
				l.wantReports(0)
			})
		}
	}
}

// However many users vote, a watcher gets at most one state in 250 ms and in the end the last one. None is older
// than an earlier one, or than a state that this Repo returned before.
func TestBurstOfVotesIsDeliveredTogether(t *testing.T) {
	t.Parallel()
	s := two(t)
	l := s[0].listen()
	a := s[1].post("alice", "go")
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
			timeout := time.After(patience)
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
				t.Errorf("after the last state, delivered %s, want nothing", show(again))
			}
		})
	}
	together(17, func(worker int) {
		for i := range votes / 16 {
			if worker == 16 {
				noteReturned(s[0].article(a.ID))
				continue
			}
			voted := s[worker%2].vote(a.ID, site.UserName(fmt.Sprint("voter", worker, "-", i)), up)
			if worker%2 == 0 {
				noteReturned(voted.Article)
			}
		}
	})
	all.Wait()
}

func TestNewestIsTheStateAtTheTimeOfSending(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	l, a, b := s.listen(), s.post("alice"), s.post("alice")
	w := l.watch(a.ID, b.ID)
	s.vote(a.ID, "bob", up)
	d := delivery(t, w)
	taken := d.Newest()
	if taken.Votes != 2 {
		t.Errorf("took %s, want 2 votes", show(taken))
	}
	s.vote(b.ID, "bob", up) // a change of another article
	if newest := d.Newest(); newest != taken {
		t.Errorf("Newest = %s, want the state that was taken", show(newest))
	}
	s.vote(a.ID, "carol", up)
	if newest := d.Newest(); newest.ID != a.ID || newest.Votes != 3 {
		t.Errorf("Newest = %v, want 3 votes", newest)
	}
	d.Done(true)
	l.wantTaken(w, b.ID)
}

// An article with the id may be posted later.
func TestMissingArticlesCanBeWatched(t *testing.T) {
	t.Parallel()
	s := two(t, one)
	l := s[0].listen()
	w := l.watch(2, 1, 2, 99)
	l.publish("", "voted article:99 2 2 0 0 ")
	l.wantTaken(w)
	s[1].post("alice")
	s[0].post("alice")
	l.pass()
	for take(w) != nil { // the post itself may or may not be delivered as a change
		continue
	}
	s[1].vote(1, "bob", up)
	s[1].vote(2, "bob", up)
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
