package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

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
