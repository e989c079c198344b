package program_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"frontpage/tests/programtest"
	"frontpage/tests/require"
)

const (
	testSecret  = "open-sesame-0123456789-0123456789-abcdef"
	auditSecret = "audit-sesame-0123456789-0123456789-abcde"
	// The example of RFC 7517, Appendix A.1.
	testKeys = `{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","kid":"1"}]}`
)

const (
	isAlice     = `{"data":{"viewer":{"name":"alice"}}}`
	isAnonymous = `{"data":{"viewer":null}}`
)

// signs are the texts by which the log names each sign-in mode.
var signs = []string{"development mode", "tokens signed with a shared secret", "tokens signed with a key from", "of a trusted proxy", "users sign in with the site"}

// The log names exactly one sign-in mode. No response, log line or help text contains a secret.
func TestLogNamesTheSignInModeAndNoSecret(t *testing.T) {
	t.Parallel()
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, testKeys) }))
	t.Cleanup(issuer.Close)
	for name, tt := range map[string]struct {
		env    []string
		sign   string
		header []string // authenticates alice; nil if the test has no credentials for this mode
	}{
		"development":             {nil, signs[0], []string{"X-User-ID", "alice"}},
		"a secret":                {[]string{"FRONTPAGE_JWT_SECRET=" + testSecret}, signs[1], []string{"Authorization", "Bearer " + tokenFor("alice")}},
		"a secret's file":         {[]string{"FRONTPAGE_JWT_SECRET_FILE=" + fileOf(t, testSecret+"\n")}, signs[1], []string{"Authorization", "Bearer " + tokenFor("alice")}},
		"keys":                    {[]string{"FRONTPAGE_JWKS=" + fileOf(t, testKeys), "FRONTPAGE_JWT_ISSUER=i", "FRONTPAGE_JWT_AUDIENCE=a,b"}, signs[2], nil},
		"keys by URL":             {[]string{"FRONTPAGE_JWKS=" + issuer.URL, "FRONTPAGE_JWT_ISSUER=i", "FRONTPAGE_JWT_AUDIENCE=a"}, signs[2], nil},
		"a proxy":                 {[]string{"FRONTPAGE_PROXY_USER_HEADER=X-Forwarded-User", "FRONTPAGE_TRUSTED_PROXIES=127.0.0.0/8"}, signs[3], []string{"X-Forwarded-User", "alice"}},
		"a provider that is away": {[]string{"FRONTPAGE_OIDC_ISSUER=http://127.0.0.1:1", "FRONTPAGE_OIDC_CLIENT_ID=x", "FRONTPAGE_OIDC_CLIENT_SECRET=" + testSecret, "FRONTPAGE_PUBLIC_URL=https://news.example.org"}, signs[4], nil},
		"a secret, as JSON":       {[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_LOG_FORMAT=json", "FRONTPAGE_LOG_LEVEL=debug"}, signs[1], nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := append([]string{"REDIS_URL=memory://", "FRONTPAGE_LOG_LEVEL=debug", "FRONTPAGE_AUDIT_SECRET=" + auditSecret}, tt.env...)
			if strings.Contains(name, "JSON") {
				out, err := programtest.Command(t, append(env, "FRONTPAGE_ADDR=nonsense")).CombinedOutput()
				if err == nil || strings.Contains(string(out), "sesame") {
					t.Errorf("an invalid setting with a JSON log: %v, want an error without a secret: %s", err, out)
				}
				return
			}
			s := start(t, env...)
			said := ""
			if tt.header != nil {
				if _, body := s.whoAmI(http.DefaultClient, tt.header...); body != isAlice {
					t.Errorf("the viewer is %s, want alice", body)
				}
			}
			for _, header := range [][]string{nil, {"Authorization", "Bearer x.y.z"}, {"Authorization", "Bearer " + tokenFor("eve") + "x"}, {"X-User-ID", strings.Repeat("u", 65)}, {"X-Forwarded-User", " "}} {
				_, body := s.whoAmI(http.DefaultClient, header...)
				said += body
			}
			for _, path := range []string{"/", "/healthz", "/readyz", "/query", "/query?query={__schema{types{name}}}", "/debug/vars", "/metrics", "/.env"} {
				res := require.Value(http.Get(s.URL + path))(t)
				body, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				said += string(body) + fmt.Sprint(res.Header)
			}
			log := s.Stop()
			var named []string
			for _, sign := range signs {
				if strings.Contains(log, sign) {
					named = append(named, sign)
				}
			}
			if len(named) != 1 || named[0] != tt.sign {
				t.Errorf("the log names %q, want %q:\n%s", named, tt.sign, log)
			}
			if all := said + log; strings.Contains(all, "sesame") || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(testSecret))) {
				t.Errorf("the output contains a secret:\n%s", all)
			}
		})
	}
	out, err := programtest.Command(t, []string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_AUDIT_SECRET=" + auditSecret, "REDIS_URL=redis://u:open-sesame@127.0.0.1:1"}, "--help").CombinedOutput()
	if err != nil || strings.Contains(string(out), "sesame") || !strings.Contains(string(out), "FRONTPAGE_JWT_SECRET") {
		t.Errorf("%v: the help contains a secret, or lacks a setting:\n%s", err, out)
	}
}

