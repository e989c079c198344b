package failover_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// failingNext is a hook that fails the next commands with an error of Redis, without sending them; if lost is set, it
// sends them and loses the reply.
type failingNext struct {
	failures atomic.Int64
	reply    string
	lost     bool
	only     string // an argument of the commands that fail; empty: all do
}

var errLost = &net.OpError{Op: "read", Err: errors.New("connection reset")}

func (h *failingNext) fail(command redis.Cmder) error {
	if h.failures.Load() <= 0 || h.only != "" && !slices.Contains(command.Args(), any(h.only)) {
		return nil
	}
	h.failures.Add(-1)
	if h.lost && h.reply == "" {
		return errLost
	}
	return redisError(h.reply)
}

// hook fails the last command of a pipeline only.
func (h *failingNext) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	last := len(commands) - 1
	if redistest.IsAside(commands[last]) {
		return send(ctx, commands)
	}
	failure := h.fail(commands[last])
	if failure == nil {
		return send(ctx, commands)
	}
	sent := commands
	if !h.lost {
		sent = commands[:last]
	}
	if len(sent) > 0 {
		_ = send(ctx, sent)
	}
	return redistest.Fail(failure, commands[last:])
}

// underSentinel returns the site as a client sees it that asks Sentinel for the address.
func underSentinel(s *repotest.Site, hooks ...redis.Hook) *repotest.Site {
	return s.Reopened(sentinelClient(s, hooks...), nil)
}

func sentinelClient(s *repotest.Site, hooks ...redis.Hook) *redis.Client {
	client := s.ClientWith(func(o *redis.Options) {
		o.Network, o.Addr, o.MaxRetries, o.ReadTimeout = "tcp", "FailoverClient", -1, 400*time.Millisecond
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.Server.Socket())
		}
	})
	failover.LimitWaiting(client)
	for _, h := range hooks {
		client.AddHook(h)
	}
	return client
}

// What fails for a passing reason is repeated, each command of a pipeline for itself.
func TestPassingFailuresAreRepeated(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"MOVED 1 127.0.0.1:1", "ASK 1 127.0.0.1:1", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "UNBLOCKED",
		"READONLY You can't write against a read only replica. script: 1, on @user_script:2.",
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			plain := repotest.New(t, nil)
			h := &failingNext{reply: reply}
			s := underSentinel(plain, redistest.Hook(h.hook))
			a := s.MustPost("alice", "go")
			h.failures.Store(2)
			if got := s.MustVote(a.ID, "bob", site.Up); got.Unknown || got.Previous != site.None || got.Article.Votes != 2 {
				t.Errorf("Vote = %+v with %d votes, want the first vote of bob", got, got.Article.Votes)
			}
			h.failures.Store(2)
			s.WantList(repotest.Best("go"), a.ID)
			h.failures.Store(2)
			articles, errs := s.Articles.ArticlesByID(s.Ctx, []site.ArticleID{a.ID, a.ID})
			if errors.Join(errs...) != nil || articles[1].Votes != 2 {
				t.Errorf("ArticlesByID = %v, %v", articles, errs)
			}
			h.failures.Store(3)
			if added, errs := s.Import(s.Ctx, repotest.OldArticles(3)); errors.Join(errs...) != nil || slices.Contains(added, false) {
				t.Errorf("Import = %v, %v, want three articles added", added, errs)
			}
			if left := h.failures.Load(); left > 0 {
				t.Errorf("%d failures are left", left)
			}
			s.WantClean()
		})
	}
}

// A cluster whose slots move may run the commands of a pipeline in any order: a first post finds its own idempotency key.
func TestPostingIsInNoOrder(t *testing.T) {
	t.Parallel()
	plain := repotest.New(t, nil, redisrepo.WithPartitions(len(repotest.Four)))
	s := plain.Reopened(repeating(plain, redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		backwards := slices.Clone(commands)
		slices.Reverse(backwards)
		return send(ctx, backwards)
	})), nil)
	for i := range 8 {
		d := s.Fresh()
		d.IdempotencyKey = new(string(rune('a' + i)))
		require.Value(s.Post(s.Ctx, "alice", d))(t)
	}
	plain.WantClean()
}

// A vote that is repeated after its reply was lost claims to know nothing of the position before.
func TestVoteRepeatedThroughAFailoverClaimsNothing(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"", "MOVED 1 127.0.0.1:1", "ASK 1 127.0.0.1:1"} { // what go-redis says of it
		h := &failingNext{reply: reply, lost: true}
		s := underSentinel(repotest.New(t, nil), redistest.Hook(h.hook))
		a := s.MustPost("alice")
		h.failures.Store(3)
		if got := s.MustVote(a.ID, "bob", site.Up); !got.Unknown || !got.Changed || got.Article.Votes != 2 {
			t.Errorf("after %q: Vote = %+v, want an unknown position before", reply, got)
		}
		if got := s.MustVote(a.ID, "bob", site.Down); got.Unknown || got.Previous != site.Up {
			t.Errorf("Vote = %+v, want the position before", got)
		}
	}
}

