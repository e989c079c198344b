package wire

import (
	"embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var luaFiles embed.FS

var rightsScript = Script(luaFiles, "rights.lua")

// Scripts are all scripts but vote.lua and upvote.lua, which each Repo has for its rules. scriptTexts are their texts by digest.
var (
	Scripts     []*redis.Script
	scriptTexts = map[string]string{}
)

// Script returns the script in a file, after the functions of shared.lua that it uses: every call defines them again,
// which takes Redis longer than many a command.
func Script(files embed.FS, name string) *redis.Script {
	source := WithShared(ReadLua(files, name))
	s := redis.NewScript(source)
	Scripts = append(Scripts, s)
	scriptTexts[s.Hash()] = source
	return s
}

// LuaRule matches the names in capitals that votingText knows, besides those of Redis.
var LuaRule = regexp.MustCompile(`\b[A-Z_]+\b`)

// WithBlocks returns a script without its blocks between the lines "-- begin NAME" and "-- end NAME" of other names.
func WithBlocks(source string, names []string) string {
	var kept strings.Builder
	leftOut := false
	for line := range strings.Lines(source) {
		words := strings.TrimSpace(line)
		if name, begins := strings.CutPrefix(words, "-- begin "); begins {
			leftOut = !slices.Contains(names, name)
		} else if strings.HasPrefix(words, "-- end ") {
			leftOut = false
		} else if !leftOut {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// WithShared returns a script after the functions of shared.lua that it uses, but with those of a line "-- define NAME..."
// in place of the line.
func WithShared(source string) string {
	var whole strings.Builder
	var defined []string
	for line := range strings.Lines(source) {
		names, defines := strings.CutPrefix(strings.TrimSpace(line), "-- define ")
		if !defines {
			whole.WriteString(line)
			continue
		}
		for _, f := range sharedFunctions {
			if slices.Contains(strings.Fields(names), f.name) {
				defined = append(defined, f.name)
				whole.WriteString(f.text)
			}
		}
	}
	source = whole.String()
	used := luaNames(source)
	for _, f := range slices.Backward(sharedFunctions) {
		if used[f.name] && !slices.Contains(defined, f.name) { // functions call only those above them
			source = f.text + source
			maps.Copy(used, luaNames(f.text))
		}
	}
	return source
}

// luaNames returns the words of a script outside its comments.
func luaNames(source string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(source) {
		code, _, _ := strings.Cut(line, "--")
		for _, name := range strings.FieldsFunc(code, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			names[name] = true
		}
	}
	return names
}

// sharedFunction is a function of shared.lua.
type sharedFunction struct{ name, text string }

var (
	sharedFunctions = parseShared(ReadLua(luaFiles, "shared.lua"))
	luaFunction     = regexp.MustCompile(`(?ms)^local function (\w+)\(.*?^end\n`)
)

func parseShared(text string) (functions []sharedFunction) {
	for _, f := range luaFunction.FindAllStringSubmatch(text, -1) {
		functions = append(functions, sharedFunction{f[1], f[0]})
	}
	return functions
}

// ReadLua returns the text of an embedded script.
func ReadLua(files embed.FS, name string) string {
	file, err := files.ReadFile(name)
	if err != nil {
		panic(err) // a script of this program is missing
	}
	return string(file)
}
