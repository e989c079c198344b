package signin_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/oauth2"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/identity/signin"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const clientSecret = "the secret of the site"

// program builds the provider for tests, which is a module of its own.
var program = sync.OnceValues(func() (string, error) {
	file := filepath.Join(folder, "oidc")
	out, err := exec.Command("go", "build", "-C", "../../tests/oidc", "-o", file, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return file, err
})

var folder string

func TestMain(m *testing.M) {
	folder = require.Must(os.MkdirTemp("", "frontpage-oidc-"))
	defer func() { _ = os.RemoveAll(folder) }()
	m.Run()
}

// issuer is a provider that runs.
type issuer struct {
	t    *testing.T
	url  string
	stop func()
}

func startIssuer(t *testing.T, address ...string) *issuer {
	t.Helper()
	command := exec.Command(require.Value(program())(t), address...)
	input, output := require.Value(command.StdinPipe())(t), require.Value(command.StdoutPipe())(t)
	require.NoError(t, command.Start())
	stop := sync.OnceFunc(func() { _ = input.Close(); _ = command.Wait() })
	t.Cleanup(stop)
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider did not start: %v", err)
	}
	return &issuer{t, strings.TrimSpace(line), stop}
}

// control changes what the provider does.
func (i *issuer) control(what, value string) string {
	i.t.Helper()
	res := require.Value(http.PostForm(i.url+"/control/"+what, url.Values{"value": {value}}))(i.t)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != 200 {
		i.t.Fatalf("%s: got status %d", what, res.StatusCode)
	}
	return string(require.Value(io.ReadAll(res.Body))(i.t))
}

// idToken signs a user in at a client, and returns the ID token.
func (i *issuer) idToken(client, login string) string {
	i.t.Helper()
	config := oauth2.Config{
		ClientID: client, ClientSecret: clientSecret, RedirectURL: "http://127.0.0.1:1/sign-in/callback", Scopes: []string{"openid", "profile"},
		Endpoint: oauth2.Endpoint{AuthURL: i.url + "/auth", TokenURL: i.url + "/oauth/token"},
	}
	callback := newBrowser(i.t).signInAt(config.AuthCodeURL("state"), login)
	tokens := require.Value(config.Exchange(i.t.Context(), callback.Query().Get("code")))(i.t)
	return tokens.Extra("id_token").(string)
}

// server is a process of a site.
type server struct {
	*sitetest.Site
	users *signin.SignIn
	url   string
	ahead atomic.Int64 // by how much its clock is ahead
	log   *sitetest.Log
}

// serve starts a process. Each change edits the options.
func serve(t *testing.T, client redis.UniversalClient, i *issuer, change ...func(*signin.Options)) *server {
	t.Helper()
	mux := http.NewServeMux()
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	s := &server{url: front.URL, log: &sitetest.Log{}}
	o := signin.Options{
		Issuer: i.url, ClientID: "frontpage", ClientSecret: clientSecret, PublicURL: front.URL, Scopes: []string{"profile", "offline_access"},
		NameClaim: "preferred_username", RolesClaim: "roles", Moderator: "moderator", Lifetime: 24 * time.Hour, ValidName: endpoint.ValidName,
		Client:  func(req *http.Request) netip.Addr { return endpoint.NetworkOf(req, nil) },
		Recheck: 50 * time.Millisecond, Log: s.log.Logger(slog.LevelInfo),
		Now: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
	}
	for _, f := range change {
		f(&o)
	}
	s.users = require.Value(signin.New(t.Context(), o))(t)
	s.Site = sitetest.New(t, client, site.DefaultRules(), func(e *endpoint.Options) {
		e.Identity = require.Value(identity.New(t.Context(), identity.Options{Sessions: s.users.Sessions(), ValidName: endpoint.ValidName}))(t)
	})
	s.users.Use(s.Repo)
	s.users.Handle(mux)
	mux.Handle("/query", s.Handler)
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, "page "+req.URL.RequestURI()) })
	return s
}

