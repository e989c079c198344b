package graph_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// plain is card without the fields that depend on the caller.
const plain = `{ id votes isInteresting groups { name } }`

func (a *modelArticle) plain() string {
	_, rest, _ := strings.Cut(a.shown(""), `"votes":`)
	rest, _, _ = strings.Cut(rest, `,"viewerVote"`)
	return fmt.Sprintf(`{"id":%q,"votes":%s}`, a.id, rest)
}

// differs returns how a site's pages, as user sees them, and those for all callers differ from the model.
func (w *walker) differs(s *sitetest.Site, user string) string {
	own, all, grouped := w.b.list(user), map[string]string{}, map[string]string{}
	for id, a := range w.b.articles {
		if !a.deleted {
			all[id] = a.plain()
			if a.groups["g1"] {
				grouped[id] = a.plain()
			}
		}
	}
	for _, read := range []struct {
		user, query string
		want        map[string]string
	}{
		{user, `{ articles(pageSize: 100, order: TIME) ` + card + ` }`, own},
		{user, `{ articles: articlesConnection(first: 100) { nodes ` + card + ` } }`, own},
		{"", `{ articles(pageSize: 100) ` + plain + ` }`, all},
		{"", `{ articles: group(name: "g1") { articlesConnection(first: 100) { nodes ` + plain + ` } } }`, grouped},
	} {
		body := sendTo(s, read.user, read.query)
		found, got := []json.RawMessage{}, map[string]string{}
		_, list, _ := strings.Cut(strings.TrimRight(body, "}"), "[")
		if err := json.Unmarshal([]byte("["+list), &found); err != nil {
			return fmt.Sprintf("%s: %v: %s", read.query, err, body)
		}
		for _, article := range found {
			var a struct{ ID string }
			_ = json.Unmarshal(article, &a)
			got[a.ID] = string(article)
		}
		if !maps.Equal(got, read.want) {
			return fmt.Sprintf("%q: %s\n got %v\nwant %v", read.user, read.query, got, read.want)
		}
	}
	return ""
}

// After each write that a process acknowledged, its answers to all users show it, however long they are shared. Those of
// another process show it when their time is over. Neither process listens: the writes alone must end the answers.
func TestRandomWritesEndSharedAnswers(t *testing.T) {
	t.Parallel()
	for name, lifetime := range map[string][]time.Duration{"one process": {time.Hour}, "two processes": {10 * time.Millisecond, 10 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const seed, steps = 20260103, 300
			client, rules := redistest.Start(t).Client, site.DefaultRules()
			rules.InterestingVotes = walkInteresting
			w := &walker{t: t, random: rand.New(rand.NewPCG(seed, seed)), b: &model{articles: map[string]*modelArticle{}, links: map[string]string{}}}
			var sites []*sitetest.Site
			for _, d := range lifetime {
				s := sitetest.New(t, client, rules, func(o *endpoint.Options) { o.SharedAnswers = d })
				s.StopListening()
				sites = append(sites, s)
			}
			for i := range steps {
				at := w.random.IntN(len(sites))
				w.sites = sites[at : at+1]
				query, got, want := w.step()
				if got != want && (len(sites) == 1 || strings.HasPrefix(query, "mutation")) {
					t.Fatalf("step %d: %s\n got %s\nwant %s", i, query, got, want)
				}
				user := pick(w.random, walkUsers)
				for other, s := range sites {
					if other == at && strings.HasPrefix(query, "mutation") {
						if differs := w.differs(s, user); differs != "" {
							t.Fatalf("step %d: after %s: %s", i, query, differs)
						}
						continue
					}
					sitetest.Eventually(t, "the state after "+query, func() bool { return w.differs(s, user) == "" })
				}
			}
			deleted := slices.ContainsFunc(slices.Collect(maps.Values(w.b.articles)), func(a *modelArticle) bool { return a.deleted })
			if !deleted || len(w.b.articles) < 20 {
				t.Errorf("%d articles, deleted ones: %v, want more", len(w.b.articles), deleted)
			}
		})
	}
}
