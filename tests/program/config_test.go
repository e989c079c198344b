package program_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"frontpage/tests/programtest"
	"frontpage/tests/require"
)

// settingsOf returns the lines of frontpage config by variable: value and source, separated by a space.
func settingsOf(t *testing.T, env []string, args ...string) (shown map[string]string, stdout, stderr string) {
	t.Helper()
	stdout, stderr, code := programtest.Run(t, env, append([]string{"config"}, args...)...)
	if code != 0 {
		t.Fatalf("config: exit code %d: %s", code, stderr)
	}
	shown = map[string]string{}
	for line := range strings.Lines(stdout) {
		if words := strings.Fields(line); len(words) > 1 {
			shown[words[0]] = strings.Join(words[1:], " ")
		}
	}
	return shown, stdout, stderr
}

func TestFlagsOverrideVariablesOverrideTheSettingsFile(t *testing.T) {
	t.Parallel()
	yaml := fileOf(t, "# rules\nvote_score: 500\nPAGE_SIZE: 10\nvoting-window: 3d\nserve: [explorer]\nmilestones: [5, 20]\nvotes-kept: off\nranking: halflife:1d12h\nFRONTPAGE_CALENDAR: groups\ntrusted-proxies: [10.0.0.0/8, '192.168.0.1', '::1', '::ffff:192.0.2.1']\n")
	shown, _, _ := settingsOf(t, []string{"FRONTPAGE_CONFIG=" + yaml, "FRONTPAGE_PAGE_SIZE=11", "FRONTPAGE_VOTE_SCORE=501"}, "--vote-score=502")
	for variable, want := range map[string]string{
		"FRONTPAGE_CONFIG": yaml + " environment", "FRONTPAGE_VOTE_SCORE": "502 flag", "FRONTPAGE_PAGE_SIZE": "11 environment", "FRONTPAGE_VOTING_WINDOW": "3d file", "FRONTPAGE_LINKS_RESERVED": "3d default",
		"FRONTPAGE_SERVE": "explorer file", "FRONTPAGE_TRUSTED_PROXIES": "10.0.0.0/8,192.168.0.1/32,::1/128,192.0.2.1/32 file", "FRONTPAGE_MILESTONES": "5,20 file", "FRONTPAGE_VOTES_KEPT": "off file",
		"FRONTPAGE_RANKING": "halflife:1d12h file", "FRONTPAGE_CALENDAR": "groups file", "FRONTPAGE_RATES": "votes=off posts=off changes=off reports=off cost=off addresses=10 default",
		"FRONTPAGE_JWKS": "default",
	} {
		if shown[variable] != want {
			t.Errorf("%s: %q, want %q", variable, shown[variable], want)
		}
	}
	json := fileOf(t, `{"redis-url": "memory://", "serve": "site", "addr": "127.0.0.1:1"}`)
	s := start(t, "FRONTPAGE_CONFIG="+json) // the test's FRONTPAGE_ADDR overrides that of the file
	if status := s.status("/graphiql"); status != 404 {
		t.Errorf("the explorer, off by the file: status %d, want 404", status)
	}
	s.Stop()
}

func TestInvalidSettingsFileStopsTheStart(t *testing.T) {
	t.Parallel()
	for text, says := range map[string][]string{
		"voting-windw: 3d":           {"voting-windw", "did you mean voting-window?"},
		"config: x":                  {`"config" is not a setting`},
		"page-size: 1\nPAGE_SIZE: 2": {"page-size is given twice"},
		"vote-score: [1, [2]]":       {"line 1", "vote-score"},
		"\njwt-secret: {sesame: 1}":  {"line 2", "jwt-secret"},
		"vote-score:":                {"vote-score"},
		"jwt-secret: \"sesame":       {"line 1"},
		"sesame":                     {"vote-score: 432"},
	} {
		invalid{[]string{"FRONTPAGE_CONFIG=" + fileOf(t, text)}, "config", says}.check(t, 2)
	}
	invalid{[]string{"FRONTPAGE_CONFIG=nowhere"}, "config", []string{"nowhere"}}.check(t, 2)
	invalid{[]string{"FRONTPAGE_CONFIG=" + fileOf(t, "vote-score: many")}, "vote-score", []string{`"many"`}}.check(t, 2)
}

