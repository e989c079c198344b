package wire

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Reply is the reply of a script: a status and what belongs to it.
type Reply []any

// StatusReply returns the reply of a script, which begins with a status.
func StatusReply(command *redis.Cmd) (Reply, error) {
	answer, err := command.Slice()
	if err == nil && Reply(answer).Text(0) == "" {
		err = ErrNoStatus
	}
	return answer, err
}

// ErrNoStatus is the error of a reply that is not one of this program's scripts.
var ErrNoStatus = errors.New("the script's reply has no status")

// Status is the first element, which says what happened.
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
