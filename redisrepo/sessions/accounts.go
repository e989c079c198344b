// Package sessions stores small values that belong to no article: names of accounts, sessions of signed-in users,
// states of sign-ins, and GraphQL documents.
package sessions

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
	"go.mau.fi/util/confusable"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var claimScript = wire.Script(luaFiles, "claim.lua")

// Sessions stores accounts, sessions, states of sign-ins and documents.
type Sessions struct{ store *wire.Store }

// New returns the Sessions of a site.
func New(store *wire.Store) *Sessions { return &Sessions{store} }

// maxNamesakes is how many accounts can want the same name.
const maxNamesakes = 1000

// AccountName returns the name of an account of a provider that signs users in. The first account that wants a
// name gets it for ever. The next ones get it with a number, as in alice-2. Names that differ in the case or
// the form of their letters, or look alike, are the same here. An account keeps its name, even if it wants
// another one later. The Refusal is Conflict if too many accounts wanted this name, and Invalid or TooLong if a
// new account wants an invalid one.
//
// An account is any text that identifies it, such as its issuer and subject.
func (r *Sessions) AccountName(ctx context.Context, account, wanted string) (site.UserName, error) {
	account = digestOf(account)
	at := r.digested(account).Account(account)
	name, err := r.store.Client.Get(wire.Reading(ctx), at).Result()
	if errors.Is(err, redis.Nil) {
		name, err = r.freeName(ctx, account, wanted)
		if err == nil {
			name, err = r.first(ctx, at, name)
		}
	}
	if err != nil && !errors.As(err, new(site.Refusal)) {
		return "", failover.Wrap("read an account", err)
	}
	return site.UserName(name), err
}

// freeName gives the account a name that no other one has. It can be repeated.
func (r *Sessions) freeName(ctx context.Context, account, wanted string) (string, error) {
	if _, err := site.ParseUserName(wanted); err != nil {
		return "", err
	}
	letters := []rune(wanted)
	for n := 1; n <= maxNamesakes; n++ {
		name := wanted
		if n > 1 {
			number := fmt.Sprintf("-%d", n)
			name = string(letters[:min(len(letters), site.MaxUserName-len(number))]) + number
		}
		// Only then the name itself: a name that an account has is no other one's, see MayLookLike.
		if namesake, err := r.first(ctx, r.Look(site.UserName(name)), name); err != nil || namesake != name {
			if err != nil {
				return "", err
			}
			continue
		}
		// With the time of the first sign-in.
		owner, err := r.first(ctx, r.NameKey(site.UserName(name)), fmt.Sprintf("%s %d", account, r.store.Now().Unix()))
		if err != nil || ownerOf(owner) == account {
			return name, err
		}
	}
	return "", site.Refuse(site.Conflict, "", "too many users have the name %s", site.Shown(wanted))
}

// NameKey returns the key of the account that has a name, in any case and form of its letters. Its value is the digest
// of the account and the time of its first sign-in, which accounts of earlier versions lack.
func (r *Sessions) NameKey(name site.UserName) string {
	folded := digestOf(norm.NFKC.String(fold(norm.NFKC.String(string(name)))))
	return r.digested(folded).NameOwner(folded)
}

// ownerOf returns the digest of the account in a value of NameKey.
func ownerOf(value string) string {
	account, _, _ := strings.Cut(value, " ")
	return account
}

// SignedInAt returns when the account in a value of NameKey first signed in, UTC, whole seconds; the zero time if
// unknown.
func SignedInAt(value string) time.Time {
	_, text, _ := strings.Cut(value, " ")
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC()
}

// AccountOf returns the digest of the account that has a name, in any case and form of its letters, and when it first
// signed in, as SignedInAt; empty if no account has it.
func (r *Sessions) AccountOf(ctx context.Context, name site.UserName) (account string, signedIn time.Time, err error) {
	value, err := r.store.Client.Get(wire.Reading(ctx), r.NameKey(name)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", time.Time{}, failover.Wrap("look for an account", err)
	}
	return ownerOf(value), SignedInAt(value), nil
}

