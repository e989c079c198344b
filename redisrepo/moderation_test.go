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
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// everywhere returns all listings that an article of alice in the groups go and x can be in.
func everywhere() []lists.Listing {
	listings := []lists.Listing{lists.PostedBy("alice"), lists.LinkingTo("example.com")}
	for _, order := range repotest.Orders {
		listings = append(listings, lists.AllArticles(order, site.Descending))
		for _, group := range []site.GroupName{"go", "x", "interesting"} {
			listings = append(listings, lists.InGroup(group, order, site.Descending))
		}
	}
	return listings
}

func TestUndeleteRestoresADeletedArticle(t *testing.T) {
	t.Parallel()
	for _, tags := range repotest.Layouts {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprint(tags, " listings kept: ", kept), func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 3 }, redisrepo.WithPartitions(len(tags)))
				a := s.MustPost("alice", "go", "x")
				for _, voter := range []site.UserName{"bob", "carol", "dave"} {
					s.MustVote(a.ID, voter, up)
				}
				s.MustVote(a.ID, "erin", down)
				a = s.Article(a.ID)
				s.Clock.Advance(time.Minute)
				list := func() {
					for _, l := range everywhere() {
						s.List(l)
					}
				}
				if kept {
					list()
				}
				before := s.Dump()

				deleted := s.MustDelete(a.ID, repotest.Moderator)
				if !deleted.DeletedAt.Equal(repotest.Opened.Add(time.Minute)) || *deleted.DeletedBy != "mod" || deleted.Votes != 3 || !slices.Equal(deleted.Groups, a.Groups) || deleted.Score != a.Score {
					t.Errorf("Delete = %s, want %s, deleted by mod after a minute", repotest.Show(deleted), repotest.Show(a))
				}
				for _, l := range everywhere() {
					s.WantList(l)
					if n, err := s.Lists.Count(s.Ctx, l); err != nil || n != 0 {
						t.Errorf("Count of %+v = %d, %v, want 0", l, n, err)
					}
					if edges, _, err := s.Lists.Walk(s.Ctx, l, site.PageRequest{}); err != nil || len(edges) != 0 {
						t.Errorf("Walk of %+v = %v, %v, want nothing", l, edges, err)
					}
				}
				s.WantCounts()
				_, errs := s.Articles.ArticlesByID(s.Ctx, []site.ArticleID{a.ID})
				repotest.WantRefused(t, errs[0], "NOT_FOUND article")
				_, err := s.Vote(s.Ctx, a.ID, "frank", up, "")
				repotest.WantRefused(t, err, "NOT_FOUND article")
				_, err = s.Regroup(s.Ctx, a.ID, repotest.Moderator, []string{"y"}, nil)
				repotest.WantRefused(t, err, "NOT_FOUND article")
				_, err = s.Delete(s.Ctx, a.ID, site.Actor{Name: "bob"}, site.Why{})
				repotest.WantRefused(t, err, "NOT_FOUND article")
				if s.Articles.CanVote("frank", deleted) {
					t.Error("CanVote of a deleted article = true, want false")
				}
				for _, by := range []site.Actor{repotest.Alice(), repotest.Moderator} { // both may see it
					if again := s.MustDelete(a.ID, by); repotest.Show(again) != repotest.Show(deleted) {
						t.Errorf("Delete again = %s, want %s", repotest.Show(again), repotest.Show(deleted))
					}
				}
				if read, err := s.Deleted(s.Ctx, a.ID); err != nil || repotest.Show(read) != repotest.Show(deleted) {
					t.Errorf("Deleted = %v, %v, want %s", read, err, repotest.Show(deleted))
				}
				s.WantClean()
				if checked, err := check.Check(s.Ctx, s.Repo, func(string) {}); err != nil || checked.Articles != 0 || checked.Deleted != 1 {
					t.Errorf("Check = %+v, %v, want 1 deleted article and no other", checked, err)
				}

				back := s.MustUndelete(a.ID)
				if want := s.Article(a.ID); !reflect.DeepEqual(back, want) || strings.Replace(repotest.Show(back), "Revision:7", "Revision:5", 1) != repotest.Show(a) {
					t.Errorf("Undelete = %s, want %s", repotest.Show(back), repotest.Show(a))
				}
				for _, l := range everywhere() {
					s.WantList(l, a.ID)
				}
				if again := s.MustUndelete(a.ID); !reflect.DeepEqual(again, back) {
					t.Errorf("Undelete again = %s, want %s", repotest.Show(again), repotest.Show(back))
				}
				_, err = s.Deleted(s.Ctx, a.ID)
				repotest.WantRefused(t, err, "NOT_FOUND article")
				s.WantClean()
				if kept {
					after := s.Dump()
					for line := range strings.Lines(before) {
						if !strings.Contains(line, "revision:") && !strings.Contains(after, line) {
							t.Errorf("after Undelete, the store lacks what it had before the deletion: %s", line)
						}
					}
				}
				s.MustVote(a.ID, "frank", up)
				s.WantClean()
			})
		}
	}
}

