package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// contentTypes replaces mime.TypeByExtension, whose result depends on the operating system.
var contentTypes = map[string]string{
	".css":         "text/css; charset=utf-8",
	".graphqls":    "text/plain; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".md":          "text/plain; charset=utf-8",
	".png":         "image/png",
	".svg":         "image/svg+xml",
	".tgz":         "application/gzip",
	".ttf":         "font/ttf",
	".txt":         "text/plain; charset=utf-8",
	".webmanifest": "application/manifest+json",
	".woff":        "font/woff",
	".woff2":       "font/woff2",
}

// hashed matches file names that contain a hash of the content, such as index-C2f1a9Qz.js.
var hashed = regexp.MustCompile(`-[A-Za-z0-9_-]{8}\.[a-z0-9]+$`)

// file is a file to serve. It is compressed once, at the best level, on first use.
type file struct {
	header http.Header
	plain  func() body
	zipped func() body // nil if the file is compressed already
}

// body is the content of a file in one encoding.
type body struct {
	content []byte
	etag    string // with quotes
}

func newFile(name, policy string, read func() []byte) *file {
	f := &file{header: http.Header{
		"Cache-Control":                {"no-cache"}, // the client must revalidate
		"Content-Security-Policy":      {policy},
		"Content-Type":                 {contentTypes[path.Ext(name)]},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
		"Referrer-Policy":              {"strict-origin-when-cross-origin"},
		"Vary":                         {"Accept-Encoding"},
		"X-Content-Type-Options":       {"nosniff"},
	}}
	if hashed.MatchString(name) {
		f.header["Cache-Control"] = []string{"public, max-age=31536000, immutable"}
	}
	f.plain = sync.OnceValue(func() body { return newBody(read()) })
	if ext := path.Ext(name); !strings.HasPrefix(ext, ".woff") && ext != ".png" && ext != ".tgz" { // compressed already
		f.zipped = sync.OnceValue(func() body { return newBody(zip(f.plain().content)) })
	}
	return f
}

func newBody(content []byte) body {
	digest := sha256.Sum256(content)
	return body{content, `"` + hex.EncodeToString(digest[:12]) + `"`}
}

// ServeHTTP serves the file, or responds with status 304 if the client has it.
func (f *file) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	selected := f.selected(w, req)
	w.Header().Set("ETag", selected.etag)
	if strings.Contains(req.Header.Get("Range"), ",") {
		req.Header.Del("Range") // each of thousands of ranges would get a part with a header of its own
	}
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(selected.content))
}

// notFound responds with the file and status 404.
func (f *file) notFound(w http.ResponseWriter, req *http.Request) {
	selected := f.selected(w, req)
	w.WriteHeader(http.StatusNotFound)
	if req.Method != http.MethodHead {
		_, _ = w.Write(selected.content) // an error means that the client has disconnected
	}
}

// selected sets the headers of the file, and returns its content as the client accepts it.
func (f *file) selected(w http.ResponseWriter, req *http.Request) body {
	maps.Copy(w.Header(), f.header)
	content := f.plain
	if f.zipped != nil && AcceptsGzip(req) {
		content = f.zipped
		w.Header().Set("Content-Encoding", "gzip")
	}
	// ServeContent only sets Content-Length for responses without Content-Encoding.
	w.Header().Set("Content-Length", strconv.Itoa(len(content().content)))
	return content()
}

func zip(content []byte) []byte {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		panic(err) // impossible: the level is valid
	}
	_, _ = w.Write(content) // memory: no errors
	_ = w.Close()
	return zipped.Bytes()
}

// AcceptsGzip reports whether Accept-Encoding names gzip with a quality above 0.
func AcceptsGzip(req *http.Request) bool {
	for _, coding := range strings.Split(strings.Join(req.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			quality = strings.ToLower(strings.Join(strings.Fields(quality), ""))
			return strings.TrimRight(quality, "0.") != "q="
		}
	}
	return false
}
