package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// When one user floods two servers on one store with votes, exactly as many are counted as the limit allows.
func TestConcurrentVotesNeverExceedTheLimit(t *testing.T) {
	t.Parallel()
	const most, window = 500, 10 * time.Minute
	articles := programtest.Size(2000, 20_000)
	client := redistest.Start(t).Client
	sitetest.Import(t, client, "poster", articles)
	rates := sitetest.WithRates(endpoint.Rates{Votes: endpoint.Rate{Most: most, Window: window}, Addresses: 1000})
	sites := []*sitetest.Site{sitetest.New(t, client, site.DefaultRules(), rates), sitetest.New(t, client, site.DefaultRules(), rates)}
	var changed, refused, next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	here := sitetest.ClientFrom(t, "127.0.0.1")
	for worker := range 48 {
		all.Go(func() {
			for n := next.Add(1); n <= int64(articles) && !t.Failed(); n = next.Add(1) {
				_, body, err := sites[worker%2].AskBy(here, fmt.Sprintf(`mutation { vote(input: {article: %d}) { changed userErrors { __typename code ... on RateLimitedError { retryAfter } } } }`, n), "X-User-ID", "flooder")
				var a struct {
					Data struct {
						Vote struct {
							Changed    bool
							UserErrors []struct {
								Typename   string `json:"__typename"`
								Code       string
								RetryAfter int
							}
						}
					}
				}
				if err != nil || json.Unmarshal([]byte(body), &a) != nil || strings.Contains(body, `"errors"`) {
					t.Errorf("want a response without errors: %v, got %s", err, body)
					return
				}
				switch vote := a.Data.Vote; {
				case vote.Changed && len(vote.UserErrors) == 0:
					changed.Add(1)
				case !vote.Changed && len(vote.UserErrors) == 1 && vote.UserErrors[0].Code == "RATE_LIMITED" && vote.UserErrors[0].Typename == "RateLimitedError" &&
					vote.UserErrors[0].RetryAfter >= 1 && vote.UserErrors[0].RetryAfter <= int(window/time.Second):
					refused.Add(1)
				default:
					t.Errorf("got %s, want a vote that is counted or RATE_LIMITED", body)
				}
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took > window {
		t.Fatalf("it took %v, longer than the window: the test proves nothing", took)
	}
	if changed.Load() != most || refused.Load() != int64(articles-most) {
		t.Errorf("got %d votes counted and %d refused, want %d and %d", changed.Load(), refused.Load(), most, articles-most)
	}
	sum, voted := 0, 0
	for i := 1; i <= articles; i += 1000 {
		pipe := client.Pipeline()
		for n := i; n < i+1000; n++ {
			pipe.HGet(t.Context(), fmt.Sprint("article:", n), "votes")
			pipe.SIsMember(t.Context(), fmt.Sprint("voted:", n), "user:flooder")
		}
		for n, command := range require.Value(pipe.Exec(t.Context()))(t) {
			switch fields := strings.Split(command.String(), ": "); {
			case n%2 == 0:
				votes := 0
				if _, err := fmt.Sscan(fields[len(fields)-1], &votes); err != nil {
					t.Fatalf("got %v, want a number of votes", command)
				}
				sum += votes - 1
			case fields[len(fields)-1] == "true":
				voted++
			}
		}
	}
	if sum != most || voted != most {
		t.Errorf("got %d votes in the articles and %d in the sets of voters, want %d", sum, voted, most)
	}
}

func TestPostsAndChangesAreLimited(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Posts: endpoint.Rate{Most: 3, Window: time.Minute}, Changes: endpoint.Rate{Most: 3, Window: time.Minute}, Addresses: 10}))
	const limited = `userErrors { __typename code message field ... on RateLimitedError { retryAfter } }`
	refused := func(user, mutation, nothing string) {
		t.Helper()
		a := s.Ask(user, `mutation { `+mutation+` { `+nothing+` `+limited+` } }`)
		for name, payload := range a.Data {
			payload := payload.(map[string]any)
			e, _ := payload["userErrors"].([]any)
			if len(e) != 1 {
				t.Errorf("%s: got %v, want one user error", mutation, a)
				return
			}
			first := e[0].(map[string]any)
			wait, _ := first["retryAfter"].(float64)
			want := map[string]any{"__typename": "RateLimitedError", "code": "RATE_LIMITED", "field": nil, "retryAfter": wait,
				"message": fmt.Sprintf("rate limit exceeded: try again in %.0f s", wait)}
			if payload[strings.Fields(nothing)[0]] != nil || !reflect.DeepEqual(first, want) || wait < 1 || wait > 60 {
				t.Errorf("%s: %s: got %v, want RATE_LIMITED", mutation, name, payload)
			}
		}
		if len(a.Errors) > 0 || len(a.Data) != 1 {
			t.Errorf("%s: got %v, want one payload and no errors", mutation, a)
		}
	}
	s.PostMany("alice", 3)
	refused("alice", `post(input: {title: "fourth", text: "x"})`, "article { id }")
	s.Post("bob", "another's")
	// Edits, regroupings and deletions are counted together, including no-ops.
	s.Want("alice", `mutation { regroup(input: {article: 1, add: ["x"]}) { userErrors { code } } }`, `{"regroup": {"userErrors": []}}`)
	s.Want("alice", `mutation { editArticle(input: {article: 1, groups: ["x"]}) { userErrors { code } } }`, `{"editArticle": {"userErrors": []}}`)
	s.Want("alice", `mutation { deleteArticle(input: {article: 1}) { userErrors { code } } }`, `{"deleteArticle": {"userErrors": []}}`)
	refused("alice", `deleteArticle(input: {article: 2})`, "deletedId")
	refused("alice", `regroup(input: {article: 2, add: ["y"]})`, "article { id }")
	refused("alice", `editArticle(input: {article: 2, text: "edited"})`, "article { id }")
	s.Want("", `{ articles(order: TIME, direction: ASC) { id groups { name } } }`,
		`{"articles": [{"id": "article:2", "groups": []}, {"id": "article:3", "groups": []}, {"id": "article:4", "groups": []}]}`)
	s.Vote("alice", "article:4", "UP") // votes are not limited here
	for _, key := range sitetest.RateKeys(t, client) {
		if left := client.PTTL(t.Context(), "rate:"+key).Val(); left <= 0 || left > time.Minute {
			t.Errorf("counter %s: got a TTL of %v, want at most a minute", key, left)
		}
	}
}

// The window slides: at most two votes fit into any minute, and retryAfter is when the next one does.
func TestLimitAppliesToAnyWindow(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sitetest.WithRates(endpoint.Rates{Votes: endpoint.Rate{Most: 2, Window: time.Minute}, Addresses: 10}))
	s.Post("alice", "t")
	for i, step := range []struct {
		seconds int // since the last step
		want    string
	}{{0, "[]"}, {50, "[]"}, {5, "5"}, {4, "1"}, {1, "[]"}, {1, "49"}, {48, "1"}, {1, "[]"}, {60, "[]"}} {
		s.Advance(time.Duration(step.seconds) * time.Second)
		a := s.Ask("bob", `mutation { vote(input: {article: 1}) { userErrors { ... on RateLimitedError { retryAfter } } } }`)
		payload, _ := a.Data["vote"].(map[string]any)
		got := fmt.Sprint(payload["userErrors"])
		if want := strings.Replace("[map[retryAfter:"+step.want+"]]", "[map[retryAfter:[]]]", "[]", 1); got != want {
			t.Errorf("step %d: got %s, want %s", i, got, want)
		}
	}
}

