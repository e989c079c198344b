// Package casts keeps lists of the votes that each user has cast.
package casts

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	applyScript     = wire.Script(luaFiles, "applycasts.lua")
	positionsScript = wire.Script(luaFiles, "positions.lua")
)

// Casts reads and maintains the lists of users' votes, called histories.
type Casts struct {
	store    *wire.Store
	articles *articles.Articles
	views    *views.Views
	view     *views.View
	casts    castRecord // set by OpenCasts
}

// New returns Casts for a site.
func New(store *wire.Store, articles *articles.Articles, v *views.Views) *Casts {
	r := &Casts{store: store, articles: articles, views: v}
	r.view = &views.View{Name: "cast", Apply: r.apply}
	if store.Has("cast") {
		v.Add(r.view)
	}
	return r
}

// How a user's votes are kept: cast:USER:MONTH, a view of the log, has the numbers of the articles of a month that the user voted on, negated
// for downvotes, by the time of the vote. The month is the month of the article's posting, so a vote on it finds its key. All
// votes on a month's articles are cast before the voting window after its end; VoteHistory later the key expires.
//
// An article that is not there was not voted on, if all votes on the article are in the histories. While the voters of an
// article are known, their sets answer.

// CastMonth is the length of a month. CastCut is the member of cast:USER:MONTH that stands for the oldest
// votes, which are dropped when there are 10,000: a vote that is missing may be one of them.
const (
	CastMonth = 32 * site.Day
	CastCut   = "0"
)

// castRecord is the field cast_since of meta:, which says whose votes are in the histories.
type castRecord struct {
	since int64 // posting time, Unix seconds: of articles posted from then on, no vote is missing for another reason
	first int64 // the first month with votes
}

// CastExpiry returns when the votes on the articles of a month expire; the zero Time: never.
func (r *Casts) CastExpiry(month int64) time.Time {
	if r.store.Rules.VoteHistory == 0 {
		return time.Time{}
	}
	return time.Unix((month+1)*site.Seconds(CastMonth), 0).Add(r.store.Rules.VotingWindow + r.store.Rules.VoteHistory)
}

// castsKnown reports whether no vote on the articles of a month is forgotten.
func (r *Casts) castsKnown(month int64) bool {
	end := r.CastExpiry(month)
	return end.IsZero() || r.store.Now().Before(end)
}

// Complete reports whether the histories have all votes on the article: then a user whose history has none has not
// voted.
func (r *Casts) Complete(a *site.Article) bool {
	return a.Stored.Recorded && r.store.Has("cast") && a.Stored.PostedAt >= float64(r.casts.since) && r.castsKnown(site.HourOf(a.Stored.PostedAt).Month())
}

// castQuestion asks for a user's votes on articles of one partition and month.
type castQuestion struct {
	p        keys.Partition
	key      string
	articles []int // indexes
	members  []string
	reply    *redis.FloatSliceCmd
}

// votesReader reads a user's positions on articles.
type votesReader struct {
	r        *Casts
	voter    site.UserName
	articles []*site.Article
	votes    []*site.Vote
}

// Votes returns the user's position on each article, in one round trip, or nil if it is no longer known. It is known
// until the voters are forgotten, an hour after the voting window, even if the window is made longer afterwards. With
// Rules.VoteHistory it is known for that time after the vote, unless the vote is older than the history. It is None for
// a vote that a moderator has taken out of the counts.
func (r *Casts) Votes(ctx context.Context, voter site.UserName, articles []*site.Article) ([]*site.Vote, error) {
	v := votesReader{r, voter, articles, make([]*site.Vote, len(articles))}
	var bySets, byCasts []int
	for i, a := range articles {
		switch {
		case !r.articles.VotersForgotten(a):
			bySets = append(bySets, i)
		case r.store.Has("cast"):
			byCasts = append(byCasts, i)
		}
	}
	return v.votes, failover.Wrap("read votes", v.read(ctx, bySets, byCasts))
}