// An article that is undeleted follows the rules that changed while it was deleted.
func TestUndeletedArticleFollowsChangedRules(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "go")
	require.Value(s.Vote(s.Ctx, a.ID, "bob", up, "b"))(t)
	s.MustVote(a.ID, "carol", down)
	s.MustDelete(a.ID, repotest.Alice())
	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.VoteScore, r.VotingWindow, r.InterestingVotes = 7, day, 1 })
	s.WantClean()
	for _, key := range []string{"voted:1", "downvoted:1", "audit:1"} {
		if left := s.TTL(key); left > day+time.Hour || left < day {
			t.Errorf("%s expires in %v, want a day and an hour", key, left)
		}
	}
	if back := s.MustUndelete(a.ID); back.Score != float64(repotest.Opened.Unix()+7) || !back.IsInteresting {
		t.Errorf("Undelete = %s, want the score of one vote, and interesting", repotest.Show(back))
	}
	s.WantList(repotest.Best("interesting"), a.ID)
	s.WantClean()
}

// Votes, regroupings, deletions and undeletions of a few articles at once.
func TestConcurrentVotesAndDeletionsStayConsistent(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	var articles []*site.Article
	for i := range 4 {
		articles = append(articles, s[0].MustPost("alice", "go", fmt.Sprint("g", i%2)))
	}
	for _, group := range []site.GroupName{"go", "g0", "g1", "interesting"} {
		s[0].List(repotest.Best(group))
	}
	var counted [4]atomic.Int64
	var refused atomic.Int64
	repotest.Together(12, func(worker int) {
		s := s[worker%2]
		for i := range 80 {
			n := (worker + i) % len(articles)
			id := articles[n].ID
			var err error
			switch {
			case worker < 2 && i%2 == 0:
				_, err = s.Delete(s.Ctx, id, repotest.Moderator, site.Why{})
			case worker < 4 && i%2 == 1:
				_, err = s.Undelete(s.Ctx, id, repotest.Moderator)
			case worker < 5:
				_, err = s.Regroup(s.Ctx, id, repotest.Moderator, []string{fmt.Sprint("g", i%2)}, []string{fmt.Sprint("g", (i+1)%2)})
			default:
				_, err = s.Vote(s.Ctx, id, site.UserName(fmt.Sprint("voter", worker, "-", i)), up, "")
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
				s.List(repotest.Best("go"))
			}
		}
	})
	s[0].WantClean()
	for i, a := range articles {
		if got := s[0].MustUndelete(a.ID); int64(got.Votes) != 1+counted[i].Load() {
			t.Errorf("votes of %v = %d, want %d", a.ID, got.Votes, 1+counted[i].Load())
		}
	}
	s[0].WantClean()
	if n := len(s[0].List(repotest.Best("go"))); n != 4 {
		t.Errorf("go has %d articles, want 4", n)
	}
	if refused.Load() == 0 {
		t.Error("no call was refused, want some to meet a deleted article")
	}
}

func TestConcurrentDeletionsAreLoggedOnce(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	a := s[0].MustPost("alice", "go")
	var mutex sync.Mutex
	by := map[site.UserName]bool{}
	repotest.Together(100, func(i int) {
		d, err := s[i%2].Delete(s[i%2].Ctx, a.ID, site.Actor{Name: site.UserName(fmt.Sprint("mod", i)), Moderator: true}, site.Why{})
		if err != nil {
			t.Errorf("Delete: %v", err)
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		by[*d.DeletedBy] = true
	})
	log, _, err := s[0].Log.ModerationLog(s[0].Ctx, site.PageRequest{})
	if err != nil || len(log) != 1 || len(by) != 1 || !by[log[0].By] {
		t.Errorf("log = %+v, %v; deleted by %v; want one entry by the one deleter", log, err, by)
	}
	s[0].WantClean()
}

func TestDownvotesCanBeDisabled(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	a := s.MustPost("alice")
	s.MustVote(a.ID, "bob", down)
	s.MustVote(a.ID, "carol", down)
	s = s.Reopened(s.Server.Client, func(r *site.Rules) { r.Downvotes = false })
	for _, voter := range []site.UserName{"bob", "dave"} {
		_, err := s.Vote(s.Ctx, a.ID, voter, down, "")
		repotest.WantRefused(t, err, "FORBIDDEN direction")
	}
	if got := s.Article(a.ID); got.Downvotes != 2 {
		t.Errorf("downvotes = %d, want 2", got.Downvotes)
	}
	s.MustVote(a.ID, "bob", none)
	if got := s.MustVote(a.ID, "carol", up).Article; got.Votes != 2 || got.Downvotes != 0 {
		t.Errorf("article = %s, want 2 votes and no downvote", repotest.Show(got))
	}
	s.WantClean()
}
