package endpoint

import (
	"context"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// costLimit refuses an operation whose answer could be too large: one for each
// scalar and each object, a list as many times its element as it may hold. It
// is gqlgen's complexity with numbers in the refusal. It expands every spread of
// a fragment anew, so it depends on the limits of the validation in front of it.
type costLimit struct {
	allowed int
	schema  graphql.ExecutableSchema
}

func (*costLimit) ExtensionName() string { return "CostLimit" }

func (*costLimit) Validate(graphql.ExecutableSchema) error { return nil }

func (c *costLimit) MutateOperationContext(ctx context.Context, o *graphql.OperationContext) *gqlerror.Error {
	asked := complexity.Calculate(ctx, c.schema, o.Operation, o.Variables)
	o.Stats.SetExtension(costExtension, asked)
	if asked <= c.allowed {
		return nil
	}
	return gqlerror.Wrap(overLimit(codeCostLimit, "points of complexity", asked, c.allowed))
}

const costExtension = "cost"

// costOf is what an operation was measured to cost.
func costOf(o *graphql.OperationContext) int {
	cost, _ := o.Stats.GetExtension(costExtension).(int)
	return max(cost, 1)
}
