package graph_test

import (
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

func TestFaultIsLoggedButNotShown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sitetest.New(t, server.Client, site.DefaultRules())
	must.Do(t, server.Client.Set(t.Context(), "score:", "not a sorted set", 0).Err())
	a := s.Ask("", `{ articles { id } }`)
	if len(a.Errors) != 1 || a.Errors[0].Message != "internal error" || a.Errors[0].Extensions.Code != "INTERNAL" {
		t.Errorf("got %v, want one error INTERNAL", a.Errors)
	}
	if log := s.Log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "WRONGTYPE") || !strings.Contains(log, "path=articles") {
		t.Errorf("got log %q, want one line with the cause and the path", log)
	}
}

func TestUnreadableArticleIsLeftOutOfListings(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sitetest.New(t, server.Client, site.DefaultRules())
	s.Post("alice", "good")
	s.Post("alice", "bad")
	must.Do(t, server.Client.HSet(t.Context(), "article:2", "votes", "many").Err())
	s.Want("", `{ articles { id } }`, `{"articles": [{"id": "article:1"}]}`)
	if log := s.Log.String(); !strings.Contains(log, "article=article:2") {
		t.Errorf("got log %q, want the id of the unreadable article", log)
	}
}

func TestRedisOutageIsReportedAndSurvived(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t).Own()
	s := sitetest.New(t, server.Client, site.DefaultRules())
	id := s.Post("alice", "t", "go")
	server.Kill()
	for _, query := range []string{`{ articles { id } }`, `{ article(id: 1) { id } }`, `mutation { vote(input: {article: 1}) { changed userErrors { code } } }`} {
		began := time.Now()
		a := s.Ask("bob", query)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "UNAVAILABLE" || strings.Contains(a.Errors[0].Message, server.Socket()) {
			t.Errorf("%s: got %v, want UNAVAILABLE without the address of Redis", query, a)
		}
		if took := time.Since(began); took > sitetest.Patience {
			t.Errorf("%s: failed after %v, want at most %v", query, took, sitetest.Patience)
		}
	}
	server.Restart()
	s.Vote("bob", id, "UP") // the scripts are not loaded in the new server
	s.Want("bob", `{ articles { votes viewerVote } group(name: "go") { articles { id } } }`,
		`{"articles": [{"votes": 2, "viewerVote": "UP"}], "group": {"articles": [{"id": "article:1"}]}}`)
}
