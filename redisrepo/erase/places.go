package erase

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/wire"
)

// place is where a kind of keys has the names of users, and how one leaves it.
type place struct {
	// owner returns the user whom a key is of, by what follows its first colon; nil: keys are of no user. The user's own keys
	// are removed.
	owner func(rest string) string
	// ask queues a question about a key, and returns whether the answer is that leave has to be called. It may be so though the
	// key does not have the name.
	ask func(ctx context.Context, pipe redis.Pipeliner, j *job, f found) func() bool
	// leave has the name leave a key, and reports whether anything changed.
	leave func(ctx context.Context, j *job, f found) (bool, error)
	// words returns the words of users in a field of a hash, or of an entry, and its value; nil: there are none.
	words func(field, value string) string
}

func (p place) isNamed() bool { return p.owner != nil || p.ask != nil || p.words != nil }

// is reports whether a key is of the user who is erased.
func (p place) is(j *job, rest string) bool { return p.owner != nil && p.owner(rest) == string(j.name) }

// places are those of all kinds in keys.Kinds, by name and type. Sessions are encrypted with their cookies, and contacts with the
// operator's secret: both are not looked at, and expire.
var places = map[string]place{
	"article hash":      {ask: askFields("poster", "deleted_by", "why"), leave: leaveArticle, words: articleWords},
	"history hash":      {ask: askValues, leave: leaveArticle, words: afterLine},
	"voted set":         {ask: askSet, leave: leaveVoters},
	"downvoted set":     {ask: askSet, leave: leaveVoters},
	"audit hash":        {ask: askField, leave: leaveVoters},
	"cast zset":         {owner: beforeLast},
	"post string":       {owner: beforeLast},
	"rate string":       {owner: subject},
	"reported zset":     {owner: whole},
	"blocked set":       {owner: whole, ask: askSet, leave: leaveSet},
	"saved zset":        {owner: whole},
	"following zset":    {owner: whole, ask: askRank, leave: leaveRank},
	"blockers zset":     {ask: askRank, leave: leaveRank},
	"flags hash":        {ask: askValues, leave: leaveFlags, words: afterLine},
	"void hash":         {ask: askValues, leave: leaveVoids, words: afterLine},
	"denials hash":      {ask: askValues, leave: leaveDenials, words: afterLine},
	"account string":    {ask: askText, leave: leaveAccount},
	"name string":       {ask: askText, leave: leaveKey},
	"query string":      {ask: askDocument, leave: leaveKey},
	"moderation stream": {ask: always, leave: leaveLog, words: logWords},
	"events stream":     {ask: always, leave: leaveLog, words: logWords},

	"posted zset":    {}, // erasearticle.lua takes the articles out, and nothing else is in it
	"article string": {}, "time zset": {}, "score zset": {}, "group set": {}, "groups zset": {}, "sizes zset": {}, "host zset": {},
	"top zset": {}, "clock hash": {}, "front zset": {}, "best zset": {}, "deleted zset": {}, "unexplained zset": {}, "views hash": {}, "flagged zset": {},
	"contact hash": {}, "link string": {}, "state string": {}, "session string": {}, "ended string": {}, "erased zset": {},
	"lease hash": {}, "described hash": {}, "webhooks hash": {}, "webhook hash": {}, "undelivered hash": {},
	"erasing hash": {}, "erasing stream": {}, "meta hash": {}, "changes channel": {},
}

// The owners of keys: all of the rest, what is before its last colon, and the subject of a rate.
func whole(rest string) string { return rest }

func beforeLast(rest string) string { return rest[:max(strings.LastIndexByte(rest, ':'), 0)] }

func subject(rest string) string {
	_, subject, _ := strings.Cut(rest, ":")
	name, _ := strings.CutPrefix(subject, "user:")
	return name
}

func always(context.Context, redis.Pipeliner, *job, found) func() bool {
	return func() bool { return true }
}

func askSet(ctx context.Context, pipe redis.Pipeliner, j *job, f found) func() bool {
	reply := pipe.SIsMember(ctx, f.key, j.member)
	return reply.Val
}

func askField(ctx context.Context, pipe redis.Pipeliner, j *job, f found) func() bool {
	reply := pipe.HGet(ctx, f.key, j.member)
	return func() bool { return reply.Err() == nil }
}

func askRank(ctx context.Context, pipe redis.Pipeliner, j *job, f found) func() bool {
	reply := pipe.ZScore(ctx, f.key, j.member)
	return func() bool { return reply.Err() == nil }
}

