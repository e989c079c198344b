package program_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"frontpage/settings"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
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
		i.says = append(i.says, settings.Name(flag))
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
	invalid{env: []string{"FRONTPAGE_VOTING_WINDOW=7 days"}, flags: "voting-window"}.check(t, 2) // settings.TestInvalidSettingIsATypedError has all others
	for _, i := range []invalid{
		{[]string{"FRONTPAGE_TLS_CERT_FILE=x"}, "tls-cert-file tls-key-file", nil},
		{[]string{"FRONTPAGE_TLS_KEY_FILE=x"}, "tls-cert-file tls-key-file", nil},
		{[]string{"REDIS_URL_FILE=" + fileOf(t, "memory://")}, "redis-url redis-url-file", []string{"set only one"}}, // the other is memory://
		{[]string{"REDIS_URL=", "REDIS_URL_FILE=" + fileOf(t, "\n")}, "redis-url-file", []string{"is empty"}},
		{[]string{"FRONTPAGE_AUDIT_SECRET=" + auditSecret, "FRONTPAGE_AUDIT_SECRET_FILE=" + fileOf(t, auditSecret)}, "audit-secret audit-secret-file", []string{"set only one"}},
		{[]string{"FRONTPAGE_AUDIT_SECRET_FILE=" + fileOf(t, auditSecret[:31]+"\n")}, "audit-secret-file", []string{"31 bytes", "at least 32"}},
		{[]string{"FRONTPAGE_AUDIT_SECRET_FILE=nowhere"}, "audit-secret-file", []string{"nowhere"}},
	} {
		i.check(t, 2)
	}
	invalid{[]string{"FRONTPAGE_LOG_LEVEL=loud"}, "log-level", []string{"debug, info, warn or error"}}.check(t, 2)
	invalid{[]string{"FRONTPAGE_RATES=votes=many"}, "rates", []string{"60/1m", "off"}}.check(t, 2)
	for _, i := range []invalid{
		{[]string{"FRONTPAGE_TRUSTED_DOCUMENTS=nowhere.json"}, "trusted-documents", []string{"nowhere.json"}},
		{[]string{"FRONTPAGE_TLS_CERT_FILE=nowhere", "FRONTPAGE_TLS_KEY_FILE=nowhere"}, "tls-cert-file tls-key-file", []string{"nowhere"}},
		{[]string{"FRONTPAGE_ADDR=0.0.0.0:0"}, "addr", []string{"loopback"}},
		{[]string{"REDIS_URL=http://x"}, "redis-url", []string{"redis://"}},
		{[]string{"REDIS_URL=localhost:6379"}, "redis-url", []string{"did you mean redis://localhost:6379?"}},
		{[]string{"REDIS_URL=https://localhost:6379/0"}, "redis-url", []string{"did you mean redis://localhost:6379?"}},
		{[]string{"REDIS_URL=open:sesame@localhost:6379"}, "redis-url", []string{"must begin with"}},
		{[]string{"REDIS_URL=redis://127.0.0.1:port"}, "redis-url", nil},
		{[]string{"REDIS_URL=redis://127.0.0.1?partitions=x"}, "redis-url", []string{"partitions must be"}},
		{[]string{"REDIS_URL=memory://", "FRONTPAGE_REDIS_ACKS=1"}, "redis-acks redis-url", []string{"no replicas"}},
		{[]string{"REDIS_URL=rediss://127.0.0.1:1", "FRONTPAGE_REDIS_CA_FILE=nowhere.pem"}, "", []string{"nowhere.pem"}},
		{[]string{"FRONTPAGE_REDIS_CA_FILE=x"}, "redis-ca-file redis-url", nil},
		{[]string{"FRONTPAGE_ADDR=127.0.0.1:99999"}, "addr", []string{"invalid port"}},
		{[]string{"FRONTPAGE_ADDR=8092"}, "addr", []string{"such as 127.0.0.1:8092"}},
		{[]string{"FRONTPAGE_ADDR=localhost"}, "addr", []string{"such as 127.0.0.1:8080"}},
		{[]string{"FRONTPAGE_CORS_ORIGINS=http://localhost:5173/"}, "cors-origins", []string{"without a slash at the end"}},
		{[]string{"FRONTPAGE_EMBED_ORIGINS=https://a.example/"}, "embed-origins", []string{"without a slash at the end"}},
		{[]string{"FRONTPAGE_ADMIN_ADDR=0.0.0.0:0"}, "admin-addr", []string{"without a token"}},
		{[]string{"REDIS_URL=spawn:///proc/x"}, "data-dir", []string{"cannot be made"}},
		{[]string{"OTEL_TRACES_EXPORTER=zipkin"}, "", []string{"OTEL_TRACES_EXPORTER"}},
	} {
		i.check(t, 2)
	}
	invalid{[]string{"REDIS_URL=redis://user:secret@127.0.0.1:1"}, "redis-url", []string{"connect to redis://127.0.0.1:1:"}}.check(t, 1) // it may work the next time
	invalid{[]string{"FRONTPAGE_ADDR=127.0.0.1:8080", "FRONTPAGE_ADMIN_ADDR=127.0.0.1:8080"}, "admin-addr addr", []string{"is given for both"}}.check(t, 2)
}

