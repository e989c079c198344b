package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// Settings of sign-in, limits and TLS that cannot be meant stop the start with a
// line that says why, and shows no secret.
func TestBadSettingsOfSignInStopTheStart(t *testing.T) {
	t.Parallel()
	keys, secret := fileOf(t, testKeys), fileOf(t, testSecret)
	const oneOf, rate = "exactly one must say who is asking", "it must look like 60/1m"
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
		{[]string{"JWKS_FILE=" + keys, "JWT_ISSUER=i"}, 1, []string{"issuer", "audience"}},
		{[]string{"JWKS_FILE=" + keys, "JWT_AUDIENCE=a"}, 1, []string{"issuer", "audience"}},
		{[]string{"JWKS_URL=https://127.0.0.1:1/", "JWT_ISSUER=i"}, 1, []string{"issuer", "audience"}},
		{[]string{"JWKS_FILE=" + secret, "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, 1, []string{"key set"}},
		{[]string{"JWKS_URL=http://i.example/", "JWT_ISSUER=i", "JWT_AUDIENCE=a"}, 1, []string{"https://"}},
		{[]string{"JWT_ISSUER=i"}, 1, []string{"issuer"}},
		{[]string{"JWT_AUDIENCE=a"}, 1, []string{"audience"}},
		{[]string{"PROXY_USER_HEADER=X-User"}, 1, []string{"addresses of the proxies"}},
		{[]string{"PROXY_ROLES_HEADER=X-Roles"}, 1, []string{"roles"}},
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
		out, err := command(t, append([]string{"REDIS_URL=memory://"}, tt.env...)).CombinedOutput()
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
