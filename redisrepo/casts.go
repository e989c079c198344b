package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// How a user's votes are kept: cast:USER:MONTH has the numbers of the articles of a month that the user voted on, negated
// for downvotes, by the time of the vote. The month is that of the article's posting, so a vote on it finds its key. All
// votes on a month's articles are cast before the voting window after its end; VoteHistory later the key expires.
//
// An article that is not there was not voted on, if all votes on the article are in the histories. Those of legacy clients
// are not: they change the votes of the article's hash, but not its field cast, so both differ from then on. While the
// voters of such an article are known, their sets answer.

// castMonth is the length of a month, and castCut stands in cast:USER:MONTH for the oldest votes, which are dropped when
// there are 10,000: votes that are not there may be among them.
const (
	castMonth = 32 * day
	castCut   = "0"
)

// castRecord is the field cast_since of meta:, which says whose votes are in the histories.
type castRecord struct {
	since int64 // posting time, Unix seconds: of articles posted from then on, no vote is missing for another reason
	first int64 // the first month with votes
}

// castExpiry is when the votes on the articles of a month are forgotten; the zero Time: never.
func (r *Repo) castExpiry(month int64) time.Time {
	if r.rules.VoteHistory == 0 {
		return time.Time{}
	}
	return time.Unix((month+1)*seconds(castMonth), 0).Add(r.rules.VotingWindow + r.rules.VoteHistory)
}

// castsKnown reports whether no vote on the articles of a month is forgotten.
func (r *Repo) castsKnown(month int64) bool {
	end := r.castExpiry(month)
	return end.IsZero() || r.now().Before(end)
}

// complete reports whether a user without a vote on the article in the history has none.
func (r *Repo) complete(a *Article) bool {
	return a.recorded && r.has("cast") && a.postedAt >= float64(r.casts.since) && r.castsKnown(hourOf(a.postedAt).month())
}

// castQuestion asks for a user's votes on articles of one partition and month.
type castQuestion struct {
	key      string
	articles []int // indexes
	members  []string
	reply    *redis.FloatSliceCmd
}

// votesReader reads a user's positions on articles.
type votesReader struct {
	r        *Repo
	voter    UserName
	articles []*Article
	votes    []*Vote
}

// Votes returns the user's position on each article, in one round trip. A position is nil if it is not known any more.
// With Rules.VoteHistory it is known for that time after the vote. Without it, and for votes before it was turned on and
// votes of legacy clients, it is known until the voters are forgotten, an hour after the voting window, even if that is
// made longer afterwards.
func (r *Repo) Votes(ctx context.Context, voter UserName, articles []*Article) ([]*Vote, error) {
	v := votesReader{r, voter, articles, make([]*Vote, len(articles))}
	var bySets, byCasts []int
	for i, a := range articles {
		switch {
		case r.complete(a):
			byCasts = append(byCasts, i)
		case !r.votersForgotten(a):
			bySets = append(bySets, i)
		case r.has("cast"):
			byCasts = append(byCasts, i)
		}
	}
	again, err := v.read(ctx, bySets, byCasts)
	if err == nil && len(again) > 0 {
		_, err = v.read(ctx, again, nil)
	}
	if err != nil {
		return nil, storeError("read votes", err)
	}
	return v.votes, nil
}