func TestInvalidSignInSettingStopsTheStart(t *testing.T) {
	t.Parallel()
	keys, secret := fileOf(t, testKeys), fileOf(t, testSecret)
	oneOf := []string{"set only one of "}
	short := []string{"31 bytes", "at least 32"}
	for _, i := range []invalid{
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_JWKS=" + keys, "FRONTPAGE_JWT_ISSUER=i", "FRONTPAGE_JWT_AUDIENCE=a"}, "jwt-secret jwks", oneOf},
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_PROXY_USER_HEADER=X-User", "FRONTPAGE_TRUSTED_PROXIES=10.0.0.0/8"}, "jwt-secret proxy-user-header", oneOf},
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret[:31]}, "jwt-secret", short},
		{[]string{"FRONTPAGE_JWT_SECRET_FILE=" + fileOf(t, testSecret[:31]+"\n")}, "jwt-secret-file", short},
		{[]string{"FRONTPAGE_JWKS=" + keys, "FRONTPAGE_JWT_ISSUER=i"}, "jwks jwt-audience", nil},
		{[]string{"FRONTPAGE_JWKS=" + keys, "FRONTPAGE_JWT_AUDIENCE=a"}, "jwks jwt-issuer", nil},
		{[]string{"FRONTPAGE_JWKS=https://127.0.0.1:1/", "FRONTPAGE_JWT_ISSUER=i"}, "jwks jwt-audience", nil},
		{[]string{"FRONTPAGE_JWKS=" + secret, "FRONTPAGE_JWT_ISSUER=i", "FRONTPAGE_JWT_AUDIENCE=a"}, "jwks", []string{"key set"}},
		{[]string{"FRONTPAGE_JWKS=http://i.example/", "FRONTPAGE_JWT_ISSUER=i", "FRONTPAGE_JWT_AUDIENCE=a"}, "jwks", []string{"https://"}},
		{[]string{"FRONTPAGE_JWT_ISSUER=i"}, "jwt-issuer", nil},
		{[]string{"FRONTPAGE_JWT_AUDIENCE=a"}, "jwt-audience", nil},
		{[]string{"FRONTPAGE_PROXY_USER_HEADER=X-User"}, "proxy-user-header trusted-proxies", nil},
		{[]string{"FRONTPAGE_PROXY_ROLES_HEADER=X-Roles"}, "proxy-roles-header proxy-user-header", nil},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1"}, "oidc-issuer oidc-client-id", nil},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1", "FRONTPAGE_OIDC_CLIENT_ID=x"}, "oidc-issuer public-url", nil},
		{[]string{"FRONTPAGE_OIDC_ISSUER=http://login.example.org", "FRONTPAGE_OIDC_CLIENT_ID=x", "FRONTPAGE_PUBLIC_URL=https://news.example.org"}, "oidc-issuer", []string{"https://"}},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1", "FRONTPAGE_OIDC_CLIENT_ID=x", "FRONTPAGE_PUBLIC_URL=http://news.example.org"}, "public-url", []string{"https://"}},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1", "FRONTPAGE_OIDC_CLIENT_ID=x", "FRONTPAGE_PUBLIC_URL=https://news.example.org", "FRONTPAGE_PROXY_USER_HEADER=X-User", "FRONTPAGE_TRUSTED_PROXIES=10.0.0.0/8"}, "oidc-issuer proxy-user-header", oneOf},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1", "FRONTPAGE_OIDC_CLIENT_ID=x", "FRONTPAGE_PUBLIC_URL=https://news.example.org", "FRONTPAGE_OIDC_CLIENT_AUTH=post"}, "oidc-client-auth", []string{"client_secret_post"}},
	} {
		i.check(t, 2)
	}
	for _, i := range []invalid{
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_JWT_SECRET_FILE=" + secret}, "jwt-secret jwt-secret-file", oneOf},
		{[]string{"FRONTPAGE_JWT_SECRET_FILE=nowhere"}, "jwt-secret-file", []string{"nowhere"}},
		{[]string{"FRONTPAGE_OIDC_CLIENT_ID=x"}, "oidc-client-id", []string{"FRONTPAGE_OIDC_ISSUER is missing"}},
		{[]string{"FRONTPAGE_OIDC_CLIENT_SECRET=" + testSecret}, "oidc-client-secret", []string{"FRONTPAGE_OIDC_ISSUER is missing"}},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1", "FRONTPAGE_OIDC_CLIENT_SECRET=" + testSecret, "FRONTPAGE_OIDC_CLIENT_SECRET_FILE=" + secret}, "oidc-client-secret oidc-client-secret-file", oneOf},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1", "FRONTPAGE_OIDC_CLIENT_SECRET_FILE=nowhere"}, "oidc-client-secret-file", []string{"nowhere"}},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1", "FRONTPAGE_SESSION_LIFETIME=1s"}, "session-lifetime", []string{"below 1m"}},
		{[]string{"FRONTPAGE_OIDC_ISSUER=https://127.0.0.1:1", "FRONTPAGE_SIGN_IN_URL=/login?to={return}"}, "sign-in-url oidc-issuer", []string{"set only one of them"}},
		{[]string{"FRONTPAGE_SIGN_IN_URL=https://example.org/login?to={return}"}, "sign-in-url", []string{"development mode"}},
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_SIGN_IN_URL=https://example.org/login"}, "sign-in-url", []string{"{return}"}},
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_SIGN_IN_URL=javascript:alert(1)//{return}"}, "sign-in-url", []string{"https URL"}},
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_SIGN_IN_URL=//example.org/{return}"}, "sign-in-url", nil},
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_SIGN_IN_URL=https:{return}"}, "sign-in-url", nil},
		{[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_SIGN_IN_URL={return}"}, "sign-in-url", nil},
	} {
		i.check(t, 2)
	}
}

