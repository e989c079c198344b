package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	pingEvery   = time.Second // also how long a reply may take
	mayBeSilent = 8           // how many replies in a row may be missing
	mayStart    = 60          // the same before the first reply
)

// errUseless is the cause of ending a server that runs and cannot be used.
var errUseless = errors.New("it cannot be used")

// watch returns an error when the server has lost its socket, so that no client can connect any more, or when it does
// not reply. It returns nil when ctx ends. A server that is loading its data, or that refuses commands while it runs a
// script, replies.
func (c *child) watch(ctx context.Context) error {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for missing := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		err := c.ping(ctx)
		if err == nil {
			c.replied.Store(true)
			missing = 0
			continue
		}
		missing++
		switch replied := c.replied.Load(); {
		case replied && errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("%w: its socket is gone: %w", errUseless, err)
		case replied && missing >= mayBeSilent || missing >= mayStart:
			return fmt.Errorf("%w: it does not reply: %w", errUseless, err)
		}
	}
}

// ping succeeds if the server replies anything to a new client.
func (c *child) ping(ctx context.Context) error {
	deadline := time.Now().Add(pingEvery)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

// useless returns the error with which watch ended the server, or nil.
func useless(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, errUseless) {
		return err
	}
	return nil
}
