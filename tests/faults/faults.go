package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/tests/redistest"
)

// world is what faults happen to.
type world struct {
	*site
	ctx     context.Context
	control *redis.Client // of a user that no fault concerns
	clock   *os.File      // the step of Redis' clock; nil if it has none
	file    sync.Mutex    // guards the append-only file: one fault of it at a time

	mu    sync.Mutex // guards redis
	redis *redistest.Server

	cluster *redistest.Cluster // instead of redis and control
	nodes   sync.Mutex         // guards who has which data in the cluster: one fault of it at a time
}

// do sends a command to Redis until it succeeds.
func (w *world) do(args ...any) *redis.Cmd {
	for {
		reply := w.control.Do(w.ctx, args...)
		if reply.Err() == nil || w.ctx.Err() != nil {
			return reply
		}
		pause(w.ctx, 50*time.Millisecond)
	}
}

// tell sends a command to all servers of Redis once, without regard to its reply.
func (w *world) tell(args ...any) {
	ctx, cancel := context.WithTimeout(w.ctx, 200*time.Millisecond)
	defer cancel()
	if w.cluster == nil {
		_ = w.control.Do(ctx, args...)
		return
	}
	for _, n := range w.cluster.Nodes {
		_ = n.Client.Do(ctx, args...)
	}
}

// fault begins when it is called. It returns how it ends.
type fault func(w *world, e event) (end func())

var faults = map[string]fault{
	// These concern what Redis writes to its disk. The lost tail and the flush take the store back in time.
	"file:kill": func(w *world, _ event) func() {
		w.file.Lock()
		w.mu.Lock()
		w.redis.Kill()
		w.mu.Unlock()
		return func() {
			w.restart()
			w.file.Unlock()
		}
	},
	"file:tail": func(w *world, _ event) func() {
		w.file.Lock()
		forgotten := w.history.forget(w.history.now())
		path := w.redis.AppendOnlyFile()
		info, err := os.Stat(path)
		if err != nil {
			w.history.fail(works, "no append-only file: %v", err)
			return w.file.Unlock
		}
		return func() {
			w.mu.Lock()
			w.redis.Kill()
			w.mu.Unlock()
			if err := os.Truncate(path, info.Size()); err != nil {
				w.history.fail(works, "truncate the append-only file: %v", err)
			}
			w.restart()
			forgotten()
			w.forget()
			w.file.Unlock()
		}
	},
	"file:disk": func(w *world, _ event) func() {
		w.file.Lock()
		w.limitFiles("0:unlimited")
		return func() {
			w.limitFiles("unlimited:unlimited")
			for w.ctx.Err() == nil && !strings.Contains(w.do("INFO", "persistence").String(), "aof_last_write_status:ok") {
				pause(w.ctx, 50*time.Millisecond)
			}
			w.file.Unlock()
		}
	},
	"flush": func(w *world, _ event) func() {
		forgotten := w.history.forget(0)
		w.do("FLUSHALL")
		forgotten()
		w.forget()
		return func() {}
	},

	// These concern the server of Redis as a whole.
	"stop": func(w *world, _ event) func() {
		w.mu.Lock()
		process := w.redis.Process()
		w.mu.Unlock()
		if process == nil {
			return func() {}
		}
		_ = process.Signal(syscall.SIGSTOP)
		return func() { _ = process.Signal(syscall.SIGCONT) }
	},
	"memory":   reversible([]any{"CONFIG", "SET", "maxmemory", 1}, []any{"CONFIG", "SET", "maxmemory", 0}),
	"readonly": reversible([]any{"REPLICAOF", "127.0.0.1", 1}, []any{"REPLICAOF", "NO", "ONE"}),
	"password": func(w *world, _ event) func() {
		w.do("ACL", "SETUSER", "site", "resetpass", ">another")
		w.disconnect()
		return func() { w.do("ACL", "SETUSER", "site", "resetpass", ">site") }
	},
	"rights": func(w *world, e event) func() {
		// Those without which no script writes: the first one that lacked another would stop half done.
		commands := []string{"@write", "publish", "evalsha", "zrange", "hmget", "subscribe", "xrange"}
		command := commands[e.random%uint64(len(commands))]
		w.do("ACL", "SETUSER", "site", "-"+command)
		return func() { w.do("ACL", "SETUSER", "site", "+@all") }
	},
	"pause": func(w *world, e event) func() {
		w.do("CLIENT", "PAUSE", e.lasts.Milliseconds(), "WRITE")
		return func() {}
	},
	"clock": func(w *world, e event) func() { // less than a day, for which idempotency keys are kept
		w.step(int64(e.random%43200)*2 - 43200)
		return func() { w.step(0) }
	},
	"scripts":    repeated(20*time.Millisecond, func(w *world) { w.tell("SCRIPT", "FLUSH") }),
	"disconnect": repeated(150*time.Millisecond, (*world).disconnect),

	// These concern the connections of one process, or of all.
	"cut":      network(func(p *proxy, e event) func() { return percent(&p.cut, e) }),
	"truncate": network(func(p *proxy, e event) func() { return percent(&p.truncate, e) }),
	"hole":     network(func(p *proxy, _ event) func() { return p.swallow() }),
	"latency": network(func(p *proxy, e event) func() {
		p.delay.Store(int64(20+e.random%280) * int64(time.Millisecond))
		return func() { p.delay.Store(0) }
	}),

	// These concern the nodes of a cluster. Two at once could lose writes, so a fault ends with a healthy cluster.
	"nodes:kill": nodes(func(c *redistest.Cluster, e event) func() {
		n, wait := e.node(c)
		n.Kill()
		return func() {
			wait()
			n.Restart()
		}
	}),
	"nodes:stop": nodes(func(c *redistest.Cluster, e event) func() {
		n, wait := e.node(c)
		n.Pause()
		return func() {
			wait()
			n.Resume()
		}
	}),
	"nodes:failover": nodes(func(c *redistest.Cluster, e event) func() {
		c.Failover(e.tag())
		return func() {}
	}),
	"nodes:move": nodes(func(c *redistest.Cluster, e event) func() {
		m := c.StartMove(e.tag(), c.Other(e.tag()))
		return func() {
			m.MoveAll(int(10 + e.random%1000)) // #nosec G115 -- below 1010
			m.Finish()
		}
	}),
	"nodes:half a move": nodes(func(c *redistest.Cluster, e event) func() {
		return c.StartMove(e.tag(), c.Other(e.tag())).Cancel
	}),

	// These concern one process of the site.
	"server:kill": func(w *world, e event) func() {
		release := w.servers[e.server].hold()
		w.servers[e.server].signal(syscall.SIGKILL)
		return release
	},
	"server:stop": func(w *world, e event) func() {
		w.servers[e.server].signal(syscall.SIGSTOP)
		return func() { w.servers[e.server].signal(syscall.SIGCONT) }
	},
}