// askFields asks for fields of a hash whose values may contain the user's member.
func askFields(fields ...string) func(context.Context, redis.Pipeliner, *job, found) func() bool {
	return func(ctx context.Context, pipe redis.Pipeliner, j *job, f found) func() bool {
		reply := pipe.HMGet(ctx, f.key, fields...)
		return func() bool {
			return slices.ContainsFunc(reply.Val(), func(value any) bool {
				text, _ := value.(string)
				return strings.Contains(text, j.member)
			})
		}
	}
}

// mostFields is how many fields of a hash are read at once: it takes Redis less than a millisecond.
const mostFields = 500

// askValues asks for the fields of a hash that may contain the user's member. A hash with more fields may have it.
func askValues(ctx context.Context, pipe redis.Pipeliner, j *job, f found) func() bool {
	reply := pipe.HScan(ctx, f.key, 0, "", mostFields)
	return func() bool {
		pairs, cursor, _ := reply.Result()
		return cursor != 0 || len(j.ofUser(pairs)) > 0
	}
}

// ofUser returns those of the fields, each followed by its value, that are of the user, or whose values name the user at the end of
// their first line.
func (j *job) ofUser(pairs []string) (fields []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		line, _, _ := strings.Cut(pairs[i+1], "\n")
		if pairs[i] == j.member || strings.HasSuffix(line, " "+j.member) {
			fields = append(fields, pairs[i])
		}
	}
	return fields
}

// leaveFields calls a script with the fields of a hash that are of the user, a few at a time, after keys and args. Without
// any, it calls it once if always is set.
func (j *job) leaveFields(ctx context.Context, script *redis.Script, key string, always bool, args ...any) (changed bool, err error) {
	var fields []string
	err = j.Store.Scan(ctx, wire.Scan{
		Command: redis.Cmdable.HScan, Key: key, Step: 1, Count: mostFields, Begin: func() { fields = nil },
		Handle: func(pairs []string) error {
			j.looked.Add(int64(len(pairs) / 2))
			fields = append(fields, j.ofUser(pairs)...)
			return nil
		},
	})
	if err != nil {
		return false, err
	}
	for first := true; len(fields) > 0 || first && always; first = false {
		some := fields[:min(len(fields), wire.BatchSize)]
		fields = fields[len(some):]
		answer, err := j.Store.Call(ctx, script, []string{key}, append(slices.Clone(args), wire.Anys(some)...))
		if err != nil {
			return changed, err
		}
		changed = changed || answer.Number(1) > 0
	}
	return changed, nil
}

func askText(ctx context.Context, pipe redis.Pipeliner, j *job, f found) func() bool {
	reply := pipe.Get(ctx, f.key)
	return func() bool { return reply.Val() == string(j.name) }
}

// askDocument asks for a document that may contain the name, however its characters are escaped.
func askDocument(ctx context.Context, pipe redis.Pipeliner, j *job, f found) func() bool {
	reply := pipe.Get(ctx, f.key)
	return func() bool { return hasName(reply.Val(), string(j.name)) }
}

func leaveKey(ctx context.Context, j *job, f found) (bool, error) { return j.unlink(ctx, f) }

func leaveSet(ctx context.Context, j *job, f found) (bool, error) {
	return j.write(ctx, func(pipe redis.Pipeliner) *redis.IntCmd { return pipe.SRem(ctx, f.key, j.member) })
}

func leaveRank(ctx context.Context, j *job, f found) (bool, error) {
	return j.write(ctx, func(pipe redis.Pipeliner) *redis.IntCmd { return pipe.ZRem(ctx, f.key, j.member) })
}

func leaveDenials(ctx context.Context, j *job, _ found) (bool, error) {
	return j.denials(ctx, j.erasing())
}

// leaveAccount removes an account. The account that has the name, in any case and form of its letters, may be another one.
func leaveAccount(ctx context.Context, j *job, f found) (bool, error) {
	owner, err := j.Sessions.NameOwnerKey(ctx, j.name, f.rest)
	if err == nil && owner != "" {
		err = j.Store.Write(ctx, func(pipe redis.Pipeliner) { pipe.Unlink(ctx, owner) })
	}
	if err != nil {
		return false, err
	}
	return j.unlink(ctx, f)
}

// The words of users: in the hash of an article, in values after a line, and in entries of logs.
func articleWords(field, value string) string {
	switch field {
	case "title", "text", "link":
		return value
	case "why":
		return afterLine(field, value)
	}
	return ""
}

func afterLine(_, value string) string {
	_, words, _ := strings.Cut(value, "\n")
	return words
}

func logWords(field, value string) string {
	if slices.Contains([]string{"title", "link", "reason", "basis"}, field) {
		return value
	}
	return ""
}
