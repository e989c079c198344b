package redisrepo_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

func alice() site.Actor { return site.Actor{Name: "alice"} }

// everywhere returns all listings that an article of alice in the groups go and x can be in.
func everywhere() []lists.Listing {
	listings := []lists.Listing{lists.PostedBy("alice"), lists.LinkingTo("example.com")}
	for _, order := range orders {
		listings = append(listings, lists.AllArticles(order, site.Descending))
		for _, group := range []site.GroupName{"go", "x", "interesting"} {
			listings = append(listings, lists.InGroup(group, order, site.Descending))
		}
	}
	return listings
}

func TestUndeleteRestoresADeletedArticle(t *testing.T) {
	t.Parallel()
	for _, tags := range layouts {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprint(tags, " listings kept: ", kept), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 3 }, redisrepo.WithPartitions(len(tags)))
				a := s.post("alice", "go", "x")
				for _, voter := range []site.UserName{"bob", "carol", "dave"} {
					s.vote(a.ID, voter, up)
				}
				s.vote(a.ID, "erin", down)
				a = s.article(a.ID)
				s.clock.advance(time.Minute)
				list := func() {
					for _, l := range everywhere() {
						s.list(l)
					}
				}
				if kept {
					list()
				}
				before := s.dump()

				deleted := s.delete(a.ID, moderator)
				if !deleted.DeletedAt.Equal(opened.Add(time.Minute)) || *deleted.DeletedBy != "mod" || deleted.Votes != 3 || !slices.Equal(deleted.Groups, a.Groups) || deleted.Score != a.Score {
					t.Errorf("Delete = %s, want %s, deleted by mod after a minute", show(deleted), show(a))
				}
				for _, l := range everywhere() {
					s.wantList(l)
					if n, err := s.Lists.Count(s.ctx, l); err != nil || n != 0 {
						t.Errorf("Count of %+v = %d, %v, want 0", l, n, err)
					}
					if edges, _, err := s.Lists.Walk(s.ctx, l, site.PageRequest{}); err != nil || len(edges) != 0 {
						t.Errorf("Walk of %+v = %v, %v, want nothing", l, edges, err)
					}
				}
				s.wantCounts()
				_, errs := s.Articles.ArticlesByID(s.ctx, []site.ArticleID{a.ID})
				wantRefused(t, errs[0], "NOT_FOUND article")
				_, err := s.Vote(s.ctx, a.ID, "frank", up, "")
				wantRefused(t, err, "NOT_FOUND article")
				_, err = s.Regroup(s.ctx, a.ID, moderator, []string{"y"}, nil)
				wantRefused(t, err, "NOT_FOUND article")
				_, err = s.Delete(s.ctx, a.ID, site.Actor{Name: "bob"}, site.Why{})
				wantRefused(t, err, "NOT_FOUND article")
				if s.Articles.CanVote("frank", deleted) {
					t.Error("CanVote of a deleted article = true, want false")
				}
				for _, by := range []site.Actor{alice(), moderator} { // both may see it
					if again := s.delete(a.ID, by); show(again) != show(deleted) {
						t.Errorf("Delete again = %s, want %s", show(again), show(deleted))
					}
				}
				if read, err := s.Deleted(s.ctx, a.ID); err != nil || show(read) != show(deleted) {
					t.Errorf("Deleted = %v, %v, want %s", read, err, show(deleted))
				}
				s.wantClean()
				if checked, err := check.Check(s.ctx, s.Repo, func(string) {}); err != nil || checked.Articles != 0 || checked.Deleted != 1 {
					t.Errorf("Check = %+v, %v, want 1 deleted article and no other", checked, err)
				}

				back := s.undelete(a.ID)
				if want := s.article(a.ID); !reflect.DeepEqual(back, want) || strings.Replace(show(back), "Revision:7", "Revision:5", 1) != show(a) {
					t.Errorf("Undelete = %s, want %s", show(back), show(a))
				}
				for _, l := range everywhere() {
					s.wantList(l, a.ID)
				}
				if again := s.undelete(a.ID); !reflect.DeepEqual(again, back) {
					t.Errorf("Undelete again = %s, want %s", show(again), show(back))
				}
				_, err = s.Deleted(s.ctx, a.ID)
				wantRefused(t, err, "NOT_FOUND article")
				s.wantClean()
				if kept {
					after := s.dump()
					for line := range strings.Lines(before) {
						if !strings.Contains(line, "revision:") && !strings.Contains(after, line) {
							t.Errorf("after Undelete, the store lacks what it had before the deletion: %s", line)
						}
					}
				}
				s.vote(a.ID, "frank", up)
				s.wantClean()
			})
		}
	}
}

