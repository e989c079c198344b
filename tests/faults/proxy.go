package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"frontpage/tests/redistest"
)

// proxy is the network between one server process and Redis. A fault of it is a function of one reply.
type proxy struct {
	listeners []net.Listener    // one for each server of Redis
	ports     map[string]string // what the listeners' ports stand for in replies: a node of a cluster names the others
	random    *rand.Rand
	mu        sync.Mutex                    // guards random
	cut       atomic.Int64                  // replies that get lost with their connection, percent
	truncate  atomic.Int64                  // replies of which a part arrives before their connection breaks, percent
	delay     atomic.Int64                  // of each reply, nanoseconds
	hole      atomic.Pointer[chan struct{}] // if not nil, nothing passes before it is closed
}

func newProxy(ctx context.Context, servers []*redistest.Server, seed uint64) (*proxy, error) {
	p := &proxy{ports: map[string]string{}, random: rand.New(rand.NewPCG(seed, 1))}
	for _, redis := range servers {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		p.listeners = append(p.listeners, listener)
		if redis.Addr != "" {
			p.ports[port(redis.Addr)] = port(listener.Addr().String())
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go p.connect(ctx, conn, redis.Socket())
			}
		}()
	}
	return p, nil
}

// port returns the port of an address, after a colon.
func port(address string) string { return address[strings.LastIndexByte(address, ':'):] }

func (p *proxy) url() string {
	var hosts []string
	for _, listener := range p.listeners {
		hosts = append(hosts, listener.Addr().String())
	}
	if len(hosts) == 1 {
		return "redis://site:site@" + hosts[0]
	}
	return fmt.Sprintf("redis+cluster://site:site@%s?partitions=%d", strings.Join(hosts, ","), len(tags))
}

// swallow makes a black hole until the returned function is called. What was sent into it arrives then, as TCP
// sends again.
func (p *proxy) swallow() (end func()) {
	hole := make(chan struct{})
	p.hole.Store(&hole)
	return func() {
		p.hole.Store(nil)
		close(hole)
	}
}

func (p *proxy) connect(ctx context.Context, server net.Conn, socket string) {
	defer func() { _ = server.Close() }()
	p.wait(ctx)
	redis, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer func() { _ = redis.Close() }()
	ended := context.AfterFunc(ctx, func() { _ = errors.Join(server.Close(), redis.Close()) })
	defer ended()
	go func() {
		p.copy(ctx, redis, server, func(b []byte) ([]byte, bool) { return b, true })
		_ = redis.Close()
	}()
	p.copy(ctx, server, redis, p.reply)
}

func (p *proxy) copy(ctx context.Context, to, from net.Conn, change func([]byte) ([]byte, bool)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.wait(ctx)
		part, intact := change(buffer[:n])
		if _, errW := to.Write(part); errW != nil || err != nil || !intact {
			return
		}
	}
}

// reply applies the faults to what Redis sent, and reports whether the connection survives.
func (p *proxy) reply(b []byte) (part []byte, intact bool) {
	// Ports have five digits, all of them, so that lengths stay what they are. One that two reads share is not found:
	// then that connection has no faults.
	if bytes.Contains(b, []byte("127.0.0.1")) {
		for from, to := range p.ports {
			b = bytes.ReplaceAll(b, []byte(from), []byte(to))
		}
	}
	if delay := time.Duration(p.delay.Load()); delay > 0 {
		<-time.After(delay)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch percent := p.random.Int64N(100); {
	case percent < p.cut.Load():
		return nil, false
	case percent < p.cut.Load()+p.truncate.Load():
		return b[:p.random.IntN(len(b)+1)], false
	}
	return b, true
}

func (p *proxy) wait(ctx context.Context) {
	if hole := p.hole.Load(); hole != nil {
		select {
		case <-*hole:
		case <-ctx.Done():
		}
	}
}
