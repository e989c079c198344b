package repotest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// calendarNames are the groups of the tests of calendars.
var calendarNames = []site.GroupName{"a", "b", "c"}

// WantScheduled compares the calendars with the articles: each is in exactly the lists of its time, with its votes, and no
// peak is too low. Other processes may fold meanwhile.
func (s *Site) WantScheduled() {
	s.T.Helper()
	require.NoError(s.T, s.Views.CatchUpAll(s.Ctx))
	for range 20 {
		before := s.clocks()
		want, got := s.expectedCalendar(before), s.StoredCalendar()
		if !maps.EqualFunc(before, s.clocks(), maps.Equal) {
			continue
		}
		for list := range want {
			if !maps.Equal(want[list], got[list]) {
				s.T.Errorf("%s has %v, want %v", list, got[list], want[list])
			}
		}
		for list := range got {
			if want[list] == nil {
				s.T.Errorf("%s has %v, want none", list, got[list])
			}
			tag, rest, _ := strings.Cut(list, "top:")
			parts := strings.SplitN(rest, ":", 3) // unit, number and perhaps a group
			name := ""
			if len(parts) == 3 {
				name = parts[2]
			}
			peak, err := strconv.ParseFloat(before[tag+"clock:"+name]["p:"+parts[0]+":"+parts[1]], 64)
			if best := slices.Max(slices.Collect(maps.Values(got[list]))); err != nil || peak < best {
				s.T.Errorf("%s: its peak is %v, %v, want at least %v", list, peak, err, best)
			}
		}
		return
	}
	s.T.Error("the calendar is folded all the time")
}

func (s *Site) clocks() map[string]map[string]string {
	s.T.Helper()
	clocks := map[string]map[string]string{}
	for _, key := range s.Raw.Keys(s.Ctx, "*clock:*").Val() {
		clocks[key] = s.Raw.HGetAll(s.Ctx, key).Val()
	}
	return clocks
}

// StoredCalendar returns the lists of the calendars.
func (s *Site) StoredCalendar() map[string]map[string]float64 {
	s.T.Helper()
	lists := map[string]map[string]float64{}
	for _, key := range s.Raw.Keys(s.Ctx, "*top:*").Val() {
		lists[key] = scoresOf(s.Raw.ZRangeWithScores(s.Ctx, key, 0, -1).Val())
		if len(lists[key]) == 0 { // gone meanwhile
			delete(lists, key)
		}
	}
	return lists
}

func (s *Site) expectedCalendar(clocks map[string]map[string]string) map[string]map[string]float64 {
	s.T.Helper()
	lists := map[string]map[string]float64{}
	for _, key := range s.Raw.Keys(s.Ctx, "*time:").Val() {
		tag := strings.TrimSuffix(key, "time:")
		for member, time := range scoresOf(s.Raw.ZRangeWithScores(s.Ctx, key, 0, -1).Val()) {
			hash := s.Raw.HGetAll(s.Ctx, tag+member).Val()
			votes := require.Value(strconv.ParseFloat(hash["votes"], 64))(s.T)
			names := []string{""}
			if s.Rules.GroupTop {
				names = append(names, strings.Fields(hash["groups"])...)
			}
			if !s.Rules.Calendar {
				names = nil
			}
			hour := math.Floor(time / 3600)
			day, month := math.Floor(hour/24), math.Floor(hour/24/32)
			for _, name := range names {
				suffix := ""
				if name != "" {
					suffix = ":" + name
				}
				in := []string{fmt.Sprintf("%stop:h:%.0f%s", tag, hour, suffix)}
				if folded, err := strconv.ParseFloat(clocks[tag+"clock:"+name]["folded"], 64); err == nil && day <= folded {
					in = []string{fmt.Sprintf("%stop:d:%.0f%s", tag, day, suffix), fmt.Sprintf("%stop:m:%.0f%s", tag, month, suffix)}
				}
				for _, list := range in {
					if lists[list] == nil {
						lists[list] = map[string]float64{}
					}
					lists[list][member] = votes
				}
			}
		}
	}
	return lists
}

func scoresOf(zs []redis.Z) map[string]float64 {
	scores := map[string]float64{}
	for _, z := range zs {
		scores[z.Member.(string)] = z.Score
	}
	return scores
}

// Disturb does something random with the articles of a site.
func (s *Site) Disturb(random *rand.Rand, ids []site.ArticleID) []site.ArticleID {
	s.T.Helper()
	var names []string
	for _, name := range calendarNames {
		if random.IntN(2) == 0 {
			names = append(names, string(name))
		}
	}
	kind := random.IntN(20)
	if len(ids) == 0 || kind < 4 {
		return append(ids, s.MustPost("alice", names...).ID)
	}
	id := ids[random.IntN(len(ids))]
	switch kind {
	case 4:
		if article, errs := s.Articles.ArticlesByID(s.Ctx, []site.ArticleID{id}); errs[0] == nil {
			_, _ = s.Delete(s.Ctx, article[0].ID, Moderator, site.Why{})
		}
	case 5, 6:
		_, _ = s.Undelete(s.Ctx, id, Moderator)
	case 7:
		if len(names) > 0 {
			_, _ = s.Regroup(s.Ctx, id, Moderator, names[:1], names[1:])
		}
	case 8:
		_, _ = s.Edit(s.Ctx, id, Moderator, redisrepo.Edit{Groups: append([]string{}, names...)})
	case 9:
		imported := site.ArticleID(1_000_000 + random.IntN(1000))
		added, _ := s.Import(s.Ctx, []redisrepo.Imported{Old(imported, time.Duration(random.IntN(2000))*time.Hour, random.IntN(9)-3, names...)})
		if added[0] {
			ids = append(ids, imported)
		}
	case 10:
		_ = s.Fold(s.Ctx, calendarNames...)
	case 11:
		voters := []string{"alice", fmt.Sprint("voter", random.IntN(5)), fmt.Sprint("voter", random.IntN(5))}
		_, _, _ = s.VoidVotes(s.Ctx, id, Moderator, voters, random.IntN(2) == 0, "a ring")
	default:
		voter := site.UserName(fmt.Sprint("voter", random.IntN(5)))
		_, _ = s.Vote(s.Ctx, id, voter, site.Vote(random.IntN(3)-1), "")
	}
	return ids
}

// Fold folds the calendars of all articles and of some groups, as far as the site keeps them.
func (s *Site) Fold(ctx context.Context, groups ...site.GroupName) error {
	for _, p := range s.Store.Partitions {
		for _, name := range append([]site.GroupName{""}, groups...) {
			if !s.Store.Has("calendar") || name != "" && !s.Store.Has("group_top") {
				continue
			}
			if err := s.Rankings.Fold(ctx, p, name); err != nil {
				return err
			}
		}
	}
	return nil
}
