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

// contentTypes does not ask the operating system, of which some say otherwise.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".json":  "application/json",
	".md":    "text/plain; charset=utf-8",
	".svg":   "image/svg+xml",
	".ttf":   "font/ttf",
	".txt":   "text/plain; charset=utf-8",
	".woff":  "font/woff",
	".woff2": "font/woff2",
}

// hashed names change with their content: such as index-C2f1a9Qz.js.
var hashed = regexp.MustCompile(`-[A-Za-z0-9_-]{8}\.[a-z0-9]+$`)

// file is what is sent under a name. Its forms are made when they are first asked for.
type file struct {
	header http.Header
	plain  func() form
	zipped func() form // nil where that saves nothing
}

// form is what a file is sent as.
type form struct {
	content []byte
	tag     string // as it stands in ETag
}

func newFile(name, policy string, read func() []byte) *file {
	f := &file{header: http.Header{
		"Cache-Control":                {"no-cache"}, // that is: ask whether it has changed
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
	f.plain = sync.OnceValue(func() form { return newForm(read()) })
	if !strings.HasPrefix(path.Ext(name), ".woff") { // these are compressed
		f.zipped = sync.OnceValue(func() form { return newForm(zip(f.plain().content)) })
	}
	return f
}

func newForm(content []byte) form {
	digest := sha256.Sum256(content)
	return form{content, `"` + hex.EncodeToString(digest[:12]) + `"`}
}

// ServeHTTP answers with the file, or with 304 where the client has it.
func (f *file) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	maps.Copy(w.Header(), f.header)
	sent := f.plain
	if f.zipped != nil && acceptsGzip(req) {
		sent = f.zipped
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(sent().content))) // otherwise, not with an encoding
	w.Header().Set("ETag", sent().tag)
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(sent().content))
}

// notFound answers with the file and 404.
func (f *file) notFound(w http.ResponseWriter) {
	maps.Copy(w.Header(), f.header)
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(f.plain().content) // the client may be gone
}

func zip(content []byte) []byte {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		panic(err) // the level above
	}
	_, _ = w.Write(content) // to memory
	_ = w.Close()
	return zipped.Bytes()
}

func acceptsGzip(req *http.Request) bool {
	for _, coding := range strings.Split(strings.Join(req.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			quality = strings.ToLower(strings.Join(strings.Fields(quality), ""))
			return strings.TrimRight(quality, "0.") != "q="
		}
	}
	return false
}
