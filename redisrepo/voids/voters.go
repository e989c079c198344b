package voids

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Voter is a user who voted on an article.
type Voter struct {
	Cursor string
	Name   site.UserName
	Vote   site.Vote  // None: a legacy client's upvote over a downvote
	At     *time.Time // when the vote was cast, UTC, whole seconds; nil: unknown
	Void   *Void      // nil: the vote counts

	exists bool // whether there is a vote
}

// User returns the voter.
func (v *Voter) User() *site.User { return &site.User{Name: v.Name} }

// IsVoid reports whether the vote does not count.
func (v *Voter) IsVoid() bool { return v.Void != nil }

// scanCount is how many voters Redis returns at once, and mostNames how many names are kept while a list is read.
const scanCount, mostNames = 1000, 2 * site.MaxPageSize

// Voters returns a page of the voters of an article by the bytes of their names, void votes included, of one direction
// or both (nil). An hour after the voting window only the void votes are known. It reads all names of the voters, 1,000
// in a round trip: they have no order in Redis.
//
// The Refusal is Invalid for the direction None, for a size outside 1 to MaxPageSize, and for a cursor that is damaged or of
// another article.
func (r *Voids) Voters(ctx context.Context, a *site.Article, direction *site.Vote, first *int, after *string) ([]*Voter, site.PageInfo, error) {
	list := "voters " + a.ID.Number()
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, r.store.Rules.PageSize, func(field, text string) (string, error) {
		parts, err := site.DecodeCursor(field, list, text)
		if err == nil && len(parts) != 1 {
			err = site.NotACursor(field)
		}
		return strings.Join(parts, ""), err
	})
	switch {
	case err != nil:
		return nil, site.PageInfo{}, err
	case direction != nil && *direction == site.None:
		return nil, site.PageInfo{}, site.Refuse(site.Invalid, "direction", "votes in the list are up or down")
	}
	names, err := r.names(ctx, a.ID, direction, q.After)
	if err != nil {
		return nil, site.PageInfo{}, failover.Wrap("read the voters of "+a.ID.String(), err)
	}
	p := site.NewPage(names, q.Size, false, q.After != nil, false)
	voters, err := r.voters(ctx, a, p.Items)
	if err != nil {
		return nil, site.PageInfo{}, failover.Wrap("read the votes on "+a.ID.String(), err)
	}
	encode := func(name string) string { return site.EncodeCursor(list, name) }
	for _, v := range voters {
		v.Cursor = encode(string(v.Name))
	}
	voters = slices.DeleteFunc(voters, func(v *Voter) bool { // who changed their vote meanwhile
		return !v.exists || direction != nil && v.Vote == -*direction
	})
	return voters, p.Info(encode), nil
}

// names returns the first names of voters after one.
func (r *Voids) names(ctx context.Context, id site.ArticleID, direction *site.Vote, after *string) (names []string, err error) {
	p := r.store.Partition(id)
	keep := func() {
		slices.Sort(names)
		names = slices.Compact(names)
		names = names[:min(len(names), site.MaxPageSize+1)]
	}
	add := func(member string) {
		name, isUser := strings.CutPrefix(member, site.UserPrefix)
		if !isUser || after != nil && name <= *after {
			return // a placeholder of an import
		}
		if names = append(names, name); len(names) >= mostNames {
			keep()
		}
	}
	for _, vote := range []site.Vote{site.Up, site.Down} {
		if direction != nil && *direction != vote {
			continue
		}
		set := articles.VoterSet{Article: id, Vote: vote}.Key(p)
		err := r.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.SScan, Key: set, Step: 1, Count: scanCount, Handle: func(members []string) error {
			for _, member := range members {
				add(member)
			}
			return nil
		}})
		if err != nil {
			return nil, err
		}
	}
	voids, err := r.Voided(ctx, id)
	for _, v := range voids {
		if strings.HasPrefix(string(v.Voter), " ") {
			continue // an erased user
		}
		if direction == nil || v.Vote == site.None || v.Vote == *direction {
			add(v.Voter.Member())
		}
	}
	keep()
	return names, err
}

// Voided returns all void votes on an article, by the names of the voters.
func (r *Voids) Voided(ctx context.Context, id site.ArticleID) (voids []*Void, err error) {
	key := r.store.Partition(id).Void(id)
	begin := func() { voids = nil }
	err = r.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.HScan, Key: key, Step: 1, Count: scanCount, Begin: begin, Handle: func(pairs []string) error {
		for pair := range slices.Chunk(pairs, 2) {
			v, err := Parse(id, pair[0], pair[1])
			if err != nil {
				return err
			}
			voids = append(voids, v)
		}
		return nil
	}})
	byName := func(a, b *Void) int { return strings.Compare(string(a.Voter), string(b.Voter)) }
	slices.SortFunc(voids, byName) // HSCAN may reply a field twice
	return slices.CompactFunc(voids, func(a, b *Void) bool { return byName(a, b) == 0 }), err
}

// voters reads the votes of users on an article, in one round trip.
func (r *Voids) voters(ctx context.Context, a *site.Article, names []string) ([]*Voter, error) {
	if len(names) == 0 {
		return nil, nil
	}
	id, p := a.ID, r.store.Partition(a.ID)
	members := site.Collect(names, func(name string) string { return site.UserName(name).Member() })
	times := make([]*redis.FloatSliceCmd, len(names))
	var up, down *redis.BoolSliceCmd
	var texts, audited *redis.SliceCmd
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		up, down = pipe.SMIsMember(ctx, p.Voted(id), wire.Anys(members)...), pipe.SMIsMember(ctx, p.Downvoted(id), wire.Anys(members)...)
		texts, audited = pipe.HMGet(ctx, p.Void(id), members...), pipe.HMGet(ctx, p.Audit(id), members...)
		for i, name := range names {
			if r.store.Has("cast") {
				times[i] = pipe.ZMScore(ctx, castKey(p, site.UserName(name), a.Stored.PostedAt), site.Up.Member(id), site.Down.Member(id))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	voters := make([]*Voter, len(names))
	for i, name := range names {
		v := &Voter{Name: site.UserName(name)}
		voters[i] = v
		inUp, inDown := up.Val()[i], down.Val()[i]
		if text := wire.Reply(texts.Val()).Text(i); text != "" && !inUp && !inDown { // else a legacy client voted again
			if v.Void, err = Parse(id, members[i], text); err != nil {
				return nil, err
			}
			v.Vote = v.Void.Vote
			v.at(v.Void.cast)
		}
		if inUp {
			v.Vote += site.Up
		}
		if inDown {
			v.Vote += site.Down
		}
		v.exists = inUp || inDown || v.Void != nil
		if last, ok := articles.ParseAudited(wire.Reply(audited.Val()).Text(i)); ok && last.Vote == v.Vote {
			v.at(last.Seconds)
		}
		if times[i] != nil && v.Vote != site.None {
			v.at(times[i].Val()[(1-v.Vote)/2])
		}
	}
	return voters, nil
}

// at notes when the vote was cast, if that is known.
func (v *Voter) at(seconds float64) {
	if seconds != 0 {
		v.At = new(site.UnixTime(seconds).Truncate(time.Second))
	}
}
