package graph_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// The votes that votesToReach names put the article at the place, and one less does not.
func TestVotesToReachAreWhatItTakes(t *testing.T) {
	t.Parallel()
	for _, ranking := range []site.Ranking{site.Linear, site.Capped, site.HalfLifeRanking} {
		t.Run(ranking.String(), func(t *testing.T) {
			t.Parallel()
			rules := site.DefaultRules()
			rules.VoteScore, rules.Ranking, rules.RankCap, rules.HalfLife = 60, ranking, 10*time.Minute, 5*time.Minute
			s := sitetest.New(t, redistest.Start(t).Client, rules)
			random := rand.New(rand.NewPCG(uint64(ranking), 0))
			for i := range 20 {
				id := s.Post("alice", fmt.Sprint("article ", i))
				for range random.IntN(3) {
					s.VoteUp(id)
				}
				s.Advance(time.Duration(random.IntN(3)) * time.Minute)
			}
			out, voted := 0, 0
			for range 25 {
				number, rank := 1+random.IntN(20), 1+random.IntN(8)
				id := fmt.Sprint("article:", number)
				var a struct {
					Article struct {
						Score        float64
						VotesToReach *int
						RankedBy     struct {
							Formula    string
							PostedAt   time.Time
							VotesWorth float64
						}
					}
				}
				readInto(s, fmt.Sprintf(`{ article(id: %d) { score rankedBy { formula postedAt votesWorth } votesToReach(rank: %d) } }`, number, rank), &a)
				by := a.Article.RankedBy
				if float64(by.PostedAt.Unix())+by.VotesWorth != a.Article.Score || by.Formula != map[site.Ranking]string{
					site.Linear: "LINEAR", site.Capped: "CAPPED", site.HalfLifeRanking: "HALF_LIFE"}[ranking] {
					t.Errorf("%s: %+v, want the parts of its score", id, a.Article)
				}
				if a.Article.VotesToReach == nil {
					out++
					continue
				}
				for n := *a.Article.VotesToReach; ; n-- {
					if place := placeOf(s, id); (place <= rank) != (n <= 0) {
						t.Fatalf("%s with %d votes of %d to place %d: it is at %d", id, *a.Article.VotesToReach-n, *a.Article.VotesToReach, rank, place)
					}
					if n <= 0 {
						break
					}
					s.VoteUp(id)
					voted++
				}
			}
			if voted < 10 || (out > 0) != (ranking == site.Capped) {
				t.Errorf("%d votes, and %d places out of reach: the test shows too little", voted, out)
			}
			for _, rank := range []int{0, 1001} {
				if got := s.AskText("", fmt.Sprintf(`{ article(id: 1) { votesToReach(rank: %d) } }`, rank)); !strings.Contains(got, "BAD_USER_INPUT") {
					t.Errorf("rank %d: %s, want BAD_USER_INPUT", rank, got)
				}
			}
		})
	}
}

// readInto reads the data of a query by an anonymous caller.
func readInto(s *sitetest.Site, query string, data any) {
	s.T.Helper()
	if err := json.Unmarshal([]byte(s.AskText("", query)), &struct{ Data any }{data}); err != nil {
		s.T.Fatalf("%s: %v", query, err)
	}
}

// placeOf returns the place of an article in the listing by score, from 1.
func placeOf(s *sitetest.Site, id string) int {
	s.T.Helper()
	var a struct{ Articles []struct{ ID string } }
	readInto(s, `{ articles(pageSize: 100) { id } }`, &a)
	for i, article := range a.Articles {
		if article.ID == id {
			return i + 1
		}
	}
	s.T.Fatalf("%s is not listed", id)
	return 0
}
