package graph

import (
	"context"
	"fmt"

	"frontpage/redisrepo/site"
)

// Service is the description of the subgraph that a router of Apollo Federation reads at its start.
type Service struct{ SDL string }

// gqlgen calls these two for the fields _service and _entities, by the names of its plugin for federation, which is not used: it
// would put a resolver for each type between a reference and its loader.

//nolint:revive,unparam // gqlgen's name, and its signature
func (ec *executionContext) __resolve__service(context.Context) (Service, error) {
	return Service{ec.Resolvers.(*Resolver).site.Subgraph}, nil
}

//nolint:revive // gqlgen's name
func (ec *executionContext) __resolve_entities(ctx context.Context, references []map[string]any) []Node {
	nodes, err := ec.Resolvers.(*Resolver).entities(ctx, references)
	if err != nil {
		ec.Error(ctx, err)
		return make([]Node, 0)
	}
	return nodes
}

// entities returns the objects of references.
func (r *Resolver) entities(ctx context.Context, references []map[string]any) ([]Node, error) {
	if len(references) == 0 || len(references) > maxNodes {
		return nil, badInput(fmt.Sprintf("there are %d representations, but 1 to %d can be asked for", len(references), maxNodes))
	}
	names, ids := make([]string, len(references)), make([]string, len(references))
	for i, reference := range references {
		names[i], _ = reference["__typename"].(string)
		ids[i], _ = reference["id"].(string)
	}
	nodes, err := r.nodes(ctx, ids, func(i int, err error) {
		if names[i] == "" || ids[i] == "" {
			err = badInput("a representation has __typename and id")
		}
		elementFailed(ctx, i, err)
	})
	for i, node := range nodes {
		if node != nil && typeName(node) != names[i] {
			nodes[i] = nil
			elementFailed(ctx, i, badInput(fmt.Sprintf("%.100q is the id of another type than %.100q", ids[i], names[i])))
		}
	}
	return nodes, err
}

// typeName is the name of a node's type in the schema.
func typeName(node Node) string {
	switch node.(type) {
	case *site.Article:
		return "Article"
	case *site.User:
		return "User"
	case *site.Group:
		return "Group"
	default:
		return "Host"
	}
}
