package personal

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// addCast adds votes of the list of the user's votes.
func (e *export) addCast(ctx context.Context, found []redis.Z) (int, error) {
	votes := make([]vote, 0, len(found))
	for _, z := range found {
		member := z.Member.(string)
		id, err := site.ParseArticleID(strings.TrimPrefix(member, "-"))
		if err == nil && member != casts.CastCut {
			votes = append(votes, vote{id, casts.VoteOfMember(member), at(z.Score)})
		}
	}
	return len(found), e.addVotes(ctx, votes)
}

// vote is a vote of the user.
type vote struct {
	article site.ArticleID
	vote    site.Vote
	at      *time.Time // nil: not known
}

// addVotes adds votes, with what the audit has of them, and why they do not count: it takes two round trips.
func (e *export) addVotes(ctx context.Context, votes []vote) error {
	if len(votes) == 0 {
		return nil
	}
	records, err := wire.ReadEach(ctx, e.store, votes, func(pipe redis.Pipeliner, v vote) *redis.StringCmd {
		return pipe.HGet(ctx, e.store.Partition(v.article).Audit(v.article), e.user.Member())
	})
	if err != nil {
		return err
	}
	ids := site.Collect(votes, func(v vote) site.ArticleID { return v.article })
	voided, err := e.voids.Of(ctx, e.user, ids)
	if err != nil {
		return err
	}
	for i, v := range votes {
		l := line{Kind: "vote", Article: v.article.String(), Direction: "up", At: v.at}
		if v.vote == site.Down {
			l.Direction = "down"
		}
		if out := voided[i]; out != nil {
			l.Void = &void{out.At, out.Reason}
		}
		if last, ok := articles.ParseAudited(records[i].Val()); ok {
			l.Audit = &audit{site.UnixTime(last.Seconds), last.Bucket}
		}
		if err := e.add(l); err != nil {
			return err
		}
	}
	return nil
}

// addRecent adds votes on articles whose voters are kept.
func (e *export) addRecent(ctx context.Context, found []redis.Z) (int, error) {
	return len(found), e.addUnlisted(ctx, idsOf(found))
}

// addUnlisted adds the user's votes on articles whose voters are kept, unless the list of the user's votes has them, too: those of
// legacy clients, or all of a site without such lists.
func (e *export) addUnlisted(ctx context.Context, ids []site.ArticleID) error {
	for some := range slices.Chunk(ids, votesStep) {
		var up, down []*redis.BoolCmd
		var posted []*redis.StringCmd
		err := e.store.Read(ctx, func(pipe redis.Pipeliner) {
			up, down, posted = nil, nil, nil
			for _, id := range some {
				p := e.store.Partition(id)
				up = append(up, pipe.SIsMember(ctx, p.Voted(id), e.user.Member()))
				down = append(down, pipe.SIsMember(ctx, p.Downvoted(id), e.user.Member()))
				posted = append(posted, pipe.HGet(ctx, p.Article(id), site.FieldTime))
			}
		})
		if err != nil {
			return err
		}
		voided, err := e.voids.Of(ctx, e.user, some)
		if err != nil {
			return err
		}
		var votes []vote
		var months []int64
		for i, id := range some {
			switch {
			case up[i].Val():
				votes = append(votes, vote{article: id, vote: site.Up})
			case down[i].Val():
				votes = append(votes, vote{article: id, vote: site.Down})
			case voided[i] != nil && voided[i].Vote != site.None:
				votes = append(votes, vote{article: id, vote: voided[i].Vote})
			default:
				continue
			}
			months = append(months, site.HourOfText(posted[i].Val()).Month())
		}
		if votes, err = e.unlisted(ctx, votes, months); err != nil {
			return err
		}
		if err := e.addVotes(ctx, votes); err != nil {
			return err
		}
	}
	return nil
}

// unlisted returns the votes, on articles of these months, that the list of the user's votes does not have in either direction.
func (e *export) unlisted(ctx context.Context, votes []vote, months []int64) ([]vote, error) {
	if !e.store.Has("cast") || len(votes) == 0 {
		return votes, nil
	}
	listed := make([]*redis.FloatSliceCmd, len(votes))
	err := e.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, v := range votes {
			number := v.article.Number()
			listed[i] = pipe.ZMScore(ctx, e.store.Partition(v.article).Cast(e.user, months[i]), number, "-"+number)
		}
	})
	kept := votes[:0]
	for i, v := range votes {
		if scores := listed[i].Val(); len(scores) == 2 && scores[0] == 0 && scores[1] == 0 {
			kept = append(kept, v)
		}
	}
	return kept, err
}