// An article that is undeleted follows the rules that changed while it was deleted.
func TestUndeletedArticleFollowsChangedRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	a := s.post("alice", "go")
	require.Value(s.Vote(s.ctx, a.ID, "bob", up, "b"))(t)
	s.vote(a.ID, "carol", down)
	s.delete(a.ID, alice())
	s = s.reopened(s.server.Client, func(r *site.Rules) { r.VoteScore, r.VotingWindow, r.InterestingVotes = 7, day, 1 })
	s.wantClean()
	for _, key := range []string{"voted:1", "downvoted:1", "audit:1"} {
		if left := s.ttl(key); left > day+time.Hour || left < day {
			t.Errorf("%s expires in %v, want a day and an hour", key, left)
		}
	}
	if back := s.undelete(a.ID); back.Score != float64(opened.Unix()+7) || !back.IsInteresting {
		t.Errorf("Undelete = %s, want the score of one vote, and interesting", show(back))
	}
	s.wantList(best("interesting"), a.ID)
	s.wantClean()
}

func TestDeletionsAreDelivered(t *testing.T) { // with the race detector
	t.Parallel()
	for _, tags := range layouts {
		for _, by := range []string{"the same", "another"} {
			t.Run(fmt.Sprint(tags, " by ", by), func(t *testing.T) {
				t.Parallel()
				partitions := redisrepo.WithPartitions(len(tags))
				s := newSite(t, nil, partitions)
				writer := s.reopened(s.client(), nil, partitions)
				l := s.listen(tags...)
				if by == "the same" {
					writer = s
				}
				a := writer.post("alice", "go")
				l.pass()
				w, posts := l.watch(a.ID), l.watchPosts("")
				deleted := writer.delete(a.ID, moderator)
				wantEqual(t, next(t, w), deleted)
				l.wantTaken(w)
				_, err := writer.Vote(writer.ctx, a.ID, "bob", up, "")
				wantRefused(t, err, "NOT_FOUND article")
				l.wantTaken(w)
				late := l.watch(a.ID) // begins when the article is deleted already
				l.wantTaken(late)
				back := writer.undelete(a.ID)
				for _, w := range []*live.Watch{w, late} {
					wantEqual(t, next(t, w), back)
				}
				writer.vote(a.ID, "bob", up)
				if got := until(t, w, 2); got.DeletedAt != nil {
					t.Errorf("delivered %s, want 2 votes and not deleted", show(got))
				}
				l.wantTaken(posts)
				l.wantReports(0)
			})
		}
	}
}

// A deletion during an outage is delivered after it; an undeleted article is not a post.
func TestDeletionsDuringAnOutageAreDelivered(t *testing.T) { // with the race detector
	eachOutage(t, func(l *listener, other *testSite, begin, end func()) {
		hidden := other.post("alice", "go")
		other.delete(hidden.ID, moderator)
		a := other.post("alice", "go")
		l.pass()
		w, posts := l.watch(a.ID), l.watchPosts("")
		begin()
		deleted := other.delete(a.ID, moderator)
		other.undelete(hidden.ID)
		end()
		wantEqual(l.t, next(l.t, w), deleted)
		l.wantTaken(w)
		l.wantTaken(posts)
		begin()
		back := other.undelete(a.ID)
		end()
		wantEqual(l.t, next(l.t, w), back)
		l.wantTaken(w)
		l.wantTaken(posts)
	})
}

func TestPostDeletedBeforeTakeIsSkipped(t *testing.T) {
	t.Parallel()
	s := two(t)
	l := s[0].listen()
	w := l.watchPosts("")
	a, b := s[1].post("alice"), s[1].post("alice")
	l.pass()
	s[0].delete(a.ID, moderator)
	taken, ok := w.Take()
	if !ok || taken.Newest().ID != b.ID {
		t.Fatalf("took %v, want %v", taken.Newest(), b.ID)
	}
	s[0].delete(b.ID, moderator)
	if newest := taken.Newest(); newest.DeletedAt == nil {
		t.Errorf("Newest = %v, want it to be deleted", newest)
	}
	l.wantTaken(w)
}

