package signin_test

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/identity/signin"
	"frontpage/redisrepo/store"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	for name, open := range map[string]func() redis.UniversalClient{
		"redis": func() redis.UniversalClient { return redistest.Start(t).Client },
		"memory": func() redis.UniversalClient {
			s := require.Value(store.Open(t.Context(), store.Options{URL: "memory://", Timeout: time.Minute, Log: slog.New(slog.DiscardHandler)}))(t)
			t.Cleanup(func() { _ = s.Close() })
			return s.Client
		},
	} {
		client := open()
		s, b := serve(t, client, i), newBrowser(t)
		b.want(s, "")
		res, body := b.signIn(s, "alice", "/g/go/new?page=2")
		if res.StatusCode != 200 || body != "page /g/go/new?page=2" {
			t.Fatalf("%s: got %d %s", name, res.StatusCode, body)
		}
		b.want(s, "alice")
		if got := b.ask(s, `mutation { post(input: {title: "t", text: "x"}) { article { id poster { name } } } }`); !strings.Contains(got, `"poster":{"name":"alice"}`) {
			t.Errorf("%s: got %s", name, got)
		}
		newBrowser(t).want(s, "")

		// What is in the store is of no use without the cookie.
		for _, key := range client.Keys(t.Context(), "session:*").Val() {
			value := client.Get(t.Context(), key).Val()
			if id := b.cookie(s, "frontpage-session"); strings.Contains(key+value, id) || strings.Contains(value, "alice") || len(value) < 100 {
				t.Errorf("%s: the store has %s: %q", name, key, value)
			}
		}
		if n := len(client.Keys(t.Context(), "session:*").Val()); n != 1 {
			t.Errorf("%s: got %d sessions, want 1", name, n)
		}
		old := b.cookie(s, "frontpage-session")
		b.signIn(s, "alice", "/") // which replaces the session
		if n := len(client.Keys(t.Context(), "session:*").Val()); n != 1 || b.cookie(s, "frontpage-session") == old {
			t.Errorf("%s: got %d sessions after signing in again, want a new one", name, n)
		}
	}
}

