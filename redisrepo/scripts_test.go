package redisrepo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

var (
	headerLine = regexp.MustCompile(`(?m)^-- (KEY|ARG)(S?) \[?(\w+)\]? +(.*)$`)
	slotUsed   = regexp.MustCompile(`(?:KEYS|ARGV)\[\d`)
	replyNamed = regexp.MustCompile(`\{'([A-Z_]+)'`)
	replyGiven = regexp.MustCompile(`(?:return|reply =) \{'([A-Z_]+)'`)

	localDefined = regexp.MustCompile(`(?m)(?:\blocal function (\w+)|\bfunction\b[^(\n]*\(([^)]*)\)|\blocal ([\w, ]+)|\bfor ([\w, ]+?) (?:in|=))`)
	assigned     = regexp.MustCompile(`(?m)(?:^|\bthen\b|\bdo\b|\belse\b|;)[ \t]*(\w+(?:, *\w+)*) *=[^=\n].*[^,\n]$`) // fields of a table end with a comma
)

// lua is a script's file, split into its header comment and the rest.
type lua struct{ name, header, body string }

func luaFiles(t *testing.T) (files []lua) {
	t.Helper()
	names, err := filepath.Glob("*.lua")
	below, errBelow := filepath.Glob("*/*.lua")
	names = append(names, below...)
	if err != nil || errBelow != nil || len(names) < 45 {
		t.Fatalf("scripts = %v, %v, %v, want at least 45", names, err, errBelow)
	}
	for _, name := range names {
		text := require.Value(os.ReadFile(name))(t)
		f := lua{name: filepath.Base(name)}
		for line := range strings.Lines(string(text)) {
			if code, _, _ := strings.Cut(line, "--"); f.body == "" && strings.HasPrefix(line, "--") {
				f.header += line
			} else {
				f.body += strings.TrimRight(code, " \n") + "\n"
			}
		}
		files = append(files, f)
	}
	return files
}

// A function that a script does not need takes time in every call, and only a call finds out that one is missing.
func TestScriptsUseTheFunctionsThatTheyCall(t *testing.T) {
	t.Parallel()
	files := luaFiles(t)
	for _, f := range files {
		var used []string
		if m := regexp.MustCompile(`(?m)^-- uses (.*)$`).FindStringSubmatch(f.header); m != nil {
			used = strings.Fields(m[1])
		}
		given := f.body + wire.LuaFunctions(used...)
		for _, other := range files {
			name, calls := strings.TrimSuffix(other.name, ".lua"), false
			for _, m := range regexp.MustCompile(`(?m)^local function (\w+)`).FindAllStringSubmatch(other.body, -1) {
				found := other.isFunctions() && has(f.body, m[1])
				calls = calls || found
				if found && !strings.Contains(given, m[0]+"(") {
					t.Errorf("%s calls %s, but does not use %s", f.name, m[1], name)
				}
			}
			hasNone := name == "types" || name == "worth" && isVoting(f)
			if !calls && slices.Contains(used, name) && !hasNone {
				t.Errorf("%s uses %s, but calls none of its functions", f.name, name)
			}
		}
	}
}

// isFunctions reports whether a file has functions for scripts, and is not a script itself.
func (f lua) isFunctions() bool { return !strings.Contains(f.header, "\n-- Replies ") }

func has(body, word string) bool { return regexp.MustCompile(`\b` + word + `\b`).MatchString(body) }

// isVoting reports whether a script's text depends on the rules, which may call functions.
func isVoting(f lua) bool { return f.name == "vote.lua" }

func TestScriptHeadersMatchTheirBodies(t *testing.T) {
	t.Parallel()
	for _, f := range luaFiles(t) {
		if f.isFunctions() {
			continue
		}
		for _, m := range headerLine.FindAllStringSubmatch(f.header, -1) {
			name, list, unused := m[3], strings.Replace(m[1], "ARG", "ARGV", 1), strings.HasSuffix(m[4], "; unused")
			if m[1] == "KEY" {
				list = "KEYS"
			}
			if m[2] == "S" {
				name = "first_" + name
			}
			if has(f.body, name) == unused && !strings.Contains(f.body, "ipairs("+list+")") && !strings.Contains(f.body, "#"+list+"]") {
				t.Errorf("%s: the header says of %s: %s", f.name, name, m[4])
			}
		}
		if found := slotUsed.FindString(f.body); found != "" {
			t.Errorf("%s: %s has no name", f.name, found)
		}
		if got, want := statuses(replyNamed, f.header), statuses(replyGiven, f.body); !slices.Equal(got, want) {
			t.Errorf("%s: replies in the header = %v, want those of the body, %v", f.name, got, want)
		}
		for _, want := range []string{"-- " + f.name + ": ", "\n-- Replies ", "\n-- Safe to run twice: "} {
			if !strings.Contains("\n"+f.header, want) {
				t.Errorf("%s: the header lacks %q", f.name, want)
			}
		}
	}
}

// Redis refuses a script with more than 200 locals or 60 upvalues.
func TestRedisLoadsEveryScript(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	for _, s := range wire.Scripts {
		if err := s.Load(t.Context(), client).Err(); err != nil {
			t.Error(err)
		}
	}
}

func statuses(pattern *regexp.Regexp, text string) (found []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestScriptsAreDeterministic(t *testing.T) {
	t.Parallel()
	banned := map[string]*regexp.Regexp{
		"looks for keys that it was not given":     regexp.MustCompile(`(?i)['"](keys|scan|randomkey|eval|flushall|flushdb)['"]`),
		"goes on after an error":                   regexp.MustCompile(`pcall`),
		"sorts by the locale of the server":        regexp.MustCompile(`table\.sort\(\w+\)`),
		"draws lots":                               regexp.MustCompile(`math\.random|SRANDMEMBER|SPOP`),
		"writes a score as text":                   regexp.MustCompile(`tostring\(`),
		"defines a function for all other scripts": regexp.MustCompile(`(?m)^[ \t]*function \w`),
		"makes up the name of a key":               regexp.MustCompile(`\bcall\('\w+', ['"]`),
	}
	for _, f := range luaFiles(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for what, pattern := range banned {
				if what == "goes on after an error" && slices.Contains([]string{"apply_calendar.lua", "applycasts.lua", "follow.lua", "listing.lua", "refresh.lua", "rights.lua", "types.lua"}, f.name) {
					continue // they handle refused writes, and keys of another type
				}
				if found := pattern.FindString(f.body); found != "" {
					t.Errorf("the script %s: %s", what, found)
				}
			}
			locals := map[string]bool{}
			for _, m := range headerLine.FindAllStringSubmatch(f.header, -1) {
				locals[m[3]] = true
			}
			collectLocals(locals, f.body)
			for _, m := range assigned.FindAllStringSubmatch(f.body, -1) {
				for name := range strings.SplitSeq(m[1], ",") {
					if name = strings.TrimSpace(name); !locals[name] {
						t.Errorf("the script sets %s, which is not local", name)
					}
				}
			}
		})
	}
}

func collectLocals(locals map[string]bool, body string) {
	for _, m := range localDefined.FindAllStringSubmatch(body, -1) {
		for _, names := range m[1:] {
			for name := range strings.FieldsFuncSeq(names, func(c rune) bool { return c == ',' || c == ' ' }) {
				locals[name] = true
			}
		}
	}
}
