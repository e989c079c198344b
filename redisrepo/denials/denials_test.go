package denials_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func denyHost(s *repotest.Site, name string, denied, subdomains bool) {
	s.T.Helper()
	require.Value(s.Denials.DenyHost(s.Ctx, name, denied, subdomains, "spam", repotest.Moderator))(s.T)
}

// follow has a site follow denials until the test ends.
func follow(s *repotest.Site) {
	ctx, stop := context.WithCancel(s.Ctx)
	done := make(chan struct{})
	go func() { defer close(done); s.Denials.Follow(ctx) }()
	s.T.Cleanup(func() { stop(); <-done })
}

// A denial reaches a process that gets no message at all within a second, and ends by the clock.
func TestDenialsReachAllProcesses(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, nil, partitions)
		mute := redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
			if commands[0].Name() == "publish" {
				return nil // lost
			}
			return send(ctx, commands)
		})
		s = s.Reopened(s.Client(mute), nil, partitions)
		other := s.Reopened(s.Client(), nil, partitions)
		follow(other)
		bob := site.Actor{Name: "bob"}
		var took []time.Duration
		within := func(denied bool) {
			t.Helper()
			began := time.Now()
			require.Eventually(t, fmt.Sprint("denied = ", denied), func() bool { return (other.Denials.MayChange(bob) != nil) == denied })
			took = append(took, time.Since(began))
		}
		s.MustDeny("bob", nil, "spam")
		repotest.WantRefused(t, s.Denials.MayChange(bob), "DENIED")
		within(true)
		s.MustDeny("bob", new(s.Clock.Now().Add(-time.Hour)), "")
		require.NoError(t, s.Denials.MayChange(bob))
		within(false)
		until := s.Clock.Now().Add(time.Minute)
		if d := s.MustDeny("bob", &until, "a pause"); !d.Until.Equal(until) || d.By != repotest.Moderator.Name || !d.At.Equal(s.Clock.Now()) {
			t.Errorf("denial = %+v", d)
		}
		within(true)
		var refusal site.Refusal
		if err := other.Denials.MayChange(bob); !errors.As(err, &refusal) || !refusal[0].Until.Equal(until) || refusal[0].Reason != "a pause" || !strings.Contains(refusal[0].Message, "1 March 2026, 12:01 UTC") {
			t.Errorf("refusal = %v", err)
		}
		require.NoError(t, other.Denials.MayChange(site.Actor{Name: "bob", Moderator: true}))
		require.NoError(t, other.Denials.MayChange(site.Actor{Name: "Bob"}))
		s.Clock.Advance(time.Minute - time.Second)
		repotest.WantRefused(t, other.Denials.MayChange(bob), "DENIED")
		s.Clock.Advance(time.Second)
		require.NoError(t, other.Denials.MayChange(bob))
		if again := s.Reopened(s.Client(), nil, partitions); again.Denials.MayChange(bob) != nil {
			t.Error("a denial that has ended is in force after a start")
		}
		s.MustDeny("bob", nil, "for ever")
		if again := s.Reopened(s.Client(), nil, partitions); again.Denials.MayChange(bob) == nil {
			t.Error("a denial is not in force after a start")
		}
		s.Do("DEL", tags[0]+"denials:") // as a store that went back
		within(false)
		if slices.Sort(took); took[len(took)/2] > time.Second { // the median: the machine may be busy
			t.Errorf("it took %v", took)
		}
		s.WantClean()
	})
}

// A call whose reply is lost is sent again.
func TestDenyingTwiceIsDenyingOnce(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	other := s.Reopened(s.Client(repotest.Twice(true)), nil)
	other.MustDeny("bob", nil, "x")
	if got := s.Do("HGET denials: user:bob"); got != fmt.Sprintf("- %d rules 0 user:mod\nx", s.Clock.Now().Unix()) {
		t.Errorf("stored %q", got)
	}
	if got := s.Actions(events.Actions{}, 10); !slices.Equal(got, []string{"denied user:bob by mod rules: x"}) {
		t.Errorf("the log has %q", got)
	}
	s.Do("SET denials: x")
	if _, err := other.Denials.DenyUser(s.Ctx, "eve", nil, site.GroundRules, "x", repotest.Moderator); err == nil || other.Denials.DenialOf("eve") != nil || s.Do("GET denials:") != "x" {
		t.Errorf("with a key of another type: %v", err)
	}
}

