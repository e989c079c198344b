package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/redisrepo"
)

// UserError is a broken rule that a person can act on, as a payload shows it.
type UserError interface{ IsUserError() }

// BasicUserError is a user error that has nothing to add to its code.
type BasicUserError redisrepo.Error

// IsUserError makes it one of the types that the schema's interface may hold.
func (*BasicUserError) IsUserError() {}

// unauthenticated is the one code of the schema that redisrepo does not know:
// there, every call names its user.
const unauthenticated redisrepo.Code = "UNAUTHENTICATED"

// Codes of top-level errors. gqlgen has two more, for documents that do not
// parse and that are not valid.
const (
	codeBadInput    = "BAD_USER_INPUT" // an argument is not of its form; message and path say which
	codeUnavailable = "UNAVAILABLE"    // the store does not answer; the request can be repeated
	codeInternal    = "INTERNAL"       // a fault that was logged
)

// userErrors splits an error in those for the viewer and a fault. A nil error
// gives an empty list, which is what a payload shows when all went well.
func userErrors(err error) ([]UserError, error) {
	shown := []UserError{}
	var refusal redisrepo.Refusal
	if errors.As(err, &refusal) {
		for _, e := range refusal {
			shown = append(shown, (*BasicUserError)(e))
		}
		return shown, nil
	}
	return shown, err
}

// badInput refuses a value that gqlgen could not make out.
func badInput(message string) error {
	return redisrepo.Refusal{{Code: redisrepo.Invalid, Message: message}}
}

// presentError is the only place where an error becomes something that a
// stranger sees. What is not meant for them is logged and shown as internal.
func presentError(log *slog.Logger) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		var refusal redisrepo.Refusal
		var overflow *graphql.IntegerError
		var syntax *strconv.NumError
		switch {
		case errors.As(err, &refusal):
			mask(shown, codeBadInput, refusal.Error())
		case errors.As(err, &overflow), errors.As(err, &syntax):
			mask(shown, codeBadInput, "an Int is a whole number of 32 bits")
		case errors.Is(err, redisrepo.ErrUnavailable):
			log.WarnContext(ctx, "store unavailable", "path", shown.Path.String(), "err", errors.Unwrap(shown))
			mask(shown, codeUnavailable, "the store does not answer: try again")
		case errors.Is(err, context.Canceled):
			mask(shown, codeInternal, "the request was cancelled")
		case errors.Unwrap(shown) != nil:
			log.ErrorContext(ctx, "resolver failed", "path", shown.Path.String(), "err", errors.Unwrap(shown))
			mask(shown, codeInternal, "internal error")
		}
		return shown
	}
}

func mask(shown *gqlerror.Error, code, message string) {
	shown.Message, shown.Err = message, nil
	shown.Extensions = map[string]any{"code": code}
}

// recovered turns a panic into an error, which presentError logs once.
func recovered(_ context.Context, cause any) error {
	return fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
}
