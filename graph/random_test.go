package graph_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const walkInteresting = 3

// walker sends random operations to several servers on one store, and compares the responses with a model.
type walker struct {
	t      *testing.T
	random *rand.Rand
	sites  []*sitetest.Site
	b      *model
	ids    []string
}

// walkUsers: mod is a moderator, mallory never posts, and "" is anonymous.
var walkUsers = []string{"alice", "bob", "carol", "mallory", "mod", ""}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

func (w *walker) send(user, query string) string {
	w.t.Helper()
	return sendTo(pick(w.random, w.sites), user, query)
}

// sendTo sends a query to a site, with the roles that the user has.
func sendTo(s *sitetest.Site, user, query string) string {
	header := []string{"X-User-ID", user}
	switch user {
	case "mod":
		header = append(header, "X-User-Roles", "moderator")
	case "mallory":
		header = append(header, "X-User-Roles", "moderators admin root")
	}
	return s.PostQuery(query, header...)
}

func (w *walker) step() (query, got, want string) {
	user, id := pick(w.random, walkUsers), fmt.Sprint("article:", 1+w.random.IntN(len(w.ids)+3))
	if len(w.ids) > 0 && w.random.IntN(10) > 0 {
		id = pick(w.random, w.ids)
	}
	const codes = `userErrors { code }`
	switch kind := w.random.IntN(100); {
	case kind < 15 && user != "mallory":
		link, group := fmt.Sprintf("https://a.example/%d", w.random.IntN(250)), fmt.Sprint("g", w.random.IntN(4))
		query = fmt.Sprintf(`mutation { post(input: {title: "t", link: %q, groups: [%q]}) { article %s userErrors { code ... on DuplicateLinkError { articleId article { id } } } } }`, link, group, card)
		got = w.send(user, query)
		want = w.b.post(user, link, group, got)
		if id := w.b.links[link]; id != "" && !slices.Contains(w.ids, id) {
			w.ids = append(w.ids, id)
		}
	case kind < 60:
		vote := w.random.IntN(3) - 1
		query = fmt.Sprintf(`mutation { vote(input: {article: %q, direction: %s}) { article %s userErrors { code } } }`, id, directions[vote], card)
		got, want = w.send(user, query), w.b.vote(user, id, vote)
	case kind < 68:
		title, text := fmt.Sprint("t", w.random.IntN(2)), fmt.Sprint("text ", w.random.IntN(3))
		query = fmt.Sprintf(`mutation { editArticle(input: {article: %q, title: %q, text: %q}) { article %s %s } }`, id, title, text, card, codes)
		got, want = w.send(user, query), w.b.edit(user, user == "mod", id, title, text)
	case kind < 80:
		n := w.random.IntN(4)
		add, remove := fmt.Sprint("g", n), fmt.Sprint("g", (n+1+w.random.IntN(3))%4)
		query = fmt.Sprintf(`mutation { regroup(input: {article: %q, add: [%q], remove: [%q]}) { article %s %s } }`, id, add, remove, card, codes)
		got, want = w.send(user, query), w.b.regroup(user, user == "mod", id, add, remove)
	case kind < 86:
		query = fmt.Sprintf(`mutation { deleteArticle(input: {article: %q}) { article: deletedId %s } }`, id, codes)
		got, want = w.send(user, query), w.b.delete(user, user == "mod", id)
	default:
		query = fmt.Sprintf(`{ article(id: %q) %s node(id: %[1]q) { id } }`, id, card)
		got, want = w.send(user, query), `{"data":{"article":null,"node":null}}`
		switch a := w.b.articles[id]; {
		case a != nil && !a.deleted:
			want = fmt.Sprintf(`{"data":{"article":%s,"node":{"id":%q}}}`, a.shown(user), id)
		case a != nil && (user == a.poster || user == "mod"):
			want = fmt.Sprintf(`{"data":{"article":%s,"node":null}}`, a.shown(user))
		}
	}
	return query, got, want
}

