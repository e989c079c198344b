package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// A script that is sent twice has the same effect as one that is sent once.
func TestScriptsAreSafeToRunTwice(t *testing.T) {
	t.Parallel()
	for seed := range programtest.Size[uint64](2, 6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rules := func(r *site.Rules) {
				r.InterestingVotes, r.VotingWindow, r.PosterVotes = 3, 20*time.Second, seed%2 == 0
			}
			type outcome struct {
				log   []string // what calls returned
				votes []string // the Previous of their votes
				dump  string
			}
			play := func(hooks ...redis.Hook) (o outcome) {
				s := repotest.New(t, rules)
				s = s.Reopened(s.Client(hooks...), nil)
				s.Views.Young = time.Hour // a busy machine may take longer than the default, and then trims the log
				random := rand.New(rand.NewPCG(seed, 0))
				for range 150 {
					did, vote := anything(s, random)
					o.log, o.votes = append(o.log, did), append(o.votes, vote)
				}
				s = s.Reopened(s.Client(hooks...), func(r *site.Rules) { r.VoteScore, r.InterestingVotes = 7, 2 })
				s.Views.Young = time.Hour
				s.WantClean()
				s.Views.Young = 0 // an adoption that runs twice notes twice what it found
				require.NoError(t, s.Views.CatchUpAll(s.Ctx))
				o.dump = s.Dump()
				return o
			}
			once, first, second := play(), play(repotest.Twice(false)), play(repotest.Twice(true))
			if !slices.Equal(once.votes, first.votes) {
				t.Errorf("votes before = %v, want %v", first.votes, once.votes)
			}
			for name, again := range map[string]outcome{"first": first, "second": second} {
				for i := range once.log {
					if again.log[i] != once.log[i] {
						t.Fatalf("call %d, given the %s reply, returns\n%s\nwant\n%s", i, name, again.log[i], once.log[i])
					}
				}
				if again.dump != once.dump {
					t.Errorf("given the %s reply, the store holds\n%s\nwant\n%s", name, again.dump, once.dump)
				}
			}
		})
	}
}

// anything makes one random call and returns its results as text.
func anything(s *repotest.Site, random *rand.Rand) (did, vote string) {
	user := repotest.Users[random.IntN(3)]
	id := site.ArticleID(random.IntN(12) + 1)
	theme := themes[random.IntN(3)]
	describe := func(a *site.Article, err error) string {
		if err != nil {
			return err.Error()
		}
		return repotest.Show(a)
	}
	actor := site.Actor{Name: user, Moderator: random.IntN(3) == 0}
	switch n := random.IntN(30); n {
	case 0, 1, 2:
		d := repotest.Draft(fmt.Sprint("title", random.IntN(12)), theme)
		if n > 0 {
			d.IdempotencyKey = new(fmt.Sprint("key", random.IntN(4)))
		}
		return "Post: " + describe(s.Post(s.Ctx, user, d)), ""
	case 3, 4:
		return "Regroup: " + describe(s.Regroup(s.Ctx, id, actor, []string{theme}, nil)), ""
	case 5:
		return "Regroup: " + describe(s.Regroup(s.Ctx, id, actor, nil, []string{theme})), ""
	case 6:
		_, errs := s.Import(s.Ctx, []redisrepo.Imported{
			{ID: id + 3, Poster: user, PostedAt: s.Clock.Now().Add(-time.Second), Votes: random.IntN(9) - 4, Draft: repotest.Draft("import")},
		})
		return fmt.Sprint("Import: ", errs), ""
	case 7:
		ids, err := s.Lists.List(s.Ctx, repotest.Best(site.GroupName(theme)), 1, nil)
		return fmt.Sprint("List: ", ids, err), ""
	case 8:
		s.Clock.Advance(time.Second)
		return "", ""
	case 9:
		if random.IntN(3) == 0 {
			repotest.BookRegroup(s, repotest.BookPost(s, userID(user)), []string{theme}, nil)
			_, err := s.Layout.Adopt(s.Ctx)
			return fmt.Sprint("Adopt: ", err), ""
		}
		return "", ""
	case 10:
		e := redisrepo.Edit{Text: new(fmt.Sprint("text", random.IntN(3)))}
		if random.IntN(2) == 0 {
			e.Title, e.Groups, e.IfRevision = new(fmt.Sprint("title", random.IntN(3))), []string{theme}, new(int64(1+random.IntN(5)))
		}
		return "Edit: " + describe(s.Edit(s.Ctx, id, actor, e)), ""
	case 11:
		return "Delete: " + describe(s.Delete(s.Ctx, id, actor, site.Why{})), ""
	case 12, 13:
		return "Undelete: " + describe(s.Undelete(s.Ctx, id, actor)), ""
	case 24, 25:
		_, err := s.Reports.Flag(s.Ctx, user, id, []reports.Reason{reports.Spam, reports.Illegal}[random.IntN(2)], fmt.Sprint("note", random.IntN(2)))
		return fmt.Sprint("Flag: ", err), ""
	case 26:
		return fmt.Sprint("Settle: ", s.Reports.Settle(s.Ctx, id, repotest.Moderator, reports.Settling{Through: 1 + random.IntN(4), State: reports.Dismissed})), ""
	case 27:
		return "SettleByDeleting: " + describe(s.SettleByDeleting(s.Ctx, id, repotest.Moderator, reports.Settling{Through: 1 + random.IntN(4), State: reports.Acted, Decision: fmt.Sprint(random.IntN(2))})), ""
	case 28, 29:
		a, n, err := s.VoidVotes(s.Ctx, id, repotest.Moderator, []string{string(user), "bob"}, random.IntN(3) > 0, "a ring")
		return fmt.Sprint("VoidVotes: ", n, describe(a, err)), ""
	case 14:
		result, err := s.Vote(s.Ctx, id, user, site.Vote(random.IntN(3)-1), "bucket")
		if err != nil {
			return "VoteFrom: " + err.Error(), ""
		}
		return "VoteFrom: " + repotest.Show(result.Article), fmt.Sprint(result.Previous, result.Changed)
	default:
		result, err := s.Vote(s.Ctx, id, user, site.Vote(random.IntN(3)-1), "")
		if err != nil {
			return "Vote: " + err.Error(), ""
		}
		return "Vote: " + repotest.Show(result.Article), fmt.Sprint(result.Previous, result.Changed)
	}
}

