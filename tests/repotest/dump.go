package repotest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/tests/require"
)

// Dump returns the whole store as text, with the log applied: each key with its type, its content and whether it expires. How far
// the views have the log is left out: ids differ from run to run.
func (s *Site) Dump() string {
	s.T.Helper()
	_ = s.Views.CatchUpAll(s.Ctx) // unless the test has Redis refuse it
	keys := require.Value(s.Raw.Keys(s.Ctx, "*").Result())(s.T)
	slices.Sort(keys)
	kinds, contents, ttls := make([]*redis.StatusCmd, len(keys)), make([]func() any, len(keys)), make([]*redis.DurationCmd, len(keys))
	require.Value(s.Raw.Pipelined(s.Ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			kinds[i], ttls[i] = p.Type(s.Ctx, key), p.PTTL(s.Ctx, key)
		}
		return nil
	}))(s.T)
	if _, err := s.Raw.Pipelined(s.Ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			contents[i] = s.Content(p, kinds[i].Val(), key)
		}
		return nil
	}); err != nil && !errors.Is(err, redis.Nil) { // a key that has just expired
		s.T.Fatal(err)
	}
	var b strings.Builder
	for i, key := range keys {
		content := fmt.Sprint(contents[i]())
		isUnkept := strings.HasSuffix(key, "events:") && (content == "[]" || s.Rules.Events == 0)
		if !strings.HasSuffix(key, "views:") && !isUnkept {
			fmt.Fprintf(&b, "%s: %v, ends: %t\n", key, content, ttls[i].Val() > 0)
		}
	}
	return b.String()
}

// WantStore compares what Dump returns. when begins the message: what was done.
func (s *Site) WantStore(want string, when ...any) {
	s.T.Helper()
	if got := s.Dump(); got != want {
		s.T.Errorf("%s the store holds\n%s\nwant\n%s", fmt.Sprint(when...), got, want)
	}
}

// Content asks for what a key of this type holds.
func (s *Site) Content(p redis.Pipeliner, kind, key string) func() any {
	switch kind {
	case "hash":
		reply := p.HGetAll(s.Ctx, key) // printed in the order of the fields
		return func() any {
			delete(reply.Val(), "epoch")      // random
			delete(reply.Val(), "cursor_key") // random
			delete(reply.Val(), "uuid")
			return reply.Val()
		}
	case "set":
		reply := p.SMembers(s.Ctx, key)
		return func() any { return slices.Sorted(slices.Values(reply.Val())) }
	case "zset":
		reply := p.ZRangeWithScores(s.Ctx, key, 0, -1)
		return func() any { return reply.Val() }
	case "stream":
		reply := p.XRange(s.Ctx, key, "-", "+")
		return func() any {
			var entries []any // without their ids, which come from the server's clock
			for _, entry := range reply.Val() {
				entries = append(entries, entry.Values)
			}
			return entries
		}
	case "list":
		reply := p.LRange(s.Ctx, key, 0, -1)
		return func() any { return reply.Val() }
	}
	reply := p.Get(s.Ctx, key)
	return func() any { return reply.Val() }
}

// WithoutCounter removes from a dump what a refused post keeps: the number that it drew, and the look of its poster's name.
func WithoutCounter(dump string) string {
	return regexp.MustCompile(`(?m)^ *(\{p\d+\})?(article:|name:[0-9a-f]+): .*\n?`).ReplaceAllString(dump, "")
}

// Snapshot returns a function that restores what the store holds now.
func (s *Site) Snapshot() (restore func()) {
	s.T.Helper()
	var restores [][]any
	for _, key := range s.Raw.Keys(s.Ctx, "*").Val() {
		milliseconds := max(s.Do("PTTL", key).(int64), 0) // 0: it does not expire
		restores = append(restores, []any{key, milliseconds, s.Do("DUMP", key)})
	}
	return func() {
		s.T.Helper()
		s.Do("FLUSHALL")
		for _, r := range restores {
			s.Do("RESTORE", r...)
		}
	}
}

// Do runs a command as redis-cli does: words separated by blanks, then the arguments in more.
func (s *Site) Do(command string, more ...any) any {
	s.T.Helper()
	var args []any
	for word := range strings.FieldsSeq(command) {
		args = append(args, word)
	}
	reply, err := s.Raw.Do(s.Ctx, append(args, more...)...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.T.Fatalf("%s: %v", command, err)
	}
	return reply
}

// DoLines runs commands, one a line.
func (s *Site) DoLines(commands string) {
	s.T.Helper()
	for line := range strings.Lines(commands) {
		s.Do(line)
	}
}

// TTL returns how long the key still lives. Below 0 it does not exist or does not expire.
func (s *Site) TTL(key string) time.Duration {
	s.T.Helper()
	return time.Duration(s.Do("PTTL", key).(int64)) * time.Millisecond
}
