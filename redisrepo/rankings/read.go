package rankings

import (
	"context"
	"embed"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	foldScript          = wire.Script(luaFiles, "fold.lua")
	applyCalendarScript = wire.Script(luaFiles, "apply_calendar.lua")
	rankedScript        = wire.Script(luaFiles, "ranked.lua")
	saveFrontScript     = wire.Script(luaFiles, "savefront.lua")
	beginFrontScript    = wire.Script(luaFiles, "beginfront.lua")
	frontPageScript     = wire.Script(luaFiles, "frontpage.lua")
	bestRankScript      = wire.Script(luaFiles, "bestrank.lua")
)

// Reading a ranking is divided into steps, so that no call of ranked.lua holds up other commands for long. Most first
// pages take one step, which looks at 30 to 300 members.
const (
	// defaultLooked is how many members the calls of one step look at, together: Redis takes 2 to 4 µs for each, and up
	// to 1 ms for the lists of a call. However many calls there are, each looks at an eighth of it.
	defaultLooked = 1_000
	// maxLooked is the maximum number of members that are looked at for a page in one partition.
	maxLooked = 40_000
)

// rank reads the first articles of a list after a cursor, from all partitions. It returns how many members Redis looked
// at, also with an error.
func (r *Rankings) rank(ctx context.Context, l RankedList, at rankedCursor, count int) (items []rankedItem, looked int, err error) {
	for range 10 {
		calls, lacking := r.rankedCalls(l, at, count), map[keys.Partition][]views.Entry{}
		for {
			stale, more, err := r.rankStep(ctx, l, at, calls, lacking, &looked)
			if err != nil {
				return nil, looked, err
			}
			if stale {
				break
			}
			if more {
				continue
			}
			items, ok := r.mergeRanked(l, at, calls, lacking, count)
			if !ok {
				continue
			}
			for _, c := range calls {
				if c.state.folded != notFolded { // a calendar without a fold pointer is that of a group without articles
					r.foldDue(r.store.Partitions[c.partition], l.calendarOf(), c.state.folded)
				}
			}
			return items, looked, nil
		}
	}
	return nil, looked, fmt.Errorf("%w: the calendar changes faster than it is read", failover.ErrUnavailable)
}

// rankStep calls ranked.lua for each call that is not done, and adds to looked, and the entries of the log that the calendar may
// lack to lacking. It reports whether the lists of a call were chosen by a state that is outdated, and whether one has more to read.
func (r *Rankings) rankStep(ctx context.Context, l RankedList, at rankedCursor, calls []*rankedCall, lacking map[keys.Partition][]views.Entry, looked *int) (stale, more bool, err error) {
	open := slices.DeleteFunc(slices.Clone(calls), func(c *rankedCall) bool { return c.done })
	allowed := max(r.stepLooked/max(len(open), 1), r.stepLooked/8, 1)
	found, err := r.views.Read(ctx, r.calendar, r.store.Partitions, func(pipe redis.Pipeliner) {
		for _, c := range open {
			c.answer = r.queueRanked(ctx, pipe, l, at, c, allowed)
		}
	})
	if err != nil {
		*looked += allowed * len(open) // as far as is known
		return false, false, err
	}
	for p, entries := range found {
		lacking[p] = append(lacking[p], entries...)
	}
	for _, c := range open {
		before := c.looked
		isStale, err := r.takeRanked(l, c)
		*looked += c.looked - before + c.lists
		if err != nil {
			return false, false, err
		}
		stale, more = stale || isStale, more || !c.done
	}
	return stale, more, nil
}

// rankedCall is a call of ranked.lua.
type rankedCall struct {
	partition int
	runs      []calendarRun
	lists     int           // in runs; for each, Redis takes about as long as for a member
	state     calendarState // that the lists were chosen by
	clips     bool          // whether they rely on state.first
	size      int           // number of articles that it asks for
	place     []any         // where its next step goes on; nil: at the start
	answer    *redis.Cmd
	done      bool
	items     []rankedItem
	looked    int
}

// calendarState is what must be known of a calendar to choose lists.
type calendarState struct {
	folded int64 // last day that was folded, or notFolded
	first  int64 // no article was posted before this day; noDay: the calendar has none
}

// calendarKey names the calendar of a partition, or of a group in it.
type calendarKey struct {
	partition int
	group     site.GroupName
}

// calendarOf returns the group that has a calendar with the list's articles.
func (l RankedList) calendarOf() site.GroupName {
	if l.group == site.Interesting {
		return "" // the site's, which also has the votes that make an article interesting
	}
	return l.group
}

// rankedCalls returns the calls that read a list, with few articles each: see mergeRanked.
func (r *Rankings) rankedCalls(l RankedList, at rankedCursor, count int) (calls []*rankedCall) {
	now := max(r.store.Now().Unix(), at.instant)
	low, high := wholeSeconds(l.times(at.instant))
	for i := range r.store.Partitions {
		state, ok := r.calendars.Get(calendarKey{i, l.calendarOf()})
		if !ok { // ranked.lua replies the truth
			state = calendarState{folded: r.LastFolded(), first: r.store.ThisHour().Day()}
		}
		part := calendarPart{low: max(low, state.first*daySeconds), high: high, folded: state.folded, now: now}
		part.shorten(l.formula, at)
		for _, runs := range chunks(part.lists(), maxLists) {
			c := &rankedCall{partition: i, runs: runs, state: state, clips: low < state.first*daySeconds}
			for _, run := range runs {
				c.lists += int(run.count)
			}
			calls = append(calls, c)
		}
	}
	for _, c := range calls {
		c.size = min(lists.Few(count, len(calls)), count)
	}
	return calls
}

