package program_test

import (
	"regexp"
	"strings"
	"testing"

	"frontpage/programtest"
	"frontpage/redistest"
)

// The manual page and the completions name every command and every setting of --help.
func TestManualAndCompletionsNameEveryCommandAndSetting(t *testing.T) {
	t.Parallel()
	help, _, _ := programtest.Run(t, nil, "--help")
	commands := regexp.MustCompile(`(?m)^  ([a-z]+)(?: |$)`).FindAllStringSubmatch(help, -1)
	flags := regexp.MustCompile(`(?m)^  --(?:\[no-\])?([a-z0-9-]+)`).FindAllStringSubmatch(help, -1)
	variables := regexp.MustCompile(`\(\$([A-Z0-9_]+)\)`).FindAllStringSubmatch(help, -1)
	if len(commands) < 10 || len(flags) < 60 || len(variables) < 60 {
		t.Fatalf("--help has %d commands, %d flags and %d variables, want more\n%s", len(commands), len(flags), len(variables), help)
	}
	page, stderr, code := programtest.Run(t, nil, "manual")
	if code != 0 {
		t.Fatalf("manual: exit code %d: %s", code, stderr)
	}
	for _, m := range append(commands, variables...) {
		if !strings.Contains(page, m[1]) {
			t.Errorf("the manual page lacks %s", m[1])
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, stderr, code := programtest.Run(t, nil, "completion", shell)
		if code != 0 {
			t.Fatalf("completion %s: exit code %d: %s", shell, code, stderr)
		}
		for _, m := range append(commands, flags...) {
			if m[1] != "help" && !strings.Contains(text, m[1]) {
				t.Errorf("the completion for %s lacks %s", shell, m[1])
			}
		}
	}
	if _, stderr, code := programtest.Run(t, nil, "completion", "tcsh"); code != 2 || !strings.Contains(stderr, "tcsh") {
		t.Errorf("completion tcsh: exit code %d: %s", code, stderr)
	}
}

func TestHealthAsksTheServerOnAddr(t *testing.T) {
	t.Parallel()
	s := start(t)
	env := []string{"FRONTPAGE_ADDR=" + strings.TrimPrefix(s.URL, "http://")}
	for _, c := range []struct{ args, want string }{{"health", "ok\n"}, {"health --ready", "ready\n"}} {
		if out, stderr, code := programtest.Run(t, env, strings.Fields(c.args)...); code != 0 || out != c.want {
			t.Errorf("%s: exit code %d, output %q, want %q: %s", c.args, code, out, c.want, stderr)
		}
	}
	_, port, _ := strings.Cut(env[0], ":")
	anywhere := []string{"FRONTPAGE_ADDR=:" + port, "FRONTPAGE_JWT_SECRET=" + strings.Repeat("s", 32)}
	if out, stderr, code := programtest.Run(t, anywhere, "health"); code != 0 || out != "ok\n" {
		t.Errorf("health of a server on all addresses: exit code %d, output %q: %s", code, out, stderr)
	}
	s.Stop()
	if _, stderr, code := programtest.Run(t, env, "health"); code != 1 || !strings.Contains(stderr, "connection refused") {
		t.Errorf("health without a server: exit code %d: %s", code, stderr)
	}
}

func TestHealthReportsAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := start(t, "REDIS_URL="+redis.URL())
	redis.Kill()
	env := []string{"FRONTPAGE_ADDR=" + strings.TrimPrefix(s.URL, "http://")}
	if _, stderr, code := programtest.Run(t, env, "health", "--ready"); code != 1 || !strings.Contains(stderr, "503") {
		t.Errorf("health --ready without a store: exit code %d, want 1: %s", code, stderr)
	}
	if out, stderr, code := programtest.Run(t, env, "health"); code != 0 || out != "ok\n" {
		t.Errorf("health without a store: exit code %d, output %q: %s", code, out, stderr)
	}
}

func TestHealthAsksByTLS(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	encryption := []string{"FRONTPAGE_TLS_CERT_FILE=" + cert, "FRONTPAGE_TLS_KEY_FILE=" + key}
	s := start(t, encryption...)
	env := append(encryption, "FRONTPAGE_ADDR="+strings.TrimPrefix(s.URL, "https://"))
	if out, stderr, code := programtest.Run(t, env, "health"); code != 0 || out != "ok\n" {
		t.Errorf("health of a server with TLS: exit code %d, output %q: %s", code, out, stderr)
	}
}
