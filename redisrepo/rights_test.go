package redisrepo_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// asked records the commands about which rights.lua was asked, and all commands sent.
type asked struct {
	mu             sync.Mutex
	commands, sent map[string]bool
	calls          [][]any // of rights.lua
}

func newAsked() *asked { return &asked{commands: map[string]bool{}, sent: map[string]bool{}} }

func (h *asked) add(commands ...redis.Cmder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range commands {
		h.addOne(c)
	}
}

func (h *asked) addOne(c redis.Cmder) {
	args := c.Args()
	h.sent[strings.ToUpper(c.Name())] = true
	if c.Name() != "evalsha" {
		return
	}
	if keys := args[2].(int); keys < 2 && len(args) > 3+keys {
		if name, ok := args[3+keys].(string); ok && regexp.MustCompile(`^[A-Z]+$`).MatchString(name) && name != "REV" {
			h.commands[name] = true
			h.calls = append(h.calls, args)
		}
	}
}

// useEverything calls everything that reads or writes.
func useEverything(s *repotest.Site) {
	s.T.Helper()
	var ids []site.ArticleID
	for range 7 {
		d := s.Fresh("go", "redis")
		d.IdempotencyKey = new(*d.Link)
		a := require.Value(s.Post(s.Ctx, "alice", d))(s.T)
		ids = append(ids, a.ID)
	}
	require.Value(s.Vote(s.Ctx, ids[2], "bob", up, "bucket"))(s.T)
	require.NoError(s.T, s.Sessions.KeepDocument(s.Ctx, "abcdef", "{ __typename }"))
	s.MustDelete(ids[5], repotest.Moderator)
	s.MustUndelete(ids[5])
	s.MustDelete(ids[6], repotest.Moderator)
	s.MustDeny("eve", nil, "spam")
	s.MustBlock("alice", "eve", true)
	s.MustBlock("alice", "eve", false)
	for _, keeps := range []bool{true, false} {
		s.MustSave("alice", ids[0], keeps)
		s.MustFollow("alice", saved.Target{Group: "go"}, keeps)
	}
	everything(s, ids)
	s.MustImport(repotest.Old(1000, week/2, 3))
	s.WantClean()
}

// The start asks for the right to each command that a script or the Repo runs.
func TestRightsListEveryCommand(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	h := newAsked()
	s.MustPost("alice", "go")
	s.Reopened(s.Client(redistest.Before(h.add)), repotest.NoFeatures)
	s.Reopened(s.Client(redistest.Before(h.add)), func(r *site.Rules) { r.GroupTop = true })
	s.Reopened(s.Client(redistest.Before(h.add)), repotest.NoFeatures)
	other := s.Reopened(s.Client(redistest.Before(h.add)), func(r *site.Rules) { r.VoteScore = 7 })
	other.Listens()
	w := require.Value(other.Live.WatchArticles(s.Ctx, []site.ArticleID{1}))(t)
	useEverything(other)
	votes := other.MustVote(1, "last", up).Article.Votes
	require.Eventually(t, "the last vote", func() bool {
		d, ok := w.Take()
		return ok && d.Newest().Votes == votes
	})
	h.mu.Lock() // Listen goes on
	defer h.mu.Unlock()
	var used []string
	for name := range h.sent {
		used = append(used, name)
	}
	called := regexp.MustCompile(`p?call\([^'()]*'([A-Z]+)'(?: or '([A-Z]+)')?`)
	for _, f := range luaFiles(t) {
		for _, m := range called.FindAllStringSubmatch(f.body, -1) {
			used = append(used, m[1:]...)
		}
		for _, m := range regexp.MustCompile(`'(ZREVRANK|ZRANK)'`).FindAllStringSubmatch(f.body, -1) {
			used = append(used, m[1])
		}
	}
	slices.Sort(used)
	asks := append(slices.Collect(maps.Keys(h.commands)), "", "HELLO", "CLIENT", "PUBSUB") // HELLO and CLIENT open connections, and PUBSUB counts processes before the data changes
	for _, name := range slices.Compact(used) {
		if !slices.Contains(asks, name) {
			t.Errorf("%s is used, but the start does not ask for the right to it", name)
		}
	}
}

// On Redis 6.2 the start runs the commands that it asks for. They change nothing. Redis 8 refuses to say whether one with a wrong
// number of words may run.
func TestRightsAreCheckedWithoutAnEffect(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	h := newAsked()
	other := s.Reopened(s.Client(redistest.Before(h.add)), nil)
	useEverything(other)
	source := wire.TextOf(h.calls[0][1].(string))
	known := require.Value(s.Raw.Command(s.Ctx).Result())(t)
	before := s.Dump()
	for _, call := range h.calls {
		args := slices.Clone(call)
		args[0], args[1] = "EVAL", strings.Replace(source, "if redis.acl_check_cmd then", "if nil then", 1)
		if answer, err := s.Raw.Do(s.Ctx, args...).Slice(); err != nil || answer[0] != "OK" {
			t.Errorf("%v: replied %v, %v, want OK", call[4:], answer, err)
		}
		words := call[3+call[2].(int):]
		info := known[strings.ToLower(words[0].(string))]
		if n := int8(len(words)); info == nil || info.Arity > 0 && n != info.Arity || n < -info.Arity {
			t.Errorf("%v has a wrong number of words", words)
		}
	}
	if after := s.Dump(); len(h.calls) < 100 || after != before {
		t.Errorf("after %d commands the store holds\n%s\nwant\n%s", len(h.calls), after, before)
	}
}

