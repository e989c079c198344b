package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontpage/site/web"
	"frontpage/tests/require"
)

func readTexts(t *testing.T, code string) *web.Texts {
	t.Helper()
	return require.Value(web.ReadTexts(code))(t)
}

// placeholders returns the names in braces of each text of a language, by key.
func placeholders(t *testing.T, code string) map[string][]string {
	t.Helper()
	content := require.Value(os.ReadFile("site/strings/" + code + ".json"))(t)
	var tree map[string]any
	require.NoError(t, json.Unmarshal(content, &tree))
	found := map[string][]string{}
	var add func(string, any)
	add = func(key string, value any) {
		switch v := value.(type) {
		case string:
			names := regexp.MustCompile(`\{\w+\}`).FindAllString(v, -1)
			slices.Sort(names)
			found[key] = names
			if v == "" {
				t.Errorf("%s: %s is empty", code, key)
			}
		case map[string]any:
			for name, text := range v {
				add(key+"."+name, text)
			}
		default:
			t.Errorf("%s: %s is %T, want a text", code, key, value)
		}
	}
	add("", tree)
	return found
}

// Each language has all texts, and they need the same names and numbers.
func TestLanguagesHaveTheSameTexts(t *testing.T) {
	t.Parallel()
	english := placeholders(t, "en")
	for _, code := range web.Languages() {
		readTexts(t, code)
		other := placeholders(t, code)
		for key, names := range english {
			if have, found := other[key]; !found || !slices.Equal(have, names) {
				t.Errorf("%s: %s has %v, want %v", code, key, have, names)
			}
		}
		for key := range other {
			if _, found := english[key]; !found && !strings.HasPrefix(key, ".refusals.") { // English has those of the API
				t.Errorf("%s: %s is not in English", code, key)
			}
		}
	}
	if _, err := web.ReadTexts("xx"); err == nil {
		t.Error("there are texts in the language xx")
	}
}

// site/src/ui/strings.test.ts and time.test.ts have the same numbers and times: rows look the same when server and browser
// render them.
func TestTextsAreFormattedAsInTheBrowser(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	texts := readTexts(t, "en")
	ago := func(d time.Duration) string { return texts.Ago(now.Add(-d), now) }
	const day = 24 * time.Hour
	for want, have := range map[string]string{
		"0 votes":               texts.Count("votes", 0),
		"1 vote":                texts.Count("votes", 1),
		"−1 vote":               texts.Count("votes", -1),
		"−2 votes":              texts.Count("votes", -2),
		"1,200 votes":           texts.Count("votes", 1200),
		"−1,234,567 votes":      texts.Count("votes", -1234567),
		"0":                     texts.Short(0),
		"−1":                    texts.Short(-1),
		"999":                   texts.Short(999),
		"1.0k":                  texts.Short(1000),
		"−1.3k":                 texts.Short(-1250),
		"99.9k":                 texts.Short(99_949),
		"100k":                  texts.Short(99_950),
		"1,235k":                texts.Short(1_234_567),
		"just now":              ago(-2 * day),
		"1 minute ago":          ago(2*time.Minute - time.Millisecond),
		"59 minutes ago":        ago(time.Hour - time.Millisecond),
		"1 hour ago":            ago(time.Hour),
		"23 hours ago":          ago(day - time.Millisecond),
		"30 days ago":           ago(30 * day),
		"1 month ago":           ago(31 * day),
		"56 years ago":          ago(56 * 31_557_600 * time.Second),
		"2 days":                texts.Left(now.Add(2*day), now),
		"less than a minute":    texts.Left(now.Add(time.Second), now),
		"Vote up, {n}: {title}": texts.Text("voteUp", "votes", "{n}", "title", "{title}"),
		"3 h":                   texts.Age(now.Add(-3*time.Hour), now),
		"now":                   texts.Age(now.Add(time.Second), now),
	} {
		if have != want {
			t.Errorf("got %q, want %q", have, want)
		}
	}
}

