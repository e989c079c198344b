// Package lease elects one process of a site at a time, for work that only one should do.
//
// A process may be paused for longer than its lease, and then continue as if it still had it. So each lease has a
// unique token, which its holder passes to scripts: they compare it with the one in the key lease:, and refuse an old
// one.
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

// Duration is how long a lease lasts after it was last taken. If its process dies, the work waits for that long.
const Duration = 15 * time.Second

// Lease is a lease of a site, as one process sees it.
type Lease struct {
	store  *wire.Store
	key    string
	holder string
}

// New returns the lease in the hash key of the first partition, not taken.
func New(store *wire.Store, key string) *Lease { return &Lease{store, key, rand.Text()} }

// Take takes or extends the lease for Duration from now on. It reports whether the process has it, and its token. If
// another process has it, that is not an error.
func (l *Lease) Take(ctx context.Context) (token string, taken bool, err error) {
	answer, err := l.call(ctx, Duration)
	if err != nil {
		return "", false, failover.Wrap("take the lease", err)
	}
	return answer.Text(1), answer.Status() == "OK", nil
}

// Hold extends a taken lease until ctx ends. If another process takes it, while the store is away, that is not an
// error.
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

// GiveBack ends the process's lease, if it has it, so that another process need not wait.
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
