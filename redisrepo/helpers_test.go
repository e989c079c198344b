package redisrepo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/exchange/export"
	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// TestMain silences go-redis, which writes a line for each call without a server.
func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	m.Run()
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// four are the tags of a site with four partitions.
var four = redisrepo.Tags(4)

// layouts are the tags of a site without partitions, and of one with four.
var layouts = [][]string{redisrepo.Tags(1), four}

// eachLayout runs test once for each of layouts, and beside all other tests.
func eachLayout(t *testing.T, test func(t *testing.T, tags []string)) {
	t.Parallel()
	for _, tags := range layouts {
		t.Run(fmt.Sprint(tags), func(t *testing.T) {
			t.Parallel()
			test(t, tags)
		})
	}
}

// opened is the time at which the clock of every site starts.
var opened = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// site is a Repo over a Redis of its own. Its clock moves only when the test moves it.
type testSite struct {
	*redisrepo.Repo
	t      *testing.T
	ctx    context.Context
	server *redistest.Server
	raw    *redis.Client // not the Repo's client, so that hooks there see only what the Repo sends
	rules  site.Rules
	clock  *clock
	links  *atomic.Int64 // number of the last link that fresh made
}

type clock struct{ sinceOpened atomic.Int64 }

func (c *clock) now() time.Time          { return opened.Add(time.Duration(c.sinceOpened.Load())) }
func (c *clock) advance(d time.Duration) { c.sinceOpened.Add(int64(d)) }
func (c *clock) set(d time.Duration)     { c.sinceOpened.Store(int64(d)) }

// testPartitions is how many partitions a site has unless its test needs a certain number: 1, or TEST_PARTITIONS.
var testPartitions, _ = strconv.Atoi(os.Getenv("TEST_PARTITIONS"))

// one is the option of a site without partitions, for tests that name its keys or its article numbers.
var one = redisrepo.WithPartitions(1)

// newSite opens an empty site under the default rules, changed by change.
func newSite(t *testing.T, change func(*site.Rules), options ...redisrepo.Option) *testSite {
	t.Helper()
	server := redistest.Start(t)
	server.Client.AddHook(checkedCalls{t})
	require.NoError(t, wire.Join(t.Context(), server.Client, wire.JoinWait))
	s := &testSite{t: t, ctx: t.Context(), server: server, rules: site.DefaultRules(), clock: new(clock), links: new(atomic.Int64)}
	s.raw = s.clientWith(func(*redis.Options) {})
	return s.reopened(server.Client, change, append([]redisrepo.Option{redisrepo.WithPartitions(testPartitions)}, options...)...)
}

// reopened opens the same store with the same clock in another Repo.
func (s *testSite) reopened(client redis.UniversalClient, change func(*site.Rules), options ...redisrepo.Option) *testSite {
	s.t.Helper()
	other := *s
	if change != nil {
		change(&other.rules)
	}
	repo, err := redisrepo.New(s.ctx, client, other.rules, append(options, redisrepo.WithClock(s.clock.now))...)
	if err != nil {
		s.t.Fatalf("New: %v", err)
	}
	other.Repo = repo
	return &other
}

