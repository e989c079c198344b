package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Reply is the reply of a script: a status and its details.
type Reply []any

// StatusReply returns the reply of a script. The error is ErrNoStatus if it does not begin with a status.
func StatusReply(command *redis.Cmd) (Reply, error) {
	answer, err := command.Slice()
	if err == nil && Reply(answer).Text(0) == "" {
		err = ErrNoStatus
	}
	return answer, err
}

// ErrNoStatus is the error of a reply that is not from a script of this program.
var ErrNoStatus = errors.New("the script's reply has no status")

// Status is the first element, which says what happened.
func (a Reply) Status() string { return a.Text(0) }

// Text returns element i, or an empty text if that is not a string.
func (a Reply) Text(i int) string { return element[string](a, i) }

// Number returns element i, or 0 if that is not a number.
func (a Reply) Number(i int) int64 { return element[int64](a, i) }

func element[T any](a Reply, i int) (value T) {
	if i < len(a) {
		value, _ = a[i].(T)
	}
	return value
}

// Fields calls set with each field and value of element i, a list of both in turn.
func (a Reply) Fields(i int, set func(field, value string)) error {
	pairs := element[[]any](a, i)
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

// CutBulk cuts a bulk string off the start of a raw reply, of RESP2 or RESP3.
func CutBulk(reply string) (text, rest string, ok bool) {
	kind, size, rest, ok := CutHeader(reply)
	if !ok || kind != '$' || len(rest)-2 < size || rest[size] != '\r' || rest[size+1] != '\n' {
		return "", "", false
	}
	return rest[:size], rest[size+2:], true
}

// CutHeader cuts a line with the type and the size of what follows off the start of a raw reply.
func CutHeader(reply string) (kind byte, size int, rest string, ok bool) {
	const maxSize = 1 << 30 // Redis allows 512 MB
	for i := 1; i < len(reply); i++ {
		switch c := reply[i]; {
		case c >= '0' && c <= '9' && size < maxSize/10:
			size = 10*size + int(c-'0')
		case c == '\r' && i > 1 && i+1 < len(reply) && reply[i+1] == '\n':
			return reply[0], size, reply[i+2:], true
		default:
			return 0, 0, "", false
		}
	}
	return 0, 0, "", false
}

// Texts runs a command that reads a list of strings. They share one allocation.
func (r *Store) Texts(ctx context.Context, args ...any) ([]string, error) {
	ctx = reads.on(ctx)
	raw := redis.NewRawCmd(ctx, args...)
	if err := r.Client.Process(ctx, raw); err != nil {
		return nil, err
	}
	if texts, ok := cutTexts(string(raw.Val())); ok {
		return texts, nil
	}
	command := redis.NewStringSliceCmd(ctx, args...) // it knows errors of Redis, and redirections
	_ = r.Client.Process(ctx, command)
	return command.Result()
}

// cutTexts returns the strings of a raw reply; ok is false if it is anything but a list of them.
func cutTexts(reply string) (texts []string, ok bool) {
	kind, count, rest, ok := CutHeader(reply)
	if !ok || kind != '*' {
		return nil, false
	}
	texts = make([]string, 0, min(count, len(rest)))
	for range count {
		var text string
		if text, rest, ok = CutBulk(rest); !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, rest == ""
}