func TestOnlyModeratorsDeny(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	deny := func(by site.Actor, user, reason string) error {
		_, err := s.Denials.DenyUser(s.Ctx, user, nil, site.GroundOther, reason, by)
		return err
	}
	repotest.WantRefused(t, deny(repotest.Alice(), "bob", "x"), "FORBIDDEN user")
	repotest.WantRefused(t, deny(repotest.Moderator, "mod", "x"), "FORBIDDEN user")
	repotest.WantRefused(t, deny(repotest.Moderator, " bob", "x"), "INVALID user")
	repotest.WantRefused(t, deny(repotest.Moderator, "bob", " "), "INVALID reason")
	repotest.WantRefused(t, deny(repotest.Moderator, "bob", strings.Repeat("x", 501)), "TOO_LONG reason")
	repotest.WantRefused(t, deny(repotest.Moderator, "bob", "a\nb"), "INVALID reason")
	_, err := s.Denials.DenyUser(s.Ctx, "bob", new(time.Date(9999, 12, 31, 23, 59, 0, 0, time.FixedZone("", -60))), site.GroundOther, "x", repotest.Moderator)
	repotest.WantRefused(t, err, "INVALID until")
	for _, name := range []string{"", "a/b", "a b", "com", "COM.", "co.uk", "github.io", "com:8443"} {
		_, err := s.Denials.DenyHost(s.Ctx, name, true, true, "x", repotest.Moderator)
		repotest.WantRefused(t, err, "INVALID host")
	}
	_, err = s.Denials.DenyHost(s.Ctx, "a.example", true, true, "x", repotest.Alice())
	repotest.WantRefused(t, err, "FORBIDDEN host")
	if n := s.Do("EXISTS denials:"); n != int64(0) {
		t.Error("a refused denial was stored")
	}
}

func TestDenialsAreListed(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	for i := range 5 {
		s.MustDeny(fmt.Sprint("user ", i), nil, "x")
		s.Clock.Advance(time.Second)
	}
	denyHost(s, "a.example", true, false)
	s.MustDeny("user 1", new(s.Clock.Now()), "")
	list := func(page func(*int, *string, bool) ([]*denials.Edge, site.PageInfo, error), ended bool) (all string) {
		var after *string
		for {
			edges, info, err := page(new(2), after, ended)
			require.NoError(t, err)
			for _, e := range edges {
				all += string(e.Node.User) + string(e.Node.Host) + " "
			}
			if after = info.EndCursor; !info.HasNextPage {
				return all
			}
		}
	}
	for want, got := range map[string]string{
		"user 4 user 3 user 2 user 0 ":        list(s.Denials.DeniedUsers, false),
		"user 1 user 4 user 3 user 2 user 0 ": list(s.Denials.DeniedUsers, true),
		"a.example ":                          list(s.Denials.DeniedHosts, false),
	} {
		if got != want {
			t.Errorf("listed %q, want %q", got, want)
		}
	}
	_, _, err := s.Denials.DeniedUsers(new(101), nil, false)
	repotest.WantRefused(t, err, "INVALID first")
	_, _, err = s.Denials.DeniedUsers(nil, new("x"), false)
	repotest.WantRefused(t, err, "INVALID after")
	s.Clock.Advance(401 * site.Day) // what ended that long ago is dropped by the next call
	s.MustDeny("user 0", nil, "y")
	if got, want := list(s.Denials.DeniedUsers, true), "user 0 user 4 user 3 user 2 "; got == want {
		t.Errorf("listed %q before the next look", got)
	}
	require.NoError(t, s.Denials.ReadDenials(s.Ctx))
	if got, want := list(s.Denials.DeniedUsers, true), "user 0 user 4 user 3 user 2 "; got != want {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestLinksToDeniedHostsAreRefused(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		before := s.MustPost("alice")
		denyHost(s, "WWW.Bücher.Example.", true, true)
		denyHost(s, "only.example", true, false)
		denyHost(s, "port.example:8080", true, true)
		denyHost(s, "[2001:DB8:0::1]", true, true)
		denyHost(s, "ended.example", true, true)
		denyHost(s, "ended.example", false, true)
		post := func(link, text string) error {
			d := site.Draft{Title: "t"}
			if d.Link = site.Optional(link); link != "" {
				d.Link = new(fmt.Sprint(link, "?", *s.Fresh().Link))
			}
			d.Text = site.Optional(text)
			_, err := s.Post(s.Ctx, "alice", d)
			return err
		}
		for host, want := range map[string]bool{
			"bücher.example": true, "BÜCHER.example": true, "xn--bcher-kva.example": true, "www.bücher.example": true, "bu\u0308cher.example": true,
			"bücher.example.": true, "bücher。example": true, "bücher.example:443": true, "bücher.example:81": true, "user:x@bücher.example": true,
			"a.b.bücher.example": true, "b\u00fcch\u00ader.example": true, "ｂücher.example": true,
			"anbücher.example": false, "bücher.example.org": false, "example": false,
			"only.example": true, "www.only.example": true, "only.example:8080": true, "a.only.example": false,
			"port.example:8080": true, "a.port.example:8080": true, "port.example": false, "port.example:80": false,
			"[2001:db8::1]": true, "[2001:db8::1]:9": true, "[2001:db8::2]": false, "ended.example": false,
		} {
			for _, scheme := range []string{"https", "HTTP"} {
				link, text := fmt.Sprintf("%s://%s/x", scheme, host), fmt.Sprintf("see (%s://%s), or %[1]s://ok.example", scheme, host)
				if !want {
					require.NoError(t, errors.Join(post(link, ""), post("", text)))
					continue
				}
				repotest.WantRefused(t, post(link, ""), "HOST_DENIED link")
				repotest.WantRefused(t, post("", text), "HOST_DENIED text")
				_, err := s.Edit(s.Ctx, before.ID, repotest.Moderator, redisrepo.Edit{Text: &text})
				repotest.WantRefused(t, err, "HOST_DENIED text")
			}
		}
		repotest.WantRefused(t, post("https://only.example/", "http://a.bücher.example"), "HOST_DENIED link", "HOST_DENIED text")
		for _, text := range []string{"https://x,y@only.example/", "https://(a)@only.example", "http://%6fnly.example/", "https://ok.example/ https://only.example,"} {
			repotest.WantRefused(t, post("", text), "HOST_DENIED text")
		}
		require.NoError(t, errors.Join(post("", "only.example, mailto:a@only.example"), post("https://ok.example/https://only.example/", "")))
		s.MustEdit(before.ID, repotest.Alice(), redisrepo.Edit{Title: new("another")})
		s.WantClean()
	})
}

// A vote asks for no denial in the store, however many there are.
func TestDenialsCostAVoteNothing(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := s.MustPost("alice")
	s.MustDeny("bob", nil, "x")
	s.MustVote(a.ID, "carol", site.Up)
	var sent []string
	other := s.Reopened(s.Client(redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			if slices.Contains([]string{"evalsha", "hget", "hscan", "hmget", "hgetall"}, c.Name()) {
				sent = append(sent, c.Name())
			}
		}
	})), nil)
	other.MustVote(a.ID, "dave", site.Up)
	sent = nil
	if require.NoError(t, other.Denials.MayChange(site.Actor{Name: "erin"})); other.MustVote(a.ID, "erin", site.Up).Article.Votes != 4 || fmt.Sprint(sent) != "[evalsha]" {
		t.Errorf("sent %v", sent)
	}
}

