package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"frontpage/must"
	"frontpage/settings"
	"frontpage/web"
)

const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>`

func TestLooksOfTheSite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "logo.svg")
	must.Do(t, os.WriteFile(file, []byte(logo), 0o600))
	var p program
	if _, err := settings.Parse(&p, []string{
		"--site-name=Ünews & more", "--site-about=All the news.", "--site-language=de", "--site-accent=#123456", "--site-logo=" + file,
		"--site-links=Rules=https://example.org/rules?a=b,Mail=mailto:ada@example.org,Here=/new",
	}, "", ""); err != nil {
		t.Fatal(err)
	}
	o := p.Pages()
	links := []web.Link{{Text: "Rules", URL: "https://example.org/rules?a=b"}, {Text: "Mail", URL: "mailto:ada@example.org"}, {Text: "Here", URL: "/new"}}
	if o.Name != "Ünews & more" || o.About != "All the news." || o.Texts.Language() != "de" || o.Accent != "#123456" ||
		string(o.Logo.Content) != logo || o.Logo.Extension != ".svg" || !slices.Equal(o.Links, links) {
		t.Errorf("got %+v", o)
	}
	if name := p.Feeds(nil).Name; name != "Ünews & more" {
		t.Errorf("feeds are called %s", name)
	}
}

func TestTheSiteLeavesOutPagesThatItsRulesDo(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"":                                    nil,
		"--calendar=off":                      {"lab", "top"},
		"--front-pages-kept=0":                {"past"},
		"--votes-kept=off":                    {"votes"},
		"--votes-kept=0":                      nil,
		"--calendar=off --front-pages-kept=0": {"lab", "past", "top"},
	} {
		var p program
		must.Get(settings.Parse(&p, strings.Fields(args), "", ""))(t)
		if have := p.Pages().Without; !slices.Equal(have, want) {
			t.Errorf("%s: the site is without %q, want %q", args, have, want)
		}
	}
}

func TestInvalidLooks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(file, []byte(content), 0o600))
		return file
	}
	large := write("large.svg", "<svg>"+strings.Repeat(" ", 256<<10))
	for arg, want := range map[string]string{
		"--site-name=": "FRONTPAGE_SITE_NAME (--site-name): it is empty",
		"--site-name=" + strings.Repeat("ü", 41):              "FRONTPAGE_SITE_NAME (--site-name): it has 41 characters, want at most 40",
		"--site-name=a\nb":                                    `FRONTPAGE_SITE_NAME (--site-name): "a\nb" is not one line of text`,
		"--site-name= a":                                      `FRONTPAGE_SITE_NAME (--site-name): " a" is not one line of text`,
		"--site-about=" + strings.Repeat("a", 201):            "FRONTPAGE_SITE_ABOUT (--site-about): it has 201 characters, want at most 200",
		"--site-language=xx":                                  `FRONTPAGE_SITE_LANGUAGE (--site-language): "xx" is not one of de, en`,
		"--site-accent=red":                                   `FRONTPAGE_SITE_ACCENT (--site-accent): "red" is not a colour such as #17624a`,
		"--site-accent=#ffcc00":                               "FRONTPAGE_SITE_ACCENT (--site-accent): #ffcc00 has a contrast of 1.3 to the background of the site, want at least 4.5",
		"--site-accent=#12345":                                "FRONTPAGE_SITE_ACCENT (--site-accent)",
		"--site-accent=#12345g":                               "FRONTPAGE_SITE_ACCENT (--site-accent)",
		"--site-logo=" + filepath.Join(folder, "missing"):     "FRONTPAGE_SITE_LOGO (--site-logo): open",
		"--site-logo=" + write("a.txt", "a text"):             "is neither an SVG nor a PNG file",
		"--site-logo=" + large:                                "has 262149 bytes, want at most 262144",
		"--site-links=Rules":                                  `FRONTPAGE_SITE_LINKS (--site-links): "Rules" is not a text of at most 40 characters and a URL, such as Rules=https://example.org/rules`,
		"--site-links==https://example.org":                   "FRONTPAGE_SITE_LINKS (--site-links)",
		"--site-links=Rules=javascript:alert(1)":              "FRONTPAGE_SITE_LINKS (--site-links)",
		"--site-links=Rules=//example.org":                    "FRONTPAGE_SITE_LINKS (--site-links)",
		"--site-links=Rules=https:":                           "FRONTPAGE_SITE_LINKS (--site-links)",
		"--site-links=Rules=rules.html":                       "FRONTPAGE_SITE_LINKS (--site-links)",
		"--site-links=" + strings.Repeat(",A=/a", 11)[1:]:     "FRONTPAGE_SITE_LINKS (--site-links): there are 11, want at most 10",
		"--site-links=" + strings.Repeat("a", 41) + "=/rules": "FRONTPAGE_SITE_LINKS (--site-links)",
	} {
		var p program
		_, err := settings.Parse(&p, []string{arg}, "", "")
		if !errors.As(err, new(*settings.Error)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", arg, err, want)
		}
	}
}
