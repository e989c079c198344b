package web_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"frontpage/site/web"
	"frontpage/tests/require"
)

var everything = web.Options{Site: true, Explorer: true}

const (
	sitePage     = `<div id="app">`
	explorerPage = `<div id="explorer">`
)

// client sends requests to a server, and neither decodes responses nor follows redirects.
type client struct {
	t      *testing.T
	server *httptest.Server
}

func serve(t *testing.T, o web.Options) client {
	t.Helper()
	server := httptest.NewServer(web.Handler(o))
	t.Cleanup(server.Close)
	httpClient := server.Client()
	httpClient.Transport.(*http.Transport).DisableCompression = true
	httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client{t, server}
}

type response struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request with headers, given as alternating names and values.
func (c client) do(method, path string, headers ...string) response {
	c.t.Helper()
	req := require.Value(http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, nil))(c.t)
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Add(pair[0], pair[1])
	}
	res := require.Value(c.server.Client().Do(req))(c.t)
	defer func() { _ = res.Body.Close() }()
	body := require.Value(io.ReadAll(res.Body))(c.t)
	return response{res.StatusCode, res.Header, body}
}

func (c client) get(path string, headers ...string) response {
	c.t.Helper()
	return c.do(http.MethodGet, path, headers...)
}

// contentTypes are the expected types of all served files.
var contentTypes = map[string]string{
	".css":         "text/css; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".md":          "text/plain; charset=utf-8",
	".png":         "image/png",
	".svg":         "image/svg+xml",
	".ttf":         "font/ttf",
	".txt":         "text/plain; charset=utf-8",
	".webmanifest": "application/manifest+json",
	".woff":        "font/woff",
	".woff2":       "font/woff2",
}

// built returns the files of dist, except the pages, by the paths at which they are served.
func built(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for folder, prefix := range map[string]string{"dist/site": "", "dist/graphiql": "/graphiql"} {
		require.NoError(t, filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() == "index.html" {
				return err
			}
			content, err := os.ReadFile(name)
			files[prefix+strings.TrimPrefix(filepath.ToSlash(name), folder)] = content
			return err
		}))
	}
	return files
}

func TestAllFilesAreServed(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	for path, content := range built(t) {
		got := c.get(path)
		if got.status != http.StatusOK || !bytes.Equal(got.body, content) {
			t.Errorf("%s: status %d and %d bytes, want the %d of the file", path, got.status, len(got.body), len(content))
		}
		if have, want := got.header.Get("Content-Type"), contentTypes[filepath.Ext(path)]; have != want || want == "" {
			t.Errorf("%s: Content-Type is %q, want %q", path, have, want)
		}
		if have := got.header.Get("X-Content-Type-Options"); have != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", path, have)
		}
		if have := got.header.Values("Content-Security-Policy"); len(have) != 1 || have[0] != "default-src 'none'" {
			t.Errorf("%s: Content-Security-Policy is %q", path, have)
		}
		// The explorer's assets, the scripts after the first have a hash in their names, the others have not.
		cached, hashed := got.header.Get("Cache-Control"), strings.HasPrefix(path, "/graphiql/assets/") || path == secondScript(t) || path == thirdScript(t) || path == fourthScript(t) || path == script(t, "lab") || path == script(t, "typed")

		if strings.Contains(cached, "immutable") != hashed || !hashed && cached != "no-cache" {
			t.Errorf("%s: Cache-Control is %q", path, cached)
		}
	}
}

var (
	references = regexp.MustCompile(`\s(?:src|href|srcset|action|poster|data)="([^"]*)"`)
	styleURLs  = regexp.MustCompile(`url\(\s*["']?([^"')]*)|@import\s+["']([^"']*)`)
)

// inline returns the sources of the page's inline scripts or styles, as its Content-Security-Policy must name them.
func inline(page, element string) string {
	sources := ""
	for _, match := range regexp.MustCompile("(?s)<"+element+">(.*?)</"+element+">").FindAllStringSubmatch(page, -1) {
		digest := sha256.Sum256([]byte(match[1]))
		sources += " 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
	}
	return sources
}

