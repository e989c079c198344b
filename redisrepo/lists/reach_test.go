package lists_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// The answer equals that of trying each number of votes in turn, ties included.
func TestVotesToReachAgreeWithTryingThem(t *testing.T) {
	t.Parallel()
	for _, tags := range repotest.Layouts {
		for _, ranking := range []site.Ranking{site.Linear, site.Capped, site.HalfLifeRanking} {
			t.Run(fmt.Sprint(len(tags), " partitions, ", ranking), func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, func(r *site.Rules) {
					r.VoteScore = 40
					repotest.Decaying(ranking, 2*time.Minute)(r)
				}, redisrepo.WithPartitions(len(tags)))
				random := rand.New(rand.NewPCG(uint64(ranking), 1))
				var all []*site.Article
				for range 60 {
					a := s.MustPost("alice")
					for v := range random.IntN(5) {
						s.MustVote(a.ID, site.UserName(fmt.Sprint("voter", v)), pick(random, site.Up, site.Up, site.Down))
					}
					all = append(all, a)
					s.Clock.Advance(time.Duration(random.IntN(3)) * 20 * time.Second)
				}
				for i, a := range all {
					all[i] = s.Article(a.ID)
				}
				for _, rank := range []int{1, 2, 3, 10, 30, 59, 60, 61, 1000} {
					got := require.Value(s.Lists.VotesToReach(s.Ctx, all, rank))(t)
					for i, a := range all {
						if want := tryVotes(s.Rules, all, a, rank); shownInt(got[i]) != want {
							t.Errorf("%v to place %d: %s votes, want %s", a.ID, rank, shownInt(got[i]), want)
						}
					}
				}
				gone := s.MustDelete(all[0].ID, repotest.Moderator)
				if got, err := s.Lists.VotesToReach(s.Ctx, []*site.Article{gone}, 1); err != nil || got[0] != nil {
					t.Errorf("a deleted article: %v, %v, want nil", got, err)
				}
				for _, rank := range []int{0, -1, 1001} {
					_, err := s.Lists.VotesToReach(s.Ctx, all, rank)
					repotest.WantRefused(t, err, "INVALID rank")
				}
			})
		}
	}
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

func shownInt(n *int32) string {
	if n == nil {
		return "null"
	}
	return fmt.Sprint(*n)
}

// tryVotes gives an article more and more votes, and counts the articles above it each time.
func tryVotes(rules site.Rules, all []*site.Article, one *site.Article, rank int) string {
	for more := range 5000 {
		score, place := float64(one.CreatedAt.Unix())+rules.Worth(float64(one.Votes+more)), 1
		for _, a := range all {
			if a.Score > score || a.Score == score && a.ID.String() > one.ID.String() {
				if a != one {
					place++
				}
			}
		}
		if place <= rank {
			return fmt.Sprint(more)
		}
	}
	return "null"
}

// Numbers that no Int can hold are nil.
func TestVotesToReachEndAtTheLargestInt(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, repotest.Decaying(site.HalfLifeRanking, time.Hour), repotest.One)
	old := s.MustPost("alice")
	for hours, want := range map[int]bool{29: true, 31: false} {
		s.Clock.Set(time.Duration(hours) * time.Hour)
		newest := s.MustPost("bob")
		got, err := s.Lists.VotesToReach(s.Ctx, []*site.Article{s.Article(old.ID)}, 1)
		if err != nil || (got[0] != nil) != want || want && math.Abs(float64(*got[0]-(1<<30))) > 1<<20 {
			t.Errorf("to pass an article that is %d hours younger: %s votes, %v", hours, shownInt(got[0]), err)
		}
		s.MustDelete(newest.ID, repotest.Moderator)
	}
}
