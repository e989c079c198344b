package redisrepo_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

func TestArticlesByIDReturnsAnElementForEachID(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, redisrepo.WithPartitions(len(four)))
	var posted []site.ArticleID
	for range 5 {
		posted = append(posted, s.post("alice").ID)
	}
	s.do("SET", fmt.Sprintf("%s%v", four[posted[1]%4], posted[1]), "of another type")
	s.do("HSET", fmt.Sprintf("%s%v", four[posted[2]%4], posted[2]), "votes", "x")
	ids := []site.ArticleID{posted[4], 999, posted[0], posted[1], posted[4], posted[2]}
	articles, errs := s.ArticlesByID(s.ctx, ids)
	if len(articles) != len(ids) || len(errs) != len(ids) {
		t.Fatalf("ArticlesByID returned %d articles and %d errors, want %d of each", len(articles), len(errs), len(ids))
	}
	for i, id := range ids {
		if good := i == 0 || i == 2 || i == 4; good != (errs[i] == nil) || good != (articles[i] != nil) || good && articles[i].ID != id {
			t.Errorf("element %d, of %v, = %v, %v, want the article: %t", i, id, articles[i], errs[i], good)
		}
	}
	wantRefused(t, errs[1], "NOT_FOUND article")
}

// The bounds are exact with the race detector, which adds one for each hash. Seven for each hash are those of go-redis,
// whose buffer for a raw reply grows.
func TestReadsAllocateLittle(t *testing.T) { // not parallel: the allocations of all goroutines are counted
	s := newSite(t, nil, one)
	for i := range 25 {
		title := fmt.Sprint("A title of the usual length, number ", 10+i)
		d := site.Draft{Title: title, Link: new("https://example.com/2026/" + fmt.Sprint(10+i)), Groups: []string{"golang", "redis"}}
		if _, err := s.Post(s.ctx, "alice", d); err != nil {
			t.Fatal(err)
		}
	}
	l := lists.AllArticles(site.ByScore, site.Descending)
	ids := s.list(l)
	tests := map[string]struct {
		most float64
		read func()
	}{
		"a listing":            {33, func() { _, _ = s.List(s.ctx, l, 1, nil) }},
		"a page by cursors":    {215, func() { _, _, _ = s.Walk(s.ctx, l, site.PageRequest{}) }},
		"25 articles":          {247, func() { _, _ = s.ArticlesByID(s.ctx, ids) }},
		"one article":          {29, func() { _, _ = s.ArticlesByID(s.ctx, ids[:1]) }},
		"a listing of a group": {138, func() { _, _ = s.List(s.ctx, best("redis"), 1, nil) }},
	}
	for name, tt := range tests {
		if got := testing.AllocsPerRun(200, tt.read); got > tt.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", name, got, tt.most)
		}
	}
}

// The answer equals that of trying each number of votes in turn, ties included.
func TestVotesToReachAgreeWithTryingThem(t *testing.T) {
	t.Parallel()
	for _, tags := range layouts {
		for _, ranking := range []site.Ranking{site.Linear, site.Capped, site.HalfLifeRanking} {
			t.Run(fmt.Sprint(len(tags), " partitions, ", ranking), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, func(r *site.Rules) {
					r.VoteScore = 40
					decaying(ranking, 2*time.Minute)(r)
				}, redisrepo.WithPartitions(len(tags)))
				random := rand.New(rand.NewPCG(uint64(ranking), 1))
				var all []*site.Article
				for range 60 {
					a := s.post("alice")
					for v := range random.IntN(5) {
						s.vote(a.ID, site.UserName(fmt.Sprint("voter", v)), pick(random, up, up, down))
					}
					all = append(all, a)
					s.clock.advance(time.Duration(random.IntN(3)) * 20 * time.Second)
				}
				for i, a := range all {
					all[i] = s.article(a.ID)
				}
				for _, rank := range []int{1, 2, 3, 10, 30, 59, 60, 61, 1000} {
					got := must.Get(s.VotesToReach(s.ctx, all, rank))(t)
					for i, a := range all {
						if want := tryVotes(s.rules, all, a, rank); shownInt(got[i]) != want {
							t.Errorf("%v to place %d: %s votes, want %s", a.ID, rank, shownInt(got[i]), want)
						}
					}
				}
				gone := s.delete(all[0].ID, moderator)
				if got, err := s.VotesToReach(s.ctx, []*site.Article{gone}, 1); err != nil || got[0] != nil {
					t.Errorf("a deleted article: %v, %v, want nil", got, err)
				}
				for _, rank := range []int{0, -1, 1001} {
					_, err := s.VotesToReach(s.ctx, all, rank)
					wantRefused(t, err, "INVALID rank")
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
	s := newSite(t, decaying(site.HalfLifeRanking, time.Hour), one)
	old := s.post("alice")
	for hours, want := range map[int]bool{29: true, 31: false} {
		s.clock.set(time.Duration(hours) * time.Hour)
		newest := s.post("bob")
		got, err := s.VotesToReach(s.ctx, []*site.Article{s.article(old.ID)}, 1)
		if err != nil || (got[0] != nil) != want || want && math.Abs(float64(*got[0]-(1<<30))) > 1<<20 {
			t.Errorf("to pass an article that is %d hours younger: %s votes, %v", hours, shownInt(got[0]), err)
		}
		s.delete(newest.ID, moderator)
	}
}
