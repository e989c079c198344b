package documents_test

import (
	"strings"
	"testing"

	"frontpage/programtest"
)

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
