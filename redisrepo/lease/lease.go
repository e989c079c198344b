// Package lease gives one process of a site at a time the right to do what only one should do.
//
// A process may be paused for longer than its lease and go on as if it had it. So each lease has a token, which no other
// process gets, and what its holder writes names it: a script compares the token with the one in the key lease:, and refuses an old one.
package lease

import (
	"context"
	"crypto/rand"
	"embed"
	"time"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var leaseScript = wire.Script(luaFiles, "lease.lua")

// Duration is how long a lease lasts after it was last taken. A process that dies with it holds up its work for that long.
const Duration = 15 * time.Second

// Lease is a lease of a site, as one process sees it.
type Lease struct {
	store  *wire.Store
	key    string
	holder string
}

// New returns the lease that a hash of the first partition has, for a process, which does not have it yet.
func New(store *wire.Store, key string) *Lease { return &Lease{store, key, rand.Text()} }

// Take takes the lease, or keeps it for Duration from now on. It reports whether the process has it, and with which token; that
// another process has it is not an error.
func (l *Lease) Take(ctx context.Context) (token string, taken bool, err error) {
	answer, err := l.call(ctx, Duration)
	if err != nil {
		return "", false, failover.Wrap("take the lease", err)
	}
	return answer.Text(1), answer.Status() == "OK", nil
}

// Hold keeps a lease that the process has taken until ctx ends. That another process gets it meanwhile, while the store is away,
// is not an error.
func (l *Lease) Hold(ctx context.Context) {
	tick := time.NewTicker(Duration / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _, _ = l.Take(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// GiveBack ends the lease, if the process has it, so that another process need not wait for its end.
func (l *Lease) GiveBack(ctx context.Context) error {
	_, err := l.call(ctx, 0)
	return failover.Wrap("give the lease back", err)
}

func (l *Lease) call(ctx context.Context, d time.Duration) (wire.Reply, error) {
	return l.store.CallUnconfirmed(ctx, leaseScript, []string{
		l.key, // KEYS[1] lease
	}, []any{
		l.holder,            // ARGV[1] holder
		site.Seconds(d),     // ARGV[2] seconds
		l.store.ScriptNow(), // ARGV[3] now
	})
}
