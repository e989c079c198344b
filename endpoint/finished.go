package endpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/klauspost/compress/gzhttp/writer/gzkp"
	"github.com/klauspost/compress/gzhttp/writer/zstdkp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// finished is a response as it is sent. Many requests may send it.
type finished struct {
	refused *refusal // why the operation did not run; nil if it did
	data    bool     // whether the operation was executed
	whole   bool     // whether it was executed without errors
	code    string   // of the first error
	differs bool     // whether it may be another one for callers who are signed in
	plain   form
	gzip    form
	zstd    form
	tagged  sync.Once // when tag is made
	tag     string    // the value of ETag
}

// form is the body of a response in one content coding.
type form struct {
	once   sync.Once // when it is made
	body   []byte
	length [1]string // for Content-Length
}

// finish makes of a response what is sent. refused says why its operation did not run, if it did not.
func finish(response *graphql.Response, refused *refusal) *finished {
	f := &finished{refused: refused, data: response.Data != nil, whole: response.Data != nil && len(response.Errors) == 0, code: firstCode(response.Errors)}
	f.plain.set(appendResponse(make([]byte, 0, len(response.Data)+16), response))
	return f
}

// texts are buffers to print answers to.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// maxText is the size of the largest buffer that is kept, bytes.
const maxText = 1 << 20

// useAgain keeps the buffer that a response was printed to, which nothing uses any more.
func useAgain(text *[]byte, response *graphql.Response) {
	if cap(response.Data) <= maxText {
		*text = response.Data[:0]
		texts.Put(text)
	}
}

func (f *form) set(body []byte) { f.body, f.length = body, [1]string{strconv.Itoa(len(body))} }

// size returns how many bytes the response takes, at most, with all forms.
func (f *finished) size() int { return 3*cap(f.plain.body) + perFinished }

// perFinished is what a response takes besides its forms, bytes.
const perFinished = 512

// points returns how many points stand for a response of this size.
func (f *finished) points() int { return len(f.plain.body) / PointBytes }

// etag returns the value of ETag. It is weak: all content codings have the same one.
func (f *finished) etag() string {
	f.tagged.Do(func() {
		digest := sha256.Sum256(f.plain.body)
		f.tag = `W/"` + hex.EncodeToString(digest[:12]) + `"`
	})
	return f.tag
}

// minCompressed is the length from which on responses are compressed, bytes.
const minCompressed = 1024

// encoded returns the form that a client prefers, and the name of its coding: gzip without a preference, because
// some clients list zstd but cannot read it. A response to HEAD has the length of the plain form.
func (f *finished) encoded(req *http.Request) (*form, string) {
	accepted := strings.Join(req.Header["Accept-Encoding"], ",")
	if len(f.plain.body) < minCompressed || accepted == "" || req.Method == http.MethodHead {
		return &f.plain, ""
	}
	switch gz, zs := codingQuality(accepted, "gzip"), codingQuality(accepted, "zstd"); {
	case gz == 0 && zs == 0:
		return &f.plain, ""
	case gz >= zs:
		f.gzip.once.Do(func() { f.gzip.compress(f.plain.body, gzipTo) })
		return &f.gzip, "gzip"
	default:
		f.zstd.once.Do(func() { f.zstd.compress(f.plain.body, zstdTo) })
		return &f.zstd, "zstd"
	}
}

func gzipTo(w io.Writer) io.WriteCloser { return gzkp.NewWriter(w, gzip.DefaultCompression) }
func zstdTo(w io.Writer) io.WriteCloser { return zstdkp.NewWriter(w, int(zstd.SpeedFastest)) }

func (f *form) compress(body []byte, coder func(io.Writer) io.WriteCloser) {
	var to bytes.Buffer
	to.Grow(len(body) / 4)
	w := coder(&to)
	_, _ = w.Write(body) // into memory: no errors
	_ = w.Close()
	f.set(to.Bytes())
}

// codingQuality returns the quality that Accept-Encoding gives a content coding, 0 to 1.
func codingQuality(accepted, coding string) float64 {
	for item := range strings.SplitSeq(accepted, ",") {
		name, parameters, weighted := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		if !weighted {
			return 1
		}
		text, _ := strings.CutPrefix(strings.ToLower(strings.Join(strings.Fields(parameters), "")), "q=")
		quality, err := strconv.ParseFloat(text, 64)
		if err != nil || !(quality >= 0 && quality <= 1) {
			return 0
		}
		return quality
	}
	return 0
}
