package rankings

import (
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// GroupTopKeys appends the keys of the calendars of groups, if they have any. Interesting has none.
func (r *Rankings) GroupTopKeys(lists []string, p keys.Partition, posted site.Hour, names ...site.GroupName) []string {
	if !r.store.Has("group_top") {
		return lists
	}
	for _, name := range names {
		if name != site.Interesting {
			lists = keys.TopKeys(lists, p, posted, name)
		}
	}
	return lists
}

const daysUnfolded = 8 // days before today that have lists of hours

// LastFolded is the newest day that can be folded.
func (r *Rankings) LastFolded() int64 { return r.store.ThisHour().Day() - daysUnfolded - 1 }

// calendarsCacheSize is the number of calendars, of partitions and their groups, of which a process remembers the state.
const calendarsCacheSize = 10_000
