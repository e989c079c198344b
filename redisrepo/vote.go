package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	Article  *Article // after the vote; its text may be older, except with VoteAndRead
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
	return r.setVote(id, &ballot{ctx: ctx, voter: voter, vote: vote, bucket: bucket})
}

// VoteAndRead is Vote, but the text and EditedAt of the article are as new as the rest, too: the reply has the whole hash,
// so it is for callers who need them.
func (r *Repo) VoteAndRead(ctx context.Context, id ArticleID, voter UserName, vote Vote, bucket string) (VoteResult, error) {
	return r.setVote(id, &ballot{ctx: ctx, voter: voter, vote: vote, bucket: bucket, reads: true})
}

func (r *Repo) setVote(id ArticleID, b *ballot) (result VoteResult, err error) {
	vote, ctx := b.vote, b.ctx
	defer func() { r.stats.votes.count(result.Changed, err) }()
	if vote < Down || vote > Up {
		return VoteResult{}, refuse(Invalid, "direction", "a vote is up, down or none, not %d", int(vote))
	}
	if vote == Down && !r.rules.Downvotes {
		return VoteResult{}, refuse(Forbidden, "direction", "this site has no downvotes: vote up, or withdraw your vote")
	}
	if err := failedBefore(ctx); err != nil {
		return VoteResult{}, storeError(fmt.Sprintf("vote on %v", id), err)
	}
	if !r.polls.enter(id, b) {
		r.stats.joinedVotes.Add(1)
		return r.await(id, b)
	}
	defer func() { r.leavePoll(id, b.err) }()
	r.cast(ctx, id, b)
	return b.result, b.err
}

// cast calls vote.lua once for all ballots, which are those of different users, and sets their results. A usual upvote goes
// to upvote.lua first, which leaves to vote.lua what it does not do. The script
// compares the title that this process remembers, but not the text: if that was edited by another process, the article is
// right but for its text, unless a ballot has the whole hash read.
func (r *Repo) cast(ctx context.Context, id ArticleID, ballots ...*ballot) {
	var call, remembered *voteCall
	reads := slices.ContainsFunc(ballots, func(b *ballot) bool { return b.reads })
	var again bool // whether the script was called again because a reply was lost
	answer, err := r.runWithGroups(ctx, id, "", func(e expected) (reply, error) {
		remembered = r.voteCalls.get(id)
		call = remembered
		if reads {
			call = r.newVoteCall(id, e.placement, nil)
		} else if call == nil || e.told || call.groups != e.groups {
			call = r.newVoteCall(id, e.placement, call)
		}
		defer r.version.Add(1)
		return r.guard(ctx, func() (answer reply, err error) {
			var repeated bool
			if !e.told && r.isUpvote(call, ballots) { // told: its groups change quickly
				answer, repeated, err = r.runKnowing(ctx, r.upvoteWords(id, call, ballots[0]))
				again = again || repeated
				if err != nil || answer.status() != "FULL" {
					return answer, err
				}
			}
			answer, repeated, err = r.runKnowing(ctx, r.voteWords(id, call, ballots))
			again = again || repeated // even if the groups have changed since the call whose reply was lost
			return answer, err
		})
	})
	var article *Article
	if err != nil {
		err = storeError(fmt.Sprintf("vote on %v", id), err)
	} else if answer.status() == "OK" {
		for _, b := range ballots {
			r.live.forgetVote(id, b.voter)
		}
		article, err = r.voted(id, call, remembered, answer)
	}
	for i, b := range ballots {
		if b.err = err; err == nil {
			b.result, b.err = r.voteResult(id, article, answer, i, again, b.vote)
		}
	}
}