// Votes, regroupings, deletions and undeletions of a few articles at once.
func TestConcurrentVotesAndDeletionsStayConsistent(t *testing.T) { // with the race detector
	t.Parallel()
	s := two(t)
	var articles []*site.Article
	for i := range 4 {
		articles = append(articles, s[0].post("alice", "go", fmt.Sprint("g", i%2)))
	}
	for _, group := range []site.GroupName{"go", "g0", "g1", "interesting"} {
		s[0].list(best(group))
	}
	var counted [4]atomic.Int64
	var refused atomic.Int64
	together(12, func(worker int) {
		s := s[worker%2]
		for i := range 80 {
			n := (worker + i) % len(articles)
			id := articles[n].ID
			var err error
			switch {
			case worker < 2 && i%2 == 0:
				_, err = s.Delete(s.ctx, id, moderator, site.Why{})
			case worker < 4 && i%2 == 1:
				_, err = s.Undelete(s.ctx, id, moderator)
			case worker < 5:
				_, err = s.Regroup(s.ctx, id, moderator, []string{fmt.Sprint("g", i%2)}, []string{fmt.Sprint("g", (i+1)%2)})
			default:
				_, err = s.Vote(s.ctx, id, site.UserName(fmt.Sprint("voter", worker, "-", i)), up, "")
				if err == nil {
					counted[n].Add(1)
				}
			}
			var refusal site.Refusal
			if errors.As(err, &refusal) && refusal[0].Code == site.NotFound {
				refused.Add(1)
			} else if err != nil {
				t.Errorf("call of worker %d: %v", worker, err)
			}
			if i%20 == 0 {
				s.list(best("go"))
			}
		}
	})
	s[0].wantClean()
	for i, a := range articles {
		if got := s[0].undelete(a.ID); int64(got.Votes) != 1+counted[i].Load() {
			t.Errorf("votes of %v = %d, want %d", a.ID, got.Votes, 1+counted[i].Load())
		}
	}
	s[0].wantClean()
	if n := len(s[0].list(best("go"))); n != 4 {
		t.Errorf("go has %d articles, want 4", n)
	}
	if refused.Load() == 0 {
		t.Error("no call was refused, want some to meet a deleted article")
	}
}

func TestConcurrentDeletionsAreLoggedOnce(t *testing.T) { // with the race detector
	t.Parallel()
	s := two(t)
	a := s[0].post("alice", "go")
	var mutex sync.Mutex
	by := map[site.UserName]bool{}
	together(100, func(i int) {
		d, err := s[i%2].Delete(s[i%2].ctx, a.ID, site.Actor{Name: site.UserName(fmt.Sprint("mod", i)), Moderator: true}, site.Why{})
		if err != nil {
			t.Errorf("Delete: %v", err)
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		by[*d.DeletedBy] = true
	})
	log, _, err := s[0].Log.ModerationLog(s[0].ctx, site.PageRequest{})
	if err != nil || len(log) != 1 || len(by) != 1 || !by[log[0].By] {
		t.Errorf("log = %+v, %v; deleted by %v; want one entry by the one deleter", log, err, by)
	}
	s[0].wantClean()
}

func TestDownvotesCanBeDisabled(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	a := s.post("alice")
	s.vote(a.ID, "bob", down)
	s.vote(a.ID, "carol", down)
	s = s.reopened(s.server.Client, func(r *site.Rules) { r.Downvotes = false })
	for _, voter := range []site.UserName{"bob", "dave"} {
		_, err := s.Vote(s.ctx, a.ID, voter, down, "")
		wantRefused(t, err, "FORBIDDEN direction")
	}
	if got := s.article(a.ID); got.Downvotes != 2 {
		t.Errorf("downvotes = %d, want 2", got.Downvotes)
	}
	s.vote(a.ID, "bob", none)
	if got := s.vote(a.ID, "carol", up).Article; got.Votes != 2 || got.Downvotes != 0 {
		t.Errorf("article = %s, want 2 votes and no downvote", show(got))
	}
	s.wantClean()
}
