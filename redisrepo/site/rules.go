package site

import (
	"fmt"
	"math"
	"time"
)

// FrontHours returns for how many hours front pages are kept.
func (r Rules) FrontHours() int64 { return int64(math.Ceil(r.FrontPages.Hours())) }

// Time is the beginning of the hour.
func (h Hour) Time() time.Time { return time.Unix(HourSeconds*int64(h), 0).UTC() }

// Limits and times that are the same on every site.
const (
	Day = 24 * time.Hour

	// MaxGroups is the maximum number of groups of one article.
	MaxGroups = 10
	// MaxPageSize is the maximum number of items on a page.
	MaxPageSize = 100

	// VoterMargin is how much longer than the voting window an article's voters are kept, so that a late vote
	// is refused before the voters are forgotten, even after a failover to a server whose clock is off.
	VoterMargin = time.Hour
	// ModerationEntries is the approximate maximum number of entries in the moderation log of one partition.
	ModerationEntries = 100_000
	// PostRecordTTL is how long a repeated idempotency key finds its first post.
	PostRecordTTL = Day
)

// Rules are the rules of a site. They belong to the data: every process on one store must use the
// same. New applies changed rules to the existing articles, with two exceptions: an article keeps
// the PosterVotes under which it was posted, and a longer window does not reopen voting on articles
// whose voters have been forgotten.
type Rules struct {
	VoteScore        int           // worth of a vote in the ranking, seconds, 1 to 1,000,000,000
	VotingWindow     time.Duration // from posting, whole seconds, at least 1 s
	PosterVotes      bool          // whether the poster's own vote counts, as the first
	InterestingVotes int           // net votes that make an article interesting, at least 1
	PageSize         int           // articles on a page if the caller gives no size, 1 to MaxPageSize
	GroupCacheTTL    time.Duration // how long a small group's listing is kept after its last use, at least 1 s

	Ranking  Ranking       // how votes count against age in the order ByScore
	RankCap  time.Duration // Capped: maximum that votes add to a score, whole seconds, 1m to 3650d; they subtract at most half of it
	HalfLife time.Duration // HalfLifeRanking: the age for which votes have to double, whole seconds, 1m to 3650d

	Calendar bool // whether articles are also ranked by the hour, day and 32 days of their posting
	GroupTop bool // whether those of each group are, too; needs Calendar

	VoteHistory time.Duration // how long a user's votes are listed, from voting, whole seconds; 0: for ever, NoHistory: not at all
	FrontPages  time.Duration // how long the front page of each hour is kept, whole seconds, at least 1h; 0: not at all
	Events      int           // events that each partition keeps, 0 to 1,000,000,000; 0: none
	Milestones  []int         // net votes that make an event when an article first reaches them, ascending, at least 1

	// Changes of the next four affect later calls only.
	EditWindow     time.Duration  // how long after posting its poster may change a title, whole seconds; 0: not at all
	LinkWindow     time.Duration  // how long a posted link cannot be posted again, whole seconds; 0: not at all
	Downvotes      bool           // whether downvotes are allowed
	ReservedGroups []GroupPattern // families of groups into which only moderators and services put articles
}

// NoHistory is the VoteHistory of a site that keeps no list of a user's votes.
const NoHistory time.Duration = -1

// Bounds of VoteScore, and of RankCap and HalfLife.
const (
	MaxVoteScore = 1_000_000_000

	maxEventsKept = 1_000_000_000 // Rules.Events

	MinDecay = time.Minute
	MaxDecay = 3650 * Day
)

// DefaultRules returns the rules of Redis in Action: 200 votes are worth a day, voting is open for a week, a
// page has 25 articles. The others are additions: a link can be posted once a week, downvotes are allowed, and
// rankings, votes, front pages and events are kept.
func DefaultRules() Rules {
	return Rules{
		VoteScore:        int(Day/time.Second) / 200, // 432
		VotingWindow:     7 * Day,
		PosterVotes:      true,
		InterestingVotes: 200,
		PageSize:         25,
		GroupCacheTTL:    time.Minute,
		RankCap:          Day,
		HalfLife:         3*time.Hour + 46*time.Minute,
		Calendar:         true,
		VoteHistory:      400 * Day,
		FrontPages:       365 * Day,
		Events:           1_000_000,
		Milestones:       []int{10, 50, 100, 200},
		EditWindow:       15 * time.Minute,
		LinkWindow:       7 * Day,
		Downvotes:        true,
	}
}

