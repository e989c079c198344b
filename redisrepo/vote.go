package redisrepo

import (
	"context"
	"errors"
	"fmt"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/voids"
	"frontpage/redisrepo/wire"
)

// VoteResult is the effect of a vote.
type VoteResult struct {
	Article  *site.Article // after the vote; its text may be older, except with VoteAndRead
	Previous site.Vote     // the user's position before
	Changed  bool          // false if the user had the position already

	// Unknown is true if the call was repeated because a reply was lost, and the second reply does not say whether the
	// user had the position already: Previous then is the position, and Changed is true.
	Unknown bool
}

// Vote sets the user's position on an article. Every net vote moves the article by VoteScore seconds of
// ranking; switching from down to up moves it by two votes. Repeating a vote is a no-op, not an error.
//
// bucket is a pseudonym of the voter's address. If it is not empty and the vote changes something, the
// time of the vote and the bucket are recorded for Audit, for as long as the voters are kept.
//
// The Refusal is Invalid if the value is not a position, NotFound if the article does not exist, and
// VotingClosed if it was posted more than VotingWindow ago or its voters have been forgotten. It is Forbidden
// for a poster who would change a vote that does not count and, under rules without Downvotes, for every
// downvote; earlier downvotes stay, and can be withdrawn or switched. It is Denied for a user whose vote on the
// article a moderator has taken out of the counts. After any other error the vote may or may not have been
// counted; the call is safe to repeat.
func (r *Repo) Vote(ctx context.Context, id site.ArticleID, voter site.UserName, vote site.Vote, bucket string) (VoteResult, error) {
	return r.setVote(ctx, id, ballot{voter: voter, vote: vote, bucket: bucket})
}

// VoteAndRead is Vote, but the text and EditedAt of the article are also up to date. Its reply from Redis is larger, so
// use it only for these fields.
func (r *Repo) VoteAndRead(ctx context.Context, id site.ArticleID, voter site.UserName, vote site.Vote, bucket string) (VoteResult, error) {
	return r.setVote(ctx, id, ballot{voter: voter, vote: vote, bucket: bucket, reads: true})
}

// ballot is one vote.
type ballot struct {
	voter  site.UserName
	vote   site.Vote
	bucket string
	reads  bool // whether its caller needs the whole article
}

func (r *Repo) setVote(ctx context.Context, id site.ArticleID, b ballot) (result VoteResult, err error) {
	defer func() { r.Writes.Votes.count(result.Changed, err) }()
	if b.vote < site.Down || b.vote > site.Up {
		return VoteResult{}, site.Refuse(site.Invalid, "direction", "a vote is up, down or none, not %d", int(b.vote))
	}
	if b.vote == site.Down && !r.Store.Rules.Downvotes {
		return VoteResult{}, site.Refuse(site.Forbidden, "direction", "this site has no downvotes: vote up, or withdraw your vote")
	}
	call := r.voting.calls.get(id)
	if call == nil || b.reads {
		call = r.newVoteCall(id, nil, "")
	}
	answer, again, err := r.cast(ctx, id, call, b)
	if err == nil {
		result, err = r.voteResult(id, call, b, answer, again)
	}
	if err != nil && !errors.As(err, new(site.Refusal)) {
		return VoteResult{}, failover.Wrap(fmt.Sprintf("vote on %v", id), err)
	}
	return result, err
}

// maxFrontSaves is how often a vote saves front pages: each time, the clock of the server must have gone on by an hour.
const maxFrontSaves = 32

// cast calls vote.lua, and saves the front page of an hour if the vote is the first after it. again reports whether the script was
// called again because a reply was lost.
func (r *Repo) cast(ctx context.Context, id site.ArticleID, call *voteCall, b ballot) (answer wire.Reply, again bool, err error) {
	index := r.Store.Index(id)
	hour := r.Rankings.SavedHour(index)
	defer r.Store.Changed(index)
	answer, err = r.Store.Guard(ctx, func() (wire.Reply, error) {
		for range maxFrontSaves {
			answer, repeated, err := r.Store.CallWords(ctx, r.voteWords(id, call, b, hour))
			again = again || repeated
			if err != nil || answer.Status() != "UNSAVED" {
				return answer, err
			}
			if hour, err = r.Rankings.SaveFront(ctx, index); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("%w: its clock is not steady", failover.ErrUnavailable)
	})
	if err != nil || again { // there may be another primary, which lacks the page
		r.Rankings.ForgetSaved(index)
	}
	return answer, again, err
}

// voteResult returns the result that a reply of vote.lua tells.
func (r *Repo) voteResult(id site.ArticleID, call *voteCall, b ballot, answer wire.Reply, again bool) (VoteResult, error) {
	switch status := answer.Status(); status {
	case "OK":
		r.Live.ForgetVote(id, b.voter)
		article, err := r.voted(id, call, answer)
		if err != nil {
			return VoteResult{}, err
		}
		before := site.Vote(answer.Number(positionBefore))
		if before == fixedPosition {
			return VoteResult{}, site.Refuse(site.Forbidden, "article", "you posted %v: on this site a poster's own vote is not counted and cannot be changed", id)
		}
		unknown := again && before == b.vote
		return VoteResult{Article: article, Previous: before, Changed: unknown || before != b.vote, Unknown: unknown}, nil
	case "VOID":
		void, err := voids.Parse(id, b.voter.Member(), answer.Text(1))
		if err == nil {
			err = void.Refusal()
		}
		return VoteResult{}, err
	case "NOT_FOUND":
		return VoteResult{}, site.NoArticle(id)
	case "CLOSED":
		if again { // the first call may have been in time
			return VoteResult{}, failover.ErrUnavailable
		}
		return VoteResult{}, site.Refuse(site.VotingClosed, "article", "voting on %v is closed: it is open for %v after posting", id, formatWindow(r.Store.Rules.VotingWindow))
	default:
		return VoteResult{}, fmt.Errorf("the script replied %q", status)
	}
}
