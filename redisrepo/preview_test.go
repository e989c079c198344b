package redisrepo_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/preview"
	"frontpage/redisrepo/site"
)

// The preview is the page as it stands, and the one that a start under the other rules shows. It changes nothing.
func TestPreviewIsThePageAfterAChange(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := newSite(t, nil, partitions)
		random := rand.New(rand.NewPCG(1, 2))
		var all []redisrepo.Imported
		for i := range 1500 { // more than are ranked
			link := fmt.Sprint("https://example.com/", i)
			at := opened.Add(-time.Duration(random.IntN(3000)) * time.Minute)
			all = append(all, redisrepo.Imported{
				ID: site.ArticleID(i + 1), Draft: site.Draft{Title: "title", Link: &link}, Poster: "alice", PostedAt: at, Votes: 1 + int(random.ExpFloat64()*20),
			})
		}
		s.imports(all...)
		for _, change := range []func(*site.Rules){
			decaying(site.HalfLifeRanking, 30*time.Minute), decaying(site.Capped, time.Hour), decaying(site.Linear, 0),
			decaying(site.HalfLifeRanking, 100*day),
		} {
			rules, before := s.rules, s.dump()
			change(&rules)
			got, err := preview.Ranking(s.ctx, s.server.Client, rules, 100, partitions, redisrepo.WithClock(s.clock.now))
			if err != nil || s.dump() != before {
				t.Fatalf("preview.Ranking: %v, want no error and no change", err)
			}
			size := 100
			page := func(s *testSite) []site.ArticleID {
				return must.Get(s.List(s.ctx, lists.AllArticles(site.ByScore, site.Descending), 1, &size))(t)
			}
			was := page(s)
			if len(got.Rules) == 0 {
				t.Errorf("%v: no change of the rules is named", rules.Ranking)
			}
			s = s.reopened(s.server.Client, change, partitions)
			is := page(s)
			if !slices.Equal(idsOfPlaced(got.Before), was) || !slices.Equal(idsOfPlaced(got.After), is) {
				t.Errorf("%v: the preview is\n%v and\n%v, want\n%v and\n%v", rules.Ranking, idsOfPlaced(got.Before), idsOfPlaced(got.After), was, is)
			}
			for i, p := range got.After {
				if p.After != i+1 || slices.Index(was, p.ID) >= 0 && p.Before != slices.Index(was, p.ID)+1 || p.Score != s.article(p.ID).Score {
					t.Errorf("%v: %v is at %d, and was at %d, want %d and %d", rules.Ranking, p.ID, p.After, p.Before, i+1, slices.Index(was, p.ID)+1)
				}
			}
		}
	})
}

func idsOfPlaced(page []preview.Placed) (ids []site.ArticleID) {
	for _, p := range page {
		ids = append(ids, p.ID)
	}
	return ids
}
