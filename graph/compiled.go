package graph

import (
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/plan"
)

// compiler returns a function that compiles an operation. What package plan cannot execute is left to gqlgen.
func compiler(schema *plan.Schema) func(*ast.OperationDefinition, ast.FragmentDefinitionList) endpoint.Executable {
	return func(definition *ast.OperationDefinition, fragments ast.FragmentDefinitionList) endpoint.Executable {
		operation := schema.Compile(definition, fragments)
		switch {
		case operation == nil:
			return endpoint.Executable{}
		case definition.Operation == ast.Subscription:
			return endpoint.Executable{Event: operation.Event, Bytes: operation.Bytes()}
		}
		return endpoint.Executable{Execute: operation.Execute, Bytes: operation.Bytes()}
	}
}
