package endpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// checkVariables refuses values that the specification does not coerce to the types of their variables, although
// gqlparser does, such as a number for String, and those that gqlparser refuses without showing them. Whole numbers for
// Int get the form that gqlparser accepts. All else is left to gqlparser: what is missing or null, and unknown fields.
func checkVariables(schema Schema, operation *ast.OperationDefinition, given map[string]any) *refusal {
	for _, v := range operation.VariableDefinitions {
		value, ok := given[v.Variable]
		if !ok {
			continue
		}
		coerced, wrong := coerce(schema, v.Type, value)
		if wrong != "" {
			return &refusal{code: errcode.ValidationFailed, message: fmt.Sprintf("variable %q: %s", v.Variable, wrong)}
		}
		given[v.Variable] = coerced
	}
	return nil
}

// aboutVariable moves what gqlparser says about the place in a variable from the path of its error to the message: a path
// is one of the response.
func aboutVariable(err error) error {
	var e *gqlerror.Error
	if !errors.As(err, &e) || len(e.Path) < 2 {
		return err
	}
	message := ""
	for _, step := range e.Path[1:] {
		switch step := step.(type) {
		case ast.PathName:
			message += fmt.Sprintf("%q: ", cutTo(string(step), maxAlias))
		case ast.PathIndex:
			message += fmt.Sprintf("element %d: ", step)
		}
	}
	return gqlerror.Errorf("variable %s%s", message, e.Message)
}

// coerce returns a value as gqlparser is to get it, and what is wrong with it, if anything.
func coerce(schema Schema, t *ast.Type, value any) (coerced any, wrong string) {
	if value == nil {
		return nil, ""
	}
	if t.Elem != nil {
		list, ok := value.([]any)
		if !ok {
			return coerce(schema, t.Elem, value) // gqlparser makes a list of it
		}
		for i, element := range list {
			if list[i], wrong = coerce(schema, t.Elem, element); wrong != "" {
				return nil, fmt.Sprintf("element %d: %s", i, wrong)
			}
		}
		return list, ""
	}
	definition := schema.Schema().Types[t.NamedType]
	switch definition.Kind {
	case ast.InputObject:
		object, ok := value.(map[string]any)
		if !ok {
			return nil, isNo(value, definition.Name, "an object with its fields")
		}
		for _, field := range definition.Fields {
			if given, ok := object[field.Name]; ok {
				if object[field.Name], wrong = coerce(schema, field.Type, given); wrong != "" {
					return nil, fmt.Sprintf("%q: %s", field.Name, wrong)
				}
			}
		}
	case ast.Enum:
		if text, ok := value.(string); !ok || definition.EnumValues.ForName(text) == nil {
			return nil, isNo(value, definition.Name, "one of its values, in upper case")
		}
	case ast.Scalar:
		if parse := schema.Scalars[definition.Name]; parse != nil {
			if err := parse(value); err != nil {
				return nil, err.Error()
			}
		}
		return coerceScalar(definition.Name, value)
	case ast.Object, ast.Interface, ast.Union: // not types of variables: validation has refused them
	}
	return value, ""
}

// coerceScalar is coerce for a built-in scalar.
func coerceScalar(name string, value any) (coerced any, wrong string) {
	_, text := value.(string)
	number, isNumber := value.(json.Number)
	whole, isWhole := wholeNumber(number)
	switch name {
	case "Int":
		if !isWhole || whole < math.MinInt32 || whole > math.MaxInt32 {
			return nil, isNo(value, name, "a whole number of 32 bits")
		}
		return json.Number(strconv.FormatInt(whole, 10)), ""
	case "Float":
		if _, err := number.Float64(); !isNumber || err != nil {
			return nil, isNo(value, name, "a number of 64 bits")
		}
	case "String":
		if !text {
			return nil, isNo(value, name, "a text in quotes")
		}
	case "Boolean":
		if _, ok := value.(bool); !ok {
			return nil, isNo(value, name, "true or false")
		}
	case "ID":
		switch {
		case isWhole:
			return json.Number(strconv.FormatInt(whole, 10)), ""
		case !text:
			return nil, isNo(value, name, "a text in quotes or a whole number")
		}
	}
	return value, ""
}

