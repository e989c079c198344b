package rankings

import (
	"math"
	"strconv"
	"time"

	"frontpage/redisrepo/site"
)

// RankFormula is a formula that computes an article's key from its net votes and age: the highest key is ranked first.
// Keys are whole numbers, rise with votes and do not rise with age. v stands for the net votes, t for the posting time
// in whole Unix seconds, age for the time from t to the instant of the ranking.
type RankFormula int

// The formulas.
const (
	// RankTop is v.
	RankTop RankFormula = iota
	// RankHalfLife is W + t, where W is halfLife * log2(1+v), rounded, and for negative votes -W(-v). Of two articles
	// the one that is halfLife older needs twice the votes, plus one. It is the order of HalfLifeRanking.
	RankHalfLife
	// RankGravity is ln((v-1) / (age+2)^gravity) in whole millionths, with the age in hours: the formula of Hacker News
	// (news.arc), without the flags and the controversies. Below 2 votes, where this logarithm is undefined, 100*(v-2)
	// replaces ln(v-1): more votes rank before fewer, at any age.
	RankGravity
	// RankLinear is v*voteScore + t: the order of Linear.
	RankLinear
)

var rankFormulas = [...]string{"TOP", "HALF_LIFE", "GRAVITY", "LINEAR"}

func (f RankFormula) String() string { return rankFormulas[f] }

// RankBy is a formula with its parameters. nil stands for the default; a parameter of another formula is refused.
type RankBy struct {
	Formula   RankFormula
	Gravity   *float64 // 0.1 to 5, 1.8 by default, as on Hacker News
	HalfLife  *int     // seconds, 60 to 315,360,000; by default Rules.HalfLife
	VoteScore *int     // seconds, 1 to 1,000,000,000; by default Rules.VoteScore
}

// Bounds and default of the gravity.
const minGravity, maxGravity, defaultGravity = 0.1, 5, 1.8

