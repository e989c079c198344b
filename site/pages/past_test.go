package pages_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"frontpage/tests/sitetest"
)

// A past hour has up to 100 articles. What is not seen is not sent.
func TestAPastHourBeginsWithItsFirstArticles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const all, first = 20, 10
	for i := range all {
		s.post("alice", fmt.Sprint("Article ", i), "", "text", "go")
	}
	hour := sitetest.Start.UTC().Truncate(time.Hour)
	s.redis.Client.HSet(t.Context(), "clock:", "front", hour.Unix()/3600, "front_since", hour.Unix()/3600)
	s.Want("alice", `mutation { deleteArticle(input: {article: 20}) { deletedId } }`, `{"deleteArticle":{"deletedId":"article:20"}}`)
	path := fmt.Sprint("/past/", hour.Format(time.DateOnly), "?hour=", hour.Hour())
	for shown, path := range map[int]string{first: path, all - 1: path + "&all=1"} {
		p := s.get(path)
		edges := strings.Count(string(p.embedded().Data), `"rank"`)
		if rows := strings.Count(p.body, `<li class="row"`); rows != shown || edges != shown {
			t.Errorf("%s has %d rows, and %d in its answer; want %d", path, rows, edges, shown)
		}
		if more := p.one("href", "a", "class", "more"); (more == path+"&all=1") != (shown == first) {
			t.Errorf("%s leads on to %q", path, more)
		}
	}
}

func TestTheFormOfThePastLeadsToAnHour(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t).reader("")
	if p := s.open("/past?day=2025-11-21&hour=7"); p.status != http.StatusSeeOther || p.header.Get("Location") != "/past/2025-11-21?hour=7" {
		t.Errorf("got %d to %q", p.status, p.header.Get("Location"))
	}
	if p := s.open("/past?day=yesterday"); p.status != http.StatusNotFound {
		t.Errorf("a day that is none: got %d", p.status)
	}
}
