// Package plan executes GraphQL operations without interpreting them. It compiles an operation once into a plan and
// then executes it breadth-first: a field with a resolver is resolved for all objects of its list together, and the
// other fields are appended to the answer straight from the Go values. Answers, errors and their order are those of
// gqlgen's executor, which still executes what has no binding, such as introspection.
//
// An execution has two phases. First it fills a column for each field that has a resolver or returns objects: the
// field's value for each of its parent objects. Then it prints the answer from columns and objects, from the root to
// the leaves, and meanwhile reports errors and passes nulls on to parents.
//
// The bindings of a schema's types are generated from gqlgen's configuration. Field middleware of gqlgen's extensions
// is not called.
package plan

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Schema is a schema with the Go bindings of its types. gqlgen executes operations that use types without a binding.
type Schema struct {
	Definition *ast.Schema
	// Objects has the fields of each object type.
	Objects map[string]map[string]Field
	// Abstract has a function for each interface and union. It returns a value as a pointer, and the name of its
	// object type, and panics if it has none.
	Abstract map[string]func(value any) (object any, typeName string)
}

// Operation is a compiled operation. Many requests may execute it at once.
type Operation struct {
	schema     *Schema
	definition *ast.OperationDefinition
	fragments  ast.FragmentDefinitionList
	conditions []string // names of the variables in @skip and @include, sorted
	only       *variant // without conditions: the plan
	bytes      int

	mu       sync.Mutex
	variants map[string]*variant // a plan for each setting of conditions that was used; guarded by mu
}

// maxVariants is the maximum number of plans kept for one operation. One with more settings of its conditions is
// compiled for each execution with a further setting.
const maxVariants = 4

// Compile compiles a valid operation. It returns nil if the operation uses a type or field without a binding.
func (s *Schema) Compile(definition *ast.OperationDefinition, fragments ast.FragmentDefinitionList) *Operation {
	o := &Operation{schema: s, definition: definition, fragments: fragments, variants: map[string]*variant{}}
	o.conditions = conditionsIn(definition.SelectionSet)
	full := o
	if len(o.conditions) > 0 {
		full = o.unconditional() // shows whether there is a binding for everything
	}
	v := compile(full, nil)
	if v == nil {
		return nil
	}
	if full == o {
		o.only = v
	}
	o.bytes = v.bytes * min(1+len(o.conditions), maxVariants)
	return o
}

// Bytes estimates what the operation takes in memory, besides its document.
func (o *Operation) Bytes() int { return o.bytes }

// OnError says how the error of a field affects the answer, as in a draft of the specification
// (https://github.com/graphql/graphql-spec/pull/1236).
type OnError string

// The values of OnError. The errors themselves are the same with all of them.
const (
	// Propagate passes the null of a non-null field or element on to its parent, as gqlgen does.
	Propagate OnError = "PROPAGATE"
	// Null puts null where the error is, even if the type is non-null.
	Null OnError = "NULL"
	// Halt executes no further root field of a mutation after an error. The answer is otherwise that of Propagate; package
	// endpoint replaces the whole answer by its first error.
	Halt OnError = "HALT"
)

// Request has the inputs of an execution besides its context.
type Request struct {
	OnError   OnError
	Arguments *Arguments // of executions with equal variables; may be nil
	Text      []byte     // the answer is appended to it; the caller owns it and may reuse it
}

// Execute executes a query or a mutation. ctx has gqlgen's operation context and response context.
func (o *Operation) Execute(ctx context.Context, r Request) *graphql.Response {
	v := o.variant(graphql.GetOperationContext(ctx).Variables)
	e := newExecution(ctx, v, r)
	e.resolve(v.top)
	return e.respond()
}

// Event returns the response of a subscription about one value of its source.
func (o *Operation) Event(ctx context.Context, value any, r Request) *graphql.Response {
	v := o.variant(graphql.GetOperationContext(ctx).Variables)
	e := newExecution(ctx, v, r)
	f := &v.root.fields[0]
	e.columns[f.column].values = []any{value}
	e.descend(f)
	return e.respond()
}
