package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// How writes are confirmed: WAIT follows a write on its connection and returns how many replicas have received
// everything up to then. A hook on the client of each server sends it with the pipelines of writes, so that it also
// follows a write that a cluster has redirected.

const (
	ackTimeout = 200 * time.Millisecond // of one WAIT
	ackRecheck = time.Second            // how often a primary that lacks replicas is asked for them
)

// errUnconfirmed is the error of a write that too few replicas have received in time.
var errUnconfirmed = fmt.Errorf("%w: too few replicas have received the write", ErrUnavailable)

// WritesKey is the key under which a context has its Writes.
type WritesKey struct{}

// Writes marks a call whose writes replicas must confirm, and counts confirmed ones.
type Writes struct{ confirmed atomic.Int64 }

// WritesOf returns the Writes of a context, nil if it has none.
func WritesOf(ctx context.Context) *Writes {
	w, _ := ctx.Value(WritesKey{}).(*Writes)
	return w
}

// Confirm adds hooks to a client that have replicas of each primary confirm the writes of calls with Writes in their
// context. It returns a *RightError if the Redis user may not run the commands that this needs.
func Confirm(ctx context.Context, client redis.UniversalClient, acks int) error {
	switch c := client.(type) {
	case *redis.ClusterClient:
		c.AddHook(confirmingNodes(OnServers(c, func(server *redis.Client) {
			server.AddHook(&confirmation{server: server, clustered: true, acks: acks})
		})))
		return c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return mayConfirm(ctx, node, true) })
	case *redis.Client:
		c.AddHook(&confirmation{server: c, acks: acks})
		return mayConfirm(ctx, c, false)
	}
	return nil
}

// mayConfirm returns a RightError if the user lacks a right that confirmation needs.
func mayConfirm(ctx context.Context, server *redis.Client, clustered bool) error {
	if err := server.Do(ctx, "wait", 0, 1).Err(); errors.Is(Class(err), ErrDenied) {
		return &RightError{Command: "WAIT", Reply: err.Error()}
	}
	_, err := healthyReplicas(ctx, server, clustered, false)
	if errors.Is(Class(err), ErrDenied) {
		return &RightError{Command: "INFO, CLUSTER MYID and CLUSTER SLOTS", Reply: err.Error()}
	}
	return nil // whatever else fails, the first write will show
}

// confirmingNodes is a hook on the client of a cluster, whose servers all need the hook confirmation: it gives the hook to
// servers that the client knew before.
type confirmingNodes func(context.Context) error

func (confirmingNodes) DialHook(next redis.DialHook) redis.DialHook { return next }

func (confirmingNodes) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook fails writes to a server that lacks the hook confirmation, because the client knew the server
// before Confirm.
func (addKnown confirmingNodes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		w := WritesOf(ctx)
		if w == nil {
			return next(ctx, commands)
		}
		w.confirmed.Store(0)
		err := next(ctx, commands)
		if w.confirmed.Load() >= replied(commands) {
			return err
		}
		_ = addKnown(ctx)
		return unconfirm(commands)
	}
}

// HasRun reports whether a command has no error. A missing value is not an error.
func HasRun(c redis.Cmder) bool { return c.Err() == nil || errors.Is(c.Err(), redis.Nil) }

// replied returns the number of commands without an error.
func replied(commands []redis.Cmder) (n int64) {
	for _, c := range commands {
		if HasRun(c) {
			n++
		}
	}
	return n
}

// unconfirm fails the commands that have no error yet.
func unconfirm(commands []redis.Cmder) error {
	for _, c := range commands {
		if HasRun(c) {
			c.SetErr(errUnconfirmed)
		}
	}
	return FirstError(commands, nil)
}

// confirmation is a hook on the client of one server that has its replicas confirm writes.
type confirmation struct {
	server    *redis.Client
	clustered bool
	acks      int

	lacking atomic.Int64 // how many of acks the server has too few healthy replicas for
	mu      sync.Mutex
	asked   time.Time // when the server was asked for its replicas
}

func (*confirmation) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*confirmation) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (c *confirmation) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		w := WritesOf(ctx)
		if w == nil {
			return next(ctx, commands)
		}
		need := c.acks
		if c.lacking.Load() > 0 {
			need = c.needed(ctx, ackRecheck)
		}
		if need == 0 {
			err := next(ctx, commands)
			w.confirmed.Add(replied(commands))
			return err
		}
		wait := redis.NewIntCmd(ctx, "wait", need, min(ackTimeout, c.server.Options().ReadTimeout/2).Milliseconds())
		err := next(ctx, append(slices.Clip(commands), wait))
		n := replied(commands)
		switch got := int(wait.Val()); {
		case n == 0:
			return FirstError(commands, err)
		case err != nil && wait.Err() == nil && FirstError(commands, nil) == nil:
			return err // it could not log in
		case errors.Is(Class(wait.Err()), ErrDenied):
			return FailAll(commands, wait.Err())
		case wait.Err() != nil, got < need && got < c.needed(ctx, ackRecheck/10):
			return unconfirm(commands)
		}
		w.confirmed.Add(n)
		return FirstError(commands, nil)
	}
}

// needed returns the number of replicas to wait for. It asks the server unless that was done a short time ago.
func (c *confirmation) needed(ctx context.Context, pause time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	lacking := int(c.lacking.Load())
	if now := time.Now(); now.Sub(c.asked) >= pause {
		c.asked = now
		healthy, err := healthyReplicas(context.WithValue(ctx, WritesKey{}, nil), c.server, c.clustered, lacking > 0)
		if err == nil {
			lacking = max(c.acks-healthy, 0)
			c.lacking.Store(int64(lacking))
		}
	}
	return c.acks - lacking
}

// healthyReplicas returns how many replicas could confirm a write, as their primary sees it. In a cluster these are the
// ones that have not failed, without those that still receive the data. If some were missing, only those count that
// have it; elsewhere always, because only the connections of replicas are known.
func healthyReplicas(ctx context.Context, server *redis.Client, clustered, connected bool) (int, error) {
	var info *redis.StringCmd
	var me *redis.Cmd
	var slots *redis.ClusterSlotsCmd
	_, err := server.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		info = pipe.Info(ctx, "replication")
		if clustered {
			me, slots = pipe.Do(ctx, "cluster", "myid"), pipe.ClusterSlots(ctx)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	online, syncing := 0, 0
	for line := range strings.Lines(info.Val()) {
		switch {
		case !strings.HasPrefix(line, "slave"):
		case strings.Contains(line, ",state=online,"):
			online++
		case strings.Contains(line, ",state="):
			syncing++
		}
	}
	if !clustered {
		return online, nil
	}
	healthy := 0
	for _, s := range slots.Val() {
		if len(s.Nodes) > 0 && s.Nodes[0].ID == me.Val() {
			healthy = len(s.Nodes) - 1
		}
	}
	if connected {
		return min(healthy, online), nil
	}
	return max(healthy-syncing, 0), nil
}

// OnServers calls add once for each server that a cluster's client finds from now on. The returned function calls add
// for the servers that the client knew before.
func OnServers(cluster *redis.ClusterClient, add func(*redis.Client)) (known func(context.Context) error) {
	var mu sync.Mutex
	has := map[*redis.Client]bool{}
	once := func(server *redis.Client) {
		mu.Lock()
		defer mu.Unlock()
		if !has[server] {
			has[server] = true
			add(server)
		}
	}
	cluster.OnNewNode(once)
	return func(ctx context.Context) error {
		return cluster.ForEachShard(ctx, func(_ context.Context, server *redis.Client) error {
			once(server)
			return nil
		})
	}
}
