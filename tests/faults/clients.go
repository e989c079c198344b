package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	present = "present"
	deleted = "" // also what a register of an article is before it is posted
)

// article is one that the clients know.
type article struct {
	id    int
	title string
}

// counts are for the summary.
type counts struct{ requests, acknowledged, refused, unknown, slowest atomic.Int64 }

// site is what the clients share.
type site struct {
	history *history
	servers []*server
	http    *http.Client
	counts  counts
	posts   <-chan time.Time // one value for each post that may be sent

	mu    sync.Mutex
	known []article // the newest ones
	lost  int       // how often the store went back in time
}

// forget drops all articles, since their numbers may be given to others.
func (s *site) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost++
	s.known = nil
}

func (s *site) learn(a article) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, a)
	s.known = s.known[max(0, len(s.known)-200):]
}

func (s *site) drop(a article) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = slices.DeleteFunc(s.known, func(other article) bool { return other == a })
}

// response is everything that one of the operations asks for.
type response struct {
	Data struct {
		Vote struct {
			Article    answer
			Previous   string
			UserErrors []struct{ Code string }
		}
		Post, Regroup struct {
			Article    answer
			UserErrors []struct{ Code string }
		}
		DeleteArticle struct {
			DeletedID  string `json:"deletedId"`
			UserErrors []struct{ Code string }
		}
		Article, ArticleChanged *answer
		ArticlePosted           *struct{ Node answer }
		Nodes                   []*answer

		Event  *edge
		Events struct {
			Edges    []edge
			PageInfo struct{ EndCursor string }
			Gap      bool
		}
	}
	Errors []struct{ Extensions struct{ Code string } }
}

// answer is an article as the API shows it.
type answer struct {
	Number         int
	Title          string
	Votes, Upvotes int
	Groups         []struct{ Name string }
	DeletedAt      string
}

const fields = `{ number title votes upvotes groups { name } deletedAt }`

// refusal is the code of the user error in a response, or "".
func (r *response) refusal() string {
	for _, list := range [][]struct{ Code string }{r.Data.Vote.UserErrors, r.Data.Post.UserErrors, r.Data.Regroup.UserErrors, r.Data.DeleteArticle.UserErrors} {
		if len(list) > 0 {
			return list[0].Code
		}
	}
	return ""
}

// request returns a request for an operation of a user, as an authenticating proxy sends it. It is an error while the server
// does not serve.
func request(ctx context.Context, to *server, user, query string) (*http.Request, error) {
	body, _ := json.Marshal(map[string]string{"query": query})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.address()+"/query", bytes.NewReader(body))
	if err != nil || req.URL.Host == "" {
		return nil, cmp.Or(err, errors.New("it does not serve"))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-User", user)
	if user == auditor {
		req.Header.Set("X-Roles", "moderator")
	}
	return req, nil
}

// judge reports whether a response has errors, and fails for those that no fault of Redis explains.
func (s *site) judge(r response, format string, args ...any) (failed bool) {
	for _, e := range r.Errors {
		if code := e.Extensions.Code; code != "UNAVAILABLE" && code != "TIMEOUT" {
			s.history.fail(unavailable, "%s"+format, append([]any{code}, args...)...)
		}
	}
	return len(r.Errors) > 0
}

// ask sends an operation once. ok is false if it is not known whether it took effect.
func (s *site) ask(ctx context.Context, to *server, user, query string) (r response, ok bool) {
	req, err := request(ctx, to, user, query)
	if err != nil {
		return r, false
	}
	began := time.Now()
	res, err := s.http.Do(req)
	if err == nil {
		err = json.NewDecoder(res.Body).Decode(&r)
		_ = res.Body.Close()
	}
	s.counts.requests.Add(1)
	s.counts.slowest.Store(max(s.counts.slowest.Load(), int64(time.Since(began))))
	if err != nil {
		s.counts.unknown.Add(1)
		return r, false
	}
	if s.judge(r, ", as server %s answered %s", to.name, query) {
		s.counts.unknown.Add(1)
		return r, false
	}
	return r, true
}

