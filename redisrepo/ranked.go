package redisrepo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// MaxGravityRows is the number of articles at which a ranking by RankGravity ends: no list of the calendar has their
// order, so that a page costs more the further down it is.
const MaxGravityRows = 1000

// maxLooked is the maximum number of articles that a call of ranked.lua looks at, which takes Redis about 30 ms. Most
// first pages look at 30 to 100.
const maxLooked = 20_000

// RankedEdge is an article on a page of a ranking.
type RankedEdge struct {
	ID     ArticleID
	Cursor string
	Key    float64 // value of the formula, a whole number
}

// RankedPage is a page of a ranking.
type RankedPage struct {
	Edges []RankedEdge
	Info  PageInfo  // HasPreviousPage: whether the page was read after a cursor
	AsOf  time.Time // instant of the ranking

	looked int // number of articles that Redis looked at
}

// Rank returns the first articles of a list, or those after a cursor; first is 1 to MaxPageSize, and Rules.PageSize if
// it is nil. The ranking is as of now, and with a cursor as of the instant of the page that it is from: articles posted
// since are left out, ages and the span stay, votes are those of now. So paging skips no article whose votes did not
// change, and repeats one only if its votes fell. Articles with equal keys are in descending order of the bytes of
// their ids.
//
// It takes one round trip, rarely more. The Refusal is Invalid if first is out of bounds, a cursor is damaged or belongs
// to another list, a list by RankGravity is read beyond MaxGravityRows, or more articles would have to be looked at than
// Redis has time for: of a long time in which the formula gives nearly all the same key.
func (r *Repo) Rank(ctx context.Context, l RankedList, first *int, after *string) (RankedPage, error) {
	q, err := parseRequest(PageRequest{First: first, After: after}, r.rules.PageSize, r.rankedCursors(l))
	if err != nil {
		return RankedPage{}, err
	}
	at := rankedCursor{instant: r.now().Unix()}
	if q.after != nil {
		at = *q.after
	}
	size, ends := q.size, false
	if l.formula == RankGravity {
		size = min(size, MaxGravityRows-at.row)
		ends = at.row+size == MaxGravityRows
	}
	items, looked, err := r.rank(ctx, l, at, size+1)
	if refusal, ok := err.(Refusal); ok { //nolint:errorlint // it is not wrapped
		return RankedPage{}, refusal
	}
	if err != nil {
		return RankedPage{}, storeError("rank", err)
	}
	page := RankedPage{Info: PageInfo{HasPreviousPage: q.after != nil, HasNextPage: len(items) > size && !ends}, AsOf: time.Unix(at.instant, 0).UTC(), looked: looked}
	name := l.name()
	for i, item := range items[:min(len(items), size)] {
		cursor := rankedCursor{instant: at.instant, row: at.row + i + 1, rankedItem: item}.encode(name)
		if page.Info.EndCursor = &cursor; page.Info.StartCursor == nil {
			page.Info.StartCursor = &cursor
		}
		if id, ok := articleOfMember(item.member); ok {
			page.Edges = append(page.Edges, RankedEdge{ID: id, Cursor: cursor, Key: float64(item.key)})
		}
	}
	return page, nil
}

// rankedItem is a place in a ranking.
type rankedItem struct {
	key    int64
	member string
}

func compareRanked(a, b rankedItem) int {
	return cmp.Or(cmp.Compare(b.key, a.key), strings.Compare(b.member, a.member))
}

// rankedCursor is where a page of a ranking starts, after an article.
type rankedCursor struct {
	instant int64 // Unix seconds
	row     int   // number of articles before; 0: the start of the list
	rankedItem
}

func (c rankedCursor) encode(list string) string {
	return encodeCursor(list, strconv.FormatInt(c.instant, 10), strconv.Itoa(c.row), strconv.FormatInt(c.key, 10), c.member)
}