// Each page is complete without the other one, and references no other origins.
func TestPagesReferenceServedFiles(t *testing.T) {
	t.Parallel()
	for page, o := range map[string]web.Options{"/": {Site: true}, "/graphiql": {Explorer: true}} {
		c := serve(t, o)
		text := string(c.get(page).body)
		found := references.FindAllStringSubmatch(text, -1)
		if len(found) < 3 {
			t.Errorf("%s references %d files, want at least an icon, a script and a style", page, len(found))
		}
		for _, match := range found {
			if strings.HasPrefix(match[1], "/feed.") || match[1] == "/" {
				continue // not a file: see package feeds, and the front page
			}
			if !strings.HasPrefix(match[1], "/") || strings.HasPrefix(match[1], "//") {
				t.Errorf("%s references %q, want a path", page, match[1])
				continue
			}
			got := c.get(match[1])
			if want := contentTypes[filepath.Ext(match[1])]; got.status != http.StatusOK || got.header.Get("Content-Type") != want {
				t.Errorf("%s references %s: status %d and type %q, want 200 and %q", page, match[1], got.status, got.header.Get("Content-Type"), want)
			}
		}
		if strings.Contains(text, " style=") || strings.Contains(text, " onclick=") {
			t.Errorf("%s has an attribute that its Content-Security-Policy blocks", page)
		}
	}
}

func TestStylesReferenceServedFiles(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	for name, content := range built(t) {
		if path.Ext(name) != ".css" {
			continue
		}
		for _, match := range styleURLs.FindAllStringSubmatch(string(content), -1) {
			target := match[1] + match[2]
			switch {
			case strings.HasPrefix(target, "data:image/"), strings.HasPrefix(target, "#"):
			case strings.Contains(target, ":"), strings.HasPrefix(target, "//"):
				t.Errorf("%s loads %q", name, target)
			default:
				if !strings.HasPrefix(target, "/") {
					target = path.Join(path.Dir(name), target)
				}
				target, _, _ = strings.Cut(target, "?")
				if got := c.get(target); got.status != http.StatusOK {
					t.Errorf("%s loads %s: status %d", name, target, got.status)
				}
			}
		}
	}
}

func TestLicensesListAllPackages(t *testing.T) {
	t.Parallel()
	for path, names := range map[string][]string{
		"/licenses.md":          {"preact", "@urql/core", "graphql-ws"},
		"/graphiql/licenses.md": {"graphiql", "monaco-editor", "react-dom", "Roboto", "Fira Code"},
	} {
		text := string(built(t)[path])
		for _, name := range names {
			if !strings.Contains(text, name) {
				t.Errorf("%s does not list %s", path, name)
			}
		}
	}
}

// The page of an unknown path is compressed as others are.
func TestMissingPagesAreCompressed(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	plain, zipped := c.get("/nothing"), c.get("/nothing", "Accept-Encoding", "gzip")
	if zipped.status != http.StatusNotFound || zipped.header.Get("Content-Encoding") != "gzip" || 2*len(zipped.body) > len(plain.body) {
		t.Errorf("status %d, %q, %d bytes, want 404, gzip and at most half of %d", zipped.status, zipped.header.Get("Content-Encoding"), len(zipped.body), len(plain.body))
	}
	unpacked := require.Value(io.ReadAll(require.Value(gzip.NewReader(bytes.NewReader(zipped.body)))(t)))(t)
	if !bytes.Equal(unpacked, plain.body) {
		t.Error("the compressed page differs")
	}
	if head := c.do(http.MethodHead, "/nothing"); head.status != http.StatusNotFound || len(head.body) > 0 {
		t.Errorf("HEAD: status %d with %d bytes", head.status, len(head.body))
	}
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	const none = "404 page not found\n"
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		// Package pages serves the other pages of the site.
		{"/", 200, sitePage},
		{"/?after=x", 200, sitePage},

		{"/graphiql", 200, explorerPage},
		{"/graphiql/", 200, explorerPage},

		{"/nothing", 404, sitePage},
		{"/New", 404, sitePage},
		{"/new/", 404, sitePage},
		{"/g", 404, sitePage},
		{"/g/go/old", 404, sitePage},
		{"/a", 404, sitePage},
		{"/a/+1", 404, sitePage},
		{"/a/%EF%BC%91", 404, sitePage}, // a full-width digit
		{"/top", 404, sitePage},
		{"/assets", 404, sitePage},
		{"/assets/", 404, sitePage},
		{"/graphiqls", 404, sitePage},
		{"/graphiql/nothing", 404, sitePage},
		{"/graphiql/assets/", 404, sitePage},

		{"/nothing.js", 404, none},
		{"/favicon.ico", 404, none},
		{"/index.html", 404, none},
		{"/digest.txt", 404, none},
		{"/web.go", 404, none},
		{"/assets/nothing.css", 404, none},
		{"/assets/site.js.map", 404, none},
		{"/assets/Site.js", 404, none},
		{"/graphiql/index.html", 404, none},
		{"/graphiql/assets/site.js", 404, none},
	} {
		got := c.get(tt.path)
		if got.status != tt.status || !strings.Contains(string(got.body), tt.want) {
			t.Errorf("%s: status %d, want %d with %q, in\n%.300s", tt.path, got.status, tt.status, tt.want, got.body)
		}
		if have := got.header.Get("X-Content-Type-Options"); have != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", tt.path, have)
		}
		if have := got.header.Get("Cache-Control"); tt.want != none && have != "no-cache" {
			t.Errorf("%s: Cache-Control is %q", tt.path, have)
		}
	}
}

