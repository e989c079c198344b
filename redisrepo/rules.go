package redisrepo

import (
	"fmt"
	"time"
)

// The numbers of Redis in Action, chapter 1, and those that follow from them.
const (
	day = 24 * time.Hour

	// MaxGroups is how many groups one article may be in.
	MaxGroups = 10
	// MaxPageSize is the largest page that a listing answers.
	MaxPageSize = 100

	// voterMargin is how much longer than the voting window the voters of an
	// article are kept, so that a late vote is refused before they are forgotten,
	// even after a failover to a server whose clock is off.
	voterMargin = time.Hour
	// moderationEntries is about how many entries the moderation log of each
	// partition keeps.
	moderationEntries = 100_000
	// postRecordTTL is how long a repeated idempotency key finds its first post.
	postRecordTTL = day
)

// Rules are the rules of a site. They belong to the data: every process on one
// store must use the same. New applies a change to the articles that exist,
// with two exceptions: an article keeps the PosterVotes that it was posted
// under, and a longer window opens none whose voters are forgotten.
type Rules struct {
	VoteScore        int           // seconds of ranking that a vote is worth, at least 1
	VotingWindow     time.Duration // from posting, whole seconds, at least 1 s
	PosterVotes      bool          // whether the poster's own vote counts as the first
	InterestingVotes int           // net votes that make an article interesting, at least 1
	PageSize         int           // articles on a page, 1 to MaxPageSize
	GroupCacheTTL    time.Duration // how long a group's listing is kept after its last use, at least 1 s

	// The next two are for what is done from now on: what is there stays.
	LinkWindow time.Duration // how long a link that was posted is refused to others, whole seconds; 0: never
	Downvotes  bool          // whether anybody can vote down
}

// BookRules are those of Redis in Action: 200 votes are worth a day, voting is
// open for a week, a page has 25 articles. Beside the book, a link can be posted
// once in that week, and votes down count.
func BookRules() Rules {
	return Rules{
		VoteScore:        int(day/time.Second) / 200,
		VotingWindow:     7 * day,
		PosterVotes:      true,
		InterestingVotes: 200,
		PageSize:         25,
		GroupCacheTTL:    time.Minute,
		LinkWindow:       7 * day,
		Downvotes:        true,
	}
}

// Validate names the first rule that is out of its bounds.
func (r Rules) Validate() error {
	switch {
	case r.VoteScore < 1 || r.VoteScore > 1_000_000_000:
		return fmt.Errorf("vote score: %d is not between 1 and 1000000000 seconds", r.VoteScore)
	case r.VotingWindow < time.Second || r.VotingWindow%time.Second != 0:
		return fmt.Errorf("voting window: %v is not a whole number of seconds, at least 1", r.VotingWindow)
	case r.InterestingVotes < 1:
		return fmt.Errorf("interesting votes: %d is below 1", r.InterestingVotes)
	case r.PageSize < 1 || r.PageSize > MaxPageSize:
		return fmt.Errorf("page size: %d is not between 1 and %d", r.PageSize, MaxPageSize)
	case r.GroupCacheTTL < time.Second:
		return fmt.Errorf("group cache TTL: %v is below 1s", r.GroupCacheTTL)
	case r.LinkWindow < 0 || r.LinkWindow%time.Second != 0:
		return fmt.Errorf("link window: %v is not a whole number of seconds, or 0", r.LinkWindow)
	}
	return nil
}
