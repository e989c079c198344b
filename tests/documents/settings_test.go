package documents_test

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontpage/programtest"
	"frontpage/settings"
)

// setting is a setting as --help or a document describes it.
type setting struct {
	variable     string
	defaultValue string // empty if missing, or if only the text gives it
	text         string // of --help
}

var (
	// flag matches the line of --help on which a flag begins: --NAME, --NAME=VALUE or --[no-]NAME.
	flag     = regexp.MustCompile(`^  --(\[no-\])?[a-z0-9-]+(?:=(\S+))?`)
	variable = regexp.MustCompile(`\(\$([A-Z0-9_]+)\)`)
	row      = regexp.MustCompile("^\\| `([A-Z0-9_]+)` \\| (?:`?([^|`]+)`?)? ?\\|")
)

// helpGroups are the settings in each group of --help.
func helpGroups(help string) (groups [][]setting) {
	var current *setting
	for _, line := range strings.Split(help, "\n") {
		if line != "" && line[0] != ' ' {
			groups = append(groups, nil)
		}
		if m := flag.FindStringSubmatch(line); m != nil {
			current = &setting{}
			if value := strings.Trim(m[2], `"`); value != strings.ToUpper(value) || regexp.MustCompile(`\d`).MatchString(value) {
				current.defaultValue = value
			}
		}
		if current == nil {
			continue
		}
		current.text += " " + strings.TrimSpace(line)
		if m := variable.FindStringSubmatch(line); m != nil {
			current.variable = m[1]
			groups[len(groups)-1] = append(groups[len(groups)-1], *current)
			current = nil
		}
	}
	return slices.DeleteFunc(groups, func(group []setting) bool { return len(group) == 0 })
}

// tableGroups are the settings in the tables under each heading of the document.
func tableGroups(document string) (groups [][]setting) {
	for _, line := range strings.Split(document, "\n") {
		if strings.HasPrefix(line, "#") {
			groups = append(groups, nil)
		}
		if m := row.FindStringSubmatch(line); m != nil {
			groups[len(groups)-1] = append(groups[len(groups)-1], setting{variable: m[1], defaultValue: strings.TrimSpace(m[2])})
		}
	}
	return slices.DeleteFunc(groups, func(group []setting) bool { return len(group) == 0 })
}

// booleans are the defaults of the boolean settings by variable: --help does not show them.
func booleans(of reflect.Type) map[string]string {
	found := map[string]string{}
	for i := range of.NumField() {
		switch field := of.Field(i); {
		case field.Anonymous:
			maps.Copy(found, booleans(field.Type))
		case field.Type.Kind() == reflect.Bool:
			found[field.Tag.Get("env")] = cmp.Or(field.Tag.Get("default"), "false")
		}
	}
	return found
}

// docs/operations.md lists the settings as --help does: the same groups in the same order, with the same defaults.
func TestSettingsTablesMatchHelp(t *testing.T) {
	t.Parallel()
	help, stderr, code := programtest.Run(t, nil, "--help")
	if code != 0 {
		t.Fatalf("--help: exit code %d\n%s", code, stderr)
	}
	_, document, _ := strings.Cut(read(t, "docs/operations.md"), "\n## Settings\n")
	known := booleans(reflect.TypeFor[settings.Settings]())
	if len(known) < 6 {
		t.Errorf("%d boolean settings were found, want at least 6", len(known))
	}
	shown, listed := helpGroups(help), tableGroups(document)
	if len(shown) != len(listed) || len(shown) < 5 {
		t.Fatalf("--help has %d groups, docs/operations.md has %d, want the same number, at least 5\n%s", len(shown), len(listed), help)
	}
	for i := range shown {
		names := func(group []setting) (list []string) {
			for _, s := range group {
				list = append(list, s.variable)
			}
			return list
		}
		if want, got := names(shown[i]), names(listed[i]); !slices.Equal(got, want) {
			t.Errorf("group %d of docs/operations.md:\n got %v\nwant %v", i+1, got, want)
			continue
		}
		for j, s := range listed[i] {
			want := shown[i][j]
			switch boolean := known[s.variable]; {
			case boolean != "":
				if s.defaultValue != boolean {
					t.Errorf("%s: the default in docs/operations.md is %q, want %q", s.variable, s.defaultValue, boolean)
				}
			case want.defaultValue != "":
				if s.defaultValue != want.defaultValue {
					t.Errorf("%s: the default in docs/operations.md is %q, in --help %q", s.variable, s.defaultValue, want.defaultValue)
				}
			case strings.Contains(want.text, "Default: "):
				if !strings.Contains(want.text, "Default: "+s.defaultValue) {
					t.Errorf("%s: the default in docs/operations.md is %q, but --help says:%s", s.variable, s.defaultValue, want.text)
				}
			case s.defaultValue != "":
				t.Errorf("%s: docs/operations.md has the default %q, --help has none", s.variable, s.defaultValue)
			}
		}
	}
}
