package documents_test

import (
	"strings"
	"testing"
)

// A comment with the path of a file marks its text, which clients/run.sh tests.
func TestBlocksOfClientsAreTheTestedFiles(t *testing.T) {
	t.Parallel()
	files := 0
	for _, path := range documents(t) {
		for _, b := range blocks(read(t, path)) {
			if !strings.HasPrefix(b.comment, "clients/") {
				continue
			}
			files++
			if b.text != read(t, b.comment) {
				t.Errorf("%s:%d: the block differs from %s: copy the file", path, b.line, b.comment)
			}
		}
	}
	if files < 2 {
		t.Errorf("%d blocks are files, want at least 2", files)
	}
}

// A reader copies them in a clone, which has modules and packages of its own.
func TestNewModulesAndPackagesAreOutsideOfTheClone(t *testing.T) {
	t.Parallel()
	found := 0
	for _, path := range documents(t) {
		for _, b := range blocks(read(t, path)) {
			before, _, inits := strings.Cut(b.text, "npm init")
			if !inits {
				before, _, inits = strings.Cut(b.text, "go mod init")
			}
			if !inits {
				continue
			}
			found++
			if !strings.Contains(before, `cd "$(mktemp -d)"`) {
				t.Errorf("%s:%d: the files of a clone would be changed: begin with cd \"$(mktemp -d)\"", path, b.line)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d blocks make a module or package, want at least 2", found)
	}
}