func userID(name site.UserName) string { return site.User{Name: name}.ID() }

// repeating returns a client of the site's store whose calls are limited as in a server, before it gets a hook.
func repeating(s *repotest.Site, h redis.Hook) *redis.Client {
	client := s.Client()
	failover.LimitWaiting(client)
	client.AddHook(h)
	return client
}

// A server that is killed and restarted loses the reply and all scripts at once.
func TestVoteIsRepeatedOnAServerWithoutScripts(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	h := &redistest.LostReply{Then: func() { s.Client().ScriptFlush(t.Context()) }}
	other := s.Reopened(repeating(s, h), nil)
	a := s.MustPost("alice")
	other.MustVote(a.ID, "warm", up) // groups and scripts are known
	h.Armed.Store(true)
	if got := other.MustVote(a.ID, "bob", up); h.Armed.Load() || got.Article.Votes != 3 {
		t.Errorf("got %+v with reply lost %t, want 3 votes and a lost reply", got.Article, !h.Armed.Load())
	}
	s.WantClean()
}

// A vote whose reply was lost is repeated. The second reply cannot tell whether the first call changed the vote, and
// the result does not claim to know.
func TestVoteAfterALostReplyClaimsNothing(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	h := new(redistest.LostReply)
	other := s.Reopened(repeating(s, h), nil)
	a := s.MustPost("alice")
	other.MustVote(a.ID, "warm", up) // groups and scripts are known
	for _, tt := range []struct {
		lost bool
		vote site.Vote
		want redisrepo.VoteResult
	}{
		{true, up, redisrepo.VoteResult{Previous: up, Changed: true, Unknown: true}},
		{false, up, redisrepo.VoteResult{Previous: up}},
		{false, down, redisrepo.VoteResult{Previous: up, Changed: true}},
		{true, none, redisrepo.VoteResult{Previous: none, Changed: true, Unknown: true}},
	} {
		h.Armed.Store(tt.lost)
		got := other.MustVote(a.ID, "bob", tt.vote)
		if h.Armed.Load() {
			t.Fatal("no reply was lost")
		}
		if got.Article = nil; got != tt.want {
			t.Errorf("%v, lost %t: got %+v, want %+v", tt.vote, tt.lost, got, tt.want)
		}
	}
	s.WantClean()
}

// deadlines is a hook that lets no command through once silent is set: it waits as a client does whose server is
// silent, and notes the time that the commands are given.
type deadlines struct {
	silent atomic.Bool
	waits  atomic.Int64
	most   atomic.Int64
}

func (h *deadlines) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	if !h.silent.Load() {
		return send(ctx, commands)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return errors.New("a command without a deadline")
	}
	h.waits.Add(1)
	h.most.Store(max(h.most.Load(), int64(time.Until(deadline))))
	<-ctx.Done()
	return ctx.Err()
}

// A request waits once for a silent Redis, at most twice the timeout, however many calls it makes.
func TestRequestWaitsOnceForASilentRedis(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice", "go")
	client := s.ClientWith(func(o *redis.Options) { o.ReadTimeout = 200 * time.Millisecond })
	h := new(deadlines)
	failover.LimitWaiting(client)
	client.AddHook(redistest.Hook(h.hook))
	other := s.Reopened(client, nil)
	h.silent.Store(true)
	other.Store.OnChange = func(int) {} // no call waits for what processes tell each other
	ctx := failover.FailFast(s.Ctx)
	calls := map[string]func() error{
		"List": func() error { _, err := other.Lists.List(ctx, repotest.Best("go"), 1, nil); return err },
		"Vote": func() error { _, err := other.Vote(ctx, a.ID, "bob", up, ""); return err },
		"Post": func() error { _, err := other.Post(ctx, "bob", s.Fresh()); return err },
		"Read": func() error { _, errs := other.Articles.ArticlesByID(ctx, []site.ArticleID{1}); return errs[0] },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, failover.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want ErrUnavailable, and no deadline of the request", name, err)
		} else if !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
			t.Errorf("%s: %v, want the cause in the text for the log", name, err)
		}
	}
	if waits, most := h.waits.Load(), time.Duration(h.most.Load()); waits != 1 || most > 400*time.Millisecond {
		t.Errorf("%d calls waited up to %v, want 1 and 400ms", waits, most)
	}
	h.silent.Store(false)
	ctx = failover.FailFast(s.Ctx)
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("the next request: %s: %v", name, err)
		}
	}
}

// A restarted server does not know the scripts, which is not an outage: the request that finds out loads them.
func TestFirstRequestAfterARestartLoadsTheScripts(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	client := s.Client()
	failover.LimitWaiting(client)
	other := s.Reopened(client, nil)
	s.MustPost("alice", "go")
	for range 2 {
		s.Do("SCRIPT FLUSH")
		if ids, err := other.Lists.List(failover.FailFast(s.Ctx), repotest.Best("go"), 1, nil); err != nil || len(ids) != 1 {
			t.Errorf("List = %v, %v, want the article", ids, err)
		}
	}
}