// shorten chooses where short lists are read, for a formula in which age counts. Further down in the ranking that is
// where age has most of its effect.
func (c *calendarPart) shorten(formula RankFormula, at rankedCursor) {
	switch formula {
	case RankGravity:
		if c.near = at.instant; at.row > 50 {
			c.days = 2 * monthSeconds
		}
	case RankLinear, RankHalfLife:
		c.near, c.days = c.high, 8*daySeconds
		if at.row > 0 {
			c.near = min(c.high, at.key)
		}
	case RankTop: // the age does not count
	}
}

func (r *Rankings) queueRanked(ctx context.Context, pipe redis.Pipeliner, l RankedList, at rankedCursor, c *rankedCall, allowed int) *redis.Cmd {
	p := r.store.Partitions[c.partition]
	scriptKeys := []string{p.Clock(l.calendarOf()), p.Ranking(site.ByTime)}
	folded, first, oldest, afterKey, least := "", "", "", "", ""
	if c.state.folded != notFolded {
		folded = strconv.FormatInt(c.state.folded, 10)
	}
	if c.clips {
		first = strconv.FormatInt(c.state.first, 10)
	}
	from, till := l.times(at.instant)
	if !math.IsInf(from, -1) {
		oldest = site.Number(from)
	}
	if at.row > 0 {
		afterKey = strconv.FormatInt(at.key, 10)
	}
	if l.group == site.Interesting {
		least = strconv.Itoa(r.store.Rules.InterestingVotes)
	}
	args := []any{
		folded,             // ARGV[1]
		first,              // ARGV[2]
		l.formula.String(), // ARGV[3]
		strconv.FormatFloat(l.parameter, 'g', 17, 64), // ARGV[4]
		at.instant,        // ARGV[5]
		oldest,            // ARGV[6]
		site.Number(till), // ARGV[7]
		c.size,            // ARGV[8]
		afterKey,          // ARGV[9]
		at.member,         // ARGV[10]
		least,             // ARGV[11]
		allowed,           // ARGV[12]
	}
	var runs []byte
	for _, run := range c.runs {
		runs = fmt.Append(runs, run.kind, " ", run.first, " ", run.count, " ")
		for n := run.first; n < run.first+run.count; n++ {
			scriptKeys = append(scriptKeys, p.Top(run.kind, n, l.calendarOf()))
		}
	}
	args = append(args, string(runs)) // ARGV[13]
	args = append(args, c.place...)   // ARGV[14...]
	return wire.QueueUnrepeated(ctx, pipe, rankedScript, scriptKeys, args)
}

// takeRanked takes the reply of a call. It reports whether the lists were chosen by a state that is outdated.
func (r *Rankings) takeRanked(l RankedList, c *rankedCall) (stale bool, err error) {
	answer, err := wire.StatusReply(c.answer)
	switch {
	case err != nil:
		return false, err
	case answer.Status() == "STALE":
		state := calendarState{folded: notFolded, first: noDay}
		if text := answer.Text(1); text != "" {
			if state.folded, err = strconv.ParseInt(text, 10, 64); err != nil {
				return false, fmt.Errorf("the fold pointer %q is no number", text)
			}
		}
		if first, err := strconv.ParseFloat(answer.Text(2), 64); err == nil {
			state.first = int64(math.Floor(first / daySeconds))
		}
		r.calendars.Add(calendarKey{c.partition, l.calendarOf()}, state)
		return true, nil
	}
	if len(answer) < 2 {
		return false, wire.ErrNoStatus
	}
	c.looked += int(answer.Number(1))
	if answer.Status() == "MORE" {
		if c.place, _ = answer[2].([]any); c.looked > maxLooked {
			return false, site.Refuse(site.Invalid, "", "too many articles have nearly the same key: ask for a shorter time, or let votes count for more")
		}
		return false, nil
	}
	c.done, c.items, c.place = true, nil, nil
	for i := 2; i+1 < len(answer); i += 2 {
		c.items = append(c.items, rankedItem{answer.Number(i), answer.Text(i + 1)})
	}
	return false, nil
}

// mergeRanked returns the first articles of all calls, those of entries that the calendar lacks as these say. ok is false if a call may have more of them: it is to be made again, for more.
func (r *Rankings) mergeRanked(l RankedList, at rankedCursor, calls []*rankedCall, lacking map[keys.Partition][]views.Entry, count int) (items []rankedItem, ok bool) {
	newest := map[string]views.Entry{}
	for _, entries := range lacking {
		for _, e := range views.Newest(entries) {
			newest[e.Article.String()] = e
			if item, ok := r.rankOf(l, at, e); ok {
				items = append(items, item)
			}
		}
	}
	for _, c := range calls {
		for _, item := range c.items {
			if _, ok := newest[item.member]; !ok {
				items = append(items, item)
			}
		}
	}
	slices.SortFunc(items, compareRanked)
	ok = true
	for _, c := range calls {
		n, most := len(c.items), count+len(newest)
		if n == c.size && n < most && (len(items) < count || compareRanked(c.items[n-1], items[count-1]) < 0) {
			c.done, c.size, ok = false, most, false
		}
	}
	return items[:min(len(items), count)], ok
}