// The start fails without any one of the rights, names it, and writes nothing.
func TestStartNamesTheMissingRight(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice", "go")
	before := s.Dump()
	rules := s.Rules
	rules.VoteScore = 7
	for rights, want := range map[string]string{
		"+@all ~* &* -expire":                                    "EXPIRE",
		"+@all ~* &* -publish":                                   "PUBLISH changes:0",
		"+@all ~* &* -zinterstore":                               "ZINTERSTORE",
		"+@all ~* &* -subscribe":                                 "SUBSCRIBE",
		"+@all ~* &* -xadd":                                      "XADD moderation:",
		"+@all ~* resetchannels &other":                          "PUBLISH changes:0",
		"+@all resetkeys %R~audit:* ~[b-zC-Z]* ~article:* &*":    "audit:/",
		"+@all resetkeys ~[a-kA-K]* ~[m-z]* ~score:* &*":         "l",
		"+@all resetkeys ~*":                                     "",
		"-@all +@read +@write +@connection +@pubsub +evalsha ~*": "TIME",
	} {
		if (strings.Contains(rights, "%R~") || strings.Contains(rights, "-subscribe")) && !knowsRights(s) {
			continue // Redis 6.2 has no right to read alone, and does not tell a script the one to subscribe
		}
		_, err := redisrepo.New(s.Ctx, s.Limited("reset on nopass "+rights+channelsOf(rights)), rules, redisrepo.WithClock(s.Clock.Now), redisrepo.KeepRules())
		if want == "" {
			continue // it keeps the rules of the data
		}
		var missing *failover.RightError
		if !errors.As(err, &missing) && !strings.Contains(fmt.Sprint(err), "NOPERM") || !strings.Contains(fmt.Sprint(err), want) && missing != nil && want != "TIME" {
			t.Errorf("with %s: New = %v, want an error that names %s", rights, err, want)
		}
		if errors.Is(err, failover.ErrUnavailable) && missing != nil {
			t.Errorf("with %s: New = %v, want an error that is not ErrUnavailable", rights, err)
		}
	}
	s.WantStore(before)
}

// The start fails without the rights to any one kind of key, and names a key of it.
func TestStartAsksForTheRightsToEachKindOfKey(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	others := map[string]string{} // rights to all other kinds, by name
	for _, kind := range keys.Kinds {
		others[kind.Name] = ""
	}
	delete(others, "changes") // a channel
	for missing := range others {
		rights := "reset on nopass +@all &* resetkeys"
		for name := range others {
			if name != missing {
				rights += " ~" + name + ":*"
			}
		}
		if _, err := redisrepo.New(s.Ctx, s.Limited(rights), s.Rules, redisrepo.WithClock(s.Clock.Now)); err == nil || !strings.Contains(err.Error(), missing+":") {
			t.Errorf("without the rights to %s: keys: New = %v, want an error that names one", missing, err)
		}
	}
}

func channelsOf(rights string) string {
	if strings.Contains(rights, "&") {
		return ""
	}
	return " &*"
}

// A script that lacks a right in the middle fails. From then on no write runs until the right is back.
func TestNoWriteRunsWhileARightIsMissing(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	other := s.Reopened(s.Limited("~* &* +@all"), nil)
	a := s.MustPost("alice", "go")
	s.Do("ACL SETUSER limited -xadd") // which a vote does after other writes
	calls := []func() error{
		func() error { _, err := other.Vote(s.Ctx, a.ID, "bob", up, ""); return err },
		func() error { _, err := other.Vote(s.Ctx, a.ID, "carol", up, ""); return err },
		func() error { _, err := other.Post(s.Ctx, "carol", s.Fresh("go")); return err },
		func() error {
			_, err := other.Regroup(s.Ctx, a.ID, repotest.Moderator, []string{"redis"}, nil)
			return err
		},
	}
	var before string
	for i, call := range calls {
		if err := call(); !errors.Is(err, failover.ErrReadOnly) || !errors.Is(err, failover.ErrDenied) {
			t.Errorf("call %d: err = %v, want ErrReadOnly and ErrDenied", i, err)
		}
		if i == 0 {
			before = s.Dump()
		}
	}
	s.WantStore(before)
	s.Do("ACL SETUSER limited +xadd")
	require.Eventually(t, "a vote", func() bool { return calls[1]() == nil })
	if got := s.Positions("carol", a.ID); got != "+" {
		t.Errorf("carol's vote is %s, want +", got)
	}
}

// knowsRights reports whether the server can tell a script what its user may run: Redis 7.0 and newer.
func knowsRights(s *repotest.Site) bool {
	return s.Do("EVAL", "return redis.acl_check_cmd and 1 or 0", 0) == int64(1)
}
