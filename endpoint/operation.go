package endpoint

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// operation is one that was asked for, on its way to its answer.
type operation struct {
	exec   graphql.GraphExecutor
	ctx    context.Context
	asked  *graphql.OperationContext
	answer *graphql.Response // nil as long as there is none
}

// prepare parses, validates and measures an operation. One that must not run has
// its answer already, and why, unless it is just not valid.
func prepare(ctx context.Context, exec graphql.GraphExecutor, params *graphql.RawParams) (*operation, *refused) {
	asked, errs := exec.CreateOperationContext(ctx, params)
	o := &operation{exec: exec, ctx: graphql.WithOperationContext(ctx, asked), asked: asked}
	var why *refused
	if errs != nil {
		errs = limitsFirst(errs)
		errors.As(errs[0], &why)
		o.answer = exec.DispatchError(o.ctx, errs)
	} else if o.subscribes() && len(rootFields(asked)) != 1 {
		// gqlparser's rule for this takes aliases of one field for one, and does not know what is skipped.
		why = &refused{code: errcode.ValidationFailed, message: "a subscription has exactly one field"}
		o.answer = exec.DispatchError(o.ctx, why.list())
	}
	return o, why
}

// reads reports whether it changes nothing. What does not run does not.
func (o *operation) reads() bool {
	return o.answer != nil || o.asked.Operation.Operation != ast.Mutation
}

// subscribes reports whether it has many answers.
func (o *operation) subscribes() bool {
	return o.answer == nil && o.asked.Operation.Operation == ast.Subscription
}

// rootFields are the fields at the root of a valid operation that are not skipped.
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

// once runs a query or a mutation. A refusal comes with an answer that says so.
func (o *operation) once(timeout time.Duration) *refused {
	ctx, cancel := context.WithTimeout(o.ctx, timeout)
	defer cancel()
	next, ctx := o.exec.DispatchOperation(ctx, o.asked)
	if o.answer = next(ctx); o.answer != nil {
		return nil
	}
	// It ended before it began.
	why := &refused{code: codeUnavailable, message: "the request was cancelled", status: http.StatusServiceUnavailable}
	if expired(ctx) {
		why.code, why.message = codeTimeout, "the request took too long: try again, or ask for less"
	}
	o.answer = o.exec.DispatchError(ctx, why.list())
	return why
}

// mostErrors is how many errors of one document are shown. Short documents can
// have thousands.
const mostErrors = 20

// limitsFirst leaves out what else is wrong with a document that is over a limit.
func limitsFirst(errs gqlerror.List) gqlerror.List {
	var over gqlerror.List
	for _, err := range errs {
		if why := (*refused)(nil); errors.As(err, &why) {
			over = append(over, err)
		}
	}
	if over != nil {
		errs = over
	}
	return errs[:min(len(errs), mostErrors)]
}