func TestEachMutationOfADocumentIsCounted(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	sitetest.Import(t, client, "poster", 40)
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Votes: endpoint.Rate{Most: 5, Window: time.Minute}, Posts: endpoint.Rate{Most: 2, Window: time.Minute}, Addresses: 100}))
	const broken = ` { userErrors { code } } `
	vote := func(alias string, n int) string {
		return fmt.Sprintf(`%s: vote(input: {article: %d})`, alias, n) + broken
	}
	for i, tt := range []struct{ document, want string }{
		{`mutation {` + vote("a", 1) + vote("b", 2) + vote("c", 3) + vote("d", 4) + vote("e", 5) + `}`, "done 5"},
		{`mutation {` + vote("a", 1) + vote("b", 2) + vote("c", 3) + vote("d", 4) + vote("e", 5) + vote("f", 6) + `}`, "RATE_LIMITED 6"},
		{`mutation { ...M ...M } fragment M on Mutation {` + vote("a", 1) + vote("b", 2) + vote("c", 3) + vote("d", 4) + vote("e", 5) + vote("f", 6) + `}`, "RATE_LIMITED 6"},
		{`mutation { ... on Mutation {` + vote("a", 1) + vote("b", 1) + vote("c", 1) + `} ... {` + vote("d", 1) + vote("e", 1) + vote("f", 1) + `} }`, "RATE_LIMITED 6"},
		{`mutation {` + vote("a", 1) + vote("a", 1) + vote("a", 1) + vote("a", 1) + vote("a", 1) + vote("a", 1) + `}`, "done 1"}, // equal fields are merged
		{`mutation {` + vote("a", 1) + strings.Repeat(`x: vote(input: {article: 1}) @skip(if: true)`+broken, 6) + `}`, "done 1"},
		// Each kind of mutation has its own limit: those within theirs run.
		{`mutation {` + vote("a", 1) + `p: post(input: {title: "1", text: "x"})` + broken + `q: post(input: {title: "2", text: "x"})` + broken + `r: post(input: {title: "3", text: "x"})` + broken + `}`, "RATE_LIMITED 3, done 1"},
		{`mutation {` + vote("a", 1) + vote("b", 2) + vote("c", 3) + vote("d", 4) + vote("e", 5) + vote("f", 6) + `p: post(input: {title: "1", text: "x"})` + broken + `}`, "RATE_LIMITED 6, done 1"},
	} {
		if got := sitetest.TallyOutcomes(s.Outcomes(fmt.Sprint("user", i), tt.document)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.document, got, tt.want)
		}
	}
	counts := map[string]int{}
	for _, key := range sitetest.RateKeys(t, client) {
		counts[key] = sitetest.RateCount(t, client, key)
	}
	address := netip.MustParseAddr("127.0.0.1").String()
	want := map[string]int{"votes:user:user0": 5, "votes:user:user4": 1, "votes:user:user5": 1, "votes:user:user6": 1, "posts:user:user7": 1,
		"votes:address:" + address: 8, "posts:address:" + address: 1}
	if !reflect.DeepEqual(counts, want) {
		t.Errorf("got the counters %v, want %v", counts, want)
	}
}

