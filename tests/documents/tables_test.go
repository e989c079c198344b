package documents_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"frontpage/redisrepo/keys"
	"frontpage/tests/programtest"

	"github.com/99designs/gqlgen/graphql/errcode"
)

// docs/data.md has the table of the kinds of keys that the program has.
func TestKindsOfKeysAreDocumented(t *testing.T) {
	t.Parallel()
	table := "| key | type | contents |\n|---|---|---|\n"
	for _, k := range keys.Kinds {
		table += fmt.Sprintf("| `%s:%s` | %s | %s |\n", k.Name, k.Of.Shown, k.Holds, k.Doc)
	}
	if !strings.Contains(read(t, "docs/data.md"), "\n\n"+table+"\n") {
		t.Errorf("docs/data.md has another table of keys than:\n%s", table)
	}
}

// docs/backup.md says of each kind of key that an export does not have why.
func TestWhatAnExportLeavesBehindIsDocumented(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "docs/backup.md"), "\n### What an export does not have\n")
	section, _, _ = strings.Cut(section, "\n#")
	rows := regexp.MustCompile("(?m)^\\| (`.*`) \\|").FindAllStringSubmatch(section, -1)
	said := map[string]bool{}
	for _, row := range rows {
		for _, key := range regexp.MustCompile("`(\\w+):`").FindAllStringSubmatch(row[1], -1) {
			said[key[1]] = true
		}
	}
	for _, k := range keys.Kinds {
		if is := k.Export == keys.Left; is && !said[k.Name] || !is && said[k.Name] {
			t.Errorf("an export leaves %s: behind: %t, but docs/backup.md says %t", k.Name, is, said[k.Name])
		}
	}
}

// The tables of docs/settings.md come from the definitions of the settings.
func TestDocumentedSettingsAreThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	tables, stderr, code := programtest.Run(t, nil, "manual", "--settings")
	if code != 0 || strings.Count(tables, "\n| `") < 60 {
		t.Fatalf("manual --settings: exit code %d, and fewer than 60 settings: %s\n%s", code, stderr, tables)
	}
	const heading = "\n## All settings\n"
	if _, listed, _ := strings.Cut(read(t, "docs/settings.md"), heading); listed != tables {
		t.Errorf("what docs/settings.md has below%sis not what go run . manual --settings prints: write that there", heading)
	}
}

// The table of docs/commands.md comes from the definitions of the commands.
func TestDocumentedCommandsAreThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	table, stderr, code := programtest.Run(t, nil, "manual", "--commands")
	if code != 0 || strings.Count(table, "\n| `") < 25 {
		t.Fatalf("manual --commands: exit code %d, and fewer than 25 commands: %s\n%s", code, stderr, table)
	}
	if !strings.HasSuffix(read(t, "docs/commands.md"), "\n"+table) {
		t.Errorf("docs/commands.md does not end with what go run . manual --commands prints:%s", table)
	}
}

// docs/api.md lists every code that a client can get: those of the schema, of the endpoint and of sign-in.
func TestErrorCodesAreDocumented(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{errcode.ParseFailed: true, errcode.ValidationFailed: true}
	_, enum, _ := strings.Cut(read(t, "schema.graphqls"), "\nenum UserErrorCode {\n")
	enum, _, _ = strings.Cut(enum, "\n}")
	for _, m := range regexp.MustCompile(`(?m)^  ([A-Z_]+)$`).FindAllStringSubmatch(enum, -1) {
		codes[m[1]] = true
	}
	constant := regexp.MustCompile(`(?m)^\s+\w+(?: +\w+)? += "([A-Z]+(?:_[A-Z]+)*)"`)
	for _, file := range repositoryFiles(t) {
		folder := filepath.Dir(file)
		if (folder == "endpoint" || folder == "identity") && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			for _, m := range constant.FindAllStringSubmatch(read(t, file), -1) {
				codes[m[1]] = true
			}
		}
	}
	if len(codes) < 30 {
		t.Errorf("%d codes were found, want at least 30: %q", len(codes), sorted(codes))
	}
	listed := map[string]bool{}
	for _, table := range strings.Split(read(t, "docs/api.md"), "\n\n| code | meaning |\n")[1:] {
		table, _, _ = strings.Cut(table, "\n\n")
		for _, row := range strings.Split(table, "\n") {
			cell, _, _ := strings.Cut(row, " | ")
			for _, m := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(cell, -1) {
				if listed[m[1]] = true; !codes[m[1]] {
					t.Errorf("docs/api.md lists the code %s, which no client can get", m[1])
				}
			}
		}
	}
	for _, code := range sorted(codes) {
		if !listed[code] {
			t.Errorf("docs/api.md does not list the code %s", code)
		}
	}
}
