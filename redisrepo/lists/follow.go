package lists

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

// mostLacking is the number of entries of the log from which on a read of a listing has all views catch up first: it takes Redis 5 µs
// to give a listing what one entry changed.
const mostLacking = 500

// follows reports whether votes change a listing: those of groups by score, and both of Interesting, are a view of the log. vote.lua
// does not know them. What reads such a listing gives it what it lacks.
func (l Listing) follows() bool {
	return l.group != "" && (l.order == site.ByScore || l.group == site.Interesting)
}

// Forget drops this process's cached state of listings, after data that may have gone back in time.
func (r *Lists) Forget() { r.seen.Purge() }

// seenListing is an entry of the log that a stored listing had, and when. The next read of the listing begins there, if it comes so
// soon that few entries follow.
type seenListing struct {
	entry string
	at    time.Time
}

// maxSeenListings is the number of listings that are remembered.
const maxSeenListings = 1000

// seenEntry returns the last entry that a listing was seen to have, empty if that is long ago.
func (r *Lists) seenEntry(p keys.Partition, l Listing) string {
	seen, _ := r.seen.Get(part{p, l})
	if time.Since(seen.at) > 300*time.Millisecond {
		return ""
	}
	return seen.entry
}

// mostPlaced is the number of entries of the log up to which a page of a stored listing is read by plain commands.
const mostPlaced = 20

// storedAt returns an entry of the log that a partition's listing of a group had a moment ago, so that queueStored can read it; empty
// if it is unknown.
func (r *Lists) storedAt(p keys.Partition, l Listing) string {
	if !l.follows() || l.group == site.Interesting {
		return ""
	}
	return r.seenEntry(p, l)
}

// queueStored queues commands for a stored listing, and for what the log has after an entry that the listing had: the articles that were
// voted on are then given their places here, so that Redis runs no script. If the log has something else, or much, the run is missing.
func (r *Lists) queueStored(seen string) queueing {
	return func(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, l Listing, args redis.ZRangeArgs, size int) func() (run, error) {
		first := pipe.ZRange(ctx, l.key(p), 0, 0)
		reply := pipe.ZRangeArgsWithScores(ctx, args)
		lacking := pipe.XRangeN(ctx, p.Events(), "("+seen, "+", mostPlaced+1)
		return func() (run, error) {
			entries := lacking.Val()
			found := run{items: reply.Val(), more: len(reply.Val()) == size}
			found.missing = isBuilding(first.Val()) || len(found.items) == 0 || len(entries) > mostPlaced || !l.place(&found, entries)
			r.views.Found(len(entries))
			if found.missing || len(entries) > mostPlaced/2 {
				r.seen.Remove(part{p, l}) // listing.lua is to apply the entries
			}
			return found, cmp.Or(reply.Err(), lacking.Err())
		}
	}
}

// place gives articles the places in the run of a listing that entries of the log tell. It returns false if one tells more than a vote.
func (l Listing) place(found *run, entries []redis.XMessage) bool {
	moved := map[any]float64{}
	for _, m := range entries {
		e, err := wire.EntryOf(m)
		if err != nil || e.Kind != site.KindVoted {
			return false
		}
		if slices.Contains(e.Groups, l.group) {
			score, err := strconv.ParseFloat(e.Score, 64)
			if err != nil {
				return false
			}
			moved[e.Article.String()] = score
		}
	}
	if len(moved) == 0 {
		return true
	}
	end := PlaceOf(found.items[len(found.items)-1])
	found.items = slices.DeleteFunc(slices.Clone(found.items), func(z redis.Z) bool { _, ok := moved[z.Member]; return ok })
	for member, score := range moved {
		z := redis.Z{Member: member, Score: score}
		if !found.more || l.Compare(PlaceOf(z), end) <= 0 {
			found.items = append(found.items, z)
		}
	}
	l.Sorting(found.items)
	return true
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
