package costs_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/tests/programtest"
	"frontpage/tests/require"
)

// The goal is 20 points for each millisecond. Of what takes less than leastTime, the request itself is most. leastPoints is for a busy
// machine, on which everything takes longer.
const (
	goal        = 20.0
	leastPoints = 5.0
	leastTime   = 4 * time.Millisecond
)

// row is a line of the table of costs.
type row struct {
	request
	cost
}

// Every root field, every field below it, and every page costs points for the time that it takes. With -v the test prints them, those
// first that cost the fewest points for a millisecond:
//
//	go test ./tests/costs -run Costs -v -articles 100000
func TestEveryReadCostsPointsForItsTime(t *testing.T) {
	m := newMeter(t)
	m.enrich()
	var rows []row
	n, measured := 0, regexp.MustCompile(*only)
	for _, r := range slices.Concat(fields(t), besides(), pages(t)) {
		if !measured.MatchString(r.name) {
			continue
		}
		for _, size := range []int{100, 25, 10, 3, 1} { // as much as the limit of cost allows
			c := m.measure(1, func(int) request { n++; return r.at(n, size) })
			if m.tooCostly {
				continue
			}
			rounds := 0
			for c.server+c.redis > leastTime/2 && rounds < 2 || rounds < 1 { // garbage is collected now and then
				again := m.measure(2, func(int) request { n++; return r.at(n, size) })
				rounds++
				if again.server+again.redis < c.server+c.redis {
					c = again
				}
			}
			rows = append(rows, row{r, c})
			break
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.perMillisecond(), b.perMillisecond()) })
	below := 0
	for _, r := range rows {
		took := r.server + r.redis
		if took > leastTime/2 && r.perMillisecond() < goal {
			below++
		}
		t.Logf("%-60s %v", r.name, r.cost)
		if took > leastTime && r.perMillisecond() < leastPoints {
			t.Errorf("%s: %v, want at least %v points for each millisecond", r.name, r.cost, leastPoints)
		}
	}
	t.Logf("%d requests; %d take more than %v and cost fewer than %v points for each millisecond", len(rows), below, leastTime/2, goal)
}

// enrich gives the site what users and moderators do: votes of mod, reports, deletions, denials, blocks, saved articles.
func (m *meter) enrich() {
	m.t.Helper()
	if _, body := m.ask("mod", "{ viewerSaved(first: 1) { edges { cursor } } }"); strings.Contains(body, `"cursor"`) {
		return // a Redis that is used again
	}
	n := min(*articles/20, 1000)
	var acts []string
	for i := range n {
		id := *articles - i
		acts = append(acts, fmt.Sprintf("vote(input: {article: %d}) { changed }", id), fmt.Sprintf("save(input: {article: %d}) { userErrors { message } }", id))
		if i%10 == 0 {
			acts = append(acts, fmt.Sprintf("flag(input: {target: %d, reason: SPAM, note: %q}) { userErrors { message } }", id, strings.Repeat("words ", 50)),
				fmt.Sprintf(`denyUser(input: {user: "denied%d", reason: "spam"}) { userErrors { message } }`, i), fmt.Sprintf(`denyHost(input: {host: "denied%d.example.org", reason: "spam"}) { userErrors { message } }`, i),
				fmt.Sprintf(`blockUser(input: {user: "blocked%d"}) { userErrors { message } }`, i), fmt.Sprintf(`follow(input: {target: "user:poster%d"}) { userErrors { message } }`, i),
				fmt.Sprintf(`deleteArticle(input: {article: %d, reason: "spam"}) { userErrors { message } }`, id-n), fmt.Sprintf(`editArticle(input: {article: %d, title: "Another title %d", reason: "spelling"}) { userErrors { message } }`, id, i))
		}
	}
	for some := range slices.Chunk(acts, 10) {
		var text strings.Builder
		for i, act := range some {
			fmt.Fprintf(&text, "a%d: %s ", i, act)
		}
		if status, body := m.ask("mod", "mutation { "+text.String()+"}"); status != http.StatusOK {
			m.t.Fatalf("%s: got %d: %s", text.String(), status, body)
		}
	}
}

// ask sends a query as a moderator.
func (m *meter) ask(user, text string) (status int, body string) {
	m.t.Helper()
	status, _, _ = m.send(request{query: query{Query: text}, user: user, roles: "moderator"})
	return status, string(m.body)
}

// An address asks for all of this at once, over 16 connections: others' votes wait for less than 50 ms.
//
//	FULL=1 go test ./tests/costs -run Beside -v -articles 100000
func TestVotesBesideAnAddressThatAsksForEverything(t *testing.T) {
	m := newMeter(t, "FRONTPAGE_SHARED_ANSWERS=50ms", "FRONTPAGE_RATES=votes=off")
	all := slices.Concat(fields(t), besides(), pages(t))
	for i := range all {
		if i%3 > 0 {
			all[i].user = "" // anonymous: the address pays
		}
	}
	all = append(all, m.changes()...)
	during := programtest.Size(5*time.Second, time.Minute)
	alone := m.beside("nothing", during/5, 0, nil)
	among := m.beside("everything", during, 16, func(i int) request { return all[i%len(all)].at(i, 25) })
	if limit := max(50*time.Millisecond, 20*alone); among > limit {
		t.Errorf("99 of 100 votes of others take up to %v, want at most %v; %v without the other address", among, limit, alone)
	}
}

// changes are mutations that take long: erasures of users whose names nothing has.
func (m *meter) changes() (all []request) {
	for i := range 5 {
		name := fmt.Sprint("nothing", i)
		all = append(all, request{name: "eraseViewer", user: name, query: query{Query: fmt.Sprintf(`mutation { eraseViewer(input: {confirm: %q}) { done } }`, name)}})
	}
	return all
}

// An erasure pays for what it walks over, and no command of it takes long.
func TestErasureCostsPointsForItsTime(t *testing.T) {
	m := newMeter(t)
	m.enrich()
	client, _, _ := store(t)
	require.NoError(t, client.ConfigSet(t.Context(), "slowlog-log-slower-than", "10000").Err())
	require.NoError(t, client.SlowLogReset(t.Context()).Err())
	text := query{Query: `mutation { eraseViewer(input: {confirm: "nothing"}) { done userErrors { message } } }`}
	before, server, redis := m.left(), programtest.CPU(t, m.server), programtest.CPU(t, m.redis)
	for done := false; !done; {
		status, _, _ := m.send(request{user: "nothing", query: text})
		var answer struct {
			Data struct{ EraseViewer struct{ Done bool } }
		}
		require.NoError(t, json.Unmarshal(bytes.TrimSpace(m.body), &answer))
		if done = answer.Data.EraseViewer.Done; status != http.StatusOK {
			t.Fatalf("got %d: %s", status, m.body)
		}
	}
	c := cost{status: http.StatusOK, server: programtest.CPU(t, m.server) - server, redis: programtest.CPU(t, m.redis) - redis, points: before - m.left()}
	t.Logf("an erasure: %v", c)
	if c.perMillisecond() < leastPoints {
		t.Errorf("%v, want at least %v points for each millisecond", c, leastPoints)
	}
	for _, slow := range client.SlowLogGet(t.Context(), 100).Val() {
		t.Logf("slow: %v %.100v", slow.Duration, slow.Args)
	}
}
