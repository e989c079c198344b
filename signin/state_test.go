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

	"frontpage/must"
	"frontpage/signin"
	"frontpage/sitetest"
)

func (i *issuer) requests(path string) int {
	i.t.Helper()
	return must.Get(strconv.Atoi(i.control("requests", path)))(i.t)
}

func TestStateWorksOnceInAllProcesses(t *testing.T) {
	t.Parallel()
	i, client := startIssuer(t), startStore(t)
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
		state := must.Get(res.Location())(t).Query().Get("state")
		res, body := attacker.visit(s.url+"/sign-in/callback?code=x&state="+state, "/")
		statuses[res.StatusCode]++
		if res.StatusCode == http.StatusTooManyRequests && (res.Header.Get("Retry-After") == "" || !strings.Contains(body, "Try again in ")) {
			t.Errorf("got %v %s", res.Header, body)
		}
	}
	// For a code that is refused, oauth2 also tries the other way of sending the client's secret.
	if statuses[400] != 30 || statuses[429] != 10 || i.requests("/oauth/token") > 2*30 {
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
	s.ahead.Add(int64(5 * time.Second))
	b = newBrowser(t)
	b.signIn(s, "bob", "/")
	b.want(s, "bob")
}

func TestLogHasNothingOfTheProvidersAnswers(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	const private = "private-of-alice"
	leaky := &answers{}
	s := serve(t, startStore(t), i, func(o *signin.Options) { o.Transport = leaky })
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
