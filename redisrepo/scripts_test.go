package redisrepo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	slotDefined = regexp.MustCompile(`(?m)^-- (KEYS|ARGV)\[(\d+)(\.\.\.)?\] `)
	slotUsed    = regexp.MustCompile(`(KEYS|ARGV)\[(\d+)\]`)
	groupsUsed  = regexp.MustCompile(`groups_at\((\d+),`)
	replyNamed  = regexp.MustCompile(`\{'([A-Z_]+)'`)
	replyGiven  = regexp.MustCompile(`(?:return|reply =) \{'([A-Z_]+)'`)
	slotsUsed   = regexp.MustCompile(`for \w+ = (\d+), #(KEYS|ARGV)`)
	rankingKeys = regexp.MustCompile(`(?m)^-- (KEYS)\[(\d+)\] +(?:clock|top:.|front|best|events):`)

	localDefined = regexp.MustCompile(`(?m)(?:\blocal function (\w+)|\bfunction\b[^(\n]*\(([^)]*)\)|\blocal ([\w, ]+)|\bfor ([\w, ]+?) (?:in|=))`)
	assigned     = regexp.MustCompile(`(?m)(?:^|\bthen\b|\bdo\b|\belse\b|;)[ \t]*(\w+(?:, *\w+)*) *=[^=]`)
)

// lua is a script's file, split into its header comment and the rest.
type lua struct{ name, header, body string }

func luaFiles(t *testing.T) (files []lua) {
	t.Helper()
	names, err := filepath.Glob("*.lua")
	below, errBelow := filepath.Glob("*/*.lua")
	names = append(names, below...)
	if err != nil || errBelow != nil || len(names) < 28 {
		t.Fatalf("scripts = %v, %v, %v, want at least 28", names, err, errBelow)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
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

func TestScriptHeadersMatchTheirBodies(t *testing.T) {
	t.Parallel()
	for _, f := range luaFiles(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			defined, used := map[string]bool{}, map[string]bool{}
			always := map[string]bool{} // given to all scripts that change rankings, needed or not
			for _, m := range rankingKeys.FindAllStringSubmatch(f.header, -1) {
				always[m[1]+m[2]] = true
			}
			for _, m := range slotDefined.FindAllStringSubmatch(f.header, -1) {
				slot := m[1] + m[2] + m[3]
				if before, _ := strconv.Atoi(m[2]); defined[slot] || before > 1 && !defined[m[1]+strconv.Itoa(before-1)] {
					t.Errorf("%s is out of order", slot)
				}
				defined[slot] = true
			}
			for _, m := range slotUsed.FindAllStringSubmatch(f.body, -1) {
				used[m[1]+m[2]] = true
			}
			for _, list := range []string{"KEYS", "ARGV"} { // all of a kind, however many
				for _, slot := range []string{list + "1...", list + "2...", list + "3..."} {
					if (strings.Contains(f.body, "ipairs(KEYS)") || strings.Contains(f.body, "unpack("+list+")")) && defined[slot] {
						used[slot] = true
					}
				}
			}
			for _, m := range slotsUsed.FindAllStringSubmatch(f.body, -1) {
				used[m[2]+m[1]+"..."] = true
			}
			for _, slot := range []string{"KEYS10...", "KEYS18..."} { // of upvote.lua and of vote.lua
				if strings.Contains(strings.ToLower(f.body), "first_listing, last_listing do") && defined[slot] {
					used[slot] = true
				}
			}
			if strings.Contains(f.body, "FIRST_LISTING - 2") { // and - 1
				used["KEYS8"], used["KEYS9"] = true, true
			}
			for _, m := range groupsUsed.FindAllStringSubmatch(f.body, -1) {
				if defined["KEYS"+m[1]+"..."] {
					used["KEYS"+m[1]+"..."] = true
					continue
				}
				for first, i := atoi(m[1]), 0; i < 3; i++ { // the keys of one group
					used["KEYS"+strconv.Itoa(first+i)] = true
				}
			}
			for slot := range defined {
				if !used[slot] && !always[slot] {
					t.Errorf("%s is in the header, but not used", slot)
				}
			}
			for slot := range used {
				if !defined[slot] {
					t.Errorf("%s is used, but not in the header", slot)
				}
			}
			for _, m := range slotUsed.FindAllStringSubmatch(f.header, -1) {
				if !defined[m[1]+m[2]] {
					t.Errorf("the header mentions %s, but does not define it", m[0])
				}
			}
			if got, want := statuses(replyNamed, f.header), statuses(replyGiven, f.body); !slices.Equal(got, want) {
				t.Errorf("replies in the header = %v, want those of the body, %v", got, want)
			}
			for _, want := range []string{"-- " + f.name + ": ", "\n-- Replies ", "\n-- Safe to run twice: "} {
				if !strings.Contains("\n"+f.header, want) {
					t.Errorf("the header lacks %q", want)
				}
			}
		})
	}
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
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
	shared := map[string]bool{}
	files := luaFiles(t)
	for _, f := range files {
		if f.name == "shared.lua" {
			collectLocals(shared, f.body)
		}
	}
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for what, pattern := range banned {
				if what == "goes on after an error" && slices.Contains([]string{"listing.lua", "rights.lua", "vote.lua", "upvote.lua"}, f.name) {
					continue // they handle refused writes
				}
				if found := pattern.FindString(f.body); found != "" {
					t.Errorf("the script %s: %s", what, found)
				}
			}
			locals := map[string]bool{}
			for name := range shared {
				locals[name] = true
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
