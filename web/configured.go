package web

import (
	"bytes"
	"encoding/json"
	"html"
)

func (o *Options) setDefaults() {
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
}

// configured returns the page of the site with its language, name and description, and with an element for its scripts
// that has what is configured, and the texts.
func (o *Options) configured(page []byte) []byte {
	config, err := json.Marshal(struct { // with <, > and & as escapes, so that it cannot end the element
		Name  string          `json:"name"`
		Links []Link          `json:"links"`
		Texts json.RawMessage `json:"texts"`
	}{o.Name, append([]Link{}, o.Links...), o.Texts.content})
	if err != nil {
		panic(err) // impossible: the texts are valid
	}
	for _, part := range [][2]string{
		{`<html lang="en">`, `<html lang="` + o.Texts.Language() + `">`},
		{"<title>Frontpage</title>", "<title>" + html.EscapeString(o.Name) + "</title>"},
		{`<meta name="description">`, `<meta name="description" content="` + html.EscapeString(o.About) + `">`},
		{"<noscript></noscript>", `<noscript><p class="shell">` + html.EscapeString(o.Texts.Text("noScript", "path", "/query")) + "</p></noscript>"},
		{`<script type="application/json" id="config"></script>`, `<script type="application/json" id="config">` + string(config) + "</script>"},
	} {
		page = bytes.Replace(page, []byte(part[0]), []byte(part[1]), 1)
	}
	return page
}
