// Package web serves the site and GraphiQL, which only use the public API. They are built from site/ and
// explorer/ into dist/, which is embedded.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
)

//go:embed all:dist
var dist embed.FS

// Options select what is served.
type Options struct {
	Site     bool   // whether to serve the site
	Explorer bool   // whether to serve GraphiQL
	Schema   []byte // of the API, served at /schema.graphqls; nil: not at all

	Name  string   // of the site; empty: Frontpage
	About string   // what the site is about, in a sentence or two; empty: what the texts say
	Texts *Texts   // nil: those in English
	Links []Link   // in the footer of each page
	Rules []string // of the site, in words

	Editable Editable // how long a post can be changed

	Accent string // of buttons and links, such as #17624a; empty: the one of style.css. CheckAccent must accept it.
	Logo   Logo   // beside the name, and the icon of the site; empty: Frontpage's

	// Pages that the rules of the site leave out, by the first segments of their paths: top, lab, past, votes, notice; and
	// group-top, the lists of top articles of groups.
	Without []string

	// Missing responds to paths that the site does not have. nil: with the page without content.
	Missing http.Handler
}

// Link is a link in the footer.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// Editable is how long after posting the parts of an article can be changed by its poster, seconds.
type Editable struct {
	Title int `json:"title"`
	Text  int `json:"text"`
}

// Logo is a picture.
type Logo struct {
	Content   []byte
	Extension string // .svg or .png
}

// Has reports whether the site has a page with this path, as far as its rules are concerned.
func (o Options) Has(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return !slices.Contains(o.Without, first)
}

// Path returns where the logo is served, or an empty text without a logo.
func (l Logo) Path() string {
	if l.Content == nil {
		return ""
	}
	return "/logo" + l.Extension
}

// The Content-Security-Policy of each page. Both pages run scripts from this server's files only, and send
// requests to this server only. The site's names its inline script and style, too. Monaco, GraphiQL's editor, needs
// inline styles.
const (
	sitePolicy     = "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types worker"
	filePolicy     = "default-src 'none'"
	logoPolicy     = "default-src 'none'; style-src 'unsafe-inline'; sandbox" // an SVG file may have styles
	explorerPolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)

// Handler serves the files of the site, GraphiQL at /graphiql, and the package for clients at /client.tgz, by GET and HEAD. Package pages serves the pages of the
// site; for / Handler serves the page without content, and for unknown paths Options.Missing.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	if o.Site {
		o = o.WithDefaults()
		site := o.index()
		if o.Logo.Content != nil {
			mux.Handle("GET "+o.Logo.Path(), newFile(o.Logo.Path(), logoPolicy, func() []byte { return o.Logo.Content }))
		}
		mux.Handle("GET /config.json", newFile("config.json", filePolicy, o.forScripts))
		mux.Handle("GET /offline", o.offline())
		mux.Handle("GET /worker.js", newFile("worker.js", workerPolicy, o.worker))
		mux.Handle("GET /manifest.webmanifest", newFile("manifest.webmanifest", filePolicy, o.manifest))
		if o.Missing == nil {
			o.Missing = http.HandlerFunc(site.notFound)
		}
		mux.Handle("GET /", folder("dist/site", "", site, o.Missing))
	}
	mux.Handle("GET /client.tgz", newFile("client.tgz", filePolicy, func() []byte { return zip(read("dist/client.tar")) }))
	if o.Schema != nil {
		mux.Handle("GET /schema.graphqls", newFile("schema.graphqls", filePolicy, func() []byte { return o.Schema }))
	}
	if o.Explorer {
		explorer := newFile("dist/graphiql/index.html", explorerPolicy, func() []byte { return read("dist/graphiql/index.html") })
		mux.Handle("GET /graphiql", explorer)
		mux.Handle("GET /playground", http.RedirectHandler("/graphiql", http.StatusSeeOther)) // of other servers
		mux.Handle("GET /graphiql/", folder("dist/graphiql", "/graphiql", explorer, o.Missing))
	}
	return mux
}

// index is the page of the site, whose content its scripts make. Its style and its first script are in the page, so that
// browsers can show it as soon as they have it.
func (o Options) index() *file {
	policy := sitePolicy + "; script-src 'self' " + Source(read("dist/site/early.js")) + "; style-src 'self' " + Source(o.style())
	return newFile("dist/site/index.html", policy, func() []byte { return o.configured(read("dist/site/index.html")) })
}

