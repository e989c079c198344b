package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	pingEvery   = time.Second // also how long a reply may take
	mayBeSilent = 8           // how many replies in a row may be missing
	mayStart    = 60          // the same before the first reply
)

// watch returns an error when the server has lost its socket, so that no client can connect any more, or when it does
// not reply. It returns nil when ctx ends. A server that is loading its data, or that refuses commands while it runs a
// script, replies. Once it has loaded its data, watch limits its memory.
func (c *child) watch(ctx context.Context) error {
	tick := time.Tick(pingEvery)
	for missing, limited := 0, false; ; {
		select {
		case <-tick:
		case <-ctx.Done():
			return nil
		}
		_, err := ping(ctx, c.socket)
		if err == nil {
			c.replied.Store(true)
			missing = 0
			limited = limited || c.limitMemory(ctx)
			continue
		}
		missing++
		switch replied := c.replied.Load(); {
		case replied && errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("it cannot be used: its socket is gone: %w", err)
		case replied && missing >= mayBeSilent || missing >= mayStart:
			return fmt.Errorf("it cannot be used: it does not reply: %w", err)
		}
	}
}

// limitMemory sets maxmemory to half of the memory, or to nine eighths of what the data takes if that is more: then, too,
// writes go on for a while, and the alert fires. It returns false if it is to be tried again.
func (c *child) limitMemory(ctx context.Context) bool {
	info, err := c.store.readInfo(ctx, c.store.Client)
	if err != nil || info["loading"] != "0" {
		return false
	}
	used, _ := strconv.ParseUint(info["used_memory"], 10, 64)
	memory := cmp.Or(c.memory, systemMemory())
	if memory == 0 || info["maxmemory"] != "0" { // unknown, or set by an operator
		return true
	}
	// Half: a rewrite of the append-only file may copy what is written meanwhile, and Frontpage needs memory, too.
	limit := max(memory/2, used+used/8)
	if err := c.store.Client.ConfigSet(ctx, "maxmemory", strconv.FormatUint(limit, 10)).Err(); err != nil {
		return false
	}
	if limit > memory/2 {
		c.log.WarnContext(ctx, "the private Redis takes about half of the memory or more: add memory, or it will refuse writes after growing by an eighth",
			"store", c.dir, "used", used, "memory", memory, "maxmemory", limit)
	}
	return true
}

// systemMemory returns the memory in bytes of this machine, or of its container or service if that has less; 0 if it is
// unknown.
func systemMemory() uint64 {
	machine, _ := memlimit.FromSystem()
	group, _ := memlimit.FromCgroup() // 0 with an error
	return cmp.Or(min(machine, group), machine, group)
}

// ping returns the first byte of the reply of the server at a socket to a new client.
func ping(ctx context.Context, socket string) (first byte, err error) {
	deadline := time.Now().Add(pingEvery)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(deadline); err != nil {
		return 0, err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return 0, err
	}
	reply := make([]byte, 1)
	_, err = conn.Read(reply)
	return reply[0], err
}