// The same after another failure, with which nothing had run yet, and if the groups have changed since the lost reply.
func TestVoteRepeatedAfterALostReplyClaimsNothing(t *testing.T) {
	t.Parallel()
	plain := repotest.New(t, nil, repotest.One)
	refusing, losing := &failingNext{reply: "TRYAGAIN"}, new(redistest.LostReply)
	s := plain.Reopened(sentinelClient(plain, losing, redistest.Hook(refusing.hook)), nil, redisrepo.WithAcks(1)) // which has pipelines
	a := s.MustPost("alice", "go")
	s.MustVote(a.ID, "warm", site.Up)
	losing.Then = func() { plain.MustRegroup(a, []string{"redis"}, nil) }
	losing.Armed.Store(true)
	refusing.failures.Store(1)
	if got := s.MustVote(a.ID, "bob", site.Up); losing.Armed.Load() || refusing.failures.Load() > 0 || !got.Unknown || !got.Changed || got.Article.Votes != 3 {
		t.Errorf("Vote = %+v, want an unknown position before", got)
	}
}

// A script that a server does not know is sent again until it has a reply.
func TestTextOfAScriptIsRepeated(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool // a connection fails instead of sending the text of a script
	s := underSentinel(repotest.New(t, nil, repotest.One), redistest.Writing(func(conn net.Conn, b []byte) (int, error) {
		if bytes.Contains(b, []byte("\r\neval\r\n")) && armed.CompareAndSwap(true, false) {
			return 0, errors.Join(errLost, conn.Close())
		}
		return conn.Write(b)
	}))
	a := s.MustPost("alice", "go")
	s.Do("SCRIPT FLUSH")
	armed.Store(true)
	s.WantList(repotest.Best("go"), a.ID)
	if armed.Load() {
		t.Error("no text of a script was to be sent")
	}
}

// An import whose replies are lost does not take what it has just added for what was there before.
func TestImportCountsWhatItAddedThoughRepliesAreLost(t *testing.T) {
	t.Parallel()
	for name, votes := range map[string]int{"together": 3, "in steps": 2000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := repotest.New(t, nil)
			lost := func() *failingNext { return &failingNext{lost: true, only: "https://example.com/old"} }
			forPatient, forSingle := lost(), lost()
			forPatient.failures.Store(3)
			forSingle.failures.Store(1) // it repeats once
			for i, s := range []*repotest.Site{underSentinel(plain, redistest.Hook(forPatient.hook)), plain.Reopened(repeating(plain, redistest.Hook(forSingle.hook)), nil)} {
				article := repotest.Old(site.ArticleID(i+1), time.Hour, votes)
				s.MustImport(article)
				if added, errs := s.Import(s.Ctx, []redisrepo.Imported{article}); errs[0] != nil || added[0] {
					t.Errorf("the next Import = %v, %v, want nothing added", added, errs)
				}
			}
			plain.WantClean()
		})
	}
}

// A call that waits for a server in vain ends before its request does, and says that the store does not answer.
func TestWaitingEndsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*failingNext{"refused": {reply: "CLUSTERDOWN"}, "lost": {lost: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := underSentinel(repotest.New(t, nil), redistest.Hook(h.hook))
			a := s.MustPost("alice")
			h.failures.Store(1 << 30)
			ctx, cancel := context.WithTimeout(s.Ctx, 3*time.Second)
			defer cancel()
			_, err := s.Vote(failover.FailFast(ctx), a.ID, "bob", site.Up, "")
			if !errors.Is(err, failover.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
				t.Errorf("Vote: %v with the context's %v, want ErrUnavailable before the deadline", err, ctx.Err())
			}
			h.failures.Store(0)
			require.Value(s.Vote(failover.FailFast(s.Ctx), a.ID, "bob", site.Up, ""))(t)
		})
	}
}

// No more than a thousand calls wait: a further one fails at once.
func TestFewCallsWait(t *testing.T) { // with the race detector
	t.Parallel()
	h := &failingNext{reply: "CLUSTERDOWN"}
	s := underSentinel(repotest.New(t, nil), redistest.Hook(h.hook))
	h.failures.Store(1 << 30)
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	refused := make(chan error, 1)
	var all sync.WaitGroup
	for range 1001 {
		all.Go(func() {
			if _, err := s.Lists.List(ctx, lists.PostedBy("alice"), 1, nil); !errors.Is(err, context.Canceled) {
				select {
				case refused <- err:
				default:
				}
			}
		})
	}
	select {
	case err := <-refused:
		if !errors.Is(err, failover.ErrUnavailable) {
			t.Errorf("List: %v, want ErrUnavailable", err)
		}
	case <-time.After(require.Timeout):
		t.Error("1001 calls wait")
	}
	cancel()
	all.Wait()
}

