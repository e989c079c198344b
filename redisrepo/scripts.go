package redisrepo

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

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
	voidScript     = wire.Script(luaFiles, "void.lua")
)

// voting is what votes need beside the store.
type voting struct {
	script *redis.Script
	calls  *voteCalls
}

// voteScript returns vote.lua with the rules of the site, which would cost time as arguments of each vote.
func voteScript(store *wire.Store) *redis.Script {
	store.VotingText = wire.Ruled("vote.lua", voteRules(store.Rules))
	return redis.NewScript(store.VotingText)
}

// voteRules are the rules of vote.lua, in Lua: what net votes are worth, seconds; the voting window, and how much longer the voters
// are kept, seconds; the net votes that make an article interesting, and those that make an event.
func voteRules(r site.Rules) map[string]string {
	worth := fmt.Sprintf("%d * votes", r.VoteScore)
	if r.Ranking != site.Linear {
		worth = fmt.Sprintf("worth(%q, votes)", r.RankingText())
	}
	return map[string]string{
		"worth_of":          "function(votes) return " + worth + " end",
		"window":            strconv.FormatInt(site.Seconds(r.VotingWindow), 10),
		"margin":            strconv.FormatInt(site.Seconds(site.VoterMargin), 10),
		"interesting_votes": strconv.Itoa(r.InterestingVotes),
		"milestones":        "{" + strings.Join(milestones(r), ", ") + "}",
	}
}

// milestones are the net votes that make an event: none on a site without events.
func milestones(r site.Rules) []string {
	if r.Events == 0 {
		return nil
	}
	return site.Collect(r.Milestones, strconv.Itoa)
}

// loadScripts loads the scripts into the server, so that they can be called by digest. The primaries of a cluster get
// each of them with its first call.
func (r *Repo) loadScripts(ctx context.Context) error {
	if _, many := r.Store.Client.(*redis.ClusterClient); many {
		return nil
	}
	for _, s := range append([]*redis.Script{r.voting.script}, wire.Scripts...) {
		if err := s.Load(ctx, r.Store.Client).Err(); err != nil {
			return err
		}
	}
	return nil
}
