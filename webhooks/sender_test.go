package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	stored "frontpage/redisrepo/webhooks"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/webhooks"
)

var moderator = site.Actor{Name: "mod", Moderator: true}

const password = "0123456789abcdef0123456789abcdef"

// fixture is a site with a receiver of events.
type fixture struct {
	*redisrepo.Repo
	t        *testing.T
	server   *redistest.Server
	rules    site.Rules
	options  []redisrepo.Option
	clock    *atomic.Int64 // seconds since the start
	receiver *receiver
}

func newFixture(t *testing.T, change func(*site.Rules), options ...redisrepo.Option) *fixture {
	t.Helper()
	f := &fixture{t: t, server: redistest.Start(t), rules: site.DefaultRules(), clock: new(atomic.Int64), receiver: newReceiver(t)}
	if change != nil {
		change(&f.rules)
	}
	start := time.Now().Truncate(time.Second)
	now := func() time.Time { return start.Add(time.Duration(f.clock.Load()) * time.Second) }
	f.options = append(options, redisrepo.WithClock(now), redisrepo.WithWebhooks(stored.Options{Box: require.Value(secretbox.New(password))(t), Origins: []string{f.receiver.URL}}))
	f.Repo = f.open(f.server.Client)
	return f
}

// open opens the site as another process does.
func (f *fixture) open(client redis.UniversalClient) *redisrepo.Repo {
	f.t.Helper()
	return require.Value(redisrepo.New(f.t.Context(), client, f.rules, f.options...))(f.t)
}

// add adds the receiver as an endpoint.
func (f *fixture) add(kinds ...events.EventKind) *stored.Endpoint {
	f.t.Helper()
	e, secret, err := f.Webhooks.AddWebhook(f.t.Context(), f.receiver.URL+"/events", kinds, moderator)
	require.NoError(f.t, err)
	f.receiver.secrets(secret)
	return e
}

// follow has a process deliver until it is stopped, or the test ends.
func (f *fixture) follow(repo *redisrepo.Repo) (sender *webhooks.Sender, stop func()) {
	return f.followWith(repo, webhooks.Options{})
}

func (f *fixture) followWith(repo *redisrepo.Repo, o webhooks.Options) (sender *webhooks.Sender, stop func()) {
	o.Pause = 2 * time.Millisecond
	sender = webhooks.New(repo, o)
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); sender.Follow(ctx, func(err error) { f.t.Log(err) }) }()
	stop = func() { cancel(); <-done }
	f.t.Cleanup(stop)
	return sender, stop
}

func (f *fixture) post(title string, groups ...string) site.ArticleID {
	f.t.Helper()
	return require.Value(f.Post(f.t.Context(), "alice", site.Draft{Title: title, Text: new("text"), Groups: groups}))(f.t).ID
}

func (f *fixture) vote(id site.ArticleID, user string) {
	f.t.Helper()
	require.Value(f.Vote(f.t.Context(), id, site.UserName(user), site.Up, ""))(f.t)
}

func (f *fixture) change(e *stored.Endpoint, change stored.Change) (secret string) {
	f.t.Helper()
	_, secret, err := f.Webhooks.ChangeWebhook(f.t.Context(), e.ID(), change, moderator)
	require.NoError(f.t, err)
	return secret
}

func (f *fixture) endpoint() *stored.Endpoint {
	f.t.Helper()
	return require.Value(f.Webhooks.AllWebhooks(f.t.Context(), moderator))(f.t)[0]
}

func (f *fixture) read(id site.ArticleID) *site.Article {
	f.t.Helper()
	articles, errs := f.Articles.ArticlesByID(f.t.Context(), []site.ArticleID{id})
	require.NoError(f.t, errs[0])
	return articles[0]
}

// received is an event as the receiver got it.
type received struct {
	ID, Type, Article, Body string
	Revision                int
	At                      time.Time // of the try
}

