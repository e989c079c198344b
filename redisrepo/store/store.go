// Package store opens the Redis with Frontpage's data: a running server named by a URL, a private server that starts
// and stops with the process, or an in-memory stand-in for trying out.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Kind says who runs the server.
type Kind string

// The three kinds.
const (
	Remote Kind = "remote" // the operator; a URL names the server
	Child  Kind = "child"  // this process, as a redis-server on a private socket
	Memory Kind = "memory" // this process, in its own memory: the data is lost when it ends
)

// Options say which store to open.
type Options struct {
	// URL is one of
	//
	//	redis://user:password@host:6379/0    rediss:// with TLS
	//	unix://user:password@/path/to/socket?db=0
	//	redis+sentinel://user:password@host1,host2:26379/master/0    rediss+sentinel:// with TLS, to the Sentinels too
	//	redis+cluster://user:password@host1,host2:6379    some nodes of a Redis Cluster; rediss+cluster:// with TLS
	//	spawn:///dir    a child with its data in /dir, which is not percent-decoded; spawn:// alone means DataDir
	//	memory://
	//
	// Empty, it means a child with its data in DataDir if redis-server or valkey-server is on PATH, and
	// memory:// otherwise. It never means memory:// with Keep, or if DataDir is not empty: that is an error.
	//
	// The first four accept go-redis' settings as parameters, such as ?pool_size=5&read_timeout=1s, which
	// override those of this package. One of them, skip_verify=true, accepts any certificate from the server. They
	// also accept partitions, for Store.Partitions, and acks, which overrides Acks.
	// The user and password of a redis+sentinel URL are for the data; its parameters sentinel_username and
	// sentinel_password are for the Sentinels.
	URL string

	// DataDir is the directory of a child's data, required for a child. If it does not exist, it is created. It and its
	// files are made accessible to this user only. It is an error if that is impossible, or if it has other files, too.
	DataDir string

	// Keep is the reason why data must outlive the process, such as "FRONTPAGE_PUBLIC_URL is set"; empty if it may be
	// lost.
	Keep string

	// Memory is the machine's memory in bytes, half of which a child's data may take. 0 means what the system reports, or
	// the limit of the process if that is less, as in a container.
	Memory uint64

	// Command is the name of the subcommand that opens the store, such as import; empty, it is the server. If another
	// process runs a child in the directory, a command uses that one. A server is the only one of its directory, and
	// waits for a command that runs a child.
	Command string

	// TLS is for rediss://, rediss+sentinel:// and rediss+cluster://, which use TLS 1.2 or newer. With any other
	// URL it is an error.
	TLS TLS

	// Timeout is the maximum wait for one reply, and for a free connection. 0 means 400 ms. In memory it is at least
	// 5 s, in a Redis Cluster at most 5 s.
	Timeout time.Duration

	// Acks is the number of replicas that must confirm a write, at most MaxAcks, for Store.Acks. nil means 1 for a Redis
	// Cluster and 0 for other stores. For a child, which has no replicas, only 0 is valid.
	Acks *int

	// Log receives lines about the open store, including go-redis' own messages at level debug. nil discards all.
	Log *slog.Logger

	// Names are the names in messages of URL, DataDir, Acks, CAFile, CertFile and KeyFile, for example "URL": "REDIS_URL".
	// The default is the field's name.
	Names map[string]string
}

// MaxAcks is the maximum number of replicas that confirm a write.
const MaxAcks = 10

// name returns what messages call the option.
func (o Options) name(field string) string { return cmp.Or(o.Names[field], field) }

// Directory returns the data directory of a child.
func (o Options) Directory() string {
	if rest, spawn := strings.CutPrefix(o.URL, "spawn://"); spawn {
		return cmp.Or(rest, o.DataDir)
	}
	return o.DataDir
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	Client  redis.UniversalClient // closed by Close
	Kind    Kind
	Address string // of a Remote: its URL without user and password; of a Child: its directory
	Version string // such as "Redis 7.0.15", in a cluster one node's; empty if unknown

	Partitions int // of a new site, as the URL says; 0 if it does not
	Acks       int // number of replicas that are to confirm a write

	sentinels bool // they name the server
	joined    bool // another process runs the child

	aof  string // "1" or "0" as in INFO; empty if unknown
	log  *slog.Logger
	stop func() // ends the server of a Child or Memory
}

const defaultTimeout = 400 * time.Millisecond

