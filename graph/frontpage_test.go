package graph_test

import (
	"fmt"
	"testing"
	"time"

	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// The clock of a site starts at 03:04:05.
func TestFrontPageOfThePast(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		for i := range 3 {
			s.Post("alice", fmt.Sprint("article ", i+1))
		}
		s.Vote("bob", "article:2", "UP")
		s.Advance(time.Hour)
		s.Want("", `{ frontPage(at: "2026-01-02T05:00:00.000Z") { at } }`, `{"frontPage": null}`) // has not come yet
		s.Vote("bob", "article:3", "UP")
		s.Vote("carol", "article:3", "UP")
		moderate(s, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
		s.Want("", `{ frontPage(at: "2026-01-02T04:04:05.000Z") { at savedAt edges { rank score node { id } } } }`,
			`{"frontPage": {"at": "2026-01-02T04:00:00.000Z", "savedAt": "2026-01-02T04:00:00.000Z", "edges": [
				{"rank": 1, "score": 1767323909, "node": {"id": "article:2"}},
				{"rank": 2, "score": 1767323477, "node": {"id": "article:3"}},
				{"rank": 3, "score": 1767323477, "node": null}]}}`)
		s.Advance(2 * time.Hour)
		s.Want("", `{ frontPage(at: "2026-01-02T05:00:00.000Z") { at savedAt edges { rank node { id } } } }`,
			`{"frontPage": {"at": "2026-01-02T05:00:00.000Z", "savedAt": "2026-01-02T06:00:00.000Z", "edges": [
				{"rank": 1, "node": {"id": "article:3"}}, {"rank": 2, "node": {"id": "article:2"}}]}}`)
		for _, at := range []string{"2026-01-02T03:59:59.000Z", "2026-01-02T06:59:59.000Z", "1900-01-01T00:00:00.000Z", "2200-01-01T00:00:00.000Z"} {
			want := `{"frontPage": null}`
			if at == "2026-01-02T06:59:59.000Z" {
				want = `{"frontPage": {"at": "2026-01-02T06:00:00.000Z"}}`
			}
			s.Want("", fmt.Sprintf(`{ frontPage(at: %q) { at } }`, at), want)
		}
		s.Want("", `{ articles { id bestRank { rank at } ranks(hours: 2) { at rank } } }`, `{"articles": [
			{"id": "article:3", "bestRank": {"rank": 1, "at": "2026-01-02T05:00:00.000Z"}, "ranks": [{"at": "2026-01-02T05:00:00.000Z", "rank": 1}, {"at": "2026-01-02T06:00:00.000Z", "rank": 1}]},
			{"id": "article:2", "bestRank": {"rank": 1, "at": "2026-01-02T04:00:00.000Z"}, "ranks": [{"at": "2026-01-02T05:00:00.000Z", "rank": 2}, {"at": "2026-01-02T06:00:00.000Z", "rank": 2}]}]}`)
		a := s.Ask("", `{ article(id: 2) { ranks(hours: 721) { rank } } }`)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" {
			t.Errorf("ranks of 721 hours: got %v, want BAD_USER_INPUT", a)
		}
	})
}

func TestNoFrontPagesWithoutTheFeature(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.FrontPages = 0
	s := sitetest.New(t, redistest.Start(t).Client, rules)
	s.Post("alice", "article")
	s.Advance(time.Hour)
	s.Want("", `{ frontPage(at: "2026-01-02T04:00:00.000Z") { at } article(id: 1) { bestRank { rank } ranks { rank } } }`,
		`{"frontPage": null, "article": {"bestRank": null, "ranks": []}}`)
}