// setQuestion asks for a user's votes on articles of one partition whose voters are known.
type setQuestion struct {
	articles []int    // indexes
	voters   []string // keys
	reply    *redis.Cmd
}

// read reads positions in the sets of voters and in the voter's history.
func (v *votesReader) read(ctx context.Context, bySets, byCasts []int) error {
	if len(bySets)+len(byCasts) == 0 {
		return nil
	}
	ofSets := v.setQuestions(bySets)
	questions, voids := v.questions(byCasts), map[int]*redis.StringCmd{}
	var in []keys.Partition
	for _, q := range questions {
		if !slices.Contains(in, q.p) {
			in = append(in, q.p)
		}
	}
	lacking, err := v.r.views.Read(ctx, v.r.view, in, func(pipe redis.Pipeliner) {
		for _, q := range ofSets {
			q.reply = positionsScript.EvalSha(ctx, pipe, q.voters,
				v.voter.Member(), // ARGV[1] voter
			)
		}
		for _, q := range questions {
			q.reply = pipe.ZMScore(ctx, q.key, q.members...)
		}
		for _, at := range byCasts {
			if a := v.articles[at]; a.Stored.Voided {
				voids[at] = pipe.HGet(ctx, v.r.store.Partition(a.ID).Void(a.ID), v.voter.Member())
			}
		}
	})
	if err != nil {
		return err
	}
	for _, q := range ofSets {
		positions, err := q.reply.Int64Slice()
		if err != nil || len(positions) != len(q.articles) {
			return fmt.Errorf("%d positions of %d: %w", len(positions), len(q.articles), err)
		}
		for i, at := range q.articles {
			v.votes[at] = new(site.Vote(positions[i]))
		}
	}
	last := lastVotes(v.voter, lacking)
	for _, q := range questions {
		times := q.reply.Val() // 0: not a member
		if want := 2*len(q.articles) + 1; len(times) != want {
			return fmt.Errorf("%s: %d times of %d", q.key, len(times), want)
		}
		wasCut := times[2*len(q.articles)] != 0
		for i, at := range q.articles {
			a, up, down := v.articles[at], times[2*i] != 0, times[2*i+1] != 0
			if p, ok := last[a.ID.Number()]; ok {
				up, down = p.Member == site.Up.Member(a.ID), p.Member == site.Down.Member(a.ID)
			}
			switch {
			case voids[at] != nil && voids[at].Val() != "": // it stays in the history, for its voter to see
				v.votes[at] = new(site.None)
			case up:
				v.votes[at] = new(site.Up)
			case down:
				v.votes[at] = new(site.Down)
			case v.r.Complete(a) && !wasCut:
				v.votes[at] = new(site.None)
			}
		}
	}
	return nil
}

// setQuestions returns one question for each partition of the articles.
func (v *votesReader) setQuestions(indexes []int) (all []*setQuestion) {
	byPartition := map[keys.Partition]*setQuestion{}
	for _, at := range indexes {
		id := v.articles[at].ID
		p := v.r.store.Partition(id)
		q := byPartition[p]
		if q == nil {
			q = new(setQuestion)
			byPartition[p], all = q, append(all, q)
		}
		q.articles, q.voters = append(q.articles, at), append(q.voters, p.Voted(id), p.Downvoted(id))
	}
	return all
}

// questions returns one question for each partition and month of the articles.
func (v *votesReader) questions(indexes []int) (all []*castQuestion) {
	type place struct {
		p     keys.Partition
		month int64
	}
	byPlace := map[place]*castQuestion{}
	for _, at := range indexes {
		a := v.articles[at]
		where := place{v.r.store.Partition(a.ID), site.HourOf(a.Stored.PostedAt).Month()}
		q := byPlace[where]
		if q == nil {
			q = &castQuestion{p: where.p, key: where.p.Cast(v.voter, where.month)}
			byPlace[where], all = q, append(all, q)
		}
		q.articles = append(q.articles, at)
		q.members = append(q.members, a.ID.Number(), "-"+a.ID.Number())
	}
	for _, q := range all {
		q.members = append(q.members, CastCut)
	}
	return all
}

