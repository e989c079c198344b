package endpoint

import (
	"encoding/json"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
)

// mismatched refuses numbers for String, and strings for Int and Float, which gqlparser accepts in variables. It has
// coerced them.
func mismatched(schema *ast.Schema, o *graphql.OperationContext) *refusal {
	for _, v := range o.Operation.VariableDefinitions {
		if given := mismatch(schema, v.Type, o.Variables[v.Variable]); given != "" {
			return &refusal{code: errcode.ValidationFailed, message: fmt.Sprintf("variable %q: %s", v.Variable, given)}
		}
	}
	return nil
}

// mismatch says what is wrong with a value, if anything.
func mismatch(schema *ast.Schema, t *ast.Type, value any) string {
	if list, ok := value.([]any); ok && t.Elem != nil {
		for _, element := range list {
			if given := mismatch(schema, t.Elem, element); given != "" {
				return given
			}
		}
		return ""
	}
	if object, ok := value.(map[string]any); ok {
		if definition := schema.Types[t.Name()]; definition.Kind == ast.InputObject {
			for _, field := range definition.Fields {
				if given := mismatch(schema, field.Type, object[field.Name]); given != "" {
					return given
				}
			}
		}
		return ""
	}
	_, text := value.(string)
	_, number := value.(json.Number)
	switch name := t.Name(); {
	case text && (name == "Int" || name == "Float"):
		return "a string is no " + name
	case number && name == "String":
		return "a number is no " + name
	}
	return ""
}
