package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// CastRecord has the votes of a user on the articles of a month of 32 days, in an export.
type CastRecord struct {
	Voter site.UserName      `json:"voter"`
	Month int64              `json:"month"`
	Cast  map[string]float64 `json:"cast"` // by a member of cast:, the time of the vote, Unix seconds
}

// Validate returns an error for a record that no site has.
func (r CastRecord) Validate() error {
	for member, at := range r.Cast {
		id, err := site.ParseArticleID(strings.TrimPrefix(member, "-"))
		isVote := err == nil && casts.VoteOfMember(member).Member(id) == member
		if !isVote && member != casts.CastCut || math.Abs(at) > site.MaxExact {
			return errors.New("the list of votes is invalid")
		}
	}
	if r.Voter == "" || len(r.Cast) == 0 || max(r.Month, -r.Month) > math.MaxInt32 {
		return errors.New("the list of votes is invalid")
	}
	return nil
}

// Place returns the key by which an export sorts the record.
func (r CastRecord) Place() string {
	return fmt.Sprintf("\xff\xff\xff\xff\xff%s:%010d", r.Voter, r.Month)
}

// FrontRecord is the front page of an hour, and of the hours since the record before, in an export.
type FrontRecord struct {
	Front string `json:"front"` // the hour since 1970, then number and score of each article, as front.lua writes them
}

// Validate returns an error for a record that no site has.
func (r FrontRecord) Validate() error {
	page, err := rankings.ParseFrontPage(r.Front)
	if err != nil {
		return err
	}
	if page.Text() != r.Front || len(page.Items) > rankings.FrontPageSize || page.Hour < 1 || page.Hour > math.MaxInt32 {
		return errors.New("the front page is invalid")
	}
	return nil
}

// Place returns the key by which an export sorts the record.
func (r FrontRecord) Place() string {
	hour, _, _ := strings.Cut(r.Front, " ")
	return fmt.Sprintf("\xff\xff\xff\xff%10s", hour)
}

// KeyRecord is an unchanged key, in an export. It has one of Text, Fields, Sealed and Scores.
type KeyRecord struct {
	Key    string             `json:"key"` // without the tag of its partition
	Text   string             `json:"text,omitempty"`
	Fields map[string]string  `json:"fields,omitempty"`
	Sealed map[string][]byte  `json:"sealed,omitempty"` // fields whose values are not text
	Scores map[string]float64 `json:"scores,omitempty"`
	Until  int64              `json:"until,omitempty"` // Unix seconds, whole minutes: when it expires; 0: never
}

// Validate returns an error for a record that no site has.
func (r KeyRecord) Validate() error {
	kind, _ := keys.Parse(r.Key)
	has := map[keys.Type]int{keys.String: len(r.Text), keys.Hash: len(r.Fields) + len(r.Sealed), keys.SortedSet: len(r.Scores)}
	if kind.Export != keys.AsKey || has[kind.Holds] == 0 || has[kind.Holds] != len(r.Text)+len(r.Fields)+len(r.Sealed)+len(r.Scores) || r.Until < 0 {
		return errors.New("the key is invalid")
	}
	return nil
}

// Place returns the key by which an export sorts the record.
func (r KeyRecord) Place() string { return "\xff\xff\xff\xff\xff\xff" + r.Key }

// Keys has the keys of a site that are exported in their own lines, without the tags of partitions.
type Keys struct {
	casts map[castKey]bool
	whole []string
}

type castKey struct {
	voter site.UserName
	month int64
}

// FindKeys scans all keys of a site.
func FindKeys(ctx context.Context, r *redisrepo.Repo) (Keys, error) {
	found := Keys{casts: map[castKey]bool{}}
	_ = r.Views.CatchUp(ctx) // while Redis refuses writes, the lists lack the time of the last votes
	err := r.Store.EachServer(ctx, func(ctx context.Context, server redis.Cmdable, has []keys.Partition) error {
		return wire.Walk(1, func(all []string) error {
			for _, key := range all {
				p := r.Store.PartitionOfKey(key)
				if slices.Contains(has, p) {
					found.add(key[len(p):])
				}
			}
			return nil
		}, func(cursor uint64) *redis.ScanCmd {
			return server.Scan(failover.Impatient(ctx), cursor, "", wire.ScanBatch)
		})
	})
	slices.Sort(found.whole)
	found.whole = slices.Compact(found.whole)
	return found, failover.Wrap("find keys", err)
}

func (k *Keys) add(key string) {
	kind, rest := keys.Parse(key)
	if kind.Export == keys.AsKey {
		k.whole = append(k.whole, key)
	}
	colon := strings.LastIndexByte(rest, ':')
	if kind.Of != keys.UserMonth || colon < 0 {
		return
	}
	if month, err := strconv.ParseInt(rest[colon+1:], 10, 64); err == nil {
		k.casts[castKey{site.UserName(rest[:colon]), month}] = true
	}
}

