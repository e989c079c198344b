package endpoint

import (
	"context"
	"fmt"
	"math"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// PointBytes is the maximum size of what one point of cost stands for in a response: a name of at most
// maxAlias bytes and a scalar, or an object without its fields. A schema whose scalars can be longer sets their
// cost in its ComplexityRoot.
const PointBytes = 2_200

// costOf returns the cost of an operation: each scalar and each object costs at least 1, and a list costs its maximum
// length times the cost of an element. The calculation expands every spread of a fragment, so it relies on the other
// limits, which are checked before.
func costOf(schema graphql.ExecutableSchema, operation *ast.OperationDefinition, variables map[string]any) int {
	return complexity.Calculate(context.Background(), schema, operation, variables)
}

// costs refuses an operation whose response could be too large.
func (l Limits) costs(asked int) *refusal {
	if asked <= l.Cost {
		return nil
	}
	return overLimit(codeCostLimit, "points of complexity", asked, l.Cost)
}

// maxErrors is how many errors of one response are shown. A short document, and a page, can have thousands.
const maxErrors = 20

// boundResponse replaces errors beyond maxErrors by one that says how many they are. It also replaces data that is
// longer than the limit of cost allows, which happens only if the store holds longer values than this program
// writes.
func (l Limits) boundResponse(response *graphql.Response) {
	if size, allowed := len(response.Data), min(l.Cost, math.MaxInt32)*PointBytes; size > allowed {
		response.Data = []byte("null")
		response.Errors = gqlerror.List{overLimit(codeResponseLimit, "bytes in its response", size, allowed).shown()}
	}
	if more := len(response.Errors) - maxErrors; more > 0 {
		code := response.Errors[maxErrors].Extensions["code"]
		response.Errors = append(response.Errors[:maxErrors:maxErrors], &gqlerror.Error{
			Message: fmt.Sprintf("%d more errors are not shown", more), Extensions: map[string]any{"code": code},
		})
	}
}
