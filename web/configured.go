package web

import (
	"bytes"
	"encoding/json"
	"html"
)

// WithDefaults returns the options with a name, a description and texts.
func (o Options) WithDefaults() Options {
	if o.Texts == nil {
		english, err := ReadTexts("en")
		if err != nil {
			panic(err) // impossible: they are embedded
		}
		o.Texts = english
	}
	if o.Name == "" {
		o.Name = "Frontpage"
	}
	if o.About == "" {
		o.About = o.Texts.Text("about")
	}
	return o
}

// forScripts is what the site's scripts have to know of the configuration, and the texts. It is not in the pages: browsers
// show a page sooner that is smaller.
func (o *Options) forScripts() []byte {
	config, err := json.Marshal(struct {
		Name  string `json:"name"`
		Logo  string `json:"logo,omitempty"`
		Links []Link `json:"links"`

		Without []string        `json:"without"`
		Texts   json.RawMessage `json:"texts"`
	}{o.Name, o.Logo.Path(), append([]Link{}, o.Links...), append([]string{}, o.Without...), o.Texts.content})
	if err != nil {
		panic(err) // impossible: the texts are valid
	}
	return config
}

// configured returns the page of the site with its language, name and description, and with what browsers need to show it.
func (o *Options) configured(page []byte) []byte {
	if icon := o.Logo.Path(); icon != "" {
		page = bytes.Replace(page, []byte(`href="/icon.svg" type="image/svg+xml"`), []byte(`href="`+icon+`" type="`+contentTypes[o.Logo.Extension]+`"`), 1)
	}
	for _, part := range [][2]string{
		{`<html lang="en">`, `<html lang="` + o.Texts.Language() + `">`},
		{"<title>Frontpage</title>", "<title>" + html.EscapeString(o.Name) + "</title>"},
		{`<meta name="description">`, `<meta name="description" content="` + html.EscapeString(o.About) + `">`},
		{"<noscript></noscript>", `<noscript><p class="shell">` + html.EscapeString(o.Texts.Text("noScript", "path", "/query")) + "</p></noscript>"},
		{`<script src="/early.js"></script>`, "<script>" + string(read("dist/site/early.js")) + `</script>
    <link rel="preload" href="/config.json" as="fetch" crossorigin>`},
		{`<link rel="stylesheet" crossorigin href="/assets/index.css">`, "<style>" + string(o.style()) + "</style>"},
	} {
		page = bytes.Replace(page, []byte(part[0]), []byte(part[1]), 1)
	}
	return page
}

// icon is an icon in the manifest.
type icon struct {
	Source string `json:"src"`
	Type   string `json:"type"`
	Sizes  string `json:"sizes"`
}

// manifest says how to install the site as an application.
func (o *Options) manifest() []byte {
	icons := []icon{{"/icon.svg", contentTypes[".svg"], "any"}, {"/icon-192.png", contentTypes[".png"], "192x192"}, {"/icon-512.png", contentTypes[".png"], "512x512"}}
	if path := o.Logo.Path(); path != "" {
		icons = []icon{{path, contentTypes[o.Logo.Extension], "any"}}
	}
	content, err := json.Marshal(map[string]any{
		"name": o.Name, "short_name": o.Name, "description": o.About, "lang": o.Texts.Language(),
		"id": "/", "start_url": "/", "scope": "/", "display": "standalone", "icons": icons,
		"background_color": "#fbfaf7", "theme_color": "#fbfaf7",
	})
	if err != nil {
		panic(err) // impossible: it has texts only
	}
	return content
}
