package webhooks_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lease"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/webhooks"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func withWebhooks(t *testing.T) redisrepo.Option {
	return redisrepo.WithWebhooks(webhooks.Options{Box: require.Value(secretbox.New("0123456789abcdef0123456789abcdef"))(t)})
}

func addWebhook(s *repotest.Site, address string) *webhooks.Endpoint {
	s.T.Helper()
	e, _, err := s.Webhooks.AddWebhook(s.Ctx, address, nil, repotest.Moderator)
	require.NoError(s.T, err)
	return e
}

// One process at a time has the lease, with a greater token than another one before, also when all want it at once; it ends by
// the clock, or when it is given back.
func TestProcessesTakeTheLeaseAtOnce(t *testing.T) { // with the race detector
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		leases := make([]*lease.Lease, 8)
		for i := range leases {
			leases[i] = lease.New(s.Store, s.Store.Partitions[0].Lease())
		}
		last, before := "", -1
		for round := range 20 {
			var mu sync.Mutex
			var holders []int
			var all sync.WaitGroup
			for i, l := range leases {
				all.Go(func() {
					token, taken, err := l.Take(s.Ctx)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if taken {
						holders = append(holders, i)
						if number(t, token) < number(t, last) || number(t, token) == number(t, last) && i != before || (token == last) != (i == before) {
							t.Errorf("round %d: token %s of %d after %s of %d", round, token, i, last, before)
						}
						last, before = token, i
					}
				})
			}
			all.Wait()
			if len(holders) != 1 {
				t.Fatalf("round %d: %v have the lease, want one", round, holders)
			}
			holder := leases[holders[0]]
			s.Clock.Advance(lease.Duration - time.Second)
			if token, taken, err := holder.Take(s.Ctx); err != nil || !taken || token != last {
				t.Fatalf("round %d: the holder gets token %s, %t, %v, want its own, %s", round, token, taken, err, last)
			}
			if round%2 == 0 {
				require.NoError(t, holder.GiveBack(s.Ctx))
			} else {
				s.Clock.Advance(lease.Duration)
			}
		}
	})
}

// number is the number of a token; 0 if it is empty.
func number(t *testing.T, token string) int {
	t.Helper()
	text, _, _ := strings.Cut(token, "-")
	if text == "" {
		return 0
	}
	return require.Value(strconv.Atoi(text))(t)
}

// After a failover that lost a lease, its number is given out again, but not its token: the process that had it saves nothing.
func TestLostLeaseIsNotGivenOutAgain(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One, withWebhooks(t))
	e := addWebhook(s, "https://example.org/")
	first, second := lease.New(s.Store, s.Store.Partitions[0].Lease()), lease.New(s.Store, s.Store.Partitions[0].Lease())
	lost, _, err := first.Take(s.Ctx)
	require.NoError(t, err)
	s.Do("DEL", "lease:") // as on a replica that never got it
	again, taken, err := second.Take(s.Ctx)
	if err != nil || !taken || number(t, again) != number(t, lost) {
		t.Fatalf("token %s, %t, %v after %s, want the same number", again, taken, err, lost)
	}
	for token, want := range map[string]bool{lost: false, again: true} {
		if saved := require.Value(s.Webhooks.Save(s.Ctx, token, e, webhooks.Progress{Cursor: e.Cursor}))(t); saved != want {
			t.Errorf("Save with token %s = %t, want %t", token, saved, want)
		}
	}
}

