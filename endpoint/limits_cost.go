package endpoint

import (
	"context"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// costLimit refuses an operation whose response could be too large: each scalar and each object costs 1, and
// a list costs its maximum length times the cost of an element. It is gqlgen's extension.ComplexityLimit with
// numbers in the refusal. The calculation expands every spread of a fragment, so it relies on the other
// limits, which are checked before.
type costLimit struct {
	allowed int
	schema  graphql.ExecutableSchema
}

// ExtensionName implements graphql.HandlerExtension.
func (*costLimit) ExtensionName() string { return "CostLimit" }

// Validate implements graphql.HandlerExtension.
func (*costLimit) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext measures an operation and stores its cost for costOf.
func (c *costLimit) MutateOperationContext(ctx context.Context, o *graphql.OperationContext) *gqlerror.Error {
	asked := complexity.Calculate(ctx, c.schema, o.Operation, o.Variables)
	o.Stats.SetExtension(costExtension, asked)
	if asked <= c.allowed {
		return nil
	}
	return gqlerror.Wrap(overLimit(codeCostLimit, "points of complexity", asked, c.allowed))
}

const costExtension = "cost"

// costOf returns the measured cost of an operation, at least 1.
func costOf(o *graphql.OperationContext) int {
	cost, _ := o.Stats.GetExtension(costExtension).(int)
	return max(cost, 1)
}
