package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/must"
	"frontpage/programtest"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
)

// gate is a hook that stops each call of vote.lua until it may pass.
type gate struct {
	arrived chan int      // number of votes of each call that stops
	pass    chan struct{} // lets one call pass, all if it is closed
	panics  bool          // instead of sending the call
}

func newGate() *gate { return &gate{arrived: make(chan int, 1000), pass: make(chan struct{})} }

func (*gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if n := votesOfCall(command); n > 0 {
			g.arrived <- n
			select {
			case <-g.pass:
			case <-ctx.Done():
				command.SetErr(ctx.Err())
				return ctx.Err()
			}
			if g.panics && n > 1 {
				panic("a fault in a test")
			}
		}
		return next(ctx, command)
	}
}

func (*gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// votesOfCall returns the number of votes in a call of vote.lua or upvote.lua, and 0 for another command.
func votesOfCall(command redis.Cmder) int {
	args := command.Args()
	if command.Name() != "evalsha" || args[2].(int) < 5 || !strings.Contains(args[4].(string), "voted:") {
		return 0
	}
	if strings.HasSuffix(args[5].(string), "score:") {
		return 1
	}
	if first, ok := args[3+args[2].(int)].(string); !ok || !strings.HasPrefix(first, "article:") {
		return 0
	}
	return (len(args) - 3 - args[2].(int) - 5) / 2
}

// gated is a site with an article, on which a first vote is under way.
type gated struct {
	*testSite
	*gate
	beside *testSite // without the gate
	id     site.ArticleID
	others sync.WaitGroup
}

func withGate(t *testing.T, change func(*site.Rules)) *gated {
	t.Helper()
	g := &gated{gate: newGate(), beside: newSite(t, change, one)}
	g.testSite = g.beside.reopened(g.beside.client(g.gate), nil)
	g.id = g.beside.post("alice", "go", "redis").ID
	g.beside.list(best("go"))
	g.article(g.id) // its groups are known then
	go func() { g.pass <- struct{}{} }()
	g.vote(g.id, "warm", up)
	<-g.arrived
	g.others.Go(func() { g.vote(g.id, "first", up) })
	if n := <-g.arrived; n != 1 {
		t.Fatalf("the first call has %d votes, want 1", n)
	}
	return g
}

// castVote is a vote and what came of it.
type castVote struct {
	voter  site.UserName
	vote   site.Vote
	bucket string

	result redisrepo.VoteResult
	err    error
}

// queue casts a vote, which waits for the call that is under way.
func (g *gated) queue(ctx context.Context, c *castVote) {
	g.t.Helper()
	before := g.Waiting(g.id)
	g.others.Go(func() { c.result, c.err = g.Vote(ctx, g.id, c.voter, c.vote, c.bucket) })
	must.Soon(g.t, "a waiting vote", func() bool { return g.Waiting(g.id) > before })
}

// open lets all calls pass, waits for the votes, and returns how many votes each further call had.
func (g *gated) open() (calls []int) {
	g.t.Helper()
	close(g.pass)
	g.others.Wait()
	close(g.arrived)
	for n := range g.arrived {
		calls = append(calls, n)
	}
	return calls
}

func (g *gated) wantCalls(got []int, want ...int) {
	g.t.Helper()
	if !slices.Equal(got, want) {
		g.t.Errorf("the calls after the first have %v votes, want %v", got, want)
	}
}

// However many votes arrive while a call is under way, they take few further calls. Each has its own message.
func TestVotesOnOneArticleGoTogether(t *testing.T) {
	t.Parallel()
	g := withGate(t, func(r *site.Rules) { r.InterestingVotes = 300 })
	published := g.overhear("changes:0")
	cast := make([]castVote, 450)
	for i := range cast {
		cast[i] = castVote{voter: site.UserName(fmt.Sprint("voter", i)), vote: up}
		g.queue(g.ctx, &cast[i])
	}
	g.wantCalls(g.open(), 200, 200, 50)
	for _, c := range cast {
		if a := c.result.Article; c.err != nil || c.result.Previous != none || !c.result.Changed || a.Votes < 203 || a.Title != "title" || len(a.Groups) != 2 {
			t.Errorf("vote of %s = %+v, %v", c.voter, c.result, c.err)
		}
	}
	voters := map[string]bool{}
	messages := published()
	for i, m := range messages {
		a, err := redisrepo.ParseMessage(m)
		if err != nil || a.Votes != 3+i || !strings.HasPrefix(m, scored(fmt.Sprintf("voted %v %d %d 0 = go redis\n1 user:", g.id, 3+i, 3+i), 3+i)) {
			t.Errorf("message %d is %q, want revision and votes to be %d", i, m, 3+i)
		}
		voters[m[strings.Index(m, "\n"):]] = true
	}
	if len(messages) != 451 || len(voters) != 451 {
		t.Errorf("%d messages of %d voters, want 451 of 451", len(messages), len(voters))
	}
	g.beside.wantList(best(site.Interesting), g.id)
	g.beside.wantClean()
}

// Votes that go together have the same results and effects as votes one after the other.
func TestVotesTogetherEqualVotesOneByOne(t *testing.T) {
	t.Parallel()
	for seed := range programtest.Size[uint64](2, 8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rules := func(r *site.Rules) {
				r.InterestingVotes, r.PosterVotes = 4, seed%2 == 0
				r.Ranking, r.RankCap = site.Ranking(seed%3), 20*time.Minute // three votes
			}
			random := rand.New(rand.NewPCG(seed, 0))
			together, apart := withGate(t, rules), withGate(t, rules)
			close(apart.pass)
			apart.others.Wait()
			heard, heardApart := together.overhear("changes:0"), apart.overhear("changes:0")
			for round := range 6 {
				var cast []*castVote
				voters := []site.UserName{"alice", "first", "warm"}
				for i := range 12 {
					voters = append(voters, site.UserName(fmt.Sprint("voter", i)))
				}
				random.Shuffle(len(voters), func(i, j int) { voters[i], voters[j] = voters[j], voters[i] })
				for _, voter := range voters[:10] {
					if voter == "first" && round == 0 {
						continue // its vote is under way
					}
					cast = append(cast, &castVote{voter: voter, vote: site.Vote(random.IntN(3) - 1), bucket: []string{"", "b1"}[random.IntN(2)]})
				}
				for _, c := range cast {
					together.queue(together.ctx, c)
				}
				together.pass <- struct{}{} // the call under way
				if n := <-together.arrived; n != len(cast) {
					t.Fatalf("the next call has %d votes, want %d", n, len(cast))
				}
				together.pass <- struct{}{}
				together.others.Wait()
				for _, c := range cast {
					result, err := apart.Vote(apart.ctx, apart.id, c.voter, c.vote, c.bucket)
					if result.Article != nil {
						if c.result.Article == nil || c.result.Article.ID != result.Article.ID {
							t.Fatalf("%s votes %v: %+v, %v; one by one %+v", c.voter, c.vote, c.result, c.err, result)
						}
						result.Article, c.result.Article = nil, nil
					}
					if c.result != result || fmt.Sprint(c.err) != fmt.Sprint(err) {
						t.Errorf("%s votes %v: %+v, %v; one by one %+v, %v", c.voter, c.vote, c.result, c.err, result, err)
					}
				}
				if a, b := withoutPeaks(together.beside.dump()), withoutPeaks(apart.beside.dump()); a != b {
					t.Fatalf("the store holds\n%s\nwant\n%s", a, b)
				}
				if round == 1 && together.rules.Ranking == site.Linear { // a legacy client upvotes over what is there
					bookVote(together.beside, "user:voter1", together.id)
					bookVote(apart.beside, "user:voter1", apart.id)
				}
				// The call for the next round.
				together.others.Go(func() { together.vote(together.id, "first", up) })
				<-together.arrived
				apart.vote(apart.id, "first", up)
			}
			together.open()
			if a, b := heard(), heardApart(); !slices.Equal(a[1:], b) { // that of the first call
				t.Errorf("published\n%q\nwant\n%q", a, b)
			}
			together.do("DEL score:go") // legacy clients do not update it
			together.beside.wantClean()
		})
	}
}