func TestConfigurationNamesWhatTheRulesLeaveOut(t *testing.T) {
	t.Parallel()
	c := serve(t, web.Options{Site: true, Without: []string{"lab", "past", "top", "votes"}})
	if content := string(c.get("/config.json").body); !strings.Contains(content, `"without":["lab","past","top","votes"]`) {
		t.Errorf("the configuration does not name what the site leaves out: %.300s", content)
	}
}

func TestNoFileOutsideDistIsServed(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	for _, path := range []string{
		"/../go.mod",
		"/../../go.mod",
		"/assets/../../../go.mod",
		"/assets/..%2findex.html",
		"/assets/..%2f..%2f..%2fgo.mod",
		"/assets/%2e%2e/%2e%2e/web.go",
		"/..%2fdigest.txt",
		"/../digest.txt",
		"/graphiql/../digest.txt",
		"/graphiql/..%2f..%2fdigest.txt",
		"/graphiql/../site/index.html",
		`/..\digest.txt`,
		"/%5c..%5cdigest.txt",
		"/assets%00/../digest.txt",
		"//etc/passwd",
		"//evil.example/..",
		"/%2fetc%2fpasswd",
		"/assets/site.js/",
		"/assets/site.js%00.css",
	} {
		got := c.get(path)
		switch {
		case got.status == http.StatusNotFound || got.status == http.StatusBadRequest:
		case got.status/100 == 3:
			if to := got.header.Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, `/\`) {
				t.Errorf("%s: redirected to %q", path, to)
			}
		default:
			t.Errorf("%s: status %d with\n%.200s", path, got.status, got.body)
		}
		for _, secret := range []string{"module frontpage", "package web", "root:", strings.TrimSpace(string(readFile(t, "dist/digest.txt")))} {
			if bytes.Contains(got.body, []byte(secret)) {
				t.Errorf("%s discloses %q", path, secret)
			}
		}
	}
}

func TestOnlyGetAndHeadAreAllowed(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	for _, path := range []string{"/", "/g/go", "/nothing", "/icon.svg", "/graphiql", "/graphiql/licenses.md"} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			got := c.do(method, path)
			if have := got.header.Get("Allow"); got.status != http.StatusMethodNotAllowed || have != "GET, HEAD" {
				t.Errorf("%s %s: status %d and Allow %q, want 405 and GET, HEAD", method, path, got.status, have)
			}
		}
		get, head := c.get(path), c.do(http.MethodHead, path)
		for _, h := range []http.Header{get.header, head.header} {
			h.Del("Date")
			h.Del("Content-Length") // not computed for HEAD of an error page
		}
		if head.status != get.status || len(head.body) != 0 || !equalHeaders(head.header, get.header) {
			t.Errorf("HEAD %s: status %d, %d bytes and %v, want as for GET: %d, none and %v", path, head.status, len(head.body), head.header, get.status, get.header)
		}
	}
}

func equalHeaders(a, b http.Header) bool {
	names := func(h http.Header) (lines []string) {
		for name, values := range h {
			lines = append(lines, name+": "+strings.Join(values, "|"))
		}
		slices.Sort(lines)
		return lines
	}
	return slices.Equal(names(a), names(b))
}

func TestFilesAreCompressedIfAccepted(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	for _, tt := range []struct {
		accepts string
		want    bool
	}{
		{"gzip", true},
		{"GZIP", true},
		{"gzip, deflate, br, zstd", true},
		{"br,gzip", true},
		{"deflate, gzip;q=1.0, *;q=0.5", true},
		{"gzip; q=0.001", true},
		{"gzip ; q=0.5", true},
		{"br;q=0, gzip", true},
		{"", false},
		{"identity", false},
		{"br, deflate", false},
		{"xgzip, gzipx", false},
		{"gzip;q=0", false},
		{"gzip; q=0.000", false},
		{"gzip;Q=0", false},
		{"gzip;\tq=0", false},
		{"br, gzip;q=0, *", false},
	} {
		for _, path := range []string{"/", "/assets/site.js", "/icon.svg", "/graphiql", "/graphiql/licenses.md"} {
			got := c.get(path, "Accept-Encoding", tt.accepts)
			if zipped := got.header.Get("Content-Encoding") == "gzip"; zipped != tt.want {
				t.Errorf("%s with Accept-Encoding %q: compressed is %t", path, tt.accepts, zipped)
				continue
			}
			if !slices.Equal(got.header.Values("Vary"), []string{"Accept-Encoding"}) {
				t.Errorf("%s with Accept-Encoding %q: Vary is %q", path, tt.accepts, got.header.Values("Vary"))
			}
			plain := c.get(path)
			if have := plain.header.Get("Content-Encoding"); have != "" {
				t.Fatalf("%s without Accept-Encoding: Content-Encoding is %q", path, have)
			}
			body := got.body
			if tt.want {
				body = unzip(t, body)
			}
			if !bytes.Equal(body, plain.body) || got.header.Get("Content-Type") != plain.header.Get("Content-Type") {
				t.Errorf("%s with Accept-Encoding %q: content or type differs from the uncompressed response", path, tt.accepts)
			}
		}
	}
	for path := range built(t) {
		got := c.get(path, "Accept-Encoding", "gzip")
		if plain := c.get(path).body; got.header.Get("Content-Encoding") == "gzip" {
			if !bytes.Equal(unzip(t, got.body), plain) {
				t.Errorf("%s: the decompressed content differs", path)
			}
		} else if !slices.Contains([]string{".woff2", ".woff", ".png"}, filepath.Ext(path)) || !bytes.Equal(got.body, plain) {
			t.Errorf("%s is not compressed", path)
		}
	}
}

// The site promises to stay small: what it adds has to make room for itself.
func TestTheScriptsOfTheSiteAreSmall(t *testing.T) {
	t.Parallel()
	zipped := func(name string) int {
		var zipped bytes.Buffer
		w := require.Value(gzip.NewWriterLevel(&zipped, gzip.BestCompression))(t)
		require.Value(w.Write(readFile(t, "dist/site"+name)))(t)
		require.NoError(t, w.Close())
		return zipped.Len()
	}
	if site, early := zipped("/assets/site.js"), zipped("/early.js"); site+early > 40<<10 {
		t.Errorf("the first script has %d bytes after gzip, and that in each page %d: want at most %d together", site, early, 40<<10)
	}
	if later := zipped(secondScript(t)); later > 12_500 {
		t.Errorf("the second script has %d bytes after gzip, want at most %d", later, 12_500)
	}
	if third := zipped(thirdScript(t)); third > 6<<10 {
		t.Errorf("the third script has %d bytes after gzip, want at most %d", third, 6<<10)
	}
	if fourth := zipped(fourthScript(t)); fourth > 6<<10 {
		t.Errorf("the fourth script has %d bytes after gzip, want at most %d", fourth, 6<<10)
	}
	if scripts := require.Value(filepath.Glob("dist/site/assets/*.js"))(t); len(scripts) != 6 {
		t.Errorf("the site has the scripts %q, want six", scripts)
	}
}

// secondScript returns the path of the site's second script, which most visits do not need.
func secondScript(t *testing.T) string {
	t.Helper()
	return script(t, "later")
}

// thirdScript returns the path of the site's third script, with the pages of moderators.
func thirdScript(t *testing.T) string {
	t.Helper()
	return script(t, "moderation")
}

// fourthScript returns the path of the site's fourth script, for reports, notices, and the moderators' menus.
func fourthScript(t *testing.T) string {
	t.Helper()
	return script(t, "reporting")
}

// script returns the path of a script whose name has a hash.
func script(t *testing.T, name string) string {
	t.Helper()
	names, err := filepath.Glob("dist/site/assets/" + name + "-*.js")
	if err != nil || len(names) != 1 {
		t.Fatalf("%v: scripts %q, want one with the name %s", err, names, name)
	}
	return "/assets/" + filepath.Base(names[0])
}

// Pages of the second script name it in a header, so that the browser loads both scripts at the same time.
func TestEachScriptLoadsTheNextOne(t *testing.T) {
	t.Parallel()
	if first := string(readFile(t, "dist/site/assets/site.js")); !strings.Contains(first, "./"+path.Base(secondScript(t))) {
		t.Error("the first script does not load the second one")
	}
	if second := string(readFile(t, "dist/site"+secondScript(t))); !strings.Contains(second, "./"+path.Base(thirdScript(t))) {
		t.Error("the second script does not load the third one")
	}
	if second := string(readFile(t, "dist/site"+secondScript(t))); !strings.Contains(second, "./"+path.Base(fourthScript(t))) {
		t.Error("the second script does not load the fourth one")
	}
}

func unzip(t *testing.T, zipped []byte) []byte {
	t.Helper()
	r := require.Value(gzip.NewReader(bytes.NewReader(zipped)))(t)
	return require.Value(io.ReadAll(r))(t)
}

// Concurrent first requests of a file race for its compression.
func TestConcurrentFirstRequestsGetTheSameFile(t *testing.T) {
	t.Parallel()
	handler := web.Handler(everything)
	bodies := make([][]byte, 50)
	var clients sync.WaitGroup
	for i := range bodies {
		clients.Go(func() {
			req := httptest.NewRequest(http.MethodGet, "/assets/site.js", nil)
			req.Header.Set("Accept-Encoding", "gzip")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, req)
			bodies[i] = w.Body.Bytes()
		})
	}
	clients.Wait()
	if want := readFile(t, "dist/site/assets/site.js"); !bytes.Equal(unzip(t, bodies[0]), want) {
		t.Error("the decompressed content differs from the file")
	}
	for i, body := range bodies {
		if !bytes.Equal(body, bodies[0]) {
			t.Errorf("response %d differs from the first", i)
		}
	}
}

func TestUnchangedFilesAreNotSentAgain(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	for _, path := range []string{"/", "/assets/site.js", "/icon.svg", "/graphiql", "/graphiql/licenses.md"} {
		plain := c.get(path).header.Get("ETag")
		zipped := c.get(path, "Accept-Encoding", "gzip").header.Get("ETag")
		if plain == zipped || !strings.HasPrefix(plain, `"`) || !strings.HasPrefix(zipped, `"`) {
			t.Errorf("%s: ETags %s and, compressed, %s, want two different ones", path, plain, zipped)
		}
		for _, tt := range []struct {
			accepts, tags string
			status        int
		}{
			{"", plain, 304},
			{"", `"x", ` + plain, 304},
			{"", "W/" + plain, 304}, // weakened by a proxy
			{"", "*", 304},
			{"", zipped, 200},
			{"", `"x"`, 200},
			{"gzip", zipped, 304},
			{"gzip", zipped + ", " + plain, 304},
			{"gzip", plain, 200},
			{"gzip;q=0", zipped, 200},
		} {
			got := c.get(path, "Accept-Encoding", tt.accepts, "If-None-Match", tt.tags)
			if got.status != tt.status || (got.status == 304) != (len(got.body) == 0) {
				t.Errorf("%s with Accept-Encoding %q and If-None-Match %s: status %d and %d bytes, want %d", path, tt.accepts, tt.tags, got.status, len(got.body), tt.status)
			}
			for _, name := range []string{"ETag", "Vary", "Cache-Control"} {
				if got.header.Get(name) == "" {
					t.Errorf("%s: status %d without %s", path, got.status, name)
				}
			}
		}
	}
	if site, explorer := c.get("/"), c.get("/graphiql"); site.header.Get("ETag") == explorer.header.Get("ETag") {
		t.Error("two pages have the same ETag")
	}
	if have := c.get("/nothing").header.Get("ETag"); have != "" {
		t.Errorf("a missing page has the ETag %s", have)
	}
}

func TestContentSecurityPolicies(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	for _, tt := range []struct {
		path    string
		trusted bool
		styles  string
		form    string
	}{
		{"/", true, "'self'", "'self'"},
		{"/g/go", true, "'self'", "'self'"},
		{"/nothing", true, "'self'", "'self'"},
		{"/graphiql", false, "'self' 'unsafe-inline'", "'none'"},
		{"/graphiql/", false, "'self' 'unsafe-inline'", "'none'"},
	} {
		got := c.get(tt.path)
		scripts, styles := inline(string(got.body), "script"), inline(string(got.body), "style")
		if (scripts != "") != tt.trusted || (styles != "") != tt.trusted {
			t.Errorf("%s: the inline scripts are%s and styles%s, want one each in the site only", tt.path, scripts, styles)
		}
		policies := got.header.Values("Content-Security-Policy")
		if len(policies) != 1 || strings.Contains(policies[0], ",") {
			t.Errorf("%s: policies %q, want one", tt.path, policies)
			continue
		}
		policy := map[string]string{}
		for _, part := range strings.Split(policies[0], ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), " ")
			if _, twice := policy[name]; twice {
				t.Errorf("%s: %s occurs twice, and browsers ignore the second", tt.path, name)
			}
			policy[name] = value
			if strings.Contains(value, "http") || strings.Contains(value, "*") || strings.Contains(value, "'unsafe-eval'") || strings.Contains(value, "'unsafe-inline'") && name != "style-src" {
				t.Errorf("%s: the policy allows %s", tt.path, part)
			}
		}
		directive := func(name string) string {
			if value, ok := policy[name]; ok {
				return value
			}
			return policy["default-src"]
		}
		for name, want := range map[string]string{
			"script-src": "'self'" + scripts, "connect-src": "'self'", "style-src": tt.styles + styles, "object-src": "'none'",
			"base-uri": "'none'", "frame-ancestors": "'none'", "form-action": tt.form,
		} {
			if have := directive(name); have != want {
				t.Errorf("%s: %s is %q, want %q", tt.path, name, have, want)
			}
		}
		if trusted := policy["require-trusted-types-for"] == "'script'" && policy["trusted-types"] == "worker"; trusted != tt.trusted {
			t.Errorf("%s: trusted types required: %t", tt.path, trusted)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "strict-origin-when-cross-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if have := got.header.Get(name); have != want {
				t.Errorf("%s: %s is %q, want %q", tt.path, name, have, want)
			}
		}
	}
}

func TestSiteAndExplorerCanBeDisabled(t *testing.T) {
	t.Parallel()
	site := serve(t, web.Options{Site: true})
	for _, path := range []string{"/graphiql", "/graphiql/", "/graphiql/licenses.md"} {
		got := site.get(path)
		if got.status != http.StatusNotFound || strings.Contains(strings.ToLower(string(got.body)), "graphiql") {
			t.Errorf("without the explorer, %s: status %d with\n%.300s", path, got.status, got.body)
		}
	}
	if got := site.get("/"); got.status != http.StatusOK {
		t.Errorf("without the explorer, /: status %d with\n%s", got.status, got.body)
	}

	explorer := serve(t, web.Options{Explorer: true})
	for _, path := range []string{"/", "/new", "/g/go", "/icon.svg", "/assets/site.js"} {
		if got := explorer.get(path); got.status != http.StatusNotFound || strings.Contains(string(got.body), "<") {
			t.Errorf("without the site, %s: status %d with\n%.300s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/graphiql", "/graphiql/", "/graphiql/licenses.md"} {
		if got := explorer.get(path); got.status != http.StatusOK {
			t.Errorf("without the site, %s: status %d", path, got.status)
		}
	}

	nothing := serve(t, web.Options{})
	for _, path := range []string{"/", "/graphiql", "/icon.svg"} {
		if got := nothing.get(path); got.status != http.StatusNotFound {
			t.Errorf("without both, %s: status %d", path, got.status)
		}
	}
}

// npm installs from the URL, and remembers the digest of the bytes.
func TestThePackageForClientsIsServed(t *testing.T) {
	t.Parallel()
	c := serve(t, web.Options{}) // also without the site
	got := c.get("/client.tgz", "Accept-Encoding", "gzip")
	if have := got.header.Get("Content-Type"); got.status != http.StatusOK || have != "application/gzip" || got.header.Get("Content-Encoding") != "" {
		t.Fatalf("status %d, %v, want 200 and the archive itself", got.status, got.header)
	}
	if again := serve(t, everything).get("/client.tgz"); !bytes.Equal(again.body, got.body) {
		t.Error("another server has other bytes")
	}
	if again := c.get("/client.tgz", "If-None-Match", got.header.Get("ETag")); again.status != http.StatusNotModified {
		t.Errorf("with its ETag %q: status %d, want 304", got.header.Get("ETag"), again.status)
	}

	var names []string
	for archive := tar.NewReader(require.Value(gzip.NewReader(bytes.NewReader(got.body)))(t)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		name, inPackage := strings.CutPrefix(header.Name, "package/")
		if !inPackage || header.Typeflag != tar.TypeReg {
			t.Errorf("%s is not a file in the folder package", header.Name)
		}
		names = append(names, name)
		content := require.Value(io.ReadAll(archive))(t)
		if !strings.HasPrefix(name, "dist/") && !bytes.Equal(content, readFile(t, "../../clients/js/"+name)) {
			t.Errorf("%s differs from the one in clients/js", name)
		}
	}
	want := []string{"LICENSE", "README.md", "package.json"}
	for _, source := range require.Value(filepath.Glob("../../clients/js/src/*.ts"))(t) {
		module := strings.TrimSuffix(filepath.Base(source), ".ts")
		want = append(want, "src/"+module+".ts", "dist/"+module+".d.ts", "dist/"+module+".js", "dist/"+module+".js.map")
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("it has %q, want %q", names, want)
	}
}

// Compares the digest that scripts/digest.mjs wrote, so that a stale build is detected without Node.
func TestTheBuildIsUpToDate(t *testing.T) {
	t.Parallel()
	files := []string{"../../schema.graphqls", "scripts/codegen.mjs", "scripts/digest.mjs", "scripts/package.mjs", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "vite.explorer.config.ts",
		"../../clients/js/LICENSE", "../../clients/js/README.md", "../../clients/js/package.json", "../../clients/js/tsconfig.json"}
	for _, folder := range []string{"site", "explorer", "../../clients/js/src"} {
		err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && !strings.HasSuffix(name, ".test.ts") && !strings.HasSuffix(name, ".test.tsx") {
				files = append(files, filepath.ToSlash(name))
			}
			return err
		})
		require.NoError(t, err)
	}
	slices.Sort(files)
	all := sha256.New()
	for _, name := range files {
		digest := sha256.Sum256(readFile(t, name))
		_, _ = io.WriteString(all, name+"\x00"+hex.EncodeToString(digest[:])+"\n") // never fails
	}
	if string(readFile(t, "dist/digest.txt")) != hex.EncodeToString(all.Sum(nil))+"\n" {
		t.Error("site/web/dist is out of date: run npm ci && npm run build in site/web and commit the result")
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	return require.Value(os.ReadFile(filepath.FromSlash(name)))(t)
}

// Thousands of ranges in a header of a few kilobytes would get a part with a header of its own for each.
func TestSeveralRangesGetTheWholeFile(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	whole := c.get("/assets/site.js")
	several := c.get("/assets/site.js", "Range", "bytes=1-1,2-2,3-3")
	if several.status != http.StatusOK || !bytes.Equal(several.body, whole.body) {
		t.Errorf("three ranges: status %d, %d bytes, want 200 and the %d bytes of the file", several.status, len(several.body), len(whole.body))
	}
	one := c.get("/assets/site.js", "Range", "bytes=1-3")
	if one.status != http.StatusPartialContent || !bytes.Equal(one.body, whole.body[1:4]) {
		t.Errorf("one range: status %d, %q, want 206 and %q", one.status, one.body, whole.body[1:4])
	}
}