// Open opens the store and returns once it replies.
//
// A server named by a URL that does not reply within four seconds is an error: Open never falls back to another store
// or to a connection without TLS. A certificate that either side rejects fails at once. A server that is loading its
// data, or is slow after its first reply, gets up to a minute. So do a Redis Cluster that lacks a shard, and Sentinels
// whose primary does not reply. A child gets as long as it needs. Redis before 6.2, a node of a Redis Cluster before
// 7.0 and a directory that another process uses are errors, too. A server that may lose data is not an error: Open logs
// a warning.
//
// No error contains a user name or a password. go-redis has one logger for the whole process: the latest Open sets it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	redis.SetLogger(clientLog{o.Log})

	if o.isChild() {
		o.DataDir = o.Directory()
		return openChild(ctx, o)
	}
	scheme, rest, _ := strings.Cut(o.URL, "://")
	switch scheme {
	case "":
		if err := o.mayForget(); err != nil {
			return nil, err
		}
		return openMemory(ctx, o)
	case "memory":
		return openMemory(ctx, o)
	}
	return openRemote(ctx, o, scheme, rest)
}

// isChild reports whether the store is a server that Open starts.
func (o Options) isChild() bool {
	return strings.HasPrefix(o.URL, "spawn://") || o.URL == "" && serverPath() != ""
}

// OptionError is the error for invalid options.
type OptionError struct{ error }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.error }

// Check returns an *OptionError if the options are invalid. It reads the files of TLS and creates the data directory of
// a child, but connects to nothing. Open checks the same.
func (o Options) Check() error {
	if err := o.complete(); err != nil {
		return err
	}
	if !o.isChild() {
		return nil
	}
	o.DataDir = o.Directory()
	return o.makeDataDir()
}

// complete sets the defaults, and checks the options.
func (o *Options) complete() error {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if err := o.check(); err != nil {
		return &OptionError{err}
	}
	return nil
}

func (o Options) check() error {
	scheme, rest, found := strings.Cut(o.URL, "://")
	private := o.URL == "" || found && (scheme == "memory" || scheme == "spawn")
	switch {
	case o.TLS != (TLS{}) && !isTLS(scheme):
		return fmt.Errorf("%s, %s and %s need %s to begin with rediss://, rediss+sentinel:// or rediss+cluster://",
			o.name("CAFile"), o.name("CertFile"), o.name("KeyFile"), o.name("URL"))
	case private && o.Acks != nil && *o.Acks > 0:
		return fmt.Errorf("%s: a private Redis has no replicas: set %s to a server that has them", o.name("Acks"), o.name("URL"))
	case private:
		return nil
	case !found || !slices.Contains(remoteSchemes, scheme):
		return o.invalidURL(errors.New("it must begin with redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://, " +
			"redis+cluster://, rediss+cluster://, spawn:// or memory://" + suggestion(o.URL)))
	}
	r, err := openURL(o, scheme, rest)
	if err != nil {
		return err
	}
	return r.client.Close()
}

var remoteSchemes = []string{"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}

// suggestion says what a URL was meant to be that has another scheme, or none. It quotes a host with a port only, and
// nothing that may be a password.
func suggestion(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		rest = address
	}
	host, _, _ := strings.Cut(rest, "/")
	if !validHost(host) || strings.Contains(rest, "@") {
		return ""
	}
	return ": did you mean redis://" + host + "?"
}

func openRemote(ctx context.Context, o Options, scheme, rest string) (*Store, error) {
	r, err := openURL(o, scheme, rest)
	if err != nil {
		return nil, err
	}
	s := &Store{Client: r.client, Kind: Remote, Address: r.address, Partitions: r.partitions, Acks: r.acks, sentinels: strings.HasSuffix(scheme, "+sentinel"),
		log: o.Log, stop: func() {}}
	if err := s.await(ctx, s.ping, remoteReplies, remoteLoads, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: connect to %s: %w", o.name("URL"), r.address, o.explain(scheme, err)), s.Close())
	}
	if err := s.inspect(ctx, remoteLoads, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %s: %w", o.name("URL"), r.address, err), s.Close())
	}
	return s, nil
}

// Close closes the client and stops a child. When Close returns, a child has written everything to disk; this
// usually takes no time, and five seconds at most. Closing again is a no-op.
func (s *Store) Close() error {
	err := s.Client.Close()
	s.stop()
	if err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// Where describes in a few words the store and the place of its data, without user name and password.
func (s *Store) Where() string {
	server := cmp.Or(s.Version, "Redis")
	switch {
	case s.Kind == Memory:
		return "in memory"
	case s.joined:
		return "the private " + server + " of a running Frontpage, on the socket " + s.Socket()
	case s.Kind == Child:
		return "a private " + server + " with its data in " + s.Address + ", on the socket " + s.Socket()
	}
	return server + " at " + s.Address
}

// String is Where, and when data can be lost.
func (s *Store) String() string {
	switch {
	case s.Kind == Memory:
		return s.Where() + ": all data is lost when this process ends"
	case s.joined:
		return s.Where()
	case s.Kind == Child:
		return s.Where() + ": a power cut can lose the last second of writes"
	case s.aof == "1":
		return s.Where() + ": it writes every change to its append-only file"
	case s.aof == "0":
		return s.Where() + ": it has no append-only file, so a crash of Redis loses recent articles and votes"
	}
	return s.Where() + ": it does not report whether it persists data"
}
