package rankings

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

// applyCalendar returns the call that puts the articles of entries into the calendars, with their newest votes.
func (r *Rankings) applyCalendar(p keys.Partition, from, to string, entries []views.Entry) (*redis.Script, []string, []any) {
	type place struct {
		hour site.Hour
		name site.GroupName
	}
	scriptKeys := []string{
		p.Views(),   // KEYS[1] views
		p.Clock(""), // KEYS[2...] clock
	}
	var lists []string
	var changes []any
	clocks, hours := map[site.GroupName]int{"": 1}, map[place]int{}
	change := func(e views.Entry, name site.GroupName, votes string) {
		at := place{site.HourOfText(e.Time), name}
		if clocks[name] == 0 {
			clocks[name] = len(clocks) + 1
			scriptKeys = append(scriptKeys, p.Clock(name))
		}
		if hours[at] == 0 {
			hours[at] = len(hours) + 1
			lists = append(lists, p.Top("h", int64(at.hour), name), p.Top("d", at.hour.Day(), name), p.Top("m", at.hour.Month(), name))
		}
		changes = append(changes, clocks[name], hours[at], e.Article.String(), votes)
	}
	hasGroups := r.store.Has("group_top")
	for _, e := range entries {
		for _, name := range e.Left {
			if hasGroups {
				change(e, name, "")
			}
		}
	}
	for _, e := range views.Newest(entries) {
		votes := e.Votes
		if e.Kind == site.KindDeleted {
			votes = ""
		}
		change(e, "", votes)
		for _, name := range e.Groups {
			if hasGroups {
				change(e, name, votes)
			}
		}
	}
	args := []any{
		from,           // ARGV[1] from
		to,             // ARGV[2] to
		r.LastFolded(), // ARGV[3] due
		len(clocks),    // ARGV[4] clocks
	}
	return applyCalendarScript, append(scriptKeys, lists...), append(args, changes...) // KEYS[2...] clock, ARGV[5...] change
}

// foldApplied has the calendars folded that apply_calendar.lua found due.
func (r *Rankings) foldApplied(p keys.Partition, answer wire.Reply) {
	for i := 1; i < len(answer); i++ {
		r.foldDue(p, site.GroupName(strings.TrimPrefix(answer.Text(i), p.Clock(""))), notFolded)
	}
}

// rankOf returns the place of the article of an entry in a list, as the entry says, if the list has it after the cursor.
func (r *Rankings) rankOf(l RankedList, at rankedCursor, e views.Entry) (item rankedItem, ok bool) {
	from, till := l.times(at.instant)
	votes, errVotes := strconv.ParseInt(e.Votes, 10, 64)
	second, errTime := site.ParseNumber(e.Time)
	posted := site.SecondOf(second)
	if errVotes != nil || errTime != nil || e.Kind == site.KindDeleted || second < from || second >= till || !r.has(l, e, votes) {
		return rankedItem{}, false
	}
	item = rankedItem{l.key(votes, posted, at.instant), e.Article.String()}
	return item, at.row == 0 || compareRanked(at.rankedItem, item) < 0
}

// has reports whether the list has the article of an entry, if it was posted in the list's time.
func (r *Rankings) has(l RankedList, e views.Entry, votes int64) bool {
	if l.group == site.Interesting {
		return votes >= int64(r.store.Rules.InterestingVotes)
	}
	return l.group == "" || slices.Contains(e.Groups, l.group)
}

// key is the value of the list's formula, as formula.lua has it.
func (l RankedList) key(votes, posted, instant int64) int64 {
	switch l.formula {
	case RankLinear:
		return votes*int64(l.parameter) + posted
	case RankHalfLife:
		rules := site.Rules{Ranking: site.HalfLifeRanking, HalfLife: time.Duration(l.parameter) * time.Second}
		return int64(rules.Worth(float64(votes))) + posted
	case RankGravity:
		weight := 1e8 * float64(votes-2)
		if votes > 1 {
			weight = 1e6 * math.Log(float64(votes-1))
		}
		return int64(math.Floor(weight - 1e6*l.parameter*math.Log(float64(instant-posted)/3600+2) + 0.5))
	case RankTop:
	}
	return votes
}