// A process that lost the lease saves nothing, nor does one that has read the endpoint before a change.
func TestOldLeaseSavesNothing(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)), withWebhooks(t))
		e := addWebhook(s, "https://example.org/")
		first, second := lease.New(s.Store, s.Store.Partitions[0].Lease()), lease.New(s.Store, s.Store.Partitions[0].Lease())
		old, _, err := first.Take(s.Ctx)
		require.NoError(t, err)
		failed := webhooks.Undelivered{Number: 1, ID: "msg_1", Article: 1, Body: "{}", Tries: 1}
		save := func(token string, e *webhooks.Endpoint, p webhooks.Progress, want bool) {
			t.Helper()
			before := s.Dump()
			if saved := require.Value(s.Webhooks.Save(s.Ctx, token, e, p))(t); saved != want {
				t.Errorf("Save = %t, want %t", saved, want)
			}
			if !want {
				s.WantStore(before, "a refused save:")
			}
		}
		save(old, e, webhooks.Progress{Cursor: e.Cursor, Changed: []*webhooks.Undelivered{&failed}}, true)
		s.Clock.Advance(lease.Duration)
		token, _, err := second.Take(s.Ctx)
		require.NoError(t, err)
		save(old, e, webhooks.Progress{Cursor: "x", Got: []*webhooks.Undelivered{&failed}, Paused: "x"}, false)
		save(token, e, webhooks.Progress{Cursor: e.Cursor, Changed: []*webhooks.Undelivered{{Number: 2, Body: "{}"}}}, true)
		changed, _, err := s.Webhooks.ChangeWebhook(s.Ctx, e.ID(), webhooks.Change{Paused: new(true)}, repotest.Moderator)
		require.NoError(t, err)
		save(token, e, webhooks.Progress{Cursor: "x"}, false)
		save(token, changed, webhooks.Progress{Cursor: changed.Cursor, Got: []*webhooks.Undelivered{&failed}}, true)
		if left := require.Value(s.Webhooks.ReadUndelivered(s.Ctx, e))(t); len(left) != 1 || left[0].Number != 2 {
			t.Errorf("undelivered = %v, want the second", left)
		}
		require.NoError(t, s.Webhooks.RemoveWebhook(s.Ctx, e.ID(), repotest.Moderator))
		save(token, changed, webhooks.Progress{Cursor: "x"}, false)
	})
}

// webhookCalls use each script of endpoints.
func webhookCalls(s *repotest.Site) map[string]func() error {
	e := addWebhook(s, "https://example.org/")
	l := lease.New(s.Store, s.Store.Partitions[0].Lease())
	token, _, err := l.Take(s.Ctx)
	require.NoError(s.T, err)
	undelivered := []*webhooks.Undelivered{{Number: 1, Body: "{}"}}
	require.Value(s.Webhooks.Save(s.Ctx, token, e, webhooks.Progress{Cursor: e.Cursor, Changed: undelivered}))(s.T)
	return map[string]func() error{
		"change": func() error {
			_, _, err := s.Webhooks.ChangeWebhook(s.Ctx, e.ID(), webhooks.Change{URL: new("https://example.com/"), Paused: new(true), Drop: true}, repotest.Moderator)
			return err
		},
		"remove": func() error { return s.Webhooks.RemoveWebhook(s.Ctx, e.ID(), repotest.Moderator) },
		"save": func() error {
			_, err := s.Webhooks.Save(s.Ctx, token, e, webhooks.Progress{Cursor: "x", Got: undelivered, Changed: []*webhooks.Undelivered{{Number: 2}}, Paused: "x"})
			return err
		},
		"take the lease": func() error { _, _, err := l.Take(s.Ctx); return err },
		"add": func() error {
			_, _, err := s.Webhooks.AddWebhook(s.Ctx, "https://example.net/", nil, repotest.Moderator)
			return err
		},
	}
}

// A script of endpoints that is sent twice has the effect of one, and one that finds a key of the wrong type has none.
func TestWebhookScriptsTwiceAndWithWrongTypes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"add", "change", "remove", "save", "take the lease"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var words []any
			s := repotest.New(t, nil, repotest.One, withWebhooks(t))
			keep := redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
				for _, c := range commands {
					if c.Name() == "evalsha" {
						words = c.Args()
					}
				}
				return send(ctx, commands)
			})
			s = s.Reopened(s.Client(keep), nil, withWebhooks(t))
			call := webhookCalls(s)[name]
			restore := s.Snapshot()
			require.NoError(t, call())
			once := s.Dump()
			require.NoError(t, s.Raw.Do(s.Ctx, words...).Err())
			if twice := s.Dump(); twice != once {
				t.Errorf("twice, the store holds\n%s\nwant\n%s", twice, once)
			}
			for i := range words[2].(int) {
				restore()
				key := fmt.Sprint(words[3+i])
				s.Do("DEL", key)
				s.Do("SET", key, "wrong")
				before := s.Dump()
				if err := s.Raw.Do(s.Ctx, words...).Err(); !unlinked(name, key) && (err == nil || !strings.Contains(err.Error(), "WRONGTYPE")) {
					t.Errorf("%s: err = %v, want WRONGTYPE", key, err)
				} else if err != nil {
					s.WantStore(before, key, ":")
				}
			}
		})
	}
}

// unlinked reports whether the script removes the key, whatever it is.
func unlinked(script, key string) bool {
	removed := map[string][]string{"remove": {"webhook:", "undelivered:"}, "change": {"undelivered:"}}
	return slices.ContainsFunc(removed[script], func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}
