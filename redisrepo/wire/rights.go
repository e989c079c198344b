package wire

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

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
)

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

// CheckRights checks that the Redis user may run each kind of key's commands, in all partitions. A script that lacks
// one may leave its write half done.
func (r *Store) CheckRights(ctx context.Context) error {
	var questions []question
	ask := func(key string, commands []string) {
		for _, command := range commands {
			questions = append(questions, question{command: command, key: key})
		}
	}
	for _, kind := range keys.Kinds {
		if kind.Name == "meta" && r.Partitions[0] != keys.Untagged {
			ask(kind.Commands(keys.Untagged, r.Database))
		}
		if kind.Name == "cast" && !r.Has("cast") {
			continue // such keys are passed to no script
		}
		for _, p := range r.Partitions {
			ask(kind.Commands(p, r.Database))
			if kind.Holds == keys.Channel {
				break // all partitions have one
			}
		}
	}
	for range r.Partitions {
		ask("", keys.Keyless)
	}
	for some := range slices.Chunk(questions, min(questionsPerTrip*len(r.Partitions), maxQuestionsPerTrip)) {
		err := r.Read(ctx, func(pipe redis.Pipeliner) {
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
	if errors.Is(failover.Class(err), failover.ErrDenied) || err == nil && Reply(answer).Status() == "DENIED" {
		name, _, _ := strings.Cut(q.command, " ")
		missing := &failover.RightError{Command: name, Key: q.key, Reply: Reply(answer).Text(1)}
		if err != nil {
			missing.Reply = err.Error()
		}
		return missing
	}
	if err == nil && Reply(answer).Status() == "UNKNOWN" {
		return fmt.Errorf("%s needs a newer Redis: %s", q.command, Reply(answer).Text(1))
	}
	return nil
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

// MayWrite returns ErrReadOnly, wrapped, while a right is missing. It checks again, at most once a second.
func (r *Store) MayWrite(ctx context.Context) error {
	if !r.rights.missing.Load() {
		return nil
	}
	r.rights.mu.Lock()
	defer r.rights.mu.Unlock()
	if !r.rights.missing.Load() {
		return nil
	}
	if now := time.Now(); now.Sub(r.rights.checked) >= rightsPause {
		r.rights.err, r.rights.checked = r.CheckRights(ctx), now
		if r.rights.err == nil {
			r.rights.missing.Store(false)
			return nil
		}
	}
	return fmt.Errorf("%w: %w: %w", failover.ErrReadOnly, failover.ErrDenied, r.rights.err)
}