// A user's votes count in the order in which they were cast, each after the one before it.
func TestVotesOfOneUserKeepTheirOrder(t *testing.T) {
	t.Parallel()
	g := withGate(t, nil)
	cast := make([]castVote, 6)
	for i, vote := range []site.Vote{up, down, down, none, down, up} {
		cast[i] = castVote{voter: "bob", vote: vote}
		g.queue(g.ctx, &cast[i])
	}
	carol := castVote{voter: "carol", vote: up}
	g.queue(g.ctx, &carol)
	g.wantCalls(g.open(), 2, 1, 1, 1, 1, 1)
	previous := none
	for i, c := range cast {
		if c.err != nil || c.result.Previous != previous || c.result.Changed != (c.vote != previous) {
			t.Errorf("vote %d = %+v, %v, want Previous %v", i, c.result, c.err, previous)
		}
		previous = c.vote
	}
	g.beside.wantClean()
}

// A caller that gives up leaves at once, and fails no other vote: whether its own is waiting or under way.
func TestCanceledVoteFailsNoOther(t *testing.T) {
	t.Parallel()
	g := withGate(t, nil)
	waiting, cancelWaiting := context.WithCancel(g.ctx)
	sent, cancelSent := context.WithCancel(g.ctx)
	bob, carol, dave := castVote{voter: "bob", vote: up}, castVote{voter: "carol", vote: up}, castVote{voter: "dave", vote: up}
	g.queue(waiting, &bob)
	g.queue(sent, &carol)
	g.queue(g.ctx, &dave)
	cancelWaiting()
	must.Soon(t, "a vote that no longer waits", func() bool { return g.Waiting(g.id) == 2 })
	g.pass <- struct{}{}
	if n := <-g.arrived; n != 2 {
		t.Errorf("the next call has %d votes, want 2", n)
	}
	cancelSent()
	g.open()
	for _, c := range []castVote{bob, carol} {
		if !errors.Is(c.err, context.Canceled) || errors.Is(c.err, failover.ErrUnavailable) {
			t.Errorf("canceled vote of %s: %v, want context.Canceled", c.voter, c.err)
		}
	}
	if dave.err != nil || !dave.result.Changed {
		t.Errorf("vote of dave = %+v, %v, want it to count", dave.result, dave.err)
	}
	if got := g.beside.positions("bob", g.id) + g.beside.positions("carol", g.id) + g.beside.positions("dave", g.id); got != "0++" {
		t.Errorf("positions of bob, carol and dave = %s, want 0++: carol's was sent", got)
	}
	g.beside.wantClean()
}

