package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
)

// maxMessage is how much of a message is shown, bytes: the parser and the validator quote documents.
const maxMessage = 300

// retryAfter is when a client should come back after the store did not answer.
const retryAfter = time.Second

const cancelled = "the request was cancelled"

func wasCancelled() *refusal {
	return &refusal{code: codeUnavailable, message: cancelled, status: http.StatusServiceUnavailable}
}

func tookTooLong(status int) *refusal {
	return &refusal{code: codeTimeout, message: "the request took too long: try again, or ask for less", status: status}
}

// presentError is the only place where an error is turned into a client-visible one. Anything not known to be
// safe is logged and reported as internal.
//
// hidden are the names of a schema that is not public, else nil.
func presentError(log *slog.Logger, limits Limits, hidden *hiddenNames) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		refused := explain(err, shown, limits)
		switch {
		case refused != nil:
		case errors.Is(err, failover.ErrUnavailable) && expired(ctx), errors.Is(err, context.DeadlineExceeded):
			refused = tookTooLong(0)
			report(ctx, log, slog.LevelWarn, "request took too long", shown.Path, "err", inner(shown))
		case errors.Is(err, failover.ErrReadOnly):
			refused = &refusal{code: codeUnavailable, message: "the store refuses writes for now, reading works: try again later", wait: retryAfter}
			report(ctx, log, slog.LevelWarn, "store refuses writes", shown.Path, "err", inner(shown))
		case errors.Is(err, failover.ErrUnavailable):
			refused = &refusal{code: codeUnavailable, message: "the store does not answer: try again", wait: retryAfter}
			level := slog.LevelWarn
			if errors.Is(err, failover.ErrDenied) {
				level = slog.LevelError // until an operator acts
			}
			report(ctx, log, level, "store unavailable", shown.Path, "err", inner(shown))
		case errors.Is(err, context.Canceled):
			refused = &refusal{code: codeUnavailable, message: cancelled}
		default:
			refused = &refusal{code: codeInternal, message: "internal error"}
			if !errors.Is(err, errReported) && !lostBatch(shown) {
				report(ctx, log, slog.LevelError, "resolver failed", shown.Path, "err", inner(shown))
			}
		}
		if refused.code == errcode.ParseFailed || refused.code == errcode.ValidationFailed {
			refused.message = hidden.hide(ctx, refused.message)
		}
		presented := refused.shown()
		presented.Path, presented.Locations = responsePath(ctx, shown.Path), shown.Locations
		return presented
	}
}

// explain returns what to show of an error that the client caused, and nil for any other.
func explain(err error, shown *gqlerror.Error, limits Limits) *refusal {
	var refused *refusal
	var broken site.Refusal
	var old *events.ExpiredError
	switch code := shown.Extensions["code"]; {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &broken):
		return &refusal{code: codeBadInput, message: broken.Error()}
	case errors.As(err, &old):
		return &refusal{code: codeCursorExpired, message: old.Error(), expired: old}
	// The text of gqlparser v2.5.64. When it changes, TestDocumentOverALimitIsRejected fails for tokens.
	case code == errcode.ParseFailed && strings.HasPrefix(shown.Message, "exceeded token limit"):
		return overLimit(codeTokenLimit, "tokens or more", limits.Tokens+1, limits.Tokens)
	case shown.Rule == rules.MaxIntrospectionDepth.Name:
		return overLimit(codeIntrospectionMax, "or more nested lists of the schema", 3, 2)
	case code == errcode.ParseFailed, code == errcode.ValidationFailed:
		return &refusal{code: code.(string), message: shown.Message}
	}
	return nil
}

// lostBatch recognises the error that gqlgen reports for every other element of a list after a batch resolver
// panicked for the first one. The panic is logged. The text is gqlgen's, v0.17.95; when it changes,
// TestErrorsShowOnlyPublicCodes fails for a panic of a batch.
func lostBatch(e *gqlerror.Error) bool {
	return strings.HasPrefix(e.Message, "batch resolver ") && strings.Contains(e.Message, "returned unexpected result type")
}

// inner returns the error that gqlgen wrapped, for the log.
func inner(e *gqlerror.Error) any {
	if err := errors.Unwrap(e); err != nil {
		return err
	}
	return e.Message
}

// expired reports whether ctx is past its deadline. A connection has the same deadline, and may fail before
// ctx is done.
func expired(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}

// cutTo shortens a text to a length in bytes, between characters.
func cutTo(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(text[:length], "") + "..."
}

