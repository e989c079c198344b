package settings

import (
	"errors"
	"strings"
	"time"

	"frontpage/redisrepo/site"
)

// Rules are the settings of the rules of the site.
type Rules struct {
	VoteScore        int            `env:"VOTE_SCORE" default:"${vote_score}" help:"What a vote adds to the score, seconds, 1 to 1000000000. After a change the next start re-ranks all articles."`
	Ranking          site.Ranking   `env:"RANKING" default:"${ranking}" help:"How votes count against age: linear, every vote VOTE_SCORE, which legacy clients need; capped, the same up to RANK_CAP; halflife, by a weight that halves every HALF_LIFE. After a change the next start re-ranks all articles."`
	RankCap          time.Duration  `env:"RANK_CAP" default:"${rank_cap}" help:"What votes add to a score at most if RANKING is capped, whole seconds, 1m to 3650d. They take at most half of it."`
	HalfLife         time.Duration  `env:"HALF_LIFE" default:"${half_life}" help:"The age for which votes have to double if RANKING is halflife, whole seconds, 1m to 3650d."`
	VotingWindow     time.Duration  `env:"VOTING_WINDOW" default:"${voting_window}" help:"How long after posting an article can be voted on, whole seconds, at least 1s."`
	PosterVotes      bool           `env:"POSTER_VOTES" default:"true" negatable:"" help:"Count the poster's own vote as the first."`
	InterestingVotes int            `env:"INTERESTING_VOTES" default:"${interesting_votes}" help:"Net votes that put an article into the group interesting, at least 1."`
	PageSize         int            `env:"PAGE_SIZE" default:"${page_size}" help:"Articles on a page by default, 1 to ${max_page_size}."`
	EditWindow       time.Duration  `env:"EDIT_WINDOW" default:"${edit_window}" help:"How long after posting its poster can change an article's title, whole seconds; 0: not at all. The text can be changed while voting is open."`
	LinkWindow       *time.Duration `env:"LINK_WINDOW" placeholder:"DURATION" help:"How long after a post its link cannot be posted again, whole seconds; 0 turns this off. Default: the voting window."`
	Downvotes        bool           `env:"DOWNVOTES" default:"true" negatable:"" help:"Allow downvotes."`
	ReservedGroups   []string       `env:"RESERVED_GROUPS" placeholder:"PATTERN" help:"Groups into which only moderators and services put articles, such as news or status.*. An article is in at most one group of a pattern at a time."`
	Calendar         bool           `env:"CALENDAR" default:"true" negatable:"" help:"Keep the calendar, from which the rankings of any span and formula are read. After a change the next start builds or drops it."`
	GroupTop         bool           `env:"GROUP_TOP" default:"false" negatable:"" help:"Keep a calendar for each group, too."`
	VoteHistory      History        `env:"VOTE_HISTORY" default:"${vote_history}" help:"How long users can list their votes, whole seconds; 0: for ever, off: not at all."`
	FrontPages       time.Duration  `env:"FRONT_PAGES" default:"${front_pages}" help:"How long the front page of each hour is kept, whole seconds, at least 1h; 0: not at all."`
	Events           int            `env:"EVENTS" default:"${events}" help:"Events that each partition keeps for clients of the change feed, 0 to 1000000000; 0: none."`
	Milestones       []int          `env:"MILESTONES" default:"${milestones}" placeholder:"N" help:"Net votes that are an event when an article first reaches them, ascending, at least 1. Default: ${milestones}."`
	GroupCacheTTL    time.Duration  `env:"GROUP_CACHE_TTL" default:"${group_cache_ttl}" help:"How long the sorted listing of a group with up to 2,000 articles is cached in the store after its last use, at least 1s. That of a larger group is kept."`
}

// History is a duration, or redisrepo.NoHistory, which is written off.
type History time.Duration

const historyForm = "a duration such as 400d or 90s, 0 or off"

func parseHistory(text string) (History, error) {
	if text == "off" {
		return History(site.NoHistory), nil
	}
	d, err := parseDuration(text)
	if err == nil && d < 0 {
		err = errDuration
	}
	return History(d), err
}

func (h History) String() string {
	if time.Duration(h) == site.NoHistory {
		return "off"
	}
	return formatDuration(time.Duration(h))
}

// SiteRules returns the rules of the site.
func (r *Rules) SiteRules() site.Rules {
	rules := site.Rules{
		VoteScore:        r.VoteScore,
		VotingWindow:     r.VotingWindow,
		PosterVotes:      r.PosterVotes,
		InterestingVotes: r.InterestingVotes,
		PageSize:         r.PageSize,
		GroupCacheTTL:    r.GroupCacheTTL,
		EditWindow:       r.EditWindow,
		LinkWindow:       r.VotingWindow,
		Downvotes:        r.Downvotes,
		Ranking:          r.Ranking,
		RankCap:          r.RankCap,
		HalfLife:         r.HalfLife,
		Calendar:         r.Calendar,
		GroupTop:         r.GroupTop,
		VoteHistory:      time.Duration(r.VoteHistory),
		FrontPages:       r.FrontPages,
		Events:           r.Events,
		Milestones:       r.Milestones,
	}
	for _, text := range r.ReservedGroups {
		pattern, err := site.ParseGroupPattern(text)
		if err != nil {
			pattern = site.GroupPattern(text) // Validate refuses it
		}
		rules.ReservedGroups = append(rules.ReservedGroups, pattern)
	}
	if r.LinkWindow != nil {
		rules.LinkWindow = *r.LinkWindow
	}
	return rules
}

// check validates the rules.
func (r *Rules) check() error {
	err := r.SiteRules().Validate()
	var invalid *site.RuleError
	if errors.As(err, &invalid) {
		flag := strings.ToLower(strings.ReplaceAll(invalid.Rule, " ", "-"))
		return Invalid(errors.New(invalid.Problem), flag)
	}
	return err
}