// receiver is an endpoint that verifies signatures by the library of Standard Webhooks.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	keys   []*standard.Webhook
	got    []received
	tries  map[string]int
	ids    map[string]bool    // of got
	answer func(received) int // the status; it is not got unless that is 200
	header http.Header
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{tries: map[string]int{}, ids: map[string]bool{}, answer: func(received) int { return http.StatusOK }, header: http.Header{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, key := range r.keys {
			if err := key.VerifyIgnoringTimestamp(body, req.Header); err != nil {
				t.Errorf("%s: %v", body, err)
			}
		}
		var m struct {
			Type string
			Data struct {
				Article  string
				Revision int
			}
		}
		if err := json.Unmarshal(body, &m); err != nil || len(body) > 20_000 {
			t.Errorf("body %s: %v", body, err)
		}
		seconds, _ := strconv.ParseInt(req.Header.Get("Webhook-Timestamp"), 10, 64)
		e := received{req.Header.Get("Webhook-Id"), m.Type, m.Data.Article, string(body), m.Data.Revision, time.Unix(seconds, 0)}
		if e.ID == "" || strings.Contains(e.ID, ".") || req.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers = %v", req.Header)
		}
		r.tries[e.ID]++
		status := r.answer(e)
		for name, values := range r.header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		if status == http.StatusOK {
			r.got = append(r.got, e)
			r.ids[e.ID] = true
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// secrets sets with which secrets each event must be signed.
func (r *receiver) secrets(all ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = nil
	for _, secret := range all {
		key, err := standard.NewWebhook(secret)
		if err != nil {
			panic(err)
		}
		r.keys = append(r.keys, key)
	}
}

// answers sets what the receiver answers from now on.
func (r *receiver) answers(answer func(received) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// different is how many different events it has got.
func (r *receiver) different() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids)
}

func (r *receiver) triesOf(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries[id]
}

func (f *fixture) await(n int) []received {
	f.t.Helper()
	require.Eventually(f.t, fmt.Sprint(n, " events"), func() bool { return len(f.receiver.all()) >= n })
	return f.receiver.all()
}

// An endpoint gets the events of its kinds, from when it was added on.
func TestEndpointGetsEvents(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4} {
		t.Run(fmt.Sprint(n, " partitions"), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil, redisrepo.WithPartitions(n))
			f.follow(f.Repo)
			f.post("before")
			f.add(events.EventPosted, events.EventVoted, events.EventDeleted)
			id := f.post("one", "go")
			f.vote(id, "bob")
			require.Value(f.Regroup(t.Context(), id, moderator, []string{"web"}, nil))(t)
			require.Value(f.Delete(t.Context(), id, moderator, site.Why{Ground: site.GroundRules, Reason: "spam"}))(t)
			var got []string
			for _, e := range f.await(3) {
				got = append(got, e.Type)
			}
			if want := []string{"article.posted", "article.voted", "article.deleted"}; !slices.Equal(got, want) {
				t.Errorf("types = %v, want %v", got, want)
			}
			deleted := f.receiver.all()[2]
			for _, want := range []string{`"article":"` + id.String() + `"`, `"votes":2`, `"upvotes":2`, `"downvotes":0`, `"ground":"rules"`, `"reason":"spam"`} {
				if !strings.Contains(deleted.Body, want) {
					t.Errorf("%s has no %s", deleted.Body, want)
				}
			}
			for _, e := range f.receiver.all() {
				if strings.Contains(e.Body, "bob") || strings.Contains(e.Body, "alice") || strings.Contains(e.Body, "mod\"") {
					t.Errorf("%s names a user", e.Body)
				}
			}
			require.Eventually(t, "nothing to wait", func() bool { return f.endpoint().Undelivered == 0 })
		})
	}
}

