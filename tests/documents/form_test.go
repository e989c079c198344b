package documents_test

import (
	"regexp"
	"strings"
	"testing"
)

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
