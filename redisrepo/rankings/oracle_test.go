package rankings_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

var questions = flag.Int("questions", programtest.Size(400, 1500), "questions that TestRankingsMatchTheOracle asks, over all stores")

// Rankings are what sorting all articles by the formula gives, whatever lists they are in.
func TestRankingsMatchTheOracle(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2, 4, 16} {
		for _, embedded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d partitions, embedded %t", partitions, embedded), func(t *testing.T) {
				t.Parallel()
				w := newRankedWorld(t, partitions, embedded)
				for asked := 0; asked < *questions/8 && !t.Failed(); {
					w.fill()
					for range 50 {
						asked += w.ask()
					}
				}
			})
		}
	}
}

// The bounds of a list count in all digits that were given, though articles have times in whole seconds.
func TestPostingTimesOfRankingsCountInAllDigits(t *testing.T) {
	t.Parallel()
	for _, embedded := range []bool{false, true} {
		w := newRankedWorld(t, 1, embedded)
		second := w.Clock.Now().Unix() - hourOf
		for i, after := range []float64{0, 1} {
			a := &rankedArticle{id: site.ArticleID(i + 1), time: float64(second) + after, votes: 3 + i%2, groups: []string{"go"}}
			require.Value(w.Raw.Pipelined(w.Ctx, func(pipe redis.Pipeliner) error {
				w.put(pipe, a)
				return nil
			}))(t)
		}
		for nanoseconds, older := range map[int64]int{-1: 0, 0: 0, 1: 1, 999_999_999: 1, 1_000_000_000: 1, 1_000_000_001: 2} {
			at := time.Unix(second, nanoseconds).UTC()
			for _, group := range []site.GroupName{"", "go"} {
				for _, formula := range []rankings.RankFormula{rankings.RankTop, rankings.RankLinear, rankings.RankHalfLife, rankings.RankGravity} {
					for q, want := range map[*rankings.RankQuery]int{{PostedAfter: &at}: 2 - older, {PostedBefore: &at}: older} {
						q.Group, q.By.Formula = group, formula
						list := require.Value(w.Rankings.RankedList(*q))(t)
						page := require.Value(w.Rankings.Rank(w.Ctx, list, nil, nil))(t)
						count := require.Value(w.Rankings.RankCount(w.Ctx, list, page.AsOf))(t)
						if len(page.Edges) != want || count != want {
							t.Errorf("%v, in %q, from %v to %v: %d articles and a count of %d, want %d", formula, group, q.PostedAfter, q.PostedBefore, len(page.Edges), count, want)
						}
					}
				}
			}
		}
	}
}

// rankedWorld is a store whose calendar the test writes, and what it has.
type rankedWorld struct {
	*repotest.Site
	*rand.Rand
	tags     []string
	articles []*rankedArticle
	votes    func() int
	change   func() // a few writes
}

type rankedArticle struct {
	id     site.ArticleID
	time   float64
	votes  int
	groups []string
}

// second is the posting time in whole seconds.
func (a *rankedArticle) second() int64 { return int64(math.Floor(a.time)) }

const rankedThreshold = 4 // InterestingVotes

func newRankedWorld(t *testing.T, partitions int, inMemory bool) *rankedWorld {
	change := func(r *site.Rules) { r.GroupTop, r.InterestingVotes = true, rankedThreshold }
	option := redisrepo.WithPartitions(partitions)
	w := &rankedWorld{Rand: rand.New(rand.NewPCG(uint64(partitions), 7)), tags: repotest.Tags(partitions)}
	w.change = w.revote
	open := repotest.New
	if inMemory {
		open = repotest.Embedded
	}
	w.Site = open(t, change, option)
	return w
}

const hourOf, dayOf, monthOf = 3600, 86400, 32 * 86400

// fill replaces all articles.
func (w *rankedWorld) fill() {
	w.Do("FLUSHDB")
	w.Clock.Advance(time.Duration(w.IntN(40*3600)) * time.Second)
	now := w.Clock.Now().Unix()
	many := w.IntN(3) // many different votes, or many ties
	w.votes = func() int {
		switch many {
		case 0:
			return w.IntN(4) - 1
		case 1:
			return w.IntN(60) - 8
		default:
			return int(math.Exp(w.Float64()*9)) - 3
		}
	}
	ages := []int{1, 60, hourOf, dayOf, 9 * dayOf, 15 * dayOf, 100 * dayOf, 5 * 365 * dayOf}
	w.articles = nil
	for n := range w.IntN(2) * w.IntN(300) {
		age := w.IntN(ages[w.IntN(len(ages))])
		a := &rankedArticle{id: site.ArticleID(n + 1), time: float64(now - int64(age)), votes: w.votes()}
		if w.IntN(20) == 0 {
			a.time = float64(now + int64(w.IntN(100))) // by another clock
		}
		for _, group := range []string{"go", "x"} {
			if w.IntN(2) == 0 {
				a.groups = append(a.groups, group)
			}
		}
		w.articles = append(w.articles, a)
	}
	require.Value(w.Raw.Pipelined(w.Ctx, func(pipe redis.Pipeliner) error {
		for _, tag := range w.tags {
			for _, group := range []string{"", "go", "x"} {
				// Late ones are folded while questions are asked. A new site and a new group have none.
				if w.IntN(30) > 0 {
					pipe.HSet(w.Ctx, tag+"clock:"+group, "folded", now/dayOf-9-int64(w.IntN(2)*w.IntN(20)))
				}
			}
		}
		for _, a := range w.articles {
			w.put(pipe, a)
		}
		return nil
	}))(w.T)
}

