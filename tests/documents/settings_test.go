package documents_test

import (
	"regexp"
	"strings"
	"testing"

	"frontpage/programtest"
)

// docs/operations.md lists the settings in the tables under its heading Settings.
func TestSettingsTableMatchesHelp(t *testing.T) {
	t.Parallel()
	help := ""
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}} {
		out, stderr, code := programtest.Run(t, nil, args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, stderr)
		}
		help += out
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`\(\$([A-Z0-9_]+)\)`).FindAllStringSubmatch(help, -1) {
		known[m[1]] = true
	}
	if len(known) < 50 {
		t.Errorf("--help names %d settings, want at least 50:\n%s", len(known), help)
	}
	_, tables, found := strings.Cut(read(t, "docs/operations.md"), "\n## Settings\n")
	if !found {
		t.Fatal("docs/operations.md has no settings")
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z0-9_]+)` \\|").FindAllStringSubmatch(tables, -1) {
		if documented[m[1]] {
			t.Errorf("docs/operations.md has %s twice", m[1])
		}
		documented[m[1]] = true
		if !known[m[1]] {
			t.Errorf("docs/operations.md has %s, which --help does not name", m[1])
		}
	}
	for _, name := range sorted(known) {
		if !documented[name] {
			t.Errorf("docs/operations.md does not have %s", name)
		}
	}
}