// A request that got no response can be sent again, however many posts are left.
func TestRepeatedPostIsNotCharged(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Posts: endpoint.Rate{Most: 2, Window: time.Hour}, Addresses: 10}))
	post := func(title, key string) string {
		t.Helper()
		a := s.Ask("alice", `mutation($t: String!, $k: String) { post(input: {title: $t, text: "x", idempotencyKey: $k}) { article { id } userErrors { code } } }`, "t", title, "k", key)
		return fmt.Sprint(a.Data["post"])
	}
	const first, second = "map[article:map[id:article:1] userErrors:[]]", "map[article:map[id:article:2] userErrors:[]]"
	for range 5 {
		if got := post("one", "k1"); got != first {
			t.Fatalf("got %s, want %s", got, first)
		}
	}
	if got := post("two", "k2"); got != second {
		t.Errorf("a second post: got %s, want %s", got, second)
	}
	const limited = "map[article:<nil> userErrors:[map[code:RATE_LIMITED]]]"
	for _, tt := range []struct{ title, key, want string }{{"three", "k3", limited}, {"one", "k1", first}, {"two", "k2", second}, {"another", "k1", limited}, {"three", "k3", limited}} {
		if got := post(tt.title, tt.key); got != tt.want {
			t.Errorf("%s with key %s: got %s, want %s", tt.title, tt.key, got, tt.want)
		}
	}
	if n := sitetest.RateCount(t, client, "posts:user:alice"); n != 2 {
		t.Errorf("got %d posts counted, want 2", n)
	}
}

