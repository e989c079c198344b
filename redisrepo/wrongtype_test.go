package redisrepo_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/tests/must"
	"frontpage/tests/redistest"
)

// capture has a hook that lets some scripts pass and captures the next one instead of sending it.
type capture struct {
	after int
	args  []any
}

var errCaptured = errors.New("captured")

func (h *capture) takes(command redis.Cmder) bool {
	if command.Name() != "evalsha" || command.Args()[2].(int) < 2 { // rights.lua has at most one key
		return false
	}
	h.after--
	if h.after < 0 {
		h.args = command.Args()
	}
	return h.after < 0
}

func (h *capture) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	if slices.ContainsFunc(commands, h.takes) {
		return redistest.Fail(errCaptured, commands)
	}
	return send(ctx, commands)
}

// unwritten are the keys that no script writes yet.
var unwritten = regexp.MustCompile(`^(front|best):`)

// A script that finds a key of the wrong type leaves the store as it was.
func TestScriptsCheckEverythingBeforeTheyWrite(t *testing.T) {
	t.Parallel()
	vote := func(id site.ArticleID) func(s *testSite, _ redis.UniversalClient) error {
		return func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.Vote(s.ctx, id, "bob", down, "")
			return err
		}
	}
	regroup := func(id site.ArticleID) func(s *testSite, _ redis.UniversalClient) error {
		return func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.Regroup(s.ctx, id, site.Actor{Name: "alice"}, []string{"c"}, []string{"a"})
			return err
		}
	}
	deletes := func(id site.ArticleID) func(s *testSite, _ redis.UniversalClient) error {
		return func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.Delete(s.ctx, id, moderator, site.Why{})
			return err
		}
	}
	edits := func(id site.ArticleID, by site.Actor) func(s *testSite, _ redis.UniversalClient) error {
		return func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.Edit(s.ctx, id, by, redisrepo.Edit{Title: new("t"), Text: new("x"), Groups: []string{"b", "c"}})
			return err
		}
	}
	tests := map[string]struct {
		call     func(*testSite, redis.UniversalClient) error
		after    int   // number of STALE and UNLISTED replies before the call that is captured
		unneeded []int // keys that the script does not read, or replaces
	}{
		"post": {call: func(s *testSite, _ redis.UniversalClient) error {
			d := draft("title", "a", "c")
			d.IdempotencyKey = new("k")
			_, err := s.Post(s.ctx, "alice", d)
			return err
		}, unneeded: []int{2, 3}},
		"vote": {call: vote(1), after: 1, unneeded: []int{8}},
		"upvote without downvotes": {call: func(s *testSite, _ redis.UniversalClient) error {
			s.vote(1, "carol", none)
			_, err := s.VoteAndRead(s.ctx, 1, "erin", up, "")
			return err
		}, after: 2, unneeded: []int{3, 7, 8}},
		"adopting a legacy article":   {call: vote(2), after: 1},
		"vote on a legacy article":    {call: vote(2), after: 2, unneeded: []int{6, 7, 8, 9}},
		"regroup":                     {call: regroup(1), after: 1, unneeded: []int{6}},
		"regrouping a legacy article": {call: regroup(2), after: 2, unneeded: []int{6}},
		"applying other rules": {call: func(s *testSite, client redis.UniversalClient) error {
			rules := s.rules
			rules.VoteScore, rules.InterestingVotes = 1, 3
			_, err := redisrepo.New(s.ctx, client, rules, redisrepo.WithClock(s.clock.now))
			return err
		}, unneeded: []int{2, 3, 4}},
		"vote from an address": {call: func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.Vote(s.ctx, 1, "bob", down, "b1")
			return err
		}, after: 1, unneeded: []int{8}},
		"vote beside votes that do not count": {call: func(s *testSite, client redis.UniversalClient) error {
			must.Get(s.reopened(s.client(), nil).void(1, true, "carol"))(s.t)
			return vote(1)(s, client)
		}, after: 1},
		"taking votes out": {call: func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.void(1, true, "bob", "carol")
			return err
		}, after: 1},
		"putting votes back": {call: func(s *testSite, _ redis.UniversalClient) error {
			must.Get(s.reopened(s.client(), nil).void(1, true, "bob", "carol"))(s.t)
			_, err := s.void(1, false, "bob", "carol")
			return err
		}, after: 1},
		"regrouping by a moderator": {call: func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.Regroup(s.ctx, 1, moderator, []string{"c"}, []string{"a"})
			return err
		}, after: 1},
		"delete":                    {call: deletes(1), after: 1, unneeded: []int{9, 10, 11, 12, 13, 14, 15}},
		"deleting a legacy article": {call: deletes(2), after: 2, unneeded: []int{9, 10, 11, 12, 13, 14, 15}},
		"deleting one's own": {call: func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.Delete(s.ctx, 1, alice(), site.Why{})
			return err
		}, after: 1, unneeded: []int{11, 12, 13, 14}},
		"report": {call: func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.Flag(s.ctx, "bob", 1, reports.Spam, "")
			return err
		}},
		"notice": {call: func(s *testSite, client redis.UniversalClient) error {
			_, err := s.reopened(client, nil, confidential(t, oldSecret)).Notify(s.ctx, notice(1))
			return err
		}},
		"describing a group": {call: func(s *testSite, _ redis.UniversalClient) error {
			_, err := s.DescribeGroup(s.ctx, "a", "All about a.", []string{"Be kind"}, moderator)
			return err
		}},
		"deciding reports": {call: func(s *testSite, client redis.UniversalClient) error {
			for range 2 {
				must.Get(s.reopened(s.client(), nil, confidential(t, oldSecret)).Notify(s.ctx, notice(1)))(s.t)
			}
			return s.Settle(s.ctx, 1, moderator, settling(1, reports.Acted, ""))
		}},
		"deciding reports by deleting": {call: func(s *testSite, client redis.UniversalClient) error {
			for range 2 {
				must.Get(s.reopened(s.client(), nil, confidential(t, oldSecret)).Notify(s.ctx, notice(1)))(s.t)
			}
			_, err := s.SettleByDeleting(s.ctx, 1, moderator, settling(1, reports.Acted, ""))
			return err
		}, after: 1, unneeded: []int{9, 10, 15}},
		"deciding reports of a deleted article": {call: func(s *testSite, client redis.UniversalClient) error {
			other := s.reopened(s.client(), nil)
			other.flag(1, "bob", reports.Spam, "")
			other.delete(1, moderator)
			_, err := s.SettleByDeleting(s.ctx, 1, moderator, settling(1, reports.Acted, ""))
			return err
		}, unneeded: []int{4, 5, 7, 8, 9, 10, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}},
		"edit":                     {call: edits(1, alice()), after: 1, unneeded: []int{6}},
		"editing a legacy article": {call: edits(2, alice()), after: 2, unneeded: []int{6}},
		"editing by a moderator":   {call: edits(1, moderator), after: 1},
		"undelete": {call: func(s *testSite, _ redis.UniversalClient) error {
			s.delete(1, moderator)
			for _, group := range []site.GroupName{"a", "b", "interesting"} {
				s.list(best(group))
			}
			_, err := s.Undelete(s.ctx, 1, moderator)
			return err
		}, after: 6},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, args := captured(t, tt.after, tt.call)
			restore := s.snapshot()
			for key := 1; key <= args[2].(int); key++ {
				restore()
				wrong := args[2+key].(string)
				if unwritten.MatchString(wrong) {
					continue
				}
				s.do("DEL", wrong)
				if strings.HasPrefix(wrong, "post:") || strings.HasPrefix(wrong, "link:") || wrong == "article:" {
					s.do("RPUSH", wrong, "wrong")
				} else {
					s.do("SET", wrong, "wrong")
				}
				before := s.dump()
				err := s.raw.Do(s.ctx, args...).Err()
				if slices.Contains(tt.unneeded, key) {
					if err != nil {
						t.Errorf("KEYS[%d] %s: err = %v, want none", key, wrong, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") { // Redis 6.2 puts the script's name before it
					t.Errorf("KEYS[%d] %s: err = %v, want WRONGTYPE", key, wrong, err)
				}
				s.wantStore(before, "KEYS[", key, "] ", wrong, ":")
			}
		})
	}
}

