// Package store opens the Redis that Frontpage keeps its data in: a server that
// runs already, a private one that is started and ended here, or a stand-in in
// memory for trying out.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Kind says who runs the server.
type Kind string

// The three kinds.
const (
	Remote Kind = "remote" // somebody else; it was named by a URL
	Child  Kind = "child"  // this process, as a redis-server on a private socket
	Memory Kind = "memory" // nobody; the data is in this process and goes with it
)

// Options say which store to open.
type Options struct {
	// URL is one of
	//
	//	redis://user:password@host:6379/0    rediss:// with TLS
	//	unix://user:password@/path/to/socket?db=0
	//	redis+sentinel://user:password@host1,host2:26379/master/0    rediss+sentinel:// with TLS, to the Sentinels too
	//	spawn:///dir    a child with its data in /dir, read as it stands; spawn:// alone takes DataDir
	//	memory://
	//
	// Empty, it means a child with its data in DataDir where there is a
	// redis-server or valkey-server on PATH, and memory:// elsewhere.
	//
	// The first three take go-redis' settings as parameters, such as
	// ?pool_size=5&read_timeout=1s, and these win over the ones of this package.
	// One of them, skip_verify=true, takes whatever certificate the server has.
	// The user and password of a redis+sentinel URL are for the data; its
	// parameters sentinel_username and sentinel_password are for the Sentinels.
	URL string

	// DataDir is the directory of a child, required for one. It is made, for
	// this user only, when it does not exist.
	DataDir string

	// TLS is for rediss:// and rediss+sentinel://, which use at least TLS 1.2, and
	// is refused with anything else.
	TLS TLS

	// Timeout is the longest wait for one reply, and for a free connection.
	// 0 means 400 ms.
	Timeout time.Duration

	// Log gets what happens while the store is open, go-redis' own messages
	// included, at level debug. nil drops everything.
	Log *slog.Logger
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	Client  redis.UniversalClient // with the settings of this package; Close closes it
	Kind    Kind
	Address string // of a Remote: its URL without user and password; of a Child: its directory
	Version string // such as "Redis 7.0.15"; empty when the server did not tell

	aof  string // "1" or "0" as in INFO; empty when the server did not tell
	log  *slog.Logger
	stop func() // ends what serves a Child or Memory
}

const defaultTimeout = 400 * time.Millisecond

// Open opens the store and returns when it answers. A server that was named and
// does not answer within five seconds is an error, never a reason to take
// another store or to do without TLS; when the certificate of one side does not
// hold, that is an error at once. A server that is loading its data is waited for,
// up to a minute, and a child as long as it takes. Also refused are a server
// before version 6.2, Redis Cluster, and a directory that another process uses. A
// server that may lose data is not an error: it is a warning in the log.
//
// No error holds a user or a password. The logger of go-redis belongs to the
// whole process: the Open that came last has it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	redis.SetLogger(clientLog{o.Log})

	scheme, rest, _ := strings.Cut(o.URL, "://")
	if o.TLS != (TLS{}) && !isTLS(scheme) {
		return nil, errNoTLS
	}
	switch scheme {
	case "":
		if o.URL == "" && serverPath() != "" {
			return openChild(ctx, o)
		}
		if o.URL == "" {
			return openMemory(ctx, o)
		}
	case "memory":
		return openMemory(ctx, o)
	case "spawn":
		o.DataDir = cmp.Or(rest, o.DataDir)
		return openChild(ctx, o)
	case "redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel":
		return openRemote(ctx, o, scheme, rest)
	case "redis+cluster":
		return nil, errCluster
	}
	return nil, errors.New("the URL of the store must begin with redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://, spawn:// or memory://")
}

func openRemote(ctx context.Context, o Options, scheme, rest string) (*Store, error) {
	client, address, err := remoteClient(o, scheme, rest)
	if err != nil {
		return nil, err
	}
	s := &Store{Client: client, Kind: Remote, Address: address, log: o.Log, stop: func() {}}
	if err := s.await(ctx, remoteAnswers, remoteLoads, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", address, o.TLS.explain(scheme, err)), s.Close())
	}
	if err := s.inspect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("use %s: %w", address, err), s.Close())
	}
	return s, nil
}

// Close closes the client and ends a child, which has written everything down
// when Close returns: usually at once, after five seconds at most. Closing
// twice is not an error.
func (s *Store) Close() error {
	err := s.Client.Close()
	s.stop()
	if err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// String says in one line which store it is, where the data is and how safe it
// is there. It holds no user and no password.
func (s *Store) String() string {
	switch {
	case s.Kind == Memory:
		return "memory of this process: nothing is kept when it ends"
	case s.Kind == Child:
		return "a private " + s.Version + " with its data in " + s.Address + ": a power cut may cost the last second"
	case s.aof == "1":
		return cmp.Or(s.Version, "Redis") + " at " + s.Address + ": kept in its append-only file"
	case s.aof == "0":
		return cmp.Or(s.Version, "Redis") + " at " + s.Address + ": without an append-only file, a crash there loses votes and articles"
	}
	return cmp.Or(s.Version, "Redis") + " at " + s.Address + ": it does not say whether it keeps the data"
}
