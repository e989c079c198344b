package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"frontpage/redisrepo"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// listingsDigest identifies all listings of a site: those of all articles, of each group and of each poster, in every
// order, and the deleted articles, but not what follows from the log: each side may have applied more of it. A listing follows from its members and their scores, so the digest is the sum of
// theirs, whatever their partitions.
type listingsDigest struct {
	articles, deleted, places int // places: of articles in groups
	sum                       [4]uint64
}

func (d listingsDigest) String() string {
	return fmt.Sprintf("%d articles, %d deleted articles, %d places in groups, digest %016x", d.articles, d.deleted, d.places, d.sum[0]^d.sum[1]^d.sum[2]^d.sum[3])
}

// maxDigests is how often the listings are compared before they count as different: a scan may meet a key twice.
const maxDigests = 3

// digests returns the digests of both sides.
func (m *migration) digests(ctx context.Context) (from, to listingsDigest, err error) {
	for range maxDigests {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() (err error) { from, err = digest(ctx, m.from); return err })
		group.Go(func() (err error) { to, err = digest(ctx, m.to); return err })
		if err = group.Wait(); err != nil || from == to {
			break
		}
	}
	return from, to, err
}

func digest(ctx context.Context, r *redisrepo.Repo) (listingsDigest, error) {
	var mu sync.Mutex
	var all listingsDigest
	err := eachBatch(ctx, r, func(ctx context.Context, batch []*copiedKey) error {
		split := slices.DeleteFunc(batch, func(k *copiedKey) bool { return k.Copy != keys.ByMember || k.FollowsLog() })
		return each(split, func(keys []*copiedKey, elements int64) error {
			if err := read(ctx, r, keys, elements); err != nil {
				return err
			}
			scores, err := groupScores(ctx, r, keys)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for i, k := range keys {
				all.add(k, scores[i])
			}
			return nil
		})
	})
	return all, err
}

// groupScores reads the scores and the posting times of the articles in those keys that are groups.
func groupScores(ctx context.Context, r *redisrepo.Repo, groups []*copiedKey) (scores [][2]*redis.Cmd, err error) {
	scores = make([][2]*redis.Cmd, len(groups))
	err = r.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, k := range groups {
			for j, order := range []site.Order{site.ByScore, site.ByTime} {
				if k.Holds == keys.Set && len(k.members) > 0 {
					scores[i][j] = pipe.Do(ctx, append([]any{"zmscore", r.Store.Partitions[k.at].Ranking(order)}, wire.Anys(k.members)...)...)
				}
			}
		}
	})
	return scores, err
}

// add adds the elements of a key that were read. For a group these are two listings.
func (d *listingsDigest) add(k *copiedKey, scores [2]*redis.Cmd) {
	switch {
	case k.name == keys.Untagged.Ranking(site.ByTime):
		d.articles += len(k.members)
	case k.name == keys.Untagged.Deleted():
		d.deleted += len(k.members)
	case k.Holds == keys.Set:
		d.places += len(k.members)
	}
	for i, member := range k.members {
		if k.isMark(member) {
			continue // each partition of a key has it
		}
		if k.Holds == keys.SortedSet {
			d.addPlace(k.name, member, k.values[i])
			continue
		}
		for j, of := range scores {
			if found, _ := of.Slice(); i < len(found) {
				d.addPlace(k.name+" "+strconv.Itoa(j), member, fmt.Sprint(found[i]))
			}
		}
	}
}

func (d *listingsDigest) addPlace(listing, member, score string) {
	if f, err := strconv.ParseFloat(score, 64); err == nil {
		score = strconv.FormatFloat(f, 'g', -1, 64) // as replies differ in how they write it
	}
	h := sha256.Sum256([]byte(strings.Join([]string{listing, member, score}, "\x00")))
	for lane := range d.sum {
		d.sum[lane] += binary.LittleEndian.Uint64(h[8*lane:])
	}
}
