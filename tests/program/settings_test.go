package program_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontpage/programtest"
	"frontpage/redistest"
)

// invalid is an environment with an invalid setting.
type invalid struct {
	env   []string
	flags string   // of the settings that the error must name, separated by spaces
	says  []string // what else the error must contain
}

// check starts the program. It must end with this exit code and an error in one line, which names each
// setting by variable and flag, and contains no secret.
func (i invalid) check(t *testing.T, code int) {
	t.Helper()
	out, err := programtest.Command(t, append([]string{"REDIS_URL=memory://"}, i.env...)).CombinedOutput()
	text := strings.TrimSpace(string(out))
	last := text[strings.LastIndexByte(text, '\n')+1:]
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code || !strings.HasPrefix(last, "frontpage: ") {
		t.Errorf("%q: %v, want exit code %d and an error\n%s", i.env, err, code, text)
	}
	if code == 2 && last != text || strings.Contains(text, "msg=serving") {
		t.Errorf("%q: more than the error is logged:\n%s", i.env, text)
	}
	for flag := range strings.FieldsSeq(i.flags) {
		i.says = append(i.says, strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))+" (--"+flag+")")
	}
	for _, part := range i.says {
		if !strings.Contains(last, part) {
			t.Errorf("%q: the error does not say %q: %s", i.env, part, last)
		}
	}
	if strings.Contains(text, "sesame") {
		t.Errorf("%q: a secret is shown: %s", i.env, text)
	}
}