// clientWith returns another client of the site's server, with changed options.
func (s *testSite) clientWith(change func(*redis.Options)) *redis.Client {
	options := *s.server.Client.Options()
	change(&options)
	client := redis.NewClient(&options)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// client returns another client of the site's server, with the hooks.
func (s *testSite) client(hooks ...redis.Hook) *redis.Client {
	client := s.clientWith(func(*redis.Options) {})
	client.AddHook(checkedCalls{s.t})
	for _, hook := range hooks {
		client.AddHook(hook)
	}
	require.NoError(s.t, wire.Join(s.ctx, client, wire.JoinWait))
	return client
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

// knowsRights reports whether the server can tell a script what its user may run: Redis 7.0 and newer.
func (s *testSite) knowsRights() bool {
	return s.do("EVAL", "return redis.acl_check_cmd and 1 or 0", 0) == int64(1)
}

func draft(title string, groups ...string) site.Draft {
	return site.Draft{Title: title, Link: new("https://example.com/" + title), Groups: groups}
}

// fresh returns a draft with a link that no other draft has.
func (s *testSite) fresh(groups ...string) site.Draft {
	return site.Draft{Title: "title", Link: new(fmt.Sprint("https://example.com/", s.links.Add(1))), Groups: groups}
}

func (s *testSite) post(poster site.UserName, groups ...string) *site.Article {
	s.t.Helper()
	a, err := s.Post(s.ctx, poster, s.fresh(groups...))
	if err != nil {
		s.t.Fatalf("Post by %s into %v: %v", poster, groups, err)
	}
	return a
}

func (s *testSite) vote(id site.ArticleID, voter site.UserName, vote site.Vote) redisrepo.VoteResult {
	s.t.Helper()
	result, err := s.Vote(s.ctx, id, voter, vote, "")
	if err != nil {
		s.t.Fatalf("Vote %d by %s on %v: %v", vote, voter, id, err)
	}
	return result
}

func (s *testSite) regroup(a *site.Article, add, remove []string) *site.Article {
	s.t.Helper()
	b, err := s.Regroup(s.ctx, a.ID, site.Actor{Name: a.Poster.Name}, add, remove)
	if err != nil {
		s.t.Fatalf("Regroup %v, add %v, remove %v: %v", a.ID, add, remove, err)
	}
	return b
}

func (s *testSite) article(id site.ArticleID) *site.Article {
	s.t.Helper()
	articles, errs := s.Articles.ArticlesByID(s.ctx, []site.ArticleID{id})
	if errs[0] != nil {
		s.t.Fatalf("ArticlesByID %v: %v", id, errs[0])
	}
	return articles[0]
}

// positions returns the user's votes on the articles, one character each; "?" stands for a forgotten one.
func (s *testSite) positions(user site.UserName, ids ...site.ArticleID) string {
	s.t.Helper()
	articles, errs := s.Articles.ArticlesByID(s.ctx, ids)
	require.NoError(s.t, errors.Join(errs...))
	return signs(require.Value(s.Casts.Votes(s.ctx, user, articles))(s.t))
}

func signs(votes []*site.Vote) string {
	var b strings.Builder
	for _, vote := range votes {
		if vote == nil {
			b.WriteByte('?')
		} else {
			b.WriteByte("-0+"[*vote+1])
		}
	}
	return b.String()
}

// list returns the first page of a listing.
func (s *testSite) list(l lists.Listing) []site.ArticleID {
	s.t.Helper()
	return require.Value(s.Lists.List(s.ctx, l, 1, nil))(s.t)
}

// best lists a group by score, the highest first.
func best(group site.GroupName) lists.Listing {
	return lists.InGroup(group, site.ByScore, site.Descending)
}

func (s *testSite) wantList(l lists.Listing, want ...site.ArticleID) {
	s.t.Helper()
	if got := s.list(l); !slices.Equal(got, want) {
		s.t.Errorf("List = %v, want %v", got, want)
	}
}

// violations returns what Check reports, sorted.
func (s *testSite) violations() []string {
	s.t.Helper()
	var found []string
	require.Value(check.Check(s.ctx, s.Repo, func(violation string) { found = append(found, violation) }))(s.t)
	slices.Sort(found)
	return found
}

func (s *testSite) wantViolations(want ...string) {
	s.t.Helper()
	if got := s.violations(); !slices.Equal(got, want) {
		s.t.Errorf("Check reports\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (s *testSite) wantClean() {
	s.t.Helper()
	s.forgetTold()
	s.wantViolations()
}

// moderator is an actor who posted no article, but may do what posters may.
var moderator = site.Actor{Name: "mod", Moderator: true}

func (s *testSite) delete(id site.ArticleID, by site.Actor) *site.Article {
	s.t.Helper()
	a, err := s.Delete(s.ctx, id, by, site.Why{})
	if err != nil {
		s.t.Fatalf("Delete %v by %+v: %v", id, by, err)
	}
	return a
}

func (s *testSite) undelete(id site.ArticleID) *site.Article {
	s.t.Helper()
	a, err := s.Undelete(s.ctx, id, moderator)
	if err != nil {
		s.t.Fatalf("Undelete %v: %v", id, err)
	}
	return a
}

// do runs a command as redis-cli does: words separated by blanks, then the arguments in more.
func (s *testSite) do(command string, more ...any) any {
	s.t.Helper()
	var args []any
	for word := range strings.FieldsSeq(command) {
		args = append(args, word)
	}
	reply, err := s.raw.Do(s.ctx, append(args, more...)...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatalf("%s: %v", command, err)
	}
	return reply
}

// doLines runs commands, one a line.
func (s *testSite) doLines(commands string) {
	s.t.Helper()
	for line := range strings.Lines(commands) {
		s.do(line)
	}
}

// ttl returns how long the key still lives. Below 0 it does not exist or does not expire.
func (s *testSite) ttl(key string) time.Duration {
	s.t.Helper()
	return time.Duration(s.do("PTTL", key).(int64)) * time.Millisecond
}

// dump returns the whole store as text, with the log applied: each key with its type, its content and whether it expires. How far
// the views have the log is left out: ids differ from run to run.
func (s *testSite) dump() string {
	s.t.Helper()
	_ = s.Views.CatchUpAll(s.ctx) // unless the test has Redis refuse it
	keys := require.Value(s.raw.Keys(s.ctx, "*").Result())(s.t)
	slices.Sort(keys)
	kinds, contents, ttls := make([]*redis.StatusCmd, len(keys)), make([]func() any, len(keys)), make([]*redis.DurationCmd, len(keys))
	require.Value(s.raw.Pipelined(s.ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			kinds[i], ttls[i] = p.Type(s.ctx, key), p.PTTL(s.ctx, key)
		}
		return nil
	}))(s.t)
	if _, err := s.raw.Pipelined(s.ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			contents[i] = s.content(p, kinds[i].Val(), key)
		}
		return nil
	}); err != nil && !errors.Is(err, redis.Nil) { // a key that has just expired
		s.t.Fatal(err)
	}
	var b strings.Builder
	for i, key := range keys {
		content := fmt.Sprint(contents[i]())
		isUnkept := strings.HasSuffix(key, "events:") && (content == "[]" || s.rules.Events == 0)
		if !strings.HasSuffix(key, "views:") && !isUnkept {
			fmt.Fprintf(&b, "%s: %v, ends: %t\n", key, content, ttls[i].Val() > 0)
		}
	}
	return b.String()
}

