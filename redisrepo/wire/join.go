package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
)

// How calls share round trips: the first one leaves at once. Those that come while it is under way wait, and all of them
// leave together in one pipeline. So a quiet process waits for nothing, and a busy one makes fewer system calls. A call's
// deadline, its repetitions and what is known of an outage are its own, since hooks that mind them are above this one. A
// transaction goes alone. Writes that replicas confirm share one WAIT, which follows all of them.

// maxJoined is the number of commands from which on waiting calls leave although others are under way. A call with more
// goes alone.
const maxJoined = 200

// JoinWait is how long a server's call waits for calls in flight, whose connection may be dead.
const JoinWait = 20 * time.Millisecond

// Join makes concurrent calls share round trips to each server. A call that has waited for most is sent although others
// are in flight. It must be the last hook of a client.
func Join(ctx context.Context, client redis.UniversalClient, most time.Duration) error {
	switch c := client.(type) {
	case *redis.ClusterClient:
		return failover.OnServers(c, func(server *redis.Client) { server.AddHook(&joiner{clustered: true, most: most}) })(ctx)
	case *redis.Client:
		c.AddHook(&joiner{most: most})
	}
	return nil
}

// lane is a kind of calls that may share a round trip. While Redis pauses writes, reads go on.
type lane int

const (
	alone lane = iota
	reads
	writes
	confirmed // by a WAIT at the end of each call
	lanes
)

type laneKey struct{}

// on returns the context of a call on a lane.
func (l lane) on(ctx context.Context) context.Context { return context.WithValue(ctx, laneKey{}, l) }

// Reading returns a context for one command that reads and does not block: it may share its round trip.
func Reading(ctx context.Context) context.Context { return reads.on(ctx) }

func laneOf(ctx context.Context) lane {
	l, _ := ctx.Value(laneKey{}).(lane)
	return l
}

// joiner is a hook on the client of one server.
type joiner struct {
	clustered bool
	most      time.Duration // that a call waits
	queues    [lanes]queue

	once sync.Once
	send redis.ProcessPipelineHook // of the client, not of one of its connections
}

// queue is the calls of one lane.
type queue struct {
	mu       sync.Mutex
	underWay int
	next     *batch // the calls that wait; nil: none
}

// batch is the commands of calls that go together.
type batch struct {
	commands []redis.Cmder
	wait     *redis.IntCmd // of confirmed calls; each sends the same
	deadline time.Time     // the latest of the calls
	endless  bool          // one of them has none
	done     chan struct{} // closed when all commands have their replies
	late     *time.Timer   // sends it if it has waited too long
}

func (*joiner) DialHook(next redis.DialHook) redis.DialHook { return next }

func (j *joiner) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if laneOf(ctx) == alone {
			return next(ctx, command)
		}
		send := func(ctx context.Context) error { return next(ctx, command) }
		return j.do(ctx, send, func(ctx context.Context, _ []redis.Cmder) error { return next(ctx, command) }, false, command)
	}
}

// ProcessPipelineHook is called first when the hook is added, and then also for connections and, in a cluster, for each call.
func (j *joiner) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	j.once.Do(func() { j.send = next })
	return func(ctx context.Context, commands []redis.Cmder) error {
		switch {
		case laneOf(ctx) == alone:
			return next(ctx, commands)
		case len(commands) > maxJoined, commands[0].Name() == "multi":
			return next(alone.on(ctx), commands)
		}
		return j.do(ctx, func(ctx context.Context) error { return next(ctx, commands) }, next, j.clustered, commands...)
	}
}

