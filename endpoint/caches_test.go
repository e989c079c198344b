package endpoint_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// The answer to an anonymous GET that is the same for all callers is public, says nothing about this caller, and has a
// tag that is answered with 304.
func TestAnswersForAllArePublic(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sharing, func(o *endpoint.Options) {
		o.MaxAge, o.Origins = 7*time.Second, []string{"https://friend.example"}
		o.Rates = endpoint.Rates{Cost: endpoint.Rate{Most: 100_000, Window: time.Hour}, Addresses: 1}
	})
	s.PostMany("alice", 25)
	page := "?query=" + url.QueryEscape(frontPage)
	get := func(method string, header ...string) *http.Response {
		t.Helper()
		target, sent := page, ""
		if method == "QUERY" {
			target, sent, header = "", fmt.Sprintf(`{"query":%q}`, frontPage), append(header, "Content-Type", "application/json")
		}
		res, body := s.Send(method, target, sent, header...)
		if got := res.Header; got.Get("Cache-Control") != "public, max-age=7" || !strings.HasPrefix(got.Get("ETag"), `W/"`) || got.Get("RateLimit") != "" || got.Get("RateLimit-Policy") != "" ||
			fmt.Sprint(got["Vary"]) != "[Accept, X-User-ID, X-User-Roles, X-On-Behalf-Of, Accept-Encoding, Origin]" {
			t.Errorf("%s %v: got %v %.100s, want it public, with a tag, without quotas, and Vary in one line", method, header, got, body)
		}
		if bare := method == http.MethodHead || res.StatusCode == 304; bare != (body == "") {
			t.Errorf("%s %v: got status %d and %.100q", method, header, res.StatusCode, body)
		}
		return res
	}
	tag := get("GET").Header.Get("ETag")
	for name, header := range map[string][]string{"gzip": {"Accept-Encoding", "gzip"}, "zstd": {"Accept-Encoding", "zstd"}, "": {}} {
		if res := get("GET", header...); res.StatusCode != 200 || res.Header.Get("Content-Encoding") != name || res.Header.Get("ETag") != tag {
			t.Errorf("%q: got %d %v, want the tag %s", name, res.StatusCode, res.Header, tag)
		}
		for _, match := range []string{tag, "*", `"x", ` + tag, strings.TrimPrefix(tag, "W/")} {
			if res := get("GET", append(header, "If-None-Match", match)...); res.StatusCode != 304 || res.Header.Get("Content-Type") != "" || res.Header.Get("ETag") != tag {
				t.Errorf("%q, If-None-Match %s: got %d %v, want 304 and the tag", name, match, res.StatusCode, res.Header)
			}
		}
	}
	if res := get("HEAD"); res.StatusCode != 200 || res.Header.Get("ETag") != tag {
		t.Errorf("HEAD: got %d %v, want 200 and the tag", res.StatusCode, res.Header)
	}
	if res := get("QUERY"); res.StatusCode != 200 || res.Header.Get("ETag") != tag {
		t.Errorf("QUERY: got %d %v, want 200 and the tag", res.StatusCode, res.Header)
	}
	if res := get("QUERY", "If-None-Match", tag); res.StatusCode != 304 {
		t.Errorf("QUERY, If-None-Match: got %d %v, want 304", res.StatusCode, res.Header)
	}
	if res, _ := s.Send("QUERY", "", fmt.Sprintf(`{"query":%q}`, frontPage), "Content-Type", "application/json", "X-User-ID", "alice"); res.Header.Get("Cache-Control") != "private, no-store" {
		t.Errorf("QUERY by alice: got %v, want private, no-store", res.Header)
	}
	s.Vote("bob", "article:1", "UP")
	if res := get("GET", "If-None-Match", tag); res.StatusCode != 200 || res.Header.Get("ETag") == tag {
		t.Errorf("after a vote: got %d %v, want another answer and tag", res.StatusCode, res.Header)
	}
	off := sitetest.New(t, s.Client, site.DefaultRules(), func(o *endpoint.Options) { o.MaxAge = 0 })
	if res, _ := off.Get(frontPage); res.Header.Get("Cache-Control") != "private, no-store" || res.Header.Get("ETag") != "" {
		t.Errorf("without MaxAge: got %v, want private, no-store", res.Header)
	}
}

