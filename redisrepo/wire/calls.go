package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// Mode is how Read runs its commands: without one, other clients may be served in between.
type Mode int

// Atomic runs all commands at one moment. A key of the wrong type fails its command only.
const Atomic Mode = 1

// Read runs the commands that queue adds in one round trip. Scripts are called by digest, and again by their text if the
// server does not know them, because it was restarted or has just become a primary. It returns the first command's error.
// redis.Nil is not an error: the caller checks the commands for it.
func (r *Store) Read(ctx context.Context, queue func(redis.Pipeliner), mode ...Mode) error {
	return r.run(reads.on(ctx), queue, mode...)
}

// ReadEach is Read with one command for each element of a list, such as partitions. It returns the commands in that
// order.
func ReadEach[T any, C redis.Cmder](ctx context.Context, r *Store, of []T, queue func(redis.Pipeliner, T) C, mode ...Mode) ([]C, error) {
	commands := make([]C, len(of))
	err := r.Read(ctx, func(pipe redis.Pipeliner) {
		for i, element := range of {
			commands[i] = queue(pipe, element)
		}
	}, mode...)
	return commands, err
}

// Sum returns the sum of a command's replies from all partitions.
func (r *Store) Sum(ctx context.Context, count func(redis.Pipeliner, keys.Partition) *redis.IntCmd) (n int, err error) {
	counts, err := ReadEach(ctx, r, r.Partitions, count)
	for _, c := range counts {
		n += int(c.Val())
	}
	return n, err
}

// run is Read on the lane of its context.
func (r *Store) run(ctx context.Context, queue func(redis.Pipeliner), mode ...Mode) error {
	commands, err := r.pipelined(ctx, queue, mode...)
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
		_, _ = r.pipelined(ctx, func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, unknown...) })
	}
	for _, c := range commands {
		err := c.Err()
		if err != nil && !errors.Is(err, redis.Nil) && (len(mode) == 0 || !redis.HasErrorPrefix(err, "WRONGTYPE")) {
			return err
		}
	}
	return nil
}

// Write is Read for commands that write: replicas confirm them if the site is set up so, none runs while the Redis user
// lacks a right, and Version grows.
func (r *Store) Write(ctx context.Context, queue func(redis.Pipeliner)) error {
	defer r.Changes.Add(1)
	_, err := r.Guard(ctx, func() (Reply, error) { return nil, r.run(r.confirmed(ctx), queue) })
	return err
}

// Call calls a script that writes, under the conditions of Write.
func (r *Store) Call(ctx context.Context, s *redis.Script, keys []string, args []any) (Reply, error) {
	defer r.Changed(max(0, slices.Index(r.Partitions, r.PartitionOfKey(keys[0]))))
	return r.Guard(ctx, func() (Reply, error) { return r.call(r.confirmed(ctx), ScriptWords(s, keys, args)) })
}

// CallUnconfirmed calls a script that counts. Counts may be lost, so no replica confirms them, and they do not change
// Version.
func (r *Store) CallUnconfirmed(ctx context.Context, s *redis.Script, keys []string, args []any) (Reply, error) {
	return r.Guard(ctx, func() (Reply, error) { return r.call(writes.on(ctx), ScriptWords(s, keys, args)) })
}

// WriteDerived is Write for data derived from other data: it can be rebuilt, so no replica confirms it, and Version
// does not change.
func (r *Store) WriteDerived(ctx context.Context, queue func(redis.Pipeliner)) error {
	_, err := r.Guard(ctx, func() (Reply, error) { return nil, r.run(writes.on(ctx), queue) })
	return err
}

// CallWords calls a script that writes by the words of its command, see ScriptWords, without Guard. again reports
// whether the client's hook (failover.LimitWaiting) called the script again because the first reply was lost. Then the
// reply may be that of a repetition.
func (r *Store) CallWords(ctx context.Context, words []any) (answer Reply, again bool, err error) {
	ctx = r.confirmed(ctx)
	for {
		command := &failover.Once{Cmd: ScriptCommand(ctx, words)}
		err = r.send(ctx, command)
		again = again || command.Lost
		switch {
		case redis.HasErrorPrefix(err, "NOSCRIPT"): // also after a repeat: the server may have been restarted
			r.byText(words)
		case err != nil:
			return nil, false, r.nameForeign(ctx, words, err)
		default:
			answer, err = StatusReply(command.Cmd)
			return answer, again, err
		}
	}
}

// Send runs one command that writes and does not change Version. Its error may be redis.Nil.
func (r *Store) Send(ctx context.Context, command redis.Cmder) error {
	return r.send(r.confirmed(ctx), command)
}

