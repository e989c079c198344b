package signin_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/identity/signin"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// strict is a provider that authenticates the site in one way, and accepts a code or a refresh token once, also if that
// fails.
type strict struct {
	methods string // JSON that it has as token_endpoint_auth_methods_supported; empty: nothing
	accepts string // a method

	mu         sync.Mutex
	away       bool
	fails      int            // status of what a gateway answers to the next request for tokens; -1: none
	sent       map[string]int // by code or refresh token
	used       map[string]bool
	replayable bool // HTTP/2 sends such a request again after some errors
}

func newStrict(methods, accepts string) *strict {
	return &strict{methods: methods, accepts: accepts, sent: map[string]int{}, used: map[string]bool{}}
}

func (p *strict) options(o *signin.Options) { o.Transport = p }

func (p *strict) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// want fails the test if something was sent twice.
func (p *strict) want(t *testing.T, name string) {
	t.Helper()
	p.set(func() {
		for token, n := range p.sent {
			if n != 1 || p.replayable {
				t.Errorf("%s: %s was sent %d times, and could be sent again: %v", name, token, n, p.replayable)
			}
		}
	})
}

func (p *strict) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.away:
		return nil, errors.New("no route to host")
	case strings.HasSuffix(req.URL.Path, "/openid-configuration"):
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		_, rest, _ := strings.Cut(string(text), `"token_endpoint_auth_methods_supported":`)
		_, rest, _ = strings.Cut(rest, "],")
		if p.methods != "" {
			rest = `"token_endpoint_auth_methods_supported":` + p.methods + "," + rest
		}
		before, _, _ := strings.Cut(string(text), `"token_endpoint_auth_methods_supported":`)
		return respond(200, before+rest), err
	case req.URL.Path == "/oauth/token":
		return p.token(req)
	}
	return http.DefaultTransport.RoundTrip(req)
}

func respond(status int, text string) *http.Response {
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	answer.Header().Set("Location", "/oauth/token")
	answer.WriteHeader(status)
	_, _ = answer.WriteString(text)
	return answer.Result()
}

