package repotest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
)

// OpensKilled opens the store again and again, killed after more and more round trips, until New succeeds.
func (s *Site) OpensKilled(rules site.Rules, random *rand.Rand) (kills int) {
	s.T.Helper()
	for most := 8; ; most += 8 {
		k := new(killer)
		k.left.Store(int64(1 + random.IntN(most)))
		repo, err := redisrepo.New(s.Ctx, s.Client(k.hook()), rules, redisrepo.WithClock(s.Clock.Now))
		if err == nil {
			k.left.Store(1 << 60)
			s.Repo, s.Rules = repo, rules
			return kills
		}
		if kills++; !errors.Is(err, errKilled) || kills > 300 {
			s.T.Fatalf("New: %v after %d kills, want that it was killed", err, kills)
		}
	}
}

// killer has a hook that fails everything after so many round trips, as if its process were killed.
type killer struct{ left atomic.Int64 }

var errKilled = errors.New("killed")

func (k *killer) hook() redistest.Hook {
	return func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		if k.left.Add(-1) < 0 {
			return redistest.Fail(errKilled, commands)
		}
		return send(ctx, commands)
	}
}

// Before is a hook that calls a function before each command of a name, alone or the first in a pipeline.
func Before(name string, call func(ctx context.Context)) redistest.Hook {
	return func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		if commands[0].Name() == name {
			call(ctx)
		}
		return send(ctx, commands)
	}
}

// Refusals are the ways in which Redis refuses writes while it serves reads, and how they end.
var Refusals = map[string]struct{ Begin, End string }{
	"full memory":       {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
	"too few replicas":  {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
	"read-only replica": {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	"full disk":         {"BGSAVE", "BGSAVE"},
}

// Twice returns a hook that sends every script a second time, as a client does that has lost the reply. The caller
// gets the second reply if second is set, else the first.
func Twice(second bool) redis.Hook {
	return redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, commands)
		for _, command := range commands {
			if command.Name() != "evalsha" || command.Err() != nil {
				continue
			}
			again := redis.NewCmd(ctx, command.Args()...)
			_ = send(ctx, []redis.Cmder{again})
			if second {
				command.(interface{ SetVal(any) }).SetVal(again.Val())
				command.SetErr(again.Err())
			}
			err = errors.Join(err, command.Err())
		}
		return err
	})
}

// Counter counts what a client sends.
type Counter struct {
	mutex sync.Mutex
	Calls
}

// Calls are numbers of calls.
type Calls struct {
	Trips, Commands int
	Names           string // of the commands, separated by blanks
}

// Add counts a round trip.
func (c *Counter) Add(commands ...redis.Cmder) {
	if redistest.IsAside(commands[0]) {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.Trips++
	c.Commands += len(commands)
	for _, command := range commands {
		c.Names = strings.TrimSpace(c.Names + " " + command.Name())
	}
}

// Reset returns the counts since its last call.
func (c *Counter) Reset() Calls {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	counted := c.Calls
	c.Calls = Calls{}
	return counted
}
