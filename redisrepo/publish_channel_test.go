package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo"
)

func TestEachDatabaseHasItsOwnChannel(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	options := *s.server.Client.Options()
	options.DB = 1
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	zero, one := s.overhear("changes:0"), s.overhear("changes:1")
	second := s.reopened(client, nil)
	second.post("alice")
	if got := zero(); len(got) != 0 {
		t.Errorf("published %q on the channel of database 0, want nothing", got)
	}
	got := slices.DeleteFunc(one(), func(m string) bool { return m == "hello" }) // with which the start proves the right to publish
	if want := scored("posted article:1 1 1 0 = ", 1); len(got) != 1 || got[0] != want {
		t.Errorf("published %q, want only %q", got, want)
	}

	l := second.listenOnDatabase1(t, s)
	w := l.watch(1)
	s.post("zoe") // article:1 of the other database
	s.vote(1, "bob", down)
	s.vote(1, "carol", down)
	l.vote(1, "dave", up)
	if a := next(t, w); a.Votes != 2 || a.Poster.Name != "alice" {
		t.Errorf("delivered %s, want 2 votes on the article of alice", show(a))
	}
}

// listenOnDatabase1 starts Listen on database 1. The clients of beside are on database 0.
func (s *testSite) listenOnDatabase1(t *testing.T, beside *testSite) *listener {
	l := &listener{testSite: s, proved: make(chan string, 1), fault: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Listen(ctx, l.report)
	}()
	t.Cleanup(func() { cancel(); await(t, done, "the end of Listen") })
	eventually(t, "a subscription", func() bool {
		return beside.do("PUBLISH", "changes:1", "posted probe-1- 1 1 0 0 ") == int64(2) // the other one is the subscription of overhear
	})
	await(t, l.proved, "a report of the probe")
	return l
}

func TestNewRefusesAUserWhoMayNotPublish(t *testing.T) {
	t.Parallel()
	for name, rights := range map[string]string{
		"without channels":      "on nopass ~* resetchannels +@all",
		"with others":           "on nopass ~* resetchannels &other:* +@all",
		"without the commands":  "on nopass ~* &* +@all -publish -spublish",
		"the channel is enough": "on nopass ~* resetchannels &changes:0 +@all",
		"with shards' channels": "on nopass ~* resetchannels &{p3}changes:0 &{p1}changes:0 +@all",
	} {
		for _, n := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d partitions", name, n), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, nil, redisrepo.WithPartitions(n))
				a := s.post("alice", "go")
				if !s.knowsRights() {
					rights = strings.Replace(rights, " -spublish", "", 1) // which Redis 6.2 does not have
				}
				s.do("ACL SETUSER limited " + rights)
				options := *s.server.Client.Options()
				options.Username, options.Password = "limited", "any"
				client := redis.NewClient(&options)
				t.Cleanup(func() { _ = client.Close() })
				before := s.dump()
				rules := s.rules
				rules.VoteScore = 7
				repo, err := redisrepo.New(s.ctx, client, rules, redisrepo.WithPartitions(n), redisrepo.WithClock(s.clock.now))
				if strings.Contains(rights, " &"+redisrepo.Tags(n)[0]+"changes:0") {
					if err != nil {
						t.Fatal(err)
					}
					if _, err := repo.Vote(s.ctx, a.ID, "bob", up, ""); err != nil {
						t.Errorf("Vote: %v", err)
					}
					return
				}
				if err == nil || errors.Is(err, failover.ErrUnavailable) || !strings.Contains(err.Error(), "PUBLISH") {
					t.Errorf("New = %v, want an error about publishing that is not ErrUnavailable", err)
				}
				if after := s.dump(); after != before {
					t.Errorf("the store holds\n%s\nwant\n%s", after, before)
				}
			})
		}
	}
}
