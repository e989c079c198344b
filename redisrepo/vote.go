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

// VoteResult is what a vote did.
type VoteResult struct {
	Article  *Article // as it stands afterwards
	Previous Vote     // the user's position before
	Changed  bool     // false when the position was set already
}

// Vote sets the user's position on an article. Every net vote moves it by
// VoteScore seconds of ranking: switching from down to up moves it by two. To
// repeat a vote changes nothing and is no error.
//
// It refuses with Invalid what is no position, with NotFound when there is no
// such article, with VotingClosed when the article was posted longer ago than
// VotingWindow or its voters are not known any more, and with Forbidden when a
// poster changes a vote that is not counted. Under rules without Downvotes it
// refuses every vote down with Forbidden; those that were cast before stay, and
// can be taken back or switched. With any other error the vote may or may not
// have counted; to repeat it is safe.
func (r *Repo) Vote(ctx context.Context, id ArticleID, voter UserName, vote Vote) (VoteResult, error) {
	return r.VoteFrom(ctx, id, voter, vote, "")
}

// VoteFrom is Vote from somewhere: bucket is what the voter's address is known
// by. If it is not empty, and the vote changes something, Audit can tell when the
// vote was cast, and the bucket, for as long as the voters are kept.
func (r *Repo) VoteFrom(ctx context.Context, id ArticleID, voter UserName, vote Vote, bucket string) (VoteResult, error) {
	if vote < Down || vote > Up {
		return VoteResult{}, refuse(Invalid, "direction", "a vote is up, down or none, not %d", int(vote))
	}
	if vote == Down && !r.rules.Downvotes {
		return VoteResult{}, refuse(Forbidden, "direction", "this site has no votes down: vote up, or take your vote back")
	}
	p := r.partition(id)
	answer, err := r.runKnowingGroups(ctx, id, "", func(known known) (reply, error) {
		keys := append(make([]string, 0, 16),
			p.article(id), p.voted(id), p.downvoted(id), p.ranking(ByTime), p.ranking(ByScore), p.groups(), p.posted(userOf(known.poster)), p.changes(r.database), p.audit(id))
		keys = groupKeys(groupKeys(keys, p, Interesting), p, groupNames(known.groups)...)
		return r.run(ctx, voteScript, keys, []any{
			id.String(), voter.member(), int(vote),
			r.rules.VoteScore, seconds(r.rules.VotingWindow), seconds(voterMargin), r.rules.InterestingVotes,
			r.scriptNow(), known.groups, known.poster, bucket,
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
		return VoteResult{Article: article, Previous: Vote(before), Changed: Vote(before) != vote}, err
	case "NOT_FOUND":
		return VoteResult{}, noArticle(id)
	case "CLOSED":
		return VoteResult{}, refuse(VotingClosed, "article", "voting on %v is closed: it is open for %v after posting", id, window(r.rules.VotingWindow))
	case "FIXED":
		return VoteResult{}, refuse(Forbidden, "article", "you posted %v: on this site a poster's own vote is not counted and stays as it is", id)
	default:
		return VoteResult{}, fmt.Errorf("vote on %v: the script replied %q", id, status)
	}
}

// known is what a caller knows of an article before it calls a script.
type known struct{ groups, poster string }

// staleLimit bounds how often a script is called again because the article's
// groups had changed since they were read: each time somebody regrouped it
// within a round trip.
const staleLimit = 32

var errGroupsKeepChanging = errors.New("the article's groups change faster than they can be read")

// runKnowingGroups calls a script with the article's groups as they are
// remembered, and with a guess of its poster's member, and, when it replies
// STALE, with those that it replied.
func (r *Repo) runKnowingGroups(ctx context.Context, id ArticleID, poster string, call func(known) (reply, error)) (reply, error) {
	k := known{poster: poster}
	k.groups, _ = r.groups.Get(id)
	for range staleLimit {
		answer, err := call(k)
		if err != nil || answer.status() != "STALE" {
			return answer, err
		}
		k = known{groups: answer.text(1), poster: answer.text(2)}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, errGroupsKeepChanging)
}

func noArticle(id ArticleID) Refusal {
	return refuse(NotFound, "article", "there is no %v", id)
}