// While Redis refuses writes, reading goes on, counted by this process; mutations say that they cannot be done.
func TestReadsGoOnAndAreCountedWhileRedisRefusesWrites(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const read = `{ articles { title viewerVote } }` // 75 points
	s := sitetest.New(t, server.Client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{
		Cost: endpoint.Rate{Most: 1000, Window: time.Hour}, Votes: endpoint.Rate{Most: 10, Window: time.Hour}, Addresses: 1}))
	s.Post("alice", "t")
	set := func(bytes string) {
		t.Helper()
		require.NoError(t, server.Client.ConfigSet(t.Context(), "maxmemory", bytes).Err())
	}
	set("1")
	for range 3 {
		if res, body := s.Get(read, "X-User-ID", "bob"); res.StatusCode != 200 || strings.Contains(body, "errors") || res.Header.Get("RateLimit") == "" {
			t.Fatalf("got %d %v %s, want the articles", res.StatusCode, res.Header, body)
		}
	}
	const vote = `mutation { vote(input: {article: 1}) { changed userErrors { code } } }`
	if body := s.AskText("bob", vote); sitetest.CodeOf(t, body) != "UNAVAILABLE" {
		t.Errorf("a vote: got %s, want UNAVAILABLE", body)
	}
	statuses := map[int]int{}
	for range 20 {
		res, _ := s.Get(read, "X-User-ID", "bob")
		statuses[res.StatusCode]++
	}
	if statuses[200] == 0 || statuses[429] == 0 || len(statuses) != 2 {
		t.Errorf("20 more reads: got statuses %v, want 429 after some", statuses)
	}
	set("0")
	s.Want("carol", vote, `{"vote": {"changed": true, "userErrors": []}}`)
}

// lostRates is a hook that fails the counting in one partition, as if its shard was gone.
type lostRates struct{ tag atomic.Value }

func (l *lostRates) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	tag, _ := l.tag.Load().(string)
	for _, c := range commands {
		if tag != "" && strings.Contains(fmt.Sprint(c.Args()...), tag+"rate:") {
			return redistest.Fail(io.EOF, commands)
		}
	}
	return send(ctx, commands)
}

// While the partition that counts a user does not answer, the user's operations go on, counted by this process. Others
// notice nothing.
func TestOperationsGoOnAndAreCountedWhileTheirPartitionIsLost(t *testing.T) {
	t.Parallel()
	client, hook := redistest.Start(t).Client, new(lostRates)
	clock := redisrepo.WithClock(func() time.Time { return sitetest.Start })
	require.Value(redisrepo.New(t.Context(), client, site.DefaultRules(), clock, redisrepo.WithPartitions(16)))(t)
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{
		Cost: endpoint.Rate{Most: 1000, Window: time.Hour}, Votes: endpoint.Rate{Most: 2, Window: time.Hour}, Addresses: 1000}))
	client.AddHook(redistest.Hook(hook.hook))
	ids := []string{s.Post("alice", "t"), s.Post("alice", "t"), s.Post("alice", "t")}
	const read = `{ articles { title viewerVote } }` // 75 points
	tagOf := func(subject string) string {
		t.Helper()
		keys, err := client.Keys(t.Context(), "*rate:cost:"+subject).Result()
		if err != nil || len(keys) != 1 {
			t.Fatalf("keys of %s = %v, %v; want one", subject, keys, err)
		}
		tag, _, _ := strings.Cut(keys[0], "rate:")
		return tag
	}
	var users []string // counted in two partitions, neither of which counts the address
	for i := 0; len(users) < 2; i++ {
		user := fmt.Sprint("user", i)
		if res, body := s.Get(read, "X-User-ID", user); res.StatusCode != 200 {
			t.Fatalf("got %d %s, want the articles", res.StatusCode, body)
		}
		if tag := tagOf("user:" + user); tag != tagOf("address:127.0.0.1") && (users == nil || tag != tagOf("user:"+users[0])) {
			users = append(users, user)
		}
	}
	hook.tag.Store(tagOf("user:" + users[0]))
	statuses := map[int]int{}
	for range 40 {
		res, body := s.Get(read, "X-User-ID", users[0])
		if statuses[res.StatusCode]++; res.Header.Get("RateLimit") == "" {
			t.Fatalf("got %d %v %s, want the quota", res.StatusCode, res.Header, body)
		}
	}
	if statuses[200] == 0 || statuses[429] == 0 || len(statuses) != 2 {
		t.Errorf("40 reads: got statuses %v, want 429 after some", statuses)
	}
	vote := func(i int) string {
		return fmt.Sprintf(`mutation { vote(input: {article: %q}) { changed userErrors { code } } }`, ids[i])
	}
	const counted, limited = `{"vote": {"changed": true, "userErrors": []}}`, `{"vote": {"changed": false, "userErrors": [{"code": "RATE_LIMITED"}]}}`
	hook.tag.Store(tagOf("user:" + users[1]))
	s.Want(users[1], vote(0), counted)
	s.Want(users[1], vote(1), counted)
	s.Want(users[1], vote(2), limited)
	s.Want("carol", vote(0), counted)
	hook.tag.Store("")
	s.Want(users[1], vote(2), counted) // in Redis, it is the first one
}

