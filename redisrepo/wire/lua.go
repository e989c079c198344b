package wire

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	rightsScript  = Script(luaFiles, "rights.lua")
	foreignScript = Script(luaFiles, "foreign.lua")
)

// Scripts are all scripts but vote.lua, of which each Repo has one for its rules. scripts has the same by digest, and
// luaSources the Lua files of all initialized packages.
var (
	Scripts    []*redis.Script
	scripts    = map[string]script{}
	luaSources = map[string]string{"kinds.lua": kindsLua()}
)

// kindsLua returns a table, in Lua, of a command for each kind of key that fails if the key has another type. Kinds of one name
// differ in whether anything follows the colon.
func kindsLua() string {
	commands := map[keys.Type]string{keys.String: "GET", keys.Hash: "HLEN", keys.Set: "SCARD", keys.SortedSet: "ZCARD", keys.Stream: "XLEN"}
	var entries []string
	for _, kind := range keys.Kinds {
		name := kind.Name
		if kind.Of == keys.All || kind.Of == keys.Site {
			name += ":"
		}
		entries = append(entries, fmt.Sprintf("['%s'] = '%s'", name, commands[kind.Holds]))
	}
	return "local read_by_kind = {" + strings.Join(entries, ", ") + "}\n"
}

// script is a script as Redis gets it, and how many keys and arguments a call has.
type script struct {
	text       string
	keys, args slots
}

// AddLua registers the Lua files of a package, so that scripts can use them. It panics if another package has a
// different file of the same name.
func AddLua(files embed.FS) bool {
	names, _ := fs.Glob(files, "*.lua")
	for _, name := range names {
		text, _ := files.ReadFile(name)
		if before, known := luaSources[name]; known && before != string(text) {
			panic("two rooms have a file " + name)
		}
		luaSources[name] = string(text)
	}
	return true
}

// Script returns the script in a Lua file of a package. Its header names the files whose functions it uses, and
// its keys and arguments in their order, those in brackets if a call may lack them:
//
//	-- uses NAME ...
//	-- KEY NAME  description
//	-- ARG NAME  description
//
// KEYS or ARGS declares any number of them at the end: the script gets first_NAME, the index of the first one. Script
// panics if the header is malformed.
func Script(files embed.FS, name string) *redis.Script {
	AddLua(files)
	composed := compose(name, nil)
	s := redis.NewScript(composed.text)
	Scripts = append(Scripts, s)
	scripts[s.Hash()] = composed
	return s
}

// Ruled returns the text of a script whose header also has a line RULES NAME ...: description. The names become Lua
// constants with their values from rules. AddLua must have registered its file.
func Ruled(name string, rules map[string]string) string {
	return compose(name, rules).text
}

// compose writes the functions that a script uses, and its keys and arguments as locals, over the last line of its header,
// so that errors have the line numbers of the file.
func compose(file string, rules map[string]string) (s script) {
	lines := strings.Split(luaSources[file], "\n")
	var functions string
	var names, values []string
	end, done := 0, map[string]bool{}
	for ; strings.HasPrefix(lines[end], "--"); end++ {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(lines[end], "-- "), " ")
		var name, value string
		switch kind {
		case "uses":
			functions += functionsOf(strings.Fields(rest), done)
			continue
		case "KEY", "KEYS":
			name, value = s.keys.add("KEYS", rest, kind == "KEYS")
		case "RULES":
			rest, _, _ = strings.Cut(rest, ":")
			for rule := range strings.FieldsSeq(rest) {
				names, values = append(names, rule), append(values, cmp.Or(rules[rule], "nil"))
			}
			continue
		case "ARG", "ARGS":
			name, value = s.args.add("ARGV", rest, kind == "ARGS")
		default:
			continue
		}
		if name == "" || value == "" || slices.Contains(names, name) {
			panic(fmt.Sprintf("%s: the header is malformed at %q", file, lines[end]))
		}
		names, values = append(names, name), append(values, value)
	}
	if len(names) == 0 {
		panic(file + ": the header names no key and no argument")
	}
	lines[end-1] = fmt.Sprintf("%slocal %s = %s", oneLine(functions), strings.Join(names, ", "), strings.Join(values, ", "))
	s.text = strings.Join(lines, "\n")
	return s
}

// slots are how many keys or arguments a call of a script has.
type slots struct {
	fewest, most int
	isRun        bool // any number follows
}

var headerLine = regexp.MustCompile(`^(\[?)([a-z][a-z_]*)\]? +[^ ]`)

// add adds the key or argument of a header's line, and returns its name in the script, empty if malformed, and its value.
func (s *slots) add(list, line string, isRun bool) (name, value string) {
	words := headerLine.FindStringSubmatch(line)
	if words == nil || s.isRun || words[1] == "" && !isRun && s.fewest < s.most {
		return "", ""
	}
	if s.isRun = isRun; isRun {
		return "first_" + words[2], strconv.Itoa(s.most + 1)
	}
	s.most++
	if words[1] == "" {
		s.fewest = s.most
	}
	return words[2], fmt.Sprintf("%s[%d]", list, s.most)
}

func (s slots) allow(number int) bool { return number >= s.fewest && (s.isRun || number <= s.most) }

// LuaFunctions returns the text of some files of functions.
func LuaFunctions(names ...string) string { return functionsOf(names, map[string]bool{}) }

// functionsOf returns the text of files of functions that are not done, each after those that it uses.
func functionsOf(names []string, done map[string]bool) (text string) {
	for _, name := range names {
		source, known := luaSources[name+".lua"]
		if !known {
			panic("a script uses " + name + ".lua, which is in no room that is initialized before")
		}
		if !done[name] {
			done[name] = true
			first, _, _ := strings.Cut(source, "\n")
			if used, uses := strings.CutPrefix(first, "-- uses "); uses {
				text += functionsOf(strings.Fields(used), done)
			}
			text += source
		}
	}
	return text
}

// oneLine returns Lua without comments and newlines. Functions have -- in comments only.
func oneLine(source string) (joined string) {
	for line := range strings.Lines(source) {
		code, _, _ := strings.Cut(line, "--")
		if code = strings.TrimSpace(code); code != "" {
			joined += code + " "
		}
	}
	return joined
}

// TextOf returns the text of one of Scripts by its digest.
func TextOf(digest string) string { return scripts[digest].text }

// CheckCall returns an error if a call by digest has another number of keys or arguments than its script's header.
// Tests call it for every command.
func CheckCall(command redis.Cmder) error {
	words := command.Args()
	if command.Name() != "evalsha" {
		return nil
	}
	s, known := scripts[words[1].(string)]
	keys := words[2].(int)
	if args := len(words) - 3 - keys; known && (!s.keys.allow(keys) || !s.args.allow(args)) {
		return fmt.Errorf("a call with %d keys and %d arguments of %s", keys, args, s.text)
	}
	return nil
}
