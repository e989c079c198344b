package signin_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/identity/signin"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func (i *issuer) requests(path string) int {
	i.t.Helper()
	return require.Value(strconv.Atoi(i.control("requests", path)))(i.t)
}

func TestStateWorksOnceInAllProcesses(t *testing.T) {
	t.Parallel()
	i, client := startIssuer(t), redistest.Start(t).Client
	one := serve(t, client, i)
	two := serve(t, client, i, func(o *signin.Options) { o.PublicURL = one.url })
	b := newBrowser(t)
	callback := b.begin(one, "alice", "/")
	before := i.requests("/oauth/token")
	b.visit(one.url+callback.RequestURI(), "/")
	b.want(one, "alice")
	for _, s := range []*server{one, two} {
		res, body := b.visit(s.url+with(callback, "code", "another").RequestURI(), "/")
		if res.StatusCode != 400 || !strings.Contains(body, "has been used already") {
			t.Errorf("got %d %s", res.StatusCode, body)
		}
	}
	if got := i.requests("/oauth/token") - before; got != 1 {
		t.Errorf("got %d requests for tokens, want 1", got)
	}
}

func TestStateExpires(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	b := newBrowser(t)
	for _, ahead := range []time.Duration{61 * time.Minute, -2 * time.Minute} {
		callback := b.begin(s, "alice", "/")
		s.ahead.Add(int64(ahead))
		b.refuses(s, "a state that began "+ahead.String()+" ago", callback, 400)
		s.ahead.Add(int64(-ahead))
	}
}

// Without a secret anyone could make the state of a sign-in, and a link with it signs the visitor in as the attacker.
func TestStateWithoutASecretIsRefused(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	id := strconv.FormatInt(time.Now().Unix(), 36) + "-x"
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte("state\n" + id + "\n/"))
	encode := base64.RawURLEncoding.EncodeToString
	b := newBrowser(t)
	res, body := b.visit(s.url+"/sign-in/callback?code=x&state="+id+"."+encode([]byte("/"))+"."+encode(mac.Sum(nil)), "/")
	if res.StatusCode != 400 || !strings.Contains(body, "not begun in this browser") || i.requests("/oauth/token") != 0 {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}

func TestEndsOfSignInsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	from := func(address string) *browser {
		b := newBrowser(t)
		b.Transport = sitetest.ClientFrom(t, address).Transport
		return b
	}
	attacker, other := from("127.0.0.2"), from("127.0.0.3")
	statuses := map[int]int{}
	for range 40 { // each with a state of its own
		res, _ := attacker.visit(s.url+signin.Path, "/auth")
		state := require.Value(res.Location())(t).Query().Get("state")
		res, body := attacker.visit(s.url+"/sign-in/callback?code=x&state="+state, "/")
		statuses[res.StatusCode]++
		if res.StatusCode == http.StatusTooManyRequests && (res.Header.Get("Retry-After") == "" || !strings.Contains(body, "Try again in ")) {
			t.Errorf("got %v %s", res.Header, body)
		}
	}
	if statuses[400] != 30 || statuses[429] != 10 || i.requests("/oauth/token") != 30 {
		t.Errorf("got %v and %d requests for tokens, want those of 30 of 40", statuses, i.requests("/oauth/token"))
	}
	other.signIn(s, "alice", "/")
	other.want(s, "alice")
}

func TestKeysAreReadOnceInAWhile(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	b := newBrowser(t)
	b.signIn(s, "alice", "/")
	i.control("rotate", "")
	before := i.requests("/keys")
	s.ahead.Add(int64(5 * time.Second))
	now := time.Now()
	// The second token is the last with a key that is known, and of another sign-in.
	for n, want := range []int{403, 403, 503, 503} {
		token := i.idToken("frontpage", "eve")
		i.control("rotate", "") // the key of the token is published no longer
		b := newBrowser(t)
		callback := b.begin(s, "bob", "/")
		i.control("id-token", token)
		s.ahead.Add(-int64(time.Since(now))) // on a busy machine this takes longer than the keys are not read again
		now = time.Now()
		if res, body := b.visit(callback.String(), "/"); res.StatusCode != want {
			t.Errorf("token %d: got %d %s, want %d", n, res.StatusCode, body, want)
		}
	}
	if got := i.requests("/keys") - before; got != 1 {
		t.Errorf("the keys were read %d times, want once", got)
	}
	s.ahead.Add(int64(time.Minute)) // the clock was turned back, perhaps to before the keys were read
	b = newBrowser(t)
	b.signIn(s, "bob", "/")
	b.want(s, "bob")
}

func TestLogHasNothingOfTheProvidersAnswers(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	const private = "private-of-alice"
	leaky := &answers{}
	s := serve(t, redistest.Start(t).Client, i, func(o *signin.Options) { o.Transport = leaky })
	for _, leak := range []struct{ path, text string }{
		{"/oauth/token", `{"error":"server_error","error_description":"` + private + `"}`},
		{"/oauth/token", private},
		{"/oauth/token", `{"access_token":"` + private + `","token_type":"Bearer","id_token":"` + private + `.x.y"}`},
		{"/userinfo", private},
		{"/userinfo", `{"sub":"` + private + `"}`},
		{"/keys", private},
	} {
		for _, status := range []int{200, 400, 500} {
			b := newBrowser(t)
			b.Transport = sitetest.ClientFrom(t, "127.0.0."+strconv.Itoa(2+status/100)).Transport
			callback := b.begin(s, "alice", "/")
			if leak.path == "/keys" {
				s.ahead.Add(int64(5 * time.Second))
				i.control("rotate", "")
			}
			leaky.set(leak.path, leak.text, status)
			if res, body := b.visit(callback.String(), "/"); res.StatusCode < 400 || strings.Contains(body, private) {
				t.Errorf("%s %d %s: got %d %s", leak.path, status, leak.text, res.StatusCode, body)
			}
			leaky.set("", "", 0)
		}
	}
	if text := s.log.String(); strings.Contains(text, private) || strings.Count(text, "a user was not signed in") != 18 {
		t.Errorf("the log has %s", text)
	}
}

// answers replaces what the provider answers.
type answers struct {
	mu         sync.Mutex
	path, text string
	status     int
}

func (a *answers) set(path, text string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.path, a.text, a.status = path, text, status
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.path == "" || req.URL.Path != a.path {
		return http.DefaultTransport.RoundTrip(req)
	}
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	answer.WriteHeader(a.status)
	_, _ = answer.WriteString(a.text)
	return answer.Result(), nil
}

// renewals waits until the sessions were renewed as often as this.
func (s *server) renewals(outcome signin.Outcome, n int64) {
	s.T.Helper()
	require.Eventually(s.T, "the session is renewed", func() bool { return s.users.Counts.Renewals()[outcome] >= n })
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
	i, client := startIssuer(t), redistest.Start(t).Client
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
	require.Eventually(t, "the session is renewed", func() bool {
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
	req := require.Value(http.NewRequest(http.MethodPost, s.url+"/sign-out", nil))(t)
	if res, body := b.do(req, ""); res.StatusCode != 503 || !strings.Contains(body, "You are still signed in") || b.cookie(s, "frontpage-session") == "" {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}