func (p *strict) token(req *http.Request) (*http.Response, error) {
	p.replayable = p.replayable || req.GetBody != nil
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	token := form.Get("code") + form.Get("refresh_token")
	p.sent[token]++
	if status := p.fails; status != 0 {
		p.fails = 0
		if status < 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return respond(status, "no JSON"), nil
	}
	used := p.used[token]
	p.used[token] = true
	switch {
	case methodOf(req, form) != p.accepts:
		return respond(401, `{"error":"invalid_client"}`), nil
	case used:
		return respond(400, `{"error":"invalid_grant"}`), nil
	}
	form.Set("client_id", "frontpage")
	form.Set("client_secret", clientSecret)
	next, err := http.NewRequestWithContext(req.Context(), http.MethodPost, req.URL.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	next.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return http.DefaultTransport.RoundTrip(next)
}

// methodOf returns how the site authenticates.
func methodOf(req *http.Request, form url.Values) string {
	_, secret, basic := req.BasicAuth()
	inForm := form.Get("client_secret")
	switch {
	case basic && inForm == "" && secret == url.QueryEscape(clientSecret):
		return signin.AuthBasic
	case basic && inForm == "" && secret == clientSecret:
		return signin.AuthBasicRaw
	case !basic && inForm == clientSecret && form.Get("client_id") == "frontpage":
		return signin.AuthPost
	case !basic && inForm == "" && form.Get("client_id") == "frontpage":
		return "none"
	}
	return "another way"
}

func TestSecretIsSentOnceAndAsTheProviderTakesIt(t *testing.T) {
	t.Parallel()
	i, client := startIssuer(t), redistest.Start(t).Client
	for _, tt := range []struct{ methods, setting, accepts string }{
		{"", "", signin.AuthBasic},
		{`[]`, "", signin.AuthBasic},
		{`null`, "", signin.AuthBasic},
		{`["client_secret_post"]`, "", signin.AuthPost},
		{`["private_key_jwt","client_secret_post"]`, "", signin.AuthPost},
		{`["client_secret_post","client_secret_basic"]`, "", signin.AuthBasic},
		{`["none","client_secret_basic"]`, "", signin.AuthBasic},
		{`["client_secret_basic"]`, signin.AuthPost, signin.AuthPost},
		{`["private_key_jwt"]`, signin.AuthBasic, signin.AuthBasic},
		{`["client_secret_basic"]`, signin.AuthBasicRaw, signin.AuthBasicRaw},
		{`["client_secret_basic"]`, "", "none"},
	} {
		name := tt.methods + " " + tt.setting + " " + tt.accepts
		p := newStrict(tt.methods, tt.accepts)
		s := serve(t, client, i, p.options, func(o *signin.Options) {
			if o.ClientAuth = tt.setting; tt.accepts == "none" {
				o.ClientSecret = ""
			}
		})
		b := newBrowser(t)
		if res, body := b.signIn(s, "alice", "/"); res.StatusCode != 200 {
			t.Errorf("%s: got %d %s, and the log %s", name, res.StatusCode, body, s.log)
			continue
		}
		s.ahead.Add(int64(10 * time.Minute))
		b.want(s, "alice")
		s.renewals(signin.Renewed, 1)
		p.want(t, name)
	}
}

func TestProviderThatTakesNoSecretIsAnError(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	for _, methods := range []string{`["private_key_jwt"]`, `["none"]`, `["client_secret_jwt","tls_client_auth"]`} {
		o := signin.Options{}
		serve(t, redistest.Start(t).Client, i, func(valid *signin.Options) { o = *valid })
		o.Transport, o.Names = newStrict(methods, ""), map[string]string{"ClientAuth": "OIDC_CLIENT_AUTH"}
		_, err := signin.New(t.Context(), o)
		want := strings.NewReplacer(`"`, "", "[", "", "]", "", ",", ", ").Replace(methods)
		if err == nil || !strings.HasPrefix(err.Error(), "OIDC_CLIENT_AUTH: the provider names "+want+" as") || !strings.Contains(err.Error(), "Allow client_secret_basic or client_secret_post there") {
			t.Errorf("%s: got %v", methods, err)
		}
	}
	p := newStrict(`["private_key_jwt"]`, "")
	p.away = true
	s := serve(t, redistest.Start(t).Client, i, p.options) // which finds out when a user signs in
	p.set(func() { p.away = false })
	require.Eventually(t, "the provider is asked again", func() bool {
		res, body := newBrowser(t).visit(s.url+signin.Path, "/auth")
		return res.StatusCode == 502 && strings.Contains(body, "The operator of this site has to look at its settings")
	})
	if text := s.log.String(); !strings.Contains(text, "Allow client_secret_basic") {
		t.Errorf("the log has %s", text)
	}
}

func TestCodeIsSentOnce(t *testing.T) {
	t.Parallel()
	i, client := startIssuer(t), redistest.Start(t).Client
	for fails, want := range map[int]int{-1: 503, 500: 503, 502: 503, 429: 503, 307: 502, 308: 502, 302: 502, 404: 502} {
		p := newStrict("", signin.AuthBasic)
		s, b := serve(t, client, i, p.options), newBrowser(t)
		callback := b.begin(s, "alice", "/")
		p.set(func() { p.fails = fails })
		b.refuses(s, "an answer with "+http.StatusText(fails), callback, want)
		p.want(t, http.StatusText(fails))
		b.signIn(s, "alice", "/")
		b.want(s, "alice")
	}
}

func TestAfterARestartARefusalEndsASessionAndAFaultDoesNot(t *testing.T) {
	t.Parallel()
	for _, method := range []string{signin.AuthBasic, signin.AuthPost} {
		i, client := startIssuer(t), redistest.Start(t).Client
		p := newStrict(`["`+method+`"]`, method)
		one, b := serve(t, client, i, p.options), newBrowser(t)
		b.signIn(one, "alice", "/")
		restart := func() *server {
			s := serve(t, client, i, p.options, func(o *signin.Options) { o.PublicURL = one.url })
			s.ahead.Store(one.ahead.Add(int64(10 * time.Minute)))
			s.unlock()
			return s
		}
		two := restart()
		p.set(func() { p.fails = 500 })
		b.want(two, "alice")
		two.renewals(signin.RenewalFailed, 1)
		two.unlock()
		b.want(two, "alice")
		two.renewals(signin.Renewed, 1)

		i.control("revoke", "sub-alice") // as when the account is locked
		three := restart()
		b.want(three, "alice")
		three.renewals(signin.RenewalRefused, 1)
		b.want(three, "SESSION_ENDED")
	}
}

func TestOnlyARefusalOfTheUserEndsASession(t *testing.T) {
	t.Parallel()
	leaky := &answers{}
	s, _ := start(t, func(o *signin.Options) { o.Transport = leaky })
	counts := map[signin.Outcome]int64{}
	for _, tt := range []struct {
		status  int
		text    string
		outcome signin.Outcome
	}{
		{400, `{"error":"invalid_grant"}`, signin.RenewalRefused},
		{401, `{"error":"invalid_grant"}`, signin.RenewalRefused},
		{200, `{"error":"invalid_grant"}`, signin.RenewalRefused},
		{403, `{"error":"access_denied"}`, signin.RenewalRefused},
		{400, `{"error":"interaction_required"}`, signin.RenewalRefused},
		{500, `{"error":"invalid_grant"}`, signin.RenewalFailed},
		{429, `{"error":"invalid_grant"}`, signin.RenewalFailed},
		{400, `{"error":"temporarily_unavailable"}`, signin.RenewalFailed},
		{401, `{"error":"invalid_client"}`, signin.RenewalFailed},
		{400, `{"error":"unauthorized_client"}`, signin.RenewalFailed},
		{403, `<html>`, signin.RenewalFailed},
		{200, `<html>`, signin.RenewalFailed},
	} {
		leaky.set("", "", 0)
		s.ahead.Store(0)
		b := newBrowser(t)
		b.signIn(s, "alice", "/")
		leaky.set("/oauth/token", tt.text, tt.status)
		s.ahead.Add(int64(10 * time.Minute))
		b.want(s, "alice")
		counts[tt.outcome]++
		s.renewals(tt.outcome, counts[tt.outcome])
		want := "alice"
		if tt.outcome == signin.RenewalRefused {
			want = "SESSION_ENDED"
		}
		if got := b.viewer(s); got != want {
			t.Errorf("%d %s: got %q, want %q", tt.status, tt.text, got, want)
		}
	}
}

func TestErrorsOfTheProviderAreToldApart(t *testing.T) {
	t.Parallel()
	leaky := &answers{}
	s, _ := start(t, func(o *signin.Options) { o.Transport = leaky })
	const (
		user  = "The sign-in service has not signed you in"
		site  = "The operator of this site has to look at its settings"
		fault = "The sign-in service does not answer or has a fault"
	)
	for _, tt := range []struct {
		code     string
		callback string // what the page says when the provider sends the user back with the code
		answer   string // what it says when the token endpoint answers with it
	}{
		{"access_denied", user, user}, {"login_required", user, user}, {"interaction_required", user, user}, {"consent_required", user, user},
		{"server_error", fault, fault}, {"temporarily_unavailable", fault, fault},
		{"invalid_scope", site, site}, {"unauthorized_client", site, site}, {"invalid_client", site, site}, {"invalid_request", site, site},
		{"another", user, site},
	} {
		for _, atToken := range []bool{false, true} {
			b := newBrowser(t)
			b.Transport = sitetest.ClientFrom(t, "127.0.0.2").Transport
			callback, want := with(b.begin(s, "alice", "/"), "error", tt.code), tt.callback
			if atToken {
				want = tt.answer
				callback = with(callback, "error", "")
				leaky.set("/oauth/token", `{"error":"`+tt.code+`"}`, 400)
			}
			res, body := b.visit(callback.String(), "/")
			if !strings.Contains(body, want) || res.StatusCode < 400 || !strings.Contains(s.log.String(), tt.code) {
				t.Errorf("%s, at the token endpoint: %v: got %d %s, want %s; the log has %s", tt.code, atToken, res.StatusCode, body, want, s.log)
			}
			leaky.set("", "", 0)
		}
	}
}

func TestIDTokenWithoutASubjectIsRefused(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	for _, subject := range []string{`null`, `""`, `17`, `["sub-alice"]`} {
		b := newBrowser(t)
		callback := b.begin(s, "alice", "/")
		i.control("claims", `{"sub":`+subject+`,"preferred_username":"mallory","roles":[]}`)
		b.refuses(s, "the subject "+subject, callback, 403)
	}
	if text := s.log.String(); strings.Count(text, "the ID token has no subject") != 2 {
		t.Errorf("the log has %s", text)
	}
	b := newBrowser(t)
	b.signIn(s, "mod+moderator", "/")
	i.control("claims", `{"sub":"","preferred_username":"mod","roles":["moderator"]}`)
	s.ahead.Add(int64(10 * time.Minute))
	b.want(s, "mod")
	s.renewals(signin.RenewalFailed, 1)
	if got := b.ask(s, `{ moderationLog { nodes { by } } }`); !strings.Contains(got, "FORBIDDEN") {
		t.Errorf("a renewal without a subject: got %s", got)
	}
}

func TestClaimsAreReadFromBothPlaces(t *testing.T) {
	t.Parallel()
	leaky := &answers{}
	s, i := start(t, func(o *signin.Options) {
		o.Transport, o.RolesClaim, o.NameClaim, o.CreatedClaim = leaky, "resource_access.news.example.org.roles", "https://a.example/user.name", "site.v1.created"
	})
	for claims, info := range map[string]string{
		`{"resource_access":{"account":{"roles":["x"]}},"https://a.example/user":{"id":1}}`: `,"resource_access":{"news.example.org":{"roles":{"moderator":{"1":"a"}}}},
			"https://a.example/user":{"name":"alice"},"site.v1":{"created":1700000000}`,
		`{"resource_access":{"news.example.org":{"roles":["moderator"]}},"https://a.example/user.name":"alice"}`: `,"site":{"v1.created":1700000000}`,
	} {
		b := newBrowser(t)
		callback := b.begin(s, "alice", "/")
		i.control("claims", claims)
		leaky.set("/userinfo", `{"sub":"sub-alice"`+info+`}`, 200)
		b.visit(callback.String(), "/")
		b.want(s, "alice")
		caller := require.Value(s.users.Sessions().Find(t.Context(), b.cookie(s, "frontpage-session")))(t)
		if !caller.Moderator || caller.Created.Unix() != 1_700_000_000 {
			t.Errorf("%s and %s: got %+v", claims, info, caller)
		}
		leaky.set("", "", 0)
	}
}