// nodes reads articles, until the server answers or ctx ends.
func (s *site) nodes(ctx context.Context, from *server, ids []int) []*answer {
	for ctx.Err() == nil {
		if r, ok := s.ask(ctx, from, "", `{ nodes(ids: `+list(ids)+`) { ... on Article `+fields+` } }`); ok {
			return r.Data.Nodes
		}
		pause(ctx, 100*time.Millisecond)
	}
	return nil
}

// stream reads the event stream of a subscription until it ends, or take returns false. It calls opened at its first line.
func (s *site) stream(ctx context.Context, from *server, user, subscription string, opened func(), take func(response) bool) {
	req, err := request(ctx, from, user, subscription)
	if err != nil {
		return
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := s.http.Transport.RoundTrip(req) // without the timeout of other requests
	if err != nil {
		return
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	for first := true; lines.Scan(); first = false {
		if first {
			opened()
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var r response
		if !ok || json.Unmarshal([]byte(data), &r) != nil {
			continue
		}
		if s.judge(r, " for a subscription to server %s", from.name) || !take(r) {
			return
		}
	}
}

// client is one of the users' programs. Only one has the users whose names begin with its name.
type client struct {
	*site
	name    string
	random  *rand.Rand
	own     []article
	lost    int // site.lost when own was last emptied
	posted  int
	settled map[register]bool // those that are not set again: an older request may still arrive
}

// run sends operations until ctx ends, and completes the last one.
func (c *client) run(ctx, end context.Context) {
	for ctx.Err() == nil {
		switch n := c.random.IntN(100); {
		case n < 60:
			c.vote(end)
		case n < 72:
			select {
			case <-c.posts:
				c.post(end)
			default:
			}
		case n < 80:
			c.regroup(end)
		case n < 82:
			c.delete(end)
		default:
			c.read(end)
		}
		pause(ctx, time.Duration(c.random.Int64N(int64(30*time.Millisecond))))
		c.mu.Lock()
		if c.lost < c.site.lost {
			c.lost, c.own = c.site.lost, nil
		}
		c.mu.Unlock()
	}
}

// write repeats an operation until it is acknowledged or refused, or ctx ends. first reports whether the first request
// got a response.
func (c *client) write(ctx context.Context, user, query string) (r response, w write, first bool) {
	w.start = c.history.now()
	for first = true; ; first = false {
		var ok bool
		r, ok = c.ask(ctx, c.servers[c.random.IntN(len(c.servers))], user, query)
		w.end = c.history.now()
		switch refusal := r.refusal(); {
		case ok && refusal == "":
			c.counts.acknowledged.Add(1)
			return r, w, first
		case ok:
			c.counts.refused.Add(1)
			if !slices.Contains([]string{"NOT_FOUND", "FORBIDDEN"}, refusal) {
				c.history.fail("a valid operation is not refused", "%s: %s of %s", refusal, query, user)
			}
			w.uncertain = true
			return r, w, first
		case ctx.Err() != nil:
			c.history.fail("after the last fault every operation is acknowledged", "This one is not: %s of %s, since %.3fs", query, user, w.start.Seconds())
			w.uncertain = true
			return r, w, first
		}
		pause(ctx, time.Duration(20+c.random.IntN(100))*time.Millisecond)
	}
}

// set notes a write. A register of which a request got no response, or was refused, is not set again.
func (c *client) set(r register, w write, first bool) {
	if !first || w.uncertain {
		c.settled[r] = true
	}
	if w.uncertain && first {
		return // refused, and nothing was written
	}
	c.history.add(r, w)
}

func (c *client) pick(list []article) (article, bool) {
	if len(list) == 0 {
		return article{}, false
	}
	return list[c.random.IntN(len(list))], true
}

func (c *client) any() (article, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pick(c.known)
}

func (c *client) vote(ctx context.Context) {
	a, ok := c.any()
	user := fmt.Sprintf("%s-voter%d", c.name, c.random.IntN(20))
	about := register{kind: "vote", article: a.id, title: a.title, of: user}
	if !ok || c.settled[about] {
		return
	}
	direction := []string{"UP", "DOWN", "NONE"}[c.random.IntN(3)]
	r, w, first := c.write(ctx, user, fmt.Sprintf(`mutation { vote(input: {article: %d, direction: %s}) { article { number title } previous userErrors { code } } }`, a.id, direction))
	if w.value = direction; direction == "NONE" {
		w.value = ""
	}
	if w.uncertain {
		c.drop(a)
	} else if r.Data.Vote.Article.Title != a.title { // the number was given again
		c.drop(a)
		c.settled[about] = true
		about.title = r.Data.Vote.Article.Title
	} else if previous := strings.Replace(r.Data.Vote.Previous, "NONE", "", 1); first && r.Data.Vote.Previous != "" && !slices.Contains(c.history.possible(about), previous) {
		c.history.fail("an answer never claims a wrong position before", "%q: %s on %d%s", previous, user, a.id, c.history.story(a.id, user))
	}
	c.set(about, w, first)
}

func (c *client) post(ctx context.Context) {
	c.posted++
	a := article{title: fmt.Sprintf("%s post %d", c.name, c.posted)}
	user, group := c.name+"-poster", fmt.Sprintf("g%d", c.random.IntN(10))
	r, w, _ := c.write(ctx, user, fmt.Sprintf(`mutation { post(input: {title: %q, link: "https://example.org/%s", groups: [%q], idempotencyKey: %q}) { article { number title } userErrors { code } } }`,
		a.title, strings.ReplaceAll(a.title, " ", "/"), group, a.title))
	if w.uncertain {
		return
	}
	a.id = r.Data.Post.Article.Number
	if a.id == 0 || r.Data.Post.Article.Title != a.title {
		c.history.fail("a post answers its article", "%q of %s: %+v", a.title, user, r.Data.Post.Article)
		return
	}
	w.value = present
	c.history.add(register{kind: "article", article: a.id, title: a.title}, w)
	w.value = "UP"
	c.history.add(register{kind: "vote", article: a.id, title: a.title, of: user}, w)
	w.value = present
	c.history.add(register{kind: "group", article: a.id, title: a.title, of: group}, w)
	c.own = append(c.own, a)
	c.learn(a)
}

func (c *client) regroup(ctx context.Context) {
	a, ok := c.pick(c.own)
	group := fmt.Sprintf("g%d", c.random.IntN(10))
	about := register{kind: "group", article: a.id, title: a.title, of: group}
	if !ok || c.settled[about] {
		return
	}
	change, value := "add", present
	if c.random.IntN(2) == 0 {
		change, value = "remove", ""
	}
	_, w, first := c.write(ctx, c.name+"-poster", fmt.Sprintf(`mutation { regroup(input: {article: %d, %s: [%q]}) { article { number } userErrors { code } } }`, a.id, change, group))
	w.value = value
	c.set(about, w, first)
}

func (c *client) delete(ctx context.Context) {
	a, ok := c.pick(c.own)
	if !ok {
		return
	}
	c.own = slices.DeleteFunc(c.own, func(other article) bool { return other == a })
	c.drop(a)
	_, w, first := c.write(ctx, c.name+"-poster", fmt.Sprintf(`mutation { deleteArticle(input: {article: %d}) { deletedId userErrors { code } } }`, a.id))
	w.value = deleted
	c.set(register{kind: "article", article: a.id, title: a.title}, w, first)
}

func (c *client) read(ctx context.Context) {
	a, ok := c.any()
	if !ok {
		return
	}
	queries := []string{
		fmt.Sprintf(`{ article(id: %d) { number title votes } }`, a.id), `{ articles { number title votes } }`,
		fmt.Sprintf(`{ group(name: "g%d") { articleCount articles(order: TIME, pageSize: 10) { number title groups { name } } } }`, c.random.IntN(10)),
		`{ articlesConnection(first: 20, order: TIME) { totalCount edges { cursor node { title poster { name } } } } groups(first: 20) { nodes { name articleCount } } }`,
	}
	start := c.history.now()
	r, ok := c.ask(ctx, c.servers[c.random.IntN(len(c.servers))], c.name+"-reader", queries[c.random.IntN(len(queries))])
	if shown := r.Data.Article; ok && shown != nil {
		if want := c.history.titleAt(a.id, start, c.history.now()); want != "" && want != shown.Title {
			c.history.fail("a number never shows an article that is lost", "%d is %q and not %q%s", a.id, want, shown.Title, c.history.story(a.id, ""))
		}
	}
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
