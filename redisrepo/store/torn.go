package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// A server that was killed may leave an append-only file that ends within a write. Redis cuts that off when it loads the file, but a
// transaction only if the file ends between two of its commands: otherwise it leaves those before, and runs them together with the
// first transaction that is appended, at the next start. So a server that has clients does not load such a file. Another one, which
// has none, loads it as often as it takes: the first time it cuts off a part of a command, and the second time the transaction.

// cutSocket is the socket of the server that cuts the file.
const cutSocket = "cut.sock"

// tornText is what Redis logs when it does not load such a file.
const tornText = "Unexpected end of file reading the append only file"

var errTorn = errors.New("the append-only file ends within a write")

// isTorn reports whether the log has tornText from an offset on.
func isTorn(log *os.File, from int64) bool {
	text, err := io.ReadAll(io.NewSectionReader(log, from, 1<<20))
	return err == nil && bytes.Contains(text, []byte(tornText))
}

// cut has a server load the append-only file, which cuts off its end.
func (c *child) cut(ctx context.Context, out *os.File) error {
	c.log.WarnContext(ctx, "the append-only file of the private Redis ends within a write: what was not written completely is cut off, see "+logName, "store", c.dir)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := c.server(ctx, out, cutSocket, "yes")
	if err := startPrivate(cmd); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return fmt.Errorf("cut the append-only file: %w", err)
		case <-tick.C:
		}
		if first, err := ping(ctx, filepath.Join(filepath.Dir(c.socket), cutSocket)); err == nil && first == '+' { // an error while it loads
			stop()
			<-done //nolint:errcheck // it was stopped
			return nil
		}
	}
}