// wantStore compares what dump returns. when begins the message: what was done.
func (s *testSite) wantStore(want string, when ...any) {
	s.t.Helper()
	if got := s.dump(); got != want {
		s.t.Errorf("%s the store holds\n%s\nwant\n%s", fmt.Sprint(when...), got, want)
	}
}

// content asks for what a key of this type holds.
func (s *testSite) content(p redis.Pipeliner, kind, key string) func() any {
	switch kind {
	case "hash":
		reply := p.HGetAll(s.ctx, key) // printed in the order of the fields
		return func() any {
			delete(reply.Val(), "epoch")      // random
			delete(reply.Val(), "cursor_key") // random
			delete(reply.Val(), "uuid")
			return reply.Val()
		}
	case "set":
		reply := p.SMembers(s.ctx, key)
		return func() any { return slices.Sorted(slices.Values(reply.Val())) }
	case "zset":
		reply := p.ZRangeWithScores(s.ctx, key, 0, -1)
		return func() any { return reply.Val() }
	case "stream":
		reply := p.XRange(s.ctx, key, "-", "+")
		return func() any {
			var entries []any // without their ids, which come from the server's clock
			for _, entry := range reply.Val() {
				entries = append(entries, entry.Values)
			}
			return entries
		}
	case "list":
		reply := p.LRange(s.ctx, key, 0, -1)
		return func() any { return reply.Val() }
	}
	reply := p.Get(s.ctx, key)
	return func() any { return reply.Val() }
}

// wantRefused fails the test unless err is a refusal with exactly these codes and fields, such as
// "INVALID title".
func wantRefused(t *testing.T, err error, want ...string) {
	t.Helper()
	var refusal site.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("err = %v, want a refusal with %q", err, want)
	}
	got := make([]string, len(refusal))
	for i, e := range refusal {
		got[i] = strings.TrimSpace(string(e.Code) + " " + strings.Join(e.Field, "."))
		if e.Message == "" || strings.HasSuffix(e.Message, ".") {
			t.Errorf("message of %s = %q, want a sentence without a full stop", got[i], e.Message)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("refused with %q, want %q: %v", got, want, err)
	}
}

