package redisrepo_test

import (
	"strings"
	"testing"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
	"frontpage/redistest"
)

func TestAFailureOfAllImportedArticlesIsReportedOnce(t *testing.T) {
	t.Parallel()
	client, rules := redistest.Start(t).Client, site.DefaultRules()
	repo := must.Get(redisrepo.New(t.Context(), redistest.Start(t).Client, rules))(t)
	filling, err := transfer.Fill(t.Context(), client, rules, transfer.Source{Digest: "x", Rules: repo.Layout.RankingRules(), Last: 3})
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, client.Set(t.Context(), "time:", "of the wrong type", 0).Err())
	var records []*transfer.Record
	for id := range site.ArticleID(3) {
		records = append(records, &transfer.Record{ID: id + 1, Title: "A title", Text: "A text", Poster: "ada", Time: 1_000_000_000, Votes: 1, Revision: 1})
	}
	if err := filling.Put(t.Context(), records); err == nil || strings.Count(err.Error(), "WRONGTYPE") != 1 {
		t.Errorf("got %v, want WRONGTYPE once", err)
	}
}
