package graph_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	frontpage "frontpage/graph"
)

// misplaced says which error of a response comes before another that gqlgen would always put before it, or returns "".
//
// gqlgen calls the resolvers of an object's fields, and makes the elements of a list, at the same time: their errors
// have no order. But it makes the fields without a resolver first, in the order of the response, and the fields of a
// mutation one after the other.
func misplaced(o *graphql.OperationContext, paths []ast.Path) string {
	const most = 40 // paths: all pairs are compared
	paths = paths[:min(len(paths), most)]
	for i, first := range paths {
		for _, second := range paths[i+1:] {
			if before(o, second, first) {
				return fmt.Sprintf("%s before %s", first, second)
			}
		}
	}
	return ""
}

// before reports whether gqlgen always puts an error with path p before one with path q.
func before(o *graphql.OperationContext, p, q ast.Path) bool {
	on := rootOf(frontpage.Schema(), o.Operation.Operation)
	set := o.Operation.SelectionSet
	for i := range min(len(p), len(q)) {
		name, ok := p[i].(ast.PathName)
		if !ok {
			if p[i] != q[i] {
				return false
			}
			continue
		}
		fields := collect(o, set, on)
		if p[i] != q[i] {
			other, _ := q[i].(ast.PathName)
			return !on.IsAbstractType() && fieldBefore(on.Name, fields, string(name), string(other))
		}
		at := slices.IndexFunc(fields, func(f graphql.CollectedField) bool { return f.Alias == string(name) })
		if at < 0 {
			return false
		}
		set, on = fields[at].Selections, frontpage.Schema().Types[fields[at].Definition.Type.Name()]
	}
	return false
}

func fieldBefore(on string, fields []graphql.CollectedField, key, other string) bool {
	at := slices.IndexFunc(fields, func(f graphql.CollectedField) bool { return f.Alias == key })
	otherAt := slices.IndexFunc(fields, func(f graphql.CollectedField) bool { return f.Alias == other })
	if at < 0 || otherAt < 0 || hasResolver(on, fields[at].Name) {
		return false
	}
	return at < otherAt || hasResolver(on, fields[otherAt].Name)
}

// hasResolver reports whether a field is resolved at the same time as others.
func hasResolver(on, field string) bool {
	resolver, ok := reflect.TypeFor[frontpage.ResolverRoot]().MethodByName(on)
	if !ok || on == "Mutation" {
		return false
	}
	fields := resolver.Type.Out(0)
	for i := range fields.NumMethod() {
		if strings.EqualFold(fields.Method(i).Name, field) {
			return true
		}
	}
	return false
}

// collect returns the fields of an object, or those of all types of an interface.
func collect(o *graphql.OperationContext, set ast.SelectionSet, on *ast.Definition) []graphql.CollectedField {
	types := append([]string{on.Name}, on.Interfaces...)
	if on.IsAbstractType() {
		types = nil
	}
	return graphql.CollectFields(o, set, types)
}
