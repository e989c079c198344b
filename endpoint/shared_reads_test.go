package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// However many users ask for a page with their own votes, its articles are read once until something changes.
func TestUsersShareReadsAndGetTheirOwnVotes(t *testing.T) {
	t.Parallel()
	const users = 12
	s := sitetest.Open(t, sharing)
	for i := range users {
		s.Post("alice", fmt.Sprint("article ", i+1), "go")
	}
	for i := range users {
		s.Vote(fmt.Sprint("user", i), fmt.Sprint("article:", i+1), []string{"UP", "DOWN"}[i%2])
	}
	require.NoError(t, s.Repo.Views.CatchUpAll(t.Context())) // so that no read has to
	s.StopListening()
	const own = ` { number viewerVote viewerCanVote }`
	tests := []struct{ query, reads string }{
		{`{ articles` + own + ` }`, "evalsha 60, hgetall 12, zrange 1"},
		{`query Again { articles { title } own: articles` + own + ` }`, "evalsha 60"}, // the same page
		{`{ group(name: "go") { articles` + own + ` } }`, "evalsha 61"},               // the same articles
		{`{ articlesConnection(first: 8) { nodes` + own + ` pageInfo { endCursor } } }`, "evalsha 61, hgetall 8"},
		{`{ articlesConnection(last: 8) { nodes` + own + ` pageInfo { endCursor } } }`, "evalsha 61, hgetall 8"},
		{`{ user(name: "alice") { articlesConnection(first: 8) { edges { node` + own + ` } } } }`, "evalsha 61, hgetall 8"},
		{`{ article(id: 3)` + own + ` }`, "evalsha 60, hgetall 1"},
		{`{ node(id: "article:3") { ... on Article` + own + ` } }`, "evalsha 60"},
	}
	ask := func(query, reads string) {
		t.Helper()
		s.Trips.Reset()
		var all sync.WaitGroup
		for i := range 5 * users {
			all.Go(func() {
				body := s.PostQuery(query, "X-User-ID", fmt.Sprint("user", i%users))
				for _, found := range strings.Split(body, `"number":`)[1:] {
					number, rest, _ := strings.Cut(found, ",")
					want := `"viewerVote":"NONE","viewerCanVote":true`
					if number == fmt.Sprint(i%users+1) {
						want = fmt.Sprintf(`"viewerVote":%q,"viewerCanVote":true`, []string{"UP", "DOWN"}[i%2])
					}
					if !strings.HasPrefix(rest, want) {
						t.Errorf("user%d: %s: got article %s, %.60s, want %s", i%users, query, number, rest, want)
					}
				}
			})
		}
		all.Wait()
		if _, commands := s.Trips.Read(); sitetest.Tally(commands) != reads {
			t.Errorf("%s: got %s, want %s", query, sitetest.Tally(commands), reads)
		}
	}
	for _, tt := range tests {
		ask(tt.query, tt.reads)
	}
	s.Vote("alice", "article:3", "DOWN")
	ask(tests[0].query, tests[0].reads)
	// An answer that is shared as a whole may be as old as its own reads, not older.
	s.Trips.Reset()
	s.Ask("bob", `{ articles { number } }`)
	if _, commands := s.Trips.Read(); sitetest.Tally(commands) != "hgetall 12, zrange 1" {
		t.Errorf("a query without the caller's fields: got %s, want that it reads", sitetest.Tally(commands))
	}
}

// With SharedAnswers 0, each query reads.
func TestReadsAreNotSharedIfSwitchedOff(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.SharedAnswers = 0 })
	s.Post("alice", "t")
	s.StopListening()
	s.Trips.Reset()
	for range 3 {
		s.Ask("bob", `{ articles { viewerVote } }`)
	}
	if _, commands := s.Trips.Read(); sitetest.Tally(commands) != "evalsha 3, hgetall 3, zrange 3" {
		t.Errorf("got %s for three pages", sitetest.Tally(commands))
	}
}

// A read that failed, or found no article, is done again for the next caller.
func TestFailedReadsAreNotShared(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sharing)
	s.Post("alice", "t")
	s.StopListening()
	s.Trips.Reset()
	for range 2 {
		s.Want("bob", `{ article(id: 99) { viewerVote } }`, `{"article":null}`)
	}
	if _, commands := s.Trips.Read(); !slices.Equal(commands, []string{"hgetall", "hgetall"}) {
		t.Errorf("an article that does not exist: got %s, want two reads", commands)
	}
	h := &hold{"hgetall", make(chan context.Context, 100), make(chan error)}
	s.Client.AddHook(redistest.Hook(h.hook))
	answers := make(chan string)
	ask := func(user string) { answers <- s.AskText(user, `{ article(id: 1) { votes viewerVote } }`) }
	go ask("alice")
	<-h.began
	h.end <- io.EOF
	if body := <-answers; sitetest.CodeOf(t, body) != "UNAVAILABLE" {
		t.Errorf("got %s, want UNAVAILABLE", body)
	}
	go ask("bob")
	select {
	case <-h.began:
		h.end <- nil
	case body := <-answers:
		t.Fatalf("got %s without another read", body)
	}
	if body := <-answers; body != `{"data":{"article":{"votes":1,"viewerVote":"NONE"}}}` {
		t.Errorf("got %s, want the article", body)
	}
	if body := s.AskText("alice", `{ article(id: 1) { votes viewerVote } }`); body != `{"data":{"article":{"votes":1,"viewerVote":"UP"}}}` {
		t.Errorf("got %s, want the article without another read", body)
	}
}

