package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"frontpage/endpoint"
	"frontpage/settings"
	"frontpage/site/web"
	"frontpage/tests/require"
)

// program is a command line with nothing but the settings.
type program struct {
	settings.Settings `embed:""`

	Serve struct{} `cmd:"" default:"withargs"`
}

func TestVariableIsNamedLikeItsFlag(t *testing.T) {
	t.Parallel()
	var p program
	command := require.Value(settings.Parse(&p, nil, "", ""))(t)
	for _, flag := range command.Model.Flags {
		if flag.Name != "help" && !reflect.DeepEqual(flag.Envs, []string{settings.Variable(flag.Name)}) {
			t.Errorf("--%s has the variables %q, want %s", flag.Name, flag.Envs, settings.Variable(flag.Name))
		}
		if flag.Name != "help" && (flag.Help == "" && !flag.Hidden || flag.Group == nil) {
			t.Errorf("--%s has no help or no group", flag.Name)
		}
	}
}

func TestInvalidSettingIsATypedError(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"--voting-window=7":        `FRONTPAGE_VOTING_WINDOW (--voting-window): "7" is not a duration such as 7d, 1d12h, 90s or 400ms`,
		"--vote-score=0":           "FRONTPAGE_VOTE_SCORE (--vote-score): 0 is not between 1 and 1000000000 seconds",
		"--ranking=reddit":         `FRONTPAGE_RANKING (--ranking): "reddit" is not linear, capped, halflife, or one of the last two with a time, such as capped:24h`,
		"--votes-kept=no":          `FRONTPAGE_VOTES_KEPT (--votes-kept): "no" is not a duration such as 400d or 90s, 0 or off`,
		"--ranking=capped:0":       "FRONTPAGE_RANKING (--ranking): 0s is not a whole number of seconds, 1m to 3650d",
		"--ranking=halflife:1s":    "FRONTPAGE_RANKING (--ranking): 1s is not a whole number of seconds, 1m to 3650d",
		"--front-pages-kept=30m":   "FRONTPAGE_FRONT_PAGES_KEPT (--front-pages-kept): 30m0s is not a whole number of seconds, at least 1h, or 0",
		"--milestones=3,1":         "FRONTPAGE_MILESTONES (--milestones): [3 1] are not ascending numbers of votes, at least 1",
		"--deleted-text-days=4000": "FRONTPAGE_DELETED_TEXT_DAYS (--deleted-text-days): 4000 is not between 0 and 3650",
		"--events-kept=-1":         "FRONTPAGE_EVENTS_KEPT (--events-kept): -1 is not between 0 and 1000000000",
		"--depth-limit=0":          "FRONTPAGE_DEPTH_LIMIT (--depth-limit): 0 is below 1",
		"--partitions=3":           "FRONTPAGE_PARTITIONS (--partitions): 3 is not one of 1, 2, 4, 8, 16, 32, 64, 128 and 256",
		"--redis-acks=11":          "FRONTPAGE_REDIS_ACKS (--redis-acks): 11 is not between 0 and 10",
		"--serve=admin":            `FRONTPAGE_SERVE (--serve): "admin" is not site, explorer, both separated by a comma, or off`,
		"--tls-key-file=x.pem":     "FRONTPAGE_TLS_CERT_FILE (--tls-cert-file), FRONTPAGE_TLS_KEY_FILE (--tls-key-file): one is set and the other is not",
		"--log-level=loud":         `FRONTPAGE_LOG_LEVEL (--log-level): "loud" is not debug, info, warn or error`,
	} {
		var p program
		_, err := settings.Parse(&p, strings.Fields(arg), "", "")
		if invalid := new(settings.Error); !errors.As(err, &invalid) || err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
	for _, setting := range []string{
		"vote-score=x", "voting-window=7 days", "voting-window=-1d", "voting-window=106752d", "poster-votes=perhaps", "interesting-votes=0", "page-size=101",
		"links-reserved=-1h", "links-reserved=1.5s", "redis-timeout=0s", "request-timeout=0s", "shared-answers=2m", "cache-max-age=1500ms", "complexity-limit=many",
		"ping-interval=99ms", "streams-per-address=0", "introspection=perhaps", "demo-articles=perhaps", "shutdown-delay=-1s", "drain-time=5",
		"cors-origins=https://a.b,c.d", "cors-origins=https://a.b/", "log-format=xml", "audit-secret=short", "serve=", "serve=site,explore", "ranking=linear:1h",
		"ranking=capped:1", "calendar=group", "addr=nonsense", "trusted-proxies=proxy.example", "trusted-proxies=10.0.0.1/33", "rates=60/1m",
		"rates=votes=60/1m post=off", "rates=addresses=0", "rates=votes=60", "rates=votes=60/", "rates=votes=/1m", "rates=votes=0/1m", "rates=votes=-5/1m",
		"rates=votes=60/1", "rates=votes=60/999ms", "rates=votes=60/-1m", "rates=votes=60/1m/1h", "rates=votes=60 / 1m", "rates=votes=99999999999999999999/1m",
		"rates=votes=OFF", "rates=new-votes=1/1m", "rates=new-cost=1/1m", "new-user-age=-1s", "new-user-age=1500ms", "new-user-age=3651d", "notice-contact-days=0", "notice-contact-days=401", "secret=short", "secret=,",
	} {
		var p program
		_, err := settings.Parse(&p, []string{"--" + setting}, "", "")
		if flag, _, _ := strings.Cut(setting, "="); !errors.As(err, new(*settings.Error)) || !strings.HasPrefix(err.Error(), settings.Name(flag)+": ") {
			t.Errorf("--%s: %v, want an error that names the setting", setting, err)
		}
	}
	var p program
	if _, err := settings.Parse(&p, []string{"--nonsense"}, "", ""); !errors.As(err, new(*kong.ParseError)) || !strings.Contains(err.Error(), "frontpage --help") {
		t.Errorf("an unknown flag: %v, want a kong.ParseError that points to frontpage --help", err)
	}
}

