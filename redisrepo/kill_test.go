package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

const (
	kills        = 4
	votesBetween = 2_000 // acknowledged, between two kills
	crowd        = 8     // goroutines, each of which casts the votes of its own users
)

// ballot is what one user may have voted on one article.
type ballot struct {
	acknowledged site.Vote
	unsure       []site.Vote // sent after that, without a reply
}

// A server that is killed while votes are cast has counted every vote that it acknowledged, and none twice.
func TestKilledServerLosesNoAcknowledgedVote(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 5 })
	s.Server.Own()
	var articles []site.ArticleID
	for i := range 6 {
		articles = append(articles, s.MustPost("alice", fmt.Sprint("g", i%2)).ID)
	}
	const seed = 1

	var acknowledged, failed atomic.Int64
	var over atomic.Bool
	ballots := make([]map[string]*ballot, crowd)
	var workers sync.WaitGroup
	for worker := range crowd {
		mine := map[string]*ballot{}
		ballots[worker] = mine
		random := rand.New(rand.NewPCG(seed, uint64(worker)))
		workers.Go(func() {
			for !over.Load() {
				id := articles[random.IntN(len(articles))]
				voter := site.UserName(fmt.Sprint("voter", worker, "-", random.IntN(4)))
				vote := site.Vote(random.IntN(3) - 1)
				b := mine[fmt.Sprint(id, voter)]
				if b == nil {
					b = new(ballot)
					mine[fmt.Sprint(id, voter)] = b
				}
				if random.IntN(10) == 0 {
					_, _ = s.Lists.List(s.Ctx, repotest.Best("g0"), 1, nil) // so that there is a listing to keep
				}
				_, err := s.Vote(s.Ctx, id, voter, vote, "")
				switch {
				case err == nil:
					*b = ballot{acknowledged: vote}
					acknowledged.Add(1)
				case errors.Is(err, failover.ErrUnavailable):
					b.unsure = append(b.unsure, vote)
					failed.Add(1)
				default:
					t.Errorf("Vote: %v", err)
					return
				}
			}
		})
	}

	limit, stop := context.WithTimeout(t.Context(), require.Timeout)
	defer stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range kills {
		for enough := acknowledged.Load() + votesBetween; acknowledged.Load() < enough; {
			select {
			case <-tick.C:
			case <-limit.Done():
				over.Store(true)
				workers.Wait()
				t.Fatalf("timed out: %d votes were acknowledged and %d failed", acknowledged.Load(), failed.Load())
			}
		}
		s.Server.Kill()
		s.Server.Restart()
	}
	over.Store(true)
	workers.Wait()

	fresh := s.Reopened(s.Client(), nil)
	net := map[site.ArticleID]int{}
	for _, id := range articles {
		net[id] = 1 // alice's
	}
	for worker, mine := range ballots {
		for voter := range 4 {
			user := site.UserName(fmt.Sprint("voter", worker, "-", voter))
			for i, position := range fresh.Positions(user, articles...) {
				vote, id := site.Vote(0), articles[i]
				switch position {
				case '+':
					vote = up
				case '-':
					vote = down
				}
				net[id] += int(vote)
				b := mine[fmt.Sprint(id, user)]
				if b == nil {
					b = new(ballot)
				}
				if !b.allows(vote) {
					t.Errorf("vote of %s on %v = %d, want %d, the last acknowledged one, or one of %v, sent without a reply", user, id, vote, b.acknowledged, b.unsure)
				}
			}
		}
	}
	for _, id := range articles {
		if got := fresh.Article(id).Votes; got != net[id] {
			t.Errorf("votes of %v = %d, want %d", id, got, net[id])
		}
	}
	fresh.WantClean()
	if failed.Load() == 0 {
		t.Error("no vote failed, want the server to be killed while votes are cast")
	}
}

func (b *ballot) allows(vote site.Vote) bool {
	for _, unsure := range b.unsure {
		if unsure == vote {
			return true
		}
	}
	return vote == b.acknowledged
}