// The first caller's context ends its own call only.
func TestCanceledFirstVoteLetsTheOthersPass(t *testing.T) {
	t.Parallel()
	g := withGate(t, nil)
	g.pass <- struct{}{}
	g.others.Wait()
	ctx, cancel := context.WithCancel(g.ctx)
	bob, carol := castVote{voter: "bob", vote: up}, castVote{voter: "carol", vote: up}
	g.others.Go(func() { bob.result, bob.err = g.Vote(ctx, g.id, bob.voter, bob.vote, "") })
	<-g.arrived
	g.queue(g.ctx, &carol)
	cancel()
	g.wantCalls(g.open(), 1)
	if !errors.Is(bob.err, context.Canceled) || carol.err != nil {
		t.Errorf("errors of bob and carol = %v, %v, want context.Canceled and none", bob.err, carol.err)
	}
	g.beside.wantClean()
}

// A fault in a call fails its votes, and the article takes the next ones.
func TestPanicInACallLeavesNoVoteWaiting(t *testing.T) {
	t.Parallel()
	g := withGate(t, nil)
	g.panics = true
	cast := []*castVote{{voter: "bob", vote: up}, {voter: "carol", vote: up}}
	for _, c := range cast {
		g.queue(g.ctx, c)
	}
	g.open()
	for _, c := range cast {
		if c.err == nil || errors.Is(c.err, failover.ErrUnavailable) {
			t.Errorf("vote of %s: %v, want an error that is not an outage", c.voter, c.err)
		}
	}
	g.arrived = make(chan int, 1)
	g.vote(g.id, "dave", up)
	if n := g.Waiting(g.id); n != 0 {
		t.Errorf("%d votes wait, want none", n)
	}
	g.beside.wantClean()
}

// After Redis has left a call without a reply, the votes that waited for it do not wait as long once again.
func TestWaitingVotesFailWithACallWithoutReply(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.post("alice").ID
	options := *s.server.Client.Options()
	options.ReadTimeout = time.Second
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	failover.LimitWaiting(client)
	g := &gated{gate: newGate(), beside: s, id: id}
	client.AddHook(g.gate)
	g.testSite = s.reopened(client, nil)
	first := castVote{voter: "first", vote: up}
	g.others.Go(func() { first.result, first.err = g.Vote(g.ctx, id, "first", up, "") })
	<-g.arrived
	cast := []*castVote{{voter: "bob", vote: up}, {voter: "carol", vote: up}}
	for _, c := range cast {
		g.queue(g.ctx, c)
	}
	g.others.Wait() // the call never passes
	for _, c := range append(cast, &first) {
		if !errors.Is(c.err, failover.ErrUnavailable) {
			t.Errorf("vote of %s: %v, want ErrUnavailable", c.voter, c.err)
		}
	}
	if n := len(g.arrived); n != 0 {
		t.Errorf("%d further calls, want none", n)
	}
	close(g.pass)
	g.vote(id, "dave", up)
	s.wantClean()
}

