package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxy is the network between one server process and Redis. A fault of it is a function of one reply.
type proxy struct {
	listener net.Listener
	socket   string // of Redis
	random   *rand.Rand
	mu       sync.Mutex                    // guards random
	cut      atomic.Int64                  // replies that get lost with their connection, percent
	truncate atomic.Int64                  // replies of which a part arrives before their connection breaks, percent
	delay    atomic.Int64                  // of each reply, nanoseconds
	hole     atomic.Pointer[chan struct{}] // if not nil, nothing passes before it is closed
}

func newProxy(ctx context.Context, socket string, seed uint64) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, socket: socket, random: rand.New(rand.NewPCG(seed, 1))}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.connect(ctx, conn)
		}
	}()
	return p, nil
}

func (p *proxy) url() string { return "redis://site:site@" + p.listener.Addr().String() }

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

func (p *proxy) connect(ctx context.Context, server net.Conn) {
	defer func() { _ = server.Close() }()
	p.wait(ctx)
	redis, err := net.Dial("unix", p.socket)
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
