package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// commandsOf lists the commands that the scripts and this package run, by the type of their key. KEY stands for
// the key. Redis 6.2 really runs them: each form fails or changes nothing.
var commandsOf = map[string][]string{
	"hash": {
		"HSET KEY a b c", "HSETNX KEY a", "HINCRBY KEY a b", "HDEL KEY /", "HMGET KEY a", "HGET KEY a", "HGETALL KEY",
		"HLEN KEY", "HKEYS KEY", "HSCAN KEY 0", "EXPIRE KEY a", "EXISTS KEY", "PTTL KEY",
	},
	"set": {
		"SADD KEY a", "SREM KEY a", "SCARD KEY", "SISMEMBER KEY a", "SMISMEMBER KEY a", "SMEMBERS KEY", "SSCAN KEY 0", "DEL KEY", "EXPIRE KEY a", "EXISTS KEY", "PTTL KEY",
	},
	"zset": {
		"ZADD KEY a b", "ZREM KEY /", "ZINCRBY KEY a b", "ZSCORE KEY a", "ZCARD KEY", "ZCOUNT KEY 0 0", "ZRANK KEY a", "ZREVRANK KEY a",
		"ZRANGE KEY 0 0", "ZSCAN KEY 0", "ZMSCORE KEY a", "ZREMRANGEBYSCORE KEY 1 0",
	},
	"listing": {"ZINTERSTORE KEY 0 KEY", "PEXPIRE KEY a", "PERSIST KEY", "PTTL KEY", "UNLINK KEY"},
	"string":  {"GET KEY", "SET KEY a EX b", "INCRBY KEY a", "GETEX KEY EX a", "PTTL KEY", "PEXPIRE KEY a"},
	"claim":   {"DEL KEY"},
	"casts":   {"ZADD KEY a b", "ZREM KEY /", "ZCARD KEY", "ZMSCORE KEY a", "ZRANGE KEY 0 0", "ZSCAN KEY 0", "ZREMRANGEBYRANK KEY a a", "EXPIRE KEY a", "PERSIST KEY", "PTTL KEY", "UNLINK KEY"},
	"voters":  {"UNLINK KEY"},
	"top":     {"UNLINK KEY"},
	"stream":  {"XADD KEY NOMKSTREAM MAXLEN ~ 1000000 0-0 a b", "XDEL KEY 0-0", "XLEN KEY", "XRANGE KEY - + COUNT 1", "XREVRANGE KEY + - COUNT 1"},
	"channel": {"PUBLISH KEY " + hello, "SUBSCRIBE KEY"},
	"shard":   {"SPUBLISH KEY " + hello, "SSUBSCRIBE KEY"},
	"":        {"TIME", "PING", "SCAN 0 COUNT 1", "DBSIZE", "ZINTER 0 KEY", "MULTI", "EXEC", "SCRIPT LOAD a", "EVAL a 0", "EVALSHA a 0"},
}

// reserved is a name that no group, user or other part of a key has.
const reserved = "/"

// keysOf returns keys of all shapes by type, with those types of commandsOf that they need. Where a command could
// have an effect, the key is one that is never used.
func (p partition) keysOf(database int) map[string][]string {
	listings := []string{p.listing(ByScore, reserved), p.listing(ByTime, reserved)}
	tops := []string{p.top("h", 0, reserved), p.top("d", 0, reserved), p.top("m", 0, reserved)}
	channel := "channel"
	if p.sharded() {
		channel = "shard"
	}
	return map[string][]string{
		"hash":    {p.article(0), p.history(0), p.audit(0), p.meta(), p.clock(""), p.clock(reserved)},
		"set":     {p.voted(0), p.downvoted(0), p.group(reserved)},
		"zset":    append([]string{p.ranking(ByTime), p.ranking(ByScore), p.groups(), p.sizes(), p.posted(reserved), p.host(reserved), p.deleted(), p.front(), p.best()}, append(tops, listings...)...),
		"listing": listings,
		"string":  {p.counter(), p.post(reserved, reserved), p.link(reserved), p.document("///"), p.rate(Subject{rule: reserved, user: reserved})},
		"claim":   {p.post(reserved, reserved)},
		"casts":   {p.cast(reserved, 0)},
		"voters":  {p.voted(0), p.downvoted(0), p.audit(0)},
		"top":     tops,
		"stream":  {p.moderation(), p.events()},
		channel:   {p.changes(database)},
		"":        {""},
	}
}

// question is whether the Redis user may run a command on a key.
type question struct {
	command, key string
	answer       *redis.Cmd
}

