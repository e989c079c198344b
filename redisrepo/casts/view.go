package casts

import (
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
)

// view is the view of the log that the lists of users' votes are.
func (r *Casts) view() *views.View { return &views.View{Name: "cast", Apply: r.apply} }

// apply returns the call that enters the votes of entries into the lists.
func (r *Casts) apply(p keys.Partition, from, to string, entries []views.Entry) (*redis.Script, []string, []any) {
	scriptKeys := []string{
		p.Views(), // KEYS[1] views
	}
	args := []any{
		from,                                     // ARGV[1] from
		to,                                       // ARGV[2] to
		site.Seconds(r.store.Rules.VotingWindow), // ARGV[3] window
		site.Seconds(r.store.Rules.VoteHistory),  // ARGV[4] history
		r.store.ScriptNow(),                      // ARGV[5] now
	}
	for _, e := range entries {
		vote, at, ok := voteOf(e)
		if ok {
			scriptKeys = append(scriptKeys, p.Cast(e.By, site.HourOfText(e.Time).Month())) // KEYS[2...] cast
			args = append(args, e.Article.Number(), int(vote), at, e.Was != "")            // ARGV[6...] vote
		}
	}
	return applyCastsScript, scriptKeys, args
}

// voteOf returns the vote that an entry tells of, and its time: a poster has voted for the article, even if that is not counted.
func voteOf(e views.Entry) (vote site.Vote, at string, ok bool) {
	switch e.Kind {
	case site.KindVoted:
		vote, ok = site.VotePositions[e.To]
		return vote, e.At, ok
	case site.KindPosted, site.KindImported:
		return site.Up, e.Time, e.By != ""
	}
	return 0, "", false
}