// RuleError is the error for a rule that is out of bounds.
type RuleError struct {
	Rule    string // name of the field of Rules in lower-case words, such as "vote score"
	Problem string // the value and the bounds, such as "0 is not between 1 and 1000000000 seconds"
}

func (e *RuleError) Error() string { return e.Rule + ": " + e.Problem }

// TextWindow returns how long after posting the poster may change the text: while the title can be changed or the
// article voted on.
func (r Rules) TextWindow() time.Duration { return max(r.EditWindow, r.VotingWindow) }

// Validate returns a *RuleError for the first rule that is out of bounds, or nil.
func (r Rules) Validate() error {
	switch {
	case r.VoteScore < 1 || r.VoteScore > MaxVoteScore:
		return ruleError("vote score", "%d is not between 1 and %d seconds", r.VoteScore, MaxVoteScore)
	case r.VotingWindow < time.Second || r.VotingWindow%time.Second != 0:
		return ruleError("voting window", "%v is not a whole number of seconds, at least 1", r.VotingWindow)
	case r.InterestingVotes < 1:
		return ruleError("interesting votes", "%d is below 1", r.InterestingVotes)
	case r.PageSize < 1 || r.PageSize > MaxPageSize:
		return ruleError("page size", "%d is not between 1 and %d", r.PageSize, MaxPageSize)
	case r.GroupCacheTTL < time.Second:
		return ruleError("group cache TTL", "%v is below 1s", r.GroupCacheTTL)
	case r.EditWindow < 0 || r.EditWindow%time.Second != 0:
		return ruleError("edit window", "%v is not a whole number of seconds, or 0", r.EditWindow)
	case r.LinkWindow < 0 || r.LinkWindow%time.Second != 0:
		return ruleError("link window", "%v is not a whole number of seconds, or 0", r.LinkWindow)
	}
	if err := r.checkRankings(); err != nil {
		return err
	}
	return r.checkPatterns()
}

// checkRankings validates the rules of rankings and of what is kept of the past.
func (r Rules) checkRankings() error {
	switch {
	case r.Ranking < Linear || r.Ranking > HalfLifeRanking:
		return ruleError("ranking", "%d is not linear, capped or halflife", r.Ranking)
	case r.Ranking == Capped && (r.RankCap < MinDecay || r.RankCap > MaxDecay || r.RankCap%time.Second != 0):
		return ruleError("rank cap", "%v is not a whole number of seconds, 1m to 3650d", r.RankCap)
	case r.Ranking == HalfLifeRanking && (r.HalfLife < MinDecay || r.HalfLife > MaxDecay || r.HalfLife%time.Second != 0):
		return ruleError("half life", "%v is not a whole number of seconds, 1m to 3650d", r.HalfLife)
	case r.GroupTop && !r.Calendar:
		return ruleError("group top", "it needs the calendar")
	case r.VoteHistory != NoHistory && (r.VoteHistory < 0 || r.VoteHistory%time.Second != 0):
		return ruleError("vote history", "%v is not a whole number of seconds, 0 or off", r.VoteHistory)
	case r.FrontPages != 0 && r.FrontPages < time.Hour || r.FrontPages%time.Second != 0:
		return ruleError("front pages", "%v is not a whole number of seconds, at least 1h, or 0", r.FrontPages)
	case r.Events < 0 || r.Events > maxEventsKept:
		return ruleError("events", "%d is not between 0 and %d", r.Events, maxEventsKept)
	}
	for i, votes := range r.Milestones {
		if votes < 1 || i > 0 && votes <= r.Milestones[i-1] {
			return ruleError("milestones", "%v are not ascending numbers of votes, at least 1", r.Milestones)
		}
	}
	return nil
}

func ruleError(rule, problem string, args ...any) error {
	return &RuleError{Rule: rule, Problem: fmt.Sprintf(problem, args...)}
}