// To end what is not denied, or has ended, is a no-op: it leaves no record, and no entry in the log.
func TestEndOfNoDenialWritesNothing(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustDeny("eve", nil, "spam")
	past := s.Clock.Now()
	end := func() {
		t.Helper()
		for _, user := range []string{"eve", "zed"} {
			require.Value(s.Denials.DenyUser(s.Ctx, user, &past, site.GroundRules, "", repotest.Moderator))(t)
		}
		require.Value(s.Denials.DenyHost(s.Ctx, "example.com", false, true, "", repotest.Moderator))(t)
	}
	end()
	if denials := s.Do("HKEYS denials:").([]any); len(denials) != 2 { // eve, and the version
		t.Errorf("the store has denials of %v, want eve alone", denials)
	}
	s.Clock.Advance(time.Minute)
	before := s.Dump()
	end()
	s.WantStore(before, "after the denial has ended")
	s.MustDeny("eve", nil, "more spam")
	if s.Denials.DenialOf("eve") == nil {
		t.Error("eve is not denied again")
	}
}

func wantBlocked(s *repotest.Site, by site.UserName, want ...site.UserName) {
	s.T.Helper()
	if got := require.Value(s.Denials.Blocked(s.Ctx, by))(s.T); !slices.Equal(got, want) {
		s.T.Errorf("%s has blocked %q, want %q", by, got, want)
	}
}

func TestUsersBlockOthers(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, nil, partitions)
		other := s.Reopened(s.Client(repotest.Twice(true)), nil, partitions)
		follow(other)
		for i := range 20 {
			other.MustBlock(site.UserName(fmt.Sprint("user ", i)), "troll", true)
		}
		other.MustBlock("user 7", "bob", true)
		s.MustBlock("alice", "bob", true)
		require.NoError(t, s.Denials.ReadDenials(s.Ctx))
		wantBlocked(s, "user 7", "bob", "troll")
		other.MustBlock("user 7", "troll", false)
		other.MustBlock("user 7", "carol", false)
		wantBlocked(s, "user 7", "bob")
		wantBlocked(s, "user 19", "troll")
		wantBlocked(s, "troll")
		require.Eventually(t, "blocks in another process", func() bool { return other.Denials.HasBlocks("alice") })
		again := s.Reopened(s.Client(), nil, partitions)
		wantBlocked(again, "alice", "bob")
		wantBlocked(again, "bob")

		_, err := s.Denials.BlockUser(s.Ctx, "alice", "alice", true)
		repotest.WantRefused(t, err, "FORBIDDEN user")
		_, err = s.Denials.BlockUser(s.Ctx, "alice", "", true)
		repotest.WantRefused(t, err, "INVALID user")
		for i := range denials.MaxBlocked - 1 {
			s.MustBlock("alice", fmt.Sprint("t", i), true)
		}
		_, err = s.Denials.BlockUser(s.Ctx, "alice", "one more", true)
		repotest.WantRefused(t, err, "LIMIT_EXCEEDED user")
		s.MustBlock("alice", "bob", true) // already
		s.MustBlock("alice", "bob", false)
		s.MustBlock("alice", "one more", true)
		s.WantClean()

		s.Do("FLUSHALL") // a store that went back
		require.NoError(t, s.Denials.ReadDenials(s.Ctx))
		if s.Denials.HasBlocks("alice") {
			t.Error("what the store has lost is remembered")
		}
	})
}

// For users who have never blocked another one no store is called.
func TestWithoutBlocksNothingIsRead(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustBlock("alice", "bob", true)
	sent := 0
	other := s.Reopened(s.Client(redistest.Before(func(commands ...redis.Cmder) { sent += len(commands) })), nil)
	sent = 0
	if wantBlocked(other, "carol"); sent > 0 {
		t.Errorf("%d commands were sent", sent)
	}
}
