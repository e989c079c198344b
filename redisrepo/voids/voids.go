// Package voids reads the votes that moderators have taken out of the counts, and lists the voters of an article.
// void.lua of package redisrepo takes votes out and puts them back.
package voids

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Voids reads the votes of a site that do not count.
type Voids struct {
	store *wire.Store
	casts *casts.Casts
}

// New returns Voids for a site.
func New(store *wire.Store, casts *casts.Casts) *Voids { return &Voids{store, casts} }

// Void is a vote that a moderator has taken out of the counts.
type Void struct {
	Article site.ArticleID
	Voter   site.UserName
	Vote    site.Vote // None: a legacy client's upvote over a downvote
	At      time.Time // when it was taken out, UTC, whole seconds
	By      site.UserName
	Reason  string

	cast float64 // when it was cast, from cast:; 0: unknown
}

// Parse parses a field of void:ID and its value, as void.lua writes it.
func Parse(id site.ArticleID, member, text string) (*Void, error) {
	line, reason, _ := strings.Cut(text, "\n")
	words := strings.SplitN(line, " ", 4)
	vote, ok := site.VotePositions[words[0]]
	if !ok || len(words) != 4 {
		return nil, fmt.Errorf("%w: that of %q on %v is %q", ErrMalformed, member, id, text)
	}
	v := &Void{Article: id, Voter: site.UserOf(member), Vote: vote, By: site.UserOf(words[3]), Reason: reason}
	at, err := site.ParseNumber(words[1])
	v.At = site.UnixTime(at)
	if words[2] != notCast {
		var errCast error
		v.cast, errCast = site.ParseNumber(words[2])
		err = errors.Join(err, errCast)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: that of %q on %v: %w", ErrMalformed, member, id, err)
	}
	return v, nil
}

// ErrMalformed is the error of a field that void.lua did not write.
var ErrMalformed = errors.New("a vote that does not count is malformed")

// notCast stands for the time of a vote that is not in the history of its voter.
const notCast = "-"

// text is the opposite of Parse.
func (v *Void) text() string {
	cast := notCast
	if v.cast != 0 {
		cast = site.Number(v.cast)
	}
	return fmt.Sprintf("%d %d %s %s\n%s", v.Vote, v.At.Unix(), cast, v.By.Member(), v.Reason)
}

// Refusal returns the refusal, Denied, of a new vote of the voter on the article.
func (v *Void) Refusal() site.Refusal {
	refusal := site.Refuse(site.Denied, "article", "a moderator has taken your vote on %v out of the counts, and it stays out: %s", v.Article, v.Reason)
	refusal[0].Reason = v.Reason
	return refusal
}

// Of returns for each article the user's void vote on it, or nil, in one round trip.
func (r *Voids) Of(ctx context.Context, voter site.UserName, ids []site.ArticleID) ([]*Void, error) {
	replies, err := wire.ReadEach(ctx, r.store, ids, func(pipe redis.Pipeliner, id site.ArticleID) *redis.StringCmd {
		return pipe.HGet(ctx, r.store.Partition(id).Void(id), voter.Member())
	})
	if err != nil {
		return nil, failover.Wrap("read votes that do not count", err)
	}
	all := make([]*Void, len(ids))
	for i, reply := range replies {
		if text := reply.Val(); text != "" {
			if all[i], err = Parse(ids[i], voter.Member(), text); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// OfArticles is Of for articles that were read: it reads only those with void votes.
func (r *Voids) OfArticles(ctx context.Context, voter site.UserName, articles []*site.Article) ([]*Void, error) {
	var ids []site.ArticleID
	var at []int
	for i, a := range articles {
		if voter != "" && a.Stored.Voided {
			ids, at = append(ids, a.ID), append(at, i)
		}
	}
	all := make([]*Void, len(articles))
	if len(ids) == 0 {
		return all, nil
	}
	found, err := r.Of(ctx, voter, ids)
	for i, v := range found {
		all[at[i]] = v
	}
	return all, err
}

// castKey is the history of a user that has votes on an article.
func castKey(p keys.Partition, voter site.UserName, postedAt float64) string {
	return p.Cast(voter, site.HourOf(postedAt).Month())
}

// Stored is a void vote in an export.
type Stored struct {
	Voter  site.UserName `json:"voter"`
	Vote   site.Vote     `json:"vote"`
	At     int64         `json:"at"`             // when it was taken out, Unix seconds
	Cast   float64       `json:"cast,omitempty"` // when it was cast, if the voter's history has it, Unix seconds
	By     site.UserName `json:"by"`
	Reason string        `json:"reason"`
}

// Store converts the vote for an export.
func (v *Void) Store() Stored {
	return Stored{v.Voter, v.Vote, v.At.Unix(), v.cast, v.By, site.ValidUTF8(v.Reason)}
}

func (s Stored) void(id site.ArticleID) *Void {
	return &Void{Article: id, Voter: s.Voter, Vote: s.Vote, At: time.Unix(s.At, 0).UTC(), By: s.By, Reason: s.Reason, cast: s.Cast}
}

// Validate returns an error for votes that no site can have. They must be sorted by voter.
func Validate(all []Stored) error {
	for i, s := range all {
		reason, broken := site.CheckStoredLine("reason", s.Reason, site.MaxReason)
		switch {
		case i > 0 && all[i-1].Voter >= s.Voter:
			return errors.New("void: the voters are not sorted, or not unique")
		case s.Voter == "" || s.By == "" || strings.Contains(string(s.By), "\n") || s.Vote < site.Down || s.Vote > site.Up || len(broken) > 0 || reason != s.Reason:
			return errors.New("void: a vote has no voter, moderator, direction or reason")
		case s.At < 0 || s.At > site.MaxExact || s.Cast < 0 || s.Cast > site.MaxExact:
			return errors.New("void: a time is out of range")
		}
	}
	return nil
}

// Put queues the commands that store the void votes on an imported article, posted at postedAt, Unix seconds. The
// voters' histories keep them as long as other votes. It is safe to repeat.
func (r *Voids) Put(ctx context.Context, pipe redis.Pipeliner, id site.ArticleID, postedAt float64, all []Stored) {
	p, ends := r.store.Partition(id), r.casts.CastExpiry(site.HourOf(postedAt).Month())
	for _, s := range all {
		pipe.HSet(ctx, p.Void(id), s.Voter.Member(), s.void(id).text())
		if left := ends.Sub(r.store.Now()).Truncate(time.Second); s.Cast != 0 && s.Vote != site.None && r.store.Has("cast") && (ends.IsZero() || left > 0) {
			key := castKey(p, s.Voter, postedAt)
			pipe.ZAddNX(ctx, key, redis.Z{Score: s.Cast, Member: s.Vote.Member(id)})
			if !ends.IsZero() {
				pipe.Expire(ctx, key, left)
			}
		}
	}
}