// Casts calls visit with the lists of votes, by user and month, of votes on articles among the sorted ids.
func (k *Keys) Casts(ctx context.Context, r *redisrepo.Repo, ids []site.ArticleID, visit func(CastRecord) error) error {
	all := slices.SortedFunc(maps.Keys(k.casts), func(a, b castKey) int {
		return strings.Compare(CastRecord{Voter: a.voter, Month: a.month}.Place(), CastRecord{Voter: b.voter, Month: b.month}.Place())
	})
	for batch := range slices.Chunk(all, wire.BatchSize) {
		parts := make([][]*redis.ZSliceCmd, len(batch)) // by partition
		err := r.Store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, key := range batch {
				for _, p := range r.Store.Partitions {
					parts[i] = append(parts[i], pipe.ZRangeWithScores(ctx, p.Cast(key.voter, key.month), 0, -1))
				}
			}
		})
		if err != nil {
			return failover.Wrap("read the votes of users", err)
		}
		for i, key := range batch {
			rec := CastRecord{Voter: key.voter, Month: key.month, Cast: map[string]float64{}}
			for _, part := range parts[i] {
				for _, z := range part.Val() {
					member := z.Member.(string)
					id, _ := site.ParseArticleID(strings.TrimPrefix(member, "-"))
					if _, known := slices.BinarySearch(ids, id); known || member == casts.CastCut {
						rec.Cast[member] = max(z.Score, rec.Cast[member])
					}
				}
			}
			if len(rec.Cast) == 0 || !utf8.ValidString(string(rec.Voter)) {
				continue // it has expired
			}
			if err := visit(rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// Records calls visit with the keys that are exported unchanged, by name.
func (k *Keys) Records(ctx context.Context, r *redisrepo.Repo, visit func(KeyRecord) error) error {
	type replies struct {
		text   *redis.StringCmd
		fields *redis.MapStringStringCmd
		scores *redis.ZSliceCmd
		left   *redis.DurationCmd
	}
	for batch := range slices.Chunk(k.whole, wire.BatchSize) {
		read := make([]replies, len(batch))
		err := r.Store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, name := range batch {
				kind, key := placeOf(r, name)
				switch kind.Holds {
				case keys.Hash:
					read[i].fields = pipe.HGetAll(ctx, key)
				case keys.SortedSet:
					read[i].scores = pipe.ZRangeWithScores(ctx, key, 0, -1)
				default:
					read[i].text = pipe.Get(ctx, key)
				}
				if kind.Expires {
					read[i].left = pipe.PTTL(ctx, key)
				}
			}
		})
		if err != nil {
			return failover.Wrap("read keys", err)
		}
		now := r.Store.Now()
		for i, name := range batch {
			rec := KeyRecord{Key: name}
			switch {
			case read[i].fields != nil:
				rec.setFields(read[i].fields.Val())
			case read[i].scores != nil:
				rec.Scores = map[string]float64{}
				for _, z := range read[i].scores.Val() {
					rec.Scores[z.Member.(string)] = z.Score
				}
			default:
				rec.Text = site.ValidUTF8(read[i].text.Val())
			}
			if left := read[i].left; left != nil && left.Val() > 0 {
				rec.Until = now.Add(left.Val()).Round(time.Minute).Unix()
			}
			if rec.Validate() != nil {
				continue // it is gone
			}
			if err := visit(rec); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *KeyRecord) setFields(fields map[string]string) {
	for _, value := range fields {
		if utf8.ValidString(value) {
			continue
		}
		r.Sealed = map[string][]byte{}
		for field, value := range fields {
			r.Sealed[field] = []byte(value)
		}
		return
	}
	r.Fields = fields
}

// placeOf returns the kind of a key without a tag, and the key in its partition.
func placeOf(r *redisrepo.Repo, name string) (keys.Kind, string) {
	kind, rest := keys.Parse(name)
	return kind, r.Store.Partitions[kind.Of.Index(len(r.Store.Partitions), rest)].Key(name)
}

// PutKeys stores keys unchanged.
func (f *Filling) PutKeys(ctx context.Context, records []KeyRecord) error {
	return failover.Wrap("store keys", f.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, rec := range records {
			_, key := placeOf(f.Repo, rec.Key)
			if rec.Text != "" {
				pipe.Set(ctx, key, rec.Text, 0)
			}
			for field, value := range rec.Fields {
				pipe.HSet(ctx, key, field, value)
			}
			for field, value := range rec.Sealed {
				pipe.HSet(ctx, key, field, value)
			}
			for member, score := range rec.Scores {
				pipe.ZAdd(ctx, key, redis.Z{Member: member, Score: score})
			}
			if rec.Until > 0 {
				pipe.PExpire(ctx, key, max(time.Unix(rec.Until, 0).Sub(f.Store.Now()), time.Millisecond))
			}
		}
	}))
}

