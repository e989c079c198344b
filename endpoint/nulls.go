package endpoint

import (
	"cmp"
	"slices"

	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// nonNullPlaces finds the variables that an operation uses where null is not allowed. Validation accepts a variable of a
// nullable type there if the place or the variable has a default (specification, 5.8.5). If it is null, gqlgen passes the
// zero value on for an argument or an input field, and panics for @skip and @include.
type nonNullPlaces struct {
	variables map[string]any // coerced; nil while @skip and @include are ignored
	seen      map[string]bool
	found     func(place string, variable *ast.Value)
}

// nullableVariables returns the names of the variables that may be null at such a place.
func nullableVariables(operation *ast.OperationDefinition) (names []string) {
	places := nonNullPlaces{seen: map[string]bool{}, found: func(_ string, v *ast.Value) {
		if d := operation.VariableDefinitions.ForName(v.Raw); d != nil && !d.Type.NonNull && !slices.Contains(names, v.Raw) {
			names = append(names, v.Raw)
		}
	}}
	places.selections(operation.SelectionSet)
	return names
}

// checkNulls returns an error if a variable is null where null is not allowed. What is not selected is not looked at.
func (p *prepared) checkNulls(variables map[string]any) (err *gqlerror.Error) {
	isNull := func(name string) bool {
		value, given := variables[name]
		return given && value == nil
	}
	if !slices.ContainsFunc(p.nullable, isNull) {
		return nil
	}
	places := nonNullPlaces{variables: variables, seen: map[string]bool{}, found: func(place string, v *ast.Value) {
		if err == nil && isNull(v.Raw) {
			err = gqlerror.ErrorPosf(v.Position, "variable %q is null, but %q needs a value of type %s: give one, or leave the variable out", v.Raw, place, v.ExpectedType)
			errcode.Set(err, errcode.ValidationFailed)
		}
	}}
	places.selections(p.operation.SelectionSet)
	return err
}

func (n *nonNullPlaces) selections(set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if n.selects(s.Directives) {
				n.arguments(s.Arguments)
				n.selections(s.SelectionSet)
			}
		case *ast.InlineFragment:
			if n.selects(s.Directives) {
				n.selections(s.SelectionSet)
			}
		case *ast.FragmentSpread:
			if n.selects(s.Directives) && !n.seen[s.Name] {
				n.seen[s.Name] = true
				n.selections(s.Definition.SelectionSet)
			}
		}
	}
}

// selects looks at directives, and reports whether what has them is selected.
func (n *nonNullPlaces) selects(directives ast.DirectiveList) bool {
	selected := true
	for _, d := range directives {
		n.arguments(d.Arguments)
		if n.variables != nil {
			condition := d.ArgumentMap(n.variables)["if"]
			selected = selected && (d.Name != "skip" || condition == false) && (d.Name != "include" || condition == true)
		}
	}
	return selected
}

func (n *nonNullPlaces) arguments(list ast.ArgumentList) {
	for _, a := range list {
		n.value(a.Name, a.Value)
	}
}

func (n *nonNullPlaces) value(place string, v *ast.Value) {
	if v.Kind == ast.Variable && v.ExpectedType != nil && v.ExpectedType.NonNull {
		n.found(place, v)
	}
	for _, child := range v.Children {
		n.value(cmp.Or(child.Name, place), child.Value)
	}
}