func TestPortInUseErrorSuggestsAnotherPort(t *testing.T) {
	t.Parallel()
	other := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = other.Close() })
	invalid{[]string{"FRONTPAGE_ADDR=" + other.Addr().String()}, "addr", []string{"such as FRONTPAGE_ADDR=127.0.0.1:"}}.check(t, 1)
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
	want := func(value string, args []string, env ...string) {
		t.Helper()
		if shown, _, _ := settingsOf(t, env, args...); !strings.HasPrefix(shown["FRONTPAGE_DOWNVOTES"], value+" ") {
			t.Errorf("%v %v: downvotes are %s, want %s", env, args, shown["FRONTPAGE_DOWNVOTES"], value)
		}
	}
	for value, spellings := range map[string]string{"false": "false off no 0 FALSE", "true": "true on yes 1 On"} {
		for spelling := range strings.FieldsSeq(spellings) {
			want(value, nil, "FRONTPAGE_DOWNVOTES="+spelling)
		}
	}
	for value, flags := range map[string][]string{
		"false": {"--no-downvotes", "--downvotes=false", "--downvotes=off", "--downvotes off"}, "true": {"--downvotes", "--downvotes=true", "--downvotes on"},
	} {
		for _, flag := range flags {
			want(value, strings.Fields(flag), "FRONTPAGE_DOWNVOTES=false")
		}
	}
}

func TestSecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	require.NoError(t, redis.Client.ConfigSet(t.Context(), "requirepass", "sesame").Err())
	url := "unix://:sesame@" + redis.Socket()
	env := []string{"REDIS_URL_FILE=" + fileOf(t, url+"\n"), "FRONTPAGE_AUDIT_SECRET_FILE=" + fileOf(t, auditSecret+"\r\n")}
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

