package pages

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/xml"
	"html/template"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"frontpage/endpoint"
	"frontpage/site/feeds"
	"frontpage/site/web"
)

//go:embed templates/*.html
var templates embed.FS

// layout makes a page of what it shows: the page of the site, with templates at some places.
type layout struct {
	templates *template.Template
	header    http.Header
	parts     [][]byte // of the site's page, one more than places
}

// places are the parts of the site's page that templates replace, in order.
var places = []struct {
	template string
	found    *regexp.Regexp
}{
	{"head", regexp.MustCompile(`<title>[^<]*</title>\s*<meta name="description"[^>]*>`)},
	{"alternates", regexp.MustCompile(`<!--[^>]*-->\s*<link rel="alternate"[^>]*>\s*<link rel="alternate"[^>]*>`)},
	{"script", regexp.MustCompile(regexp.QuoteMeta(`<script type="module" crossorigin src="/assets/site.js"></script>`))},
	{"body", regexp.MustCompile(`<div id="app"></div>`)},
	{"data", regexp.MustCompile(`<noscript><p[^>]*>.*?</p></noscript>`)},
}

func newLayout(site web.Options) *layout {
	page, header := web.Index(site)
	l := &layout{templates: template.Must(template.New("").ParseFS(templates, "templates/*.html")), header: header}
	for _, place := range places {
		at := place.found.FindIndex(page)
		if at == nil {
			panic("the page of the site has no place for " + place.template) // impossible: the tests of this package render pages
		}
		l.parts = append(l.parts, page[:at[0]])
		page = page[at[1]:]
	}
	l.parts = append(l.parts, page)
	return l
}

// renderedKey says what a page was rendered of: its URL, the answer that it shows, and the status of a missing article.
type renderedKey struct {
	url, answer string
	status      int
}

// rendered is a page as it is sent. Many requests may send it.
type rendered struct {
	status int
	plain  []byte
	tag    string        // ETag, weak: both encodings have the same
	zipped func() []byte // made once; nil: the page is too short for it
	wait   time.Duration // of a visitor who may not have it yet
}

// render renders a page. One for a visitor over the limit is without the frame of the site, which takes as long as a list.
func (l *layout) render(p *page) *rendered {
	var out bytes.Buffer
	if p.status == http.StatusTooManyRequests {
		l.execute(&out, "brief", p)
		return &rendered{status: p.status, plain: out.Bytes()}
	}
	for i, part := range l.parts {
		out.Write(part)
		if i == len(places) {
			break
		}
		l.execute(&out, places[i].template, p)
	}
	digest := sha256.Sum256(out.Bytes())
	r := &rendered{status: cmp.Or(p.status, http.StatusOK), plain: out.Bytes(), tag: `W/"` + hex.EncodeToString(digest[:12]) + `"`}
	r.zipped = sync.OnceValue(func() []byte {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		_, _ = w.Write(r.plain) // into memory: no errors
		_ = w.Close()
		return zipped.Bytes()
	})
	return r
}

func (l *layout) execute(out *bytes.Buffer, name string, p *page) {
	if err := l.templates.ExecuteTemplate(out, name, p); err != nil {
		panic(err) // impossible: the tests render all templates
	}
}

// serve sends the page, or only that it has not changed.
func (r *rendered) serve(w http.ResponseWriter, req *http.Request) {
	header := w.Header()
	if r.status == http.StatusOK {
		header.Set("ETag", r.tag)
		if endpoint.Matches(req.Header.Values("If-None-Match"), r.tag) {
			header.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := r.plain
	if r.zipped != nil && web.AcceptsGzip(req) {
		header.Set("Content-Encoding", "gzip")
		body = r.zipped()
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.status)
	if req.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only if the client is gone
	}
}

// openSearch describes the search of the site to browsers, in the format OpenSearch 1.1.
type openSearch struct {
	XMLName     xml.Name `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
	ShortName   string
	Description string
	Encoding    string `xml:"InputEncoding"`
	URL         struct {
		Type     string `xml:"type,attr"`
		Template string `xml:"template,attr"`
	} `xml:"Url"`
}

// maxShortName is the maximum length of a name in that format, in characters.
const maxShortName = 16

// openSearch serves the description.
func (s *server) openSearch(w http.ResponseWriter, req *http.Request) {
	name := []rune(s.Site.Name)
	d := openSearch{ShortName: string(name[:min(len(name), maxShortName)]), Description: s.Site.Texts.Text("searchOf", "site", s.Site.Name), Encoding: "UTF-8"}
	d.URL.Type, d.URL.Template = "text/html", feeds.Address(s.PublicURL, req)+"/search?q={searchTerms}"
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := xml.NewEncoder(&out).Encode(d); err != nil {
		panic(err) // impossible: it is text
	}
	w.Header().Set("Content-Type", "application/opensearchdescription+xml")
	_, _ = w.Write(out.Bytes()) // fails only if the client is gone
}