// A failed event is sent again after growing pauses, with the same id, and holds back events of its article only.
// When all tries have failed, the endpoint is paused, and ending that has it sent again.
func TestFailedEventsAreSentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id, other := f.post("fails"), f.post("goes on")
	e := f.add()
	f.receiver.answers(func(e received) int {
		if e.Article == id.String() {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	sender, _ := f.follow(f.Repo)
	f.vote(id, "bob")
	f.vote(id, "carol")
	f.vote(other, "bob")
	f.await(1)
	require.Eventually(t, "the failed event to be saved", func() bool { return f.endpoint().Undelivered == 2 })
	failed := require.Value(f.Webhooks.ReadUndelivered(t.Context(), e))(t)
	if failed[0].Tries != 1 || failed[1].Tries != 0 {
		t.Fatalf("tries = %d, %d, want 1 and 0", failed[0].Tries, failed[1].Tries)
	}
	f.vote(other, "carol")
	f.await(2)
	var pauses []time.Duration
	for tries := 1; tries < 17; tries++ {
		next := require.Value(f.Webhooks.ReadUndelivered(t.Context(), e))(t)[0].Next
		pause := time.UnixMilli(next).Sub(f.Store.Now())
		pauses = append(pauses, pause)
		f.clock.Add(int64(pause/time.Second) + 1)
		require.Eventually(t, fmt.Sprint("try ", tries+1), func() bool { return f.receiver.triesOf(failed[0].ID) == tries+1 })
		require.Eventually(t, "its result", func() bool {
			u := require.Value(f.Webhooks.ReadUndelivered(t.Context(), e))(t)[0]
			return u.Tries == tries+1 || f.endpoint().Paused != ""
		})
	}
	for i, want := range []time.Duration{
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
		5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	} {
		if most := want/10 + time.Second; pauses[i] < want-most || pauses[i] > want+most {
			t.Errorf("pause %d = %v, want %v within a tenth", i+1, pauses[i], want)
		}
	}
	if got := f.endpoint(); !strings.Contains(got.Paused, "failed 17 times: 500") || got.Undelivered != 2 {
		t.Fatalf("endpoint = %+v, want it paused", got)
	}
	require.Eventually(t, "the pause in the statistics", func() bool { return sender.Stats().Endpoints[e.ID()].Paused })
	f.receiver.answers(func(received) int { return http.StatusOK })
	before := f.receiver.triesOf(failed[0].ID)
	f.change(e, stored.Change{Paused: new(false)})
	got := f.await(4)
	if got[2].ID != failed[0].ID || got[3].ID != failed[1].ID || f.receiver.triesOf(failed[0].ID) != before+1 {
		t.Errorf("events %v and %v, want %v and %v", got[2].ID, got[3].ID, failed[0].ID, failed[1].ID)
	}
	// The sender counts a try once it has read the answer.
	require.Eventually(t, "17 failed and 4 delivered tries in the statistics", func() bool {
		stats := sender.Stats()
		return stats.Failed == 17 && stats.Delivered == 4
	})
}

// refuses has the receiver answer 500 to events of some articles.
func (f *fixture) refuses(ids ...site.ArticleID) {
	f.receiver.answers(func(e received) int {
		if slices.ContainsFunc(ids, func(id site.ArticleID) bool { return e.Article == id.String() }) {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
}

// An article whose events are refused holds back no other, however many they are, and gets all of them later, in their order, also
// from another process.
func TestRefusedArticleHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4} {
		t.Run(fmt.Sprint(n, " partitions"), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil, redisrepo.WithPartitions(n))
			id := f.post("refused")
			f.add(events.EventPosted, events.EventVoted)
			f.refuses(id)
			o := webhooks.Options{MaxWaiting: 100}
			_, stop := f.followWith(f.Repo, o)
			const votes = 300
			for i := range votes {
				f.vote(id, fmt.Sprint("user", i))
			}
			f.post("another")
			if got := f.await(1); got[0].Type != "article.posted" {
				t.Fatalf("got %v, want the other article", got)
			}
			if e := f.endpoint(); e.Undelivered != 10 || e.Paused != "" || !strings.HasPrefix(e.Error, "500") {
				t.Fatalf("endpoint = %+v, want 10 undelivered events and the error", e)
			}
			stop()
			f.refuses()
			_, stop = f.followWith(f.open(f.server.Client), o)
			f.clock.Add(int64(25 * time.Hour / time.Second))
			f.await(votes / 2)
			stop()
			f.followWith(f.Repo, o)
			f.vote(id, "the last")
			require.Eventually(t, "all events", func() bool { return f.receiver.different() == votes+2 })
			revision := 1
			for _, e := range f.receiver.all() {
				if e.Article == id.String() && e.Revision != revision {
					revision++
					if e.Revision != revision {
						t.Fatalf("revision %d came after %d", e.Revision, revision-1)
					}
				}
			}
			require.Eventually(t, "nothing to wait", func() bool { e := f.endpoint(); return e.Undelivered == 0 && e.Error == "" && len(e.Held) == 0 })
		})
	}
}

// An endpoint that accepts events, but refuses those of so many articles that no further ones can wait, is paused, and says why.
// One that accepts none gets the first again from time to time, and all once it accepts that.
func TestEndpointWhoseEventsCannotWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	var ids []site.ArticleID
	for i := range 25 {
		ids = append(ids, f.post(fmt.Sprint("article ", i)))
	}
	e := f.add()
	f.refuses(ids...)
	f.followWith(f.Repo, webhooks.Options{MaxWaiting: 20})
	for _, id := range ids {
		f.vote(id, "bob")
	}
	require.Eventually(t, "the limit", func() bool { return f.endpoint().Undelivered >= 20 })
	f.post("another")
	tried := f.receiver.triesOf(require.Value(f.Webhooks.ReadUndelivered(t.Context(), e))(t)[0].ID)
	f.refuses()
	f.clock.Add(90)
	if all := f.await(26); tried == 0 || f.endpoint().Paused != "" {
		t.Fatalf("%d events, %+v", len(all), f.endpoint())
	}
	accepted := f.post("accepted")
	f.refuses(ids...)
	for i, id := range ids {
		f.vote(id, "carol")
		f.vote(accepted, fmt.Sprint("user", i))
	}
	require.Eventually(t, "the pause", func() bool {
		paused := f.endpoint().Paused
		return strings.Contains(paused, "events wait to be sent again, although it accepts others: 500")
	})
}

