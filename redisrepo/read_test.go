package redisrepo_test

import (
	"fmt"
	"testing"

	"frontpage/redisrepo"
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
