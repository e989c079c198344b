// Package redisrepo keeps articles, votes and groups in Redis.
//
// Keys, behind the tag of their partition, which is empty on a single Redis
// (n is an article's number, times are Unix seconds):
//
//	article:         string  last number given out
//	article:<n>      hash    title, link, text, poster, time, votes (net), downvotes,
//	                         groups (names, blanks between), revision (changes so far),
//	                         uncounted (1: the poster's vote is); of a deleted one
//	                         deleted (time), deleted_by (user:<name>)
//	time:            zset    article:<n> by posting time
//	score:           zset    article:<n> by posting time + VoteScore for each net vote
//	voted:<n>        set     user:<name> of who voted up; kept an hour longer than the window
//	downvoted:<n>    set     the same of who voted down
//	group:<name>     set     article:<n> of the group
//	score:<name>     zset    the group's part of score:, kept GroupCacheTTL after its last use
//	time:<name>      zset    the group's part of time:, likewise
//	groups:          zset    names of the groups that are not empty, for listing them by name
//	posted:<name>    zset    article:<n> that the user posted, by posting time
//	deleted:         zset    article:<n> of the deleted ones by the time of that; they are
//	                         in no other listing and in no group
//	moderation:      stream  log of deletions, undeletions and regroupings by moderators,
//	                         the last 100,000 or a few more
//	audit:<n>        hash    of user:<name>, position, time and address bucket of the last vote
//	                         that was recorded; kept as long as the voters
//	post:<user>:<k>  string  idempotency record of a post, kept a day; - in place of the
//	                         article: it is in the partition of the link
//	link:<digest>    string  first article of a link and the time of posting, kept LinkWindow;
//	                         32 hex digits of the SHA-256 of the link in its plainest form
//	query:<hhh>      string  a GraphQL document whose SHA-256 begins with these hex digits, kept 30 days
//	limit:<rule>:<w> string  what a user or an address has done, kept for the rule's window
//	meta:            hash    layout, partitions, index, and the rules that the data are under
//	changes:<db>     channel what changed, see shared.lua; of a shard where there is a tag
//
// The keys, and the first five fields of the hash, are those of Redis in Action,
// chapter 1: its code can read and write beside this package. Every write is
// one Lua script: wholly done or not at all, and safe to repeat.
package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"
)

// LayoutVersion is the version of the keys above, as meta: records it.
const LayoutVersion = "1"

// knownGroups is how many articles' groups a Repo remembers.
const knownGroups = 10_000

// Repo is the articles of one site. It is safe for concurrent use, also by many
// processes on one store.
type Repo struct {
	client     redis.UniversalClient
	rules      Rules
	partitions []partition
	database   int              // number of the store's database on its server
	clock      func() time.Time // nil: the clock of Redis
	keepRules  bool
	onRerank   func(string)
	// groups remembers what groups articles are in, as the text in their hash.
	// Scripts must be told every key they touch, so a vote for an article that
	// is not remembered may have to ask first. What is remembered may be
	// outdated: the scripts compare.
	groups *lru.Cache[ArticleID, string]
	live   live
}

// Option changes what New makes.
type Option func(*Repo)

// WithClock sets the clock by which articles are posted and voting ends. The
// default is the clock of the Redis server, which all processes share.
func WithClock(now func() time.Time) Option {
	return func(r *Repo) { r.clock = now }
}

// WithPartitions spreads the articles over one partition for each tag, by
// number. Tags are Redis Cluster's, such as "{a}"; they and their order belong
// to the data. The default is one partition without a tag.
func WithPartitions(tags ...string) Option {
	return func(r *Repo) {
		r.partitions = nil
		for _, tag := range tags {
			r.partitions = append(r.partitions, partition(tag))
		}
	}
}

// New opens the site that is in the store, or an empty one. It refuses rules
// that are out of bounds, and a store whose data have another layout. When the
// rules have changed since the store was last opened, it first ranks all
// articles anew; no other process should use the store under the old ones then.
func New(ctx context.Context, client redis.UniversalClient, rules Rules, options ...Option) (*Repo, error) {
	if err := rules.Validate(); err != nil {
		return nil, err
	}
	remembered, err := lru.New[ArticleID, string](knownGroups)
	if err != nil {
		return nil, err
	}
	r := &Repo{client: client, rules: rules, partitions: []partition{""}, groups: remembered, live: live{news: make(chan struct{}, 1)}}
	if single, ok := client.(interface{ Options() *redis.Options }); ok { // a cluster has one database
		r.database = single.Options().DB
	}
	for _, option := range options {
		option(r)
	}
	if len(r.partitions) == 0 {
		return nil, errors.New("partitions: there is no tag, not even an empty one")
	}
	if err := r.checkMeta(ctx); err != nil {
		return nil, err
	}
	if err := r.loadScripts(ctx); err != nil {
		return nil, storeError("load scripts", err)
	}
	if err := r.mayPublish(ctx); err != nil {
		return nil, storeError("publish changes", err)
	}
	if err := r.applyRules(ctx); err != nil {
		return nil, storeError("apply the rules", err)
	}
	return r, nil
}

// checkMeta compares what data these are, and writes it when nothing says so yet.
func (r *Repo) checkMeta(ctx context.Context) error {
	for i, p := range r.partitions {
		written, err := r.client.Exists(ctx, p.meta()).Result()
		if err != nil {
			return storeError("read "+p.meta(), err)
		}
		if written == 0 {
			if err := r.findGroups(ctx, p); err != nil {
				return storeError("look for groups", err)
			}
		}
		want := map[string]string{
			"layout":     LayoutVersion,
			"partitions": strconv.Itoa(len(r.partitions)),
			"index":      strconv.Itoa(i),
		}
		var found *redis.MapStringStringCmd
		_, err = r.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for field, value := range want {
				pipe.HSetNX(ctx, p.meta(), field, value)
			}
			found = pipe.HGetAll(ctx, p.meta())
			return nil
		})
		if err != nil {
			return storeError("write "+p.meta(), err)
		}
		for field, value := range want {
			if found.Val()[field] != value {
				return fmt.Errorf("%s says that the data have %s %s; this program was told %s", p.meta(), field, found.Val()[field], value)
			}
		}
	}
	return nil
}

// findGroups enters the groups of the book's code in the index, once: it looks
// at every key of a store that has no meta: yet.
func (r *Repo) findGroups(ctx context.Context, p partition) error {
	keys := r.client.Scan(ctx, 0, p.group("*"), 1000).Iterator()
	for keys.Next(ctx) {
		name, err := ParseGroupName(strings.TrimPrefix(keys.Val(), p.group("")))
		if err != nil || p.group(name) != keys.Val() || name == Interesting {
			continue // not a group that can be named here
		}
		if err := r.client.ZAdd(ctx, p.groups(), redis.Z{Member: string(name)}).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}

// Ready reports whether the store answers.
func (r *Repo) Ready(ctx context.Context) error {
	if err := r.client.Ping(ctx).Err(); err != nil {
		return storeError("ping", err)
	}
	return nil
}

func (r *Repo) partition(id ArticleID) partition {
	return r.partitions[int(id)%len(r.partitions)]
}

// now is for what is only shown; the scripts decide by scriptNow.
func (r *Repo) now() time.Time {
	if r.clock != nil {
		return r.clock()
	}
	return time.Now()
}

// scriptNow is a script's argument for the time: empty lets it ask Redis.
func (r *Repo) scriptNow() string {
	if r.clock == nil {
		return ""
	}
	return strconv.FormatInt(r.clock().Unix(), 10)
}

// seconds is a duration as an argument of a script.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }
