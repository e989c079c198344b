package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// manyGroups is the number of groups of withManyGroups, of which one round trip cannot ask all.
const manyGroups = 1200

// withManyGroups opens a site whose store only legacy clients have used: article:1 and article:2 of user:alice,
// the first in g0007 and g0900, the second in g0007, and as many further groups as make manyGroups. The client
// sends through the hooks.
func withManyGroups(t *testing.T, hooks ...redis.Hook) *testSite {
	t.Helper()
	s := newSite(t, nil)
	s.do("DEL meta:")
	bookRegroup(s, bookPost(s, "user:alice"), []string{"g0007", "g0900"}, nil)
	bookRegroup(s, bookPost(s, "user:alice"), []string{"g0007"}, nil)
	other := bookPost(s, "user:bob")
	_, err := s.raw.Pipelined(s.ctx, func(pipe redis.Pipeliner) error {
		for i := range manyGroups {
			pipe.SAdd(s.ctx, fmt.Sprintf("group:g%04d", i), other.String())
		}
		return nil
	})
	require.NoError(t, err)
	return s.reopened(s.client(hooks...), nil)
}

// largest notes the largest number of keys of a script, of arguments of a command, and of
// commands in a pipeline.
type largest struct {
	mutex                     sync.Mutex
	keys, arguments, commands int
}

func (l *largest) add(commands ...redis.Cmder) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.commands = max(l.commands, len(commands))
	for _, command := range commands {
		l.arguments = max(l.arguments, len(command.Args()))
		if command.Name() == "evalsha" {
			keys, _ := command.Args()[2].(int)
			l.keys = max(l.keys, keys)
		}
	}
}

// Redis serves no other client while it runs a command or a script, so no call may pass all groups to one.
func TestWritesToLegacyArticlesTakeTheirOwnGroupsOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		write  func(s *testSite)
		keys   int // of the script
		groups []site.GroupName
	}{
		"vote":       {write: func(s *testSite) { s.vote(1, "carol", up) }, keys: 9 + 2 + 1, groups: []site.GroupName{"g0007", "g0900"}},
		"regrouping": {write: func(s *testSite) { regroup(s, 1, "g0008") }, keys: 8 + 3*3, groups: []site.GroupName{"g0007", "g0008", "g0900"}},
		"deletion and undeletion": {write: func(s *testSite) {
			s.delete(1, moderator)
			s.undelete(1)
		}, keys: 20 + 3*3, groups: []site.GroupName{"g0007", "g0900"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := new(largest)
			s := withManyGroups(t, redistest.Before(hook.add))
			hook.mutex.Lock()
			hook.keys = 0 // of the start
			hook.mutex.Unlock()
			tt.write(s)
			if hook.keys != tt.keys || hook.commands > 501 || hook.arguments > 1501 {
				t.Errorf("the largest script has %d keys, the largest pipeline %d commands, the largest command %d arguments; want %d, at most 501 and 1501",
					hook.keys, hook.commands, hook.arguments, tt.keys)
			}
			if got := s.article(1).Groups; !slices.Equal(got, tt.groups) {
				t.Errorf("groups = %v, want %v", got, tt.groups)
			}
			s.wantClean()
		})
	}
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

// The search for the groups of an article goes on for the others when the caller that began it gives up.
func TestCanceledSearchForGroupsFailsNoOtherCaller(t *testing.T) { // with the race detector
	t.Parallel()
	searching, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := withManyGroups(t, before("smismember", func(ctx context.Context) {
		once.Do(func() { close(searching) })
		<-goOn
	}))
	ctx, cancel := context.WithCancel(s.ctx)
	canceled := make(chan error, 1)
	go func() {
		_, err := s.Vote(ctx, 1, "bob", up, "")
		canceled <- err
	}()
	<-searching
	others := make(chan error, 2)
	for _, id := range []site.ArticleID{1, 2} {
		go func() {
			_, err := s.Vote(s.ctx, id, "carol", up, "")
			others <- err
		}()
	}
	cancel()
	if err := <-canceled; !errors.Is(err, context.Canceled) || errors.Is(err, failover.ErrUnavailable) {
		t.Errorf("Vote of the caller that gave up: %v, want context.Canceled", err)
	}
	close(goOn)
	for range 2 {
		if err := <-others; err != nil {
			t.Errorf("Vote of another caller: %v", err)
		}
	}
	if got := s.article(1).Votes + s.article(2).Votes; got != 4 {
		t.Errorf("votes of both articles = %d, want 4", got)
	}
	s.wantClean()
}

