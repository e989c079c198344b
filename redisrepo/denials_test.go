package redisrepo_test

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
	"frontpage/tests/require"
)

func (s *testSite) deny(user string, until *time.Time, reason string) *denials.Denial {
	s.t.Helper()
	return require.Value(s.Denials.DenyUser(s.ctx, user, until, site.GroundRules, reason, moderator))(s.t)
}

func (s *testSite) denyHost(name string, denied, subdomains bool) {
	s.t.Helper()
	require.Value(s.Denials.DenyHost(s.ctx, name, denied, subdomains, "spam", moderator))(s.t)
}

// follow has a site follow denials until the test ends.
func (s *testSite) follow() {
	ctx, stop := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() { defer close(done); s.Denials.Follow(ctx) }()
	s.t.Cleanup(func() { stop(); <-done })
}

// A denial reaches a process that gets no message at all within a second, and ends by the clock.
func TestDenialsReachAllProcesses(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := newSite(t, nil, partitions)
		mute := redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
			if commands[0].Name() == "publish" {
				return nil // lost
			}
			return send(ctx, commands)
		})
		s = s.reopened(s.client(mute), nil, partitions)
		other := s.reopened(s.client(), nil, partitions)
		other.follow()
		bob := site.Actor{Name: "bob"}
		var took []time.Duration
		within := func(denied bool) {
			t.Helper()
			began := time.Now()
			require.Eventually(t, fmt.Sprint("denied = ", denied), func() bool { return (other.Denials.MayChange(bob) != nil) == denied })
			took = append(took, time.Since(began))
		}
		s.deny("bob", nil, "spam")
		wantRefused(t, s.Denials.MayChange(bob), "DENIED")
		within(true)
		s.deny("bob", new(s.clock.now().Add(-time.Hour)), "")
		require.NoError(t, s.Denials.MayChange(bob))
		within(false)
		until := s.clock.now().Add(time.Minute)
		if d := s.deny("bob", &until, "a pause"); !d.Until.Equal(until) || d.By != moderator.Name || !d.At.Equal(s.clock.now()) {
			t.Errorf("denial = %+v", d)
		}
		within(true)
		var refusal site.Refusal
		if err := other.Denials.MayChange(bob); !errors.As(err, &refusal) || !refusal[0].Until.Equal(until) || refusal[0].Reason != "a pause" || !strings.Contains(refusal[0].Message, "1 March 2026, 12:01 UTC") {
			t.Errorf("refusal = %v", err)
		}
		require.NoError(t, other.Denials.MayChange(site.Actor{Name: "bob", Moderator: true}))
		require.NoError(t, other.Denials.MayChange(site.Actor{Name: "Bob"}))
		s.clock.advance(time.Minute - time.Second)
		wantRefused(t, other.Denials.MayChange(bob), "DENIED")
		s.clock.advance(time.Second)
		require.NoError(t, other.Denials.MayChange(bob))
		if again := s.reopened(s.client(), nil, partitions); again.Denials.MayChange(bob) != nil {
			t.Error("a denial that has ended is in force after a start")
		}
		s.deny("bob", nil, "for ever")
		if again := s.reopened(s.client(), nil, partitions); again.Denials.MayChange(bob) == nil {
			t.Error("a denial is not in force after a start")
		}
		s.do("DEL", tags[0]+"denials:") // as a store that went back
		within(false)
		if slices.Sort(took); took[len(took)/2] > time.Second { // the median: the machine may be busy
			t.Errorf("it took %v", took)
		}
		s.wantClean()
	})
}

// A call whose reply is lost is sent again.
func TestDenyingTwiceIsDenyingOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	other := s.reopened(s.client(twice(true)), nil)
	other.deny("bob", nil, "x")
	if got := s.do("HGET denials: user:bob"); got != fmt.Sprintf("- %d rules 0 user:mod\nx", s.clock.now().Unix()) {
		t.Errorf("stored %q", got)
	}
	if got := s.actions(events.Actions{}, 10); !slices.Equal(got, []string{"denied user:bob by mod rules: x"}) {
		t.Errorf("the log has %q", got)
	}
	s.do("SET denials: x")
	if _, err := other.Denials.DenyUser(s.ctx, "eve", nil, site.GroundRules, "x", moderator); err == nil || other.Denials.DenialOf("eve") != nil || s.do("GET denials:") != "x" {
		t.Errorf("with a key of another type: %v", err)
	}
}

