package redisrepo

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	postScript    = script("post.lua")
	adoptScript   = script("adopt.lua")
	regroupScript = script("regroup.lua")
	rerankScript  = script("rerank.lua")
	foldScript    = script("fold.lua")
	listingScript = script("listing.lua")
	gatherScript  = script("gather.lua")
	rankedScript  = script("ranked.lua")
	mendScript    = script("mend.lua")
	rateScript    = script("rate.lua")
	votersScript  = script("voters.lua")

	editScript     = script("edit.lua")
	deleteScript   = script("delete.lua")
	undeleteScript = script("undelete.lua")
	rightsScript   = script("rights.lua")
	openScript     = script("open.lua")
	putScript      = script("put.lua")
	sizeScript     = script("size.lua")
	linkScript     = script("link.lua")
	hostsScript    = script("hosts.lua")
	buildScript    = script("build.lua")
	layoutScript   = script("layout.lua")

	fillCastsScript  = script("fillcasts.lua")
	beginFrontScript = script("beginfront.lua")
	frontPageScript  = script("frontpage.lua")
	bestRankScript   = script("bestrank.lua")
)

// scripts are all scripts but vote.lua and upvote.lua, which each Repo has for its rules. scriptTexts are their texts by digest.
var (
	scripts     []*redis.Script
	scriptTexts = map[string]string{}
)

// script returns the script in a file, after the functions of shared.lua that it uses: every call defines them again,
// which takes Redis longer than many a command.
func script(name string) *redis.Script {
	source := withShared(readLua(name))
	s := redis.NewScript(source)
	scripts = append(scripts, s)
	scriptTexts[s.Hash()] = source
	return s
}

// votingText is vote.lua or upvote.lua for a site with these rules. The index of the first listing in its keys is one of
// first: without features, and with some.
func votingText(name string, rules Rules, first [2]int) string {
	blocks, firstListing := []string{"linear"}, first[0]
	if rules.Ranking != Linear {
		blocks = []string{"decaying"}
	}
	if features := featuresOf(rules); features != "" {
		firstListing = first[1]
		blocks = append(append(blocks, "keyed"), strings.FieldsFunc(features, func(c rune) bool { return c == ' ' || c == '=' })...)
	}
	if rules.FrontPages > 0 && !rules.Calendar {
		blocks = append(blocks, "front_alone")
	}
	var milestones, crosses, reaches []string
	for _, votes := range rules.Milestones {
		milestones = append(milestones, strconv.Itoa(votes))
		crosses = append(crosses, fmt.Sprintf("lowest < %d and highest >= %[1]d", votes))
		reaches = append(reaches, fmt.Sprintf("votes == %d", votes))
	}
	values := map[string]string{
		"VOTE_SCORE":    strconv.Itoa(rules.VoteScore),
		"RANKING":       "'" + rules.rankingText() + "'",
		"WINDOW":        strconv.FormatInt(seconds(rules.VotingWindow), 10),
		"MARGIN":        strconv.FormatInt(seconds(voterMargin), 10),
		"INTERESTING":   strconv.Itoa(rules.InterestingVotes),
		"EVENTS":        strconv.Itoa(rules.Events),
		"MILESTONES":    strings.Join(milestones, ", "),
		"CROSSES":       cmp.Or(strings.Join(crosses, " or "), "false"),
		"REACHES":       cmp.Or(strings.Join(reaches, " or "), "false"),
		"HISTORY":       strconv.FormatInt(seconds(rules.VoteHistory), 10),
		"FRONT_HOURS":   strconv.FormatInt(rules.frontHours(), 10),
		"FIRST_LISTING": strconv.Itoa(firstListing),
	}
	text := luaRule.ReplaceAllStringFunc(withBlocks(readLua(name), blocks), func(name string) string {
		return cmp.Or(values[name], name)
	})
	return withShared(text)
}

func (r *Repo) votingScript(name string, firstListing [2]int) *redis.Script {
	text := votingText(name, r.rules, firstListing)
	s := redis.NewScript(text)
	r.votingTexts[s.Hash()] = text
	return s
}

// luaRule matches the names in capitals that votingText knows, besides those of Redis.
var luaRule = regexp.MustCompile(`\b[A-Z_]+\b`)