// Where three of ten tries fail, as if at random, the events of a minute do not pile up. A second passes when all that is due was
// tried.
func TestRandomFailuresKeepNothingBackForLong(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	e := f.add()
	f.receiver.answers(func(got received) int {
		var article uint64
		require.Value(fmt.Sscanf(got.Article, "article:%d", &article))(t)
		r := rand.New(rand.NewPCG(article, uint64(100*got.Revision+f.receiver.tries[got.ID]))) // #nosec G115 G404 -- a test
		if r.IntN(10) < 3 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	ids := make([]site.ArticleID, 40)
	for i := range ids {
		ids[i] = f.post(fmt.Sprint("article ", i))
	}
	const rounds = 20
	for i := range rounds {
		for _, id := range ids {
			f.vote(id, fmt.Sprint("user", i))
		}
	}
	f.follow(f.Repo)
	events := len(ids) * (rounds + 1)
	isTried := func() bool {
		undelivered := require.Value(f.Webhooks.ReadUndelivered(t.Context(), e))(t)
		seen := map[site.ArticleID]bool{}
		for _, u := range undelivered {
			if !seen[u.Article] && u.Next <= f.Store.Now().UnixMilli() {
				return false
			}
			seen[u.Article] = true
		}
		return f.receiver.different()+len(undelivered) >= events
	}
	seconds := 0
	for ; f.receiver.different() < events; seconds++ {
		require.Eventually(t, "tries", isTried)
		f.clock.Add(1)
	}
	if seconds > 60 {
		t.Errorf("%d seconds", seconds)
	}
}

// Retry-After is obeyed up to a day, 410 pauses at once, and a redirect is a failure that is not followed.
func TestAnswersOfEndpoints(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]time.Duration{http.StatusTooManyRequests: time.Hour, http.StatusFound: 250 * time.Millisecond, http.StatusServiceUnavailable: time.Hour} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			e := f.add()
			f.receiver.header.Set("Location", f.receiver.URL+"/elsewhere")
			if status != http.StatusFound {
				f.receiver.header.Set("Retry-After", "3600")
			}
			f.receiver.answers(func(received) int { return status })
			f.follow(f.Repo)
			f.post("one")
			require.Eventually(t, "the failure", func() bool { return f.endpoint().Undelivered == 1 })
			u := require.Value(f.Webhooks.ReadUndelivered(t.Context(), e))(t)[0]
			if pause := time.UnixMilli(u.Next).Sub(f.Store.Now()); pause < want*9/10-time.Second || pause > want*11/10+time.Second || f.receiver.triesOf(u.ID) != 1 {
				t.Errorf("pause = %v after %d tries, want %v after 1", pause, f.receiver.triesOf(u.ID), want)
			}
		})
	}
	f := newFixture(t, nil)
	f.add()
	f.receiver.answers(func(received) int { return http.StatusGone })
	f.follow(f.Repo)
	f.post("one")
	require.Eventually(t, "the pause", func() bool { return strings.Contains(f.endpoint().Paused, "410") })
}

