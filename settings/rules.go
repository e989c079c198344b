package settings

import (
	"errors"
	"strings"
	"time"

	"frontpage/redisrepo"
)

// Rules are the settings of the rules of the site.
type Rules struct {
	VoteScore        int            `env:"VOTE_SCORE" default:"${vote_score}" help:"What a vote adds to the score, seconds, 1 to 1000000000. After a change the next start re-ranks all articles."`
	VotingWindow     time.Duration  `env:"VOTING_WINDOW" default:"${voting_window}" help:"How long after posting an article can be voted on, whole seconds, at least 1s."`
	PosterVotes      bool           `env:"POSTER_VOTES" default:"true" negatable:"" help:"Count the poster's own vote as the first."`
	InterestingVotes int            `env:"INTERESTING_VOTES" default:"${interesting_votes}" help:"Net votes that put an article into the group interesting, at least 1."`
	PageSize         int            `env:"PAGE_SIZE" default:"${page_size}" help:"Articles on a page by default, 1 to ${max_page_size}."`
	EditWindow       time.Duration  `env:"EDIT_WINDOW" default:"${edit_window}" help:"How long after posting its poster can change an article's title, whole seconds; 0: not at all. The text can be changed while voting is open."`
	LinkWindow       *time.Duration `env:"LINK_WINDOW" placeholder:"DURATION" help:"How long after a post its link cannot be posted again, whole seconds; 0 turns this off. Default: the voting window."`
	Downvotes        bool           `env:"DOWNVOTES" default:"true" negatable:"" help:"Allow downvotes."`
	ReservedGroups   []string       `env:"RESERVED_GROUPS" placeholder:"PATTERN" help:"Groups into which only moderators and services put articles, such as news or status.*. An article is in at most one group of a pattern at a time."`
	GroupCacheTTL    time.Duration  `env:"GROUP_CACHE_TTL" default:"${group_cache_ttl}" help:"How long the sorted listing of a group is cached in the store after its last use, at least 1s."`
}

// SiteRules returns the rules of the site.
func (r *Rules) SiteRules() redisrepo.Rules {
	rules := redisrepo.Rules{
		VoteScore:        r.VoteScore,
		VotingWindow:     r.VotingWindow,
		PosterVotes:      r.PosterVotes,
		InterestingVotes: r.InterestingVotes,
		PageSize:         r.PageSize,
		GroupCacheTTL:    r.GroupCacheTTL,
		EditWindow:       r.EditWindow,
		LinkWindow:       r.VotingWindow,
		Downvotes:        r.Downvotes,
	}
	for _, text := range r.ReservedGroups {
		pattern, err := redisrepo.ParseGroupPattern(text)
		if err != nil {
			pattern = redisrepo.GroupPattern(text) // Validate refuses it
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
	var invalid *redisrepo.RuleError
	if errors.As(err, &invalid) {
		flag := strings.ToLower(strings.ReplaceAll(invalid.Rule, " ", "-"))
		return Invalid(errors.New(invalid.Problem), flag)
	}
	return err
}
