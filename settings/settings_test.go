package settings_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"frontpage/endpoint"
	"frontpage/settings"
)

// program is a command line with nothing but the settings.
type program struct {
	settings.Settings `embed:""`

	Serve struct{} `cmd:"" default:"withargs"`
}

func TestVariableIsNamedLikeItsFlag(t *testing.T) {
	t.Parallel()
	var p program
	command, err := settings.Parse(&p, nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range command.Model.Flags {
		if flag.Name != "help" && !reflect.DeepEqual(flag.Envs, []string{settings.Variable(flag.Name)}) {
			t.Errorf("--%s has the variables %q, want %s", flag.Name, flag.Envs, settings.Variable(flag.Name))
		}
		if flag.Help == "" && flag.Name != "help" || flag.Group == nil && flag.Name != "help" {
			t.Errorf("--%s has no help or no group", flag.Name)
		}
	}
}

func TestInvalidSettingIsATypedError(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"--voting-window=7":                 `VOTING_WINDOW (--voting-window): "7" is not a duration such as 7d, 1d12h, 90s or 400ms`,
		"--vote-score=0":                    "VOTE_SCORE (--vote-score): 0 is not between 1 and 1000000000 seconds",
		"--ranking=reddit":                  `RANKING (--ranking): "reddit" is not linear, capped or halflife`,
		"--vote-history=no":                 `VOTE_HISTORY (--vote-history): "no" is not a duration such as 400d or 90s, 0 or off`,
		"--group-top --no-calendar":         "GROUP_TOP (--group-top): it needs the calendar",
		"--ranking=capped --rank-cap=0":     "RANK_CAP (--rank-cap): 0s is not a whole number of seconds, 1m to 3650d",
		"--half-life=1s --ranking=halflife": "HALF_LIFE (--half-life): 1s is not a whole number of seconds, 1m to 3650d",
		"--front-pages=30m":                 "FRONT_PAGES (--front-pages): 30m0s is not a whole number of seconds, at least 1h, or 0",
		"--milestones=3,1":                  "MILESTONES (--milestones): [3 1] are not ascending numbers of votes, at least 1",
		"--events=-1":                       "EVENTS (--events): -1 is not between 0 and 1000000000",
		"--depth-limit=0":                   "DEPTH_LIMIT (--depth-limit): 0 is below 1",
		"--partitions=3":                    "PARTITIONS (--partitions): 3 is not one of 1, 2, 4, 8, 16, 32, 64, 128 and 256",
		"--redis-acks=11":                   "REDIS_ACKS (--redis-acks): 11 is not between 0 and 10",
		"--rate-addresses=0":                "RATE_ADDRESSES (--rate-addresses): 0 is not between 1 and 1000000000",
		"--tls-key-file=x.pem":              "TLS_CERT_FILE (--tls-cert-file), TLS_KEY_FILE (--tls-key-file): one is set and the other is not",
		"--log-level=loud":                  `LOG_LEVEL (--log-level): "loud" is not debug, info, warn or error`,
	} {
		var p program
		_, err := settings.Parse(&p, strings.Fields(arg), "", "")
		if invalid := new(settings.Error); !errors.As(err, &invalid) || err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
	var p program
	if _, err := settings.Parse(&p, []string{"--nonsense"}, "", ""); !errors.As(err, new(*kong.ParseError)) || !strings.Contains(err.Error(), "frontpage --help") {
		t.Errorf("an unknown flag: %v, want a kong.ParseError that points to frontpage --help", err)
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
			t.Errorf("PUBLIC_URL=%s TLS_CERT_FILE=%s: got %t", tt.s.PublicURL, tt.s.TLSCertFile, got)
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
		if _, err := settings.Parse(&p, []string{"--public-url=" + url}, "", ""); !errors.As(err, new(*settings.Error)) || !strings.Contains(err.Error(), "PUBLIC_URL") {
			t.Errorf("--public-url=%s: %v, want an error that names PUBLIC_URL", url, err)
		}
	}
}
