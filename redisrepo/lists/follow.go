package lists

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
)

// mostLacking is the number of entries of the log from which on a read of a listing has all views catch up first: it takes Redis 5 µs
// to give a listing what one entry changed.
const mostLacking = 500

// follows reports whether votes change a listing: those of groups by score, and both of Interesting, are a view of the log. vote.lua
// does not know them. What reads such a listing gives it what it lacks.
func (l Listing) follows() bool {
	return l.group != "" && (l.order == site.ByScore || l.group == site.Interesting)
}

// Forget drops what this process knows of listings, for data that may have gone back.
func (r *Lists) Forget() { r.seen.listings.Purge() }

// seenListings are entries of the log that stored listings were seen to have, so that the next read of one begins there, if it comes
// so soon that few entries follow.
type seenListings struct {
	listings *lru.Cache[storedListing, seenListing]
}

// storedListing is the listing of a group in one partition.
type storedListing struct {
	p     keys.Partition
	group site.GroupName
	order site.Order
}

// seenListing is an entry that a listing had, and when.
type seenListing struct {
	entry string
	at    time.Time
}

// maxSeenListings is the number of listings that are remembered.
const maxSeenListings = 1000

func (s seenListings) note(p keys.Partition, l Listing, entry string) {
	s.listings.Add(storedListing{p, l.group, l.order}, seenListing{entry, time.Now()})
}

// entry returns the last entry that a listing was seen to have, empty if that is long ago.
func (s seenListings) entry(p keys.Partition, l Listing) string {
	seen, _ := s.listings.Get(storedListing{p, l.group, l.order})
	if time.Since(seen.at) > 300*time.Millisecond {
		return ""
	}
	return seen.entry
}

// apply returns the call of follow.lua.
func (r *Lists) apply(p keys.Partition, from, to string, entries []views.Entry) (script *redis.Script, scriptKeys []string, args []any) {
	scriptKeys = []string{p.Views()} // KEYS[1] views
	args = []any{
		from, // ARGV[1] from
		to,   // ARGV[2] to
	}
	numbers := map[Listing]int{}
	place := func(l Listing, id site.ArticleID) {
		if numbers[l] == 0 {
			scriptKeys = append(scriptKeys, l.key(p), p.Group(l.group), p.Ranking(l.order)) // KEYS[2...] listing
			numbers[l] = len(numbers) + 1
		}
		args = append(args, numbers[l], id.String()) // ARGV[3...] place
	}
	for _, e := range views.Newest(entries) {
		place(Listing{group: site.Interesting, order: site.ByScore}, e.Article)
		place(Listing{group: site.Interesting, order: site.ByTime}, e.Article)
		for _, name := range e.Groups {
			place(Listing{group: name, order: site.ByScore}, e.Article)
		}
	}
	return followScript, scriptKeys, args
}