// anywhere are the faults that one Redis and a cluster have in common; those of the nodes are a cluster's.
var anywhere = []string{"scripts", "disconnect", "cut", "truncate", "hole", "latency", "server:kill", "server:stop"}

// tags are those of the partitions of a cluster.
var tags = []string{"{p11}", "{p10}", "{p13}", "{p12}"}

func (e event) tag() string { return tags[e.random%uint64(len(tags))] }

// node is the one that a fault concerns, in one of four cases a replica. Every other primary is to stay away until wait
// returns: until it has been replaced.
func (e event) node(c *redistest.Cluster) (n *redistest.Server, wait func()) {
	switch n := c.Primary(e.tag()); e.random / 4 % 4 {
	case 0:
		return c.Replica(e.tag()), func() {}
	case 1:
		return n, func() {}
	default:
		return n, func() { c.AwaitFailover(e.tag(), n) }
	}
}

func nodes(begin func(*redistest.Cluster, event) func()) fault {
	return func(w *world, e event) func() {
		w.nodes.Lock()
		w.cluster.AwaitHealthy() // a busy node may have been replaced
		end := begin(w.cluster, e)
		return func() {
			end()
			w.cluster.AwaitHealthy()
			w.nodes.Unlock()
		}
	}
}

func reversible(begin, end []any) fault {
	return func(w *world, _ event) func() {
		w.do(begin...)
		return func() { w.do(end...) }
	}
}

func repeated(every time.Duration, act func(*world)) fault {
	return func(w *world, _ event) func() {
		ctx, cancel := context.WithCancel(w.ctx)
		var loop sync.WaitGroup
		loop.Go(func() {
			for ctx.Err() == nil {
				act(w)
				pause(ctx, every)
			}
		})
		return func() {
			cancel()
			loop.Wait()
		}
	}
}

func network(begin func(*proxy, event) func()) fault {
	return func(w *world, e event) func() {
		var ends []func()
		for i, s := range w.servers {
			if e.random%3 == 0 || i == e.server {
				ends = append(ends, begin(s.proxy, e))
			}
		}
		return func() {
			for _, end := range ends {
				end()
			}
		}
	}
}

func percent(of interface{ Store(int64) }, e event) func() {
	of.Store(int64(1 + e.random%30))
	return func() { of.Store(0) }
}

func (w *world) disconnect() {
	for _, kind := range []string{"normal", "pubsub"} {
		w.tell("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
	}
}

func (w *world) restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.redis.Run(); err != nil {
		w.history.fail(works, "Redis does not start: %v", err)
	}
}

// limitFiles sets the size up to which Redis can write files. The program is started with SIGXFSZ ignored, so that a
// write beyond it fails like one to a full disk.
func (w *world) limitFiles(limit string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pid := strconv.Itoa(w.redis.Process().Pid)
	if out, err := exec.Command("prlimit", "--pid", pid, "--fsize="+limit).CombinedOutput(); err != nil {
		w.history.fail(works, "prlimit: %v: %s", err, out)
	}
}

func (w *world) step(seconds int64) {
	if _, err := w.clock.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(seconds)), 0); err != nil {
		w.history.fail(works, "step the clock: %v", err)
	}
}

// available returns the names of the faults that can be injected here, and says why others are left out.
func (w *world) available() (names []string) {
	without := map[string]error{}
	if w.cluster == nil {
		if _, err := exec.LookPath("prlimit"); err != nil {
			without["file:disk"] = err
		}
		if err := w.tryClock(); err != nil {
			without["clock"] = err
		}
	}
	for name := range faults {
		if strings.HasPrefix(name, "nodes:") != (w.cluster != nil) && !slices.Contains(anywhere, name) {
			continue
		}
		if err := without[name]; err != nil {
			fmt.Fprintf(os.Stderr, "LEFT OUT: the fault %s: %v\n", name, err)
			continue
		}
		names = append(names, name)
	}
	return names
}

func (w *world) tryClock() error {
	if w.clock == nil {
		return errors.New("no C compiler (cc) to build a clock that can be stepped")
	}
	w.step(-1000)
	defer w.step(0)
	now, err := w.control.Time(w.ctx).Result()
	if err == nil && time.Since(now) < 900*time.Second {
		return errors.New("the server does not load the library with the clock")
	}
	return err
}
