package graph

import (
	"context"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
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

// mentioned reports whether one of the fields is anywhere below the current one, even if a directive leaves it out. It
// allocates nothing.
func mentioned(ctx context.Context, names ...string) bool {
	return mentions(graphql.GetFieldContext(ctx).Field.Selections, names)
}

func mentions(selections ast.SelectionSet, names []string) bool {
	return slices.ContainsFunc(selections, func(selection ast.Selection) bool {
		switch s := selection.(type) {
		case *ast.Field:
			return slices.Contains(names, s.Name) || mentions(s.SelectionSet, names)
		case *ast.InlineFragment:
			return mentions(s.SelectionSet, names)
		case *ast.FragmentSpread:
			return mentions(s.Definition.SelectionSet, names)
		}
		return false
	})
}