// cached starts nginx with the configuration of docs/caching.md, and returns its URL.
func cached(t *testing.T, server string) string {
	t.Helper()
	document := string(require.Value(os.ReadFile("../docs/caching.md"))(t))
	_, config, _ := strings.Cut(document, "```nginx\n")
	config, _, _ = strings.Cut(config, "```")
	address, folder := freeAddress(t), t.TempDir()
	replaced := strings.NewReplacer("/var/cache/nginx/frontpage", folder+"/cache", "listen 80;", "listen "+address+";", "http://127.0.0.1:8080", server).Replace(config)
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		replaced = fmt.Sprintf("%s_temp_path %s/%s;\n", name, folder, name) + replaced
	}
	file := filepath.Join(folder, "nginx.conf")
	config = fmt.Sprintf("daemon off;\nmaster_process off;\npid %s/pid;\nerror_log %s/log;\nevents { worker_connections 8192; }\nhttp {\naccess_log off;\n%s}\n", folder, folder, replaced)
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	return proxied(t, address, "nginx", "-e", folder+"/log", "-c", file)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	free := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = free.Close() }()
	return free.Addr().String()
}

// proxied starts a program that serves at an address until the test ends, and returns its URL.
func proxied(t *testing.T, address, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/usr/sbin/" + name // not on the PATH of every user
	}
	var output bytes.Buffer
	program := exec.Command(path, args...)
	program.Stdout, program.Stderr = &output, &output
	if err := program.Start(); err != nil {
		t.Fatalf("%s, a package of Debian, is needed: %v", name, err)
	}
	t.Cleanup(func() {
		_ = program.Process.Signal(syscall.SIGTERM) // a killed varnishd leaves its child
		_ = program.Wait()
		if t.Failed() {
			t.Logf("%s: %s", name, output.String())
		}
	})
	require.Eventually(t, name+" accepts connections", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + address
}

// Caches that do not know QUERY pass it on: each body gets its own answer, and no GET of the same URL gets it.
func TestCachesKeepNoAnswerToAQUERY(t *testing.T) {
	t.Parallel()
	var reached sync.Map // number of requests by method
	count := func(method string) *atomic.Int64 {
		n, _ := reached.LoadOrStore(method, new(atomic.Int64))
		return n.(*atomic.Int64)
	}
	s := sitetest.NewOn(t, func(server *http.Server) {
		next := server.Handler
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			count(req.Method).Add(1)
			next.ServeHTTP(w, req)
		})
	}, redistest.Start(t).Client, site.DefaultRules(), sharing, func(o *endpoint.Options) { o.MaxAge = time.Hour })
	host, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for name, start := range map[string]func(address, folder string) string{
		"nginx": func(string, string) string { return cached(t, "http://"+host+":"+port) },
		"varnishd": func(address, folder string) string {
			file := filepath.Join(folder, "frontpage.vcl")
			require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "vcl 4.1;\nbackend default { .host = %q; .port = %q; }\nsub vcl_backend_response { set beresp.grace = 0s; }\n", host, port), 0o600))
			return proxied(t, address, "varnishd", "-F", "-n", folder, "-j", "none", "-a", address, "-f", file, "-s", "malloc,8m")
		},
		"haproxy": func(address, folder string) string {
			file := filepath.Join(folder, "haproxy.cfg")
			require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "defaults\n mode http\n timeout connect 5s\n timeout client 1m\n timeout server 1m\ncache site\n total-max-size 8\n max-age 3600\n"+
				"listen site\n bind %s\n http-request cache-use site\n http-response cache-store site\n server site %s:%s\n", address, host, port), 0o600))
			return proxied(t, address, "haproxy", "-db", "-f", file)
		},
	} {
		s.URL = start(freeAddress(t), t.TempDir())
		count("GET").Store(0)
		count("QUERY").Store(0)
		for i := range 12 {
			for _, target := range []string{"", "?query={__typename}"} {
				alias := fmt.Sprint("a", i%3)
				res, body := s.Send("QUERY", target, `{"query":"{`+alias+`:__typename}"}`, "Content-Type", "application/json")
				if want := `{"data":{"` + alias + `":"Query"}}`; body != want || !strings.HasPrefix(res.Header.Get("Cache-Control"), "public") {
					t.Errorf("%s, QUERY %s: got %v %s, want %s", name, target, res.Header, body, want)
				}
			}
			if _, body := s.Send("GET", "?query={__typename}", ""); body != `{"data":{"__typename":"Query"}}` {
				t.Errorf("%s, GET: got %s", name, body)
			}
		}
		wantGET := map[string]int64{"nginx": 1, "varnishd": 1, "haproxy": 12}[name] // HAProxy keeps nothing with this Vary
		if gets, queries := count("GET").Load(), count("QUERY").Load(); gets != wantGET || queries != 24 {
			t.Errorf("%s: %d GET and %d QUERY reached the server, want %d and all 24", name, gets, queries, wantGET)
		}
	}
}