// When the store has lost all, what was read from it before is not shared for longer than it takes to notice.
func TestAnswersOfALostStoreAreNotShared(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sharing)
	s.Post("alice", "t")
	queries := []string{`{ articles { votes } }`, `{ articles { votes viewerCanVote } }`, `{ articles: articlesConnection { nodes { votes } } }`}
	require.Eventually(t, "the same answers to equal queries", func() bool { // the message about the post may come late
		for _, query := range queries {
			s.AskText("bob", query)
		}
		s.Trips.Reset()
		for _, query := range queries {
			if body := s.AskText("bob", query); !strings.Contains(body, `"votes":1`) {
				t.Fatalf("got %s, want the article", body)
			}
		}
		n, _ := s.Trips.Read()
		return n == 0
	})
	require.NoError(t, s.Client.FlushAll(t.Context()).Err())
	for _, query := range queries {
		require.Eventually(t, "an empty page", func() bool { return !strings.Contains(s.AskText("bob", query), "votes") })
	}
}

// What the test of a promise writes: votes on some articles, new articles, deletions of some, and groups of one.
const (
	votedArticles = 6
	doomed        = 20 // articles to delete, in the order of their numbers
	regrouped     = votedArticles + doomed + 1
)

// told is what clients of one server were told of. All numbers only grow.
type told struct {
	votes   [votedArticles + 1]atomic.Int64 // by number of the article
	posted  atomic.Int64                    // highest number of a new article
	deleted atomic.Int64                    // how many of the doomed
	group   atomic.Int64                    // number in the name of the group
}

func raise(to *atomic.Int64, n int64) {
	for {
		if before := to.Load(); n <= before || to.CompareAndSwap(before, n) {
			return
		}
	}
}

// seen is what told has at one moment, or what an answer shows.
type seen struct {
	votes                  [votedArticles + 1]int64
	posted, deleted, group int64
}

func (o *told) now() (n seen) {
	for i := range o.votes {
		n.votes[i] = o.votes[i].Load()
	}
	n.posted, n.deleted, n.group = o.posted.Load(), o.deleted.Load(), o.group.Load()
	return n
}

const everything = `{ articles(order: TIME, pageSize: 100) { number votes groups { name } } }`

// shown returns what the answer to everything shows.
func shown(t *testing.T, body string) (n seen) {
	var a struct {
		Data struct {
			Articles []struct {
				Number, Votes int64
				Groups        []struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Data.Articles) == 0 {
		t.Errorf("want a page of articles: %v, got %.300s", err, body)
	}
	n.deleted = doomed
	for _, article := range a.Data.Articles {
		switch {
		case article.Number <= votedArticles:
			n.votes[article.Number] = article.Votes
		case article.Number < regrouped:
			n.deleted--
		case article.Number == regrouped:
			n.group, _ = strconv.ParseInt(strings.TrimPrefix(article.Groups[0].Name, "g"), 10, 64)
		default:
			n.posted = max(n.posted, article.Number)
		}
	}
	return n
}

func (n seen) lacks(before seen) string {
	for i := range n.votes {
		if n.votes[i] < before.votes[i] {
			return fmt.Sprintf("%d votes of article %d, want at least %d", n.votes[i], i, before.votes[i])
		}
	}
	if n.posted < before.posted || n.deleted < before.deleted || n.group < before.group {
		return fmt.Sprintf("%+v, want at least %+v", n, before)
	}
	return ""
}

// Many clients read and write at the same time. Once one of them was told that a write counted, or an event showed it,
// each answer of the same server shows it: to whomever, over whatever transport, with and without viewer fields.
func TestNoAnswerLacksWhatAClientWasTold(t *testing.T) {
	t.Parallel()
	for name, servers := range map[string]int{"one process": 1, "two processes": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.Start(t).Client
			sites, tolds := make([]*sitetest.Site, servers), make([]*told, servers)
			for i := range sites {
				sites[i], tolds[i] = sitetest.New(t, client, site.DefaultRules(), sharing), &told{}
			}
			for i := range regrouped {
				sites[0].Post("alice", fmt.Sprint("article ", i), "g0")
			}
			var ids []string
			for i := range votedArticles {
				ids = append(ids, fmt.Sprintf("%q", strconv.Itoa(i+1)))
			}
			var writers, readers, watchers sync.WaitGroup
			defer watchers.Wait()
			written := make(chan struct{})
			for i, s := range sites {
				know, socket := tolds[i], s.Socket("")
				socket.Subscribe("watch", `subscription { articleChanged(ids: [`+strings.Join(ids, ",")+`]) { number votes } }`, "")
				watchers.Go(func() { know.watch(socket) })
				defer func() { _ = socket.Conn.CloseNow() }()
				for w := range 3 {
					writers.Go(func() { know.vote(t, s, fmt.Sprint("voter", i, w)) })
				}
				for _, ask := range askers(s) {
					readers.Go(func() { know.read(t, ask, written) })
				}
			}
			writers.Go(func() { tolds[0].change(sites[0]) })
			writers.Wait()
			close(written)
			readers.Wait()
			for i, s := range sites {
				require.Eventually(t, "the changes of both servers", func() bool {
					now := shown(t, s.AskText("", everything))
					return now.lacks(tolds[0].now()) == "" && now.lacks(tolds[servers-1].now()) == ""
				})
				if n := tolds[i].votes[1].Load(); n < 2 {
					t.Errorf("server %d: clients were told of %d votes for the first article, want more", i, n)
				}
			}
		})
	}
}

