package endpoint

import (
	"context"
	"net/http"
	"net/netip"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint/plan"
)

// operation is a query, mutation or subscription that was received over either transport.
type operation struct {
	exec      *executor
	ctx       context.Context
	asked     *graphql.OperationContext
	arguments *plan.Arguments // of equal requests; nil if it is the first one
	prepared  *prepared
	turns     *turns // in which an unknown document is read; nil if it is its turn
	variables string // coerced, in JSON; empty if it defines none
	onError   plan.OnError
	cost      int
	effort    int       // points for reading its document; 0 if the process knew it
	failed    bool      // it is refused
	kept      *finished // its response, if it depends on the schema alone and was made before
	admitted  *weight   // of a subscription that streams counts
	led       bool      // it runs for all who ask the same now
	observed  bool      // the observers are to be notified of the outcome
	outcome   Outcome
	unread    int // bytes of its response that are being sent
}

// prepare parses, validates and measures an operation. A refused one must not run.
func (o *operation) prepare(asked *request, header http.Header) *refusal {
	refused := o.exec.prepare(o, asked, header)
	if refused == nil {
		refused = o.unsupported()
	}
	switch {
	case refused == nil:
		o.recall()
	case o.effort == 0: // the process knew its document
		o.effort = o.exec.effortOf(asked)
	}
	return refused
}

// unsupported refuses a valid operation that cannot be executed.
func (o *operation) unsupported() *refusal {
	switch {
	case !o.subscribes():
		if o.prepared.Execute == nil && o.onError != plan.Propagate && o.prepared.dependence != OnSchema {
			return malformed("with onError, send __schema and __type in an operation of their own")
		}
	case len(rootFields(o.asked)) != 1:
		// gqlparser's rule counts aliases of one field as one field, and ignores @skip and @include.
		return &refusal{code: errcode.ValidationFailed, message: "a subscription has exactly one field"}
	case o.prepared.Event == nil:
		return &refusal{code: errcode.ValidationFailed, message: "this subscription cannot be executed"}
	}
	return nil
}

// reads reports whether the operation has no side effects.
func (o *operation) reads() bool { return o.asked.Operation.Operation != ast.Mutation }

// subscribes reports whether the operation has many responses.
func (o *operation) subscribes() bool { return o.asked.Operation.Operation == ast.Subscription }

// rootFields returns the fields at the root of a valid operation that are not skipped.
func rootFields(o *graphql.OperationContext) []graphql.CollectedField {
	var root *ast.Definition
	switch first := o.Operation.SelectionSet[0].(type) {
	case *ast.Field:
		root = first.ObjectDefinition
	case *ast.InlineFragment:
		root = first.ObjectDefinition
	case *ast.FragmentSpread:
		root = first.ObjectDefinition
	}
	return graphql.CollectFields(o, o.Operation.SelectionSet, []string{root.Name})
}

// kind returns which kind of slots a query or a mutation takes.
func (o *operation) kind() int {
	if o.reads() {
		return queries
	}
	return mutations
}

const (
	// resolvedPerPoint is how many fields gqlgen resolves for a point: about 20 points for each millisecond.
	resolvedPerPoint = 20
	// perElement is how many fields take as long as an element of a list besides its own ones.
	perElement = 4
)

// once runs a query or a mutation.
func (o *operation) once(timeout time.Duration) *finished {
	ctx, cancel := context.WithTimeout(o.ctx, timeout)
	defer cancel()
	kind := o.kind()
	if refused := o.exec.slots.acquire(ctx, kind, netip.Addr{}); refused != nil {
		return refused.finish(o)
	}
	defer o.exec.slots.release(kind, netip.Addr{})
	text := texts.Get().(*[]byte)
	execute := func(ctx context.Context) *graphql.Response {
		return o.prepared.Execute(ctx, plan.Request{OnError: o.onError, Arguments: o.arguments, Text: *text})
	}
	var resolved atomic.Int64
	if o.prepared.Execute == nil {
		o.asked.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) {
			value, err := next(ctx)
			work := 1
			if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
				work += perElement * list.Len()
			}
			resolved.Add(int64(work))
			return value, err
		}
		execute = o.exec.gqlgen(ctx)
	}
	if response := o.respondTo(ctx, execute); response != nil {
		f := finish(response, nil)
		useAgain(text, response)
		if o.reads() {
			made := max(f.points(), int(resolved.Load())/resolvedPerPoint)
			Owe(o.ctx, made-o.amount(RuleCost, nil)) // only what is about the schema has more than its cost
		}
		return f
	}
	// The context ended before the first resolver.
	if expired(ctx) {
		return tookTooLong(http.StatusServiceUnavailable).finish(o)
	}
	return wasCancelled().finish(o)
}