// Guard calls a function that writes, unless a right is missing.
func (r *Store) Guard(ctx context.Context, call func() (Reply, error)) (Reply, error) {
	if err := r.MayWrite(ctx); err != nil {
		return nil, err
	}
	answer, err := call()
	if errors.Is(failover.Class(err), failover.ErrDenied) {
		r.rights.missing.Store(true)
		return nil, fmt.Errorf("%w: %w: %w", failover.ErrReadOnly, failover.ErrDenied, err)
	}
	return answer, err
}

// ConfirmWrites makes replicas confirm writes, if the site is set up so, and checks that the Redis user has the rights
// for this.
func (r *Store) ConfirmWrites(ctx context.Context) error {
	if r.acks == 0 {
		return nil
	}
	return failover.Confirm(ctx, r.Client, r.acks)
}

// confirmed returns a context for a call all of whose commands write.
func (r *Store) confirmed(ctx context.Context) context.Context {
	if r.acks == 0 {
		return writes.on(ctx)
	}
	return confirmed.on(context.WithValue(ctx, failover.WritesKey{}, new(failover.Writes)))
}

// send runs a command. If replicas confirm it, WAIT follows it in a pipeline.
func (r *Store) send(ctx context.Context, command redis.Cmder) error {
	if failover.WritesOf(ctx) == nil {
		return r.Client.Process(ctx, command)
	}
	_, _ = r.pipelined(ctx, func(pipe redis.Pipeliner) { _ = pipe.Process(ctx, command) })
	return command.Err()
}

// call runs a script.
func (r *Store) call(ctx context.Context, words []any) (Reply, error) {
	command, err := r.runScript(ctx, words)
	if err != nil {
		return nil, r.nameForeign(ctx, words, err)
	}
	return StatusReply(command)
}

// runScript runs a script by its digest, or by its text if the server does not know the digest.
func (r *Store) runScript(ctx context.Context, words []any) (*redis.Cmd, error) {
	command := ScriptCommand(ctx, words)
	err := r.send(ctx, command)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		r.byText(words)
		command = ScriptCommand(ctx, words)
		err = r.send(ctx, command)
	}
	return command, err
}

// nameForeign returns the error of a script, with the key if it is one of another type than its kind.
func (r *Store) nameForeign(ctx context.Context, words []any, err error) error {
	if !strings.Contains(err.Error(), "WRONGTYPE") {
		return err
	}
	var scriptKeys []string
	for _, key := range words[3 : 3+words[2].(int)] {
		scriptKeys = append(scriptKeys, key.(string))
	}
	if _, named := r.runScript(ctx, ScriptWords(foreignScript, scriptKeys, nil)); redis.HasErrorPrefix(named, "WRONGTYPE") {
		return named
	}
	return err
}

// pipelined runs the commands that queue adds in one round trip. Each has its own error. go-redis sets none if its
// connection could not log in, so that a reply would look empty.
func (r *Store) pipelined(ctx context.Context, queue func(redis.Pipeliner), mode ...Mode) ([]redis.Cmder, error) {
	fill := func(p redis.Pipeliner) error {
		queue(p)
		return nil
	}
	var commands []redis.Cmder
	var err error
	if len(mode) > 0 {
		commands, err = r.Client.TxPipelined(ctx, fill)
	} else {
		commands, err = r.Client.Pipelined(ctx, fill)
	}
	if err != nil && failover.FirstError(commands, nil) == nil {
		_ = failover.FailAll(commands, err)
	}
	return commands, err
}

// byText turns the words of a call by digest into those of a call by text.
func (r *Store) byText(words []any) {
	digest, _ := words[1].(string)
	words[0], words[1] = "eval", cmp.Or(TextOf(digest), r.VotingText)
}

// ScriptWords returns the words of a call by digest.
func ScriptWords(s *redis.Script, keys []string, args []any) []any {
	words := append(make([]any, 0, 3+len(keys)+len(args)), "evalsha", s.Hash(), len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	return append(words, args...)
}

// ScriptCommand returns the command of a script's call.
func ScriptCommand(ctx context.Context, words []any) *redis.Cmd {
	command := redis.NewCmd(ctx, words...)
	if words[2] != 0 {
		command.SetFirstKeyPos(3)
	}
	return command
}

// Anys returns texts as arguments.
func Anys(texts []string) []any {
	return site.Collect(texts, func(text string) any { return text })
}

// QueueUnrepeated queues a call of a script by its digest.
func QueueUnrepeated(ctx context.Context, pipe redis.Pipeliner, s *redis.Script, keys []string, args []any) *redis.Cmd {
	command := ScriptCommand(ctx, ScriptWords(s, keys, args))
	_ = pipe.Process(ctx, &failover.Unrepeated{Cmd: command})
	return command
}