func TestInvalidSettingStopsTheStart(t *testing.T) {
	t.Parallel()
	for setting, flag := range map[string]string{
		"VOTE_SCORE=0":                       "vote-score",
		"VOTE_SCORE=x":                       "vote-score",
		"VOTING_WINDOW=7":                    "voting-window",
		"VOTING_WINDOW=7 days":               "voting-window",
		"VOTING_WINDOW=-1d":                  "voting-window",
		"VOTING_WINDOW=106752d":              "voting-window",
		"POSTER_VOTES=perhaps":               "poster-votes",
		"INTERESTING_VOTES=0":                "interesting-votes",
		"PAGE_SIZE=101":                      "page-size",
		"GROUP_CACHE_TTL=0s":                 "group-cache-ttl",
		"LINK_WINDOW=-1h":                    "link-window",
		"LINK_WINDOW=1.5s":                   "link-window",
		"REDIS_TIMEOUT=0s":                   "redis-timeout",
		"BODY_LIMIT=0":                       "body-limit",
		"REQUEST_TIMEOUT=0s":                 "request-timeout",
		"SHARED_ANSWERS=2m":                  "shared-answers",
		"CACHE_MAX_AGE=1500ms":               "cache-max-age",
		"TOKEN_LIMIT=0":                      "token-limit",
		"DEPTH_LIMIT=0":                      "depth-limit",
		"ALIAS_LIMIT=-1":                     "alias-limit",
		"ROOT_FIELD_LIMIT=0":                 "root-field-limit",
		"DIRECTIVE_LIMIT=-1":                 "directive-limit",
		"FIELD_LIMIT=0":                      "field-limit",
		"COMPLEXITY_LIMIT=many":              "complexity-limit",
		"PING_INTERVAL=99ms":                 "ping-interval",
		"STREAMS_PER_ADDRESS=0":              "streams-per-address",
		"STREAMS_PER_VIEWER=0":               "streams-per-viewer",
		"OPERATIONS_PER_SOCKET=0":            "operations-per-socket",
		"INTROSPECTION=perhaps":              "introspection",
		"GET_PREFLIGHT=2":                    "get-preflight",
		"SITE=":                              "site",
		"EXPLORER=none":                      "explorer",
		"DEMO=perhaps":                       "demo",
		"SHUTDOWN_DELAY=-1s":                 "shutdown-delay",
		"DRAIN_TIME=5":                       "drain-time",
		"H2C=perhaps":                        "h2c",
		"CORS_ORIGINS=https://a.b,c.d":       "cors-origins",
		"CORS_ORIGINS=https://a.b/":          "cors-origins",
		"GC_PERCENT=0":                       "gc-percent",
		"MEMORY_LIMIT_MIB=0":                 "memory-limit-mib",
		"LOG_FORMAT=xml":                     "log-format",
		"TLS_CERT_FILE=x":                    "tls-cert-file tls-key-file",
		"TLS_KEY_FILE=x":                     "tls-cert-file tls-key-file",
		"AUDIT_SECRET=" + auditSecret[:31]:   "audit-secret",
		"RATE_ADDRESSES=0":                   "rate-addresses",
		"RATE_VOTES=60":                      "rate-votes",
		"RATE_VOTES=60/":                     "rate-votes",
		"RATE_VOTES=/1m":                     "rate-votes",
		"RATE_VOTES=0/1m":                    "rate-votes",
		"RATE_VOTES=-5/1m":                   "rate-votes",
		"RATE_VOTES=60/1":                    "rate-votes",
		"RATE_VOTES=60/999ms":                "rate-votes",
		"RATE_VOTES=60/-1m":                  "rate-votes",
		"RATE_VOTES=60/1m/1h":                "rate-votes",
		"RATE_VOTES=60 / 1m":                 "rate-votes",
		"RATE_VOTES=99999999999999999999/1m": "rate-votes",
		"RATE_VOTES=OFF":                     "rate-votes",
		"RATE_POSTS=ten":                     "rate-posts",
		"RATE_CHANGES=1m/60":                 "rate-changes",
		"RATE_COST=lots/1m":                  "rate-cost",
		"TRUSTED_PROXIES=proxy.example":      "trusted-proxies",
		"TRUSTED_PROXIES=10.0.0.1/33":        "trusted-proxies",
		"TRUSTED_PROXIES=fe80::1%eth0/64":    "trusted-proxies",
		"JWT_LEEWAY=30":                      "jwt-leeway",
		"JWKS_REFRESH=999ms":                 "jwks-refresh",
	} {
		invalid{env: []string{setting}, flags: flag}.check(t, 2)
	}
	for _, i := range []invalid{
		{[]string{"REDIS_URL_FILE=" + fileOf(t, "memory://")}, "redis-url redis-url-file", []string{"set only one"}}, // the other is memory://
		{[]string{"REDIS_URL=", "REDIS_URL_FILE=" + fileOf(t, "\n")}, "redis-url-file", []string{"is empty"}},
		{[]string{"AUDIT_SECRET=" + auditSecret, "AUDIT_SECRET_FILE=" + fileOf(t, auditSecret)}, "audit-secret audit-secret-file", []string{"set only one"}},
		{[]string{"AUDIT_SECRET_FILE=" + fileOf(t, auditSecret[:31]+"\n")}, "audit-secret-file", []string{"31 bytes", "at least 32"}},
		{[]string{"AUDIT_SECRET_FILE=nowhere"}, "audit-secret-file", []string{"nowhere"}},
	} {
		i.check(t, 2)
	}
	invalid{[]string{"LOG_LEVEL=loud"}, "log-level", []string{"debug, info, warn or error"}}.check(t, 2)
	invalid{[]string{"RATE_VOTES=many"}, "rate-votes", []string{"60/1m", "off"}}.check(t, 2)
	for _, i := range []invalid{
		{[]string{"TRUSTED_DOCUMENTS=nowhere.json"}, "trusted-documents", []string{"nowhere.json"}},
		{[]string{"TLS_CERT_FILE=nowhere", "TLS_KEY_FILE=nowhere"}, "tls-cert-file tls-key-file", []string{"nowhere"}},
		{[]string{"ADDR=0.0.0.0:0"}, "addr", []string{"loopback"}},
		{[]string{"ADDR=nonsense"}, "addr", nil},
		{[]string{"REDIS_URL=http://x"}, "redis-url", []string{"redis://"}},
		{[]string{"REDIS_URL=redis://user:secret@127.0.0.1:1"}, "", []string{"connect to redis://127.0.0.1:1:"}},
		{[]string{"REDIS_CA_FILE=x"}, "redis-ca-file redis-url", nil},
	} {
		i.check(t, 1)
	}
	invalid{[]string{"ADDR=127.0.0.1:8080", "ADMIN_ADDR=127.0.0.1:8080"}, "admin-addr addr", []string{"is given for both"}}.check(t, 2)
}