// Index returns the page of the site, whose content its scripts make, and the headers that it is served with.
func Index(o Options) ([]byte, http.Header) {
	f := o.WithDefaults().index()
	return f.plain().content, f.header
}

// SecondScript returns the path of the site's second script, whose name has a hash.
func SecondScript() string {
	names, err := fs.Glob(dist, "dist/site/assets/later-*.js")
	if err != nil || len(names) != 1 {
		panic("dist has not one second script") // impossible: a test compares dist with its sources
	}
	return strings.TrimPrefix(names[0], "dist/site")
}

// folder serves the embedded files below name at prefix, and index at prefix itself. missing responds to other paths, but not
// to scripts and programs that want a file; nil: to none.
func folder(name, prefix string, index *file, missing http.Handler) http.Handler {
	files := map[string]*file{prefix + "/": index}
	err := fs.WalkDir(dist, name, func(full string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(full) == "index.html" {
			return err
		}
		files[prefix+strings.TrimPrefix(full, name)] = newFile(full, filePolicy, func() []byte { return read(full) })
		return nil
	})
	if err != nil {
		panic(err) // impossible: dist is embedded
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch f := files[req.URL.Path]; {
		case f != nil:
			f.ServeHTTP(w, req)
		case missing != nil && (path.Ext(req.URL.Path) == "" || WantsPage(req)):
			missing.ServeHTTP(w, req)
		default:
			http.NotFound(w, req)
		}
	})
}

// ForBrowsers leads a browser that opens the endpoint of the API in a window, without an operation, to GraphiQL.
func ForBrowsers(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead || req.URL.RawQuery != "" || !WantsPage(req) {
			api.ServeHTTP(w, req)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Vary", "Accept")
		http.Redirect(w, req, "/graphiql", http.StatusSeeOther)
	})
}

// WantsPage reports whether a browser opens the URL of a request in a window: it then accepts HTML.
func WantsPage(req *http.Request) bool {
	return strings.Contains(strings.Join(req.Header.Values("Accept"), ","), "text/html")
}

func read(name string) []byte {
	content, err := dist.ReadFile(name)
	if err != nil {
		panic(err) // impossible: dist is embedded
	}
	return content
}

// Documents returns the GraphQL documents of the site, a JSON object by hash.
func Documents() []byte { return read("dist/site/documents.json") }

var (
	//go:embed offline/page.html
	offlineText string
	//go:embed offline/worker.js
	workerText string

	offlineTemplate = template.Must(template.New("offline").Parse(offlineText))
)

// workerPolicy lets the worker load pages.
const workerPolicy = "default-src 'none'; connect-src 'self'"

// offline is the page that browsers show when they cannot load another one. It is complete in itself: it is kept for a
// time when nothing can be loaded.
func (o *Options) offline() *file {
	script, style := read("dist/site/early.js"), o.style()
	policy := "default-src 'none'; script-src " + Source(script) + "; style-src " + Source(style) +
		"; img-src data:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return newFile("offline.html", policy, func() []byte {
		icon := o.Logo
		if icon.Content == nil {
			icon = Logo{read("dist/site/icon.svg"), ".svg"}
		}
		var page bytes.Buffer
		err := offlineTemplate.Execute(&page, struct {
			*Options
			Script template.JS
			Style  template.CSS
			Icon   template.URL
		}{
			o, template.JS(script), template.CSS(style), //nolint:gosec // files of this program, and a checked colour
			template.URL("data:" + contentTypes[icon.Extension] + ";base64," + base64.StdEncoding.EncodeToString(icon.Content)), //nolint:gosec // a picture
		})
		if err != nil {
			panic(err) // impossible: the template has all that it names
		}
		return page.Bytes()
	})
}

// Source is what a policy calls the content of an element.
func Source(content []byte) string {
	digest := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// worker is the script that shows the page. A new page makes another one of it, which browsers notice.
func (o *Options) worker() []byte {
	return []byte("// " + o.offline().plain().etag + "\n" + workerText)
}

// style is style.css with the accent of the site.
func (o *Options) style() []byte {
	style := read("dist/site/assets/index.css")
	if o.Accent == "" {
		return style
	}
	return append(style, accentStyle(o.Accent)...)
}