// put writes an article into all its lists.
func (w *rankedWorld) put(pipe redis.Pipeliner, a *rankedArticle) {
	tag, member := w.tags[int(a.id)%len(w.tags)], a.id.String()
	pipe.ZAdd(w.Ctx, tag+"time:", redis.Z{Score: a.time, Member: member})
	pipe.ZAdd(w.Ctx, tag+"score:", redis.Z{Score: a.time + float64(w.Rules.VoteScore*a.votes), Member: member})
	for _, group := range a.groups {
		pipe.SAdd(w.Ctx, tag+"group:"+group, member)
	}
	pipe.SRem(w.Ctx, tag+"group:interesting", member)
	pipe.Del(w.Ctx, tag+"time:interesting")
	if a.votes >= rankedThreshold {
		pipe.SAdd(w.Ctx, tag+"group:interesting", member)
	}
	for _, group := range append([]string{""}, a.groups...) {
		end := ""
		if group != "" {
			end = ":" + group
		}
		keys := []string{tag + "clock:" + group}
		for _, list := range []string{"d:", "h:", "m:"} {
			keys = append(keys, fmt.Sprint(tag, "top:", list, a.second()/map[string]int64{"d:": dayOf, "h:": hourOf, "m:": monthOf}[list], end))
		}
		scheduleScript.Eval(w.Ctx, pipe, keys, a.votes, member)
	}
}

// scheduleScript puts an article into a calendar: its clock, and the lists of its day, hour and 32 days.
var scheduleScript = redis.NewScript(`
	local folded = tonumber(redis.call('HGET', KEYS[1], 'folded') or nil)
	local is_folded = folded and tonumber(string.match(KEYS[2], 'd:(%-?%d+)')) <= folded
	for _, list in ipairs({KEYS[2], is_folded and KEYS[4] or KEYS[3]}) do
		redis.call('ZADD', list, ARGV[1], ARGV[2])
		local peak_of = 'p:' .. string.match(list, 'top:(%a:%-?%d+)')
		local peak = tonumber(redis.call('HGET', KEYS[1], peak_of) or nil)
		if not peak or peak < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], peak_of, ARGV[1]) end
	end
	return 1`)

// revote changes the votes of some articles.
func (w *rankedWorld) revote() {
	if len(w.articles) == 0 {
		return
	}
	require.Value(w.Raw.Pipelined(w.Ctx, func(pipe redis.Pipeliner) error {
		for range w.IntN(8) {
			a := w.articles[w.IntN(len(w.articles))]
			a.votes = w.votes()
			w.put(pipe, a)
		}
		return nil
	}))(w.T)
}

// question is a ranking as the oracle understands it.
type rankedQuestion struct {
	query      rankings.RankQuery
	instant    int64
	low, high  int64
	group      string
	uncertain  bool    // an article's key is so near to a half that it may be rounded in either way
	lastKey    float64 // of the cursor
	lastMember string
}

func (w *rankedWorld) newQuestion() *rankedQuestion {
	q := &rankedQuestion{instant: w.Clock.Now().Unix(), lastKey: math.Inf(1), low: math.MinInt64}
	q.high = q.instant
	by := &q.query.By
	by.Formula = rankings.RankFormula(w.IntN(4))
	if w.IntN(2) == 0 {
		switch by.Formula {
		case rankings.RankGravity:
			by.Gravity = new(0.1 + w.Float64()*4.9)
		case rankings.RankHalfLife:
			by.HalfLife = new([]int{60, 3600, 45_000, 315_360_000}[w.IntN(4)])
		case rankings.RankLinear:
			by.VoteScore = new([]int{1, 7, 432, 86_400, 1_000_000_000}[w.IntN(5)])
		case rankings.RankTop:
		}
	}
	switch w.IntN(4) {
	case 0:
		days := map[rankings.Span]int64{rankings.SpanDay: 1, rankings.SpanWeek: 7, rankings.SpanMonth: 30, rankings.SpanYear: 365, rankings.SpanAll: 0}
		span := rankings.Span(w.IntN(5))
		q.query.Span = &span
		if days[span] > 0 {
			q.low = q.instant - days[span]*dayOf + 1
		}
	case 1, 2:
		ages := []int{3, hourOf, dayOf, 9 * dayOf, 100 * dayOf, 2000 * dayOf, 30_000 * dayOf}
		some := func() time.Time {
			at := q.instant - int64(w.IntN(ages[w.IntN(len(ages))])) + 3
			if n := len(w.articles); n > 0 && w.IntN(2) == 0 {
				at = w.articles[w.IntN(n)].second()
			}
			nanoseconds := []int64{0, 0, 1, 123_456_999, 123_457_000, 123_457_001, 999_999_999}
			return time.Unix(at, nanoseconds[w.IntN(len(nanoseconds))]).UTC()
		}
		if w.IntN(3) > 0 {
			at := some()
			q.query.PostedAfter = &at
		}
		if w.IntN(3) > 0 {
			at := some()
			q.query.PostedBefore = &at
		}
	}
	q.group = []string{"", "", "", "go", "x", "none", "interesting"}[w.IntN(7)]
	q.query.Group = site.GroupName(q.group)
	return q
}

