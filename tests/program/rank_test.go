package program_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"frontpage/programtest"
)

// rank prints, beside a running server, the page that a start under other rules then shows, and changes nothing.
func TestRankPrintsThePageAfterAChange(t *testing.T) {
	t.Parallel()
	env := []string{"FRONTPAGE_DATA_DIR=" + t.TempDir()}
	page := func(s *server) (titles []string) {
		var a struct {
			Data struct{ Articles []struct{ Title string } }
		}
		_, body := s.post(http.DefaultClient, `{ articles(pageSize: 8) { title } }`)
		if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Data.Articles) != 8 {
			t.Fatalf("%v: %s, want 8 articles", err, body)
		}
		for _, article := range a.Data.Articles {
			titles = append(titles, string([]rune(article.Title)[:min(30, len([]rune(article.Title)))]))
		}
		return titles
	}
	s := start(t, append(env, "FRONTPAGE_DEMO_ARTICLES=true")...)
	before := page(s)
	out, stderr, code := programtest.Run(t, env, "rank", "--ranking", "halflife:1h", "--page-size", "8")
	if code != 0 {
		t.Fatalf("rank: exit code %d: %s", code, stderr)
	}
	if after := page(s); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("rank has changed the page to %q", after)
	}
	if log := s.Stop(); strings.Contains(log, "legacy clients must not write") {
		t.Errorf("the log of a linear site warns of legacy clients:\n%s", log)
	}
	s = start(t, append(env, "FRONTPAGE_RANKING=halflife:1h")...)
	after := page(s)
	log := s.Stop()
	for _, line := range []string{"ranking was linear and is halflife", "legacy clients must not write to this store"} {
		if !strings.Contains(log, line) {
			t.Errorf("the log lacks %q:\n%s", line, log)
		}
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 12 || lines[0] != "ranking was linear and is halflife" || !strings.HasSuffix(lines[10], "of 8 articles would be new on the page; nothing was changed") {
		t.Fatalf("rank printed\n%s\nwant the change of the rules, 8 places and a sum", out)
	}
	for i, line := range lines[2:10] {
		now, then := strings.Index(line, before[i]), strings.LastIndex(line, after[i])
		if now < 0 || then < 0 || now >= then && before[i] != after[i] {
			t.Errorf("place %d: %q, want %q, then %q", i+1, line, before[i], after[i])
		}
	}
	if strings.Join(before, "\n") == strings.Join(after, "\n") {
		t.Error("both rules have the same page: the test shows nothing")
	}
}
