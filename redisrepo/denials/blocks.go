package denials

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

var (
	blockerScript = wire.Script(luaFiles, "blocker.lua")
	blockScript   = wire.Script(luaFiles, "block.lua")
)

// MaxBlocked is the maximum number of users that one user can block.
const MaxBlocked = 1000

// blockersBatch is how many of those who block are read at once.
const blockersBatch = 1000

// blockers are the users who block others, or did: for all others no block has to be read.
type blockers struct {
	mu    sync.RWMutex
	names map[site.UserName]struct{}
	last  redis.Z // the last one that was read; the zero value: none
}

func (b *blockers) add(name site.UserName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.names == nil {
		b.names = map[site.UserName]struct{}{}
	}
	b.names[name] = struct{}{}
}

// forget has all of them read again.
func (b *blockers) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names, b.last = nil, redis.Z{}
}

// HasBlocks reports whether the user may have blocked another one. It does not call the store.
func (d *Denials) HasBlocks(user site.UserName) bool {
	d.blockers.mu.RLock()
	defer d.blockers.mu.RUnlock()
	_, has := d.blockers.names[user]
	return has
}

// blockedBy returns the key of the users whom a user has blocked.
func (d *Denials) blockedBy(user site.UserName) string {
	return d.store.Partitions[keys.SubjectIndex(len(d.store.Partitions), user.Member())].Blocked(user)
}

// BlockUser blocks or unblocks a user for another one, and returns that user. Repeating it is a no-op, not an error.
// The Refusal is Forbidden if both are the same user, LimitExceeded beyond MaxBlocked, and Invalid or TooLong for an
// invalid name.
func (d *Denials) BlockUser(ctx context.Context, by site.UserName, name string, blocks bool) (*site.User, error) {
	user, err := site.ParseUserName(name)
	switch {
	case err != nil:
		return nil, site.InField("user", err)
	case user == by:
		return nil, site.Refuse(site.Forbidden, "user", "you cannot block yourself")
	}
	if blocks && !d.HasBlocks(by) { // first: a block that no process looks for would do nothing
		_, err := d.store.Call(ctx, blockerScript, []string{
			d.store.Partitions[0].Blockers(), // KEYS[1] blockers
		}, []any{
			by.Member(), // ARGV[1] user
		})
		if err != nil {
			return nil, failover.Wrap("enter a user who blocks", err)
		}
		d.blockers.add(by)
	}
	answer, err := d.store.Call(ctx, blockScript, []string{
		d.blockedBy(by), // KEYS[1] blocked
	}, []any{
		user.Member(), // ARGV[1] user
		blocks,        // ARGV[2] blocks
		MaxBlocked,    // ARGV[3] most
	})
	if err != nil {
		return nil, failover.Wrap("block a user", err)
	}
	if answer.Status() == "FULL" {
		return nil, site.Refuse(site.LimitExceeded, "user", "you have blocked %d users, which is the maximum: unblock one first", MaxBlocked)
	}
	return &site.User{Name: user}, nil
}

// Blocked returns the users whom a user has blocked, sorted. For a user who has never blocked another one it
// does not call the store.
func (d *Denials) Blocked(ctx context.Context, by site.UserName) ([]site.UserName, error) {
	if !d.HasBlocks(by) {
		return nil, nil
	}
	members, err := d.store.Client.SMembers(wire.Reading(ctx), d.blockedBy(by)).Result()
	return namesOf(members), failover.Wrap("read blocks", err)
}

// readBlockers reads who blocks others and is not known yet. If the last one that is known is gone, the store has gone back:
// then it reads all of them.
func (d *Denials) readBlockers(ctx context.Context) error {
	b := &d.blockers
	for {
		from := redis.ZRangeArgs{Key: d.store.Partitions[0].Blockers(), Start: fmt.Sprint(b.last.Score), Stop: "+inf", ByScore: true, Count: blockersBatch}
		page, err := d.store.Client.ZRangeArgsWithScores(wire.Reading(ctx), from).Result()
		if err != nil {
			return failover.Wrap("look for blocks", err)
		}
		if b.last.Score > 0 && (len(page) == 0 || page[0] != b.last) {
			b.forget()
			continue
		}
		for _, z := range page {
			b.add(site.UserOf(fmt.Sprint(z.Member)))
			b.last = z
		}
		if len(page) < blockersBatch {
			return nil
		}
	}
}