// If the reply to a call is lost, no vote of it claims to know what was before. All of them count once.
func TestVotesTogetherAfterALostReply(t *testing.T) {
	t.Parallel()
	h := new(redistest.LostReply)
	g := withGate(t, nil)
	g.pass <- struct{}{}
	g.others.Wait()
	client := g.beside.repeating(h)
	client.AddHook(g.gate)
	g.testSite = g.beside.reopened(client, nil)
	g.article(g.id)
	go func() { g.pass <- struct{}{} }()
	g.vote(g.id, "warm", down)
	<-g.arrived
	g.others.Go(func() { g.vote(g.id, "other", up) })
	<-g.arrived
	cast := []*castVote{{voter: "bob", vote: up}, {voter: "warm", vote: down}, {voter: "first", vote: down}, {voter: "dave", vote: none}}
	for _, c := range cast {
		g.queue(g.ctx, c)
	}
	g.pass <- struct{}{}
	if n := <-g.arrived; n != 4 {
		t.Fatalf("the next call has %d votes, want 4", n)
	}
	h.Armed.Store(true)
	g.open()
	for _, c := range cast {
		if c.err != nil || !c.result.Unknown || !c.result.Changed || h.Armed.Load() {
			t.Errorf("vote of %s = %+v, %v, want it to be unknown", c.voter, c.result, c.err)
		}
	}
	if a := g.beside.article(g.id); a.Upvotes != 3 || a.Downvotes != 2 { // alice, other, bob; warm, first
		t.Errorf("votes = +%d -%d, want +3 -2", a.Upvotes, a.Downvotes)
	}
	g.beside.wantClean()
}

// Watchers of another process see the votes that went together as if each had come alone, and their own.
func TestWatchersSeeEachOfTheVotesTogether(t *testing.T) {
	t.Parallel()
	g := withGate(t, nil)
	counted := new(counter)
	l := g.beside.reopened(g.beside.client(redistest.Before(counted.add)), nil).listen()
	w := l.watch(g.id)
	voters := []site.UserName{"bob", "carol", "dave"}
	for _, voter := range voters {
		if vote, _ := watchedVote(l, counted, voter, l.article(g.id)); vote != none {
			t.Errorf("WatchedVote of %s = %d, want none", voter, vote)
		}
	}
	cast := []*castVote{{voter: "bob", vote: up}, {voter: "carol", vote: down}, {voter: "dave", vote: up}}
	for _, c := range cast {
		g.queue(g.ctx, c)
	}
	g.wantCalls(g.open(), 3)
	a := until(t, w, 4)
	l.pass() // all messages have arrived
	for _, c := range cast {
		if vote, trips := watchedVote(l, counted, c.voter, a); vote != c.vote || trips != 0 {
			t.Errorf("WatchedVote of %s = %d in %d round trips, want %d in 0", c.voter, vote, trips, c.vote)
		}
	}
}

// Many voters and two processes: every vote counts once, and its result says what was before.
func TestVotesTogetherOfTwoProcessesAreExact(t *testing.T) {
	t.Parallel()
	s := two(t)
	a := s[0].post("alice", "go")
	s[0].list(best("go"))
	const users, casts = 40, 12
	last := make([]site.Vote, users)
	together(users, func(user int) {
		random := rand.New(rand.NewPCG(uint64(user), 0))
		name := site.UserName(fmt.Sprint("voter", user))
		for range casts {
			vote := site.Vote(random.IntN(3) - 1)
			result, err := s[random.IntN(2)].Vote(t.Context(), a.ID, name, vote, "b")
			if err != nil || result.Previous != last[user] || result.Changed != (vote != last[user]) {
				t.Errorf("vote %v of %s = %+v, %v, want Previous %v", vote, name, result, err, last[user])
			}
			last[user] = vote
		}
	})
	ups, downs := 1, 0
	for _, vote := range last {
		switch vote {
		case up:
			ups++
		case down:
			downs++
		case none:
		}
	}
	if a := s[0].article(a.ID); a.Upvotes != ups || a.Downvotes != downs {
		t.Errorf("votes = +%d -%d, want +%d -%d", a.Upvotes, a.Downvotes, ups, downs)
	}
	s[0].wantClean()
}

// withoutPeaks leaves the bounds of the calendar out of a dump: votes that go together pass no count between.
func withoutPeaks(dump string) string {
	return regexp.MustCompile(` p:[hdm]:\d+:-?\d+`).ReplaceAllString(dump, "")
}