// NameOwnerKey returns the key of the account that has a name, in any case and form of its letters, if that is the account of a
// digest; else an empty text.
func (r *Sessions) NameOwnerKey(ctx context.Context, name site.UserName, account string) (string, error) {
	owner, _, err := r.AccountOf(ctx, name)
	if err != nil || owner == "" || owner != account {
		return "", err
	}
	return r.NameKey(name), nil
}

// Look returns the key of the first of the names that look alike: those with one skeleton (UTS 39), in any case. It
// never equals a NameKey, since the digested text has a line break.
func (r *Sessions) Look(name site.UserName) string {
	visible := strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return c
	}, string(name))
	skeleton := digestOf("skeleton\n" + confusable.Skeleton(fold(confusable.Skeleton(visible))))
	return r.digested(skeleton).NameOwner(skeleton)
}

// RecordSkeletons records the skeletons of existing users' names, unless a similar name is recorded.
func (r *Sessions) RecordSkeletons(ctx context.Context, names []site.UserName) error {
	return r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, name := range names {
			pipe.SetNX(ctx, r.Look(name), string(name), 0)
		}
	})
}

func fold(s string) string { return cases.Fold().String(s) }

// MayLookLike returns a Refusal, Forbidden, if the name of a new user looks like the other one. Users who have
// posted, or whose account has the name, keep it.
func (r *Sessions) MayLookLike(ctx context.Context, name, other site.UserName) error {
	posts := make([]*redis.IntCmd, len(r.store.Partitions))
	var account *redis.StringCmd
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		account = pipe.Get(ctx, r.NameKey(name))
		for i, p := range r.store.Partitions {
			posts[i] = pipe.ZCard(ctx, p.Posted(name))
		}
	})
	if err != nil {
		return failover.Wrap("look for a user", err)
	}
	if account.Val() != "" || slices.ContainsFunc(posts, func(n *redis.IntCmd) bool { return n.Val() > 0 }) {
		return nil
	}
	return site.Refuse(site.Forbidden, "", "the user name %s looks like %s, which another user has: post with another user name", site.Shown(string(name)), site.Shown(string(other)))
}

// ClaimLook claims the look of a name for its user, and returns the first name that claimed it.
func (r *Sessions) ClaimLook(ctx context.Context, name site.UserName) (first string, err error) {
	return r.first(ctx, r.Look(name), string(name))
}

// first claims a key for ever, and returns its first value.
func (r *Sessions) first(ctx context.Context, key, value string) (first string, err error) {
	var claimed *redis.Cmd
	err = r.store.Write(ctx, func(pipe redis.Pipeliner) { claimed = QueueClaim(ctx, pipe, key, value, 0) })
	if err == nil {
		first, err = FirstOf(claimed)
	}
	return first, err
}

// QueueClaim queues a command that stores a value for ttl, or for ever if that is 0, unless the key has one. FirstOf
// returns the value that the key then has.
func QueueClaim(ctx context.Context, pipe redis.Pipeliner, key, value string, ttl time.Duration) *redis.Cmd {
	keys := []string{
		key, // KEYS[1] record
	}
	return claimScript.EvalSha(ctx, pipe, keys,
		value,                              // ARGV[1] value
		strconv.Itoa(int(ttl/time.Second)), // ARGV[2] ttl
	)
}

// FirstOf returns the value of the key of a call by QueueClaim.
func FirstOf(claimed *redis.Cmd) (string, error) {
	answer, err := wire.StatusReply(claimed)
	return answer.Text(1), err
}

// A session is kept under a digest of its cookie, in hex, as an opaque value. The end of all of a user's sessions leaves a
// mark under the digest of the name: sessions that began before do not have it.

// MaxSession is the maximum time of a session without a renewal: browsers keep no cookie for longer.
const MaxSession = 400 * 24 * time.Hour

