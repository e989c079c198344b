package migrate

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// part is the elements of a key that belong into one key of the other store, and what that has of them.
type part struct {
	of              *copiedKey
	key             string // in the other store
	members, values []string
	expiry          time.Duration // of the key that was read; negative: none
	groups, group   string        // the list that must have this name; empty: none

	text   *redis.StringCmd
	fields *redis.SliceCmd
	has    *redis.BoolSliceCmd
	scores *redis.Cmd
	listed *redis.FloatCmd
	left   *redis.DurationCmd
}

// ask reads what the other store has of the parts.
func ask(ctx context.Context, other *redisrepo.Repo, parts []*part) error {
	return other.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for _, p := range parts {
			switch p.of.Holds {
			case keys.String:
				p.text = pipe.Get(ctx, p.key)
			case keys.Hash:
				p.fields = pipe.HMGet(ctx, p.key, p.members...)
			case keys.Set:
				p.has = pipe.SMIsMember(ctx, p.key, wire.Anys(p.members)...)
			case keys.SortedSet:
				p.scores = pipe.Do(ctx, append([]any{"zmscore", p.key}, wire.Anys(p.members)...)...)
			default: // not read
			}
			if p.group != "" {
				p.listed = pipe.ZScore(ctx, p.groups, p.group)
			}
			if p.of.Expires {
				p.left = pipe.PTTL(ctx, p.key)
			}
		}
	})
}

// found returns the value of member i in the other store. A member of a set has none.
func (p *part) found(i int) (value string, ok bool) {
	var reply any
	switch p.of.Holds {
	case keys.Set:
		return "", i < len(p.has.Val()) && p.has.Val()[i]
	case keys.Hash:
		reply = p.fields.Val()[i]
	case keys.SortedSet:
		scores, _ := p.scores.Slice()
		reply = scores[i]
	default: // has no members
	}
	switch value := reply.(type) {
	case string:
		return value, true
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64), true
	}
	return "", false
}

// same reports whether the other store has member i with the same value.
func (p *part) same(i int) bool {
	value, ok := p.found(i)
	switch {
	case !ok || p.of.Holds == keys.Set:
		return ok
	case p.of.Holds == keys.Hash:
		return value == p.values[i]
	}
	a, errA := strconv.ParseFloat(value, 64)
	b, errB := strconv.ParseFloat(p.values[i], 64)
	return errA == nil && errB == nil && math.Float64bits(a) == math.Float64bits(b)
}

// put queues the writes of what the copy lacks, and returns how many values they change.
func (p *part) put(ctx context.Context, pipe redis.Pipeliner) (changed int64) {
	if p.of.Holds == keys.String {
		if p.text.Err() != nil || p.text.Val() != p.values[0] {
			pipe.Set(ctx, p.key, p.values[0], 0)
			changed++
		}
	}
	var missing []any
	for i, member := range p.members {
		if p.same(i) {
			continue
		}
		switch p.of.Holds {
		case keys.Hash:
			missing = append(missing, member, p.values[i])
		case keys.SortedSet:
			missing = append(missing, p.values[i], member)
		default:
			missing = append(missing, member)
		}
		changed++
	}
	if len(missing) > 0 {
		command := map[keys.Type]string{keys.Hash: "hset", keys.Set: "sadd", keys.SortedSet: "zadd"}[p.of.Holds]
		pipe.Do(ctx, append([]any{command, p.key}, missing...)...)
	}
	if p.group != "" && p.listed.Err() != nil {
		pipe.ZAdd(ctx, p.groups, redis.Z{Member: p.group})
		changed++
	}
	if !p.of.Expires {
		return changed
	}
	switch left := p.left.Val(); {
	case p.expiry >= 0 && (changed > 0 || (left-p.expiry).Abs() > sameExpiry):
		pipe.PExpire(ctx, p.key, max(p.expiry, time.Millisecond))
	case p.expiry == -1 && left >= 0:
		pipe.Persist(ctx, p.key)
	}
	return changed
}

// prune removes from the copy what the original does not have.
func (m *migration) prune(ctx context.Context, batch []*copiedKey) error {
	walked, _ := m.walked(batch)
	return each(walked, func(some []*copiedKey, elements int64) error {
		if err := read(ctx, m.to, some, elements); err != nil {
			return err
		}
		var parts []*part
		for _, k := range some {
			if k.expiry != nil && k.expiry.Val() >= 0 && k.expiry.Val() < soon {
				continue
			}
			parts = append(parts, m.sources(k)...)
		}
		if err := ask(ctx, m.from, parts); err != nil {
			return err
		}
		return m.to.Store.Write(ctx, func(pipe redis.Pipeliner) {
			kept := map[*copiedKey]bool{} // texts that the original has
			for _, p := range parts {
				kept[p.of] = kept[p.of] || p.of.Holds == keys.String && p.text.Err() == nil
			}
			for _, p := range parts {
				m.changed.Add(p.remove(ctx, pipe, kept))
			}
		})
	})
}

// sources returns the keys of the original that a key of the copy comes from: several for an idempotency key.
func (m *migration) sources(k *copiedKey) (parts []*part) {
	from := m.from.Store.Partitions
	switch {
	case k.Of == keys.Post:
	case k.Copy == keys.ByKey:
		from = from[k.Of.Index(len(from), k.rest):][:1]
	default:
		from = from[k.at%len(from):][:1]
	}
	for _, p := range from {
		if len(k.members) > 0 || k.Holds == keys.String {
			parts = append(parts, &part{of: k, key: p.Key(k.name), members: k.members, values: k.values})
		}
	}
	return parts
}

// remove queues the removal of what the original lacks, and returns how many values that changes.
func (p *part) remove(ctx context.Context, pipe redis.Pipeliner, kept map[*copiedKey]bool) (changed int64) {
	if p.of.Holds == keys.String {
		if !kept[p.of] {
			kept[p.of] = true
			pipe.Unlink(ctx, p.of.key)
			return 1
		}
		return 0
	}
	var gone []any
	for i, member := range p.members {
		if _, ok := p.found(i); !ok {
			gone = append(gone, member)
		}
	}
	if len(gone) > 0 {
		command := map[keys.Type]string{keys.Hash: "hdel", keys.Set: "srem", keys.SortedSet: "zrem"}[p.of.Holds]
		pipe.Do(ctx, append([]any{command, p.of.key}, gone...)...)
	}
	return int64(len(gone))
}

// indexGroups brings the indexes of groups of the copy up to date with its groups.
func (m *migration) indexGroups(ctx context.Context) error {
	for _, p := range m.to.Store.Partitions {
		if err := m.to.Lists.IndexAllGroups(ctx, p); err != nil {
			return failover.Wrap("read "+p.Groups(), err)
		}
	}
	return nil
}

// cell is a key without the tag of its partition. Its kind has no name if it is not a key of a site.
type cell struct {
	keys.Kind
	name, rest string
}

// isMark reports whether a member of a user's votes says that older ones were dropped. It is of no article.
func (c cell) isMark(member string) bool {
	return member == casts.CastCut && c.Of == keys.UserMonth
}

// indexOf is the partition, of n, of a member of a key.
func (c cell) indexOf(n int, member string) (int, error) {
	if c.Copy == keys.ByKey {
		return c.Of.Index(n, c.rest), nil
	}
	if c.Of == keys.UserMonth {
		member = strings.TrimPrefix(member, "-")
	}
	id, err := site.ParseArticleID(member)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not an article: remove it", c.name, member)
	}
	return int(id) % n, nil
}