func TestEndpointSettingsTakeEffect(t *testing.T) {
	t.Parallel()
	trusted := filepath.Join(t.TempDir(), "trusted.json")
	require.NoError(t, os.WriteFile(trusted, []byte(`{"a": "{ viewer { id } }"}`), 0o600))
	strict := start(t, "REDIS_URL=memory://", "FRONTPAGE_DEPTH_LIMIT=2", "FRONTPAGE_COMPLEXITY_LIMIT=30", "FRONTPAGE_INTROSPECTION=false")
	for query, code := range map[string]string{
		`{ viewer { id } }`:                    "",
		`{ article(id: 1) { poster { id } } }`: "DEPTH_LIMIT_EXCEEDED",
		`{ articles { id } }`:                  "COMPLEXITY_LIMIT_EXCEEDED",
		`{ __schema { __typename } }`:          "INTROSPECTION_DISABLED",
	} {
		if got := strict.ask(query); code == "" && strings.Contains(got, "errors") || code != "" && !strings.Contains(got, `"code":"`+code+`"`) {
			t.Errorf("%s: %s, want %s", query, got, code)
		}
	}
	strict.Stop()
	trusting := start(t, "REDIS_URL=memory://", "FRONTPAGE_TRUSTED_DOCUMENTS="+trusted, "FRONTPAGE_CORS_ORIGINS=https://a.b", "FRONTPAGE_REQUEST_TIMEOUT=2s")
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
	help, _, code := programtest.Run(t, nil, "help", "settings")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	// Commands come first, then the groups of settings.
	place := -1
	for _, title := range []string{"Commands:\n  serve ", "Flags:", "Serving:", "--demo-articles", "Store:", "Rules of the site", "Sign-in", "\nAPI:", "Rate limits", "Log. "} {
		at := strings.Index(help, title)
		if at <= place {
			t.Errorf("%q is missing or out of order in the help:\n%s", title, help)
		}
		place = at
	}
	if strings.Contains(help, "...,...") {
		t.Errorf("the help contains ...,...:\n%s", help)
	}
	named := regexp.MustCompile(`\(\$(?:FRONTPAGE_)?([A-Z0-9_]+)\)`).FindAllStringSubmatch(help, -1)
	if len(named) < 60 || len(named) > 91 {
		t.Errorf("the help names %d settings, want 60 to 91: can another one be a part of an existing one, or follow from it?\n%s", len(named), help)
	}
}

func TestHelpFitsOnAScreen(t *testing.T) {
	t.Parallel()
	short, _, _ := programtest.Run(t, nil, "--help")
	for _, args := range [][]string{{"-h"}, {"help"}, {"serve", "--help"}} {
		if same, _, code := programtest.Run(t, nil, args...); code != 0 || same != short {
			t.Errorf("%v: exit code %d and another help:\n%s", args, code, same)
		}
	}
	full, _, _ := programtest.Run(t, nil, "help", "settings")
	lines := strings.Split(strings.TrimSpace(short), "\n")
	if len(lines) > 40 || !strings.Contains(lines[len(lines)-1], "frontpage help settings") {
		t.Errorf("the help has %d lines, want at most 40 that end with where all settings are:\n%s", len(lines), short)
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("this line has %d characters, want at most 80: %s", len(line), line)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+)`).FindAllStringSubmatch(full, -1) {
		if !strings.Contains(short, "\n  "+m[1]+" ") && !strings.HasPrefix(m[1], "-") {
			t.Errorf("the help lacks the command %s:\n%s", m[1], short)
		}
	}
	named := regexp.MustCompile(`(?m)^  ((?:FRONTPAGE|REDIS)_[A-Z_]+)`).FindAllStringSubmatch(short, -1)
	if len(named) != 10 {
		t.Errorf("the help has %d settings, want ten:\n%s", len(named), short)
	}
	for _, m := range named {
		if !strings.Contains(full, "($"+m[1]+")") {
			t.Errorf("%s is not a setting", m[1])
		}
	}
	if text, _, code := programtest.Run(t, nil, "import", "--help"); code != 0 || !strings.Contains(text, "--shift-to-now") || strings.Contains(text, "--redis-url") {
		t.Errorf("import --help: exit code %d:\n%s", code, text)
	}
	if _, text, code := programtest.Run(t, nil, "help", "nothing"); code != 2 || !strings.Contains(text, "unexpected argument nothing") {
		t.Errorf("help nothing: exit code %d: %s", code, text)
	}
}

// Errors of arguments say what to write instead.
func TestMistakesInArgumentsAreExplained(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"start":                 `unexpected argument start, did you mean "serve"?`,
		"run":                   `unexpected argument run, did you mean "serve"?`,
		"imprt":                 `unexpected argument imprt, did you mean "import"?`,
		"import /nowhere.csv":   "frontpage: open /nowhere.csv: no such file or directory\n",
		"restore /nowhere.rdb":  "/nowhere.rdb: no such file or directory\n",
		"health --addr=nowhere": `"nowhere" is not of the form HOST:PORT, such as 127.0.0.1:8080`,
	} {
		if _, text, code := programtest.Run(t, nil, strings.Fields(args)...); code != 2 || !strings.Contains(text, want) {
			t.Errorf("%s: exit code %d: %s, want 2 and %q", args, code, text, want)
		}
	}
}
