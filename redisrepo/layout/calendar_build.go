package layout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// FieldFolded is the field of a clock with the last folded day of its calendar.
const FieldFolded = "folded" // the last folded day of a calendar, in its clock

// builtTogether is the number of articles that one round trip puts into the calendar: it takes Redis a few milliseconds.
const builtTogether = 500

// BeginCalendar queues the commands that make a new calendar follow the log, and set its fold pointer: articles posted
// before that go into the lists of days and months.
func (r *Layout) BeginCalendar(ctx context.Context, pipe redis.Pipeliner, p keys.Partition) {
	pipe.HSetNX(ctx, p.Clock(""), FieldFolded, r.rankings.LastFolded())
	r.views.QueueBegin(ctx, pipe, p, "calendar")
}

func (r *Layout) buildCalendar(ctx context.Context, b *building) error {
	return r.inOrderOfTime(ctx, b, func(articles []redis.Z) error {
		return r.store.Write(ctx, func(pipe redis.Pipeliner) {
			for some := range Runs(articles, dayOf) {
				r.queueBuild(ctx, pipe, b.p, "", some)
			}
		})
	})
}

func (r *Layout) buildGroupCalendars(ctx context.Context, b *building) error {
	return r.inOrderOfTime(ctx, b, func(articles []redis.Z) error {
		texts, err := wire.ReadEach(ctx, r.store, articles, func(pipe redis.Pipeliner, z redis.Z) *redis.StringCmd {
			return pipe.HGet(ctx, b.p.Key(fmt.Sprint(z.Member)), site.FieldGroups)
		})
		if err != nil {
			return err
		}
		groups := map[site.GroupName][]redis.Z{}
		for i, z := range articles {
			for _, name := range site.GroupNames(texts[i].Val()) {
				groups[name] = append(groups[name], z)
			}
		}
		return r.store.Write(ctx, func(pipe redis.Pipeliner) {
			for name, articles := range groups {
				for some := range Runs(articles, dayOf) {
					r.queueBuild(ctx, pipe, b.p, name, some)
				}
			}
		})
	})
}

// inOrderOfTime calls handle with all articles of a partition, and with those of the second at which a batch ends again.
func (r *Layout) inOrderOfTime(ctx context.Context, b *building, handle func([]redis.Z) error) error {
	times, from, n := b.p.Ranking(site.ByTime), cmp.Or(b.from, "-inf"), int64(builtTogether)
	left, err := r.store.Client.ZCount(ctx, times, from, "+inf").Result()
	if err != nil {
		return err
	}
	b.done = b.total - int(left)
	for {
		found, err := r.store.Client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: times, ByScore: true, Start: from, Stop: "+inf", Count: n}).Result()
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
		if last := site.Number(found[len(found)-1].Score); last == from {
			n *= 2 // more articles than that have the same time
		} else {
			from, n = last, builtTogether
		}
		if err := r.reached(ctx, b, from); err != nil {
			return err
		}
	}
}

// dayOf returns the day of an article by its time.
func dayOf(article redis.Z) int64 { return site.HourOf(article.Score).Day() }

// queueBuild puts articles of one day into the calendar of the site, or into that of a group if it has a name.
func (r *Layout) queueBuild(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, group site.GroupName, articles []redis.Z) {
	posted := site.HourOf(articles[0].Score)
	day := posted.Day()
	keys := []string{
		p.Clock(group),                    // KEYS[1] clock
		p.Ranking(site.ByTime),            // KEYS[2] times
		p.Top("m", posted.Month(), group), // KEYS[3] month_list
		p.Top("d", day, group),            // KEYS[4] day_list
	}
	for hour := 24 * day; hour < 24*(day+1); hour++ {
		keys = append(keys, p.Top("h", hour, group)) // KEYS[5...]
	}
	args := []any{
		string(group),           // ARGV[1] group
		day,                     // ARGV[2] day
		r.rankings.LastFolded(), // ARGV[3] last_folded
	}
	for _, z := range articles {
		member := fmt.Sprint(z.Member)
		keys, args = append(keys, p.Key(member)), append(args, member) // KEYS[29...], ARGV[4...]
	}
	buildScript.EvalSha(ctx, pipe, keys, args...)
}

// forgetCalendar removes what is known of the calendar's lists. The clock has fields of the saved front pages, too.
func (r *Layout) forgetCalendar(ctx context.Context, p keys.Partition) error {
	if err := r.store.Client.HDel(ctx, p.Views(), "calendar").Err(); err != nil {
		return err
	}
	return r.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.HScan, Key: p.Clock(""), Step: 2, Handle: func(fields []string) error {
		return r.store.Read(ctx, func(pipe redis.Pipeliner) {
			for _, field := range fields {
				if field == FieldFolded || strings.HasPrefix(field, keys.PeakPrefix) {
					pipe.HDel(ctx, p.Clock(""), field)
				}
			}
		})
	}})
}
