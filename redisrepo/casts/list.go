package casts

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
)

// CastVote is a vote in a user's history.
type CastVote struct {
	Cursor  string
	Article site.ArticleID // which may have been deleted
	Vote    site.Vote      // Up or Down
	At      time.Time      // UTC, whole seconds
}

// castReader reads one key of a user's history: the newest votes come first, and of one second those with the greater
// members. The scores of their places are Unix seconds.
type castReader struct {
	key   string
	whole bool
	found []site.Cursor
}

// CastVotes returns a page of a user's history, the newest vote first: upvotes, downvotes, or both (nil). It takes one
// round trip, and more only for a direction that is rare among the votes.
//
// The Refusal is Invalid for the direction None, for a size outside 1 to MaxPageSize, for a cursor that is damaged or of
// another user, and on a site without the history.
func (r *Casts) CastVotes(ctx context.Context, user site.UserName, direction *site.Vote, first *int, after *string) ([]CastVote, site.PageInfo, error) {
	list := "cast " + user.Member()
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, r.store.Rules.PageSize, func(field, text string) (site.Cursor, error) {
		return site.DecodePlace(field, list, text, "a vote")
	})
	switch {
	case err != nil:
		return nil, site.PageInfo{}, err
	case direction != nil && *direction == site.None:
		return nil, site.PageInfo{}, site.Refuse(site.Invalid, "direction", "votes in the list are up or down")
	case !r.store.Has("cast"):
		return nil, site.PageInfo{}, site.Refuse(site.Invalid, "viewerVotes", "this site keeps no list of votes")
	}
	readers := r.castReaders(user)
	var found []site.Cursor
	for size := q.Size + 2; ; size *= 4 {
		more, lacking, err := r.readCasts(ctx, readers, q.After, size)
		if err != nil {
			return nil, site.PageInfo{}, failover.Wrap("read the votes of a user", err)
		}
		found = found[:0]
		var end *site.Cursor // up to here every key was read; nil: to its end
		last := lastVotes(user, lacking)
		newest := &castReader{whole: true}
		for _, p := range last {
			if p.Member != "" {
				newest.found = append(newest.found, p)
			}
		}
		for _, reader := range append(readers, newest) {
			for _, p := range reader.found {
				_, isOld := last[strings.TrimPrefix(p.Member, "-")]
				switch {
				case isOld && reader != newest: // an entry that the list lacks has changed the vote
				case p.Member == CastCut || direction != nil && VoteOfMember(p.Member) != *direction:
				case q.After != nil && p.Compare(*q.After) >= 0:
				default:
					found = append(found, p)
				}
			}
			if n := len(reader.found); n > 0 && !reader.whole && (end == nil || reader.found[n-1].Compare(*end) > 0) {
				end = &reader.found[n-1]
			}
		}
		slices.SortFunc(found, func(p, q site.Cursor) int { return q.Compare(p) })
		if end != nil {
			found = slices.DeleteFunc(found, func(p site.Cursor) bool { return p.Compare(*end) < 0 })
		}
		if !more || len(found) > q.Size {
			break
		}
	}
	p := site.NewPage(found, q.Size, false, q.After != nil, false)
	votes := make([]CastVote, 0, len(p.Items))
	for _, place := range p.Items {
		if id, err := site.ParseArticleID(strings.TrimPrefix(place.Member, "-")); err == nil {
			votes = append(votes, CastVote{place.Encode(list), id, VoteOfMember(place.Member), site.UnixTime(place.Score)})
		}
	}
	return votes, p.Info(func(place site.Cursor) string { return place.Encode(list) }), nil
}

// VoteOfMember returns the position of a member of cast:.
func VoteOfMember(member string) site.Vote {
	if strings.HasPrefix(member, "-") {
		return site.Down
	}
	return site.Up
}

// Months returns the first and the last month whose articles the histories can have votes on; without histories, last
// is before first.
func (r *Casts) Months() (first, last int64) {
	if !r.store.Has("cast") {
		return 0, -1
	}
	last = r.store.ThisHour().Month()
	first = r.casts.first
	for r.store.Rules.VoteHistory != 0 && first < last && !r.castsKnown(first) {
		first++
	}
	return first, last
}

// castReaders returns readers of all keys that a user's history can have.
func (r *Casts) castReaders(user site.UserName) (readers []*castReader) {
	first, last := r.Months()
	for month := last; month >= first; month-- {
		for _, p := range r.store.Partitions {
			readers = append(readers, &castReader{key: p.Cast(user, month)})
		}
	}
	return readers
}

// lastVotes returns a user's last vote on each article in entries that the lists lack, by the article's number. One that was taken
// back has no member.
func lastVotes(user site.UserName, lacking map[keys.Partition][]views.Entry) map[string]site.Cursor {
	last := map[string]site.Cursor{}
	for _, entries := range lacking {
		for _, e := range entries {
			if e.Kind != site.KindVoted || e.By != string(user) {
				continue
			}
			var place site.Cursor
			vote := site.VotePositions[e.To]
			if at, err := strconv.ParseFloat(e.At, 64); err == nil && vote != site.None {
				place = site.Cursor{Score: at, Member: vote.Member(e.Article)}
			}
			last[e.Article.Number()] = place
		}
	}
	return last
}

// Read runs commands that read a user's history in all partitions, in one round trip. lacking has the times of the
// user's votes that are in the log, but not yet in the history.
func (r *Casts) Read(ctx context.Context, user site.UserName, queue func(redis.Pipeliner)) (lacking []time.Time, err error) {
	if !r.store.Has("cast") {
		return nil, r.store.Read(ctx, queue)
	}
	entries, err := r.views.Read(ctx, r.view, r.store.Partitions, queue)
	for _, place := range lastVotes(user, entries) {
		if place.Member != "" {
			lacking = append(lacking, site.UnixTime(place.Score))
		}
	}
	return lacking, err
}

// readCasts reads the first size votes of each key from the second of a place on, and reports whether a key has more. It also
// returns the entries of the log that the keys lack.
func (r *Casts) readCasts(ctx context.Context, readers []*castReader, after *site.Cursor, size int) (more bool, lacking map[keys.Partition][]views.Entry, err error) {
	replies := make([]*redis.ZSliceCmd, len(readers))
	from := "+inf"
	if after != nil {
		from, _ = after.Args()
	}
	lacking, err = r.views.Read(ctx, r.view, r.store.Partitions, func(pipe redis.Pipeliner) {
		for i, reader := range readers {
			if !reader.whole {
				replies[i] = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: reader.key, ByScore: true, Rev: true, Start: from, Stop: "-inf", Count: int64(size)})
			}
		}
	})
	for i, reader := range readers {
		if replies[i] == nil || err != nil {
			continue
		}
		reader.found = site.Collect(replies[i].Val(), func(z redis.Z) site.Cursor { return site.Cursor{Score: z.Score, Member: z.Member.(string)} })
		reader.whole = len(reader.found) < size
		more = more || !reader.whole
	}
	return more, lacking, err
}
