package wire

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var luaFiles embed.FS

var rightsScript = Script(luaFiles, "rights.lua")

// Scripts are all scripts but vote.lua and upvote.lua, which each Repo has for its rules. scripts are the same by digest,
// and luaSources the Lua files of all rooms that are initialized.
var (
	Scripts    []*redis.Script
	scripts    = map[string]*script{}
	luaSources = map[string]string{}
)

// script is a script as Redis gets it, and what its header says of its keys and arguments.
type script struct {
	text       string
	keys, args slots
}

// AddLua makes the Lua files of a room known, so that scripts can use them.
func AddLua(files embed.FS) bool {
	names, _ := fs.Glob(files, "*.lua")
	for _, name := range names {
		text, err := files.ReadFile(name)
		if before, known := luaSources[name]; err != nil || known && before != string(text) {
			panic(fmt.Sprintf("%s: there are two, or %v", name, err))
		}
		luaSources[name] = string(text)
	}
	return true
}

// Script returns the script in a file of a room. Its header names the files whose functions it uses, and its keys and
// arguments in their order:
//
//	-- uses NAME ...
//	-- KEY NAME  description
//	-- ARG NAME  description
//
// The last key and the last argument may be a run of any number, KEYS or ARGS: the script gets first_NAME, the index of
// its first one. A name in brackets may be missing in a call.
func Script(files embed.FS, name string) *redis.Script {
	AddLua(files)
	composed, err := compose(luaSources[name])
	if err != nil {
		panic(name + ": " + err.Error())
	}
	s := redis.NewScript(composed.text)
	Scripts = append(Scripts, s)
	scripts[s.Hash()] = composed
	return s
}

// compose puts the functions that a script uses, and its keys and arguments as locals, in place of the last line of its
// header, so that the numbers of lines in errors stay right.
func compose(source string) (*script, error) {
	s := &script{}
	lines := strings.Split(source, "\n")
	end := 0
	var used, names, values []string
	for ; end < len(lines) && strings.HasPrefix(lines[end], "--"); end++ {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(lines[end], "-- "), " ")
		var name, value string
		var err error
		switch kind {
		case "uses":
			used = append(used, strings.Fields(rest)...)
			continue
		case "KEY", "KEYS":
			name, value, err = s.keys.add("KEYS", rest, kind == "KEYS")
		case "ARG", "ARGS":
			name, value, err = s.args.add("ARGV", rest, kind == "ARGS")
		default:
			continue
		}
		if err == nil && slices.Contains(names, name) {
			err = errors.New("a name is given twice")
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines[end], err)
		}
		names, values = append(names, name), append(values, value)
	}
	functions, err := luaFunctions(used...)
	if err != nil || len(names) == 0 {
		return nil, cmp.Or(err, errors.New("the header names no key and no argument"))
	}
	lines[end-1] = fmt.Sprintf("%slocal %s = %s", oneLine(functions), strings.Join(names, ", "), strings.Join(values, ", "))
	s.text = strings.Join(lines, "\n")
	return s, nil
}

// slots are how many keys or arguments a call of a script has.
type slots struct {
	fewest, most int
	isRun        bool // any number follows
}

var luaName = regexp.MustCompile(`^[a-z][a-z_]*$`)

// add adds the key or argument of a header's line, and returns the script's name of it, and its value.
func (s *slots) add(list, line string, isRun bool) (name, value string, err error) {
	name, description, _ := strings.Cut(line, " ")
	name, isOptional := strings.CutPrefix(name, "[")
	name = strings.TrimSuffix(name, "]")
	if !luaName.MatchString(name) || strings.TrimSpace(description) == "" || s.isRun || !isOptional && !isRun && s.fewest < s.most {
		return "", "", errors.New("want a name and a description, those that may be missing after the others, and a run at the end")
	}
	if s.isRun = isRun; isRun {
		return "first_" + name, strconv.Itoa(s.most + 1), nil
	}
	s.most++
	if !isOptional {
		s.fewest++
	}
	return name, fmt.Sprintf("%s[%d]", list, s.most), nil
}

func (s slots) allow(number int) bool { return number >= s.fewest && (s.isRun || number <= s.most) }

// LuaFunctions returns the text of some files of functions, each after those that it uses.
func LuaFunctions(names ...string) string {
	text, err := luaFunctions(names...)
	if err != nil {
		panic(err)
	}
	return text
}

func luaFunctions(names ...string) (string, error) {
	var text strings.Builder
	done := map[string]bool{}
	var add func(names []string) error
	add = func(names []string) error {
		for _, name := range names {
			source, known := luaSources[name+".lua"]
			if !known {
				return fmt.Errorf("uses %s, which is in no room that is initialized before", name)
			}
			if done[name] {
				continue
			}
			done[name] = true
			first, rest, _ := strings.Cut(source, "\n")
			if used, uses := strings.CutPrefix(first, "-- uses "); uses {
				source = rest
				if err := add(strings.Fields(used)); err != nil {
					return err
				}
			}
			text.WriteString(source)
		}
		return nil
	}
	err := add(names)
	return text.String(), err
}

// oneLine returns Lua without comments and newlines. Functions have -- in comments only.
func oneLine(source string) string {
	var line strings.Builder
	for text := range strings.Lines(source) {
		code, _, _ := strings.Cut(text, "--")
		if code = strings.TrimSpace(code); code != "" {
			line.WriteString(code + " ")
		}
	}
	return line.String()
}

// TextOf returns the text of one of Scripts, as Redis gets it, by its digest.
func TextOf(digest string) string {
	if s := scripts[digest]; s != nil {
		return s.text
	}
	return ""
}

// CheckCall returns an error if a script is called by digest with another number of keys or arguments than its header
// names. Tests call it for every command.
func CheckCall(command redis.Cmder) error {
	words := command.Args()
	if command.Name() != "evalsha" {
		return nil
	}
	s, keys := scripts[words[1].(string)], words[2].(int)
	if s != nil && (!s.keys.allow(keys) || !s.args.allow(len(words)-3-keys)) {
		return fmt.Errorf("a call with %d keys and %d arguments of the script %s", keys, len(words)-3-keys, s.text)
	}
	return nil
}