// rankedCursors returns the function that decodes cursors of the list.
func (r *Repo) rankedCursors(l RankedList) func(field, text string) (rankedCursor, error) {
	return func(field, text string) (c rankedCursor, err error) {
		parts, err := decodeCursor(field, l.name(), text)
		if err != nil {
			return c, err
		}
		if len(parts) == 4 {
			var errs [3]error
			c.instant, errs[0] = strconv.ParseInt(parts[0], 10, 64)
			c.row, errs[1] = strconv.Atoi(parts[1])
			c.key, errs[2] = strconv.ParseInt(parts[2], 10, 64)
			c.member = parts[3]
			// The clocks of two processes may differ, but not by a day.
			if cmp.Or(errs[:]...) == nil && c.row > 0 && c.instant >= 0 && c.instant <= r.now().Add(day).Unix() {
				if l.formula == RankGravity && c.row >= MaxGravityRows {
					return c, refuse(Invalid, field, "a ranking by GRAVITY ends after %d articles: ask for a shorter time", MaxGravityRows)
				}
				return c, nil
			}
		}
		return c, refuse(Invalid, field, "%s is not a cursor of a ranking", field)
	}
}

// rank reads the first articles of a list after a cursor, from all partitions, and returns how many were looked at.
func (r *Repo) rank(ctx context.Context, l RankedList, at rankedCursor, count int) ([]rankedItem, int, error) {
	mayMend := true // once: what legacy clients vote meanwhile is found by the next read
	for range 10 {
		calls := r.rankedCalls(l, at, count)
		for {
			err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
				for _, c := range calls {
					if !c.done {
						c.answer = r.queueRanked(ctx, pipe, l, at, c)
					}
				}
			})
			if err != nil {
				return nil, 0, err
			}
			stale := false
			for _, c := range calls {
				isStale, err := r.takeRanked(l, c)
				if err != nil {
					return nil, 0, err
				}
				stale = stale || isStale
			}
			if stale {
				break
			}
			items, looked, ok := mergeRanked(calls, count)
			if ok && mayMend && r.mend(ctx, l, calls) {
				mayMend = false
				break
			}
			if ok {
				r.foldRanked(l, calls)
				return items, looked, nil
			}
		}
	}
	return nil, 0, fmt.Errorf("%w: the calendar changes faster than it is read", ErrUnavailable)
}

// rankedCall is a call of ranked.lua.
type rankedCall struct {
	partition int
	runs      []calendarRun
	state     calendarState // that the lists were chosen by
	clips     bool          // whether they rely on state.first
	size      int           // number of articles that it asks for
	answer    *redis.Cmd
	done      bool
	items     []rankedItem
	looked    int
	behind    []any // members whose votes differ from their scores, and their posting times, in turn
}

// calendarState is what must be known of a calendar to choose lists.
type calendarState struct {
	folded int64 // last day that was folded, or notFolded
	first  int64 // no article was posted before this day
}

// calendarKey names the calendar of a partition, or of a group in it.
type calendarKey struct {
	partition int
	group     GroupName
}

// calendarOf returns the group that has a calendar with the list's articles.
func (l RankedList) calendarOf() GroupName {
	if l.group == Interesting {
		return "" // the site's, which also has the votes that make an article interesting
	}
	return l.group
}

// rankedCalls returns the calls that read a list, with few articles each: see merge.
func (r *Repo) rankedCalls(l RankedList, at rankedCursor, count int) (calls []*rankedCall) {
	now := max(r.now().Unix(), at.instant)
	low, high := l.times(at.instant)
	for i := range r.partitions {
		state, ok := r.calendars.Get(calendarKey{i, l.calendarOf()})
		if !ok { // ranked.lua replies the truth
			today := floorDiv(now, daySeconds)
			state = calendarState{folded: today - 9, first: today}
		}
		part := calendarPart{low: max(low, state.first*daySeconds), high: high, folded: state.folded, now: now}
		part.shorten(l.formula, at)
		for _, runs := range chunks(part.lists(), maxLists) {
			calls = append(calls, &rankedCall{partition: i, runs: runs, state: state, clips: low < state.first*daySeconds})
		}
	}
	for _, c := range calls {
		c.size = min(few(count, len(calls)), count)
	}
	return calls
}