// OpenCasts reads castRecord, or writes it if histories were off before: then buildCasts has entered the votes on
// articles that are open for voting. After a change of VoteHistory or VotingWindow, it sets the new expiry of all keys;
// some may have expired before, and a process with the earlier rules may still write keys of this month.
func (r *Casts) OpenCasts(ctx context.Context) error {
	r.casts = castRecord{since: math.MaxInt64}
	meta := r.store.Partitions[0].Meta()
	text, err := r.store.Client.HGet(ctx, meta, keys.FieldCastSince).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	var was castRecord
	var history, window int64
	found, _ := fmt.Sscan(text, &was.since, &was.first, &history, &window)
	if !r.store.Has("cast") {
		if found == 0 || r.store.KeepRules {
			return nil
		}
		return r.store.Client.HDel(ctx, meta, keys.FieldCastSince).Err()
	}
	now := r.store.Now()
	if found == 4 && history == site.Seconds(r.store.Rules.VoteHistory) && window == site.Seconds(r.store.Rules.VotingWindow) {
		r.casts = was
		return nil
	}
	if r.store.KeepRules {
		return nil // the server writes it
	}
	r.casts.first = site.HourOf(r.OldestVoters()).Month()
	r.casts.since = now.Add(-r.store.Rules.VotingWindow).Unix()
	if found == 4 {
		r.casts.first = was.first
		r.casts.since = (site.HourOf(float64(now.Unix())).Month() + 1) * site.Seconds(CastMonth)
		if err := r.expireCasts(ctx); err != nil {
			return err
		}
	}
	return r.store.Client.HSet(ctx, meta, keys.FieldCastSince, fmt.Sprint(r.casts.since, " ", r.casts.first, " ", site.Seconds(r.store.Rules.VoteHistory), " ", site.Seconds(r.store.Rules.VotingWindow))).Err()
}

// OldestVoters returns the posting time of the oldest article whose voters may be known, Unix seconds.
func (r *Casts) OldestVoters() float64 {
	return float64(r.store.Now().Add(-r.store.Rules.VotingWindow - site.VoterMargin).Unix())
}

// expireCasts gives the histories the expiry of the present rules.
func (r *Casts) expireCasts(ctx context.Context) error {
	for _, p := range r.store.Partitions {
		err := r.store.EachMatching(ctx, p, p.Key(keys.CastPrefix, "*"), func(keys []string) error {
			return r.store.Write(ctx, func(pipe redis.Pipeliner) {
				for _, key := range keys {
					month, err := strconv.ParseInt(key[strings.LastIndexByte(key, ':')+1:], 10, 64)
					switch end := r.CastExpiry(month); {
					case err != nil: // not a history
					case end.IsZero():
						pipe.Persist(ctx, key)
					default:
						pipe.Expire(ctx, key, end.Sub(r.store.Now()))
					}
				}
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// apply returns the call that enters the votes of entries into the lists of their voters.
func (r *Casts) apply(p keys.Partition, from, to string, entries []views.Entry) (*redis.Script, []string, []any) {
	scriptKeys := []string{p.Views()} // KEYS[1] views, KEYS[2...] cast
	args := []any{
		from,                                     // ARGV[1] from
		to,                                       // ARGV[2] to
		site.Seconds(r.store.Rules.VotingWindow), // ARGV[3] window
		site.Seconds(r.store.Rules.VoteHistory),  // ARGV[4] history
		r.store.ScriptNow(),                      // ARGV[5] now
	}
	numbers := map[string]int{}
	for _, e := range entries {
		if e.Kind != site.KindVoted || e.By == "" {
			continue
		}
		key := p.Cast(site.UserName(e.By), site.HourOfText(e.Time).Month())
		if numbers[key] == 0 {
			scriptKeys = append(scriptKeys, key)
			numbers[key] = len(scriptKeys) - 1
		}
		args = append(args, numbers[key], e.Article.Number(), e.To, e.At) // ARGV[6...] vote
	}
	return applyScript, scriptKeys, args
}