// In development mode the server refuses to listen on an address that others can reach.
func TestOtherMachinesCanConnectOnlyWithSignIn(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		invalid{[]string{"FRONTPAGE_ADDR=" + addr}, "addr", []string{"FRONTPAGE_JWT_SECRET"}}.check(t, 2)
		invalid{[]string{"FRONTPAGE_ADDR=" + addr, "FRONTPAGE_JWT_SECRET=" + testSecret}, "public-url", []string{"https://"}}.check(t, 2)
		s := start(t, "REDIS_URL=memory://", "FRONTPAGE_ADDR="+addr, "FRONTPAGE_JWT_SECRET="+testSecret, "FRONTPAGE_PUBLIC_URL=https://news.example.org")
		for _, host := range []string{"", "frontpage.example", "192.0.2.1:8080"} {
			header := []string{"Authorization", "Bearer " + tokenFor("alice")}
			if host != "" {
				header = append(header, "Host", host)
			}
			if res, body := s.whoAmI(http.DefaultClient, header...); res.StatusCode != 200 || body != isAlice {
				t.Errorf("%s with the Host %q: status %d, %s, want alice", addr, host, res.StatusCode, body)
			}
		}
		if res, body := s.whoAmI(http.DefaultClient, "X-User-ID", "alice"); res.StatusCode != 200 || body != isAnonymous {
			t.Errorf("%s with the header of development mode: status %d, %s, want an anonymous caller", addr, res.StatusCode, body)
		}
		if res, body := s.whoAmI(http.DefaultClient, "Authorization", "Bearer x"); res.StatusCode != 401 || !strings.Contains(body, "TOKEN_INVALID") {
			t.Errorf("%s with an invalid token: status %d, %s, want 401 and TOKEN_INVALID", addr, res.StatusCode, body)
		}
		s.Stop()
	}
}

// No client can have a page, a feed or the sitemap made for a host that is not the site's, which a cache would keep. The API
// answers to any host and repeats none; probes come by address.
func TestOtherHostsGetNoPages(t *testing.T) {
	t.Parallel()
	const evil = "evil.example"
	for _, tt := range []struct {
		env   []string
		hosts map[string]bool
	}{
		{nil, map[string]bool{"localhost:8080": true, "127.0.0.1": true, evil: false, "news.example.org": false}},
		{
			[]string{"FRONTPAGE_PUBLIC_URL=https://News.example.org:8443"},
			map[string]bool{"localhost": true, "news.example.org": true, "NEWS.example.org.:443": true, evil: false, "www.news.example.org": false, "192.0.2.1:8080": false},
		},
	} {
		s := start(t, append(tt.env, "REDIS_URL=memory://", "FRONTPAGE_DATA_DIR="+t.TempDir(), "FRONTPAGE_JWT_SECRET="+testSecret)...)
		for host, known := range tt.hosts {
			for _, path := range []string{"/", "/new", "/feed.atom", "/sitemap.xml", "/robots.txt", "/signin", "/graphiql", "/assets/site.js"} {
				status, body := s.askHost(host, path)
				if known != (status == http.StatusOK) || !known && status != http.StatusMisdirectedRequest || strings.Contains(body, evil) {
					t.Errorf("%v: %s of the Host %s: status %d, %.200s", tt.env, path, host, status, body)
				}
			}
			for _, path := range []string{"/healthz", "/readyz", "/query?query={site{signInUrl}}"} {
				if status, body := s.askHost(host, path); status != http.StatusOK || strings.Contains(body, host) {
					t.Errorf("%v: %s of the Host %s: status %d, %s", tt.env, path, host, status, body)
				}
			}
		}
		s.Stop()
	}
}

// askHost sends a GET with the header Host.
func (s *server) askHost(host, path string) (status int, body string) {
	s.t.Helper()
	req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+path, nil))(s.t)
	req.Host = host
	res := require.Value(http.DefaultClient.Do(req))(s.t)
	defer func() { _ = res.Body.Close() }()
	content := require.Value(io.ReadAll(res.Body))(s.t)
	return res.StatusCode, string(content)
}

// A foreign page whose host name resolves to this machine gets no response from the API (DNS rebinding).
func TestDevelopmentModeRejectsForeignHostNames(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://")
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:" + port: 200, "127.0.0.1": 200, "127.0.0.1:1": 200, "127.8.8.8": 200, "[::1]": 200, "[::1]:" + port: 200, "site.localhost:3000": 200,
		"evil.example": 421, "evil.example:" + port: 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:" + port: 421, "notlocalhost": 421,
		"192.0.2.1": 421, "0.0.0.0:" + port: 421, "[::]": 421, "[2001:db8::1]:" + port: 421, "localhost@evil.example": 421,
	} {
		if res, body := s.whoAmI(http.DefaultClient, "Host", host, "X-User-ID", "alice"); res.StatusCode != want || want == 421 && strings.Contains(body, "data") {
			t.Errorf("the Host %s: status %d, %s, want %d", host, res.StatusCode, body, want)
		}
	}
	for _, path := range []string{"/", "/feed.atom", "/query?query={__typename}"} {
		for _, upgrade := range []bool{false, true} {
			req := require.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil))(t)
			req.Host = "evil.example"
			if upgrade {
				for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Origin": "http://evil.example"} {
					req.Header.Set(name, value)
				}
			}
			res := require.Value(http.DefaultClient.Do(req))(t)
			_ = res.Body.Close()
			if res.StatusCode != 421 {
				t.Errorf("%s (WebSocket handshake: %v): status %d, want 421", path, upgrade, res.StatusCode)
			}
		}
	}
	s.Stop()
}
