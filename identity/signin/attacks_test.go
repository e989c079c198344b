package signin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"frontpage/identity/signin"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// refuses fails the test unless the browser that comes back like this is not signed in.
func (b *browser) refuses(s *server, what string, callback *url.URL, status int) {
	b.t.Helper()
	if res, body := b.visit(callback.String(), "/"); res.StatusCode != status || !strings.Contains(body, "You are not signed in") {
		b.t.Errorf("%s: got %d %s, want %d", what, res.StatusCode, body, status)
	}
	b.want(s, "")
}

func with(u *url.URL, name, value string) *url.URL {
	changed, query := *u, u.Query()
	query.Set(name, value)
	changed.RawQuery = query.Encode()
	return &changed
}

func TestStateOfAnotherSignInIsRefused(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	b := newBrowser(t)
	callback := b.begin(s, "alice", "/")
	state := callback.Query().Get("state")
	id, rest, _ := strings.Cut(state, ".")
	to, mac, _ := strings.Cut(rest, ".")
	for name, forged := range map[string]string{
		"none": "", "another one": "x.y.z", "another path": id + ".L2ZvbwA." + mac, "another id": "x" + state, "no proof": id + "." + to + ".", "half": id + "." + to,
	} {
		b.refuses(s, name, with(callback, "state", forged), 400)
	}
	// A link cannot sign a user in as the attacker, whose browser began it.
	b.refuses(s, "an attacker's state", newBrowser(t).begin(s, "mallory", "/"), 400)
	newBrowser(t).refuses(s, "a browser without a flow", callback, 400)
	// The code of another sign-in of the same browser needs another verifier.
	other := b.begin(s, "bob", "/")
	b.refuses(s, "the code of another sign-in", with(callback, "code", other.Query().Get("code")), 400)
	b.refuses(s, "another issuer", with(b.begin(s, "alice", "/"), "iss", "https://evil.example"), 403)
	b.refuses(s, "an error", with(b.begin(s, "alice", "/"), "error", "access_denied<script>"), 403)
	if text := s.log.String(); strings.Contains(text, "script") || !strings.Contains(text, "an unknown error") {
		t.Errorf("the log has what anyone can send: %s", text)
	}
	if i.control("renewals", "") != "0" {
		t.Error("a session was renewed")
	}
	// Two windows of one browser sign in at once, and both end well.
	first, second := b.begin(s, "carol", "/1"), b.begin(s, "carol", "/2")
	for _, callback := range []*url.URL{first, second} {
		if res, body := b.visit(callback.String(), ""); res.StatusCode != 200 || !strings.HasPrefix(body, "page /") {
			t.Errorf("got %d %s", res.StatusCode, body)
		}
		b.want(s, "carol")
	}
}

func TestCodeCountsOnce(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	b := newBrowser(t)
	callback := b.begin(s, "alice", "/")
	b.visit(callback.String(), "")
	b.want(s, "alice")
	res, body := b.visit(callback.String(), "")
	if res.StatusCode != 400 || !strings.Contains(body, "has been used already") || len(res.Cookies()) != 0 {
		t.Errorf("got %d %s %v, want 400", res.StatusCode, body, res.Cookies())
	}
	b.want(s, "alice") // the first one goes on
	if counts := s.users.Counts.SignIns(); counts[signin.SignedIn] != 1 || counts[signin.Refused] != 1 {
		t.Errorf("got %v", counts)
	}
}

func TestIDTokenOfAnotherSignInIsRefused(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	own := i.idToken("frontpage", "eve")
	for name, token := range map[string]string{
		"for another site":    i.idToken("other", "eve"),
		"of another sign-in":  own,
		"with another claim":  strings.Join([]string{part(own, 0), part(i.idToken("other", "eve"), 1), part(own, 2)}, "."),
		"without a signature": "eyJhbGciOiJub25lIn0." + part(own, 1) + ".",
		"that is no token":    "x",
	} {
		b := newBrowser(t)
		callback := b.begin(s, "alice", "/")
		i.control("id-token", token)
		s.ahead.Add(int64(5 * time.Second)) // after which the keys may be read again
		b.refuses(s, name, callback, 403)
	}
}

