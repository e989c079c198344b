package redisrepo

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	postScript     = wire.Script(luaFiles, "post.lua")
	editScript     = wire.Script(luaFiles, "edit.lua")
	deleteScript   = wire.Script(luaFiles, "delete.lua")
	undeleteScript = wire.Script(luaFiles, "undelete.lua")
)

// votingText is vote.lua or upvote.lua for a site with these rules. The index of the first listing in its keys is one of
// first: without features, and with some.
func votingText(name string, rules site.Rules, first [2]int) string {
	blocks, firstListing := []string{"linear"}, first[0]
	if rules.Ranking != site.Linear {
		blocks = []string{"decaying"}
	}
	if features := layout.FeaturesOf(rules); features != "" {
		firstListing = first[1]
		blocks = append(append(blocks, "keyed"), strings.FieldsFunc(features, func(c rune) bool { return c == ' ' || c == '=' })...)
	}
	if rules.FrontPages > 0 && !rules.Calendar {
		blocks = append(blocks, "front_alone")
	}
	var milestones, crosses, reaches []string
	for _, votes := range rules.Milestones {
		milestones = append(milestones, strconv.Itoa(votes))
		crosses = append(crosses, fmt.Sprintf("votes < %d and after >= %[1]d", votes))
		reaches = append(reaches, fmt.Sprintf("votes == %d", votes))
	}
	values := map[string]string{
		"VOTE_SCORE":    strconv.Itoa(rules.VoteScore),
		"RANKING":       "'" + rules.RankingText() + "'",
		"WINDOW":        strconv.FormatInt(site.Seconds(rules.VotingWindow), 10),
		"MARGIN":        strconv.FormatInt(site.Seconds(site.VoterMargin), 10),
		"INTERESTING":   strconv.Itoa(rules.InterestingVotes),
		"EVENTS":        strconv.Itoa(rules.Events),
		"MILESTONES":    strings.Join(milestones, ", "),
		"CROSSES":       cmp.Or(strings.Join(crosses, " or "), "false"),
		"REACHES":       cmp.Or(strings.Join(reaches, " or "), "false"),
		"HISTORY":       strconv.FormatInt(site.Seconds(rules.VoteHistory), 10),
		"FRONT_HOURS":   strconv.FormatInt(rules.FrontHours(), 10),
		"FIRST_LISTING": strconv.Itoa(firstListing),
	}
	source, err := luaFiles.ReadFile(name)
	if err != nil {
		panic(err) // a script of this program is missing
	}
	text := luaRule.ReplaceAllStringFunc(withBlocks(string(source), blocks), func(name string) string {
		return cmp.Or(values[name], name)
	})
	return withShared(text)
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

// withShared returns a script after the shared functions that it uses, but with those of a line "-- define NAME..." in
// place of the line.
func withShared(source string) string {
	var defined []string
	source = luaDefine.ReplaceAllStringFunc(source, func(line string) (text string) {
		for _, f := range votingFunctions {
			if slices.Contains(strings.Fields(line), f[1]) {
				defined = append(defined, f[1])
				text += f[0]
			}
		}
		return text
	})
	used := luaNames(source)
	for _, f := range slices.Backward(votingFunctions) { // functions call only those above them
		if used[f[1]] && !slices.Contains(defined, f[1]) {
			source = f[0] + source
			maps.Copy(used, luaNames(f[0]))
		}
	}
	return source
}

var luaDefine = regexp.MustCompile(`(?m)^ *-- define .*\n`)

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

// votingFunctions are the shared functions that the scripts of votes use: their texts and names.
var votingFunctions = regexp.MustCompile(`(?ms)^local function (\w+)\(.*?^end\n`).FindAllStringSubmatch(wire.LuaFunctions(
	"worth", "hour", "types", "publish", "groups", "leave", "keep_front", "calendar", "cast_expiry", "tell"), -1)

// voting is what votes need beside the store.
type voting struct {
	vote, upvote *redis.Script
	calls        *voteCalls
}

func newVoting(store *wire.Store) (*voting, error) {
	calls, err := newVoteCalls()
	return &voting{
		vote:   votingScript(store, "vote.lua", [2]int{firstWithout + 1, firstWith + 1}),
		upvote: votingScript(store, "upvote.lua", [2]int{7, 10}),
		calls:  calls,
	}, err
}

// votingTexts are the texts by script and rules: a process of tests opens many sites.
var votingTexts sync.Map

func votingScript(store *wire.Store, name string, firstListing [2]int) *redis.Script {
	key := fmt.Sprint(name, store.Rules)
	text, ok := votingTexts.Load(key)
	if !ok {
		text = votingText(name, store.Rules, firstListing)
		votingTexts.Store(key, text)
	}
	s := redis.NewScript(text.(string))
	store.VotingTexts[s.Hash()] = text.(string)
	return s
}

// loadScripts loads the scripts into the server, so that they can be called by digest. The primaries of a cluster get
// each of them with its first call.
func (r *Repo) loadScripts(ctx context.Context) error {
	if _, many := r.Store.Client.(*redis.ClusterClient); many {
		return nil
	}
	for _, s := range append(slices.Clip(wire.Scripts), r.voting.vote, r.voting.upvote) {
		if err := s.Load(ctx, r.Store.Client).Err(); err != nil {
			return err
		}
	}
	return nil
}
