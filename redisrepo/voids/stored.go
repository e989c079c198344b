package voids

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
)

// Stored is a vote that does not count, as an export has it.
type Stored struct {
	Voter  site.UserName `json:"voter"`
	Vote   site.Vote     `json:"vote"`
	At     int64         `json:"at"`             // when it was taken out, Unix seconds
	Cast   float64       `json:"cast,omitempty"` // when it was cast, if the voter's history has it, Unix seconds
	By     site.UserName `json:"by"`
	Reason string        `json:"reason"`
}

// Store returns the vote as an export has it.
func (v *Void) Store() Stored {
	return Stored{v.Voter, v.Vote, v.At.Unix(), v.cast, v.By, site.ValidUTF8(v.Reason)}
}

func (s Stored) void(id site.ArticleID) *Void {
	return &Void{Article: id, Voter: s.Voter, Vote: s.Vote, At: time.Unix(s.At, 0).UTC(), By: s.By, Reason: s.Reason, cast: s.Cast}
}

// Validate returns an error for votes that no site has. They are sorted by voter.
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

// Put queues that votes on an article of an import, which was posted at a time, do not count. Their voters have them in their
// lists for as long as others. It can be repeated.
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
