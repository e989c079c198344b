package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// inCalendar is what a calendar says about an article at one moment: that of the site, or of a group if it has a name.
type inCalendar struct {
	group GroupName
	clock *redis.SliceCmd             // folded, and the peaks of units
	lists [len(units)]*redis.FloatCmd // its votes in each of its lists
}

// units are the units of the lists of calendars.
const units = "dhm"

// numberOf is the number of the list of a unit that an article of the hour belongs to.
func (h hour) numberOf(unit rune) int64 {
	switch unit {
	case 'd':
		return h.day()
	case 'm':
		return h.month()
	default:
		return int64(h)
	}
}

// queuePlaces queues the commands that read where the calendars have an article.
func (c *checker) queuePlaces(ctx context.Context, pipe redis.Pipeliner, p partition, id ArticleID, posted hour, groups []GroupName) (all []inCalendar) {
	if !c.rules.Calendar {
		return nil
	}
	if !c.rules.GroupTop {
		groups = nil
	}
	for _, name := range append([]GroupName{""}, groups...) {
		fields, found := []string{fieldFolded}, inCalendar{group: name}
		for i, unit := range units {
			number := posted.numberOf(unit)
			fields = append(fields, fmt.Sprint(peakPrefix, string(unit), ":", number))
			found.lists[i] = pipe.ZScore(ctx, p.top(string(unit), number, name), id.String())
		}
		found.clock = pipe.HMGet(ctx, p.clock(name), fields...)
		all = append(all, found)
	}
	return all
}

// places checks that an article is in exactly the lists of its time, with its votes, and that their peaks are no lower.
// Legacy clients leave out the lists: of an article that only they wrote, any votes count, or none.
func (c *checker) places(p partition, a *Article, f facts, legacy bool) {
	for _, at := range f.places {
		values := reply(at.clock.Val())
		folded, err := strconv.ParseInt(values.text(0), 10, 64)
		if err != nil && values.text(0) != "" {
			c.reportf("%s: folded is no day: %q", p.clock(at.group), values.text(0))
			continue
		}
		isFolded := values.text(0) != "" && f.posted.day() <= folded
		var found, want []string
		for i, unit := range units {
			list := p.top(string(unit), f.posted.numberOf(unit), at.group)
			votes, err := at.lists[i].Result()
			if err == nil {
				found = append(found, placeText(list, votes))
			} else if !errors.Is(err, redis.Nil) {
				c.reportf("%s: has the wrong type", list)
				return
			}
			peak, peakErr := strconv.ParseFloat(values.text(1+i), 64)
			if err == nil && (peakErr != nil || peak < votes) {
				c.reportf("%s: p:%c:%d is %q, but %s has an article with %s votes", p.clock(at.group), unit, f.posted.numberOf(unit), values.text(1+i), list, number(votes))
			}
			if (unit != 'h') == isFolded {
				if !legacy {
					votes = float64(a.Votes)
				}
				want = append(want, placeText(list, votes))
			}
		}
		if !slices.Equal(found, want) && (!legacy || len(found) > 0) {
			c.reportf("%s: is in %s, not in %s", p.article(a.ID), listText(found), listText(want))
		}
	}
}

func placeText(list string, votes float64) string {
	return list + " with " + number(votes) + " votes"
}

func listText(places []string) string {
	if len(places) == 0 {
		return "no list of the calendar"
	}
	return strings.Join(places, " and ")
}

// list checks that a list of a calendar holds no other articles than those of its time. Whether it has all of them, the
// check of each article tells.
func (c *checker) list(ctx context.Context, p partition, key string) error {
	unit, rest, _ := strings.Cut(strings.TrimPrefix(key, p.key(topPrefix)), ":")
	digits, name, inGroup := strings.Cut(rest, ":")
	unit, n, ok := parseList(unit + ":" + digits)
	switch {
	case !ok || key != p.top(unit, n, GroupName(name)):
		c.reportf("%s: is no list of the calendar", key)
		return nil
	case !c.rules.Calendar || inGroup && !c.rules.GroupTop:
		c.reportf("%s: exists, but the site keeps no such calendar", key)
		return nil
	}
	err := c.scan(ctx, scan{command: redis.Cmdable.ZScan, key: key, step: 2, handle: func(members []string) error {
		stored, times, groups := make([]*redis.FloatCmd, len(members)), make([]*redis.FloatCmd, len(members)), make([]*redis.StringCmd, len(members))
		err := c.transaction(ctx, func(pipe redis.Pipeliner) {
			for i, member := range members {
				stored[i], times[i] = pipe.ZScore(ctx, key, member), pipe.ZScore(ctx, p.ranking(ByTime), member)
				groups[i] = pipe.HGet(ctx, p.key(member), fieldGroups)
			}
		})
		if err != nil {
			return err
		}
		for i, member := range members {
			id, _ := ParseArticleID(member)
			switch {
			case stored[i].Err() != nil: // it has left since
			case c.Repo.partition(id) != p:
				c.reportf("%s: holds %s, which belongs to another partition", key, member)
			case times[i].Err() != nil:
				c.reportf("%s: holds %s, which is not in %s", key, member, p.ranking(ByTime))
			case hourOf(times[i].Val()).numberOf(rune(unit[0])) != n:
				c.reportf("%s: holds %s, which was posted at another time: %s", key, member, number(times[i].Val()))
			case inGroup && !slices.Contains(groupNames(groups[i].Val()), GroupName(name)):
				c.reportf("%s: holds %s, which is not in the group", key, member)
			}
		}
		return nil
	}})
	return c.wrongType(key, err)
}
