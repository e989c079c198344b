package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/sitetest"
)

// shownPage is a page as a client sees it.
type shownPage struct {
	ids, cursors []string
	scores       []float64
	start, end   string
	less, more   bool
}

func show(s *sitetest.Site, arguments string) (p shownPage) {
	s.T.Helper()
	a := s.Ask("", fmt.Sprintf(`{ articlesConnection(%s) { edges { cursor node { id score } } nodes { id } pageInfo { hasPreviousPage hasNextPage startCursor endCursor } } }`, arguments))
	if len(a.Errors) > 0 {
		s.T.Fatal(a.Errors)
	}
	data := a.Data["articlesConnection"].(map[string]any)
	for i, e := range data["edges"].([]any) {
		edge := e.(map[string]any)
		node := edge["node"].(map[string]any)
		p.ids = append(p.ids, node["id"].(string))
		p.scores = append(p.scores, node["score"].(float64))
		p.cursors = append(p.cursors, edge["cursor"].(string))
		if id := data["nodes"].([]any)[i].(map[string]any)["id"]; id != p.ids[i] {
			s.T.Errorf("node %d = %v, want %v as in the edges", i, id, p.ids[i])
		}
	}
	info := data["pageInfo"].(map[string]any)
	p.less, p.more = info["hasPreviousPage"].(bool), info["hasNextPage"].(bool)
	p.start, _ = info["startCursor"].(string)
	p.end, _ = info["endCursor"].(string)
	return p
}

// Votes that are cast while a page is read neither mix up its order nor harm paging, wherever that goes on.
func TestPagesAreInOrderUnderVotes(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	var between func() // the listing of a page and the reading of its articles
	client.AddHook(redistest.Before(func(commands ...redis.Cmder) {
		if commands[0].Name() == "hgetall" && between != nil {
			between()
		}
	}))
	s := sitetest.New(t, client, site.DefaultRules())
	const articles = 40
	s.PostMany("alice", articles, "go")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 80 { // scores that differ, and some that do not
		s.Vote(fmt.Sprint("early", i), fmt.Sprint("article:", 1+random.IntN(articles)), "UP")
	}
	voters, moved := 0, map[string]bool{}
	votes := func() {
		between = nil
		for range random.IntN(6) {
			id := fmt.Sprint("article:", 1+random.IntN(articles/4)*4) // the others never move
			direction := []string{"UP", "DOWN"}[random.IntN(2)]
			for range 1 + random.IntN(4) {
				voters++
				s.Vote(fmt.Sprint("voter", voters), id, direction)
			}
			moved[id] = true
		}
	}
	inOrder := func(direction string, p shownPage) {
		t.Helper()
		for i := range p.scores {
			if i > 0 && (direction == "DESC" && p.scores[i] > p.scores[i-1] || direction == "ASC" && p.scores[i] < p.scores[i-1]) {
				t.Errorf("%s: article %d of a page has the score %f after %f", direction, i, p.scores[i], p.scores[i-1])
			}
		}
	}
	reordered := 0
	for walk := range programtest.Size(20, 60) {
		direction, backward := []string{"DESC", "ASC"}[walk%2], walk/2%2 == 1
		clear(moved)
		met, next := map[string]int{}, ""
		for {
			between = votes
			size := "first"
			if backward {
				size = "last"
			}
			p := show(s, fmt.Sprintf("direction: %s, %s: 9%s", direction, size, next))
			inOrder(direction, p)
			if len(p.ids) == 0 {
				break
			}
			if p.start != p.cursors[0] || p.end != p.cursors[len(p.ids)-1] {
				t.Errorf("startCursor, endCursor = %s, %s, want those of the first and the last edge", p.start, p.end)
			}
			first, last := 0, len(p.ids)-1 // of those that were met before paging goes on
			inside := walk%3 > 0 && random.IntN(4) > 0
			switch {
			case inside && backward:
				first = random.IntN(len(p.ids))
			case inside:
				last = random.IntN(len(p.ids))
			}
			for _, id := range p.ids[first : last+1] {
				met[id]++
				if moved[id] {
					reordered++
				}
			}
			if backward && !p.less && first == 0 || !backward && !p.more && last == len(p.ids)-1 {
				break
			}
			next = fmt.Sprintf(", after: %q", p.cursors[last])
			if backward {
				next = fmt.Sprintf(", before: %q", p.cursors[first])
			}
		}
		for i := range articles {
			if id := fmt.Sprint("article:", 1+i); !moved[id] && met[id] != 1 {
				t.Errorf("walk %d, %s, backward %t: %s, which did not move, was met %d times, want once", walk, direction, backward, id, met[id])
			}
		}
		between = votes
		list := s.Ask("", fmt.Sprintf(`{ articles(direction: %s) { score } }`, direction)).Data["articles"].([]any)
		var p shownPage
		for _, article := range list {
			p.scores = append(p.scores, article.(map[string]any)["score"].(float64))
		}
		inOrder(direction, p)
		between = nil
	}
	if reordered == 0 {
		t.Error("no vote moved an article that was being read")
	}
}