func TestIDTokenOfAnotherClientIsRefused(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	for claims, name := range map[string]string{
		`{"azp":"other","aud":["other","frontpage"]}`: "",
		`{"azp":"other"}`:                                 "",
		`{"azp":null,"aud":["other","frontpage"]}`:        "",
		`{"azp":["frontpage"]}`:                           "",
		`{"azp":"frontpage","aud":["other","frontpage"]}`: "alice",
		`{"azp":null}`:                                    "alice",
	} {
		b := newBrowser(t)
		callback := b.begin(s, "alice", "/")
		i.control("claims", claims)
		if name == "" {
			b.refuses(s, claims, callback, 403)
			continue
		}
		b.visit(callback.String(), "/")
		b.want(s, name)
	}
}

func part(token string, n int) string { return strings.Split(token, ".")[n] }

func TestIDTokenExpires(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	b := newBrowser(t)
	s.ahead.Store(int64(3 * time.Hour))
	b.refuses(s, "an old ID token", b.begin(s, "alice", "/"), 403)
	if !strings.Contains(s.log.String(), "the ID token is expired") {
		t.Errorf("the log has %s", s.log)
	}
}

func TestKeysOfTheProviderRotate(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	b := newBrowser(t)
	b.signIn(s, "alice", "/")
	before := i.idToken("frontpage", "eve")
	i.control("rotate", "")
	b = newBrowser(t)
	s.ahead.Add(int64(5 * time.Second))
	b.signIn(s, "bob", "/") // whose token has a key that the site has not seen
	b.want(s, "bob")
	b = newBrowser(t)
	callback := b.begin(s, "alice", "/")
	i.control("id-token", before)
	s.ahead.Add(int64(5 * time.Second))
	b.refuses(s, "a key that is published no longer", callback, 403)
}

func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	signedIn, b := newBrowser(t), newBrowser(t)
	signedIn.signIn(s, "alice", "/")
	callback := b.begin(s, "bob", "/new")
	i.control("away", "true")
	res, body := b.visit(callback.String(), "")
	if res.StatusCode != 503 || !strings.Contains(body, "does not answer") || !strings.Contains(body, `href="/sign-in?return=%2Fnew"`) || res.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
	b.want(s, "") // reading goes on
	signedIn.want(s, "alice")
	if res, _ := signedIn.do(require.Value(http.NewRequest(http.MethodPost, s.url+"/sign-out", nil))(t), "/"); res.StatusCode != 200 {
		t.Errorf("signing out: got %d", res.StatusCode) // the provider's address is known
	}
	signedIn.want(s, "")
	i.control("away", "false")
	if res, body := b.signIn(s, "bob", "/new"); res.StatusCode != 200 || body != "page /new" {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
	if counts := s.users.Counts.SignIns(); counts[signin.ProviderAway] != 1 {
		t.Errorf("got %v", counts)
	}
}

func TestProviderIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	address := strings.TrimPrefix(i.url, "http://")
	client := redistest.Start(t).Client
	i.stop()
	s, b := serve(t, client, i), newBrowser(t)
	b.want(s, "")
	res, body := b.visit(s.url+signin.Path+"?return=/new", "")
	if res.StatusCode != 503 || !strings.Contains(body, "The site can be read meanwhile") || !strings.Contains(s.log.String(), "the OIDC provider cannot be reached: reading works") {
		t.Errorf("got %d %s, and the log %s", res.StatusCode, body, s.log)
	}
	startIssuer(t, address)
	require.Eventually(t, "the provider is asked again", func() bool {
		res, _ := b.visit(s.url+signin.Path, "/auth")
		return res.StatusCode == 302
	})
	b.signIn(s, "alice", "/")
	b.want(s, "alice")
}

func TestWrongSecretOfTheSite(t *testing.T) {
	t.Parallel()
	s, _ := start(t, func(o *signin.Options) { o.ClientSecret = "wrong" })
	b := newBrowser(t)
	res, body := b.signIn(s, "alice", "/")
	if res.StatusCode != 502 || !strings.Contains(body, "The operator of this site") || !strings.Contains(s.log.String(), "the provider refuses the client") {
		t.Errorf("got %d %s, and the log %s", res.StatusCode, body, s.log)
	}
}