func TestOnlyModeratorsDeny(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	deny := func(by site.Actor, user, reason string) error {
		_, err := s.Denials.DenyUser(s.ctx, user, nil, site.GroundOther, reason, by)
		return err
	}
	wantRefused(t, deny(alice(), "bob", "x"), "FORBIDDEN user")
	wantRefused(t, deny(moderator, "mod", "x"), "FORBIDDEN user")
	wantRefused(t, deny(moderator, " bob", "x"), "INVALID user")
	wantRefused(t, deny(moderator, "bob", " "), "INVALID reason")
	wantRefused(t, deny(moderator, "bob", strings.Repeat("x", 501)), "TOO_LONG reason")
	wantRefused(t, deny(moderator, "bob", "a\nb"), "INVALID reason")
	_, err := s.Denials.DenyUser(s.ctx, "bob", new(time.Date(9999, 12, 31, 23, 59, 0, 0, time.FixedZone("", -60))), site.GroundOther, "x", moderator)
	wantRefused(t, err, "INVALID until")
	for _, name := range []string{"", "a/b", "a b", "com", "COM.", "co.uk", "github.io", "com:8443"} {
		_, err := s.Denials.DenyHost(s.ctx, name, true, true, "x", moderator)
		wantRefused(t, err, "INVALID host")
	}
	_, err = s.Denials.DenyHost(s.ctx, "a.example", true, true, "x", alice())
	wantRefused(t, err, "FORBIDDEN host")
	if n := s.do("EXISTS denials:"); n != int64(0) {
		t.Error("a refused denial was stored")
	}
}

func TestDenialsAreListed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for i := range 5 {
		s.deny(fmt.Sprint("user ", i), nil, "x")
		s.clock.advance(time.Second)
	}
	s.denyHost("a.example", true, false)
	s.deny("user 1", new(s.clock.now()), "")
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
	wantRefused(t, err, "INVALID first")
	_, _, err = s.Denials.DeniedUsers(nil, new("x"), false)
	wantRefused(t, err, "INVALID after")
	s.clock.advance(401 * site.Day) // what ended that long ago is dropped by the next call
	s.deny("user 0", nil, "y")
	if got, want := list(s.Denials.DeniedUsers, true), "user 0 user 4 user 3 user 2 "; got == want {
		t.Errorf("listed %q before the next look", got)
	}
	require.NoError(t, s.Denials.ReadDenials(s.ctx))
	if got, want := list(s.Denials.DeniedUsers, true), "user 0 user 4 user 3 user 2 "; got != want {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestLinksToDeniedHostsAreRefused(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		before := s.post("alice")
		s.denyHost("WWW.Bücher.Example.", true, true)
		s.denyHost("only.example", true, false)
		s.denyHost("port.example:8080", true, true)
		s.denyHost("[2001:DB8:0::1]", true, true)
		s.denyHost("ended.example", true, true)
		s.denyHost("ended.example", false, true)
		post := func(link, text string) error {
			d := site.Draft{Title: "t"}
			if d.Link = site.Optional(link); link != "" {
				d.Link = new(fmt.Sprint(link, "?", s.links.Add(1)))
			}
			d.Text = site.Optional(text)
			_, err := s.Post(s.ctx, "alice", d)
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
				wantRefused(t, post(link, ""), "HOST_DENIED link")
				wantRefused(t, post("", text), "HOST_DENIED text")
				_, err := s.Edit(s.ctx, before.ID, moderator, redisrepo.Edit{Text: &text})
				wantRefused(t, err, "HOST_DENIED text")
			}
		}
		wantRefused(t, post("https://only.example/", "http://a.bücher.example"), "HOST_DENIED link", "HOST_DENIED text")
		for _, text := range []string{"https://x,y@only.example/", "https://(a)@only.example", "http://%6fnly.example/", "https://ok.example/ https://only.example,"} {
			wantRefused(t, post("", text), "HOST_DENIED text")
		}
		require.NoError(t, errors.Join(post("", "only.example, mailto:a@only.example"), post("https://ok.example/https://only.example/", "")))
		s.edit(before.ID, alice(), redisrepo.Edit{Title: new("another")})
		s.wantClean()
	})
}