// All rate limits together cost a mutation one round trip. They cost nothing if they are off, and reads of an active client
// nothing, either: a lease pays for them.
func TestRateLimitsCostAtMostOneRoundTrip(t *testing.T) {
	t.Parallel()
	minute := endpoint.Rate{Most: 100_000, Window: time.Minute}
	all := endpoint.Rates{Cost: minute, Votes: minute, Posts: minute, Changes: minute, Addresses: 10}
	for _, tt := range []struct {
		query   string
		alone   int // round trips without limits
		limited int // with all limits
		votes   int // with the limit of votes alone
	}{
		{`{ viewer { name } }`, 0, 0, 0},
		{`{ rateLimit { remaining } }`, 0, 0, 0},
		{`{ articles { id title } }`, 2, 2, 2},
		{`{ articles { id viewerVote } }`, 3, 3, 3},
		{`{ article(id: 1) { id } }`, 1, 1, 1},
		{`mutation { vote(input: {article: 1}) { changed } }`, 1, 2, 2},
		{`mutation { post(input: {title: "t", text: "x"}) { article { id } } }`, 2, 3, 2},
		{`mutation { regroup(input: {article: 1, add: ["x"]}) { userErrors { code } } }`, 1, 2, 1},
		{`mutation { vote(input: {article: 1}) { changed } post(input: {title: "t", text: "x"}) { article { id } } deleteArticle(input: {article: 2}) { deletedId } }`, 4, 5, 5},
		{`{ nothing }`, 0, 0, 0},
	} {
		for name, at := range map[string]struct {
			rates endpoint.Rates
			want  int
		}{"without limits": {endpoint.Rates{}, tt.alone}, "with all limits": {all, tt.limited}, "with the limit of votes": {endpoint.Rates{Votes: minute, Addresses: 10}, tt.votes}} {
			client := redistest.Start(t).Client
			s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(at.rates))
			for range 2 {
				s.Post("alice", "t", "all")
			}
			s.StopListening()
			s.AskText("alice", tt.query) // loads the scripts, caches the document and takes a lease
			s.Trips.Reset()
			s.AskText("alice", tt.query)
			if n, commands := s.Trips.Read(); n != at.want {
				t.Errorf("%s, %s: got %d round trips with %v, want %d", tt.query, name, n, sitetest.Tally(commands), at.want)
			}
			if at.rates.Cost.Most == 0 && tt.votes == tt.alone {
				if keys := sitetest.RateKeys(t, client); len(keys) > 0 {
					t.Errorf("%s, %s: got the counters %v, want none", tt.query, name, keys)
				}
			}
		}
	}
	w := sitetest.Open(t, sitetest.WithRates(all))
	w.StopListening()
	socket := w.Socket(`{"X-User-ID":"bob"}`)
	for i := range 4 {
		if i == 1 {
			w.Trips.Reset()
		}
		socket.Subscribe(fmt.Sprint(i), whoAmI, "")
		socket.Want("next", fmt.Sprint(i), `{"data":{"viewer":{"name":"bob"}}}`)
		socket.Want("complete", fmt.Sprint(i), "")
	}
	if n, commands := w.Trips.Read(); n != 2 { // the second one takes a lease of two more
		t.Errorf("three operations on a socket: got %d round trips with %v, want 2", n, commands)
	}
}

