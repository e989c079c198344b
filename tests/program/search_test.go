package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// found asks a search for titles. ready is false if the program refuses it as long as its index, or its store, is not ready.
func (s *server) found(query string) (titles []string, ready bool) {
	s.t.Helper()
	body := s.ask(fmt.Sprintf("{ search(query: %q) { nodes { title } } }", query))
	var answer struct {
		Data *struct {
			Search *struct{ Nodes []struct{ Title string } }
		}
		Errors []struct{ Extensions struct{ Code string } }
	}
	require.NoError(s.t, json.Unmarshal([]byte(body), &answer))
	if len(answer.Errors) > 0 {
		if code := answer.Errors[0].Extensions.Code; code != "SEARCH_NOT_READY" && code != "UNAVAILABLE" {
			s.t.Errorf("search for %q: %s", query, body)
		}
		return nil, false
	}
	for _, node := range answer.Data.Search.Nodes {
		titles = append(titles, node.Title)
	}
	return titles, true
}

// The index of search is in memory, so a kill can tear no file. What it could do is this: the next start finds less than all
// articles, or a program that is about to be killed answers from half an index. While the program is down and while it builds,
// articles are edited and deleted: no answer has their old titles.
func TestKillsWhileTheIndexOfSearchIsBuiltLoseNothing(t *testing.T) {
	t.Parallel()
	const articles = 2000
	redis, r := redistest.Start(t), rand.New(rand.NewPCG(52, 2))
	repo := require.Value(redisrepo.New(t.Context(), redis.Client, site.DefaultRules()))(t)
	batch := make([]redisrepo.Imported, articles)
	titles := make([]string, articles) // empty: deleted
	for i := range batch {
		titles[i] = fmt.Sprint("begun", i)
		batch[i] = redisrepo.Imported{ID: site.ArticleID(i + 1), Poster: "alice", PostedAt: time.Now().Add(-time.Hour), Draft: site.Draft{Title: titles[i]}} // #nosec G115 -- small
	}
	for part := range slices.Chunk(batch, 100) {
		_, errs := repo.Import(t.Context(), part)
		require.NoError(t, errors.Join(errs...))
	}
	changed := 0
	moderator := site.Actor{Name: "mod", Moderator: true}
	change := func() { // an article that no change was made to
		id := site.ArticleID(changed + 1) // #nosec G115 -- small
		if changed%2 == 0 {
			titles[changed] = fmt.Sprint("edited", changed)
			require.Value(repo.Edit(context.Background(), id, moderator, redisrepo.Edit{Title: &titles[changed]}))(t)
		} else {
			titles[changed] = ""
			require.Value(repo.Delete(context.Background(), id, moderator, site.Why{}))(t)
		}
		changed++
	}
	// look searches for an article by each of its titles, until it is found if it should be: a busy machine may be late. It reports
	// whether the program answers.
	look := func(s *server, i int) bool {
		for _, query := range []string{fmt.Sprint("begun", i), fmt.Sprint("edited", i)} {
			for isFound := false; !isFound; isFound = isFound || titles[i] != query {
				got, ready := s.found(query)
				if !ready {
					return false
				}
				if isFound = slices.Contains(got, query); isFound && titles[i] != query {
					t.Fatalf("search found %q, whose title is %q now", query, titles[i])
				}
			}
		}
		return true
	}
	env := []string{"REDIS_URL=" + redis.URL(), "FRONTPAGE_ADDR=127.0.0.1:0"}
	longest := 1
	for range programtest.Size(2, 50) {
		s := &server{programtest.Listen(t, env...), t}
		left, asked := r.IntN(longest+1), 0
		for ; asked < left; asked++ {
			if look(s, r.IntN(articles)) {
				break
			}
		}
		require.NoError(t, s.Cmd.Process.Kill())
		_ = s.Cmd.Wait()
		change()
		s = &server{programtest.Listen(t, env...), t}
		change()
		for asked = 0; !look(s, r.IntN(changed)); {
			asked++
		}
		longest = max(longest, asked)
		for i := range 10 {
			look(s, max(changed-1-i, 0)) // what was changed last
			look(s, r.IntN(articles))
		}
		if _, ready := s.page("/readyz"); strings.Contains(ready, "search") {
			t.Errorf("after the index is complete, /readyz says %q", ready)
		}
		s.Stop()
	}
	t.Logf("an index took up to %d requests to be built", longest)
}