// has reports whether an article is in the list.
func (q *rankedQuestion) has(a *rankedArticle) bool {
	posted := site.UnixTime(a.time)
	switch {
	case q.query.PostedAfter != nil && posted.Before(*q.query.PostedAfter), q.query.PostedBefore != nil && !posted.Before(*q.query.PostedBefore):
		return false
	case a.second() < q.low || a.second() > q.high:
		return false
	case q.group == "interesting":
		return a.votes >= rankedThreshold
	}
	return q.group == "" || slices.Contains(a.groups, q.group)
}

// key is the formula as the documents have it.
func (q *rankedQuestion) key(w *rankedWorld, a *rankedArticle) float64 {
	v, t, by := float64(a.votes), float64(a.second()), q.query.By
	rounded := func(x float64) float64 {
		if math.Abs(x-math.Floor(x)-0.5) < 1e-7 {
			q.uncertain = true
		}
		return math.Floor(x + 0.5)
	}
	switch by.Formula {
	case rankings.RankLinear:
		worth := w.Rules.VoteScore
		if by.VoteScore != nil {
			worth = *by.VoteScore
		}
		return v*float64(worth) + t
	case rankings.RankHalfLife:
		halfLife := w.Rules.HalfLife.Seconds()
		if by.HalfLife != nil {
			halfLife = float64(*by.HalfLife)
		}
		return math.Copysign(rounded(halfLife*math.Log2(1+math.Abs(v))), v) + t
	case rankings.RankGravity:
		gravity, weight := 1.8, 100*(v-2)
		if by.Gravity != nil {
			gravity = *by.Gravity
		}
		if v > 1 {
			weight = math.Log(v - 1)
		}
		return rounded(1e6 * (weight - gravity*math.Log((float64(q.instant)-t)/3600+2)))
	case rankings.RankTop:
	}
	return v
}

type rankedAnswer struct {
	key    float64
	member string
	id     site.ArticleID
}

// after returns all articles after the cursor, in order.
func (q *rankedQuestion) after(w *rankedWorld) (found []rankedAnswer) {
	compare := func(a, b rankedAnswer) int { return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(b.member, a.member)) }
	for _, a := range w.articles {
		if q.has(a) {
			answer := rankedAnswer{q.key(w, a), a.id.String(), a.id}
			if compare(answer, rankedAnswer{key: q.lastKey, member: q.lastMember}) > 0 {
				found = append(found, answer)
			}
		}
	}
	slices.SortFunc(found, compare)
	return found
}

// ask asks for the pages of a random ranking, and returns how many.
func (w *rankedWorld) ask() int {
	w.T.Helper()
	q := w.newQuestion()
	list, err := w.Rankings.RankedList(q.query)
	if err != nil {
		w.T.Fatalf("RankedList %+v: %v", q.query, err)
	}
	var cursor *string
	for page := 1; ; page++ {
		size := 1 + w.IntN(30)
		got, err := w.Rankings.Rank(w.Ctx, list, &size, cursor)
		if err != nil {
			w.T.Fatalf("Rank %+v: %v", q.query, err)
		}
		all := q.after(w)
		want := all[:min(size, len(all))]
		same := slices.EqualFunc(got.Edges, want, func(e rankings.RankedEdge, a rankedAnswer) bool { return e.ID == a.id && e.Key == a.key })
		if !same && !q.uncertain || got.Info.HasNextPage != (len(all) > size) || got.AsOf.Unix() != q.instant {
			w.T.Errorf("page %d of %d by %v from %d to %d in %q:\ngot  %v, %+v\nwant %v of %d", page, size, q.query.By, q.low-q.instant, q.high-q.instant, q.group, got.Edges, got.Info, want, len(all))
			return page
		}
		if w.IntN(5) == 0 {
			count := 0
			for _, a := range w.articles {
				if q.has(a) {
					count++
				}
			}
			if n, err := w.Rankings.RankCount(w.Ctx, list, got.AsOf); err != nil || n != count {
				w.T.Errorf("RankCount of %+v = %d, %v, want %d", q.query, n, err, count)
			}
		}
		if !got.Info.HasNextPage || w.IntN(4) == 0 || q.uncertain {
			return page
		}
		last := want[len(want)-1]
		cursor, q.lastKey, q.lastMember = got.Info.EndCursor, last.key, last.member
		if w.IntN(2) == 0 {
			w.change()
		}
		if w.IntN(3) == 0 {
			w.Clock.Advance(time.Duration(w.IntN(5)) * time.Second)
		}
	}
}