// responsePath returns the part of a path that leads to a field of the response, or to an element of a list that it is. To
// the path of an invalid argument gqlgen adds the names of the argument and of what is in it.
func responsePath(ctx context.Context, path ast.Path) ast.Path {
	field := graphql.GetFieldContext(ctx)
	if field == nil {
		return nil
	}
	for i := len(field.Path()); i < len(path); i++ {
		if _, named := path[i].(ast.PathName); named {
			return path[:i:i]
		}
	}
	return path
}

// errReported replaces a fault that is in the log already.
var errReported = errors.New("reported")

// recovered turns a resolver's panic into an error, and logs it.
func recovered(log *slog.Logger) graphql.RecoverFunc {
	return func(ctx context.Context, cause any) error {
		logPanic(ctx, log, cause)
		return errReported
	}
}

// logPanic logs a panic with its stack. It is called by the deferred function that recovered it.
func logPanic(ctx context.Context, log *slog.Logger, cause any) {
	report(ctx, log, slog.LevelError, "panic", graphql.GetPath(ctx), "err", fmt.Sprint(cause), "stack", string(debug.Stack()))
}

// reportingContext is the context of one response. It has the fields whose faults are in the log.
type reportingContext struct {
	context.Context
	reported sync.Map
}

type reportedKey struct{}

// Value implements context.Context.
func (c *reportingContext) Value(key any) any {
	if key == (reportedKey{}) {
		return &c.reported
	}
	return c.Context.Value(key)
}

// report logs a fault. A field that fails for many elements of a list is logged once per response.
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
	log.Log(ctx, level, message, append([]any{"operation", cutTo(operation, maxAlias), "path", path.String()}, more...)...)
}

// fieldPath returns a path without the indices of lists.
func fieldPath(path ast.Path) string {
	var b strings.Builder
	for _, step := range path {
		if name, ok := step.(ast.PathName); ok {
			b.WriteString(string(name) + ".")
		}
	}
	return b.String()
}

// hiddenNames are the names in a schema that is not public. The messages of the validator quote many of them: of
// arguments and input fields that are missing, and of the types that it expected.
type hiddenNames struct {
	all   map[string]bool
	types map[string]bool // which messages mention without quotes, too
}

func newHiddenNames(schema *ast.Schema) *hiddenNames {
	h := &hiddenNames{map[string]bool{}, map[string]bool{}}
	for _, definition := range schema.Types {
		h.all[definition.Name] = true
		h.types[definition.Name] = !definition.BuiltIn
		for _, field := range definition.Fields {
			h.all[field.Name] = true
			for _, argument := range field.Arguments {
				h.all[argument.Name] = true
			}
		}
		for _, value := range definition.EnumValues {
			h.all[value.Name] = true
		}
	}
	for _, directive := range schema.Directives {
		h.all[directive.Name] = true
		for _, argument := range directive.Arguments {
			h.all[argument.Name] = true
		}
	}
	return h
}

var (
	quotedText = regexp.MustCompile(`"[^"]*"`)
	nameInText = regexp.MustCompile(`[_A-Za-z][_0-9A-Za-z]*`)
)

// hide replaces, in the message of an invalid document or variable, the names that are not in the document. h may be nil:
// then nothing is hidden.
func (h *hiddenNames) hide(ctx context.Context, message string) string {
	if h == nil {
		return message
	}
	message = cutTo(message, 2*maxMessage) // more than is shown: a name at the end may be cut
	sent := h.sent(ctx)
	without := func(hidden map[string]bool) func(string) string {
		return func(word string) string {
			if hidden[word] && !sent[word] {
				return "?"
			}
			return word
		}
	}
	message = quotedText.ReplaceAllStringFunc(message, func(text string) string {
		return nameInText.ReplaceAllStringFunc(text, without(h.all))
	})
	return nameInText.ReplaceAllStringFunc(message, without(h.types))
}

// sentExtension is where an operation's context keeps what sent returns.
const sentExtension = "frontpage.sentNames"

// sent returns the names of the schema that are in the document. It reads a document once, however many errors it has.
func (h *hiddenNames) sent(ctx context.Context) map[string]bool {
	if !graphql.HasOperationContext(ctx) {
		return nil
	}
	o := graphql.GetOperationContext(ctx)
	if sent, ok := o.Stats.GetExtension(sentExtension).(map[string]bool); ok {
		return sent
	}
	sent := map[string]bool{}
	for word := range strings.FieldsFuncSeq(o.RawQuery, notInName) {
		if h.all[word] {
			sent[word] = true
		}
	}
	o.Stats.SetExtension(sentExtension, sent)
	return sent
}

func notInName(c rune) bool {
	return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
}