// confirmedSite returns a site of one partition with 16 articles, whose writes a replica confirms and whose calls share round trips.
func confirmedSite(t *testing.T, hooks ...redis.Hook) (repo *redisrepo.Repo, ids []site.ArticleID, primary, replica *redistest.Server) {
	t.Helper()
	port := redistest.UnusedPort(t)
	primary = require.Value(redistest.Open("--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"))(t)
	t.Cleanup(primary.Close)
	replica = require.Value(redistest.Open("--replicaof", "127.0.0.1 "+port))(t)
	t.Cleanup(replica.Close)
	require.Eventually(t, "the replica is online", func() bool {
		return strings.Contains(primary.Client.Info(t.Context(), "replication").Val(), "state=online")
	})
	options := *primary.Client.Options()
	options.ReadTimeout = 5 * time.Second
	options.DisableIdentity = true // as in the program
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	for _, h := range hooks {
		client.AddHook(h)
	}
	failover.LimitWaiting(client)
	repo = require.Value(redisrepo.New(t.Context(), client, site.DefaultRules(), redisrepo.WithPartitions(1), redisrepo.WithAcks(1)))(t)
	require.NoError(t, wire.Join(t.Context(), client, wire.JoinWait))
	text := "text"
	for range 16 { // votes on one article would wait for each other
		ids = append(ids, require.Value(repo.Post(t.Context(), "alice", site.Draft{Title: "title", Text: &text}))(t).ID)
	}
	return repo, ids, primary, replica
}

// While the replica that is to confirm votes does not answer, no vote is acknowledged, although votes and reads of many
// callers share round trips.
func TestVotesThatNoReplicaConfirmsFailTogether(t *testing.T) { // with the race detector
	t.Parallel()
	repo, ids, _, replica := confirmedSite(t)
	require.Value(repo.Vote(t.Context(), ids[0], "bob", site.Up, ""))(t)

	replica.Pause()
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			result, err := repo.Vote(t.Context(), id, "bob", site.Down, "")
			if !errors.Is(err, failover.ErrUnavailable) {
				t.Errorf("Vote = %+v, %v, want that no replica has it", result, err)
			}
		})
		all.Go(func() {
			if found, errs := repo.Articles.ArticlesByID(t.Context(), []site.ArticleID{id}); errs[0] != nil || found[0].Title != "title" {
				t.Errorf("a read beside them: %v", errs[0])
			}
		})
	}
	all.Wait()
	replica.Resume()
	require.Eventually(t, "the replica confirms writes again", func() bool {
		return repo.Store.Write(t.Context(), func(pipe redis.Pipeliner) { pipe.Incr(t.Context(), "n") }) == nil
	})
	if result, err := repo.Vote(t.Context(), ids[1], "carol", site.Up, ""); err != nil || !result.Changed {
		t.Errorf("Vote = %+v, %v after the replica went on", result, err)
	}
}

// Writes that wait for a replica share one WAIT. If its connection fails, they are sent again with it: a WAIT alone would
// confirm what another connection has sent.
func TestConfirmedWritesShareAWait(t *testing.T) { // with the race detector
	t.Parallel()
	var waits, confirmed atomic.Int64
	var alone, paused atomic.Bool
	endConnections := func() {} // while the second WAIT waits
	repo, ids, primary, replica := confirmedSite(t, redistest.Writing(func(conn net.Conn, b []byte) (int, error) {
		n, err := conn.Write(b)
		if !paused.Load() || !bytes.Contains(b, []byte("\nwait\r")) {
			return n, err
		}
		writes := bytes.Count(b, []byte("\nincr\r")) + bytes.Count(b, []byte("\nevalsha\r"))
		if confirmed.Add(int64(writes)); writes == 0 {
			alone.Store(true)
		}
		if waits.Add(1) == 2 {
			endConnections()
		}
		return n, err
	}))
	endConnections = func() {
		for began := time.Now(); time.Since(began) < 100*time.Millisecond; { // a WAIT takes 200 ms
			if strings.Contains(primary.Client.Info(t.Context(), "clients").Val(), "blocked_clients:2") {
				break
			}
		}
		primary.Client.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes")
		replica.Resume()
	}
	replica.Pause()
	paused.Store(true)
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			result, err := repo.Vote(t.Context(), id, "bob", site.Up, "")
			if err != nil && !errors.Is(err, failover.ErrUnavailable) || err == nil && !result.Changed {
				t.Errorf("Vote = %+v, %v", result, err)
			}
		})
		all.Go(func() {
			err := repo.Store.Write(t.Context(), func(pipe redis.Pipeliner) { pipe.Incr(t.Context(), "n") })
			if err != nil && !errors.Is(err, failover.ErrUnavailable) {
				t.Errorf("a write: %v", err)
			}
		})
	}
	all.Wait()
	if waits.Load() == confirmed.Load() {
		t.Errorf("%d WAIT for as many writes", waits.Load())
	}
	if alone.Load() {
		t.Error("a WAIT was sent without a write")
	}
}