// Callers with legacy articles share the passes over all groups.
func TestSearchesForGroupsAreShared(t *testing.T) { // with the race detector
	t.Parallel()
	const callers = 32
	commands := new(counter)
	var opened atomic.Bool
	var unlisted atomic.Int64
	all := make(chan struct{})
	s := withManyGroups(t, redistest.Before(commands.add), before("smismember", func(context.Context) { <-all }), after("evalsha", func() {
		if opened.Load() && unlisted.Add(1) == callers { // each of them had to learn that the hash lists no groups
			close(all)
		}
	}))
	commands.reset()
	opened.Store(true)
	together(callers, func(i int) {
		if _, err := s.Regroup(s.ctx, site.ArticleID(1+i%2), moderator, []string{fmt.Sprint("new", i/8)}, nil); err != nil {
			t.Errorf("Regroup %d: %v", i, err)
		}
	})
	if got := strings.Count(commands.reset().names, "smismember"); got > callers/2*manyGroups {
		t.Errorf("%d calls sent %d SMISMEMBER, want less than %d", callers, got, callers/2*manyGroups)
	}
	if got := len(s.article(1).Groups) + len(s.article(2).Groups); got != 2+1+4+4 {
		t.Errorf("both articles are in %d groups, want 11", got)
	}
	s.wantClean()
}

// after is a hook that calls a function after each command of a name that is alone.
func after(name string, call func()) redistest.Hook {
	return func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, commands)
		if len(commands) == 1 && commands[0].Name() == name {
			call()
		}
		return err
	}
}

// A legacy client may move the article between the search for its groups and the script.
func TestGroupsThatChangeDuringTheSearchAreFoundAgain(t *testing.T) {
	t.Parallel()
	var s *testSite
	var searched atomic.Bool
	s = withManyGroups(t, before("smismember", func(context.Context) { searched.Store(true) }), before("evalsha", func(context.Context) {
		if searched.CompareAndSwap(true, false) { // the search has ended
			bookRegroup(s, 1, []string{"g0001"}, []string{"g0900"})
		}
	}))
	a := s.vote(1, "carol", up).Article
	if want := []site.GroupName{"g0001", "g0007"}; !slices.Equal(a.Groups, want) {
		t.Errorf("groups = %v, want %v", a.Groups, want)
	}
	s.wantClean()
}

// An outage during the search fails the callers that wait for it. The next call searches again.
func TestFailedSearchForGroupsIsRepeated(t *testing.T) {
	t.Parallel()
	var s *testSite
	var once sync.Once
	s = withManyGroups(t, before("smismember", func(context.Context) { once.Do(s.server.Kill) }))
	s.server.Own()
	if _, err := s.Vote(s.ctx, 1, "carol", up, ""); !errors.Is(err, failover.ErrUnavailable) {
		t.Errorf("Vote without a server: %v, want ErrUnavailable", err)
	}
	s.server.Restart()
	if a := s.vote(1, "carol", up).Article; a.Votes != 2 || len(a.Groups) != 2 {
		t.Errorf("article = %s, want 2 votes and 2 groups", show(a))
	}
	s.wantClean()
}

// The first start on a store of legacy clients may be killed, and several processes may start at once.
func TestFirstStartIndexesLegacyGroups(t *testing.T) { // with the race detector
	t.Parallel()
	legacy := func(t *testing.T) *testSite {
		s := withManyGroups(t)
		s.do("DEL meta: groups: sizes:")
		return s
	}
	want := func(s *testSite) {
		s.t.Helper()
		if n, err := s.Lists.GroupCount(s.ctx, lists.GroupList{}); err != nil || n != manyGroups {
			s.t.Errorf("GroupCount = %d, %v, want %d", n, err, manyGroups)
		}
		s.wantClean()
	}
	t.Run("in few round trips, with progress", func(t *testing.T) {
		t.Parallel()
		s, commands := legacy(t), new(counter)
		steps := map[string][]int{}
		s = s.reopened(s.client(redistest.Before(commands.add)), nil, redisrepo.OnProgress(func(step string, done, total int) {
			steps[step] = append(steps[step], done, total)
		}))
		if got := strings.Count(commands.reset().names, "zmscore"); got == 0 || got > 10 {
			t.Errorf("%d ZMSCORE for %d groups, want one for each batch of keys", got, manyGroups)
		}
		if groups := steps["looking for the groups of legacy clients"]; len(groups) < 4 || groups[0] >= groups[1] || groups[len(groups)-1] != groups[len(groups)-2] {
			t.Errorf("progress = %v, want several reports up to the end", steps)
		}
		if articles := steps["ranking all articles"]; !slices.Equal(articles, []int{3, 3}) {
			t.Errorf("progress = %v, want all articles ranked", steps)
		}
		want(s)
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		s := legacy(t)
		ctx, cancel := context.WithCancel(s.ctx)
		_, err := redisrepo.New(ctx, s.server.Client, s.rules, redisrepo.OnProgress(func(string, int, int) { cancel() }))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("New = %v, want context.Canceled", err)
		}
		want(s.reopened(s.server.Client, nil))
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		s := legacy(t)
		together(4, func(int) {
			if _, err := redisrepo.New(s.ctx, s.client(), s.rules, redisrepo.WithClock(s.clock.now)); err != nil {
				t.Errorf("New: %v", err)
			}
		})
		want(s.reopened(s.server.Client, nil))
	})
}