// A time on the command line has the form of a DateTime.
func TestTimesOfCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z", "2026-01-02t03:04:05.25+01:00": "2026-01-02T02:04:05.25Z",
		"2026-01-02T03:04:05,5Z": "", "2026-01-02T03:04:05": "", "2026-01-02": "", "2026-01-02T24:00:00Z": "",
	} {
		var p struct {
			Since time.Time
			program
		}
		_, err := settings.Parse(&p, []string{"--since", text}, "", "")
		if want == "" && (err == nil || !strings.Contains(err.Error(), "a time such as 2026-01-02T03:04:05Z, with Z or an offset such as +02:00")) {
			t.Errorf("%s: got %v, %v, want an error that shows the form", text, p.Since, err)
		} else if want != "" && (err != nil || p.Since.Format(time.RFC3339Nano) != want) {
			t.Errorf("%s: got %v, %v, want %s", text, p.Since, err, want)
		}
	}
}

// Of several secrets the first encrypts. Each must be long, whether they are in a variable or in a file; the variable SECRET of
// another program is none.
func TestSecretsOfNotices(t *testing.T) {
	long, other := strings.Repeat("x", 32), strings.Repeat("y", 40)
	file := filepath.Join(t.TempDir(), "secrets")
	require.NoError(t, os.WriteFile(file, []byte(long+"\n"+other+"\n"), 0o600))
	t.Setenv("SECRET", other)
	t.Setenv("FRONTPAGE_PUBLIC_URL", "https://news.example.org")
	for arg, want := range map[string]string{
		"": "none", "--secret=" + long + "," + other: "", "--secret-file=" + file: "",
		"--secret=" + long + ",short": "FRONTPAGE_SECRET (--secret): secret 2 has 5 bytes, want at least 32",
	} {
		var p program
		_, err := settings.Parse(&p, strings.Fields(arg), "", "")
		switch {
		case err != nil && err.Error() == want:
		case err != nil:
			t.Errorf("%s: %v", arg, err)
		case want == "none" != (p.Reports().Box == nil) || p.Reports().Origin != "https://news.example.org" || p.Reports().ContactKept != 180*24*time.Hour:
			t.Errorf("%s: %+v", arg, p.Reports())
		}
	}
}