func TestConfigShowsNoSecret(t *testing.T) {
	t.Parallel()
	const sesame = "sesame/@x?&0123456789-0123456789-abcdef"
	for variable, want := range map[string]string{
		"FRONTPAGE_JWT_SECRET=" + sesame:                                 "********",
		"FRONTPAGE_OIDC_CLIENT_SECRET=" + sesame:                         "********",
		"FRONTPAGE_AUDIT_SECRET=" + sesame:                               "********",
		"REDIS_URL=redis://bob:sesame@host:1/2?sentinel_password=sesame": "redis://********@host:1/2?sentinel_password=********",
		"REDIS_URL=bob:sesame@host:1":                                    "********@host:1",
		"REDIS_URL=redis://:sesame/sesame@sesame@host":                   "redis://********@host",
		"REDIS_URL=unix:///folder/a@b":                                   "unix:///folder/a@b",
		"FRONTPAGE_JWKS=https://bob:sesame@host/keys?key=sesame":         "https://********@host/keys?key=********",
	} {
		name, _, _ := strings.Cut(variable, "=")
		shown, stdout, stderr := settingsOf(t, []string{variable, "FRONTPAGE_OIDC_ISSUER=https://login.example.org"})
		if shown[name] != want+" environment" || strings.Contains(stdout+stderr, "sesame") {
			t.Errorf("%s: %q, want %q\n%s", variable, shown[name], want, stderr)
		}
	}
	// Each setting that can hold a secret is one of those above.
	_, stdout, _ := settingsOf(t, nil)
	for name := range strings.FieldsSeq(stdout) {
		if regexp.MustCompile(`SECRET|TOKEN|PASSWORD|_KEY`).MatchString(name) && !regexp.MustCompile(`_FILE$|_LIMIT$|_SECRET$|_TOKEN$`).MatchString(name) {
			t.Errorf("%s may hold a secret: config must mask it", name)
		}
	}
}

func TestVariablesThatLookLikeSettingsAreWarnedOf(t *testing.T) {
	t.Parallel()
	unknown := []string{"FRONTPAGE_VOTING_WINDOWS=sesame", "FRONTPAGE_RATE_COMMENTS=sesame", "FRONTPAGE_REDIS_URL=sesame", "FRONTPAGE_TOKEN_LIMIT=sesame"}
	foreign := []string{"FRONTPAGE_PORT=tcp://1", "FRONTPAGE_REDIS_PORT_6379_TCP_ADDR=1", "FRONTPAGE_SERVICE_HOST=1", "REDIS_PASSWORD=x", "LANG=C"}
	env := append(append([]string{"REDIS_URL=memory://"}, unknown...), foreign...)
	_, _, config := settingsOf(t, env)
	for _, log := range []string{config, start(t, env...).Stop()} {
		for _, variable := range unknown {
			if name, _, _ := strings.Cut(variable, "="); !strings.Contains(log, "name="+name+" closest=") {
				t.Errorf("there is no warning of %s:\n%s", name, log)
			}
		}
		if n := strings.Count(log, "is not a setting"); n != len(unknown) || strings.Contains(log, "sesame") {
			t.Errorf("there are %d warnings, want %d without values:\n%s", n, len(unknown), log)
		}
		if !strings.Contains(log, "name=FRONTPAGE_VOTING_WINDOWS closest=FRONTPAGE_VOTING_WINDOW") || !strings.Contains(log, "name=FRONTPAGE_REDIS_URL closest=REDIS_URL") {
			t.Errorf("the closest settings are missing:\n%s", log)
		}
	}
}

func TestTokenOfTheCommandIsAccepted(t *testing.T) {
	t.Parallel()
	env := []string{"REDIS_URL=memory://", "FRONTPAGE_JWT_SECRET_FILE=" + fileOf(t, testSecret+"\n"), "FRONTPAGE_JWT_ISSUER=us", "FRONTPAGE_JWT_AUDIENCE=site,app", "FRONTPAGE_ROLES_CLAIM=access.roles"}
	s := start(t, env...)
	for _, args := range [][]string{{"alice"}, {"alice", "--role", "moderator", "--for", "2d"}} {
		token, stderr, code := programtest.Run(t, env, append([]string{"token"}, args...)...)
		if code != 0 || stderr != "" {
			t.Fatalf("token %v: exit code %d: %s", args, code, stderr)
		}
		moderator := len(args) > 1
		_, who := s.whoAmI(http.DefaultClient, "Authorization", "Bearer "+strings.TrimSpace(token))
		_, log := s.post(http.DefaultClient, `{ moderationLog(first: 1) { nodes { at } } }`, "Authorization", "Bearer "+strings.TrimSpace(token))
		if who != isAlice || strings.Contains(log, `"FORBIDDEN"`) == moderator || strings.Contains(log, `"moderationLog":{`) != moderator {
			t.Errorf("token %v: %s, and the moderation log is %s, want alice, a moderator: %v", args, who, log, moderator)
		}
	}
	s.Stop()
	for _, tt := range []struct {
		env, args []string
		says      []string
	}{
		{nil, []string{"alice"}, []string{"FRONTPAGE_JWT_SECRET (--jwt-secret)", "openssl rand -hex 32"}},
		{[]string{"FRONTPAGE_JWT_SECRET=short"}, []string{"alice"}, []string{"FRONTPAGE_JWT_SECRET (--jwt-secret)", "at least 32"}},
		{[]string{"FRONTPAGE_PROXY_USER_HEADER=X-User", "FRONTPAGE_TRUSTED_PROXIES=10.0.0.0/8"}, []string{"alice"}, []string{"FRONTPAGE_JWT_SECRET (--jwt-secret)", "proxy"}},
		{env, []string{" "}, []string{`" "`}},
		{env, []string{"alice", "--for", "1ms"}, []string{"1ms"}},
	} {
		if out, stderr, code := programtest.Run(t, tt.env, append([]string{"token"}, tt.args...)...); code != 2 || out != "" {
			t.Errorf("token %v with %v: exit code %d, %q, want 2", tt.args, tt.env, code, out)
		} else {
			for _, part := range tt.says {
				if !strings.Contains(stderr, part) {
					t.Errorf("token %v with %v: %s, want %q", tt.args, tt.env, stderr, part)
				}
			}
		}
	}
}