// castPlace is a vote in the list of a user.
type castPlace struct {
	key, member string
	voter       site.UserName
	id          site.ArticleID // 0: it says that older votes were dropped
	at          float64
	kept        time.Duration // how long the list is; 0: for ever
	recent      bool          // whether the voters of the article may be known
}

// castsTogether is the number of votes that are stored together.
const castsTogether = 1000

// PutCasts stores lists of votes. A vote that its article does not have is left out: it was cast or withdrawn during
// the export.
func (f *Filling) PutCasts(ctx context.Context, records []CastRecord) error {
	if !f.Store.Has("cast") {
		return nil
	}
	var places []*castPlace
	for _, rec := range records {
		places = append(places, f.castPlaces(rec)...)
	}
	for batch := range slices.Chunk(places, castsTogether) {
		leftOut, err := f.uncast(ctx, batch)
		if err != nil {
			return failover.Wrap("read voters", err)
		}
		lists, kept := map[string][]redis.Z{}, map[string]time.Duration{}
		for _, c := range batch {
			if !leftOut[c] {
				lists[c.key], kept[c.key] = append(lists[c.key], redis.Z{Member: c.member, Score: c.at}), c.kept
			}
		}
		err = f.Store.Write(ctx, func(pipe redis.Pipeliner) {
			for key, list := range lists {
				pipe.ZAdd(ctx, key, list...)
				if kept[key] > 0 {
					pipe.Expire(ctx, key, kept[key])
				}
			}
		})
		if err != nil {
			return failover.Wrap("store the votes of users", err)
		}
	}
	return nil
}

// uncast returns the votes that their articles do not have, as far as the voters are known, and counts the others.
func (f *Filling) uncast(ctx context.Context, votes []*castPlace) (map[*castPlace]bool, error) {
	recent := slices.DeleteFunc(slices.Clone(votes), func(c *castPlace) bool { return !c.recent })
	isIn, err := wire.ReadEach(ctx, f.Store, recent, func(pipe redis.Pipeliner, c *castPlace) *redis.BoolCmd {
		return pipe.SIsMember(ctx, f.votersOf(c), c.voter.Member())
	})
	if err != nil {
		return nil, err
	}
	var missing []*castPlace
	for i, c := range recent {
		if isIn[i].Val() {
			f.lacking[c.id]--
		} else {
			missing = append(missing, c)
		}
	}
	posted, size, void := make([]*redis.SliceCmd, len(missing)), make([]*redis.IntCmd, len(missing)), make([]*redis.BoolCmd, len(missing))
	err = f.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, c := range missing {
			p := f.Store.Partition(c.id)
			posted[i], size[i] = pipe.HMGet(ctx, p.Article(c.id), site.FieldTime), pipe.SCard(ctx, f.votersOf(c))
			void[i] = pipe.HExists(ctx, p.Void(c.id), c.voter.Member())
		}
	})
	uncast := map[*castPlace]bool{}
	for i, c := range missing {
		at, _ := site.ParseNumber(wire.Reply(posted[i].Val()).Text(0))
		open := !f.Store.Now().Truncate(time.Second).After(site.UnixTime(at).Add(f.Store.Rules.VotingWindow))
		uncast[c] = !void[i].Val() && (size[i].Val() > 0 || open)
	}
	return uncast, err
}

// votersOf is the key of the voters that a vote is among.
func (f *Filling) votersOf(c *castPlace) string {
	return articles.VoterSet{Article: c.id, Vote: casts.VoteOfMember(c.member)}.Key(f.Store.Partition(c.id))
}

// castPlaces returns the votes of a record whose time of being kept is not over.
func (f *Filling) castPlaces(rec CastRecord) (places []*castPlace) {
	store, kept := f.Store, time.Duration(0)
	if end := f.Casts.CastExpiry(rec.Month); !end.IsZero() {
		if kept = end.Sub(store.Now()).Round(time.Second); kept <= 0 {
			return nil
		}
	}
	last := time.Unix((rec.Month+1)*site.Seconds(casts.CastMonth), 0).Add(store.Rules.VotingWindow + 2*site.VoterMargin)
	for member, at := range rec.Cast {
		id, _ := site.ParseArticleID(strings.TrimPrefix(member, "-"))
		to := []keys.Partition{store.Partition(id)}
		if member == casts.CastCut {
			to = store.Partitions
		}
		for _, p := range to {
			recent := member != casts.CastCut && store.Now().Before(last)
			places = append(places, &castPlace{key: p.Cast(rec.Voter, rec.Month), member: member, voter: rec.Voter, id: id, at: at, kept: kept, recent: recent})
		}
	}
	return places
}
