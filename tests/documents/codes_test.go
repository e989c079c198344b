package documents_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/api.md lists every code that a client can get: those of the schema, of the endpoint and of sign-in.
func TestErrorCodesAreDocumented(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{}
	_, enum, _ := strings.Cut(read(t, "schema.graphqls"), "\nenum UserErrorCode {\n")
	enum, _, _ = strings.Cut(enum, "\n}")
	for _, m := range regexp.MustCompile(`(?m)^  ([A-Z_]+)$`).FindAllStringSubmatch(enum, -1) {
		codes[m[1]] = true
	}
	constant := regexp.MustCompile(`(?m)^\s+\w+(?: \w+)? += "([A-Z]+(?:_[A-Z]+)*)"`)
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
	document := read(t, "docs/api.md")
	for _, code := range sorted(codes) {
		if !strings.Contains(document, "`"+code+"`") {
			t.Errorf("docs/api.md does not list the code %s", code)
		}
	}
}