// shorten chooses where short lists are read, for a formula in which age counts. Further down in the ranking that is
// where age has most of its effect.
func (c *calendarPart) shorten(formula RankFormula, at rankedCursor) {
	switch formula {
	case RankGravity:
		c.near, c.hours = at.instant, 2*daySeconds
		if at.row > 50 {
			c.hours, c.days = 9*daySeconds, 2*monthSeconds
		}
	case RankLinear, RankHalfLife:
		c.near, c.hours, c.days = c.high, 2*daySeconds, 8*daySeconds
		if at.row > 0 {
			c.near = min(c.high, at.key)
		}
	case RankTop: // the age does not count
	}
}

func (r *Repo) queueRanked(ctx context.Context, pipe redis.Pipeliner, l RankedList, at rankedCursor, c *rankedCall) *redis.Cmd {
	p := r.partitions[c.partition]
	keys := []string{p.clock(l.calendarOf()), p.ranking(ByTime), p.ranking(ByScore)}
	folded, first, afterKey, least, voteScore := "", "", "", "", ""
	if c.state.folded != notFolded {
		folded = strconv.FormatInt(c.state.folded, 10)
	}
	if c.clips {
		first = strconv.FormatInt(c.state.first, 10)
	}
	low, high := l.times(at.instant)
	lowest := ""
	if low != math.MinInt64 {
		lowest = strconv.FormatInt(low, 10)
	}
	if at.row > 0 {
		afterKey = strconv.FormatInt(at.key, 10)
	}
	if l.group == Interesting {
		least = strconv.Itoa(r.rules.InterestingVotes)
	}
	if p == untagged && r.rules.Ranking == Linear {
		voteScore = strconv.Itoa(r.rules.VoteScore)
	}
	args := []any{
		folded,             // ARGV[1]
		first,              // ARGV[2]
		l.formula.String(), // ARGV[3]
		strconv.FormatFloat(l.parameter, 'g', 17, 64), // ARGV[4]
		at.instant, // ARGV[5]
		lowest,     // ARGV[6]
		high,       // ARGV[7]
		c.size,     // ARGV[8]
		afterKey,   // ARGV[9]
		at.member,  // ARGV[10]
		least,      // ARGV[11]
		voteScore,  // ARGV[12]
		maxLooked,  // ARGV[13]
	}
	for _, run := range c.runs {
		args = append(args, run.kind, run.first, run.count) // ARGV[14...]
		for n := run.first; n < run.first+run.count; n++ {
			keys = append(keys, p.top(run.kind, n, l.calendarOf()))
		}
	}
	return rankedScript.EvalSha(ctx, pipe, keys, args...)
}

// takeRanked takes the reply of a call. It reports whether the lists were chosen by a state that is outdated.
func (r *Repo) takeRanked(l RankedList, c *rankedCall) (stale bool, err error) {
	if c.done {
		return false, nil
	}
	answer, err := statusReply(c.answer)
	switch {
	case err != nil:
		return false, err
	case answer.status() == "TOO_MANY":
		return false, refuse(Invalid, "", "too many articles have nearly the same key: ask for a shorter time, or let votes count for more")
	case answer.status() == "STALE":
		state := calendarState{folded: notFolded, first: floorDiv(r.now().Unix(), daySeconds)}
		if text := answer.text(1); text != "" {
			if state.folded, err = strconv.ParseInt(text, 10, 64); err != nil {
				return false, fmt.Errorf("the fold pointer %q is no number", text)
			}
		}
		if first, err := strconv.ParseFloat(answer.text(2), 64); err == nil {
			state.first = int64(math.Floor(first / daySeconds))
		}
		r.calendars.Add(calendarKey{c.partition, l.calendarOf()}, state)
		return true, nil
	}
	if len(answer) < 3 {
		return false, errNoStatus
	}
	c.done, c.items = true, nil
	c.looked += int(answer.number(1))
	c.behind, _ = answer[2].([]any)
	for i := 3; i+1 < len(answer); i += 2 {
		c.items = append(c.items, rankedItem{answer.number(i), answer.text(i + 1)})
	}
	return false, nil
}

