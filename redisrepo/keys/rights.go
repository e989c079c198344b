package keys

import (
	"slices"

	"frontpage/redisrepo/site"
)

const shardedChannel Type = "sharded channel"

// commandsOf lists the commands that the scripts and this program run on keys of a type. KEY stands for the key. Redis
// 6.2 really runs them: each form fails or changes nothing, or the key is one that is never used.
var commandsOf = map[Type][]string{
	Hash: {
		"HSET KEY a b c", "HSETNX KEY a", "HINCRBY KEY a b", "HDEL KEY /", "HMGET KEY a", "HGET KEY a", "HGETALL KEY",
		"HLEN KEY", "HKEYS KEY", "HSCAN KEY 0", "EXISTS KEY",
	},
	Set: {"SADD KEY a", "SREM KEY a", "SCARD KEY", "SISMEMBER KEY a", "SMISMEMBER KEY a", "SMEMBERS KEY", "SSCAN KEY 0", "DEL KEY", "EXISTS KEY"},
	SortedSet: {
		"ZADD KEY a b", "ZREM KEY /", "ZINCRBY KEY a b", "ZSCORE KEY a", "ZCARD KEY", "ZCOUNT KEY 0 0", "ZRANK KEY a", "ZREVRANK KEY a",
		"ZRANGE KEY 0 0", "ZSCAN KEY 0", "ZMSCORE KEY a", "ZREMRANGEBYSCORE KEY 1 0", "ZREMRANGEBYRANK KEY a a", "ZINTERSTORE KEY 0 KEY",
	},
	String:         {"GET KEY", "SET KEY a EX b", "INCRBY KEY a", "GETEX KEY EX a"},
	Stream:         {"XADD KEY NOMKSTREAM MAXLEN ~ 1000000 0-0 a b", "XDEL KEY 0-0", "XLEN KEY", "XRANGE KEY - + COUNT 1", "XREVRANGE KEY + - COUNT 1"},
	Channel:        {"PUBLISH KEY " + site.Hello, "SUBSCRIBE KEY"},
	shardedChannel: {"SPUBLISH KEY " + site.Hello, "SSUBSCRIBE KEY"},
}

// Commands that are run on a key that expires, or that ends with its feature. They have an effect.
var (
	expiring = []string{"EXPIRE KEY a", "PEXPIRE KEY a", "PERSIST KEY", "PTTL KEY", "DEL KEY", "UNLINK KEY"}
	dropped  = []string{"UNLINK KEY"}
)

// Keyless are the commands that are run without a key of a kind.
var Keyless = []string{"TIME", "PING", "SCAN 0 COUNT 1", "DBSIZE", "ZINTER 0 KEY", "MULTI", "EXEC", "SCRIPT LOAD a", "EVAL a 0", "EVALSHA a 0"}

// Reserved is a name that no group, user or other part of a key has.
const Reserved = "/"

// Commands returns a key of the kind, and what is run on such keys. Of a kind with more than one key in a partition, it
// is one that is never used.
func (k Kind) Commands(p Partition, database int) (key string, commands []string) {
	commands = commandsOf[k.Holds]
	switch {
	case k.Holds == Channel && p.Sharded():
		return p.Changes(database), commandsOf[shardedChannel]
	case k.Holds == Channel:
		return p.Changes(database), commands
	case k.Of == All:
		return p.Key(k.Name, ":"), commands
	case k.Expires:
		commands = slices.Concat(commands, expiring)
	case k.Feature != "":
		commands = slices.Concat(commands, dropped)
	}
	return p.Key(k.Name, ":", Reserved), commands
}