// read reads positions in the sets of voters and in the voter's history, and returns the articles of which the history
// was cut and the sets know more.
func (v *votesReader) read(ctx context.Context, bySets, byCasts []int) (again []int, err error) {
	if len(bySets)+len(byCasts) == 0 {
		return nil, nil
	}
	ups, downs := make([]*redis.BoolCmd, len(bySets)), make([]*redis.BoolCmd, len(bySets))
	questions := v.questions(byCasts)
	err = v.r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, at := range bySets {
			id := v.articles[at].ID
			p := v.r.partition(id)
			ups[i] = pipe.SIsMember(ctx, p.voted(id), v.voter.member())
			downs[i] = pipe.SIsMember(ctx, p.downvoted(id), v.voter.member())
		}
		for _, q := range questions {
			q.reply = pipe.ZMScore(ctx, q.key, q.members...)
		}
	})
	if err != nil {
		return nil, err
	}
	for i, at := range bySets {
		vote := None
		// A legacy client that upvotes over a downvote leaves both: they cancel out.
		if ups[i].Val() {
			vote += Up
		}
		if downs[i].Val() {
			vote += Down
		}
		v.votes[at] = &vote
	}
	for _, q := range questions {
		times := q.reply.Val() // 0: not a member
		if want := 2*len(q.articles) + 1; len(times) != want {
			return nil, fmt.Errorf("%s: %d times of %d", q.key, len(times), want)
		}
		wasCut := times[2*len(q.articles)] != 0
		for i, at := range q.articles {
			a, up, down := v.articles[at], times[2*i] != 0, times[2*i+1] != 0
			switch {
			case up:
				v.votes[at] = new(Up)
			case down: // what a legacy client voted over it was forgotten with the voters
				v.votes[at] = new(Down)
			case v.r.complete(a) && !wasCut:
				v.votes[at] = new(None)
			case !v.r.votersForgotten(a):
				again = append(again, at)
			}
		}
	}
	return again, nil
}

// questions returns one question for each partition and month of the articles.
func (v *votesReader) questions(indexes []int) (all []*castQuestion) {
	type place struct {
		p     partition
		month int64
	}
	byPlace := map[place]*castQuestion{}
	for _, at := range indexes {
		a := v.articles[at]
		where := place{v.r.partition(a.ID), hourOf(a.postedAt).month()}
		q := byPlace[where]
		if q == nil {
			q = &castQuestion{key: where.p.cast(v.voter, where.month)}
			byPlace[where], all = q, append(all, q)
		}
		q.articles = append(q.articles, at)
		q.members = append(q.members, a.ID.number(), "-"+a.ID.number())
	}
	for _, q := range all {
		q.members = append(q.members, castCut)
	}
	return all
}

// fieldCastSince is the field of meta: with castRecord and the rules under which it is right.
const fieldCastSince = "cast_since"

// openCasts reads castRecord, or writes it if votes were not kept before: then buildCasts has entered those on articles whose
// voting has not ended. After a change of the time for which they are kept or of the voting window, all keys get the new
// expiry; but some may have expired before, and a process with the earlier rules may still write keys of this month.
func (r *Repo) openCasts(ctx context.Context) error {
	r.casts = castRecord{since: math.MaxInt64}
	meta := r.partitions[0].meta()
	text, err := r.client.HGet(ctx, meta, fieldCastSince).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	var was castRecord
	var history, window int64
	found, _ := fmt.Sscan(text, &was.since, &was.first, &history, &window)
	if !r.has("cast") {
		if found == 0 || r.keepRules {
			return nil
		}
		return r.client.HDel(ctx, meta, fieldCastSince).Err()
	}
	now := r.now()
	if found == 4 && history == seconds(r.rules.VoteHistory) && window == seconds(r.rules.VotingWindow) {
		r.casts = was
		return nil
	}
	if r.keepRules {
		return nil // the server writes it
	}
	r.casts.first = hourOf(r.oldestVoters()).month()
	r.casts.since = now.Add(-r.rules.VotingWindow).Unix()
	if found == 4 {
		r.casts.first = was.first
		r.casts.since = (hourOf(float64(now.Unix())).month() + 1) * seconds(castMonth)
		if err := r.expireCasts(ctx); err != nil {
			return err
		}
	}
	return r.client.HSet(ctx, meta, fieldCastSince, fmt.Sprint(r.casts.since, " ", r.casts.first, " ", seconds(r.rules.VoteHistory), " ", seconds(r.rules.VotingWindow))).Err()
}
