package keys

import (
	"frontpage/redisrepo/site"
)

const CastPrefix = "cast:"

// CommandsOf lists the commands that the scripts and this package run, by the type of their key. KEY stands for
// the key. Redis 6.2 really runs them: each form fails or changes nothing.
var CommandsOf = map[string][]string{
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
	"channel": {"PUBLISH KEY " + site.Hello, "SUBSCRIBE KEY"},
	"shard":   {"SPUBLISH KEY " + site.Hello, "SSUBSCRIBE KEY"},
	"":        {"TIME", "PING", "SCAN 0 COUNT 1", "DBSIZE", "ZINTER 0 KEY", "MULTI", "EXEC", "SCRIPT LOAD a", "EVAL a 0", "EVALSHA a 0"},
}

// Reserved is a name that no group, user or other part of a key has.
const Reserved = "/"

// KeysOf returns keys of all shapes by type, with those types of CommandsOf that they need. Where a command could
// have an effect, the key is one that is never used.
func (p Partition) KeysOf(database int) map[string][]string {
	listings := []string{p.Listing(site.ByScore, Reserved), p.Listing(site.ByTime, Reserved)}
	tops := []string{p.Top("h", 0, Reserved), p.Top("d", 0, Reserved), p.Top("m", 0, Reserved)}
	channel := "channel"
	if p.Sharded() {
		channel = "shard"
	}
	return map[string][]string{
		"hash":    {p.Article(0), p.History(0), p.Audit(0), p.Meta(), p.Clock(""), p.Clock(Reserved)},
		"set":     {p.Voted(0), p.Downvoted(0), p.Group(Reserved)},
		"zset":    append([]string{p.Ranking(site.ByTime), p.Ranking(site.ByScore), p.Groups(), p.Sizes(), p.Posted(Reserved), p.Host(Reserved), p.Deleted(), p.Front(), p.Best()}, append(tops, listings...)...),
		"listing": listings,
		"string":  {p.Counter(), p.Post(Reserved, Reserved), p.Link(Reserved), p.Document("///"), p.Rate(site.Subject{Rule: Reserved, User: Reserved})},
		"claim":   {p.Post(Reserved, Reserved)},
		"casts":   {p.Cast(Reserved, 0)},
		"voters":  {p.Voted(0), p.Downvoted(0), p.Audit(0)},
		"top":     tops,
		"stream":  {p.Moderation(), p.Events()},
		channel:   {p.Changes(database)},
		"":        {""},
	}
}
