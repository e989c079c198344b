package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
)

// Pipelined runs the commands that queue adds in one round trip. Each has its own error. go-redis sets none if its
// connection could not log in, so that a reply would look empty.
func (r *Store) Pipelined(ctx context.Context, queue func(redis.Pipeliner)) ([]redis.Cmder, error) {
	commands, err := r.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		queue(p)
		return nil
	})
	if err != nil && failover.FirstError(commands, nil) == nil {
		_ = failover.FailAll(commands, err)
	}
	return commands, err
}

// Pipeline runs the commands that queue adds in one round trip. Scripts are called by digest. Those that a server does
// not know, because it was restarted or has just become a primary, are called again by their text.
//
// Replies of redis.Nil are not errors: the caller checks the commands for them.
func (r *Store) Pipeline(ctx context.Context, queue func(redis.Pipeliner)) error {
	commands, err := r.Pipelined(ctx, queue)
	if err == nil {
		return nil
	}
	var unknown []redis.Cmder
	for _, c := range commands {
		if redis.HasErrorPrefix(c.Err(), "NOSCRIPT") {
			r.byText(c.Args())
			c.SetErr(nil) // go-redis would keep it if no connection can send the call
			unknown = append(unknown, c)
		}
	}
	if len(unknown) > 0 {
		_, _ = r.Pipelined(ctx, func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, unknown...) })
	}
	if err := failover.FirstError(commands, nil); !errors.Is(err, redis.Nil) {
		return err
	}
	return nil
}

// byText turns the words of a call by digest into those of a call by text.
func (r *Store) byText(words []any) {
	digest, _ := words[1].(string)
	words[0], words[1] = "eval", cmp.Or(TextOf(digest), r.VotingTexts[digest])
}

// Reply is the reply of a script: a status and what belongs to it.
type Reply []any

// Run calls a script that writes by its digest, or by its text if the server does not know the digest.
func (r *Store) Run(ctx context.Context, s *redis.Script, keys []string, args []any) (Reply, error) {
	return r.RunUnconfirmed(r.Confirmed(ctx), s, keys, args)
}

// RunUnconfirmed is run without waiting for replicas, for a script whose lost writes are no harm.
func (r *Store) RunUnconfirmed(ctx context.Context, s *redis.Script, keys []string, args []any) (Reply, error) {
	words := ScriptWords(s, keys, args)
	command := ScriptCommand(ctx, words)
	err := r.Send(ctx, command)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		r.byText(words)
		command = ScriptCommand(ctx, words)
		err = r.Send(ctx, command)
	}
	if err != nil {
		return nil, err
	}
	return StatusReply(command)
}

// ScriptWords are the words of a call by digest.
func ScriptWords(s *redis.Script, keys []string, args []any) []any {
	words := append(make([]any, 0, 3+len(keys)+len(args)), "evalsha", s.Hash(), len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	return append(words, args...)
}

func ScriptCommand(ctx context.Context, words []any) *redis.Cmd {
	command := redis.NewCmd(ctx, words...)
	if words[2] != 0 {
		command.SetFirstKeyPos(3)
	}
	return command
}

// StatusReply returns the reply of a script, which begins with a status.
func StatusReply(command *redis.Cmd) (Reply, error) {
	answer, err := command.Slice()
	if err == nil && Reply(answer).Text(0) == "" {
		err = ErrNoStatus
	}
	return answer, err
}

// RunKnowing is run for the words of a whole command, and reports whether the client's hook (LimitWaiting) called the
// script again because the first reply was lost. Then the reply may be about what the first call left.
func (r *Store) RunKnowing(ctx context.Context, words []any) (answer Reply, again bool, err error) {
	ctx = r.Confirmed(ctx)
	for {
		command := &failover.Once{Cmd: ScriptCommand(ctx, words)}
		err = r.Send(ctx, command)
		again = again || command.Lost
		switch {
		case redis.HasErrorPrefix(err, "NOSCRIPT"): // also after a repeat: the server may have been restarted
			r.byText(words)
		case err != nil:
			return nil, false, err
		default:
			answer, err = StatusReply(command.Cmd)
			return answer, again, err
		}
	}
}

var ErrNoStatus = errors.New("the script's reply has no status")

func (a Reply) Status() string { return a.Text(0) }

// Text is element i, or empty if that is not a string.
func (a Reply) Text(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := a[i].(string)
	return s
}

// Number is element i, or 0 if that is not a number.
func (a Reply) Number(i int) int64 {
	if i >= len(a) {
		return 0
	}
	n, _ := a[i].(int64)
	return n
}

// Fields calls set with each field and value of element i, a list of both in turn.
func (a Reply) Fields(i int, set func(field, value string)) error {
	var pairs []any
	if i < len(a) {
		pairs, _ = a[i].([]any)
	}
	if len(pairs) == 0 || len(pairs)%2 != 0 {
		return fmt.Errorf("the script's reply %v has no hash at %d", a, i)
	}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		field, _ := pairs[0].(string)
		value, _ := pairs[1].(string)
		set(field, value)
	}
	return nil
}
