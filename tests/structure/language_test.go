package structure_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"frontpage/tests/require"
)

// unwanted are the phrases of the glossary of CONTRIBUTING.md that no sentence needs, each written here with a break (|)
// so that this file does not contain them. A reader edits the rest: a longer list made sentences odd that avoided it.
var unwanted = []string{"who|ever", "a|new", "does not ho|ld", "is no er|ror", "in the pl|ace of", "who is as|king", "contradicts it|self"}

// unchecked are files that are not written by hand (builds, generated code, lists of dependencies), and data.
var unchecked = regexp.MustCompile(`^web/dist/|(^|/)generated\.go$|^web/site/src/data/gql\.ts$|(^|/)package-lock\.json$|(^|/)go\.sum$|(^|/)testdata/|\.(png|svg|csv)$|^LICENSE$`)

// The glossary itself shows what not to write, between these lines.
var glossary = regexp.MustCompile(`(?s)<!-- glossary: begin -->.*?<!-- glossary: end -->`)

func TestTextsUseTheWordsOfTheGlossary(t *testing.T) {
	t.Parallel()
	// A phrase may continue on the next line, after a comment marker.
	gap := `(?:\s|//|--|#|\*)+`
	parts := make([]string, len(unwanted))
	for i, phrase := range unwanted {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(phrase, "|", ""), " ", gap)
	}
	pattern := regexp.MustCompile(`(?i)\b(?:` + strings.Join(parts, "|") + `)\b`)
	for name, text := range written(t) {
		if name == "CONTRIBUTING.md" {
			text = glossary.ReplaceAllFunc(text, func(part []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(part, []byte("\n"))) })
		}
		for _, found := range pattern.FindAllIndex(text, -1) {
			t.Errorf("%s:%d: %q: see the glossary in CONTRIBUTING.md", name, 1+bytes.Count(text[:found[0]], []byte("\n")), text[found[0]:found[1]])
		}
	}
}

// written returns the texts of all files that are written by hand, by their names.
func written(t *testing.T) map[string][]byte {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out := require.Value(list.Output())(t)
	texts := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !os.IsNotExist(err) { // one that does not exist is removed, and not committed yet
			t.Fatal(err)
		}
		if err == nil && !unchecked.MatchString(name) {
			texts[name] = text
		}
	}
	if len(texts) < 100 {
		t.Fatalf("%d files are written by hand, want at least 100", len(texts))
	}
	return texts
}
