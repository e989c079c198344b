package documents_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql/errcode"

	"frontpage/redisrepo/keys"
	"frontpage/tests/programtest"
	"frontpage/tests/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	code    = regexp.MustCompile("`[^`\n]*`")
)

// anchors are what GitHub makes of the headings of a document.
func anchors(document string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(document, ""), -1) {
		name := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

func TestLinksLeadToFilesAndHeadings(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, from := range documents(t) {
		text := code.ReplaceAllString(fenced.ReplaceAllString(read(t, from), ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := m[1] + m[2]
			if regexp.MustCompile(`^(https?|mailto):`).MatchString(target) {
				continue
			}
			checked++
			file, anchor, hasAnchor := strings.Cut(target, "#")
			to := from
			if file != "" {
				to = path.Join(path.Dir(from), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s: %v", from, target, err)
			} else if hasAnchor && !anchors(read(t, to))[anchor] {
				t.Errorf("%s links to %s, which has no such heading", from, target)
			}
		}
	}
	if checked < 30 {
		t.Errorf("%d links were checked, want at least 30", checked)
	}
}

// A name in backticks that looks like a file, a folder, a target of make, a test or a setting exists.
func TestNamesInDocumentsExist(t *testing.T) {
	t.Parallel()
	files := repositoryFiles(t)
	roots, sources := map[string]bool{}, ""
	for _, file := range files {
		first, _, _ := strings.Cut(file, "/")
		roots[first] = true
		switch filepath.Ext(file) {
		case ".go", ".graphqls", ".ts", ".tsx", ".lua":
			sources += read(t, file)
		}
	}
	isFile := func(name string) bool {
		for _, file := range files {
			if file == name || strings.HasSuffix(file, "/"+name) {
				return true
			}
		}
		return false
	}
	source := regexp.MustCompile(`^[\w./-]+\.(go|lua|graphqls|tsx?|mjs|sh|dot|yml)$`)
	test := regexp.MustCompile(`^(?:[a-z/]+\.)?((?:Test|Fuzz|Benchmark)[A-Z]\w*)$`)
	target := regexp.MustCompile(`^make ([a-z]+)$`)
	makefile := read(t, "Makefile")
	constant := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	for _, document := range documents(t) {
		if document == "SECURITY.md" {
			continue // see TestSecurityNamesOnlyExistingTests
		}
		text := fenced.ReplaceAllString(read(t, document), "")
		for _, quoted := range code.FindAllString(text, -1) {
			name := strings.TrimPrefix(strings.Trim(quoted, "`/"), "./")
			first, _, nested := strings.Cut(name, "/")
			switch {
			case name == "x.go" || name == "x_test.go": // any file
			case source.MatchString(name) || nested && roots[first] && !strings.ContainsAny(name, " *"):
				if !isFile(name) {
					t.Errorf("%s names %s, which does not exist", document, quoted)
				}
			case strings.HasSuffix(quoted, "/`") && regexp.MustCompile(`^[a-z]+$`).MatchString(name):
				if !isFile(name) {
					t.Errorf("%s names the folder %s, which does not exist", document, quoted)
				}
			case target.MatchString(name):
				if !strings.Contains(makefile, "\n"+target.FindStringSubmatch(name)[1]+":") {
					t.Errorf("%s names %s, which is not a target of the Makefile", document, quoted)
				}
			case test.MatchString(name):
				if !strings.Contains(sources, "func "+test.FindStringSubmatch(name)[1]+"(") {
					t.Errorf("%s names the test %s, which does not exist", document, quoted)
				}
			case constant.MatchString(name):
				if !strings.Contains(sources, name) && !strings.Contains(read(t, "docs/settings.md"), "\n| "+"`"+name+"`") {
					t.Errorf("%s names %s, which no source file contains", document, quoted)
				}
			}
		}
	}
}

func TestREADMEHasAtMost160Lines(t *testing.T) {
	t.Parallel()
	if lines := strings.Count(read(t, "README.md"), "\n"); lines > 160 {
		t.Errorf("README.md has %d lines, want at most 160: move details to docs/", lines)
	}
}

// The format: versions, newest first, with lists under a few headings.
func TestChangelogHasTheFormatOfKeepAChangelog(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(strings.Join([]string{
		`^$`,
		`^## (Unreleased|\d+\.\d+\.\d+ - 20\d\d-\d\d-\d\d)$`,
		`^### (Added|Changed|Deprecated|Removed|Fixed|Security)$`,
		`^- [A-Z/` + "`" + `-].*[^ ]$`,
		`^  \S.*[^ ]$`, // the rest of an entry
		`^\|.*\|$`,     // a table after it
	}, "|"))
	_, text, found := strings.Cut(read(t, "CHANGELOG.md"), "\n\n## Unreleased\n")
	if !found {
		t.Fatal("CHANGELOG.md has no heading Unreleased")
	}
	for i, l := range strings.Split(text, "\n") {
		if !line.MatchString(l) {
			t.Errorf("line %d below Unreleased has an invalid format: %s", i+1, l)
		}
	}
	for _, entry := range regexp.MustCompile(`(?m)^- (?:.+\n  )*.+$`).FindAllString(text, -1) {
		if !strings.HasSuffix(entry, ".") {
			t.Errorf("this entry does not end with a full stop: %s", entry)
		}
	}
}

// SECURITY.md names a test as FOLDER.TestNAME, and a check of the clients by its file.
func TestSecurityNamesOnlyExistingTests(t *testing.T) {
	t.Parallel()
	document := require.Value(os.ReadFile(filepath.Join(root, "SECURITY.md")))(t)
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	exists := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == "node_modules" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, m := range function.FindAllSubmatch(text, -1) {
			exists[filepath.ToSlash(folder)+"."+string(m[1])] = true
		}
		return nil
	}))
	named := regexp.MustCompile("`([a-z./]*Test\\w*)`").FindAllSubmatch(document, -1)
	if len(named) < 40 {
		t.Errorf("SECURITY.md names %d tests, want at least 40", len(named))
	}
	for _, m := range named {
		if !exists[string(m[1])] {
			t.Errorf("SECURITY.md names %s, which does not exist", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`(clients/[^`]*)`").FindAllSubmatch(document, -1) {
		if _, err := os.Stat(filepath.Join(root, string(m[1]))); err != nil {
			t.Errorf("SECURITY.md names %s: %v", m[1], err)
		}
	}
}

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
