package redisrepo

import (
	"context"
	"errors"
	"fmt"
)

// Vote is a user's position on one article. Its value is what it adds to the article's net votes.
type Vote int

// The positions.
const (
	Down Vote = iota - 1
	None
	Up
)

// String returns "down", "none" or "up".
func (v Vote) String() string {
	switch v {
	case Down:
		return "down"
	case None:
		return "none"
	case Up:
		return "up"
	default:
		return fmt.Sprintf("Vote(%d)", int(v))
	}
}

// VoteResult is the effect of a vote.
type VoteResult struct {
	Article  *Article // after the vote
	Previous Vote     // the user's position before
	Changed  bool     // false if the user had the position already

	// Unknown is true if the call had to be repeated because a reply was lost, and the second reply does not tell
	// whether the user had the position already: Previous then is the position, and Changed is true.
	Unknown bool
}

// Vote sets the user's position on an article. Every net vote moves the article by VoteScore seconds of
// ranking; switching from down to up moves it by two votes. Repeating a vote is a no-op, not an error.
//
// bucket is a pseudonym of the voter's address. If it is not empty and the vote changes something, the
// time of the vote and the bucket are recorded for Audit, for as long as the voters are kept.
//
// The Refusal is Invalid if the value is not a position, NotFound if the article does not exist, and
// VotingClosed if it was posted more than VotingWindow ago or its voters have been forgotten. It is
// Forbidden for a poster who would change a vote that does not count and, under rules without Downvotes,
// for every downvote; earlier downvotes stay, and can be withdrawn or switched. After any other error the
// vote may or may not have been counted; it is safe to repeat.
func (r *Repo) Vote(ctx context.Context, id ArticleID, voter UserName, vote Vote, bucket string) (VoteResult, error) {
	if vote < Down || vote > Up {
		return VoteResult{}, refuse(Invalid, "direction", "a vote is up, down or none, not %d", int(vote))
	}
	if vote == Down && !r.rules.Downvotes {
		return VoteResult{}, refuse(Forbidden, "direction", "this site has no downvotes: vote up, or withdraw your vote")
	}
	p := r.partition(id)
	var again bool // whether the script was called again because a reply was lost
	answer, err := r.runWithGroups(ctx, id, "", func(e expected) (reply, error) {
		keys := append(make([]string, 0, 16),
			p.article(id),              // KEYS[1] article
			p.voted(id),                // KEYS[2] voted
			p.downvoted(id),            // KEYS[3] downvoted
			p.ranking(ByTime),          // KEYS[4] times
			p.ranking(ByScore),         // KEYS[5] scores
			p.posted(userOf(e.poster)), // KEYS[6] posted
			p.changes(r.database),      // KEYS[7] changes
			p.audit(id),                // KEYS[8] audit
		)
		keys = groupKeys(groupKeys(keys, p, Interesting), p, groupNames(e.groups)...)
		args := []any{
			id.String(),                   // ARGV[1] member
			voter.member(),                // ARGV[2] voter
			int(vote),                     // ARGV[3] position
			r.rules.VoteScore,             // ARGV[4] vote_score
			seconds(r.rules.VotingWindow), // ARGV[5] window
			seconds(voterMargin),          // ARGV[6] margin
			r.rules.InterestingVotes,      // ARGV[7] interesting_votes
			r.scriptNow(),                 // ARGV[8] now
			e.groups,                      // ARGV[9] expected_groups
			e.poster,                      // ARGV[10] expected_poster
			bucket,                        // ARGV[11] bucket
			e.found,                       // ARGV[12] found
		}
		return r.guard(ctx, func() (answer reply, err error) {
			answer, again, err = r.runKnowing(ctx, voteScript, keys, args)
			return answer, err
		})
	})
	if err != nil {
		return VoteResult{}, storeError(fmt.Sprintf("vote on %v", id), err)
	}
	switch status := answer.status(); status {
	case "OK":
		before, _ := answer[1].(int64)
		r.live.forgetVote(id, voter)
		article, err := r.observeReply(id, answer, 2)
		unknown := again && Vote(before) == vote
		return VoteResult{Article: article, Previous: Vote(before), Changed: unknown || Vote(before) != vote, Unknown: unknown}, err
	case "NOT_FOUND":
		return VoteResult{}, noArticle(id)
	case "CLOSED":
		if again { // the first call may have been in time
			return VoteResult{}, fmt.Errorf("vote on %v: %w", id, ErrUnavailable)
		}
		return VoteResult{}, refuse(VotingClosed, "article", "voting on %v is closed: it is open for %v after posting", id, formatWindow(r.rules.VotingWindow))
	case "FIXED":
		return VoteResult{}, refuse(Forbidden, "article", "you posted %v: on this site a poster's own vote is not counted and cannot be changed", id)
	default:
		return VoteResult{}, fmt.Errorf("vote on %v: the script replied %q", id, status)
	}
}

// expected is what the caller of a script expects to be in the article's hash: the script must be given
// all keys that it touches, and these depend on the article's groups and poster.
type expected struct {
	groups, poster string
	found          bool // whether the groups come from findGroups, since the hash does not list them
}

// maxStaleReplies is how often a script is called for an article whose groups have changed since they were
// read or found. Each time, another client must have regrouped it in between.
const maxStaleReplies = 32

var errGroupsKeepChanging = errors.New("the article's groups change faster than they can be read")

// runWithGroups calls a script with the article's cached groups and an expected poster. While it replies
// STALE, it is called again with the groups and the poster of the reply; while it replies UNLISTED, with
// the groups that findGroups finds.
func (r *Repo) runWithGroups(ctx context.Context, id ArticleID, poster string, call func(expected) (reply, error)) (reply, error) {
	e := expected{poster: poster}
	e.groups, _ = r.groups.Get(id)
	for range maxStaleReplies {
		answer, err := call(e)
		if err != nil {
			return nil, err
		}
		switch answer.status() {
		case "STALE":
			e = expected{groups: answer.text(1), poster: answer.text(2)}
		case "UNLISTED":
			groups, err := r.findGroups(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("find its groups: %w", err)
			}
			e = expected{groups: groups, poster: answer.text(1), found: true}
		default:
			return answer, nil
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, errGroupsKeepChanging)
}

func noArticle(id ArticleID) Refusal {
	return refuse(NotFound, "article", "there is no %v", id)
}