// One round trip asks for questionsPerTrip rights in each partition, and for maxQuestionsPerTrip at most: the server
// in memory takes long for each, and all of them on a busy machine longer than a reply may.
const (
	questionsPerTrip    = 20
	maxQuestionsPerTrip = 1000
)

// checkRights checks that the Redis user may run every command on every kind of key. A script that lacked a right
// halfway would leave its write half done.
func (r *Repo) checkRights(ctx context.Context) error {
	var questions []question
	ask := func(kind string, keys []string) {
		for _, key := range keys {
			for _, command := range commandsOf[kind] {
				questions = append(questions, question{command: command, key: key})
			}
		}
	}
	if r.partitions[0] != untagged {
		ask("hash", []string{untagged.meta()})
	}
	for _, p := range r.partitions {
		for kind, keys := range p.keysOf(r.database) {
			if kind != "casts" || r.has("cast") {
				ask(kind, keys)
			}
		}
	}
	for some := range slices.Chunk(questions, min(questionsPerTrip*len(r.partitions), maxQuestionsPerTrip)) {
		err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
			for i := range some {
				some[i].ask(ctx, pipe)
			}
		})
		for _, q := range some {
			if missing := q.missing(); missing != nil {
				return missing
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (q *question) ask(ctx context.Context, pipe redis.Pipeliner) {
	var keys []string
	if q.key != "" {
		keys = []string{q.key}
	}
	var args []any
	for _, word := range strings.Fields(q.command) {
		if word == "KEY" {
			word = q.key
		}
		args = append(args, word)
	}
	q.answer = rightsScript.EvalSha(ctx, pipe, keys, args...)
}

// missing returns an error if the answer is that the right or the command is missing.
func (q *question) missing() error {
	answer, err := q.answer.Slice()
	if errors.Is(classify(err), ErrDenied) || err == nil && reply(answer).status() == "DENIED" {
		name, _, _ := strings.Cut(q.command, " ")
		missing := &RightError{Command: name, Key: q.key, Reply: reply(answer).text(1)}
		if err != nil {
			missing.Reply = err.Error()
		}
		return missing
	}
	if err == nil && reply(answer).status() == "UNKNOWN" {
		if strings.HasPrefix(q.command, "SPUBLISH") || strings.HasPrefix(q.command, "SSUBSCRIBE") {
			return &PartitionsError{"a site with tags needs Redis 7.0 or newer: " + reply(answer).text(1)}
		}
		return fmt.Errorf("%s needs a newer Redis: %s", q.command, reply(answer).text(1))
	}
	return nil
}

// RightError says that the Redis user lacks the right to run a command on a key, or on the channel with that name.
type RightError struct{ Command, Key, Reply string }

func (e *RightError) Error() string {
	return strings.TrimSpace("the Redis user needs the right to run "+e.Command+" "+e.Key) + ": " + e.Reply
}

// rights is what is known about the rights of the Redis user since the start, when it had all of them.
type rights struct {
	missing atomic.Bool // a write was denied since the last successful check

	mu      sync.Mutex
	checked time.Time // last check while missing
	err     error     // its result
}

// rightsPause is the minimum time between two checks of the rights while one is missing.
const rightsPause = time.Second

// write runs a script that writes. While the Redis user lacks a right, of which a denied write is the sign, nothing
// is written at all.
func (r *Repo) write(ctx context.Context, s *redis.Script, keys []string, args []any) (reply, error) {
	defer r.version.Add(1)
	return r.guard(ctx, func() (reply, error) { return r.run(ctx, s, keys, args) })
}

// guard calls a function that writes, unless a right is missing.
func (r *Repo) guard(ctx context.Context, call func() (reply, error)) (reply, error) {
	if err := r.mayWrite(ctx); err != nil {
		return nil, err
	}
	answer, err := call()
	if errors.Is(classify(err), ErrDenied) {
		r.rights.missing.Store(true)
		return nil, fmt.Errorf("%w: %w: %w", ErrReadOnly, ErrDenied, err)
	}
	return answer, err
}

// mayWrite returns an error while a right is missing.
func (r *Repo) mayWrite(ctx context.Context) error {
	if !r.rights.missing.Load() {
		return nil
	}
	r.rights.mu.Lock()
	defer r.rights.mu.Unlock()
	if !r.rights.missing.Load() {
		return nil
	}
	if now := time.Now(); now.Sub(r.rights.checked) >= rightsPause {
		r.rights.err, r.rights.checked = r.checkRights(ctx), now
		if r.rights.err == nil {
			r.rights.missing.Store(false)
			r.onRightsBack()
			return nil
		}
	}
	return fmt.Errorf("%w: %w: %w", ErrReadOnly, ErrDenied, r.rights.err)
}
