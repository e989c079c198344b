package lists

import (
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
func (r *Lists) Forget() { r.kept.seen.Purge() }

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
