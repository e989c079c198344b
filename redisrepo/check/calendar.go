package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// inCalendar is what a calendar says about an article at one moment. It is the site's calendar, or a group's if it has a name.
type inCalendar struct {
	group site.GroupName
	clock *redis.SliceCmd                  // folded, and the peaks of units
	lists [len(site.Units)]*redis.FloatCmd // its votes in each of its lists
}

// queueCalendars queues the commands that read where the calendars have an article.
func (c *checker) queueCalendars(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, id site.ArticleID, posted site.Hour, groups []site.GroupName) (all []inCalendar) {
	if !c.Store.Rules.Calendar {
		return nil
	}
	if !c.Store.Rules.GroupTop {
		groups = nil
	}
	for _, name := range append([]site.GroupName{""}, groups...) {
		fields, found := []string{layout.FieldFolded}, inCalendar{group: name}
		for i, unit := range site.Units {
			number := posted.NumberOf(unit)
			fields = append(fields, fmt.Sprint(keys.PeakPrefix, string(unit), ":", number))
			found.lists[i] = pipe.ZScore(ctx, p.Top(string(unit), number, name), id.String())
		}
		found.clock = pipe.HMGet(ctx, p.Clock(name), fields...)
		all = append(all, found)
	}
	return all
}

// places checks that an article is in exactly the lists of its time, with its votes, and that their peaks are no lower.
func (c *checker) places(p keys.Partition, a *site.Article, f facts) {
	for _, at := range f.calendars {
		values := wire.Reply(at.clock.Val())
		folded, err := strconv.ParseInt(values.Text(0), 10, 64)
		if err != nil && values.Text(0) != "" {
			c.reportf("%s: folded is no day: %q", p.Clock(at.group), values.Text(0))
			continue
		}
		isFolded := values.Text(0) != "" && f.posted.Day() <= folded
		var found, want []string
		for i, unit := range site.Units {
			list := p.Top(string(unit), f.posted.NumberOf(unit), at.group)
			votes, err := at.lists[i].Result()
			if err == nil {
				found = append(found, placeText(list, votes))
			} else if !errors.Is(err, redis.Nil) {
				c.reportf("%s: has the wrong type", list)
				return
			}
			peak, peakErr := strconv.ParseFloat(values.Text(1+i), 64)
			if err == nil && (peakErr != nil || peak < votes) {
				c.reportf("%s: p:%c:%d is %q, but %s has an article with %s votes", p.Clock(at.group), unit, f.posted.NumberOf(unit), values.Text(1+i), list, site.Number(votes))
			}
			if (unit != 'h') == isFolded {
				want = append(want, placeText(list, float64(a.Votes)))
			}
		}
		if !slices.Equal(found, want) {
			c.reportByBook("%s: is in %s, not in %s", p.Article(a.ID), listText(found), listText(want))
		}
	}
}

func placeText(list string, votes float64) string {
	return list + " with " + site.Number(votes) + " votes"
}

func listText(places []string) string {
	if len(places) == 0 {
		return "no list of the calendar"
	}
	return strings.Join(places, " and ")
}

// list checks that a list of a calendar holds no other articles than those of its time. Whether it has all of them, the
// check of each article tells.
func (c *checker) list(ctx context.Context, p keys.Partition, key string) error {
	unit, rest, _ := strings.Cut(strings.TrimPrefix(key, p.Key(keys.TopPrefix)), ":")
	digits, name, inGroup := strings.Cut(rest, ":")
	unit, n, ok := keys.ParseList(unit + ":" + digits)
	switch {
	case !ok || key != p.Top(unit, n, site.GroupName(name)):
		c.reportf("%s: is no list of the calendar", key)
		return nil
	case !c.Store.Rules.Calendar || inGroup && !c.Store.Rules.GroupTop:
		c.reportf("%s: exists, but the site keeps no such calendar", key)
		return nil
	}
	err := c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: key, Step: 2, Handle: func(members []string) error {
		var stored, times *redis.SliceCmd
		groups := make([]*redis.StringCmd, len(members))
		err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
			c.lags[p].Queue(ctx, pipe)
			stored, times = queuePlaces(ctx, pipe, key, members), queuePlaces(ctx, pipe, p.Ranking(site.ByTime), members)
			for i, member := range members {
				if inGroup {
					groups[i] = pipe.HGet(ctx, p.Key(member), site.FieldGroups)
				}
			}
		}, wire.Atomic)
		if err != nil {
			return err
		}
		unsettled := c.lags[p].Articles()
		for i, member := range members {
			id, _ := site.ParseArticleID(member)
			posted := placeIn(times, i)
			switch {
			case !placeIn(stored, i).has || unsettled[id]: // it has left since, or may have to
			case c.Repo.Store.Partition(id) != p:
				c.reportf("%s: holds %s, which belongs to another partition", key, member)
			case !posted.has:
				c.reportf("%s: holds %s, which is not in %s", key, member, p.Ranking(site.ByTime))
			case site.HourOf(posted.score).NumberOf(rune(unit[0])) != n:
				c.reportf("%s: holds %s, which was posted at another time: %s", key, member, site.Number(posted.score))
			case inGroup && !slices.Contains(site.GroupNames(groups[i].Val()), site.GroupName(name)):
				c.reportf("%s: holds %s, which is not in the group", key, member)
			}
		}
		return nil
	}})
	return c.wrongType(key, err)
}
