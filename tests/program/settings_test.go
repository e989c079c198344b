package program_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"frontpage/programtest"
)

// Settings of sign-in, limits and TLS that cannot be meant stop the start with a
// line that says why, and shows no secret.
func TestBadSettingsOfSignInStopTheStart(t *testing.T) {
	t.Parallel()
	keys, secret := fileOf(t, testKeys), fileOf(t, testSecret)
	const oneOf, rate = "set only one of ", "it must look like 60/1m"
	for _, tt := range []struct {
		env  []string
		code int
		says []string
	}{
		{[]string{"JWT_SECRET=" + testSecret, "JWT_SECRET_FILE=" + secret}, 1, []string{oneOf}},
		{[]string{"JWT_SECRET=" + testSecret, "JWKS_FILE=" + keys, "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, 1, []string{oneOf}},
		{[]string{"JWT_SECRET=" + testSecret, "PROXY_USER_HEADER=X-User", "TRUSTED_PROXIES=10.0.0.0/8"}, 1, []string{oneOf}},
		{[]string{"JWKS_URL=https://i.example/", "JWKS_FILE=" + keys, "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, 1, []string{oneOf}},
		{[]string{"JWT_SECRET=" + testSecret[:31]}, 1, []string{"31 bytes", "at least 32"}},
		{[]string{"JWT_SECRET_FILE=" + fileOf(t, testSecret[:31]+"\n")}, 1, []string{"31 bytes", "at least 32"}},
		{[]string{"JWT_SECRET_FILE=nowhere"}, 1, []string{"nowhere"}},
		{[]string{"JWKS_FILE=" + keys, "JWT_ISSUER=i"}, 1, []string{"JWKS_FILE needs JWT_AUDIENCE"}},
		{[]string{"JWKS_FILE=" + keys, "JWT_AUDIENCE=a"}, 1, []string{"JWKS_FILE needs JWT_ISSUER"}},
		{[]string{"JWKS_URL=https://127.0.0.1:1/", "JWT_ISSUER=i"}, 1, []string{"JWKS_URL needs JWT_AUDIENCE"}},
		{[]string{"JWKS_FILE=" + secret, "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, 1, []string{"JWKS_FILE", "key set"}},
		{[]string{"JWKS_URL=http://i.example/", "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, 1, []string{"https://"}},
		{[]string{"JWT_ISSUER=i"}, 1, []string{"JWT_ISSUER"}},
		{[]string{"JWT_AUDIENCE=a"}, 1, []string{"JWT_AUDIENCE"}},
		{[]string{"PROXY_USER_HEADER=X-User"}, 1, []string{"PROXY_USER_HEADER needs TRUSTED_PROXIES"}},
		{[]string{"PROXY_ROLES_HEADER=X-Roles"}, 1, []string{"PROXY_ROLES_HEADER", "PROXY_USER_HEADER"}},
		{[]string{"TRUSTED_PROXIES=proxy.example"}, 2, []string{"--trusted-proxies"}},
		{[]string{"TRUSTED_PROXIES=10.0.0.1"}, 2, []string{"--trusted-proxies"}},
		{[]string{"JWT_LEEWAY=30"}, 2, []string{"--jwt-leeway"}},
		{[]string{"JWT_SECRET=" + testSecret, "JWT_LEEWAY=-1s"}, 2, []string{"--jwt-leeway", "below 0"}},
		{[]string{"AUDIT_SECRET=" + auditSecret[:31]}, 2, []string{"--audit-secret", "32 bytes"}},
		{[]string{"RATE_ADDRESSES=0"}, 2, []string{"--rate-addresses", "between 1 and"}},
		{[]string{"RATE_VOTES=60"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=60/"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=/1m"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=0/1m"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=-5/1m"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=60/1"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=60/999ms"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=60/-1m"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=60/1m/1h"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=60 / 1m"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=99999999999999999999/1m"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_VOTES=OFF"}, 2, []string{"--rate-votes", rate}},
		{[]string{"RATE_POSTS=ten"}, 2, []string{"--rate-posts", rate}},
		{[]string{"RATE_CHANGES=1m/60"}, 2, []string{"--rate-changes", rate}},
		{[]string{"RATE_COST=lots/1m"}, 2, []string{"--rate-cost", rate}},
		{[]string{"LINK_WINDOW=-1h"}, 2, []string{"--link-window"}},
		{[]string{"LINK_WINDOW=1.5s"}, 2, []string{"--link-window"}},
		{[]string{"SITE=no"}, 2, []string{"--site"}},
		{[]string{"EXPLORER=no"}, 2, []string{"--explorer"}},
		{[]string{"DEMO=perhaps"}, 2, []string{"--demo"}},
		{[]string{"SIGN_IN_URL=https://example.org/login?to={return}"}, 2, []string{"--sign-in-url", "development mode"}},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL=https://example.org/login"}, 2, []string{"--sign-in-url", "{return}"}},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL=javascript:alert(1)//{return}"}, 2, []string{"--sign-in-url", "https URL"}},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL=//example.org/{return}"}, 2, []string{"--sign-in-url"}},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL=https:{return}"}, 2, []string{"--sign-in-url"}},
		{[]string{"JWT_SECRET=" + testSecret, "SIGN_IN_URL={return}"}, 2, []string{"--sign-in-url"}},
		{[]string{"H2C=perhaps"}, 2, []string{"--h2c"}},
		{[]string{"TLS_CERT_FILE=x"}, 2, []string{"--tls-cert-file", "--tls-key-file"}},
		{[]string{"TLS_KEY_FILE=x"}, 2, []string{"--tls-cert-file", "--tls-key-file"}},
		{[]string{"TLS_CERT_FILE=nowhere", "TLS_KEY_FILE=nowhere"}, 1, []string{"nowhere"}},
	} {
		out, err := programtest.Command(t, append([]string{"REDIS_URL=memory://"}, tt.env...)).CombinedOutput()
		text := strings.TrimSpace(string(out))
		last := text[strings.LastIndexByte(text, '\n')+1:]
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != tt.code || !strings.HasPrefix(last, "frontpage: ") || strings.Contains(text, "serving") && tt.env[0] != "TLS_CERT_FILE=nowhere" {
			t.Errorf("%q: %v, want exit code %d\n%s", tt.env, err, tt.code, text)
		}
		for _, part := range tt.says {
			if !strings.Contains(last, part) {
				t.Errorf("%q: the last line does not say %q: %s", tt.env, part, last)
			}
		}
		if strings.Contains(text, "sesame") {
			t.Errorf("%q: a secret is shown: %s", tt.env, text)
		}
	}
}

func TestBadSettingsStopTheStart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ setting, names string }{
		{"VOTE_SCORE=0", "--vote-score"},
		{"VOTE_SCORE=x", "--vote-score"},
		{"VOTING_WINDOW=7", "--voting-window"},
		{"POSTER_VOTES=perhaps", "--poster-votes"},
		{"INTERESTING_VOTES=0", "--interesting-votes"},
		{"PAGE_SIZE=101", "--page-size"},
		{"GROUP_CACHE_TTL=0s", "--group-cache-ttl"},
		{"REDIS_TIMEOUT=0s", "--redis-timeout"},
		{"BODY_LIMIT=0", "--body-limit"},
		{"REQUEST_TIMEOUT=0s", "--request-timeout"},
		{"TOKEN_LIMIT=0", "--token-limit"},
		{"DEPTH_LIMIT=0", "--depth-limit"},
		{"ALIAS_LIMIT=-1", "--alias-limit"},
		{"ROOT_FIELD_LIMIT=0", "--root-field-limit"},
		{"DIRECTIVE_LIMIT=-1", "--directive-limit"},
		{"FIELD_LIMIT=0", "--field-limit"},
		{"COMPLEXITY_LIMIT=many", "--complexity-limit"},
		{"INTROSPECTION=perhaps", "--introspection"},
		{"GET_PREFLIGHT=1", "--get-preflight"},
		{"CORS_ORIGINS=https://a.b,c.d", "--cors-origins"},
		{"CORS_ORIGINS=https://a.b/", "--cors-origins"},
		{"TRUSTED_DOCUMENTS=nowhere.json", "--trusted-documents"},
		{"GC_PERCENT=0", "--gc-percent"},
		{"MEMORY_LIMIT_MIB=0", "--memory-limit-mib"},
		{"LOG_LEVEL=loud", "--log-level"},
		{"LOG_FORMAT=xml", "--log-format"},
		{"ADDR=0.0.0.0:0", "--addr"},
		{"ADDR=nonsense", "--addr"},
		{"REDIS_URL=http://x", "redis://"},
		{"REDIS_URL=redis://user:secret@127.0.0.1:1", "127.0.0.1:1"},
	} {
		out, err := programtest.Command(t, []string{tt.setting}).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() == 0 {
			t.Errorf("%s: %v", tt.setting, err)
		}
		if text := strings.TrimSpace(string(out)); strings.Count(text, "\n") != 0 || !strings.Contains(text, tt.names) || strings.Contains(text, "secret") {
			t.Errorf("%s: not one line that names %s:\n%s", tt.setting, tt.names, text)
		}
	}
}

// Each setting of the endpoint changes what it says.
func TestSettingsOfTheEndpoint(t *testing.T) {
	t.Parallel()
	trusted := filepath.Join(t.TempDir(), "trusted.json")
	if err := os.WriteFile(trusted, []byte(`{"a": "{ viewer { id } }"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	strict := start(t, "REDIS_URL=memory://", "BODY_LIMIT=300", "TOKEN_LIMIT=40", "DEPTH_LIMIT=2", "ALIAS_LIMIT=1", "ROOT_FIELD_LIMIT=2",
		"DIRECTIVE_LIMIT=0", "FIELD_LIMIT=5", "COMPLEXITY_LIMIT=30", "INTROSPECTION=off", "GET_PREFLIGHT=on")
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
		t.Errorf("a GET without preflight: %d", status)
	}
	strict.Stop()
	closed := start(t, "REDIS_URL=memory://", "TRUSTED_DOCUMENTS="+trusted, "CORS_ORIGINS=https://a.b", "REQUEST_TIMEOUT=2s")
	if got := closed.ask(`{ viewer { name } }`); !strings.Contains(got, "DOCUMENT_NOT_TRUSTED") {
		t.Errorf("a document that is not trusted: %s", got)
	}
	if got := closed.ask(`{ viewer { id } }`); got != `{"data":{"viewer":{"id":"user:alice"}}}` {
		t.Errorf("one that is: %s", got)
	}
	closed.Stop()
}
