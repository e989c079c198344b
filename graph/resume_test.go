package graph_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/tests/programtest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

var (
	cuts    = flag.Int("cuts", programtest.Size(8, 20), "how often TestClientsThatAreCutOffMissNothing cuts its clients off")
	changes = flag.Int("changes", programtest.Size(480, 1500), "how many votes, posts, edits, regroupings and deletions it makes")
)

// follower is a client that reads nothing but events. It remembers the newest state of each article, and the posts.
type follower struct {
	mu       sync.Mutex
	articles map[string]string // by id
	posts    []string
	last     map[string]int // revisions
	again    []string       // events with a revision that was not newer
	cuts     int
}

const followed = `{ id revision votes title groups { name } deletedAt }`

// parseState returns what an event says about an article. Of a deleted one, clients that were cut off get less than others.
func parseState(data []byte) (id string, revision int, state string, err error) {
	var a struct {
		ID        string
		Revision  int
		DeletedAt *string
	}
	err = json.Unmarshal(data, &a)
	state = string(data)
	if a.DeletedAt != nil {
		state = fmt.Sprint("revision ", a.Revision, ", deleted at ", *a.DeletedAt)
	}
	return a.ID, a.Revision, state, err
}

// take takes note of an event, and returns its cursor.
func (f *follower) take(t *testing.T, text string) string {
	var event struct {
		Data map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &event); err != nil || len(event.Data) != 1 {
		t.Errorf("event %s: %v", text, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	cursor := ""
	for field, data := range event.Data {
		if field == "articlePosted" {
			var edge struct {
				Cursor string
				Node   json.RawMessage
			}
			if err := json.Unmarshal(data, &edge); err != nil || edge.Cursor == "" {
				t.Errorf("event %s: %v", text, err)
			}
			data, cursor = edge.Node, edge.Cursor
		}
		id, revision, state, err := parseState(data)
		if err != nil {
			t.Errorf("event %s: %v", text, err)
		}
		if field == "articlePosted" {
			f.posts = append(f.posts, id)
			continue
		}
		if revision <= f.last[id] {
			f.again = append(f.again, fmt.Sprintf("%s %d after %d", id, revision, f.last[id]))
		}
		f.last[id], f.articles[id] = revision, state
	}
	return cursor
}

// Clients of both transports are cut off at random moments, even within an event. In the end each has what the store
// has, and has got no state and no post twice. They read nothing but events.
func TestClientsThatAreCutOffMissNothing(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	w := &changer{s: s, random: rand.New(rand.NewPCG(3, 4)), gone: map[string]bool{}} // #nosec G404 -- a repeatable test
	heard := s.Stream(`subscription { articlePosted { node { title } } }`)
	for i := range 30 {
		w.watched = append(w.watched, s.Post("alice", fmt.Sprint("watched ", i)))
		// A post that the site has not heard of when a client begins to follow would be new to it.
		heard.Want("next", fmt.Sprintf(`{"data":{"articlePosted":{"node":{"title":"watched %d"}}}}`, i))
		s.Advance(time.Second)
	}
	list := string(require.Value(json.Marshal(w.watched))(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	begun := make(chan struct{}, 6)
	var followers []*follower
	edge := "{ cursor node " + followed + " }"
	for i, field := range []string{"articleChanged(ids: " + list + "%s) " + followed, "articlePosted(%s) " + edge, `articlePosted(group: "go"%s) ` + edge} {
		for _, follow := range []func(context.Context, *testing.T, *changer, *follower, string, bool, func()){followStream, followSocket} {
			f := &follower{articles: map[string]string{}, last: map[string]int{}}
			followers = append(followers, f)
			clients.Go(func() { follow(ctx, t, w, f, field, i > 0, sync.OnceFunc(func() { begun <- struct{}{} })) })
		}
	}
	for range followers {
		<-begun
	}
	w.run(*changes)
	states := w.states()
	want := [][]string{w.posts, w.posts, w.inGroup, w.inGroup}
	require.Eventually(t, "the state of the store", func() bool {
		for i, f := range followers {
			f.mu.Lock()
			has := i < 2 && maps.Equal(f.articles, states) || i >= 2 && len(f.posts) >= len(want[i-2])
			f.mu.Unlock()
			if !has {
				return false
			}
		}
		return true
	})
	cancel()
	clients.Wait()
	for i, f := range followers {
		t.Logf("client %d was cut off %d times", i, f.cuts)
		if len(f.again) > 0 {
			t.Errorf("client %d got states again: %v", i, f.again)
		}
		if i >= 2 && !slices.Equal(slices.Sorted(slices.Values(f.posts)), slices.Sorted(slices.Values(want[i-2]))) {
			t.Errorf("client %d got the posts %v, want %v", i, f.posts, want[i-2])
		}
	}
}

// followStream follows server-sent events, and goes on with the header that an EventSource sends.
func followStream(ctx context.Context, t *testing.T, w *changer, f *follower, field string, _ bool, begun func()) {
	random := rand.New(rand.NewPCG(1, uint64(len(field)))) // #nosec G404 -- a repeatable test
	query := "subscription { " + strings.Replace(strings.Replace(field, "(%s)", "", 1), "%s", "", 1) + " }"
	for last := ""; ctx.Err() == nil; f.cuts++ {
		req := require.Value(http.NewRequestWithContext(ctx, http.MethodGet, w.s.URL+"?query="+url.QueryEscape(query), nil))(t)
		req.Header.Set("Accept", "text/event-stream")
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("connect: %v", err)
			}
			return
		}
		left := int64(500 + random.IntN(6000)) // bytes until the client is cut off
		if f.cuts >= *cuts {
			left = 1 << 40
		}
		lines, id, event := bufio.NewReader(io.LimitReader(res.Body, left)), "", ""
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			line = strings.TrimSuffix(line, "\n")
			switch data, isData := strings.CutPrefix(line, "data: "); {
			case isData:
				event = data
			case strings.HasPrefix(line, "id: "):
				id = strings.TrimPrefix(line, "id: ")
			case line == "" && id != "":
				if event != "" {
					f.take(t, event)
				}
				last, event = id, ""
				begun()
			}
		}
		_ = res.Body.Close()
	}
}

// followSocket follows a WebSocket, and goes on with the arguments of the subscription.
func followSocket(ctx context.Context, t *testing.T, w *changer, f *follower, field string, posts bool, begun func()) {
	random := rand.New(rand.NewPCG(2, uint64(len(field)))) // #nosec G404 -- a repeatable test
	variables := map[string]any{"after": w.watched[len(w.watched)-1]}
	query := "subscription($after: String) { " + strings.Replace(field, "%s", " after: $after", 1) + " }"
	if !posts {
		query = "subscription($revisions: [Int!]) { " + strings.Replace(field, "%s", ", revisions: $revisions", 1) + " }"
		for _, id := range w.watched {
			f.last[id] = 1
		}
	}
	for ; ctx.Err() == nil; f.cuts++ {
		if !posts {
			revisions := make([]int, len(w.watched))
			for i, id := range w.watched {
				revisions[i] = f.last[id]
			}
			variables = map[string]any{"revisions": revisions}
		}
		socket := w.s.Socket("")
		stop := context.AfterFunc(ctx, func() { _ = socket.Conn.CloseNow() })
		socket.Subscribe("s", query, string(require.Value(json.Marshal(variables))(t)))
		begun()
		for left := 1 + random.IntN(12); left > 0 || f.cuts >= *cuts; left-- { // events until the client is cut off
			m, err := socket.TryRead()
			if ctx.Err() != nil {
				return
			}
			if err != nil || m.Type != "next" {
				t.Errorf("got %s %s, %v, want an event", m.Type, m.Payload, err)
				return
			}
			if cursor := f.take(t, string(m.Payload)); cursor != "" {
				variables["after"] = cursor
			}
		}
		stop()
		_ = socket.Conn.CloseNow()
	}
}

// changer makes random changes, and knows what clients have to have in the end.
type changer struct {
	s              *sitetest.Site
	random         *rand.Rand
	watched        []string
	gone           map[string]bool
	posts, inGroup []string
}

func (w *changer) run(changes int) {
	for i := range changes {
		id := w.watched[w.random.IntN(len(w.watched))]
		switch n := w.random.IntN(100); {
		case n < 60 && !w.gone[id]:
			w.s.Vote(fmt.Sprint("voter", w.random.IntN(20)), id, []string{"UP", "DOWN", "NONE"}[w.random.IntN(3)])
		case n < 70 && !w.gone[id]:
			w.s.Ask("alice", `mutation($a: ID!, $t: String!) { editArticle(input: {article: $a, title: $t}) { userErrors { code } } }`, "a", id, "t", fmt.Sprint("edited ", i))
		case n < 92:
			group := []string{"go", "x"}[w.random.IntN(2)]
			posted := w.s.Post("bob", fmt.Sprint("posted ", i), group)
			if w.posts = append(w.posts, posted); group == "go" {
				w.inGroup = append(w.inGroup, posted)
			}
			w.s.Advance(time.Duration(w.random.IntN(2)) * time.Second)
		case n < 98 && !w.gone[id]:
			w.s.Ask("alice", `mutation($a: ID!, $g: [String!]!) { regroup(input: {article: $a, add: $g}) { userErrors { code } } }`, "a", id, "g", []string{fmt.Sprint("g", w.random.IntN(10))})
		case n == 98 && len(w.gone) < 10 && !w.gone[id]:
			w.s.Ask("alice", `mutation($a: ID!) { deleteArticle(input: {article: $a}) { deletedId } }`, "a", id)
			w.gone[id] = true
		}
	}
}

// states returns the watched articles that have changed, as a client gets them.
func (w *changer) states() map[string]string {
	socket, states := w.s.Socket(""), map[string]string{}
	defer func() { _ = socket.Conn.CloseNow() }()
	known := strings.TrimSuffix(strings.Repeat("1,", len(w.watched)), ",")
	list := string(require.Value(json.Marshal(w.watched))(w.s.T))
	text := w.s.AskText("", `query($ids: [ID!]!) { nodes(ids: $ids) { ... on Article `+followed+` } }`, "ids", w.watched)
	var answer struct {
		Data struct{ Nodes []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Data.Nodes) != len(w.watched) {
		w.s.T.Fatalf("read the articles: %s %v", text, err)
	}
	for i, node := range answer.Data.Nodes {
		if !strings.Contains(string(node), `"revision":1,`) && !w.gone[w.watched[i]] {
			states[w.watched[i]] = string(node)
		}
	}
	// A deleted article cannot be read, but it is sent to a client that has an earlier revision.
	socket.Subscribe("s", `subscription { articleChanged(ids: `+list+`, revisions: [`+known+`]) `+followed+` }`, "")
	for missing := len(states) + len(w.gone); missing > 0; missing-- {
		var event struct {
			Data struct{ ArticleChanged json.RawMessage }
		}
		require.NoError(w.s.T, json.Unmarshal(socket.Read().Payload, &event))
		id, _, state, err := parseState(event.Data.ArticleChanged)
		require.NoError(w.s.T, err)
		if w.gone[id] {
			states[id] = state
		}
	}
	return states
}