func TestInvalidSignInSettingStopsTheStart(t *testing.T) {
	t.Parallel()
	keys, secret := fileOf(t, testKeys), fileOf(t, testSecret)
	oneOf := []string{"set only one of "}
	short := []string{"31 bytes", "at least 32"}
	for _, i := range []invalid{
		{[]string{"JWT_SECRET=" + testSecret, "JWT_SECRET_FILE=" + secret}, "jwt-secret jwt-secret-file", oneOf},
		{[]string{"JWT_SECRET=" + testSecret, "JWKS_FILE=" + keys, "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, "jwt-secret jwks-file", oneOf},
		{[]string{"JWT_SECRET=" + testSecret, "PROXY_USER_HEADER=X-User", "TRUSTED_PROXIES=10.0.0.0/8"}, "jwt-secret proxy-user-header", oneOf},
		{[]string{"JWKS_URL=https://i.example/", "JWKS_FILE=" + keys, "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, "jwks-url jwks-file", oneOf},
		{[]string{"JWT_SECRET=" + testSecret[:31]}, "jwt-secret", short},
		{[]string{"JWT_SECRET_FILE=" + fileOf(t, testSecret[:31]+"\n")}, "jwt-secret-file", short},
		{[]string{"JWT_SECRET_FILE=nowhere"}, "jwt-secret-file", []string{"nowhere"}},
		{[]string{"JWKS_FILE=" + keys, "JWT_ISSUER=i"}, "jwks-file jwt-audience", nil},
		{[]string{"JWKS_FILE=" + keys, "JWT_AUDIENCE=a"}, "jwks-file jwt-issuer", nil},
		{[]string{"JWKS_URL=https://127.0.0.1:1/", "JWT_ISSUER=i"}, "jwks-url jwt-audience", nil},
		{[]string{"JWKS_FILE=" + secret, "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, "jwks-file", []string{"key set"}},
		{[]string{"JWKS_URL=http://i.example/", "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, "jwks-url", []string{"https://"}},
		{[]string{"JWT_ISSUER=i"}, "jwt-issuer", nil},
		{[]string{"JWT_AUDIENCE=a"}, "jwt-audience", nil},
		{[]string{"PROXY_USER_HEADER=X-User"}, "proxy-user-header trusted-proxies", nil},
		{[]string{"PROXY_ROLES_HEADER=X-Roles"}, "proxy-roles-header proxy-user-header", nil},
		{[]string{"OIDC_ISSUER=https://127.0.0.1:1"}, "oidc-issuer oidc-client-id", nil},
		{[]string{"OIDC_ISSUER=https://127.0.0.1:1", "OIDC_CLIENT_ID=x"}, "oidc-issuer public-url", nil},
		{[]string{"OIDC_ISSUER=http://login.example.org", "OIDC_CLIENT_ID=x", "PUBLIC_URL=https://news.example.org"}, "oidc-issuer", []string{"https://"}},
		{[]string{"OIDC_ISSUER=https://127.0.0.1:1", "OIDC_CLIENT_ID=x", "PUBLIC_URL=http://news.example.org"}, "public-url", []string{"https://"}},
		{[]string{"OIDC_ISSUER=https://127.0.0.1:1", "OIDC_CLIENT_ID=x", "PUBLIC_URL=https://news.example.org", "PROXY_USER_HEADER=X-User", "TRUSTED_PROXIES=10.0.0.0/8"}, "oidc-issuer proxy-user-header", oneOf},
	} {
		i.check(t, 1)
	}
	for _, i := range []invalid{
		{[]string{"OIDC_CLIENT_ID=x"}, "oidc-client-id", []string{"OIDC_ISSUER is missing"}},
		{[]string{"OIDC_CLIENT_SECRET=" + testSecret}, "oidc-client-secret", []string{"OIDC_ISSUER is missing"}},
		{[]string{"OIDC_ISSUER=https://127.0.0.1:1", "OIDC_CLIENT_SECRET=" + testSecret, "OIDC_CLIENT_SECRET_FILE=" + secret}, "oidc-client-secret oidc-client-secret-file", oneOf},
		{[]string{"OIDC_ISSUER=https://127.0.0.1:1", "OIDC_CLIENT_SECRET_FILE=nowhere"}, "oidc-client-secret-file", []string{"nowhere"}},
		{[]string{"OIDC_ISSUER=https://127.0.0.1:1", "SESSION_LIFETIME=1s"}, "session-lifetime", []string{"below 1m"}},
		{[]string{"OIDC_ISSUER=https://127.0.0.1:1", "SIGN_IN_URL=/login?to={return}"}, "sign-in-url oidc-issuer", []string{"set only one of them"}},
		{[]string{"JWT_SECRET=" + testSecret, "JWT_LEEWAY=-1s"}, "jwt-leeway", []string{"below 0"}},
		{[]string{"SIGN_IN_URL=https://example.org/login?to={return}"}, "sign-in-url", []string{"development mode"}},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL=https://example.org/login"}, "sign-in-url", []string{"{return}"}},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL=javascript:alert(1)//{return}"}, "sign-in-url", []string{"https URL"}},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL=//example.org/{return}"}, "sign-in-url", nil},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL=https:{return}"}, "sign-in-url", nil},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL={return}"}, "sign-in-url", nil},
	} {
		i.check(t, 2)
	}
}

func TestPortInUseErrorSuggestsAnotherPort(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	invalid{[]string{"ADDR=" + other.Addr().String()}, "addr", []string{"ADDR=127.0.0.1:", " frontpage"}}.check(t, 1)
}

// Errors in arguments point to the help.
func TestUnknownArgumentErrorPointsToHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--no-such-flag"}, {"no-such-command"}, {"import"}, {"--addr"}, {"token", "alice", "--for", "1"}} {
		_, text, code := programtest.Run(t, nil, args...)
		if code != 2 || strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "see frontpage --help\n") {
			t.Errorf("%q: exit code %d: %s", args, code, text)
		}
	}
}

// Each spelling of a boolean works as a variable and as a flag.
func TestBooleanSettingAcceptsOldSpellings(t *testing.T) {
	t.Parallel()
	shown := func(args []string, env ...string) bool {
		t.Helper()
		s := &server{programtest.StartCommand(t, programtest.Command(t, append(env, "REDIS_URL=memory://"), args...)), t}
		defer s.Stop()
		return s.status("/graphiql") == 200
	}
	for _, spelling := range []string{"false", "off", "no", "0", "FALSE"} {
		if shown(nil, "EXPLORER="+spelling) {
			t.Errorf("EXPLORER=%s leaves the explorer on", spelling)
		}
	}
	for _, spelling := range []string{"true", "on", "yes", "1", "On"} {
		if !shown(nil, "EXPLORER="+spelling) {
			t.Errorf("EXPLORER=%s switches the explorer off", spelling)
		}
	}
	for _, flag := range [][]string{{"--no-explorer"}, {"--explorer=false"}, {"--explorer=off"}, {"--explorer", "off"}} {
		if shown(flag) {
			t.Errorf("%s leaves the explorer on", flag)
		}
	}
	for _, flag := range [][]string{{"--explorer"}, {"--explorer=true"}, {"--explorer=on"}, {"--explorer", "on"}} {
		if !shown(flag, "EXPLORER=false") {
			t.Errorf("%s does not override EXPLORER=false", flag)
		}
	}
}

func TestSecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	if err := redis.Client.ConfigSet(t.Context(), "requirepass", "sesame").Err(); err != nil {
		t.Fatal(err)
	}
	url := "unix://:sesame@" + redis.Socket()
	env := []string{"REDIS_URL_FILE=" + fileOf(t, url+"\n"), "AUDIT_SECRET_FILE=" + fileOf(t, auditSecret+"\r\n")}
	s := start(t, env...)
	s.useIt()
	_ = s.as("bob", "", `mutation { vote(input: {article: 1, direction: UP}) { changed } }`)
	votes, text, code := programtest.Run(t, env, "audit", "1")
	if code != 0 || !regexp.MustCompile(`(?m)^bob\tup\t\S+\t[^-\s]\S+$`).MatchString(votes) {
		t.Errorf("audit: exit code %d, %q, want bob's vote with time and hashed address\n%s", code, votes, text)
	}
	if log := s.Stop(); strings.Contains(log, "sesame") {
		t.Errorf("the log contains a secret:\n%s", log)
	}
}

func TestDurationSettingAcceptsDays(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	env := []string{"DATA_DIR=" + data, "VOTING_WINDOW=1d12h", "LINK_WINDOW=7d", "RATE_POSTS=10/1d"}
	start(t, env...).Stop()
	// The same duration in other units is not a change of the rules; another duration is.
	if _, text, code := programtest.Run(t, []string{"DATA_DIR=" + data, "VOTING_WINDOW=36h"}, "check"); code != 0 {
		t.Errorf("36h after 1d12h: exit code %d, want 0: %s", code, text)
	}
	if _, text, code := programtest.Run(t, []string{"DATA_DIR=" + data, "VOTING_WINDOW=2d"}, "check"); code != 1 || !strings.Contains(text, "voting_window") {
		t.Errorf("2d after 1d12h: exit code %d, want 1 and an error that names voting_window: %s", code, text)
	}
}

func TestEndpointSettingsTakeEffect(t *testing.T) {
	t.Parallel()
	trusted := filepath.Join(t.TempDir(), "trusted.json")
	if err := os.WriteFile(trusted, []byte(`{"a": "{ viewer { id } }"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	strict := start(t, "REDIS_URL=memory://", "BODY_LIMIT=300", "TOKEN_LIMIT=40", "DEPTH_LIMIT=2", "ALIAS_LIMIT=1", "ROOT_FIELD_LIMIT=2",
		"DIRECTIVE_LIMIT=0", "FIELD_LIMIT=5", "COMPLEXITY_LIMIT=30", "INTROSPECTION=false", "GET_PREFLIGHT=true")
	for query, code := range map[string]string{
		`{ viewer { id } }`:                        "",
		`{` + strings.Repeat(" viewer", 60) + ` }`: "BODY_LIMIT_EXCEEDED",
		`{` + strings.Repeat("{", 40) + ` }`:       "GRAPHQL_PARSE_FAILED",
		`{` + strings.Repeat(" viewer", 39) + ` }`: "TOKEN_LIMIT_EXCEEDED",
		`{ article(id: 1) { poster { id } } }`:     "DEPTH_LIMIT_EXCEEDED",
		`{ a: __typename b: __typename }`:          "ALIAS_LIMIT_EXCEEDED",
		`{ __typename __typename __typename }`:     "ROOT_FIELD_LIMIT_EXCEEDED",
		`{ __typename @skip(if: true) }`:           "DIRECTIVE_LIMIT_EXCEEDED",
		`{ viewer { id id id id id } }`:            "FIELD_LIMIT_EXCEEDED",
		`{ articles { id } }`:                      "COMPLEXITY_LIMIT_EXCEEDED",
		`{ __schema { __typename } }`:              "INTROSPECTION_DISABLED",
	} {
		if got := strict.ask(query); code == "" && strings.Contains(got, "errors") || code != "" && !strings.Contains(got, `"code":"`+code+`"`) {
			t.Errorf("%s: %s, want %s", query, got, code)
		}
	}
	if status := strict.status("/query?query={__typename}"); status != 403 {
		t.Errorf("GET without preflight header: status %d, want 403", status)
	}
	strict.Stop()
	trusting := start(t, "REDIS_URL=memory://", "TRUSTED_DOCUMENTS="+trusted, "CORS_ORIGINS=https://a.b", "REQUEST_TIMEOUT=2s")
	if got := trusting.ask(`{ viewer { name } }`); !strings.Contains(got, "DOCUMENT_NOT_TRUSTED") {
		t.Errorf("untrusted document: %s", got)
	}
	if got := trusting.ask(`{ viewer { id } }`); got != `{"data":{"viewer":{"id":"user:alice"}}}` {
		t.Errorf("trusted document: %s", got)
	}
	trusting.Stop()
}

func TestHelpListsCommandsThenGroupsOfSettings(t *testing.T) {
	t.Parallel()
	help, _, code := programtest.Run(t, nil, "--help")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	// Commands come first, then the groups of settings.
	place := -1
	for _, title := range []string{"Commands:\n  serve ", "Flags:", "Serving:", "--demo", "Store:", "Rules of the site", "Sign-in", "API:", "Rate limits", "Log and memory:"} {
		at := strings.Index(help, title)
		if at <= place {
			t.Errorf("%q is missing or out of order in the help:\n%s", title, help)
		}
		place = at
	}
	if strings.Contains(help, "...,...") {
		t.Errorf("the help contains ...,...:\n%s", help)
	}
	settings := regexp.MustCompile(`\(\$([A-Z0-9_]+)\)`).FindAllStringSubmatch(help, -1)
	if len(settings) < 60 {
		t.Errorf("the help names %d settings, want at least 60:\n%s", len(settings), help)
	}
	for _, setting := range settings {
		if flag := "--" + strings.ToLower(strings.ReplaceAll(setting[1], "_", "-")); !slices.ContainsFunc([]string{flag, "--[no-]" + flag[2:]}, func(s string) bool { return strings.Contains(help, s) }) {
			t.Errorf("the flag of %s is not %s", setting[1], flag)
		}
	}
}
