package articles

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

// VotersScript adds placeholders to the voters of an imported article.
var VotersScript = wire.Script(luaFiles, "voters.lua")

// VotersForgotten reports whether the store no longer knows who voted on an article.
func (r *Articles) VotersForgotten(a *site.Article) bool {
	if r.store.Now().After(a.VotingEndsAt.Add(site.VoterMargin)) {
		return true
	}
	voted := a.Upvotes != 0 || a.Downvotes != 0 || !a.Stored.PosterVotes // else there was no voter to forget
	return voted && a.Stored.PostedAt < float64(r.Forgotten.Load())
}

// VoterSet is one of an article's two sets of voters.
type VoterSet struct {
	Article site.ArticleID
	Vote    site.Vote // Up or Down
	Size    int64     // number of voters, an estimate
}

// Key is the key of the set.
func (s VoterSet) Key(p keys.Partition) string {
	if s.Vote == site.Down {
		return p.Downvoted(s.Article)
	}
	return p.Voted(s.Article)
}

// Audited is the last vote of a user on an article, as vote.lua records it in audit:ID.
type Audited struct {
	Vote    site.Vote
	Seconds float64 // when it was cast, Unix seconds
	Bucket  string  // pseudonym of the voter's address
}

// ParseAudited parses a value of audit:ID. It reports false for one that vote.lua did not write.
func ParseAudited(record string) (a Audited, ok bool) {
	words := strings.SplitN(record, " ", 3)
	if a.Vote, ok = site.VotePositions[words[0]]; !ok || len(words) != 3 {
		return Audited{}, false
	}
	var err error
	a.Seconds, err = site.ParseNumber(words[1])
	a.Bucket = words[2]
	return a, err == nil
}

// Named is a voter in a set. Placeholders of imports, and erased users, are left out.
type Named struct {
	VoterSet
	Voter site.UserName
}

// EachVoter calls handle with the voters in sets of one partition, up to most at a time. It reads many small sets in a
// round trip, and large ones in parts. A voter may be passed twice, and one who joins or leaves a set meanwhile may be
// missing.
func (r *Articles) EachVoter(ctx context.Context, p keys.Partition, sets []VoterSet, most int, handle func([]Named) error) error {
	var found []Named
	add := func(s VoterSet, members []string) {
		for _, member := range members {
			if strings.HasPrefix(member, site.UserPrefix) && member != site.ErasedUser.Member() {
				found = append(found, Named{s, site.UserOf(member)})
			}
		}
	}
	flush := func(least int) error {
		for len(found) >= max(least, 1) {
			n := min(most, len(found))
			if err := handle(found[:n]); err != nil {
				return err
			}
			found = found[n:]
		}
		return nil
	}
	var small []VoterSet
	for _, s := range sets {
		if s.Size <= wire.BatchSize {
			if s.Size > 0 {
				small = append(small, s)
			}
			continue
		}
		err := r.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.SScan, Key: s.Key(p), Step: 1, Handle: func(members []string) error {
			add(s, members)
			return flush(most)
		}})
		if err != nil {
			return err
		}
	}
	for some := range slices.Chunk(small, wire.BatchSize) {
		replies, err := wire.ReadEach(ctx, r.store, some, func(pipe redis.Pipeliner, s VoterSet) *redis.StringSliceCmd {
			return pipe.SMembers(ctx, s.Key(p))
		})
		if err != nil {
			return err
		}
		for i, s := range some {
			add(s, replies[i].Val())
		}
		if err := flush(most); err != nil {
			return err
		}
	}
	return flush(1)
}
