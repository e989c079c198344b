package signin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/must"
	"frontpage/redistest"
	"frontpage/signin"
	"frontpage/sitetest"
)

func startStore(t *testing.T) redis.UniversalClient {
	t.Helper()
	return redistest.Start(t).Client
}

// renewals waits until the sessions were renewed as often as this.
func (s *server) renewals(outcome signin.Outcome, n int64) {
	s.T.Helper()
	sitetest.Eventually(s.T, "the session is renewed", func() bool { return s.users.Counts.Renewals()[outcome] >= n })
}

func TestSessionIsRenewed(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	b := newBrowser(t)
	b.signIn(s, "alice", "/")
	s.ahead.Add(int64(4 * time.Minute))
	b.want(s, "alice")
	if got := s.users.Counts.Renewals()[signin.Renewed]; got != 0 {
		t.Errorf("got %d renewals before the token has expired", got)
	}
	i.control("roles", "sub-alice moderator")
	for n := range int64(3) { // each renewal takes another refresh token
		s.ahead.Add(int64(10 * time.Minute))
		s.unlock()
		b.want(s, "alice")
		s.renewals(signin.Renewed, n+1)
	}
	if got := i.control("renewals", ""); got != "3" {
		t.Errorf("got %s renewals, want 3", got)
	}
	b.want(s, "alice")
	if got := b.ask(s, `{ moderationLog { nodes { by } } }`); strings.Contains(got, "FORBIDDEN") {
		t.Errorf("the roles were not read again: %s", got)
	}
	s.ahead.Add(int64(25 * time.Hour))
	b.want(s, "SESSION_ENDED")
	b.want(s, "") // the cookie was cleared
}

func TestDemotedModeratorIsOneNoLongerAfterARenewal(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"false", "true"} { // an ID token in the renewal
		leaky := &answers{}
		s, i := start(t, func(o *signin.Options) { o.Transport = leaky })
		i.control("without-id-token", without)
		b := newBrowser(t)
		b.signIn(s, "alice+moderator", "/")
		moderates := func(want bool) {
			t.Helper()
			got := b.ask(s, `{ moderationLog { nodes { by } } }`)
			if strings.Contains(got, "FORBIDDEN") == want {
				t.Errorf("without an ID token: %s: got %s", without, got)
			}
		}
		step := func(outcome signin.Outcome, n int64) {
			t.Helper()
			s.ahead.Add(int64(10 * time.Minute))
			s.unlock()
			b.want(s, "alice")
			s.renewals(outcome, n)
		}
		step(signin.Renewed, 1)
		moderates(true)
		leaky.set("/userinfo", "away", 500) // which of them are moderators is not known
		step(signin.RenewalFailed, 1)
		moderates(false)
		leaky.set("", "", 0)
		step(signin.Renewed, 2)
		moderates(true)
		i.control("roles", "sub-alice+moderator ")
		moderates(true)
		step(signin.Renewed, 3)
		moderates(false)
	}
}

// unlock lets the next renewal begin, which otherwise waits for a minute since the last one.
func (s *server) unlock() {
	s.T.Helper()
	for _, key := range s.Client.Keys(s.T.Context(), "session:*:renewing").Val() {
		s.Client.Del(s.T.Context(), key)
	}
}

func TestOnlyOneProcessRenews(t *testing.T) {
	t.Parallel()
	i, client := startIssuer(t), startStore(t)
	one := serve(t, client, i)
	two := serve(t, client, i, func(o *signin.Options) { o.PublicURL = one.url })
	b := newBrowser(t)
	b.signIn(one, "alice", "/")
	for _, s := range []*server{one, two} {
		s.ahead.Add(int64(10 * time.Minute))
	}
	for range 10 {
		b.want(one, "alice")
		b.want(two, "alice")
	}
	sitetest.Eventually(t, "the session is renewed", func() bool {
		return one.users.Counts.Renewals()[signin.Renewed]+two.users.Counts.Renewals()[signin.Renewed] == 1
	})
	if got := i.control("renewals", ""); got != "1" {
		t.Errorf("got %s renewals, want 1", got)
	}
}

func TestSessionEndsAtTheProvider(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	b := newBrowser(t)
	b.signIn(s, "alice", "/")
	w := s.Socket("", "Cookie", "frontpage-session="+b.cookie(s, "frontpage-session"))
	i.control("revoke", "sub-alice")
	b.want(s, "alice") // until it is renewed
	s.ahead.Add(int64(10 * time.Minute))
	b.viewer(s)
	s.renewals(signin.RenewalRefused, 1)
	if _, how := w.ReadClose(); how.Code != 4403 || !strings.HasPrefix(how.Reason, "SESSION_ENDED: ") {
		t.Errorf("got %v, want 4403 SESSION_ENDED", how)
	}
	b.want(s, "SESSION_ENDED")
	b.want(s, "")
}

func TestSessionGoesOnWhileTheProviderIsAway(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	b := newBrowser(t)
	b.signIn(s, "alice", "/")
	i.control("away", "true")
	s.ahead.Add(int64(10 * time.Minute))
	b.want(s, "alice")
	s.renewals(signin.RenewalFailed, 1)
	b.want(s, "alice")
	i.control("away", "false")
	s.unlock()
	b.want(s, "alice")
	s.renewals(signin.Renewed, 1)
	s.ahead.Add(int64(24 * time.Hour))
	b.want(s, "SESSION_ENDED")
}

func TestWithoutARefreshTokenASessionEnds(t *testing.T) {
	t.Parallel()
	s, i := start(t, func(o *signin.Options) { o.Scopes = []string{"profile"} })
	b := newBrowser(t)
	b.signIn(s, "alice", "/")
	s.ahead.Add(int64(23 * time.Hour))
	b.want(s, "alice")
	s.ahead.Add(int64(time.Hour))
	b.want(s, "SESSION_ENDED")
	if got := i.control("renewals", ""); got != "0" {
		t.Errorf("got %s renewals, want 0", got)
	}
}

func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	server := redistest.Start(t)
	s, b := serve(t, server.Client, i), newBrowser(t)
	b.signIn(s, "alice", "/")
	late := newBrowser(t)
	callback := late.begin(s, "bob", "/")
	server.Kill()
	b.want(s, "UNAVAILABLE")
	if res, body := late.visit(callback.String(), ""); res.StatusCode != 503 || !strings.Contains(body, "cannot reach its store") {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
	req := must.Get(http.NewRequest(http.MethodPost, s.url+"/sign-out", nil))(t)
	if res, body := b.do(req, ""); res.StatusCode != 503 || !strings.Contains(body, "You are still signed in") || b.cookie(s, "frontpage-session") == "" {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}
