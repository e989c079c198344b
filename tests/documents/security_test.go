package documents_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"frontpage/must"
)

// SECURITY.md names a test as FOLDER.TestNAME, and a check of the clients by its file.
func TestSecurityNamesOnlyExistingTests(t *testing.T) {
	t.Parallel()
	document := must.Get(os.ReadFile(filepath.Join(root, "SECURITY.md")))(t)
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	exists := map[string]bool{}
	must.Do(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
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
