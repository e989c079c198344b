package settings

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"frontpage/redisrepo/search"
	"frontpage/redisrepo/site"
)

// Rules are the settings of the rules of the site.
type Rules struct {
	VoteScore        int            `default:"${VoteScore}" help:"What a vote adds to the score, seconds, 1 to 1000000000. After a change the next start re-ranks all articles."`
	Ranking          Ranking        `default:"${Ranking}" help:"How votes count against age. linear: every vote adds FRONTPAGE_VOTE_SCORE, as in Redis in Action. capped:24h: votes add at most that time, and subtract at most half of it. halflife:226m: the weight of votes halves in that time. Times are whole seconds, 1m to 3650d; capped and halflife alone mean those above. After a change the next start re-ranks all articles."`
	VotingWindow     time.Duration  `default:"${VotingWindow}" help:"How long after posting an article can be voted on, whole seconds, at least 1s."`
	PosterVotes      bool           `default:"true" negatable:"" help:"Count the poster's own vote as the first."`
	InterestingVotes int            `default:"${InterestingVotes}" help:"Net votes that put an article into the group interesting, at least 1."`
	PageSize         int            `default:"${PageSize}" help:"Articles on a page by default, 1 to ${MaxPageSize}."`
	EditWindow       time.Duration  `default:"${EditWindow}" help:"How long after posting its poster can change an article's title, whole seconds; 0: not at all. The text can be changed while voting is open."`
	LinksReserved    *time.Duration `placeholder:"DURATION" help:"How long after a post its link cannot be posted again, whole seconds; 0 turns this off. Default: the voting window."`
	Downvotes        bool           `default:"true" negatable:"" help:"Allow downvotes."`
	ReservedGroups   []string       `placeholder:"PATTERN" help:"Groups into which only moderators and services put articles, such as news or status.*. An article is in at most one group of each pattern."`
	Calendar         Calendar       `default:"site" help:"Where rankings of any span and formula are available: off, site or groups (the site and each group). After a change the next start builds or drops their calendar."`
	VotesKept        History        `default:"${VoteHistory}" help:"How long users can list their votes, whole seconds; 0: for ever, off: not at all."`
	FrontPagesKept   time.Duration  `default:"${FrontPages}" help:"How long the front page of each hour is kept, whole seconds, at least 1h; 0: not at all."`
	EventsKept       int            `default:"${Events}" help:"Events that each partition keeps for clients of the change feed, 0 to 1000000000; 0: none."`
	DeletedTextDays  int            `default:"0" help:"How many days after an article was deleted its title, text, link and earlier versions are erased for good, 1 to 3650. 0: never."`
	Milestones       []int          `default:"${Milestones}" placeholder:"N" help:"Net votes that are an event when an article first reaches them, ascending, at least 1."`
}

// History is a duration, or site.NoHistory, whose text is "off".
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

// Ranking is a ranking and its time: the cap or the half-life; linear needs none.
type Ranking struct {
	site.Ranking
	time time.Duration
}

const rankingForm = "linear, capped, halflife, or one of the last two with a time, such as capped:24h"

func parseRanking(text string) (Ranking, error) {
	name, length, hasTime := strings.Cut(text, ":")
	kind, err := site.ParseRanking(name)
	defaults := map[site.Ranking]time.Duration{site.Capped: site.DefaultRules().RankCap, site.HalfLifeRanking: site.DefaultRules().HalfLife}
	r := Ranking{kind, defaults[kind]}
	if err == nil && hasTime {
		r.time, err = parseDuration(length)
	}
	if hasTime && kind == site.Linear {
		err = errDuration
	}
	return r, err
}

func (r Ranking) String() string {
	if r.Ranking == site.Linear {
		return r.Ranking.String()
	}
	return r.Ranking.String() + ":" + formatDuration(r.time)
}

// Calendar is off, site or groups: which lists have a calendar.
type Calendar string

const calendarForm = "off, site or groups"