func TestCookiesAreSecureWhereverTheSiteIsServedByHTTPS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s    settings.Serving
		want bool
	}{
		{settings.Serving{}, false},
		{settings.Serving{PublicURL: "http://127.0.0.1:8080"}, false},
		{settings.Serving{PublicURL: "HTTPS://news.example.org"}, true},
		{settings.Serving{TLSCertFile: "cert.pem"}, true},
	} {
		all := settings.Settings{Serving: tt.s}
		if got := tt.s.HTTPS(); got != tt.want || all.Rendered(endpoint.Options{}, nil).Secure != tt.want {
			t.Errorf("FRONTPAGE_PUBLIC_URL=%s FRONTPAGE_TLS_CERT_FILE=%s: got %t", tt.s.PublicURL, tt.s.TLSCertFile, got)
		}
	}
}

func TestPublicURLBeginsLinks(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                              "",
		"https://news.example.org":      "https://news.example.org",
		"HTTPS://News.Example.org:444/": "https://news.example.org:444",
		"https://news.example.org//":    "https://news.example.org",
		"https://news.example.org?":     "https://news.example.org",
		"https://b\u00fccher.example/":  "https://xn--bcher-kva.example",
		"http://127.0.0.1:8080":         "http://127.0.0.1:8080",
		"http://[::1]:8080":             "http://[::1]:8080",
	} {
		var p program
		_, err := settings.Parse(&p, []string{"--public-url=" + url}, "", "")
		if got := p.Feeds(nil).PublicURL; err != nil || got != want {
			t.Errorf("--public-url=%s: %q, %v, want %q", url, got, err, want)
		}
	}
	for _, url := range []string{"https://news.example.org/path", "https://news.example.org?a", "https://alice@news.example.org", "https://:80", "ftp://news.example.org", "news.example.org"} {
		var p program
		if _, err := settings.Parse(&p, []string{"--public-url=" + url}, "", ""); !errors.As(err, new(*settings.Error)) || !strings.Contains(err.Error(), "FRONTPAGE_PUBLIC_URL") {
			t.Errorf("--public-url=%s: %v, want an error that names FRONTPAGE_PUBLIC_URL", url, err)
		}
	}
}

const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>`

func TestLooksOfTheSite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "logo.svg")
	require.NoError(t, os.WriteFile(file, []byte(logo), 0o600))
	var p program
	require.Value(settings.Parse(&p, []string{
		"--site-name=Ünews & more", "--site-about=All the news.", "--site-language=de", "--site-accent=#123456", "--site-logo=" + file,
		"--site-rules=No advertising; Be kind, please\n;", "--site-links=Rules=https://example.org/rules?a=b,Mail=mailto:ada@example.org,Here=/new",
	}, "", ""))(t)
	o := p.Pages()
	links := []web.Link{{Text: "Rules", URL: "https://example.org/rules?a=b"}, {Text: "Mail", URL: "mailto:ada@example.org"}, {Text: "Here", URL: "/new"}}
	if o.Name != "Ünews & more" || o.About != "All the news." || o.Texts.Language() != "de" || o.Accent != "#123456" ||
		string(o.Logo.Content) != logo || o.Logo.Extension != ".svg" || !slices.Equal(o.Links, links) || !slices.Equal(o.Rules, []string{"No advertising", "Be kind, please"}) {
		t.Errorf("got %+v", o)
	}
	if name := p.Feeds(nil).Name; name != "Ünews & more" {
		t.Errorf("feeds are called %s", name)
	}
}

func TestTheSiteLeavesOutPagesThatItsRulesDo(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"": {"group-top", "notice"},
		"--secret=0123456789abcdef0123456789abcdef": {"group-top"},
		"--calendar=groups":                         {"notice"},
		"--calendar=off":                            {"group-top", "lab", "notice", "top"},
		"--front-pages-kept=0":                      {"group-top", "notice", "past"},
		"--votes-kept=off":                          {"group-top", "notice", "votes"},
		"--votes-kept=0":                            {"group-top", "notice"},
		"--search=off":                              {"group-top", "notice", "search"},
		"--events-kept=0":                           {"group-top", "notice", "search"},
		"--calendar=off --front-pages-kept=0":       {"group-top", "lab", "notice", "past", "top"},
	} {
		var p program
		require.Value(settings.Parse(&p, strings.Fields(args), "", ""))(t)
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
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
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
		"--site-rules=" + strings.Repeat("a", 201):            "FRONTPAGE_SITE_RULES (--site-rules): it has 201 characters, want at most 200",
		"--site-rules=" + strings.Repeat("a;", 11):            "FRONTPAGE_SITE_RULES (--site-rules): there are 11, want at most 10",
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
