// Package documents_test compares the documents with the program: commands, links, and names in backticks.
package documents_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"frontpage/tests/programtest"
	"frontpage/tests/require"
)

const root = "../.."

func TestMain(m *testing.M) { os.Exit(programtest.Main(m)) }

// documents returns the paths of all documents, relative to the root.
func documents(t *testing.T) []string {
	t.Helper()
	pages := require.Value(filepath.Glob(filepath.Join(root, "docs", "*.md")))(t)
	paths := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}
	for _, page := range pages {
		paths = append(paths, "docs/"+filepath.Base(page))
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join(root, path)))(t)
	return string(text)
}

// repositoryFiles returns the paths of all files and folders, relative to the root and with slashes,
// except in .git and node_modules.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	var paths []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		relative, err := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(relative))
		return err
	}))
	return paths
}

// block is a fenced block of code.
type block struct {
	language string
	text     string
	line     int    // of its first fence
	comment  string // of an HTML comment in the line before it
	follows  bool   // only empty lines are between it and the block before
}

func blocks(document string) []block {
	var found []block
	var current *block
	comment, follows := "", false
	for i, line := range strings.Split(document, "\n") {
		switch {
		case current != nil && line == "```":
			found = append(found, *current)
			current, comment, follows = nil, "", true
		case current != nil:
			current.text += line + "\n"
		case strings.HasPrefix(line, "```"):
			current = &block{language: line[3:], line: i + 1, comment: comment, follows: follows}
		case strings.HasPrefix(line, "<!-- ") && strings.HasSuffix(line, " -->"):
			comment, follows = line[5:len(line)-4], false
		case line != "":
			comment, follows = "", false
		}
	}
	return found
}

func sorted(names map[string]bool) []string {
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
