package documents_test

import (
	"html"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// packages.dot shows every import between top-level folders, and no other. rooms.dot shows the rooms of redisrepo, without
// imports that follow from others.
func TestDiagramsShowTheRealImports(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-f", `{{$from := .ImportPath}}{{range .Imports}}{{$from}} {{.}}{{"\n"}}{{end}}`, "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages, rooms := map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(string(out), "\n") {
		from, to, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(to, "frontpage/") || strings.HasPrefix(from, "frontpage/tests/") {
			continue
		}
		if a, b := box(from), box(to); a != b {
			packages[a+" imports "+b] = true
		}
		if a, b := path.Base(from), path.Base(to); isRoom(from) && isRoom(to) {
			rooms[a+" imports "+b] = true
		}
	}
	if len(packages) < 10 || len(rooms) < 50 {
		t.Errorf("%d and %d imports were found, want at least 10 and 50", len(packages), len(rooms))
	}
	drawn := arrows(t, "docs/images/packages.dot")
	for _, edge := range sorted(packages) {
		if !drawn[edge] {
			t.Errorf("%s, but docs/images/packages.dot does not show it", edge)
		}
	}
	for _, edge := range sorted(drawn) {
		if !packages[edge] {
			t.Errorf("docs/images/packages.dot shows that %s, which the code does not", edge)
		}
	}
	drawn = arrows(t, "docs/images/rooms.dot")
	for _, edge := range sorted(drawn) {
		if !rooms[edge] {
			t.Errorf("docs/images/rooms.dot shows that %s, which the code does not", edge)
		}
	}
	for _, edge := range sorted(rooms) {
		if from, to, _ := strings.Cut(edge, " imports "); !leads(drawn, from, to) {
			t.Errorf("%s, but docs/images/rooms.dot does not lead there", edge)
		}
	}
}

// box is the name of a package in packages.dot: its top-level folder.
func box(importPath string) string {
	if importPath == "frontpage" {
		return "main"
	}
	folder, _, _ := strings.Cut(strings.TrimPrefix(importPath, "frontpage/"), "/")
	return folder
}

func isRoom(importPath string) bool {
	return strings.HasPrefix(importPath, "frontpage/redisrepo")
}

// arrows returns the imports that a diagram shows.
func arrows(t *testing.T, name string) map[string]bool {
	t.Helper()
	drawn := map[string]bool{}
	source := strings.ReplaceAll(read(t, name), `"graph"`, "graph")
	for _, m := range regexp.MustCompile(`(?m)^\s*(\w+) -> (\w+)$`).FindAllStringSubmatch(source, -1) {
		drawn[m[1]+" imports "+m[2]] = true
	}
	return drawn
}

// leads reports whether arrows lead from one package to another.
func leads(drawn map[string]bool, from, to string) bool {
	if from == to {
		return true
	}
	for edge := range drawn {
		if a, b, _ := strings.Cut(edge, " imports "); a == from && leads(drawn, b, to) {
			return true
		}
	}
	return false
}

// Versions of Graphviz draw the same source a little differently, so only the labels and edges are compared.
func TestDiagramsAreDrawnFromTheirSources(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"packages", "rooms"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isDrawn(t, name)
		})
	}
}

func isDrawn(t *testing.T, name string) {
	t.Helper()
	draw := "docs/images/" + name + ".svg is out of date: run make diagram"
	source, picture := read(t, "docs/images/"+name+".dot"), html.UnescapeString(read(t, "docs/images/"+name+".svg"))
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
		if m[1] != name && !want[m[0]] {
			t.Errorf("%s: it contains %s", draw, m[0])
		}
	}
}