func TestCookiesOfASiteByHTTPS(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	s := serve(t, redistest.Start(t).Client, i, func(o *signin.Options) { o.PublicURL = "https://news.example.org" })
	b := newBrowser(t)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res := require.Value(b.Get(s.url + signin.Path + "?return=/new"))(t)
	flow := res.Header.Get("Set-Cookie")
	if !strings.HasPrefix(flow, "__Host-frontpage-flow=") || !strings.HasSuffix(flow, "; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("got the cookie %s", flow)
	}
	at := require.Value(res.Location())(t)
	for name, want := range map[string]string{
		"redirect_uri": "https://news.example.org/sign-in/callback", "response_type": "code", "code_challenge_method": "S256", "client_id": "frontpage",
		"scope": "openid profile offline_access",
	} {
		if got := at.Query().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	callback := newBrowser(t).signInAt(at.String(), "alice")
	res, body := b.visit(s.url+callback.RequestURI(), "/new")
	set := res.Header.Get("Set-Cookie")
	if !strings.HasPrefix(set, "__Host-frontpage-session=") || !strings.HasSuffix(set, "; Path=/; Max-Age=34560000; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("got %d %s and the cookie %s", res.StatusCode, body, set)
	}
	for name, want := range map[string]string{"Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer", "Location": "/new"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestCookiesOfASiteWithItsOwnCertificateAreSecure(t *testing.T) {
	t.Parallel()
	s, _ := start(t, func(o *signin.Options) { o.Secure = true })
	res, _ := newBrowser(t).visit(s.url+signin.Path, "/auth")
	if got := res.Header.Get("Set-Cookie"); !strings.HasPrefix(got, "__Host-frontpage-flow=") || !strings.Contains(got, "; Secure;") {
		t.Errorf("got the cookie %s", got)
	}
}

func TestSignInReturnsToPagesOfThisSiteOnly(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	for to, want := range map[string]string{
		"/a/1?x=%2F&y=z":               "/a/1?x=%2F&y=z",
		"/u/%E2%82%AC%2Fx":             "/u/%E2%82%AC%2Fx",
		s.url + "/new":                 "/new",
		"":                             "/",
		"new":                          "/",
		"//evil.example/":              "/",
		"/\\evil.example/":             "/",
		"https://evil.example/":        "/",
		s.url + ".evil.example/":       "/",
		s.url + "@evil.example/":       "/",
		"javascript:alert(1)":          "/",
		"/%":                           "/",
		"/sign-in?return=/":            "/",
		"/signin":                      "/",
		"/" + strings.Repeat("x", 600): "/",
		"/a#b":                         "/a",
		"/\t/evil.example":             "/",
	} {
		b := newBrowser(t)
		callback := b.begin(s, "alice", to)
		b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		res := require.Value(b.Get(callback.String()))(t)
		if got := res.Header.Get("Location"); got != want || res.StatusCode != 303 {
			t.Errorf("%q: got %d %q, want %q", to, res.StatusCode, got, want)
		}
	}
	res, _ := newBrowser(t).visit(s.url+"/signin?to=/new", "/auth")
	if to := res.Request.URL.Query().Get("return"); to != "/new" {
		t.Errorf("the site's own page: got %v", res.Request.URL)
	}
}

func TestWrongSettingsAreErrors(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"issuer":"https://other.example"}`))
	}))
	t.Cleanup(other.Close)
	valid := signin.Options{
		Issuer: other.URL, ClientID: "x", PublicURL: "https://news.example.org", NameClaim: "sub", Lifetime: time.Hour,
		ValidName: endpoint.ValidName, Client: func(*http.Request) netip.Addr { return netip.Addr{} }, Names: map[string]string{"Issuer": "OIDC_ISSUER", "PublicURL": "PUBLIC_URL"},
	}
	for want, change := range map[string]func(*signin.Options){
		"OIDC_ISSUER: oidc: issuer URL provided to client":                 func(*signin.Options) {},
		"OIDC_ISSUER needs ClientID":                                       func(o *signin.Options) { o.ClientID = "" },
		"OIDC_ISSUER needs PUBLIC_URL":                                     func(o *signin.Options) { o.PublicURL = "" },
		"OIDC_ISSUER needs NameClaim":                                      func(o *signin.Options) { o.NameClaim = "" },
		"OIDC_ISSUER must begin with https://":                             func(o *signin.Options) { o.Issuer = "http://login.example.org" },
		"PUBLIC_URL must begin with https://":                              func(o *signin.Options) { o.PublicURL = "http://news.example.org" },
		"OIDC_ISSUER must be an address without user, parameters and frag": func(o *signin.Options) { o.Issuer += "?x=y" },
		"Lifetime: 1s is below 1m":                                         func(o *signin.Options) { o.Lifetime = time.Second },
		`ClientAuth: "post" is not client_secret_basic, `:                  func(o *signin.Options) { o.ClientAuth, o.ClientSecret = "post", "x" },
		"ClientAuth needs ClientSecret":                                    func(o *signin.Options) { o.ClientAuth = signin.AuthPost },
		"ClientAuth: ClientID has a colon, which":                          func(o *signin.Options) { o.ClientAuth, o.ClientSecret, o.ClientID = signin.AuthBasicRaw, "x", "a:b" },
		"ValidName or Client is missing":                                   func(o *signin.Options) { o.ValidName = nil },
	} {
		o := valid
		change(&o)
		if _, err := signin.New(context.Background(), o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNamesAndRoles(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	for _, tt := range []struct{ login, name, roles string }{
		{"alice", "alice", "FORBIDDEN"},
		{"alice@2", "alice-2", "FORBIDDEN"},
		{"alice", "alice", "FORBIDDEN"},
		{"Alice@3", "Alice-3", "FORBIDDEN"},
		{"mod+moderator", "mod", ""},
		{"mod@2+moderators", "mod-2", "FORBIDDEN"},
		{"eve+admin moderator", "eve", ""},
	} {
		b := newBrowser(t)
		b.signIn(s, tt.login, "/")
		b.want(s, tt.name)
		if got := sitetest.CodeOf(t, b.ask(s, `{ moderationLog { nodes { by } } }`)); got != tt.roles {
			t.Errorf("%s: the moderation log: got %q, want %q", tt.login, got, tt.roles)
		}
	}
	for _, login := range []string{strings.Repeat("x", 65), "a\u202eb"} {
		b := newBrowser(t)
		if res, body := b.signIn(s, login, "/new"); res.StatusCode != 403 || !strings.Contains(body, "no name that can be used here") || !strings.Contains(body, `href="/sign-in?return=%2Fnew"`) {
			t.Errorf("%s: got %d %s", login, res.StatusCode, body)
		}
		b.want(s, "")
	}
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	b := newBrowser(t)
	b.signIn(s, "alice", "/")
	kept := b.cookie(s, "frontpage-session")
	post := func(header ...string) (*http.Response, string) {
		req := require.Value(http.NewRequest(http.MethodPost, s.url+"/sign-out", nil))(t)
		for n := 0; n < len(header); n += 2 {
			req.Header.Set(header[n], header[n+1])
		}
		return b.do(req, "")
	}
	for _, foreign := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if res, body := post(foreign...); res.StatusCode != 403 {
			t.Errorf("a page of another site: got %d %s", res.StatusCode, body)
		}
	}
	b.visit(s.url+"/sign-out", "") // a link
	b.want(s, "alice")
	res, body := post("Sec-Fetch-Site", "same-origin")
	if got := res.Header.Get("Clear-Site-Data"); got != `"cache"` {
		t.Errorf("got Clear-Site-Data: %s", got)
	}
	if res.StatusCode != 200 || b.cookie(s, "frontpage-session") != "" {
		t.Fatalf("got %d %s, and the cookie %q", res.StatusCode, body, b.cookie(s, "frontpage-session"))
	}
	b.want(s, "")
	_, at, _ := strings.Cut(body, `<a href="`)
	at, _, _ = strings.Cut(at, `"`)
	at = strings.ReplaceAll(at, "&amp;", "&")
	if !strings.HasPrefix(at, i.url+"/") || !strings.Contains(body, `<meta http-equiv="refresh" content="0; url=`+i.url) {
		t.Fatalf("got %s", body)
	}
	if res, body := b.visit(at, ""); res.Request.URL.String() != s.url+"/" || body != "page /" {
		t.Errorf("signing out at the provider: got %v %s", res.Request.URL, body)
	}
	// The session is gone, not only the cookie.
	thief := newBrowser(t)
	thief.Jar.SetCookies(require.Value(url.Parse(s.url))(t), []*http.Cookie{{Name: "frontpage-session", Value: kept}})
	thief.want(s, "SESSION_ENDED")
	if res, body := post(); res.StatusCode != 200 || body != "page /" {
		t.Errorf("signing out twice: got %d %s", res.StatusCode, body)
	}
}

func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	i, client := startIssuer(t), redistest.Start(t).Client
	one := serve(t, client, i)
	two := serve(t, client, i, func(o *signin.Options) { o.PublicURL = one.url })
	b := newBrowser(t)
	callback := b.begin(one, "alice", "/new")
	b.visit(two.url+callback.RequestURI(), "/new") // a load balancer chose the other process
	b.want(one, "alice")
	b.want(two, "alice")
	stream := two.Stream(`subscription { articlePosted { node { title } } }`, "Cookie", "frontpage-session="+b.cookie(one, "frontpage-session"))
	stream.Comment()
	b.do(require.Value(http.NewRequest(http.MethodPost, one.url+"/sign-out", nil))(t), "")
	b.want(two, "")
	if text, err := stream.Body.ReadString(0); err == nil || strings.Contains(text, "event: ") {
		t.Errorf("got %q, %v, want the end of the stream", text, err)
	}
}

func TestModeratorEndsAllSessionsOfAUser(t *testing.T) {
	t.Parallel()
	i, client := startIssuer(t), redistest.Start(t).Client
	s := serve(t, client, i)
	two := serve(t, client, i, func(o *signin.Options) { o.PublicURL = s.url })
	browsers := map[string]*browser{}
	for name, login := range map[string]string{"at home": "alice", "at work": "alice", "bob": "bob", "mod": "mod+moderator"} {
		browsers[name] = newBrowser(t)
		browsers[name].signIn(s, login, "/")
	}
	end := func(by, name, want string) {
		t.Helper()
		got := browsers[by].ask(s, `mutation { endSessions(input: {name: "`+name+`"}) { user { name } userErrors { code field } } }`)
		if got != `{"data":{"endSessions":`+want+`}}` {
			t.Errorf("%s ends the sessions of %q: got %s", by, name, got)
		}
	}
	stream := two.Stream(`subscription { articlePosted { node { title } } }`, "Cookie", "frontpage-session="+browsers["at home"].cookie(s, "frontpage-session"))
	stream.Comment()
	end("bob", "alice", `{"user":null,"userErrors":[{"code":"FORBIDDEN","field":["name"]}]}`)
	end("mod", " ", `{"user":null,"userErrors":[{"code":"INVALID","field":["name"]}]}`)
	browsers["at home"].want(s, "alice")

	least := math.MaxInt // a process makes others from time to time
	for range 5 {
		s.Trips.Reset()
		browsers["at work"].want(s, "alice")
		n, _ := s.Trips.Read()
		least = min(least, n)
	}
	if least != 1 {
		t.Errorf("got %d round trips to read a session, want 1", least)
	}
	for range 2 { // a user who signed in again is signed out again
		end("mod", "alice", `{"user":{"name":"alice"},"userErrors":[]}`)
		browsers["at home"].want(two, "SESSION_ENDED")
		browsers["at work"].want(s, "SESSION_ENDED")
		browsers["bob"].want(s, "bob")
		browsers["mod"].want(s, "mod")
		browsers["at home"].signIn(s, "alice", "/")
		browsers["at work"].signIn(s, "alice", "/")
		browsers["at home"].want(two, "alice")
	}
	if text, err := stream.Body.ReadString(0); err == nil || strings.Contains(text, "event: ") {
		t.Errorf("got %q, %v, want the end of the stream", text, err)
	}

	// A renewal keeps the mark that the session began with, and one cannot be another user's.
	s.ahead.Add(int64(10 * time.Minute))
	browsers["at work"].want(s, "alice")
	s.renewals(signin.Renewed, 1)
	browsers["at work"].want(s, "alice")
	end("mod", "alice", `{"user":{"name":"alice"},"userErrors":[]}`)
	secret, _, _ := strings.Cut(browsers["at work"].cookie(s, "frontpage-session"), ".")
	_, user, _ := strings.Cut(browsers["bob"].cookie(s, "frontpage-session"), ".")
	for _, id := range []string{secret + "." + user, secret + ".", secret, secret + "." + user + "00"} {
		thief := newBrowser(t)
		thief.Jar.SetCookies(require.Value(url.Parse(s.url))(t), []*http.Cookie{{Name: "frontpage-session", Value: id}})
		thief.want(s, "SESSION_ENDED")
	}
	browsers["at work"].want(s, "SESSION_ENDED")
}