// A vote asks for no denial in the store, however many there are.
func TestDenialsCostAVoteNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	a := s.post("alice")
	s.deny("bob", nil, "x")
	s.vote(a.ID, "carol", up)
	var sent []string
	other := s.reopened(s.client(redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			if slices.Contains([]string{"evalsha", "hget", "hscan", "hmget", "hgetall"}, c.Name()) {
				sent = append(sent, c.Name())
			}
		}
	})), nil)
	other.vote(a.ID, "dave", up)
	sent = nil
	if require.NoError(t, other.Denials.MayChange(site.Actor{Name: "erin"})); other.vote(a.ID, "erin", up).Article.Votes != 4 || fmt.Sprint(sent) != "[evalsha]" {
		t.Errorf("sent %v", sent)
	}
}

// To end what is not denied, or has ended, is a no-op: it leaves no record, and no entry in the log.
func TestEndOfNoDenialWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.deny("eve", nil, "spam")
	past := s.clock.now()
	end := func() {
		t.Helper()
		for _, user := range []string{"eve", "zed"} {
			require.Value(s.Denials.DenyUser(s.ctx, user, &past, site.GroundRules, "", moderator))(t)
		}
		require.Value(s.Denials.DenyHost(s.ctx, "example.com", false, true, "", moderator))(t)
	}
	end()
	if denials := s.do("HKEYS denials:").([]any); len(denials) != 2 { // eve, and the version
		t.Errorf("the store has denials of %v, want eve alone", denials)
	}
	s.clock.advance(time.Minute)
	before := s.dump()
	end()
	s.wantStore(before, "after the denial has ended")
	s.deny("eve", nil, "more spam")
	if s.Denials.DenialOf("eve") == nil {
		t.Error("eve is not denied again")
	}
}

func (s *testSite) block(by site.UserName, name string, blocks bool) {
	s.t.Helper()
	require.Value(s.Denials.BlockUser(s.ctx, by, name, blocks))(s.t)
}

func (s *testSite) wantBlocked(by site.UserName, want ...site.UserName) {
	s.t.Helper()
	if got := require.Value(s.Denials.Blocked(s.ctx, by))(s.t); !slices.Equal(got, want) {
		s.t.Errorf("%s has blocked %q, want %q", by, got, want)
	}
}

func TestUsersBlockOthers(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := newSite(t, nil, partitions)
		other := s.reopened(s.client(twice(true)), nil, partitions)
		other.follow()
		for i := range 20 {
			other.block(site.UserName(fmt.Sprint("user ", i)), "troll", true)
		}
		other.block("user 7", "bob", true)
		s.block("alice", "bob", true)
		require.NoError(t, s.Denials.ReadDenials(s.ctx))
		s.wantBlocked("user 7", "bob", "troll")
		other.block("user 7", "troll", false)
		other.block("user 7", "carol", false)
		s.wantBlocked("user 7", "bob")
		s.wantBlocked("user 19", "troll")
		s.wantBlocked("troll")
		require.Eventually(t, "blocks in another process", func() bool { return other.Denials.HasBlocks("alice") })
		again := s.reopened(s.client(), nil, partitions)
		again.wantBlocked("alice", "bob")
		again.wantBlocked("bob")

		_, err := s.Denials.BlockUser(s.ctx, "alice", "alice", true)
		wantRefused(t, err, "FORBIDDEN user")
		_, err = s.Denials.BlockUser(s.ctx, "alice", "", true)
		wantRefused(t, err, "INVALID user")
		for i := range denials.MaxBlocked - 1 {
			s.block("alice", fmt.Sprint("t", i), true)
		}
		_, err = s.Denials.BlockUser(s.ctx, "alice", "one more", true)
		wantRefused(t, err, "LIMIT_EXCEEDED user")
		s.block("alice", "bob", true) // already
		s.block("alice", "bob", false)
		s.block("alice", "one more", true)
		s.wantClean()

		s.do("FLUSHALL") // a store that went back
		require.NoError(t, s.Denials.ReadDenials(s.ctx))
		if s.Denials.HasBlocks("alice") {
			t.Error("what the store has lost is remembered")
		}
	})
}

// For users who have never blocked another one no store is called.
func TestWithoutBlocksNothingIsRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.block("alice", "bob", true)
	sent := 0
	other := s.reopened(s.client(redistest.Before(func(commands ...redis.Cmder) { sent += len(commands) })), nil)
	sent = 0
	if other.wantBlocked("carol"); sent > 0 {
		t.Errorf("%d commands were sent", sent)
	}
}