// parseCalendar also reads what turned the calendar of the site on and off until 1.0.
func parseCalendar(text string) (Calendar, error) {
	if on, err := parseBool(text); err == nil {
		return map[bool]Calendar{true: "site", false: "off"}[on], nil
	}
	if text != "site" && text != "groups" {
		return "", errors.New("unknown")
	}
	return Calendar(text), nil
}

// DeletedTexts returns how long the texts of deleted articles are kept; 0: for ever.
func (r *Rules) DeletedTexts() time.Duration { return time.Duration(r.DeletedTextDays) * site.Day }

// maxDeletedTexts is the longest time for which the texts of deleted articles are kept, if they are erased at all.
const maxDeletedTexts = 3650 * site.Day

// SiteRules returns the rules of the site.
func (r *Rules) SiteRules() site.Rules {
	rules := site.DefaultRules()
	rules.VoteScore, rules.VotingWindow, rules.PosterVotes, rules.InterestingVotes = r.VoteScore, r.VotingWindow, r.PosterVotes, r.InterestingVotes
	rules.PageSize, rules.EditWindow, rules.LinkWindow, rules.Downvotes = r.PageSize, r.EditWindow, r.VotingWindow, r.Downvotes
	rules.Calendar, rules.GroupTop = r.Calendar != "off", r.Calendar == "groups"
	rules.VoteHistory, rules.FrontPages, rules.Events, rules.Milestones = time.Duration(r.VotesKept), r.FrontPagesKept, r.EventsKept, r.Milestones
	switch rules.Ranking = r.Ranking.Ranking; rules.Ranking {
	case site.Linear: // needs no time
	case site.Capped:
		rules.RankCap = r.Ranking.time
	case site.HalfLifeRanking:
		rules.HalfLife = r.Ranking.time
	}
	for _, text := range r.ReservedGroups {
		pattern, err := site.ParseGroupPattern(text)
		if err != nil {
			pattern = site.GroupPattern(text) // Validate refuses it
		}
		rules.ReservedGroups = append(rules.ReservedGroups, pattern)
	}
	if r.LinksReserved != nil {
		rules.LinkWindow = *r.LinksReserved
	}
	return rules
}

// ruleFlags are the flags of the rules that are not called like them.
var ruleFlags = map[string]string{
	"link window": "links-reserved", "vote history": "votes-kept", "front pages": "front-pages-kept", "events": "events-kept",
	"rank cap": "ranking", "half life": "ranking",
}

// check validates the rules.
func (r *Rules) check() error {
	if most := int(maxDeletedTexts / site.Day); r.DeletedTextDays < 0 || r.DeletedTextDays > most {
		return Invalid(fmt.Errorf("%d is not between 0 and %d", r.DeletedTextDays, most), "deleted-text-days")
	}
	err := r.SiteRules().Validate()
	if invalid, ok := errors.AsType[*site.RuleError](err); ok {
		return Invalid(errors.New(invalid.Problem), cmp.Or(ruleFlags[invalid.Rule], strings.ReplaceAll(invalid.Rule, " ", "-")))
	}
	return err
}

// SearchIndex are the settings of search.
type SearchIndex struct {
	Search       string `default:"titles" enum:"off,titles,texts" help:"What can be searched: off, titles or texts (titles and texts). It needs events: see FRONTPAGE_EVENTS_KEPT. Each process has an index in its memory."`
	SearchMemory int    `default:"256" help:"Memory of that index, MiB, 1 to 1048576. A title takes about 200 bytes. When it is full, the articles that were posted first are left out."`
}

const maxSearchMemory = 1 << 20 // MiB

func (s *SearchIndex) check() error {
	if s.SearchMemory < 1 || s.SearchMemory > maxSearchMemory {
		return Invalid(fmt.Errorf("%d is not between 1 and %d", s.SearchMemory, maxSearchMemory), "search-memory")
	}
	return nil
}

// SearchOptions returns the options of search.
func (s *SearchIndex) SearchOptions() search.Options {
	return search.Options{Titles: s.Search != "off", Texts: s.Search == "texts", Memory: s.SearchMemory << 20}
}