// everything compares the whole site, as user sees it, with the model.
func (w *walker) everything(user string) {
	w.t.Helper()
	want, got := w.b.list(user), map[string]string{}
	sizes, wantSizes := map[string]int{}, map[string]int{"interesting": 0}
	for _, a := range w.b.articles {
		for name := range a.groups {
			if !a.deleted {
				wantSizes[name]++
			}
		}
		if !a.deleted && a.net() >= walkInteresting {
			wantSizes["interesting"]++
		}
	}
	var a struct {
		Data struct {
			Groups struct {
				Nodes []struct {
					Name         string
					ArticleCount int
				}
			}
			Interesting struct {
				ArticlesConnection struct{ Nodes []struct{ ID string } }
			}
		}
	}
	require.NoError(w.t, json.Unmarshal([]byte(w.send(user, `{ groups { nodes { name articleCount } } interesting: group(name: "interesting") { articlesConnection(first: 100) { nodes { id } } } }`)), &a))
	for _, group := range a.Data.Groups.Nodes {
		sizes[group.Name] = group.ArticleCount
	}
	sizes["interesting"] = len(a.Data.Interesting.ArticlesConnection.Nodes)
	for page := 1; page == 1 || len(got) == 100*(page-1); page++ {
		var a struct {
			Data struct{ Articles []json.RawMessage }
		}
		body := w.send(user, fmt.Sprintf(`{ articles(pageSize: 100, page: %d, order: TIME) %s }`, page, card))
		if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Data.Articles) == 0 && page == 1 {
			w.t.Fatalf("want a page of articles: %v, got %s", err, body)
		}
		for _, article := range a.Data.Articles {
			var id struct{ ID string }
			_ = json.Unmarshal(article, &id)
			got[id.ID] = string(article)
		}
	}
	if !reflect.DeepEqual(got, want) {
		for id := range want {
			if got[id] != want[id] {
				w.t.Errorf("%q: got %s, want %s", user, got[id], want[id])
			}
		}
		for id := range got {
			if want[id] == "" {
				w.t.Errorf("%q: got %s, want no such article", user, got[id])
			}
		}
	}
	if !reflect.DeepEqual(sizes, wantSizes) {
		w.t.Errorf("sizes of groups: got %v, want %v", sizes, wantSizes)
	}
}

// In any order of operations, only its poster and moderators change an article, no user sees another user's
// vote, and a deleted article stays deleted.
func TestRandomOperationsMatchTheModel(t *testing.T) {
	sitetest.EachClient(t, randomOperationsMatchTheModel)
}

func randomOperationsMatchTheModel(t *testing.T, client redis.UniversalClient) {
	const seed = 20260102
	steps := programtest.Size(1000, 5000)
	rules := site.DefaultRules()
	rules.InterestingVotes = walkInteresting
	w := &walker{t: t, random: rand.New(rand.NewPCG(seed, seed)), b: &model{articles: map[string]*modelArticle{}, links: map[string]string{}},
		sites: []*sitetest.Site{sitetest.New(t, client, rules), sitetest.New(t, client, rules)}}
	done := map[string]int{}
	for i := range steps {
		query, got, want := w.step()
		if got != want {
			t.Fatalf("step %d: %s\n got %s\nwant %s", i, query, got, want)
		}
		done[want[:min(len(want), 20)]]++
		if i%200 == 199 {
			w.everything(walkUsers[i/200%len(walkUsers)])
		}
	}
	for _, user := range walkUsers {
		w.everything(user)
	}
	var log struct {
		Data struct {
			ModerationLog struct {
				Nodes []struct{ Kind, ArticleID, By, Link string }
			}
		}
	}
	body := w.send("mod", `{ moderationLog(first: 100) { nodes { kind articleId by link } } }`)
	require.NoError(t, json.Unmarshal([]byte(body), &log))
	newest := slices.Clone(w.b.entries)
	slices.Reverse(newest)
	for i, entry := range log.Data.ModerationLog.Nodes {
		if got := entry.Kind + " " + entry.ArticleID + " by " + entry.By + " of " + entry.Link; got != newest[i] {
			t.Fatalf("entry %d of the log: got %s, want %s", i, got, newest[i])
		}
	}
	repo := require.Value(redisrepo.New(t.Context(), client, rules))(t)
	checked, err := check.Check(t.Context(), repo, func(violation string) { t.Error(violation) })
	deleted := 0
	for _, a := range w.b.articles {
		if a.deleted {
			deleted++
		}
	}
	if err != nil || checked.Deleted != deleted || checked.Articles != len(w.b.articles)-deleted || deleted < 10 || checked.Articles < 20 || len(newest) < steps/40 {
		t.Errorf("check: got %+v, %v, want %d articles and %d deleted ones; %d log entries; steps %v", checked, err, len(w.b.articles)-deleted, deleted, len(newest), done)
	}
}

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
					require.Eventually(t, "the state after "+query, func() bool { return w.differs(s, user) == "" })
				}
			}
			deleted := slices.ContainsFunc(slices.Collect(maps.Values(w.b.articles)), func(a *modelArticle) bool { return a.deleted })
			if !deleted || len(w.b.articles) < 20 {
				t.Errorf("%d articles, deleted ones: %v, want more", len(w.b.articles), deleted)
			}
		})
	}
}