// Many callers read through nginx. It answers all equal anonymous requests but the first, no caller gets an
// answer for another or in a coding that it does not accept, and writes reach their own callers at once.
func TestCallersGetTheirOwnAnswersThroughACache(t *testing.T) {
	t.Parallel()
	var anonymous atomic.Int64 // requests for the page that reached the server
	s := sitetest.NewOn(t, func(server *http.Server) {
		next := server.Handler
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("X-User-ID") == "" && req.URL.Query().Get("query") == frontPage {
				anonymous.Add(1)
			}
			next.ServeHTTP(w, req)
		})
	}, redistest.Start(t).Client, site.DefaultRules(), sharing, func(o *endpoint.Options) {
		o.MaxAge, o.Origins = time.Hour, []string{"https://friend.example"}
		o.MaxConcurrent = 0 // a busy machine refuses no request
	})
	s.PostMany("alice", 25)
	_, page := s.Get(frontPage)
	anonymous.Store(0)
	s.URL = cached(t, s.URL)
	get := func(query string, header ...string) (*http.Response, string) {
		res, body := s.Get(query, header...)
		if res.Header.Get("Content-Encoding") == "gzip" {
			body = string(require.Value(io.ReadAll(require.Value(gzip.NewReader(strings.NewReader(body)))(t)))(t))
		}
		return res, body
	}
	const own = `{ viewer { name } article(id: 1) { viewerVote } }`
	ask := func(i int) (cached string) {
		coding, origin := []string{"gzip", "identity"}[i%2], []string{"", "https://friend.example", "https://foe.example"}[i/2%3]
		res, body := get(frontPage, "Accept-Encoding", coding, "Origin", origin)
		allowed := map[bool]string{true: origin}[origin == "https://friend.example"]
		if body != page || (res.Header.Get("Content-Encoding") == "gzip") != (coding == "gzip") || res.Header.Get("Access-Control-Allow-Origin") != allowed {
			t.Errorf("%q from %q: got %v %.200s", coding, origin, res.Header, body)
		}
		return res.Header.Get("X-Cache")
	}
	for i := range 6 {
		ask(i)
	}
	var all sync.WaitGroup
	for i := range 240 {
		all.Go(func() {
			if cached := ask(i); cached != "HIT" {
				t.Errorf("got %s, want that the cache has the page", cached)
			}
		})
		user := []string{"alice", "bob", ""}[i%3]
		all.Go(func() {
			want := map[string]string{
				"alice": `{"data":{"viewer":{"name":"alice"},"article":{"viewerVote":"UP"}}}`, "bob": `{"data":{"viewer":{"name":"bob"},"article":{"viewerVote":"NONE"}}}`,
				"": `{"data":{"viewer":null,"article":{"viewerVote":null}}}`,
			}[user]
			if res, body := get(own, "X-User-ID", user); body != want || res.Header.Get("X-Cache") == "HIT" {
				t.Errorf("by %q: got %s %s, want %s", user, res.Header.Get("X-Cache"), body, want)
			}
			if res, body := get(frontPage, "X-User-ID", user, "Accept-Encoding", "gzip"); body != page || (res.Header.Get("X-Cache") == "HIT") && user != "" {
				t.Errorf("the page by %q: got %v %.200s", user, res.Header, body)
			}
		})
	}
	all.Wait()
	if n := anonymous.Load(); n != 6 {
		t.Errorf("got %d anonymous requests for the page at the server, want one for each of 6 variants", n)
	}
	// A user who votes sees the vote in the next answer, also where an anonymous caller still gets the kept one.
	s.Vote("bob", "article:1", "UP")
	if _, body := get(frontPage, "X-User-ID", "bob", "Accept-Encoding", "gzip"); body == page || !strings.Contains(body, `"votes":2`) {
		t.Errorf("after a vote by bob: got %.200s, want it to show the vote", body)
	}
	if res, body := get(frontPage, "Accept-Encoding", "gzip"); res.Header.Get("X-Cache") != "HIT" || body != page {
		t.Errorf("anonymous: got %s %.200s, want the kept page", res.Header.Get("X-Cache"), body)
	}
}
