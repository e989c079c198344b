package web

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
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
	o.Name = cmp.Or(o.Name, "Frontpage")
	o.About = cmp.Or(o.About, o.Texts.Text("about"))
	return o
}

// forScripts is what the site's scripts have to know of the configuration, and the texts. It is not in the pages: browsers
// show a page sooner that is smaller.
func (o *Options) forScripts() []byte {
	config, err := json.Marshal(struct {
		Name  string   `json:"name"`
		Logo  string   `json:"logo,omitempty"`
		Links []Link   `json:"links"`
		Rules []string `json:"rules"`

		Editable Editable `json:"editable"`

		Without []string        `json:"without"`
		Texts   json.RawMessage `json:"texts"`
	}{o.Name, o.Logo.Path(), append([]Link{}, o.Links...), append([]string{}, o.Rules...), o.Editable, append([]string{}, o.Without...), o.Texts.content})
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
		{"<noscript></noscript>", `<noscript><p class="shell">` + html.EscapeString(o.Texts.Text("noScript")) + ` <a href="/">` + html.EscapeString(o.Name) + "</a></p></noscript>"},
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
		"share_target": map[string]any{"action": "/submit", "method": "GET", "params": map[string]string{"title": "title", "text": "text", "url": "link"}},
	})
	if err != nil {
		panic(err) // impossible: it has texts only
	}
	return content
}

// colour has red, green and blue, 0 to 255.
type colour [3]float64

// The backgrounds on which style.css shows the accent as text: the paper with a tint of the ink, light and dark.
var (
	lightTint = colour{0xee, 0xec, 0xea}
	darkTint  = colour{0x23, 0x23, 0x20}
)

// The contrasts of text that WCAG asks for (AA), and what the accent gets on a dark background.
const (
	minContrast  = 4.5
	darkContrast = 7
)

// CheckAccent returns an error unless a text is an accent for the site: a colour such as #17624a that is dark enough to
// be read on a light background. On a dark one the site lightens it.
func CheckAccent(text string) error {
	c, err := parseColour(text)
	if err != nil {
		return err
	}
	if have := contrast(c, lightTint); have < minContrast {
		return fmt.Errorf("%s has a contrast of %.1f to the background of the site, want at least %.1f: choose a darker colour", text, have, minContrast)
	}
	return nil
}

var hexColour = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

func parseColour(text string) (c colour, err error) {
	if !hexColour.MatchString(text) {
		return c, fmt.Errorf("%q is not a colour such as #17624a", text)
	}
	rgb, err := hex.DecodeString(text[1:])
	for i, part := range rgb {
		c[i] = float64(part)
	}
	return c, err
}

// accentStyle returns the rules that replace the accent of style.css.
func accentStyle(accent string) string {
	c, err := parseColour(accent)
	if err != nil {
		panic(err) // the caller has checked it
	}
	dark := c
	for share := 0.0; contrast(dark, darkTint) < darkContrast; share += 0.02 {
		for i := range dark {
			dark[i] = math.Round(c[i] + (255-c[i])*share)
		}
	}
	rule := fmt.Sprintf("{--accent:#%02x%02x%02x}", int(dark[0]), int(dark[1]), int(dark[2]))
	return ":root{--accent:" + accent + "}:root[data-theme=dark]" + rule +
		"@media (prefers-color-scheme:dark){:root:not([data-theme=light])" + rule + "}"
}

// contrast returns the contrast of two colours as WCAG defines it, 1 to 21.
func contrast(a, b colour) float64 {
	brighter, darker := luminance(a), luminance(b)
	return (max(brighter, darker) + 0.05) / (min(brighter, darker) + 0.05)
}

func luminance(c colour) float64 {
	linear := func(part float64) float64 {
		if part /= 255; part <= 0.04045 {
			return part / 12.92
		}
		return math.Pow((part+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

var (
	webAddress  = regexp.MustCompile(`^https?://\S+$`)
	mailAddress = regexp.MustCompile(`^[^\s@:/?]+@[^\s@:/?]+$`)
)

// ContactURL returns the URL of a contact that is a web or a mail address, and an empty text for any other contact.
func ContactURL(text string) string {
	switch {
	case webAddress.MatchString(text):
		return text
	case mailAddress.MatchString(text):
		return "mailto:" + text
	}
	return ""
}
