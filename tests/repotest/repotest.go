// Package repotest opens sites over a Redis of their own for the tests of redisrepo and its rooms, writes to them, and checks them.
// A method that is named after one of Repo, such as MustPost, ends the test if the call fails.
package repotest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// go-redis writes a line for each call without a server.
func init() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Opened is the time at which the clock of every site starts.
var Opened = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// Week is how long votes are open by default.
const Week = 7 * site.Day

// Site is a Repo over a Redis of its own. Its clock moves only when the test moves it.
type Site struct {
	*redisrepo.Repo
	T      *testing.T
	Ctx    context.Context
	Server *redistest.Server
	Raw    *redis.Client // not the Repo's client, so that hooks there see only what the Repo sends
	Rules  site.Rules
	Clock  *Clock
	links  *atomic.Int64 // number of the last link that Fresh made
}

// Clock is the clock of a site.
type Clock struct{ sinceOpened atomic.Int64 }

// Now returns the time.
func (c *Clock) Now() time.Time { return Opened.Add(time.Duration(c.sinceOpened.Load())) }

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) { c.sinceOpened.Add(int64(d)) }

// Set sets the time since Opened.
func (c *Clock) Set(d time.Duration) { c.sinceOpened.Store(int64(d)) }

// Tags are the tags of n partitions; one has none.
func Tags(n int) (tags []string) {
	if n == 1 {
		return []string{string(keys.Untagged)}
	}
	for _, p := range keys.Tagged(n) {
		tags = append(tags, string(p))
	}
	return tags
}

// Tags are the tags of the partitions that the site has.
func (s *Site) Tags() []string { return Tags(len(s.Store.Partitions)) }

// Four are the tags of a site with four partitions.
var Four = Tags(4)

// Layouts are the tags of a site without partitions, and of one with four.
var Layouts = [][]string{Tags(1), Four}

// EachLayout runs test once for each of Layouts, and beside all other tests.
func EachLayout(t *testing.T, test func(t *testing.T, tags []string)) {
	t.Parallel()
	for _, tags := range Layouts {
		t.Run(fmt.Sprint(tags), func(t *testing.T) {
			t.Parallel()
			test(t, tags)
		})
	}
}

// Partitions is how many partitions a site has unless its test needs a certain number: 1, or TEST_PARTITIONS.
var Partitions, _ = strconv.Atoi(os.Getenv("TEST_PARTITIONS"))

// One is the option of a site without partitions, for tests that name its keys or its article numbers.
var One = redisrepo.WithPartitions(1)

// NoFeatures is a site that keeps none of the features.
func NoFeatures(r *site.Rules) {
	r.Calendar, r.GroupTop, r.VoteHistory, r.FrontPages, r.Events = false, false, site.NoHistory, 0, 0
}

// Uncounted lets the votes of posters not count.
func Uncounted(r *site.Rules) { r.PosterVotes = false }

// Decaying returns a change to a ranking with its parameter.
func Decaying(by site.Ranking, d time.Duration) func(*site.Rules) {
	return func(r *site.Rules) { r.Ranking, r.RankCap, r.HalfLife = by, d, d }
}

// New opens an empty site under the default rules, changed by change.
func New(t *testing.T, change func(*site.Rules), options ...redisrepo.Option) *Site {
	t.Helper()
	server := redistest.Start(t)
	server.Client.AddHook(checkedCalls{t})
	require.NoError(t, wire.Join(t.Context(), server.Client, wire.JoinWait))
	s := &Site{T: t, Ctx: t.Context(), Server: server, Rules: site.DefaultRules(), Clock: new(Clock), links: new(atomic.Int64)}
	s.Raw = s.ClientWith(func(*redis.Options) {})
	return s.Reopened(server.Client, change, append([]redisrepo.Option{redisrepo.WithPartitions(Partitions)}, options...)...)
}

// Reopened opens the same store with the same clock in another Repo.
func (s *Site) Reopened(client redis.UniversalClient, change func(*site.Rules), options ...redisrepo.Option) *Site {
	s.T.Helper()
	other := *s
	if change != nil {
		change(&other.Rules)
	}
	repo, err := redisrepo.New(s.Ctx, client, other.Rules, append(options, redisrepo.WithClock(s.Clock.Now))...)
	if err != nil {
		s.T.Fatalf("New: %v", err)
	}
	other.Repo = repo
	return &other
}

// Two opens one site in two Repos, as two processes would: each has its own caches.
func Two(t *testing.T, options ...redisrepo.Option) [2]*Site {
	s := New(t, func(r *site.Rules) { r.InterestingVotes = 50 }, options...)
	return [2]*Site{s, s.Reopened(s.Client(), nil)}
}

// Embedded opens an empty site in the store in memory, which is miniredis.
func Embedded(t *testing.T, change func(*site.Rules), options ...redisrepo.Option) *Site {
	t.Helper()
	memory := require.Value(store.Open(t.Context(), store.Options{URL: "memory://", Timeout: time.Minute, Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { _ = memory.Close() })
	s := &Site{T: t, Ctx: t.Context(), Rules: site.DefaultRules(), Clock: new(Clock), links: new(atomic.Int64), Raw: memory.Client.(*redis.Client)}
	return s.Reopened(memory.Client, change, options...)
}

// ClientWith returns another client of the site's server, with changed options.
func (s *Site) ClientWith(change func(*redis.Options)) *redis.Client {
	options := *s.Server.Client.Options()
	change(&options)
	client := redis.NewClient(&options)
	s.T.Cleanup(func() { _ = client.Close() })
	return client
}

// Client returns another client of the site's server, with the hooks.
func (s *Site) Client(hooks ...redis.Hook) *redis.Client {
	client := s.ClientWith(func(*redis.Options) {})
	client.AddHook(checkedCalls{s.T})
	for _, hook := range hooks {
		client.AddHook(hook)
	}
	require.NoError(s.T, wire.Join(s.Ctx, client, wire.JoinWait))
	return client
}

// Limited returns a client of a user, who has the rights.
func (s *Site) Limited(rights string) *redis.Client {
	s.Do("ACL SETUSER limited on nopass " + rights)
	return s.ClientWith(func(o *redis.Options) { o.Username, o.Password = "limited", "any" })
}

// checkedCalls is a hook that compares the calls of scripts with their headers. It allocates nothing.
type checkedCalls struct{ t *testing.T }

func (checkedCalls) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c checkedCalls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		c.check(command)
		return next(ctx, command)
	}
}

func (c checkedCalls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		for _, command := range commands {
			c.check(command)
		}
		return next(ctx, commands)
	}
}

func (c checkedCalls) check(command redis.Cmder) {
	if err := wire.CheckCall(command); err != nil {
		c.t.Error(err)
	}
}
