package redisrepo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
)

// Many voters and two processes: every vote counts once, and its result says what was before.
func TestVotesOfTwoProcessesAtOnceAreExact(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.Two(t)
	a := s[0].MustPost("alice", "go")
	s[0].List(repotest.Best("go"))
	const users, casts = 40, 12
	last := make([]site.Vote, users)
	repotest.Together(users, func(user int) {
		random := rand.New(rand.NewPCG(uint64(user), 0))
		name := site.UserName(fmt.Sprint("voter", user))
		for range casts {
			vote := site.Vote(random.IntN(3) - 1)
			result, err := s[random.IntN(2)].Vote(t.Context(), a.ID, name, vote, "b")
			if err != nil || result.Previous != last[user] || result.Changed != (vote != last[user]) {
				t.Errorf("vote %v of %s = %+v, %v, want Previous %v", vote, name, result, err, last[user])
			}
			last[user] = vote
		}
	})
	ups, downs := 1, 0
	for _, vote := range last {
		switch vote {
		case up:
			ups++
		case down:
			downs++
		case none:
		}
	}
	if a := s[0].Article(a.ID); a.Upvotes != ups || a.Downvotes != downs {
		t.Errorf("votes = +%d -%d, want +%d -%d", a.Upvotes, a.Downvotes, ups, downs)
	}
	s[0].WantClean()
}
