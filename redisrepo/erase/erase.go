// Package erase removes the name of a user from a site: afterwards no key, member, field or value of the store contains
// it, except in texts that users wrote.
//
// It scans all keys until it no longer finds the name. Each write is one script or command that removes the name from
// one place, so the next call continues an interrupted erasure.
package erase

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	denialsScript = wire.Script(luaFiles, "erasedenials.lua")
	articleScript = wire.Script(luaFiles, "erasearticle.lua")
	votersScript  = wire.Script(luaFiles, "erasevoters.lua")
	flagsScript   = wire.Script(luaFiles, "erasereports.lua")
	voidsScript   = wire.Script(luaFiles, "erasevoids.lua")
	logScript     = wire.Script(luaFiles, "eraselog.lua")
)

const (
	// Settle is how long other processes may still accept changes from the user after an erasure began.
	Settle = 1500 * time.Millisecond
	// mostWalks is how often an erasure walks over all keys: beyond that, something writes the name all the time.
	mostWalks = 20
)

// Options say how a user is erased.
type Options struct {
	Remove bool          // delete the user's articles and empty them; else they stay, posted by a deleted user
	Settle time.Duration // 0: none, for a site without other processes
	// Progress, if not nil, is called a few times a second with the numbers of scanned keys and of changes so far.
	Progress func(keys, changes int)
}

// Summary is what an erasure did.
type Summary struct {
	Walks, Keys, Changes int
	Looked               int // keys, and entries and fields that were read one by one
}

// job is an erasure.
type job struct {
	*redisrepo.Repo
	o      Options
	name   site.UserName
	member string
	digest string

	keys, changes atomic.Int64
	looked        atomic.Int64 // entries and fields
}

// User erases a user. The site need not know the name. Until the erasure is done, the user cannot change anything, in
// any role; then all sessions end and the name is free. A denial by a moderator stays, under a digest of the name. User
// can be called again, even concurrently, and continues an interrupted call. An invalid name is a Refusal.
func User(ctx context.Context, r *redisrepo.Repo, name string, o Options) (Summary, error) {
	user, err := site.ParseUserName(name)
	if err != nil {
		return Summary{}, err
	}
	j := &job{Repo: r, o: o, name: user, member: user.Member(), digest: user.Digest()}
	s, err := j.run(ctx)
	s.Keys, s.Changes = int(j.keys.Load()), int(j.changes.Load())
	s.Looked = s.Keys + int(j.looked.Load())
	return s, failover.Wrap("erase a user", err)
}

func (j *job) run(ctx context.Context) (s Summary, err error) {
	if _, err := j.denials(ctx, j.erasing()); err != nil {
		return s, err
	}
	failover.Wait(ctx, j.o.Settle)
	if err := j.Views.CatchUp(ctx); err != nil { // so that no vote of the log makes a list of the user's votes again
		return s, err
	}
	clean := false
	for s.Walks = 0; !clean; s.Walks++ {
		if s.Walks == mostWalks {
			return s, errors.New("the name is written all the time: end what writes it, and call again")
		}
		before := j.changes.Load()
		if err := j.walk(ctx, j.leave); err != nil {
			return s, err
		}
		clean = j.changes.Load() == before
	}
	if _, err := j.Sessions.EndSessions(ctx, string(j.name), site.Actor{Name: site.CommandLine, Moderator: true}); err != nil {
		return s, err
	}
	err = j.Store.Write(ctx, func(pipe redis.Pipeliner) {
		pipe.ZAdd(ctx, j.Store.Partitions[0].Erased(), redis.Z{Score: float64(j.Store.Now().Unix()), Member: j.digest})
	})
	if err == nil {
		_, err = j.denials(ctx, "")
	}
	return s, err
}

// erasing is the value of the denial that is in force during the erasure.
func (j *job) erasing() string {
	d := denials.Denial{At: j.Store.Now(), By: site.CommandLine, Ground: site.GroundOther}
	return d.Text()
}

// denials calls erasedenials.lua, and has the process follow it at once. It reports whether anything changed.
func (j *job) denials(ctx context.Context, erasing string) (bool, error) {
	changed, err := j.leaveFields(ctx, denialsScript, j.Store.Partitions[0].Denials(), true, // KEYS[1] denials, ARGV[6...] field
		j.member,                      // ARGV[1] user
		site.ErasedModerator.Member(), // ARGV[2] moderator
		j.digest,                      // ARGV[3] digest
		erasing,                       // ARGV[4] erasing
		rand.Text(),                   // ARGV[5] version
	)
	if err == nil {
		err = j.Denials.ReadDenials(ctx)
	}
	return changed, err
}

// found is a key of a kind, without the tag of its partition.
type found struct {
	p     keys.Partition
	key   string // with the tag
	kind  keys.Kind
	rest  string // after the first colon
	place place
}

// kindName is the name of a kind in the table of places.
func kindName(kind keys.Kind) string { return kind.Name + " " + string(kind.Holds) }

// walk calls handle with the keys of the site that may have names, a batch at a time.
func (j *job) walk(ctx context.Context, handle func(context.Context, []found) error) error {
	return j.Store.EachServer(ctx, func(ctx context.Context, server redis.Cmdable, has []keys.Partition) error {
		return wire.Walk(1, func(all []string) error {
			var batch []found
			for _, key := range all {
				p := j.Store.PartitionOfKey(key)
				kind, rest := keys.Parse(key[len(p):])
				f := found{p, key, kind, rest, places[kindName(kind)]}
				if f.place.isNamed() && slices.Contains(has, p) {
					batch = append(batch, f)
				}
			}
			j.keys.Add(int64(len(all)))
			if j.o.Progress != nil {
				j.o.Progress(int(j.keys.Load()), int(j.changes.Load()))
			}
			return wire.InBatches(func(some []found) error { return handle(ctx, some) })(batch)
		}, func(cursor uint64) *redis.ScanCmd {
			return server.Scan(failover.Impatient(ctx), cursor, "", wire.ScanBatch)
		})
	})
}

// leave has the name leave some keys. It asks all of them in one round trip.
func (j *job) leave(ctx context.Context, batch []found) error {
	has := make([]func() bool, len(batch))
	err := j.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, f := range batch {
			if f.place.ask != nil && !f.place.is(j, f.rest) {
				has[i] = f.place.ask(ctx, pipe, j, f)
			}
		}
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") { // a key of another program
		return err
	}
	for i, f := range batch {
		var changed bool
		switch {
		case f.place.is(j, f.rest):
			changed, err = j.unlink(ctx, f)
			changed = changed && f.kind.Name != "rate" // reading is counted, too
		case has[i] != nil && has[i]():
			changed, err = f.place.leave(ctx, j, f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.kind.Name, err)
		}
		if changed {
			j.changes.Add(1)
		}
	}
	return nil
}

// write runs a command that takes the name out, and reports whether that changed anything.
func (j *job) write(ctx context.Context, queue func(redis.Pipeliner) *redis.IntCmd) (bool, error) {
	var n *redis.IntCmd
	err := j.Store.Write(ctx, func(pipe redis.Pipeliner) { n = queue(pipe) })
	return err == nil && n.Val() > 0, err
}

// unlink removes a key.
func (j *job) unlink(ctx context.Context, f found) (bool, error) {
	return j.write(ctx, func(pipe redis.Pipeliner) *redis.IntCmd { return pipe.Unlink(ctx, f.key) })
}
