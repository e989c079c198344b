package structure_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unwanted are phrases that the glossary of CONTRIBUTING.md replaces, each written here with a break (|)
// so that this file does not contain them.
var unwanted = []string{
	"who|ever", "no|body", "some|body", "any|body", "a|new", "in fr|ont of", "makes o|ut", "finds out w|ho", "is t|old", "are t|old",
	"does not ho|ld", "there is n|one", "is no er|ror", "in the pl|ace of", "the book's c|ode", "who is as|king", "contradicts it|self", "strang|er", "once mo|re", "has ne|ws",
}

// unchecked are files that are not written by hand (builds, generated code, lists of dependencies), and data.
var unchecked = regexp.MustCompile(`^web/dist/|(^|/)generated\.go$|^web/site/src/gql\.ts$|(^|/)package-lock\.json$|(^|/)go\.sum$|(^|/)testdata/|\.(png|svg|csv)$|^LICENSE$`)

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
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(files) < 100 {
		t.Fatalf("git ls-files names %d files, want at least 100", len(files))
	}
	for _, name := range files {
		if unchecked.MatchString(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if name == "CONTRIBUTING.md" {
			text = glossary.ReplaceAllFunc(text, func(part []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(part, []byte("\n"))) })
		}
		text = bytes.ReplaceAll(text, []byte("http.No"+"Body"), []byte("http.Empty")) // net/http's name
		for _, found := range pattern.FindAllIndex(text, -1) {
			t.Errorf("%s:%d: %q: see the glossary in CONTRIBUTING.md", name, 1+bytes.Count(text[:found[0]], []byte("\n")), text[found[0]:found[1]])
		}
	}
}
