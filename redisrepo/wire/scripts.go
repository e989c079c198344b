package wire

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
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

// Pipelined runs the commands that queue adds in one round trip. Each has its own error. go-redis sets none if its
// connection could not log in, so that a reply would look empty.
func (r *Store) Pipelined(ctx context.Context, queue func(redis.Pipeliner)) ([]redis.Cmder, error) {
	commands, err := r.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		queue(p)
		return nil
	})
	if err != nil && failover.FirstError(commands, nil) == nil {
		_ = failover.FailAll(commands, err)
	}
	return commands, err
}

// Pipeline runs the commands that queue adds in one round trip. Scripts are called by digest. Those that a server does
// not know, because it was restarted or has just become a primary, are called again by their text.
//
// Replies of redis.Nil are not errors: the caller checks the commands for them.
func (r *Store) Pipeline(ctx context.Context, queue func(redis.Pipeliner)) error {
	commands, err := r.Pipelined(ctx, queue)
	if err == nil {
		return nil
	}
	var unknown []redis.Cmder
	for _, c := range commands {
		if redis.HasErrorPrefix(c.Err(), "NOSCRIPT") {
			r.byText(c.Args())
			c.SetErr(nil) // go-redis would keep it if no connection can send the call
			unknown = append(unknown, c)
		}
	}
	if len(unknown) > 0 {
		_, _ = r.Pipelined(ctx, func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, unknown...) })
	}
	if err := failover.FirstError(commands, nil); !errors.Is(err, redis.Nil) {
		return err
	}
	return nil
}

// byText turns the words of a call by digest into those of a call by text.
func (r *Store) byText(words []any) {
	digest, _ := words[1].(string)
	words[0], words[1] = "eval", cmp.Or(scriptTexts[digest], r.VotingTexts[digest])
}

// Reply is the reply of a script: a status and what belongs to it.
type Reply []any

// Run calls a script that writes by its digest, or by its text if the server does not know the digest.
func (r *Store) Run(ctx context.Context, s *redis.Script, keys []string, args []any) (Reply, error) {
	return r.RunUnconfirmed(r.Confirmed(ctx), s, keys, args)
}

// RunUnconfirmed is run without waiting for replicas, for a script whose lost writes are no harm.
func (r *Store) RunUnconfirmed(ctx context.Context, s *redis.Script, keys []string, args []any) (Reply, error) {
	words := ScriptWords(s, keys, args)
	command := ScriptCommand(ctx, words)
	err := r.Send(ctx, command)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		r.byText(words)
		command = ScriptCommand(ctx, words)
		err = r.Send(ctx, command)
	}
	if err != nil {
		return nil, err
	}
	return StatusReply(command)
}

// ScriptWords are the words of a call by digest.
func ScriptWords(s *redis.Script, keys []string, args []any) []any {
	words := append(make([]any, 0, 3+len(keys)+len(args)), "evalsha", s.Hash(), len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	return append(words, args...)
}

func ScriptCommand(ctx context.Context, words []any) *redis.Cmd {
	command := redis.NewCmd(ctx, words...)
	if words[2] != 0 {
		command.SetFirstKeyPos(3)
	}
	return command
}

// StatusReply returns the reply of a script, which begins with a status.
func StatusReply(command *redis.Cmd) (Reply, error) {
	answer, err := command.Slice()
	if err == nil && Reply(answer).Text(0) == "" {
		err = ErrNoStatus
	}
	return answer, err
}

// RunKnowing is run for the words of a whole command, and reports whether the client's hook (LimitWaiting) called the
// script again because the first reply was lost. Then the reply may be about what the first call left.
func (r *Store) RunKnowing(ctx context.Context, words []any) (answer Reply, again bool, err error) {
	ctx = r.Confirmed(ctx)
	for {
		command := &failover.Once{Cmd: ScriptCommand(ctx, words)}
		err = r.Send(ctx, command)
		again = again || command.Lost
		switch {
		case redis.HasErrorPrefix(err, "NOSCRIPT"): // also after a repeat: the server may have been restarted
			r.byText(words)
		case err != nil:
			return nil, false, err
		default:
			answer, err = StatusReply(command.Cmd)
			return answer, again, err
		}
	}
}

var ErrNoStatus = errors.New("the script's reply has no status")

func (a Reply) Status() string { return a.Text(0) }

// Text is element i, or empty if that is not a string.
func (a Reply) Text(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := a[i].(string)
	return s
}

// Number is element i, or 0 if that is not a number.
func (a Reply) Number(i int) int64 {
	if i >= len(a) {
		return 0
	}
	n, _ := a[i].(int64)
	return n
}

// Fields calls set with each field and value of element i, a list of both in turn.
func (a Reply) Fields(i int, set func(field, value string)) error {
	var pairs []any
	if i < len(a) {
		pairs, _ = a[i].([]any)
	}
	if len(pairs) == 0 || len(pairs)%2 != 0 {
		return fmt.Errorf("the script's reply %v has no hash at %d", a, i)
	}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		field, _ := pairs[0].(string)
		value, _ := pairs[1].(string)
		set(field, value)
	}
	return nil
}