// A user who has used up one limit does not get around another by exceeding both in one document, whether or
// not the cost is limited.
func TestExceededLimitDoesNotDisableAnother(t *testing.T) {
	t.Parallel()
	for name, cost := range map[string]endpoint.Rate{"cost limited": {Most: 100_000, Window: time.Minute}, "cost unlimited": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.Start(t).Client
			sitetest.Import(t, client, "poster", 10)
			s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{
				Cost: cost, Votes: endpoint.Rate{Most: 1, Window: time.Minute}, Posts: endpoint.Rate{Most: 2, Window: time.Minute}, Changes: endpoint.Rate{Most: 2, Window: time.Minute}, Addresses: 10}))
			done := map[string]int{}
			for i := range 10 {
				for alias, result := range s.Outcomes("bob", fmt.Sprintf(`mutation {
					vote: vote(input: {article: %d}) { userErrors { code } }
					post: post(input: {title: "t", text: "x"}) { userErrors { code } }
					change: regroup(input: {article: 11, add: ["g%d"]}) { userErrors { code } } }`, i+1, i)) {
					if result != "RATE_LIMITED" {
						done[alias]++
					}
				}
			}
			if want := map[string]int{"vote": 1, "post": 2, "change": 2}; !reflect.DeepEqual(done, want) {
				t.Errorf("ten documents: got %v, want %v", done, want)
			}
		})
	}
}

func TestUsersOfOneAddressShareItsLimit(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	sitetest.Import(t, client, "poster", 3)
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Votes: endpoint.Rate{Most: 2, Window: time.Minute}, Addresses: 3}))
	here, there := sitetest.ClientFrom(t, "127.0.0.1"), sitetest.ClientFrom(t, "127.0.0.77")
	vote := func(client int, user string, article int) string {
		t.Helper()
		_, body, err := s.AskBy([]*http.Client{here, there}[client], fmt.Sprintf(`mutation { vote(input: {article: %d}) { changed userErrors { code } } }`, article), "X-User-ID", user)
		require.NoError(t, err)
		switch body {
		case `{"data":{"vote":{"changed":true,"userErrors":[]}}}`:
			return "done"
		case `{"data":{"vote":{"changed":false,"userErrors":[{"code":"RATE_LIMITED"}]}}}`:
			return "limited"
		}
		return body
	}
	var got []string
	for _, step := range []struct {
		client  int
		user    string
		article int
	}{
		{0, "a", 1}, {0, "a", 2}, {0, "a", 3}, // over the user's own limit, which is not charged to the address
		{0, "b", 1}, {0, "b", 2}, {0, "c", 1}, {0, "c", 2}, {0, "d", 1}, {0, "e", 1}, // over the address's limit of six
		{1, "a", 3}, {1, "d", 1}, {1, "d", 2}, {1, "d", 3}, // from another address: the user's limit is the same
	} {
		got = append(got, vote(step.client, step.user, step.article))
	}
	want := []string{"done", "done", "limited", "done", "done", "done", "done", "limited", "limited", "limited", "done", "done", "limited"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Anonymous clients are charged by address alone.
func TestAnonymousClientsCountByAddressOnly(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 10, Window: time.Minute}, Addresses: 2}))
	statuses := map[int]int{}
	for range 8 { // each of 4 points
		res, body := s.Get(`{ a: viewer { name } b: viewer { name } }`)
		if statuses[res.StatusCode]++; res.StatusCode == 429 && sitetest.CodeOf(t, body) != "RATE_LIMITED" {
			t.Errorf("got %s, want RATE_LIMITED", body)
		}
	}
	if want := map[int]int{200: 5, 429: 3}; !reflect.DeepEqual(statuses, want) {
		t.Errorf("got statuses %v, want %v", statuses, want)
	}
	if res, _ := s.Get(`{ viewer { name } }`, "X-User-ID", "bob"); res.StatusCode != 429 {
		t.Errorf("a user of the same address: got %d, want 429", res.StatusCode)
	}
}