// askers return functions that ask for everything: by POST, by GET, on a socket, and with a viewer's field, also of a
// page by cursors.
func askers(s *sitetest.Site) []func() string {
	socket := s.Socket(`{"X-User-ID":"bob"}`)
	own := strings.Replace(everything, "votes", "votes viewerVote", 1)
	const byCursor = `{ articlesConnection(first: 100) { nodes { number votes viewerCanVote groups { name } } } }`
	page := strings.NewReplacer(`"articlesConnection":{"nodes":`, `"articles":`, `]}}}`, `]}}`)
	return []func() string{
		func() string { return s.AskText("", everything) },
		func() string { _, body := s.Get(everything); return body },
		func() string {
			socket.Subscribe("read", everything, "")
			answer := socket.Read()
			_ = socket.Read()
			return string(answer.Payload)
		},
		func() string { return s.AskText("bob", own) },
		func() string { return s.AskText("carol", own) },
		func() string { return page.Replace(s.AskText("dave", byCursor)) },
	}
}

// read asks until all is written.
func (o *told) read(t *testing.T, ask func() string, written <-chan struct{}) {
	for {
		before := o.now()
		if lacks := shown(t, ask()).lacks(before); lacks != "" {
			t.Errorf("got %s", lacks)
			return
		}
		select {
		case <-written:
			return
		default:
		}
	}
}

// vote votes for the articles in turn, each time as another user, who then sees it.
func (o *told) vote(t *testing.T, s *sitetest.Site, voter string) {
	for i := range 8 * votedArticles {
		number := i%votedArticles + 1
		a := s.Ask(fmt.Sprint(voter, i), fmt.Sprintf(`mutation { vote(input: {article: %d}) { article { votes } } }`, number))
		votes := a.Data["vote"].(map[string]any)["article"].(map[string]any)["votes"].(float64)
		raise(&o.votes[number], int64(votes))
		article := s.Ask(fmt.Sprint(voter, i), fmt.Sprintf(`{ article(id: %d) { votes viewerVote } }`, number)).Data["article"].(map[string]any)
		if article["viewerVote"] != "UP" || article["votes"].(float64) < votes {
			t.Errorf("article %d for a voter: got %v, want the own vote and at least %v votes", number, article, votes)
		}
	}
}

// change deletes, posts and regroups articles.
func (o *told) change(s *sitetest.Site) {
	for i := range int64(doomed) {
		s.AskText("alice", fmt.Sprintf(`mutation { deleteArticle(input: {article: %d}) { deletedId } }`, votedArticles+1+i))
		raise(&o.deleted, i+1)
		n, _ := strconv.ParseInt(strings.TrimPrefix(s.Post("alice", fmt.Sprint("new ", i)), "article:"), 10, 64)
		raise(&o.posted, n)
		s.AskText("alice", fmt.Sprintf(`mutation { regroup(input: {article: %d, add: ["g%d"], remove: ["g%d"]}) { article { id } } }`, regrouped, i+1, i))
		raise(&o.group, i+1)
	}
}

// watch learns of votes by events.
func (o *told) watch(socket *sitetest.Socket) {
	for {
		event, err := socket.TryRead()
		if err != nil {
			return
		}
		var a struct {
			Data struct{ ArticleChanged struct{ Number, Votes int64 } }
		}
		if json.Unmarshal(event.Payload, &a) == nil {
			raise(&o.votes[a.Data.ArticleChanged.Number], a.Data.ArticleChanged.Votes)
		}
	}
}