func TestPageHasItsConfiguration(t *testing.T) {
	t.Parallel()
	c := serve(t, web.Options{
		Site: true, Name: `News & "Views" </script>`, About: `All the "news"`, Links: []web.Link{{Text: "About", URL: "/about.html"}}, Rules: []string{"No <b>"},
	})
	page := string(c.get("/").body)
	for _, want := range []string{
		`<html lang="en">`,
		`<title>News &amp; &#34;Views&#34; &lt;/script&gt;</title>`,
		`<meta name="description" content="All the &#34;news&#34;">`,
	} {
		if !regexp.MustCompile(regexp.QuoteMeta(want)).MatchString(page) {
			t.Errorf("the page lacks %s", want)
		}
	}
	content := c.get("/config.json").body
	var config struct {
		Name  string
		Links []web.Link
		Texts map[string]any
	}
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatalf("the configuration is not JSON: %v: %s", err, content)
	}
	if config.Name != `News & "Views" </script>` || len(config.Links) != 1 || config.Links[0].URL != "/about.html" || config.Texts["hot"] != "Hot" {
		t.Errorf("the scripts get %q, %v and %d texts", config.Name, config.Links, len(config.Texts))
	}
}

func TestLogoReplacesTheIcons(t *testing.T) {
	t.Parallel()
	logo := web.Logo{Content: []byte("<svg/>"), Extension: ".svg"}
	c := serve(t, web.Options{Site: true, Name: "News", About: "All the news.", Logo: logo, Texts: readTexts(t, "de")})
	got := c.get("/logo.svg")
	if got.status != 200 || string(got.body) != "<svg/>" || got.header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the logo: status %d, %s, %q", got.status, got.header.Get("Content-Type"), got.body)
	}
	// An SVG file that is opened by itself is a document.
	if policy := got.header.Get("Content-Security-Policy"); policy != "default-src 'none'; style-src 'unsafe-inline'; sandbox" {
		t.Errorf("the logo has the policy %s", policy)
	}
	page := string(c.get("/").body)
	for _, want := range []string{`<html lang="de">`, `<link rel="icon" href="/logo.svg" type="image/svg+xml">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if content := string(c.get("/config.json").body); !strings.Contains(content, `"logo":"/logo.svg"`) {
		t.Errorf("the configuration lacks the logo: %s", content)
	}
	var manifest struct {
		Name, Description, Lang string
		Icons                   []struct{ Src, Type, Sizes string }
	}
	got = c.get("/manifest.webmanifest")
	if err := json.Unmarshal(got.body, &manifest); err != nil || got.header.Get("Content-Type") != "application/manifest+json" {
		t.Fatalf("the manifest: %v, %s", err, got.header.Get("Content-Type"))
	}
	if manifest.Name != "News" || manifest.Description != "All the news." || manifest.Lang != "de" || len(manifest.Icons) != 1 || manifest.Icons[0].Src != "/logo.svg" {
		t.Errorf("the manifest is %+v", manifest)
	}
}

// Browsers keep the page alone: it loads nothing, and its policy allows what it has.
func TestOfflinePageIsCompleteInItself(t *testing.T) {
	t.Parallel()
	texts := require.Value(web.ReadTexts("de"))(t)
	tags := map[string]bool{}
	for _, o := range []web.Options{
		{Site: true},
		{Site: true, Name: `News & "Views" </style>`, Texts: texts, Accent: "#8a1c5a", Logo: web.Logo{Content: []byte("<svg/>"), Extension: ".svg"}},
	} {
		c := serve(t, o)
		got := c.get("/offline")
		page, policy := string(got.body), got.header.Get("Content-Security-Policy")
		if got.status != 200 || got.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(page, `name="robots" content="noindex"`) {
			t.Errorf("status %d, %v:\n%s", got.status, got.header, page)
		}
		for directive, element := range map[string]string{"script-src": "script", "style-src": "style"} {
			if source := inline(page, element); source == "" || !strings.Contains(policy, directive+source+";") {
				t.Errorf("the policy is %q, want %s%s", policy, directive, source)
			}
		}
		for _, other := range []string{"<link", "@import", "url("} {
			if strings.Contains(page, other) {
				t.Errorf("the page has %s, with which it could load something", other)
			}
		}
		for _, match := range regexp.MustCompile(`\ssrc="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(html.UnescapeString(match[1]), "data:image/svg+xml;base64,") {
				t.Errorf("the page loads %s", match[1])
			}
		}
		first, _, _ := strings.Cut(string(c.get("/worker.js").body), "\n")
		if first != "// "+got.header.Get("ETag") || tags[first] {
			t.Errorf("the worker begins with %s, want the tag of its page", first)
		}
		tags[first] = true
	}
	page := string(serve(t, web.Options{Site: true, Name: `News & "Views" </style>`, Texts: texts}).get("/offline").body)
	for _, want := range []string{`<html lang="de">`, `<title>Keine Verbindung · News &amp; &#34;Views&#34; &lt;/style&gt;</title>`, "Noch einmal versuchen"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// Each icon of the manifest exists, and has its type and size.
func TestManifestNamesServedIcons(t *testing.T) {
	t.Parallel()
	c := serve(t, everything)
	var manifest struct {
		Icons []struct{ Src, Type, Sizes string }
	}
	if err := json.Unmarshal(c.get("/manifest.webmanifest").body, &manifest); err != nil || len(manifest.Icons) != 3 {
		t.Fatalf("%v, %d icons, want 3", err, len(manifest.Icons))
	}
	for _, icon := range manifest.Icons {
		got := c.get(icon.Src)
		if got.status != 200 || got.header.Get("Content-Type") != icon.Type {
			t.Errorf("%s: status %d, %s, want %s", icon.Src, got.status, got.header.Get("Content-Type"), icon.Type)
		}
		if icon.Type != "image/png" {
			continue
		}
		config, err := png.DecodeConfig(bytes.NewReader(got.body))
		if err != nil || fmt.Sprintf("%dx%d", config.Width, config.Height) != icon.Sizes {
			t.Errorf("%s: %v, %dx%d, want %s", icon.Src, err, config.Width, config.Height, icon.Sizes)
		}
	}
}

// contrast returns the contrast of two colours such as #17624a, by the formula of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(colour string) (sum float64) {
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n := require.Value(strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8))(t)
			part := float64(n) / 255
			if part <= 0.04045 {
				sum += weight * part / 12.92
			} else {
				sum += weight * math.Pow((part+0.055)/1.055, 2.4)
			}
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Accents that are accepted can be read, in light and in dark: as text on the paper and on its tint, and under the text of
// a button.
func TestAccentCanBeRead(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for i := range 400 {
		accent := "#000000"
		if i > 0 {
			accent = "#" + strconv.FormatInt(1<<24+random.Int64N(1<<24), 16)[1:]
		}
		if web.CheckAccent(accent) != nil {
			if contrast(t, accent, "#fbfaf7") > 5.5 {
				t.Errorf("%s is refused", accent)
			}
			continue
		}
		accepted++
		style := string(serve(t, web.Options{Site: true, Accent: accent}).get("/").body)
		colours := regexp.MustCompile(`\{--accent:(#[0-9a-f]{6})\}`).FindAllStringSubmatch(style, -1)
		if len(colours) != 3 || colours[0][1] != accent || colours[1][1] != colours[2][1] {
			t.Fatalf("%s: the style has the accents %v", accent, colours)
		}
		for background, colour := range map[string]string{
			"#fbfaf7": accent, "#eeedea": accent, "#ffffff": accent, "#161614": colours[1][1], "#232320": colours[1][1], "#1f1f1c": colours[1][1],
		} {
			if have := contrast(t, colour, background); have < 4.5 {
				t.Errorf("%s becomes %s, whose contrast to %s is %.2f", accent, colour, background, have)
			}
		}
	}
	if accepted < 50 {
		t.Errorf("%d colours were accepted, want at least 50", accepted)
	}
}

func TestStyleWithoutAnAccentIsThatOfTheBuild(t *testing.T) {
	t.Parallel()
	style := string(serve(t, web.Options{Site: true}).get("/assets/index.css").body)
	if strings.HasSuffix(style, "}}") && strings.Contains(style, ":root{--accent:#") {
		t.Error("the style has an accent of the settings")
	}
}