// together runs n calls at once and waits for them.
func together(n int, call func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			call(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// groups returns the first 100 groups with their counts.
func (s *testSite) groups() ([]*site.Group, error) {
	edges, _, err := s.Lists.Groups(s.ctx, lists.GroupList{}, site.PageRequest{First: new(100)})
	if err != nil {
		return nil, err
	}
	names := make([]site.GroupName, len(edges))
	for i, edge := range edges {
		names[i] = edge.Name
	}
	counts, err := s.Articles.ArticleCounts(s.ctx, names)
	if err != nil {
		return nil, err
	}
	groups := make([]*site.Group, len(edges))
	for i, name := range names {
		groups[i] = &site.Group{Name: name, ArticleCount: counts[i]}
	}
	return groups, nil
}

// wantCounts fails the test unless these are all groups by name, each with its number of articles: "go 2".
func (s *testSite) wantCounts(want ...string) {
	s.t.Helper()
	var got []string
	for _, group := range require.Value(s.groups())(s.t) {
		got = append(got, fmt.Sprint(group.Name, " ", group.ArticleCount))
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("Groups = %q, want %q", got, want)
	}
}

// moved is a site on another server that has imported the export of this one, and has the same export.
func (s *testSite) moved(options ...redisrepo.Option) *testSite {
	s.t.Helper()
	write := func(of *testSite) string {
		var to bytes.Buffer
		require.Value(export.Write(s.ctx, of.Repo, &to, export.Options{Report: s.t.Output()}))(s.t)
		return to.String()
	}
	text, target := write(s), redistest.Start(s.t)
	require.Value(export.Read(s.ctx, target.Client, s.rules, strings.NewReader(text), export.Options{Report: s.t.Output()}, append(options, redisrepo.WithClock(s.clock.now))...))(s.t)
	other := *s
	other.server, other.raw = target, target.Client
	result := other.reopened(target.Client, nil, options...)
	first, second := strings.Split(text, "\n"), strings.Split(write(result), "\n")
	for i := range max(len(first), len(second)) {
		if i >= len(first) || i >= len(second) || first[i] != second[i] {
			s.t.Errorf("line %d of the second export differs: %.300q, want %.300q", i+1, second[min(i, len(second)-1)], first[min(i, len(first)-1)])
			break
		}
	}
	result.wantClean()
	return result
}

func voter(i int) site.UserName { return site.UserName(fmt.Sprint("voter", i)) }

// killer has a hook that fails everything after so many round trips, as if its process were killed.
type killer struct{ left atomic.Int64 }

var errKilled = errors.New("killed")

func (k *killer) hook() redistest.Hook {
	return func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		if k.left.Add(-1) < 0 {
			return redistest.Fail(errKilled, commands)
		}
		return send(ctx, commands)
	}
}

// used has the site listen and write until the function that it returns is called.
func (s *testSite) used() (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	var all sync.WaitGroup
	all.Go(func() { s.Live.Listen(ctx, func(error) {}) })
	ids := s.list(lists.AllArticles(site.ByTime, site.Descending))
	for w := range 3 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := 0; ctx.Err() == nil; i++ {
				id := ids[random.IntN(len(ids))]
				_, err := s.Vote(s.ctx, id, voter(random.IntN(8)), site.Vote(random.IntN(3)-1), "bucket")
				switch i % 20 {
				case 5:
					_, _ = s.Delete(s.ctx, id, moderator, site.Why{})
				case 6:
					_, err = s.Undelete(s.ctx, id, moderator)
				case 7:
					_, err = s.Regroup(s.ctx, id, moderator, []string{"moved"}, []string{"go"})
				case 8:
					_, err = s.Post(s.ctx, voter(w), site.Draft{Title: "live", Text: new("text"), Groups: []string{"live"}})
				}
				if refusal := (site.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
					s.t.Errorf("a write: %v", err)
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// before is a hook that calls a function before each command of a name, alone or the first in a pipeline.
func before(name string, call func(ctx context.Context)) redistest.Hook {
	return func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		if commands[0].Name() == name {
			call(ctx)
		}
		return send(ctx, commands)
	}
}