func TestUnreachableServerIsErrUnavailable(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.Server.Own()
	a, b := s.MustPost("alice", "go"), s.MustPost("alice", "x")
	a = s.MustEdit(a.ID, repotest.Alice(), redisrepo.Edit{Text: new("text")})
	calls := map[string]func() error{
		"Ready": func() error { return s.Ready(s.Ctx) },
		"New":   func() error { _, err := redisrepo.New(s.Ctx, s.Server.Client, s.Rules); return err },
		"Post":  func() error { _, err := s.Post(s.Ctx, "bob", repotest.Draft("title")); return err },
		"Vote":  func() error { _, err := s.Vote(s.Ctx, a.ID, "bob", up, ""); return err },
		"Regroup": func() error {
			_, err := s.Regroup(s.Ctx, a.ID, site.Actor{Name: "alice"}, []string{"x"}, nil)
			return err
		},
		"Edit": func() error {
			_, err := s.Edit(s.Ctx, a.ID, repotest.Alice(), redisrepo.Edit{Title: new("edited"), Groups: []string{"go", "web"}})
			return err
		},
		"Versions": func() error { _, err := s.Versions(s.Ctx, []*site.Article{a}, 1); return err },
		"Delete":   func() error { _, err := s.Delete(s.Ctx, b.ID, repotest.Alice(), site.Why{}); return err },
		"Undelete": func() error { _, err := s.Undelete(s.Ctx, b.ID, repotest.Moderator); return err },
		"Audit":    func() error { _, err := s.Audit(s.Ctx, a.ID); return err },
		"VoidVotes": func() error {
			_, _, err := s.VoidVotes(s.Ctx, a.ID, repotest.Moderator, []string{"eve"}, true, "x")
			return err
		},
		"Voters": func() error { _, _, err := s.Voids.Voters(s.Ctx, a, nil, nil, nil); return err },
		"ModerationLog": func() error {
			_, _, err := s.Log.ModerationLog(s.Ctx, site.PageRequest{})
			return err
		},
		"List":         func() error { _, err := s.Lists.List(s.Ctx, lists.PostedBy("alice"), 1, nil); return err },
		"List a group": func() error { _, err := s.Lists.List(s.Ctx, repotest.Best("go"), 1, nil); return err },
		"ArticlesByID": func() error { _, errs := s.Articles.ArticlesByID(s.Ctx, []site.ArticleID{a.ID}); return errs[0] },
		"Votes":        func() error { _, err := s.Casts.Votes(s.Ctx, "bob", []*site.Article{a}); return err },
		"ArticleCounts": func() error {
			_, err := s.Articles.ArticleCounts(s.Ctx, []site.GroupName{"go"})
			return err
		},
		"Groups": func() error { _, _, err := s.Lists.Groups(s.Ctx, lists.GroupList{}, site.PageRequest{}); return err },
		"Import": func() error { _, errs := s.Import(s.Ctx, repotest.OldArticles(1)); return errs[0] },
	}
	before := s.Dump()
	s.Server.Kill()
	for name, call := range calls {
		var refusal site.Refusal
		if err := call(); !errors.Is(err, failover.ErrUnavailable) || errors.As(err, &refusal) {
			t.Errorf("%s without a server: %v, want ErrUnavailable", name, err)
		}
	}
	s.Server.Restart()
	s.WantStore(before)
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s after the restart: %v", name, err)
		}
	}
	s.WantClean()
}

func TestCanceledCallIsNotErrUnavailable(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	a := s.MustPost("alice")
	ctx, cancel := context.WithCancel(s.Ctx)
	cancel()
	if _, err := s.Vote(ctx, a.ID, "bob", up, ""); !errors.Is(err, context.Canceled) || errors.Is(err, failover.ErrUnavailable) {
		t.Errorf("Vote: %v, want context.Canceled and not ErrUnavailable", err)
	}
}