func start(t *testing.T, change ...func(*signin.Options)) (*server, *issuer) {
	t.Helper()
	i := startIssuer(t)
	return serve(t, redistest.Start(t).Client, i, change...), i
}

// browser has cookies, and follows redirections as far as a test wants.
type browser struct {
	t *testing.T
	*http.Client
}

func newBrowser(t *testing.T) *browser {
	return &browser{t, &http.Client{Jar: require.Value(cookiejar.New(nil))(t), Timeout: require.Timeout}}
}

// visit follows redirections until a path is asked for, which it does not ask for; empty: to their end.
func (b *browser) visit(address, until string) (*http.Response, string) {
	b.t.Helper()
	return b.do(require.Value(http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil))(b.t), until)
}

func (b *browser) do(req *http.Request, until string) (*http.Response, string) {
	b.t.Helper()
	b.CheckRedirect = func(next *http.Request, _ []*http.Request) error {
		if until != "" && next.URL.Path == until {
			return http.ErrUseLastResponse
		}
		return nil
	}
	res := require.Value(b.Do(req))(b.t)
	defer func() { _ = res.Body.Close() }()
	return res, string(require.Value(io.ReadAll(res.Body))(b.t))
}

var authRequest = regexp.MustCompile(`name="id" value="([^"]*)"`)

// signInAt signs in at the provider, and returns where that sends the browser.
func (b *browser) signInAt(address, login string) *url.URL {
	b.t.Helper()
	res, form := b.visit(address, "")
	found := authRequest.FindStringSubmatch(form)
	if found == nil {
		b.t.Fatalf("the provider shows no form: %s", form)
	}
	body := url.Values{"id": {found[1]}, "username": {login}, "password": {"secret"}}.Encode()
	req := require.Value(http.NewRequest(http.MethodPost, "http://"+res.Request.URL.Host+"/login/username", strings.NewReader(body)))(b.t)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, text := b.do(req, "/sign-in/callback")
	to, err := res.Location()
	if err != nil {
		b.t.Fatalf("the provider does not send the user back: %v: %s", err, text)
	}
	return to
}

// begin signs in up to the moment when the browser comes back to the site.
func (b *browser) begin(s *server, login, to string) *url.URL {
	b.t.Helper()
	return b.signInAt(s.url+signin.Path+"?"+url.Values{"return": {to}}.Encode(), login)
}

// signIn signs in, and returns where the browser is then, and what it shows.
func (b *browser) signIn(s *server, login, to string) (*http.Response, string) {
	b.t.Helper()
	return b.visit(b.begin(s, login, to).String(), "")
}

// ask sends a query as a page of the site does, and returns the body of the answer.
func (b *browser) ask(s *server, query string) string {
	b.t.Helper()
	req := require.Value(http.NewRequest(http.MethodPost, s.url+"/query", strings.NewReader(fmt.Sprintf(`{"query":%q}`, query))))(b.t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", s.url)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	_, body := b.do(req, "")
	return body
}

// viewer returns the name of who is signed in; or the code of the refusal.
func (b *browser) viewer(s *server) string {
	b.t.Helper()
	body := b.ask(s, `{ viewer { name } }`)
	if found := regexp.MustCompile(`"(?:name|code)":"([^"]*)"`).FindStringSubmatch(body); found != nil {
		return found[1]
	}
	if body != `{"data":{"viewer":null}}` {
		b.t.Fatal(body)
	}
	return ""
}

func (b *browser) want(s *server, name string) {
	b.t.Helper()
	if got := b.viewer(s); got != name {
		b.t.Fatalf("got the viewer %q, want %q", got, name)
	}
}

// cookie returns the value of a cookie; empty: it has none.
func (b *browser) cookie(s *server, name string) string {
	for _, c := range b.Jar.Cookies(require.Value(url.Parse(s.url))(b.t)) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}
