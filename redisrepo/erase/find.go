package erase

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"golang.org/x/text/cases"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Found is a text of a user that contains a name, in any case.
type Found struct {
	Where string // key and field, or the id of an entry, such as article:17 title
	Words string
}

// Find calls report with all texts of users that contain a name, which an erasure keeps: titles, texts, links, reasons,
// notes, and answers to reporters, in present and earlier versions. It changes nothing. Concurrent changes may be
// missed, or reported twice.
func Find(ctx context.Context, r *redisrepo.Repo, name string, report func(Found)) error {
	user, err := site.ParseUserName(name)
	if err != nil {
		return err
	}
	j := &job{Repo: r, name: user}
	fold := cases.Fold()
	wanted := fold.String(name)
	tell := func(where, words string) {
		if strings.Contains(fold.String(words), wanted) {
			report(Found{where, words})
		}
	}
	err = j.walk(ctx, func(ctx context.Context, batch []found) error {
		batch = slices.DeleteFunc(batch, func(f found) bool { return f.place.words == nil })
		hashes := make([]*redis.MapStringStringCmd, len(batch))
		err := j.Store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, f := range batch {
				if f.kind.Holds == keys.Hash {
					hashes[i] = pipe.HGetAll(ctx, f.key)
				}
			}
		})
		for i, f := range batch {
			switch {
			case err != nil:
			case hashes[i] == nil:
				err = j.findInLog(ctx, f, tell)
			default:
				for _, field := range slices.Sorted(maps.Keys(hashes[i].Val())) {
					tell(f.key+" "+field, f.place.words(field, hashes[i].Val()[field]))
				}
			}
		}
		return err
	})
	return failover.Wrap("find words with a name", err)
}

// findInLog calls tell with the words in the entries of a log.
func (j *job) findInLog(ctx context.Context, f found, tell func(where, words string)) error {
	return j.eachEntry(ctx, f.key, func(m redis.XMessage) {
		for _, field := range slices.Sorted(maps.Keys(m.Values)) {
			value, _ := m.Values[field].(string)
			if words := f.place.words(field, value); words != "" {
				tell(f.key+" "+m.ID+" "+field, words)
			}
		}
	})
}

// eachEntry calls visit with all entries of a log, oldest first.
func (j *job) eachEntry(ctx context.Context, log string, visit func(redis.XMessage)) error {
	for from := "-"; from != ""; {
		page, err := j.Store.Client.XRangeN(wire.Reading(ctx), log, from, "+", mostLooked).Result()
		if err != nil {
			return err
		}
		from = ""
		for _, m := range page {
			from = "(" + m.ID
			j.looked.Add(1)
			visit(m)
		}
	}
	return nil
}

// Knows reports whether the table of places has a kind of keys.
func Knows(kind keys.Kind) bool {
	_, known := places[kindName(kind)]
	return known
}

// Erased returns the digests of the names of erased users, the last erased last.
func Erased(ctx context.Context, r *redisrepo.Repo) ([]string, error) {
	digests, err := r.Store.Client.ZRange(ctx, r.Store.Partitions[0].Erased(), 0, -1).Result()
	return digests, failover.Wrap("list erased users", err)
}
