package redisrepo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	fieldFolded  = "folded" // the last folded day of a calendar, in its clock
	topPrefix    = "top:"
	peakPrefix   = "p:" // of the fields with the peaks of lists
	daysUnfolded = 8    // days before today that have lists of hours
)

// builtTogether is the number of articles that one round trip puts into the calendar: it takes Redis a few milliseconds.
const builtTogether = 500

// beginCalendar sets the fold pointer of a new calendar: what was posted before goes into the lists of days and months.
func (r *Repo) beginCalendar(ctx context.Context, pipe redis.Pipeliner, p partition) {
	pipe.HSetNX(ctx, p.clock(""), fieldFolded, r.lastFolded())
}

// lastFolded is the newest day that can be folded.
func (r *Repo) lastFolded() int64 { return r.thisHour().day() - daysUnfolded - 1 }

func (r *Repo) buildCalendar(ctx context.Context, b *building) error {
	return r.inOrderOfTime(ctx, b, func(articles []redis.Z) error {
		return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
			for _, some := range byDay(articles) {
				r.queueBuild(ctx, pipe, b.p, "", some)
			}
		})
	})
}

func (r *Repo) buildGroupCalendars(ctx context.Context, b *building) error {
	return r.inOrderOfTime(ctx, b, func(articles []redis.Z) error {
		texts := make([]*redis.StringCmd, len(articles))
		err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for i, z := range articles {
				texts[i] = pipe.HGet(ctx, b.p.key(fmt.Sprint(z.Member)), fieldGroups)
			}
		})
		if err != nil {
			return err
		}
		groups := map[GroupName][]redis.Z{}
		for i, z := range articles {
			for _, name := range groupNames(texts[i].Val()) {
				groups[name] = append(groups[name], z)
			}
		}
		return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
			for name, articles := range groups {
				for _, some := range byDay(articles) {
					r.queueBuild(ctx, pipe, b.p, name, some)
				}
			}
		})
	})
}

// inOrderOfTime calls handle with all articles of a partition, and with those of the second at which a batch ends again.
func (r *Repo) inOrderOfTime(ctx context.Context, b *building, handle func([]redis.Z) error) error {
	times, from, n := b.p.ranking(ByTime), cmp.Or(b.from, "-inf"), int64(builtTogether)
	left, err := r.client.ZCount(ctx, times, from, "+inf").Result()
	if err != nil {
		return err
	}
	b.done = b.total - int(left)
	for {
		found, err := r.client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: times, ByScore: true, Start: from, Stop: "+inf", Count: n}).Result()
		if err != nil {
			return err
		}
		for some := range slices.Chunk(found, builtTogether) {
			if err := handle(some); err != nil {
				return err
			}
		}
		if b.done += len(found); int64(len(found)) < n {
			return nil
		}
		if last := number(found[len(found)-1].Score); last == from {
			n *= 2 // more articles than that have the same time
		} else {
			from, n = last, builtTogether
		}
		if err := r.reached(ctx, b, from); err != nil {
			return err
		}
	}
}

// byDay returns the articles, which are in the order of their times, in parts of one day each.
func byDay(articles []redis.Z) (days [][]redis.Z) {
	for i, z := range articles {
		if i == 0 || hourOf(z.Score).day() != hourOf(articles[i-1].Score).day() {
			days = append(days, nil)
		}
		days[len(days)-1] = append(days[len(days)-1], z)
	}
	return days
}

// queueBuild puts articles of one day into the calendar of the site, or into that of a group if it has a name.
func (r *Repo) queueBuild(ctx context.Context, pipe redis.Pipeliner, p partition, group GroupName, articles []redis.Z) {
	posted := hourOf(articles[0].Score)
	day := posted.day()
	keys := []string{
		p.clock(group),                    // KEYS[1] clock
		p.ranking(ByTime),                 // KEYS[2] times
		p.top("m", posted.month(), group), // KEYS[3] month_list
		p.top("d", day, group),            // KEYS[4] day_list
	}
	for hour := 24 * day; hour < 24*(day+1); hour++ {
		keys = append(keys, p.top("h", hour, group)) // KEYS[5...]
	}
	args := []any{
		string(group),  // ARGV[1] group
		day,            // ARGV[2] day
		r.lastFolded(), // ARGV[3] last_folded
	}
	for _, z := range articles {
		member := fmt.Sprint(z.Member)
		keys, args = append(keys, p.key(member)), append(args, member) // KEYS[29...], ARGV[4...]
	}
	buildScript.EvalSha(ctx, pipe, keys, args...)
}

func (r *Repo) dropCalendar(ctx context.Context, p partition) error {
	return r.dropCalendarOf(ctx, p, "")
}

// dropGroupCalendars removes the calendars of all groups. It finds them by the names of their clocks, since one that lost
// its last article is in no index.
func (r *Repo) dropGroupCalendars(ctx context.Context, p partition) error {
	return r.eachMatching(ctx, p, p.clock("?*"), func(clocks []string) error {
		for _, clock := range clocks {
			if err := r.dropCalendarOf(ctx, p, GroupName(strings.TrimPrefix(clock, p.clock("")))); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropCalendarOf removes the lists of a calendar, all of which have a peak, and then what is known of them.
func (r *Repo) dropCalendarOf(ctx context.Context, p partition, group GroupName) error {
	clock := p.clock(group)
	err := r.scan(ctx, scan{command: redis.Cmdable.HScan, key: clock, step: 2, handle: func(fields []string) error {
		return r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for _, field := range fields {
				if unit, number, ok := parsePeak(field); ok {
					pipe.Unlink(ctx, p.top(unit, number, group))
					pipe.HDel(ctx, clock, field)
				}
			}
		})
	}})
	if err != nil {
		return err
	}
	return r.client.HDel(ctx, clock, fieldFolded).Err()
}

// parsePeak parses the field of a list's peak, such as p:d:20715.
func parsePeak(field string) (unit string, number int64, ok bool) {
	list, isPeak := strings.CutPrefix(field, peakPrefix)
	unit, number, ok = parseList(list)
	return unit, number, isPeak && ok
}

// parseList parses the unit and the number of a list, such as d:20715.
func parseList(text string) (unit string, number int64, ok bool) {
	unit, digits, _ := strings.Cut(text, ":")
	number, err := strconv.ParseInt(digits, 10, 64)
	return unit, number, err == nil && (unit == "h" || unit == "d" || unit == "m")
}