func TestDevelopmentModeAnswersToItsHosts(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", "FRONTPAGE_ADDR=0.0.0.0:0", "FRONTPAGE_DEV_HOSTS=devbox,*.app.example,192.0.2.7")
	s.URL = strings.Replace(s.URL, "0.0.0.0", "127.0.0.1", 1)
	s.URL = strings.Replace(s.URL, "[::]", "127.0.0.1", 1)
	for host, want := range map[string]int{
		"localhost": 200, "127.0.0.1:1": 200, "devbox": 200, "DevBox:8080": 200, "x-8080.app.example": 200, "192.0.2.7:80": 200,
		"app.example": 421, "evil.example": 421, "devbox.evil.example": 421, "evildevbox": 421, "x.app.example.evil": 421, "192.0.2.8": 421,
	} {
		if res, _ := s.whoAmI(http.DefaultClient, "Host", host); res.StatusCode != want {
			t.Errorf("Host %s: status %d, want %d", host, res.StatusCode, want)
		}
	}
	if log := s.Stop(); !strings.Contains(log, "everyone who can connect can act as any user") {
		t.Errorf("the log has no warning:\n%s", log)
	}
	for _, i := range []invalid{
		{[]string{"FRONTPAGE_DEV_HOSTS=*"}, "dev-hosts", nil},
		{[]string{"FRONTPAGE_DEV_HOSTS=devbox:8080"}, "dev-hosts", nil},
		{[]string{"FRONTPAGE_DEV_HOSTS=https://devbox"}, "dev-hosts", nil},
		{[]string{"FRONTPAGE_DEV_HOSTS=devbox", "FRONTPAGE_JWT_SECRET=" + testSecret}, "dev-hosts", []string{"sign-in"}},
	} {
		i.check(t, 2)
	}
}

// The program knows every setting that a file in deploy/ sets: with an old name, a setting would have no effect. What runs
// the program names the site, without which others' hosts would get no pages.
func TestDeployedSettingsExist(t *testing.T) {
	t.Parallel()
	help, _, _ := programtest.Run(t, nil, "help", "settings")
	for file, settings := range map[string]*regexp.Regexp{
		"Dockerfile":                         regexp.MustCompile(`(?m)^ENV ([A-Z_]+)=`),
		"frontpage.service":                  regexp.MustCompile(`(?m)^Environment=([A-Z_]+)=`),
		"compose.yaml":                       regexp.MustCompile(`(?m)^      ([A-Z_]+): `),
		"kubernetes/base/kustomization.yaml": regexp.MustCompile(`(?m)^      - ([A-Z_]+)=`),
		"kubernetes/base/deployment.yaml":    regexp.MustCompile(`(?m)^            - name: ([A-Z_]+)$`),
	} {
		text := require.Value(os.ReadFile("../../deploy/" + file))(t)
		found := settings.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("deploy/%s sets nothing", file)
		}
		if !strings.HasPrefix(file, "Dockerfile") && !strings.HasSuffix(file, "deployment.yaml") && !strings.Contains(string(text), "FRONTPAGE_PUBLIC_URL") {
			t.Errorf("deploy/%s does not set FRONTPAGE_PUBLIC_URL", file)
		}
		for _, m := range found {
			ofGrafana := strings.HasPrefix(m[1], "GF_") || m[1] == "PROMETHEUS_URL" || m[1] == "DASHBOARDS"
			if !ofGrafana && !strings.Contains(help, "($"+m[1]+")") && !strings.Contains(help, "($"+strings.TrimSuffix(m[1], "_FILE")+")") {
				t.Errorf("deploy/%s sets %s, which is no setting", file, m[1])
			}
		}
	}
}
