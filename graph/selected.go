package graph

import (
	"context"
	"strings"

	"github.com/99designs/gqlgen/graphql"
)

// selected reports whether the query selects a field below the current one. Each step of the path is a field
// with its type, such as Group.articleCount.
func selected(ctx context.Context, path ...string) bool {
	return selects(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field, path)
}

func selects(operation *graphql.OperationContext, field graphql.CollectedField, path []string) bool {
	if len(path) == 0 {
		return true
	}
	typeName, name, _ := strings.Cut(path[0], ".")
	// A fragment on the interface applies to each of its types.
	for _, child := range graphql.CollectFields(operation, field.Selections, []string{typeName, "Node"}) {
		if child.Name == name && selects(operation, child, path[1:]) {
			return true
		}
	}
	return false
}