// withBlocks returns a script without its blocks between the lines "-- begin NAME" and "-- end NAME" of other names.
func withBlocks(source string, names []string) string {
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

// withShared returns a script after the functions of shared.lua that it uses, but with those of a line "-- define NAME..."
// in place of the line.
func withShared(source string) string {
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
	sharedFunctions = parseShared(readLua("shared.lua"))
	luaFunction     = regexp.MustCompile(`(?ms)^local function (\w+)\(.*?^end\n`)
)

func parseShared(text string) (functions []sharedFunction) {
	for _, f := range luaFunction.FindAllStringSubmatch(text, -1) {
		functions = append(functions, sharedFunction{f[1], f[0]})
	}
	return functions
}

func readLua(name string) string {
	file, err := luaFiles.ReadFile(name)
	if err != nil {
		panic(err) // embedded above
	}
	return string(file)
}

// loadScripts loads the scripts into the server, so that they can be called by digest. The primaries of a cluster get
// each of them with its first call.
func (r *Repo) loadScripts(ctx context.Context) error {
	if _, many := r.client.(*redis.ClusterClient); many {
		return nil
	}
	for _, s := range append(slices.Clip(scripts), r.voteScript, r.upvoteScript) {
		if err := s.Load(ctx, r.client).Err(); err != nil {
			return err
		}
	}
	return nil
}

// pipelined runs the commands that queue adds in one round trip. Each has its own error. go-redis sets none if its
// connection could not log in, so that a reply would look empty.
func (r *Repo) pipelined(ctx context.Context, queue func(redis.Pipeliner)) ([]redis.Cmder, error) {
	commands, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		queue(p)
		return nil
	})
	if err != nil && firstError(commands, nil) == nil {
		_ = failAll(commands, err)
	}
	return commands, err
}

// pipeline runs the commands that queue adds in one round trip. Scripts are called by digest. Those that a server does
// not know, because it was restarted or has just become a primary, are called again by their text.
//
// Replies of redis.Nil are not errors: the caller checks the commands for them.
func (r *Repo) pipeline(ctx context.Context, queue func(redis.Pipeliner)) error {
	commands, err := r.pipelined(ctx, queue)
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
		_, _ = r.pipelined(ctx, func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, unknown...) })
	}
	if err := firstError(commands, nil); !errors.Is(err, redis.Nil) {
		return err
	}
	return nil
}

// byText turns the words of a call by digest into those of a call by text.
func (r *Repo) byText(words []any) {
	digest, _ := words[1].(string)
	words[0], words[1] = "eval", cmp.Or(scriptTexts[digest], r.votingTexts[digest])
}

// reply is the reply of a script: a status and what belongs to it.
type reply []any

// run calls a script that writes by its digest, or by its text if the server does not know the digest.
func (r *Repo) run(ctx context.Context, s *redis.Script, keys []string, args []any) (reply, error) {
	return r.runUnconfirmed(r.confirmed(ctx), s, keys, args)
}

// runUnconfirmed is run without waiting for replicas, for a script whose lost writes are no harm.
func (r *Repo) runUnconfirmed(ctx context.Context, s *redis.Script, keys []string, args []any) (reply, error) {
	words := scriptWords(s, keys, args)
	command := scriptCommand(ctx, words)
	err := r.send(ctx, command)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		r.byText(words)
		command = scriptCommand(ctx, words)
		err = r.send(ctx, command)
	}
	if err != nil {
		return nil, err
	}
	return statusReply(command)
}

// scriptWords are the words of a call by digest.
func scriptWords(s *redis.Script, keys []string, args []any) []any {
	words := append(make([]any, 0, 3+len(keys)+len(args)), "evalsha", s.Hash(), len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	return append(words, args...)
}

func scriptCommand(ctx context.Context, words []any) *redis.Cmd {
	command := redis.NewCmd(ctx, words...)
	if words[2] != 0 {
		command.SetFirstKeyPos(3)
	}
	return command
}

// statusReply returns the reply of a script, which begins with a status.
func statusReply(command *redis.Cmd) (reply, error) {
	answer, err := command.Slice()
	if err == nil && reply(answer).text(0) == "" {
		err = errNoStatus
	}
	return answer, err
}

// once is a command that go-redis does not send again after its reply was lost.
type once struct {
	*redis.Cmd
	lost  bool // it was sent again nevertheless, and may have taken effect before
	first any  // its first reply, if that is known though it was sent again
}

func (*once) NoRetry() bool { return true }

// again notes that the command is about to be sent again.
func (o *once) again() {
	if !mayHaveRun(o.Err()) {
		return
	}
	if !o.lost && errors.Is(o.Err(), errUnconfirmed) {
		o.first = o.Val()
	}
	o.lost = true
}

// runKnowing is run for the words of a whole command, and reports whether the client's hook (LimitWaiting) called the
// script again because the first reply was lost. Then the reply may be about what the first call left.
func (r *Repo) runKnowing(ctx context.Context, words []any) (answer reply, again bool, err error) {
	ctx = r.confirmed(ctx)
	for {
		command := &once{Cmd: scriptCommand(ctx, words)}
		err = r.send(ctx, command)
		again = again || command.lost
		switch {
		case redis.HasErrorPrefix(err, "NOSCRIPT"): // also after a repeat: the server may have been restarted
			r.byText(words)
		case err != nil:
			return nil, false, err
		default:
			answer, err = statusReply(command.Cmd)
			return answer, again, err
		}
	}
}

var errNoStatus = errors.New("the script's reply has no status")

func (a reply) status() string { return a.text(0) }

// text is element i, or empty if that is not a string.
func (a reply) text(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := a[i].(string)
	return s
}

// number is element i, or 0 if that is not a number.
func (a reply) number(i int) int64 {
	if i >= len(a) {
		return 0
	}
	n, _ := a[i].(int64)
	return n
}

// fields calls set with each field and value of element i, a list of both in turn.
func (a reply) fields(i int, set func(field, value string)) error {
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
