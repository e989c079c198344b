package endpoint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// strictVariables refuses numbers for String, and strings for Int and Float, which gqlparser accepts in variables.
type strictVariables struct{ schema *ast.Schema }

// ExtensionName implements graphql.HandlerExtension.
func (strictVariables) ExtensionName() string { return "StrictVariables" }

// Validate implements graphql.HandlerExtension.
func (strictVariables) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext checks the variables of an operation, which gqlparser has coerced.
func (s strictVariables) MutateOperationContext(_ context.Context, o *graphql.OperationContext) *gqlerror.Error {
	for _, v := range o.Operation.VariableDefinitions {
		if given := s.mismatch(v.Type, o.Variables[v.Variable]); given != "" {
			return gqlerror.Wrap(&refusal{code: errcode.ValidationFailed, message: fmt.Sprintf("variable %q: %s", v.Variable, given)})
		}
	}
	return nil
}

// mismatch says what is wrong with a value, if anything.
func (s strictVariables) mismatch(t *ast.Type, value any) string {
	if list, ok := value.([]any); ok && t.Elem != nil {
		for _, element := range list {
			if given := s.mismatch(t.Elem, element); given != "" {
				return given
			}
		}
		return ""
	}
	if object, ok := value.(map[string]any); ok {
		if definition := s.schema.Types[t.Name()]; definition.Kind == ast.InputObject {
			for _, field := range definition.Fields {
				if given := s.mismatch(field.Type, object[field.Name]); given != "" {
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