// snapshot returns a function that restores what the store holds now.
func (s *testSite) snapshot() (restore func()) {
	s.t.Helper()
	var restores [][]any
	for _, key := range s.raw.Keys(s.ctx, "*").Val() {
		milliseconds := max(s.do("PTTL", key).(int64), 0) // 0: it does not expire
		restores = append(restores, []any{key, milliseconds, s.do("DUMP", key)})
	}
	return func() {
		s.t.Helper()
		s.do("FLUSHALL")
		for _, r := range restores {
			s.do("RESTORE", r...)
		}
	}
}

// captured returns a site with an article of Frontpage and one of a legacy client, and the command that call
// is about to send to it.
func captured(t *testing.T, after int, call func(*testSite, redis.UniversalClient) error) (*testSite, []any) {
	t.Helper()
	s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 2 }, one)
	s.post("alice", "a", "b")
	s.vote(1, "bob", up)
	s.vote(1, "carol", down)
	s.vote(1, "dave", up)
	bookRegroup(s, bookPost(s, "user:alice"), []string{"a"}, nil)
	for _, group := range []site.GroupName{"a", "b", "interesting"} {
		for _, order := range orders {
			s.list(lists.InGroup(group, order, site.Descending))
		}
	}
	hook := new(capture)
	client := s.client(redistest.Hook(hook.hook))
	hook.after = 1000
	fresh := s.reopened(client, nil)
	hook.after = after
	if err := call(fresh, client); !errors.Is(err, errCaptured) {
		t.Fatalf("err = %v, want the call to be captured", err)
	}
	return s, hook.args
}

func TestScriptsRefuseCorruptValues(t *testing.T) {
	t.Parallel()
	vote := func(s *testSite) error {
		_, err := s.Vote(s.ctx, 1, "bob", up, "")
		return err
	}
	post := func(s *testSite) error {
		_, err := s.Post(s.ctx, "bob", draft("title"))
		return err
	}
	tests := map[string]struct {
		corrupt string
		call    func(s *testSite) error
	}{
		"votes that are no number":       {corrupt: "HSET article:1 votes x", call: vote},
		"votes in fractions":             {corrupt: "HSET article:1 votes 1.5", call: vote},
		"downvotes that are no number":   {corrupt: "HSET article:1 downvotes x", call: vote},
		"no score":                       {corrupt: "ZREM score: article:1", call: vote},
		"a counter that is not a number": {corrupt: "SET article: x", call: post},
		"a counter, for an import": {corrupt: "SET article: x", call: func(s *testSite) error {
			_, errs := s.Import(s.ctx, oldArticles(1))
			return errs[0]
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			s.post("alice")
			s.do(tt.corrupt)
			before := s.dump()
			var refusal site.Refusal
			if err := tt.call(s); err == nil || errors.As(err, &refusal) || errors.Is(err, failover.ErrUnavailable) {
				t.Errorf("err = %v, want an error that is not a refusal", err)
			}
			if after := s.dump(); withoutCounter(after) != withoutCounter(before) {
				t.Errorf("the store holds\n%s\nwant it unchanged:\n%s", after, before)
			}
		})
	}
}