// wholeNumber returns a number without a fraction, which may be written as 1.0 or 1e2; false if it is none of 64 bits.
func wholeNumber(number json.Number) (int64, bool) {
	if n, err := number.Int64(); err == nil {
		return n, true
	}
	f, err := number.Float64()
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
}

// isNo says that a value is not of a type, whose values are described by are.
func isNo(value any, name, are string) string {
	var shown string
	switch v := value.(type) {
	case string:
		shown = strconv.Quote(cutTo(v, maxAlias))
	case []any:
		shown = "a list"
	case map[string]any:
		shown = "an object"
	default:
		shown = cutTo(fmt.Sprint(v), maxAlias)
	}
	return fmt.Sprintf("%s is not of type %s: give %s", shown, name, are)
}

// variableUses finds the variables that an operation uses.
type variableUses struct {
	variables map[string]any // coerced; nil while @skip and @include are ignored
	belowRoot bool           // the arguments of fields at the root are left out
	seen      map[string]bool
	found     func(place string, variable *ast.Value)
}

// needsValue reports whether a variable is used where null is not allowed. Validation accepts a variable of a nullable type
// there if the place or the variable has a default (specification, 5.8.5). If it is null, gqlgen passes the zero value on
// for an argument or an input field, and panics for @skip and @include.
func needsValue(variable *ast.Value) bool {
	return variable.ExpectedType != nil && variable.ExpectedType.NonNull
}

// nullableVariables returns the names of the variables that may be null at such a place.
func nullableVariables(operation *ast.OperationDefinition) (names []string) {
	uses := variableUses{seen: map[string]bool{}, found: func(_ string, v *ast.Value) {
		d := operation.VariableDefinitions.ForName(v.Raw)
		if needsValue(v) && d != nil && !d.Type.NonNull && !slices.Contains(names, v.Raw) {
			names = append(names, v.Raw)
		}
	}}
	uses.selections(operation.SelectionSet, true)
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
	uses := variableUses{variables: variables, seen: map[string]bool{}, found: func(place string, v *ast.Value) {
		if err == nil && needsValue(v) && isNull(v.Raw) {
			err = gqlerror.ErrorPosf(v.Position, "variable %q is null, but %q needs a value of type %s: give one, or leave the variable out", v.Raw, place, v.ExpectedType)
		}
	}}
	uses.selections(p.operation.SelectionSet, true)
	return err
}

// eventVariables returns the names of the variables that the events of a subscription depend on. Those of the arguments of
// its field are not among them.
func eventVariables(operation *ast.OperationDefinition) map[string]bool {
	names := map[string]bool{}
	uses := variableUses{belowRoot: true, seen: map[string]bool{}, found: func(_ string, v *ast.Value) { names[v.Raw] = true }}
	uses.selections(operation.SelectionSet, true)
	return names
}

func (u *variableUses) selections(set ast.SelectionSet, root bool) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if !u.selects(s.Directives) {
				continue
			}
			if !root || !u.belowRoot {
				u.arguments(s.Arguments)
			}
			u.selections(s.SelectionSet, false)
		case *ast.InlineFragment:
			if u.selects(s.Directives) {
				u.selections(s.SelectionSet, root)
			}
		case *ast.FragmentSpread:
			if u.selects(s.Directives) && !u.seen[s.Name] {
				u.seen[s.Name] = true
				u.selections(s.Definition.SelectionSet, root)
			}
		}
	}
}

// selects looks at directives, and reports whether what has them is selected.
func (u *variableUses) selects(directives ast.DirectiveList) bool {
	selected := true
	for _, d := range directives {
		u.arguments(d.Arguments)
		if u.variables != nil {
			condition := d.ArgumentMap(u.variables)["if"]
			selected = selected && (d.Name != "skip" || condition == false) && (d.Name != "include" || condition == true)
		}
	}
	return selected
}

func (u *variableUses) arguments(list ast.ArgumentList) {
	for _, a := range list {
		u.value(a.Name, a.Value)
	}
}

func (u *variableUses) value(place string, v *ast.Value) {
	if v.Kind == ast.Variable {
		u.found(place, v)
	}
	for _, child := range v.Children {
		u.value(cmp.Or(child.Name, place), child.Value)
	}
}
