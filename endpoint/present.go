package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"frontpage/redisrepo"
)

// longestMessage is how much of a message is shown, bytes: the parser and the
// validator quote documents in theirs.
const longestMessage = 300

// errReported stands for a fault that is in the log already.
var errReported = errors.New("reported")

// presentError is the only place where an error becomes something that a
// stranger sees. Whatever is not known to be meant for them is logged and shown
// as internal.
func presentError(log *slog.Logger, limits Limits) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		var why *refused
		var refusal redisrepo.Refusal
		var overflow *graphql.IntegerError
		var syntax *strconv.NumError
		switch code := shown.Extensions["code"]; {
		case errors.As(err, &why):
		case errors.As(err, &refusal):
			why = &refused{code: codeBadInput, message: refusal.Error()}
		case errors.As(err, &overflow), errors.As(err, &syntax):
			why = &refused{code: codeBadInput, message: "an Int is a whole number of 32 bits"}
		case errors.Is(err, redisrepo.ErrUnavailable) && expired(ctx), errors.Is(err, context.DeadlineExceeded):
			why = &refused{code: codeTimeout, message: "the request took too long: try again, or ask for less"}
			report(ctx, log, slog.LevelWarn, "request took too long", shown.Path, "err", inner(shown))
		case errors.Is(err, redisrepo.ErrUnavailable):
			why = &refused{code: codeUnavailable, message: "the store does not answer: try again"}
			report(ctx, log, slog.LevelWarn, "store unavailable", shown.Path, "err", inner(shown))
		case errors.Is(err, context.Canceled):
			why = &refused{code: codeUnavailable, message: "the request was cancelled"}
		case code == errcode.ParseFailed && strings.HasPrefix(shown.Message, "exceeded token limit"):
			why = overLimit(codeTokenLimit, "tokens or more", limits.Tokens+1, limits.Tokens)
		case shown.Rule == rules.MaxIntrospectionDepth.Name:
			why = overLimit(codeIntrospectionMax, "or more lists of the schema in each other", 3, 2)
		case code == errcode.ParseFailed, code == errcode.ValidationFailed:
			why = &refused{code: code.(string), message: shown.Message}
		default:
			why = &refused{code: codeInternal, message: "internal error"}
			if !errors.Is(err, errReported) && !lostBatch(shown) {
				report(ctx, log, slog.LevelError, "resolver failed", shown.Path, "err", inner(shown))
			}
		}
		shown.Message, shown.Err = cut(why.message), nil
		shown.Path = cutPath(shown.Path)
		shown.Extensions = map[string]any{"code": why.code}
		if why.allowed > 0 {
			shown.Extensions["asked"], shown.Extensions["allowed"] = why.asked, why.allowed
		}
		return shown
	}
}

// inner is what an error was before gqlgen wrapped it, for the log.
func inner(e *gqlerror.Error) any {
	if err := errors.Unwrap(e); err != nil {
		return err
	}
	return e.Message
}

// expired reports whether ctx is past its deadline. A connection's deadline is
// the same instant, and its error may come before ctx is done.
func expired(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}

// lostBatch recognizes what gqlgen says for every other element of a list when a
// batch resolver panicked for the first of them to ask. The panic is logged.
func lostBatch(e *gqlerror.Error) bool {
	return strings.HasPrefix(e.Message, "batch resolver ") && strings.Contains(e.Message, "returned unexpected result type")
}

// cut shortens a message to longestMessage bytes, not within a character.
func cut(message string) string {
	if len(message) <= longestMessage {
		return message
	}
	end := longestMessage
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + "..."
}

// cutPath shortens the names in a path, which are the client's where it leads
// into variables.
func cutPath(path ast.Path) ast.Path {
	shown := slices.Clone(path)
	for i, step := range shown {
		if name, ok := step.(ast.PathName); ok {
			shown[i] = ast.PathName(cut(string(name)))
		}
	}
	return shown
}

// recovered turns a panic into an error, and logs it once with its stack.
func recovered(log *slog.Logger) graphql.RecoverFunc {
	return func(ctx context.Context, cause any) error {
		report(ctx, log, slog.LevelError, "panic", graphql.GetPath(ctx), "err", fmt.Sprint(cause), "stack", string(debug.Stack()))
		return errReported
	}
}

type reportedKey struct{}

// withReported gives each response a list of the fields whose faults are in the log.
func withReported(ctx context.Context) context.Context {
	return context.WithValue(ctx, reportedKey{}, new(sync.Map))
}

// report logs a fault. A field that fails for many elements of a list is logged
// once in a response.
func report(ctx context.Context, log *slog.Logger, level slog.Level, message string, path ast.Path, more ...any) {
	if reported, ok := ctx.Value(reportedKey{}).(*sync.Map); ok {
		if _, twice := reported.LoadOrStore(fieldPath(path), true); twice {
			return
		}
	}
	var operation string
	if graphql.HasOperationContext(ctx) {
		o := graphql.GetOperationContext(ctx)
		if operation = o.OperationName; operation == "" && o.Operation != nil {
			operation = o.Operation.Name
		}
	}
	log.Log(ctx, level, message, append([]any{"operation", cut(operation), "path", path.String()}, more...)...)
}

// fieldPath is a path without the indices of lists.
func fieldPath(path ast.Path) string {
	var b strings.Builder
	for _, step := range path {
		if name, ok := step.(ast.PathName); ok {
			b.WriteString(string(name) + ".")
		}
	}
	return b.String()
}