// markMargin is how long a renewal can take that began before the user's sessions were ended.
const markMargin = time.Hour

// UserDigest returns the digest, in hex, of the key with the mark of a user's sessions.
func UserDigest(name site.UserName) string { return name.Digest() }

// KeepSession stores a session for its lifetime.
func (r *Sessions) KeepSession(ctx context.Context, digest string, value []byte, lifetime time.Duration) error {
	set := redis.NewStatusCmd(ctx, "set", r.digested(digest).Session(digest), value, "px", lifetime.Milliseconds())
	return failover.Wrap("keep a session", r.store.Send(ctx, set))
}

// ReplaceSession is like KeepSession, but stores nothing, and returns false, if the session has ended.
func (r *Sessions) ReplaceSession(ctx context.Context, digest string, value []byte, lifetime time.Duration) (bool, error) {
	set := redis.NewStatusCmd(ctx, "set", r.digested(digest).Session(digest), value, "px", lifetime.Milliseconds(), "xx")
	err := r.store.Send(ctx, set)
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, failover.Wrap("replace a session", err)
	}
	return err == nil, nil
}

// Session returns a session, or nil if it has ended, and the mark of its user, which EndSessions sets. If there
// is a mark and the session was not kept with it, the session has ended, too: the caller must check that.
func (r *Sessions) Session(ctx context.Context, digest, user string) (value []byte, mark string, err error) {
	var kept, ended *redis.StringCmd
	err = r.store.Read(ctx, func(pipe redis.Pipeliner) {
		kept, ended = pipe.Get(ctx, r.digested(digest).Session(digest)), pipe.Get(ctx, r.digested(user).Ended(user))
	})
	for _, read := range []*redis.StringCmd{kept, ended} {
		if err == nil && !errors.Is(read.Err(), redis.Nil) {
			err = read.Err()
		}
	}
	if err != nil {
		return nil, "", failover.Wrap("read a session", err)
	}
	if kept.Err() == nil {
		value = []byte(kept.Val())
	}
	return value, ended.Val(), nil
}

// EndSessions ends all sessions of a user, also those that are being renewed, and returns the user. A user without a
// session is not an error. The Refusal is Forbidden if the actor is not a moderator, and Invalid or TooLong for an
// invalid name.
func (r *Sessions) EndSessions(ctx context.Context, name string, by site.Actor) (*site.User, error) {
	if !by.Moderator {
		return nil, site.Refuse(site.Forbidden, "name", "only moderators can end the sessions of a user")
	}
	user, err := site.ParseUserName(name)
	if err != nil {
		return nil, site.InField("name", err)
	}
	digest := UserDigest(user)
	set := redis.NewStatusCmd(ctx, "set", r.digested(digest).Ended(digest), rand.Text(), "px", (MaxSession + markMargin).Milliseconds())
	if err := r.store.Send(ctx, set); err != nil {
		return nil, failover.Wrap("end a user's sessions", err)
	}
	return &site.User{Name: user}, nil
}

// EndSession removes a session. A session that has ended is not an error.
func (r *Sessions) EndSession(ctx context.Context, digest string) error {
	return failover.Wrap("end a session", r.store.Send(ctx, redis.NewIntCmd(ctx, "del", r.digested(digest).Session(digest))))
}

// RenewsSession reports whether the caller should renew a session: for the given time, it is true in one
// process only.
func (r *Sessions) RenewsSession(ctx context.Context, digest string, during time.Duration) (bool, error) {
	key := r.digested(digest).Session(digest) + ":renewing"
	err := r.store.Client.Do(ctx, "set", key, "1", "px", during.Milliseconds(), "nx").Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, failover.Wrap("renew a session", err)
	}
	return err == nil, nil
}

// digested is the partition of what is kept under a digest.
func (r *Sessions) digested(digest string) keys.Partition {
	return r.store.Partitions[keys.LinkIndex(len(r.store.Partitions), digest)]
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