// foldRanked has calendars folded that were read, if that is due. One without a fold pointer is that of a group without
// articles.
func (r *Repo) foldRanked(l RankedList, calls []*rankedCall) {
	for _, c := range calls {
		if c.state.folded != notFolded {
			r.foldDue(r.partitions[c.partition], l.calendarOf(), strconv.FormatInt(c.state.folded, 10))
		}
	}
}

// mend corrects the votes of articles in the calendar that a legacy client voted on, and reports whether there were
// any. While Redis refuses writes, articles stay where they are.
func (r *Repo) mend(ctx context.Context, l RankedList, calls []*rankedCall) (mended bool) {
	for _, c := range calls {
		for behind := reply(c.behind); len(behind) > 1; behind = behind[2:] {
			id, ok := articleOfMember(behind.text(0))
			if !ok {
				continue
			}
			p := r.partition(id)
			keys := topKeys([]string{p.article(id)}, p, hourOfText(behind.text(1)), l.calendarOf())
			answer, err := r.write(ctx, mendScript, keys, []any{id.String()})
			mended = mended || err == nil && answer.number(1) == 1
		}
	}
	return mended
}

// mergeRanked returns the first articles of all calls. ok is false if a call may have more of them: it is to be made
// again, for all.
func mergeRanked(calls []*rankedCall, count int) (items []rankedItem, looked int, ok bool) {
	for _, c := range calls {
		items = append(items, c.items...)
		looked += c.looked
	}
	slices.SortFunc(items, compareRanked)
	ok = true
	for _, c := range calls {
		if n := len(c.items); n == c.size && n < count && (len(items) < count || compareRanked(c.items[n-1], items[count-1]) < 0) {
			c.done, c.size, ok = false, count, false
		}
	}
	return items[:min(len(items), count)], looked, ok
}

// RankCount returns the number of articles of a list at an instant, which is RankedPage.AsOf. Of a group, it reads the
// group's listing by time, which Redis builds and keeps as it does for Walk.
func (r *Repo) RankCount(ctx context.Context, l RankedList, asOf time.Time) (int, error) {
	low, high := l.times(asOf.Unix())
	if low > high {
		return 0, nil
	}
	if l.group != "" {
		return r.countGroup(ctx, l.group, low, high)
	}
	first := "-inf"
	if low != math.MinInt64 {
		first = strconv.FormatInt(low, 10)
	}
	counts := make([]*redis.IntCmd, len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			counts[i] = pipe.ZCount(ctx, p.ranking(ByTime), first, "("+strconv.FormatInt(high+1, 10))
		}
	})
	if err != nil {
		return 0, storeError("count articles", err)
	}
	n := 0
	for _, count := range counts {
		n += int(count.Val())
	}
	return n, nil
}

// countGroup returns how many articles of a group were posted from one second to another.
func (r *Repo) countGroup(ctx context.Context, name GroupName, low, high int64) (int, error) {
	listing := InGroup(name, ByTime, Ascending)
	// Before these two are the articles up to low, and those up to high.
	bounds := []cursor{{score: float64(max(low, -maxExact))}, {score: float64(high + 1)}}
	replies := make([]*redis.Cmd, len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			replies[i] = r.callListing(ctx, pipe, p, listing, listRequest{request: request[cursor]{size: 1}}, bounds...)
		}
	})
	if err != nil {
		return 0, storeError("count articles", err)
	}
	n := 0
	for _, reply := range replies {
		ranks, err := reply.Int64Slice()
		if err != nil || len(ranks) != len(bounds) {
			return 0, storeError("count articles", cmp.Or(err, errNoStatus))
		}
		n += int(ranks[1] - ranks[0])
	}
	return n, nil
}