// Beyond what the feed keeps, the endpoint gets the event gap, and is paused. It never holds back trimming.
func TestEndpointLearnsWhatItHasMissed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(r *site.Rules) { r.Events = 100 })
	e := f.add()
	f.change(e, stored.Change{Paused: new(true)})
	id := f.post("one")
	for i := range 700 {
		f.vote(id, fmt.Sprint("user", i))
	}
	require.NoError(t, f.server.Client.XTrimMaxLen(t.Context(), f.Store.Partitions[0].Events(), 100).Err())
	f.follow(f.Repo)
	f.change(e, stored.Change{Paused: new(false)})
	require.Eventually(t, "the pause", func() bool { return strings.HasPrefix(f.endpoint().Paused, "events were lost") })
	if got := f.await(1); len(got) != 1 || got[0].Type != "gap" || !strings.Contains(got[0].Body, `"keptFrom":"2`) {
		t.Fatalf("events = %v, want a gap", got)
	}
	f.change(e, stored.Change{Paused: new(false)})
	if got := f.await(101); got[1].Revision != 602 || got[100].Revision != 701 {
		t.Errorf("after it revisions %d to %d, want 602 to 701", got[1].Revision, got[100].Revision)
	}
}

// When the store has lost events that the endpoint got, it gets the event gap, and deliveries go on.
func TestEndpointLearnsWhatTheStoreHasLost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.add()
	_, stop := f.follow(f.Repo)
	id := f.post("one")
	f.vote(id, "bob")
	f.await(2)
	stop()
	log := f.Store.Partitions[0].Events()
	last := require.Value(f.server.Client.XRevRangeN(t.Context(), log, "+", "-", 1).Result())(t)[0].ID
	require.NoError(t, f.server.Client.XDel(t.Context(), log, last).Err())
	f.vote(id, "carol")
	f.follow(f.Repo)
	var types []string
	for _, e := range f.await(5)[2:] { // the post again, for it is less than 10 s before
		types = append(types, e.Type)
	}
	slices.Sort(types)
	if want := []string{"article.posted", "article.voted", "gap"}; !slices.Equal(types, want) || f.endpoint().Paused != "" {
		t.Errorf("got %v, paused %q; want %v", types, f.endpoint().Paused, want)
	}
}

// Events are signed with both secrets for a day after a new one was made. A secret is not stored in plain text.
func TestSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	e, first, err := f.Webhooks.AddWebhook(t.Context(), f.receiver.URL+"/events", nil, moderator)
	require.NoError(t, err)
	delivered := func(n int, secrets ...string) {
		t.Helper()
		f.receiver.secrets(secrets...)
		f.post(fmt.Sprint("article ", n))
		_, stop := f.follow(f.Repo)
		f.await(n)
		stop()
	}
	delivered(1, first)
	second := f.change(e, stored.Change{NewSecret: true})
	delivered(2, first, second)
	f.clock.Add(24*60*60 + 1)
	delivered(3, second)
	for field, value := range f.server.Client.HGetAll(t.Context(), f.Store.Partitions[0].Webhook(e.Name)).Val() {
		if strings.Contains(value, strings.TrimPrefix(second, "whsec_")) {
			t.Errorf("%s has the secret", field)
		}
	}
}

// redeliver sends what is kept since a time again, with the same ids.
func TestEventsAreSentAgainOnRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	e := f.add()
	f.follow(f.Repo)
	f.post("one")
	f.post("two")
	before := f.await(2)
	f.change(e, stored.Change{Since: new(time.Now().Add(-time.Minute))})
	after := f.await(4)[2:]
	for _, e := range before {
		if !slices.ContainsFunc(after, func(again received) bool { return again.ID == e.ID && again.Body == e.Body }) {
			t.Errorf("again %v, want %v", after, before)
		}
	}
}

