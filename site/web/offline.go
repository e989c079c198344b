package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
)

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
	policy := "default-src 'none'; script-src " + source(script) + "; style-src " + source(style) +
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

// source is what a policy calls the content of an element.
func source(content []byte) string {
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