// voteResult returns the result of vote i of a call.
func (r *Repo) voteResult(id ArticleID, article *Article, answer reply, i int, again bool, vote Vote) (VoteResult, error) {
	switch status := answer.status(); status {
	case "OK":
		before := Vote(answer.number(firstPosition + i))
		if before == fixedPosition {
			return VoteResult{}, refuse(Forbidden, "article", "you posted %v: on this site a poster's own vote is not counted and cannot be changed", id)
		}
		unknown := again && before == vote
		return VoteResult{Article: article, Previous: before, Changed: unknown || before != vote, Unknown: unknown}, nil
	case "NOT_FOUND":
		return VoteResult{}, noArticle(id)
	case "CLOSED":
		if again { // the first call may have been in time
			return VoteResult{}, fmt.Errorf("vote on %v: %w", id, ErrUnavailable)
		}
		return VoteResult{}, refuse(VotingClosed, "article", "voting on %v is closed: it is open for %v after posting", id, formatWindow(r.rules.VotingWindow))
	default:
		return VoteResult{}, fmt.Errorf("vote on %v: the script replied %q", id, status)
	}
}

// expected is what the caller of a script expects to be in the article's hash: the script must be given
// all keys that it touches, and these depend on the article's groups, posting time, poster and link.
type expected struct {
	placement
	poster, link string
	told         bool // by a reply STALE
}

// maxStaleReplies is how often a script is called for an article whose groups have changed since they were
// read or found. Each time, another client must have regrouped it in between.
const maxStaleReplies = 32

var errGroupsKeepChanging = errors.New("the article's groups change faster than they can be read")

// runWithGroups calls a script with the article's cached groups and an expected poster. While it replies
// STALE, it is called again with the groups and the poster of the reply; while it replies UNLISTED, after the article
// was adopted.
func (r *Repo) runWithGroups(ctx context.Context, id ArticleID, poster string, call func(expected) (reply, error)) (reply, error) {
	e := expected{poster: poster}
	e.placement, _ = r.groups.Get(id)
	for range maxStaleReplies {
		answer, err := call(e)
		if err != nil {
			return nil, err
		}
		switch answer.status() {
		case "STALE":
			e = expected{placement{answer.text(1), hourOfText(answer.text(4))}, answer.text(2), answer.text(3), true}
		case "UNLISTED":
			e.poster, e.posted, e.told = answer.text(1), hourOfText(answer.text(2)), true
			if e.groups, e.link, err = r.adopt(ctx, id, e.poster, e.posted); err != nil {
				return nil, err
			}
		default:
			return answer, nil
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, errGroupsKeepChanging)
}

// adopt completes an article that only legacy clients wrote, unless it changes meanwhile, and returns its groups and link.
func (r *Repo) adopt(ctx context.Context, id ArticleID, poster string, posted hour) (groups, link string, err error) {
	groups, err = r.findGroups(ctx, id)
	if err != nil {
		return "", "", fmt.Errorf("find its groups: %w", err)
	}
	p := r.partition(id)
	links, err := r.readLinks(ctx, p, []string{id.String()})
	if err == nil {
		err = r.recordLinks(ctx, links) // first: nothing would repeat it
	}
	if err != nil {
		return "", "", fmt.Errorf("record its link: %w", err)
	}
	for _, a := range links {
		link = a.link
	}
	keys := append(make([]string, 0, 20),
		p.article(id),            // KEYS[1] article
		p.voted(id),              // KEYS[2] voted
		p.ranking(ByTime),        // KEYS[3] times
		p.posted(userOf(poster)), // KEYS[4] posted
		p.groups(),               // KEYS[5] group_names
		p.sizes(),                // KEYS[6] sizes
		p.host(HostOf(link)),     // KEYS[7] host
	)
	keys = rankingKeys(keys, p, posted) // KEYS[8] to [14]
	names := groupNames(groups)
	for _, name := range names {
		keys = append(keys, p.group(name)) // KEYS[15...]
	}
	keys = r.groupTopKeys(keys, p, posted, names...)
	_, err = r.write(ctx, adoptScript, keys, []any{
		id.String(),                   // ARGV[1] member
		groups,                        // ARGV[2] groups
		poster,                        // ARGV[3] expected_poster
		seconds(r.rules.VotingWindow), // ARGV[4] window
		seconds(voterMargin),          // ARGV[5] margin
		r.scriptNow(),                 // ARGV[6] now
		r.on,                          // ARGV[7] features
	})
	return groups, link, err
}

func noArticle(id ArticleID) Refusal {
	return refuse(NotFound, "article", "there is no %v", id)
}