// Without an endpoint, a process looks for one now and then, and asks for nothing else.
func TestNoEndpointCostsALook(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	var commands []string
	var mu sync.Mutex
	client := redis.NewClient(f.server.Client.Options())
	t.Cleanup(func() { _ = client.Close() })
	repo := f.open(client)
	client.AddHook(redistest.Before(func(all ...redis.Cmder) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range all {
			commands = append(commands, c.Name())
		}
	}))
	_, stop := f.follow(repo)
	require.Eventually(t, "some looks", func() bool { mu.Lock(); defer mu.Unlock(); return len(commands) > 3 })
	stop()
	if others := slices.DeleteFunc(commands, func(name string) bool { return name == "hgetall" }); len(others) > 0 {
		t.Errorf("commands = %v, want hgetall alone", others)
	}
}

// events is how many events TestKilledSendersDeliverEverything sends.
func eventsOfTest() int {
	if n, err := strconv.Atoi(os.Getenv("WEBHOOK_EVENTS")); err == nil {
		return n
	}
	return programtest.Size(600, 20_000)
}

// Three processes take turns, are killed between any two commands, and lose replies; the receiver fails 30 % of the time and
// drops answers. Every event arrives, and the first arrivals of an article's are in order.
func TestKilledSendersDeliverEverything(t *testing.T) {
	t.Parallel()
	n := eventsOfTest()
	f := newFixture(t, func(r *site.Rules) { r.Events = 2*n + 1000 }, redisrepo.WithPartitions(4))
	f.add()
	random := rand.New(rand.NewPCG(1, 2))
	f.receiver.answers(func(received) int { // the receiver's lock guards random
		if random.IntN(10) < 3 {
			return []int{500, 429, 404, 302}[random.IntN(4)]
		}
		return http.StatusOK
	})
	const articles = 40
	var ids []site.ArticleID
	for i := range articles {
		ids = append(ids, f.post(fmt.Sprint("article ", i)))
	}
	stopped := make(chan struct{})
	var senders sync.WaitGroup
	for i := range 3 {
		senders.Go(func() { f.keepKilling(uint64(i), stopped) })
	}
	for i := range n - articles {
		f.vote(ids[i%articles], fmt.Sprint("user", i/articles))
		if i%20 == 0 {
			f.clock.Add(60)
		}
	}
	written := 0
	for _, id := range ids {
		written += f.read(id).Revision()
	}
	for f.receiver.different() < written {
		f.clock.Add(60)
		if e := f.endpoint(); e.Paused != "" { // of 100,000 events, one may fail ten times
			f.change(e, stored.Change{Paused: new(false)})
		}
		wait := time.NewTimer(5 * time.Millisecond)
		<-wait.C
	}
	close(stopped)
	senders.Wait()
	next := map[string]int{}
	for _, e := range f.receiver.all() {
		if e.Revision > next[e.Article]+1 {
			t.Errorf("%s arrived with revision %d after %d", e.Article, e.Revision, next[e.Article])
		}
		next[e.Article] = max(next[e.Article], e.Revision)
	}
	tries := 0
	for _, n := range f.receiver.tries {
		tries += n
	}
	t.Logf("%d events, %d tries, %d arrivals", written, tries, len(f.receiver.all()))
}

// keepKilling runs senders, each of which cannot reach Redis after some commands, as if it had been killed there.
func (f *fixture) keepKilling(seed uint64, stopped <-chan struct{}) {
	random := rand.New(rand.NewPCG(seed, 3))
	for {
		client := redis.NewClient(f.server.Client.Options())
		repo, err := redisrepo.New(context.Background(), client, f.rules, f.options...)
		if err != nil {
			f.t.Error(err)
			return
		}
		ctx, kill := context.WithCancel(context.Background())
		var left atomic.Int64
		left.Store(int64(20 + random.IntN(300)))
		client.AddHook(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
			if left.Add(-1) < 0 {
				kill()
				return redistest.Fail(context.Canceled, commands)
			}
			return send(ctx, commands)
		}))
		sender := webhooks.New(repo, webhooks.Options{Pause: 2 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
		done := make(chan struct{})
		go func() { defer close(done); sender.Follow(ctx, func(error) {}) }()
		select {
		case <-done:
		case <-stopped:
			kill()
			<-done
		}
		kill()
		_ = client.Close()
		select {
		case <-stopped:
			return
		default:
			f.clock.Add(20) // its lease ends
		}
	}
}
