package preview_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/preview"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// The preview is the page as it stands, and the one that a start under the other rules shows. It changes nothing.
func TestPreviewIsThePageAfterAChange(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, nil, partitions)
		random := rand.New(rand.NewPCG(1, 2))
		var all []redisrepo.Imported
		for i := range 1500 { // more than are ranked
			link := fmt.Sprint("https://example.com/", i)
			at := repotest.Opened.Add(-time.Duration(random.IntN(3000)) * time.Minute)
			all = append(all, redisrepo.Imported{
				ID: site.ArticleID(i + 1), Draft: site.Draft{Title: "title", Link: &link}, Poster: "alice", PostedAt: at, Votes: 1 + int(random.ExpFloat64()*20),
			})
		}
		s.MustImport(all...)
		for _, change := range []func(*site.Rules){
			repotest.Decaying(site.HalfLifeRanking, 30*time.Minute), repotest.Decaying(site.Capped, time.Hour), repotest.Decaying(site.Linear, 0),
			repotest.Decaying(site.HalfLifeRanking, 100*site.Day),
		} {
			rules, before := s.Rules, s.Dump()
			change(&rules)
			got, err := preview.Ranking(s.Ctx, s.Server.Client, rules, 100, partitions, redisrepo.WithClock(s.Clock.Now))
			if err != nil || s.Dump() != before {
				t.Fatalf("preview.Ranking: %v, want no error and no change", err)
			}
			size := 100
			page := func(s *repotest.Site) []site.ArticleID {
				return require.Value(s.Lists.List(s.Ctx, lists.AllArticles(site.ByScore, site.Descending), 1, &size))(t)
			}
			was := page(s)
			if len(got.Rules) == 0 {
				t.Errorf("%v: no change of the rules is named", rules.Ranking)
			}
			s = s.Reopened(s.Server.Client, change, partitions)
			is := page(s)
			if !slices.Equal(idsOfPlaced(got.Before), was) || !slices.Equal(idsOfPlaced(got.After), is) {
				t.Errorf("%v: the preview is\n%v and\n%v, want\n%v and\n%v", rules.Ranking, idsOfPlaced(got.Before), idsOfPlaced(got.After), was, is)
			}
			for i, p := range got.After {
				if p.After != i+1 || slices.Index(was, p.ID) >= 0 && p.Before != slices.Index(was, p.ID)+1 || p.Score != s.Article(p.ID).Score {
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

// Only a site that could have a new first page each day, and has not, is advised to take another ranking.
func TestAdviceIsForPagesThatAreTooOld(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		for _, tt := range []struct {
			name   string
			change func(*site.Rules)
			every  time.Duration // between two articles
			most   int           // votes of one article
			want   string
		}{
			{"many articles, and one with many votes", nil, 30 * time.Minute, 2000,
				`48 articles are posted in a day, and the ranking linear keeps "a hit" among the first for 10 days: --ranking halflife:6h would serve this site better`},
			{"many articles with few votes", nil, 30 * time.Minute, 100, ""},
			{"few articles", nil, 2 * time.Hour, 2000, ""},
			{"another ranking", repotest.Decaying(site.HalfLifeRanking, time.Hour), 30 * time.Minute, 2000, ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := repotest.New(t, tt.change, redisrepo.WithPartitions(len(tags)))
				all := []redisrepo.Imported{}
				for i := range 120 {
					text := "words"
					all = append(all, redisrepo.Imported{
						ID: site.ArticleID(i + 1), Draft: site.Draft{Title: "title", Text: &text}, Poster: "alice", PostedAt: repotest.Opened.Add(-time.Duration(i) * tt.every), Votes: 1 + i%5,
					})
				}
				all[50].Draft.Title, all[50].Votes = "a hit", tt.most
				s.MustImport(all...)
				got, err := preview.Advise(s.Ctx, s.Repo)
				said := ""
				if got != nil {
					said = got.String()
				}
				if err != nil || said != tt.want {
					t.Errorf("got %q and %v, want %q", said, err, tt.want)
				}
			})
		}
	})
}
