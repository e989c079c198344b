package documents_test

import (
	"html"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// The diagram has every import between packages of the program, and no other.
func TestDiagramShowsTheRealImports(t *testing.T) {
	t.Parallel()
	drawn := map[string]bool{}
	source := strings.ReplaceAll(read(t, "docs/images/packages.dot"), `"graph"`, "graph")
	for _, m := range regexp.MustCompile(`(?m)^\s*(\w+) -> (\w+)$`).FindAllStringSubmatch(source, -1) {
		drawn[m[1]+" imports "+m[2]] = true
	}
	list := exec.Command("go", "list", "-f", `{{$from := .ImportPath}}{{range .Imports}}{{$from}} {{.}}{{"\n"}}{{end}}`, "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	name := func(importPath string) string {
		if importPath == "frontpage" {
			return "main"
		}
		return path.Base(importPath)
	}
	imports := map[string]bool{}
	for _, line := range strings.Split(string(out), "\n") {
		from, to, _ := strings.Cut(line, " ")
		if strings.HasPrefix(to, "frontpage/") && !strings.HasSuffix(from, "test") && !strings.HasPrefix(from, "frontpage/tests/") {
			imports[name(from)+" imports "+name(to)] = true
		}
	}
	if len(imports) < 10 {
		t.Errorf("%d imports were found, want at least 10", len(imports))
	}
	for _, edge := range sorted(imports) {
		if !drawn[edge] {
			t.Errorf("%s, but docs/images/packages.dot does not show it", edge)
		}
	}
	for _, edge := range sorted(drawn) {
		if !imports[edge] {
			t.Errorf("docs/images/packages.dot shows that %s, which the code does not", edge)
		}
	}
}

// Versions of Graphviz draw the same source a little differently, so only the labels and edges are compared.
func TestDiagramIsDrawnFromItsSource(t *testing.T) {
	t.Parallel()
	const draw = "docs/images/packages.svg is out of date: run make diagram"
	source, picture := read(t, "docs/images/packages.dot"), html.UnescapeString(read(t, "docs/images/packages.svg"))
	want := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\s*("?\w+"?)(?: -> ("?\w+"?))?(?: \[label="(.+?)".*\])?$`).FindAllStringSubmatch(source, -1) {
		from, to := strings.Trim(m[1], `"`), strings.Trim(m[2], `"`)
		switch {
		case to != "":
			want["<title>"+from+"->"+to+"</title>"] = true
		case m[3] != "":
			want["<title>"+from+"</title>"] = true
			for _, line := range strings.Split(m[3], `\n`) {
				want[">"+line+"</text>"] = true
			}
		}
	}
	if len(want) < 30 {
		t.Errorf("the source has %d parts, want at least 30", len(want))
	}
	for _, part := range sorted(want) {
		if !strings.Contains(picture, part) {
			t.Errorf("%s: it does not contain %s", draw, part)
		}
	}
	for _, m := range regexp.MustCompile(`<title>(.*?)</title>`).FindAllStringSubmatch(picture, -1) {
		if m[1] != "packages" && !want[m[0]] {
			t.Errorf("%s: it contains %s", draw, m[0])
		}
	}
}