// do sends commands with those of others, or by send if no call is under way. Those whose connection failed are repeated
// without others, as go-redis repeats what may be, and so are those with errors if repeats: a cluster's client minds no others.
// What go-redis sends to open a connection goes alone.
func (j *joiner) do(ctx context.Context, send func(context.Context) error, repeat redis.ProcessPipelineHook, repeats bool, commands ...redis.Cmder) error {
	q := &j.queues[laneOf(ctx)]
	own, wait := waitOf(commands)
	b := j.enter(ctx, q, own, wait)
	if b == nil {
		defer j.pass(q)
		return send(alone.on(ctx))
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		if q.withdraw(b, own) {
			return failover.FailAll(commands, ctx.Err())
		}
		<-b.done // they are under way
	}
	var failed []redis.Cmder
	disconnected := false
	for _, c := range own {
		lost := failover.IsNetwork(c.Err()) || errors.Is(c.Err(), context.DeadlineExceeded)
		if lost || repeats && !failover.HasRun(c) {
			failed = append(failed, c)
		}
		disconnected = disconnected || lost
	}
	if wait != nil {
		wait.SetVal(b.wait.Val())
		wait.SetErr(b.wait.Err())
	}
	if failed == nil || disconnected && slices.ContainsFunc(own, redis.Cmder.NoRetry) {
		return failover.FirstError(commands, nil)
	}
	if wait != nil {
		failed = append(failed, wait) // after a write, which is later than all before
	}
	for _, c := range failed {
		c.SetErr(nil)
	}
	err := repeat(alone.on(ctx), failed)
	return failover.FirstError(commands, err)
}

// waitOf splits the commands of a call from the WAIT that confirms them, if there is one.
func waitOf(commands []redis.Cmder) (own []redis.Cmder, wait *redis.IntCmd) {
	last := len(commands) - 1
	if wait, _ := commands[last].(*redis.IntCmd); wait != nil && wait.Name() == "wait" {
		return commands[:last], wait
	}
	return commands, nil
}

// enter adds a call to those that wait, and returns their batch, or nil if it is to leave at once.
func (j *joiner) enter(ctx context.Context, q *queue, own []redis.Cmder, wait *redis.IntCmd) *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.underWay == 0 {
		q.underWay = 1
		return nil
	}
	if q.next == nil {
		b := &batch{done: make(chan struct{})}
		b.late = time.AfterFunc(j.most, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.next == b {
				j.leave(q)
			}
		})
		q.next = b
	}
	b := q.next
	b.commands = append(b.commands, own...)
	if wait != nil && b.wait == nil {
		b.wait = redis.NewIntCmd(context.Background(), wait.Args()...)
	}
	deadline, limited := ctx.Deadline()
	if b.endless = b.endless || !limited; deadline.After(b.deadline) {
		b.deadline = deadline
	}
	if len(b.commands) > maxJoined {
		j.leave(q)
	}
	return b
}

// leave sends the calls that wait.
func (j *joiner) leave(q *queue) {
	q.underWay++
	q.next.late.Stop()
	go j.sendAll(q, q.next)
	q.next = nil
}

// withdraw removes a call's own commands, unless they are under way.
func (q *queue) withdraw(b *batch, own []redis.Cmder) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next != b {
		return false
	}
	i := slices.Index(b.commands, own[0])
	b.commands = slices.Delete(b.commands, i, i+len(own))
	return true
}

// pass ends a round trip. The calls that came meanwhile are the next one.
func (j *joiner) pass(q *queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.underWay--
	if q.next != nil {
		j.leave(q)
	}
}

// sendAll sends the commands of a batch. None of its callers may end it for the others, so it ends at the latest of their
// deadlines.
func (j *joiner) sendAll(q *queue, b *batch) {
	defer j.pass(q)
	defer close(b.done)
	defer func() {
		if p := recover(); p != nil {
			_ = failover.FailAll(b.commands, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if len(b.commands) == 0 { // all callers have left
		return
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if !b.endless {
		ctx, cancel = context.WithDeadline(ctx, b.deadline)
	}
	defer cancel()
	commands := b.commands
	if b.wait != nil {
		commands = append(commands, b.wait)
	}
	if err := j.send(ctx, commands); err != nil && failover.FirstError(commands, nil) == nil {
		_ = failover.FailAll(commands, err)
	}
}
