package redisrepo_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
)

// Rankings match the oracle while articles are posted, imported, voted on, regrouped, deleted and restored, and while
// days are folded.
func TestRankingsFollowWrites(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2, 16} {
		for _, embedded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d partitions, embedded %t", partitions, embedded), func(t *testing.T) {
				t.Parallel()
				w := &writtenWorld{rankedWorld: newRankedWorld(t, partitions, embedded)}
				w.Rand, w.change = rand.New(rand.NewPCG(uint64(partitions), 11)), func() {
					for range w.IntN(6) {
						w.write()
					}
				}
				for step := 0; step < 150 && !t.Failed(); step++ {
					w.write()
					if step%3 == 0 {
						w.ask()
					}
				}
				w.wantClean()
			})
		}
	}
}

// writtenWorld is a rankedWorld that is written through the repository. Its articles are those that are not deleted.
type writtenWorld struct {
	*rankedWorld
	deleted []*rankedArticle
}

func (w *writtenWorld) write() {
	w.t.Helper()
	groups := [][]string{nil, {"go"}, {"x"}, {"go", "x"}}
	switch n := w.IntN(20); {
	case n < 4 || len(w.articles) == 0:
		w.add(w.post("alice", groups[w.IntN(4)]...))
	case n < 6: // an old one
		age := time.Duration(w.IntN([]int{dayOf, 12 * dayOf, 200 * dayOf}[w.IntN(3)])) * time.Second
		row := old(site.ArticleID(1000+w.IntN(100_000)), age, w.IntN(12), groups[w.IntN(4)]...)
		row.PostedAt = w.clock.now().Add(-age)
		row.Draft.Link = w.fresh().Link
		w.imports(row)
		w.add(w.article(row.ID))
	case n < 15:
		a := w.articles[w.IntN(len(w.articles))]
		result, err := w.Vote(w.ctx, a.id, users[w.IntN(len(users))], site.Vote(w.IntN(3)-1), "")
		if err == nil { // voting may be over
			a.votes = result.Article.Votes
		}
	case n < 16:
		i := w.IntN(len(w.articles))
		w.delete(w.articles[i].id, moderator)
		w.deleted = append(w.deleted, w.articles[i])
		w.articles = slices.Delete(w.articles, i, i+1)
	case n < 17 && len(w.deleted) > 0:
		a := w.deleted[0]
		w.undelete(a.id)
		w.deleted, w.articles = w.deleted[1:], append(w.articles, a)
	case n < 18:
		a := w.articles[w.IntN(len(w.articles))]
		regrouped, err := w.Regroup(w.ctx, a.id, moderator, groups[3], nil)
		if w.IntN(2) == 0 {
			regrouped, err = w.Regroup(w.ctx, a.id, moderator, nil, groups[1+w.IntN(2)])
		}
		if err != nil {
			w.t.Fatalf("Regroup: %v", err)
		}
		a.groups = namesOf(regrouped.Groups)
	default:
		w.clock.advance(time.Duration(w.IntN(20*hourOf)) * time.Second)
	}
}

func (w *writtenWorld) add(a *site.Article) {
	w.articles = append(w.articles, &rankedArticle{id: a.ID, time: float64(a.CreatedAt.Unix()), votes: a.Votes, groups: namesOf(a.Groups)})
}

func namesOf(groups []site.GroupName) (names []string) {
	for _, name := range groups {
		names = append(names, string(name))
	}
	return names
}

// Votes that a legacy client casts beside this package count once a ranking has seen the article, also in the calendar,
// and also while Redis refuses writes as far as it can be read.
func TestRankingsCountVotesOfLegacyClients(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.GroupTop = true }, one)
	var ids []site.ArticleID
	for range 4 {
		ids = append(ids, s.post("alice", "go").ID)
	}
	s.vote(ids[0], "bob", up)
	legacyVote := func(id site.ArticleID, voter string) {
		s.do("SADD", fmt.Sprint("voted:", int(id)), "user:"+voter)
		s.do("ZINCRBY score: 432", id.String())
		s.do("HINCRBY", id.String(), "votes", 1)
	}
	legacyVote(ids[2], "carol")
	legacyVote(ids[2], "dave")
	s.do("CONFIG SET min-replicas-to-write 1")
	if got := s.ranking(rankings.RankQuery{}); got != "[article:1 article:4 article:3 article:2]" {
		t.Errorf("ranking while Redis refuses writes = %s, want that without the new votes", got)
	}
	s.do("CONFIG SET min-replicas-to-write 0")
	for _, q := range []rankings.RankQuery{{}, {Group: "go"}} {
		if got := s.ranking(q); got != "[article:3 article:1 article:4 article:2]" {
			t.Errorf("ranking %+v = %s, want the article with the new votes first", q, got)
		}
	}
	s.wantClean()
}

// ranking returns the ids of the first page of a ranking.
func (s *testSite) ranking(q rankings.RankQuery) string {
	s.t.Helper()
	list := must.Get(s.RankedList(q))(s.t)
	page := must.Get(s.Rank(s.ctx, list, nil, nil))(s.t)
	var ids []site.ArticleID
	for _, edge := range page.Edges {
		ids = append(ids, edge.ID)
	}
	return fmt.Sprint(ids)
}
