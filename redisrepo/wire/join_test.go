package wire_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// joined opens a store whose calls share round trips. A call is begun once it has passed the hooks.
func joined(t *testing.T, most time.Duration, hooks ...redis.Hook) (s *wire.Store, server *redistest.Server, begun *atomic.Int64) {
	t.Helper()
	server = redistest.Start(t)
	options := *server.Client.Options()
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	failover.LimitWaiting(client)
	begun = new(atomic.Int64)
	for _, h := range append(hooks, redistest.Before(func(commands ...redis.Cmder) { begun.Add(1) })) {
		client.AddHook(h)
	}
	require.NoError(t, wire.Join(t.Context(), client, most))
	return require.Value(wire.Open(t.Context(), client, site.DefaultRules(), "", wire.Options{Partitions: 1}))(t), server, begun
}

func increase(ctx context.Context, s *wire.Store, key string) (n int64, err error) {
	var reply *redis.IntCmd
	err = s.Write(ctx, func(pipe redis.Pipeliner) { reply = pipe.Incr(ctx, key) })
	return reply.Val(), err
}

// Each of many callers gets its own replies in the order of its calls.
func TestJoinedCallsGetTheirOwnReplies(t *testing.T) { // with the race detector
	t.Parallel()
	s, _, _ := joined(t, wire.JoinWait)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			key := string(rune('A' + i))
			for n := range int64(50) {
				var got, none *redis.StringCmd
				err := s.Read(t.Context(), func(pipe redis.Pipeliner) { got, none = pipe.Get(t.Context(), key), pipe.Get(t.Context(), "none") })
				if read, _ := got.Int64(); err != nil || read != n || !errors.Is(none.Err(), redis.Nil) {
					t.Errorf("%s: read %d, %v, %v, want %d and no value", key, read, err, none.Err(), n)
				}
				if got, err := increase(t.Context(), s, key); err != nil || got != n+1 {
					t.Errorf("%s: increased to %d, %v, want %d", key, got, err, n+1)
				}
			}
		})
	}
	all.Wait()
}

// The calls that come while another is under way leave together. One whose caller leaves meanwhile is not sent, and the
// others are.
func TestWaitingCallsShareARoundTrip(t *testing.T) { // with the race detector
	t.Parallel()
	var written atomic.Int64
	s, server, begun := joined(t, time.Hour, redistest.Writing(func(conn net.Conn, b []byte) (int, error) {
		written.Add(1)
		return conn.Write(b)
	}))
	require.Value(increase(t.Context(), s, "n"))(t)
	server.Pause()
	before, begunBefore := written.Load(), begun.Load()
	leaves, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	results := make([]int64, 31)
	call := func(i int) {
		all.Go(func() {
			ctx := t.Context()
			if i == 20 {
				ctx = leaves
			}
			var err error
			if results[i], err = increase(ctx, s, "n"); i == 20 && !errors.Is(err, context.Canceled) || i != 20 && err != nil {
				t.Errorf("call %d: %v", i, err)
			}
			if i == 20 {
				server.Resume()
			}
		})
		for begun.Load() < begunBefore+int64(i)+1 { // it is under way, or about to wait
		}
	}
	for i := range results {
		call(i)
	}
	leave()
	all.Wait()
	if n := written.Load() - before; n > 6 {
		t.Errorf("%d writes for %d calls, want 2, or some more for calls that came late", n, len(results))
	}
	seen := map[int64]bool{}
	for i, n := range results {
		if i != 20 && (n < 2 || seen[n]) {
			t.Errorf("call %d increased to %d, as another one did", i, n)
		}
		seen[n] = true
	}
	if n := require.Value(increase(t.Context(), s, "n"))(t); n != 32 {
		t.Errorf("%d increases, want 32: the one whose caller left was sent", n)
	}
}

// While Redis pauses writes, reads do not wait for them.
func TestJoinedReadsPassPausedWrites(t *testing.T) { // with the race detector
	t.Parallel()
	s, server, begun := joined(t, time.Hour)
	require.NoError(t, server.Client.Do(t.Context(), "CLIENT", "PAUSE", "60000", "WRITE").Err())
	before := begun.Load()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := increase(t.Context(), s, "n"); err != nil {
				t.Error(err)
			}
		})
	}
	for begun.Load() < before+3 {
	}
	for range 10 {
		require.NoError(t, s.Read(t.Context(), func(pipe redis.Pipeliner) { pipe.Get(t.Context(), "n") }))
	}
	require.NoError(t, server.Client.Do(t.Context(), "CLIENT", "UNPAUSE").Err())
	all.Wait()
}

// When a connection fails, its calls are repeated by their own rules: reads always, and a call of a script by LimitWaiting
// alone, which says so.
func TestJoinedCallsOutliveTheirConnection(t *testing.T) { // with the race detector
	t.Parallel()
	h := new(redistest.LostReply)
	s, server, _ := joined(t, time.Hour, h)
	script := redis.NewScript("return {'OK', redis.call('INCR', KEYS[1])}")
	require.NoError(t, script.Load(t.Context(), server.Client).Err())
	var all sync.WaitGroup
	var repeated, read atomic.Int64
	const callers, calls = 20, 50
	for range callers {
		all.Go(func() {
			for range calls {
				_, again, err := s.CallWords(t.Context(), wire.ScriptWords(script, []string{"n"}, nil))
				if err != nil {
					t.Errorf("a call: %v", err)
				}
				if again {
					repeated.Add(1)
				}
			}
		})
		all.Go(func() {
			for range calls {
				err := s.Read(t.Context(), func(pipe redis.Pipeliner) { pipe.Get(t.Context(), "n"); pipe.Get(t.Context(), "m") })
				if err != nil {
					t.Errorf("a read: %v", err)
				}
				if read.Add(1) == callers*calls/2 { // once: a call is repeated once
					h.Armed.Store(true)
				}
			}
		})
	}
	all.Wait()
	n := require.Value(server.Client.Get(t.Context(), "n").Int64())(t)
	if n < callers*calls || n > callers*calls+repeated.Load() || repeated.Load() == 0 {
		t.Errorf("%d increases by %d calls, of which %d were repeated", n, callers*calls, repeated.Load())
	}
}

// Calls do not wait for one whose connection is dead.
func TestCallsPassADeadConnection(t *testing.T) { // with the race detector
	t.Parallel()
	var armed atomic.Bool // the next write is lost, as by a connection that a firewall has dropped
	s, _, begun := joined(t, time.Millisecond, redistest.Writing(func(conn net.Conn, b []byte) (int, error) {
		if armed.CompareAndSwap(true, false) {
			return len(b), nil
		}
		return conn.Write(b)
	}))
	require.Value(increase(t.Context(), s, "n"))(t)
	before := begun.Load()
	armed.Store(true)
	go func() { _, _ = increase(t.Context(), s, "n") }() // it ends with the client
	for begun.Load() == before || armed.Load() {
	}
	for i := range int64(10) {
		if n, err := increase(t.Context(), s, "n"); n != i+2 || err != nil {
			t.Errorf("increased to %d, %v, want %d", n, err, i+2)
		}
	}
}