// parameter returns the number that the formula has besides votes and age, or the refusal of an invalid one.
func (b RankBy) parameter(rules site.Rules) (float64, error) {
	switch {
	case b.Gravity != nil && b.Formula != RankGravity:
		return 0, site.Refuse(site.Invalid, "by.gravity", "gravity belongs to the formula GRAVITY, not to %v", b.Formula)
	case b.HalfLife != nil && b.Formula != RankHalfLife:
		return 0, site.Refuse(site.Invalid, "by.halfLife", "halfLife belongs to the formula HALF_LIFE, not to %v", b.Formula)
	case b.VoteScore != nil && b.Formula != RankLinear:
		return 0, site.Refuse(site.Invalid, "by.voteScore", "voteScore belongs to the formula LINEAR, not to %v", b.Formula)
	case b.Gravity != nil && !(*b.Gravity >= minGravity && *b.Gravity <= maxGravity):
		return 0, site.Refuse(site.Invalid, "by.gravity", "gravity is between 0.1 and 5, not %v", *b.Gravity)
	case b.HalfLife != nil && (*b.HalfLife < int(site.Seconds(site.MinDecay)) || *b.HalfLife > int(site.Seconds(site.MaxDecay))):
		return 0, site.Refuse(site.Invalid, "by.halfLife", "halfLife is between %d and %d seconds, not %d", site.Seconds(site.MinDecay), site.Seconds(site.MaxDecay), *b.HalfLife)
	case b.VoteScore != nil && (*b.VoteScore < 1 || *b.VoteScore > site.MaxVoteScore):
		return 0, site.Refuse(site.Invalid, "by.voteScore", "voteScore is between 1 and %d seconds, not %d", site.MaxVoteScore, *b.VoteScore)
	}
	switch b.Formula {
	case RankHalfLife:
		return float64(valueOr(b.HalfLife, int(site.Seconds(max(rules.HalfLife, site.MinDecay))))), nil
	case RankGravity:
		return valueOr(b.Gravity, defaultGravity), nil
	case RankLinear:
		return float64(valueOr(b.VoteScore, rules.VoteScore)), nil
	case RankTop:
	}
	return 0, nil
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// Span is a period that ends at the instant of a ranking. The zero value is SpanAll.
type Span int

// The spans. A month has 30 days, a year 365.
const (
	SpanAll Span = iota
	SpanDay
	SpanWeek
	SpanMonth
	SpanYear
)

var spanLengths = map[Span]time.Duration{SpanDay: site.Day, SpanWeek: 7 * site.Day, SpanMonth: 30 * site.Day, SpanYear: 365 * site.Day}

// RankQuery selects articles and the formula to rank them by.
type RankQuery struct {
	By RankBy
	// Span is nil or SpanAll for articles of any age. It cannot be combined with the next two.
	Span                      *Span
	PostedAfter, PostedBefore *time.Time     // the first inclusive, the second exclusive; nil: unbounded
	Group                     site.GroupName // empty: all articles
}

// RankedList is a valid RankQuery. Equal lists have the same articles in the same order at every instant.
// Rankings.RankedList makes them.
type RankedList struct {
	formula    RankFormula
	parameter  float64
	span       Span
	from, till float64 // first posting time, and the one after the last, Unix seconds
	group      site.GroupName
}

// RankedList returns the list of a query. The Refusal is Invalid if a parameter is out of bounds or belongs to another
// formula, if a span is combined with posting times, or if the rules of the site leave the ranking out: Calendar, and
// for a group other than Interesting, GroupTop.
func (r *Rankings) RankedList(q RankQuery) (RankedList, error) {
	switch {
	case !r.store.Rules.Calendar:
		return RankedList{}, site.Refuse(site.Invalid, "", "this site has no rankings: its setting FRONTPAGE_CALENDAR is off")
	case q.Group != "" && q.Group != site.Interesting && !r.store.Rules.GroupTop:
		return RankedList{}, site.Refuse(site.Invalid, "", "this site has no rankings of groups: its setting FRONTPAGE_CALENDAR is not groups")
	case q.Span != nil && (q.PostedAfter != nil || q.PostedBefore != nil):
		return RankedList{}, site.Refuse(site.Invalid, "span", "span cannot be combined with postedAfter or postedBefore")
	}
	parameter, err := q.By.parameter(r.store.Rules)
	if err != nil {
		return RankedList{}, err
	}
	l := RankedList{formula: q.By.Formula, parameter: parameter, group: q.Group, from: math.Inf(-1), till: math.Inf(1)}
	if q.Span != nil {
		l.span = *q.Span
	}
	if q.PostedAfter != nil {
		l.from = upToMicrosecond(*q.PostedAfter)
	}
	if q.PostedBefore != nil {
		l.till = upToMicrosecond(*q.PostedBefore)
	}
	return l, nil
}

// upToMicrosecond returns the first microsecond that is not before t, the finest difference of posting times, in Unix
// seconds.
func upToMicrosecond(t time.Time) float64 {
	return float64(t.Add(time.Microsecond-time.Nanosecond).UnixMicro()) / 1e6
}

// times returns the first posting time of the list at an instant, and the one after the last, Unix seconds.
func (l RankedList) times(instant int64) (from, till float64) {
	from, till = l.from, min(l.till, float64(instant+1))
	if length := spanLengths[l.span]; length > 0 {
		from = float64(instant - site.Seconds(length) + 1)
	}
	return from, till
}

// wholeSeconds returns the first and the last whole second of the posting times from one to before another.
func wholeSeconds(from, till float64) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	if !math.IsInf(from, 0) {
		low = int64(math.Floor(from))
	}
	if !math.IsInf(till, 0) {
		high = int64(math.Ceil(till)) - 1
	}
	return low, high
}

// name is the list's name in its cursors.
func (l RankedList) name() string {
	text := func(n int64) string { return strconv.FormatInt(n, 36) }
	low, high := wholeSeconds(l.from, l.till)
	fractions := ""
	if l.from != math.Floor(l.from) || l.till != math.Floor(l.till) {
		fractions = " " + site.Number(l.from) + " " + site.Number(l.till)
	}
	return "ranking " + l.formula.String() + " " + strconv.FormatFloat(l.parameter, 'g', -1, 64) + " " +
		strconv.Itoa(int(l.span)) + " " + text(low) + " " + text(high) + " " + string(l.group) + fractions
}
