package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// MaxVoided is the maximum number of users in one call of VoidVotes, which take Redis a millisecond or two.
const MaxVoided = 200

// VoidVotes takes the votes of users on an article out of all counts, as if they had never been cast, or puts them back
// (isVoid false). It returns the article, and how many of these users then have a vote on it that does not count. Users
// without a vote are ignored; the same call again is a no-op, not an error.
//
// Counts, score, all lists and the calendars then exclude the votes. Events, milestones, saved front pages and best
// ranks stay. A user whose vote does not count cannot vote on the article until it is put back. Votes are found among
// the article's voters while these are known, after that in the users' histories. A deleted article is restored
// without the votes that were taken out meanwhile.
//
// The Refusal is Forbidden if the actor is not a moderator, NotFound if the article does not exist, and
// Invalid or TooLong for no names, more than MaxVoided, an invalid name, or an invalid reason; only putting back needs
// no reason.
func (r *Repo) VoidVotes(ctx context.Context, id site.ArticleID, by site.Actor, users []string, isVoid bool, reason string) (article *site.Article, void int, err error) {
	if !by.Moderator {
		return nil, 0, site.Refuse(site.Forbidden, "users", "only moderators can take votes out of the counts")
	}
	why, refusal := site.Why{Reason: reason}.Check()
	if why.Reason == "" && len(refusal) == 0 && isVoid {
		refusal = site.Refuse(site.Invalid, "reason", "give a reason: the voters are shown it")
	}
	if n := len(users); n == 0 || n > MaxVoided {
		return nil, 0, append(refusal, site.Refuse(site.Invalid, "users", "name 1 to %d users, not %d", MaxVoided, n)...)
	}
	var voters []site.UserName
	for i, name := range users {
		voter, err := site.ParseUserName(name)
		if broken, ok := errors.AsType[site.Refusal](site.InField("users."+strconv.Itoa(i), err)); ok {
			refusal = append(refusal, broken...)
		}
		voters = append(voters, voter)
	}
	if len(refusal) > 0 {
		return nil, 0, refusal
	}
	slices.Sort(voters)
	answer, err := r.callVoid(ctx, id, by, slices.Compact(voters), isVoid, why)
	if err != nil {
		return nil, 0, failover.Wrap(fmt.Sprintf("void votes on %v", id), err)
	}
	switch status := answer.Status(); status {
	case "OK":
		article, err = r.Articles.ObserveReply(id, wire.Reply{status, answer[2]})
		return article, int(answer.Number(1)), err
	case "NOT_FOUND":
		return nil, 0, site.NoArticle(id)
	default:
		return nil, 0, fmt.Errorf("void votes on %v: the script replied %q", id, status)
	}
}

// callVoid calls void.lua.
func (r *Repo) callVoid(ctx context.Context, id site.ArticleID, by site.Actor, voters []site.UserName, isVoid bool, why site.Why) (wire.Reply, error) {
	p, rules := r.Store.Partition(id), r.Store.Rules
	month, history := r.Store.ThisHour().Month(), ""
	if r.Store.Has("cast") {
		if err := r.Views.CatchUp(ctx); err != nil { // the lists say when the votes were cast
			return nil, err
		}
		history = strconv.FormatInt(site.Seconds(rules.VoteHistory), 10)
	}
	return r.runWithGroups(id, "", func(e expected) (wire.Reply, error) {
		if e.time != "" {
			month = site.HourOfText(e.time).Month()
		}
		scriptKeys := append(make([]string, 0, 32+len(voters)),
			p.Article(id),             // KEYS[1] article
			p.Voted(id),               // KEYS[2] voted
			p.Downvoted(id),           // KEYS[3] downvoted
			p.Void(id),                // KEYS[4] void
			p.Ranking(site.ByScore),   // KEYS[5] scores
			p.Clock(""),               // KEYS[6] clock
			p.Front(),                 // KEYS[7] pages
			p.Moderation(),            // KEYS[8] log
			p.Events(),                // KEYS[9] events
			p.Group(site.Interesting), // KEYS[10] interesting
		)
		args := []any{
			id.String(),                          // ARGV[1] member
			isVoid,                               // ARGV[2] takes_out
			by.Name.Member(),                     // ARGV[3] by
			by.ViaMember(),                       // ARGV[4] via
			why.Reason,                           // ARGV[5] reason
			string(why.Ground),                   // ARGV[6] ground
			rules.RankingText(),                  // ARGV[7] ranking
			site.Seconds(rules.VotingWindow),     // ARGV[8] window
			site.Seconds(site.VoterMargin),       // ARGV[9] margin
			history,                              // ARGV[10] history
			rules.InterestingVotes,               // ARGV[11] interesting_votes
			strings.Join(milestones(rules), " "), // ARGV[12] milestones
			site.ModerationEntries,               // ARGV[13] max_entries
			r.Store.On,                           // ARGV[14] features
			r.Store.ScriptNow(),                  // ARGV[15] now
		}
		for _, voter := range voters {
			if history != "" {
				scriptKeys = append(scriptKeys, p.Cast(voter, month)) // KEYS[11...] cast
			}
			args = append(args, voter.Member()) // ARGV[16...] voter
		}
		return r.Store.Call(ctx, voidScript, scriptKeys, args)
	})
}
