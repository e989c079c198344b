package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"

	"frontpage/endpoint/plan"
	"frontpage/redisrepo/site"
)

// executor prepares and executes operations.
//
// It replaces gqlgen's executor, which finds out again for each request what depends on the document alone: which
// operation it has, what it costs, how it is executed.
type executor struct {
	schema        Schema
	limits        Limits
	introspection bool
	validation    *validation
	known         documentCache[preparedKey, *prepared]
	requests      requests
	slots         *slots
	shares        *slots                             // of each address
	queries       *sharedQueries                     // nil if none are shared
	leavesOut     func(site.UserName) bool           // whether lists may lack something for a user: then nothing is shared
	ofSchema      *byteCache[sharedQuery, *finished] // responses that depend on the schema alone
	present       graphql.ErrorPresenterFunc
	recover       graphql.RecoverFunc
	observers     []Observer

	// unread refuses a document that the process does not know; nil if it may be read.
	unread func(context.Context) *refusal
	// find sets the document of a request that names it by an id, and refuses one that must not run. If keep is
	// not empty, the document is to be kept under this hash once it has proved valid.
	find func(ctx context.Context, params *graphql.RawParams) (keep string, refused *refusal)
	keep func(ctx context.Context, hash, text string)
}

func newExecutor(schema Schema, log *slog.Logger, o Options) *executor {
	var hidden *hiddenNames
	if !o.Introspection {
		hidden = newHiddenNames(schema.Schema())
	}
	return &executor{
		schema: schema, limits: o.Limits, introspection: o.Introspection, validation: newValidation(schema.Schema(), schema.Scalars, o.Limits, o.Introspection),
		known: newDocumentCache[preparedKey, *prepared](), requests: newRequests(), ofSchema: newByteCache[sharedQuery, *finished](ofSchemaBytes, perFinished),
		slots: newSlots(o.Accounts, o.MaxConcurrent), shares: newSlots(o.Accounts, 0),
		present: presentError(log, o.Limits, hidden), recover: recovered(log), observers: o.Observers,
	}
}

// prepare parses, validates and measures an operation. What it could find out is set in o even if it is refused.
func (e *executor) prepare(o *operation, asked *request, header http.Header) (refused *refusal) {
	o.onError = asked.OnError
	o.asked = &graphql.OperationContext{
		RawQuery: asked.Query, OperationName: asked.OperationName, Extensions: asked.Extensions, Headers: header,
		DisableIntrospection: !e.introspection, RecoverFunc: e.recover, ResolverMiddleware: resolve, RootResolverMiddleware: resolveRoot,
	}
	o.ctx = graphql.WithOperationContext(o.ctx, o.asked)
	var hash string
	if !asked.known {
		if hash, refused = e.find(o.ctx, &asked.RawParams); refused != nil {
			return refused
		}
		o.asked.RawQuery = asked.Query
	}
	p, refused := e.prepared(o, asked)
	if refused != nil {
		return refused
	}
	o.prepared, o.asked.Doc, o.asked.Operation = p, p.document, p.operation
	if asked.known {
		o.asked.Variables, o.variables, o.cost, o.arguments = asked.variables, asked.text, asked.cost, asked.arguments
		return nil
	}
	if refused = e.setVariables(o, asked.Variables); refused != nil {
		return refused
	}
	if refused = e.limits.costs(o.cost); refused != nil {
		return refused
	}
	if hash != "" {
		e.keep(o.ctx, hash, asked.Query)
	}
	e.requests.add(asked, o)
	return nil
}

// sharing returns the address whose share an operation takes, before others can wait for it: none if a service acts for
// many users.
func (e *executor) sharing(ctx context.Context) netip.Addr {
	if v := ViewerOf(ctx); v.Via == "" {
		return v.Network()
	}
	return netip.Addr{}
}

// setVariables coerces the variables of an operation, and sets what depends on them.
func (e *executor) setVariables(o *operation, given map[string]any) *refusal {
	if len(o.prepared.operation.VariableDefinitions) == 0 {
		o.asked.Variables, o.cost = map[string]any{}, o.prepared.cost
		return nil
	}
	if refused := checkVariables(e.schema, o.prepared.operation, given); refused != nil {
		return refused
	}
	var err error
	if o.asked.Variables, err = validator.VariableValues(e.schema.Schema(), o.prepared.operation, given); err != nil {
		return invalid(aboutVariable(err), errcode.ValidationFailed)
	}
	if err := o.prepared.checkNulls(o.asked.Variables); err != nil {
		return invalid(err, errcode.ValidationFailed)
	}
	o.cost, o.variables = costOf(e.schema, o.prepared.operation, o.asked.Variables), string(asJSON(o.asked.Variables))
	return nil
}

// respondTo executes an operation, or an event of a subscription. The response is nil if ctx has ended, or if there
// are no more events.
func (o *operation) respondTo(ctx context.Context, execute graphql.ResponseHandler) *graphql.Response {
	if ctx.Err() != nil {
		return nil
	}
	e := o.exec
	return e.around(graphql.WithResponseContext(ctx, e.present, e.recover), func(ctx context.Context) *graphql.Response {
		response := execute(ctx)
		if response != nil {
			added := graphql.GetErrors(ctx) // by resolvers, some of which run at the same time
			slices.SortStableFunc(added, inDocument)
			response.Errors = append(response.Errors, added...)
			if o.onError == plan.Halt && len(response.Errors) > 0 {
				response.Data, response.Errors = []byte("null"), response.Errors[:1]
			}
		}
		return response
	})
}

// inDocument compares errors by where in the document their fields are.
func inDocument(a, b *gqlerror.Error) int {
	return slices.CompareFunc(a.Locations, b.Locations, func(a, b gqlerror.Location) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// refuse presents errors as the response of an operation that does not run.
func (e *executor) refuse(ctx context.Context, errs gqlerror.List) *graphql.Response {
	return e.around(graphql.WithResponseContext(ctx, e.present, e.recover), func(ctx context.Context) *graphql.Response {
		for _, err := range errs[:min(len(errs), maxErrors+1)] {
			graphql.AddError(ctx, err)
		}
		shown := graphql.GetErrors(ctx)
		for len(shown) < len(errs) {
			shown = append(shown, shown[maxErrors]) // to be counted: boundResponse shows none of these
		}
		return &graphql.Response{Errors: shown}
	})
}

// around calls next as Schema.Around wants it, and bounds the response.
func (e *executor) around(ctx context.Context, next graphql.ResponseHandler) (response *graphql.Response) {
	ctx = &reportingContext{Context: ctx}
	if e.schema.Around != nil {
		response = e.schema.Around(ctx, next)
	} else {
		response = next(ctx)
	}
	if response != nil {
		e.limits.boundResponse(response)
	}
	return response
}

// gqlgen has gqlgen begin to execute an operation. Errors at once, of a subscription's resolver, are its only response.
func (e *executor) gqlgen(ctx context.Context) graphql.ResponseHandler {
	ctx = graphql.WithResponseContext(ctx, e.present, e.recover)
	execute := e.schema.Exec(ctx)
	if errs := graphql.GetErrors(ctx); errs != nil {
		return graphql.OneShot(&graphql.Response{Errors: errs})
	}
	return execute
}

// resolve and resolveRoot are called by gqlgen for each field.
func resolve(ctx context.Context, next graphql.Resolver) (any, error)              { return next(ctx) }
func resolveRoot(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) }

// prepared is what the requests for an operation of a document have in common. It is immutable.
type prepared struct {
	document   *ast.QueryDocument
	operation  *ast.OperationDefinition
	cost       int      // if the operation has no variables
	nullable   []string // variables that may be null where null is not allowed
	dependence Dependence
	Executable
}

// preparedKey is the text of a document, and the name that a request gives for its operation.
type preparedKey struct{ text, name string }

// prepared returns an operation of a document, which it parses and validates at its first use.
func (e *executor) prepared(o *operation, asked *request) (p *prepared, refused *refusal) {
	key := preparedKey{asked.Query, asked.OperationName}
	if p, ok := e.known.get(key); ok {
		return p, nil
	}
	if refused = e.unread(o.ctx); refused != nil {
		return nil, refused
	}
	o.effort = e.effortOf(asked)
	if o.turns == nil {
		return e.read(key)
	}
	o.turns.do(ViewerOf(o.ctx).Network(), func(*turn) {
		if o.ctx.Err() != nil {
			refused = wasCancelled()
		} else {
			p, refused = e.read(key)
		}
	})
	return p, refused
}

// read parses, validates and compiles a document, unless another request has done so meanwhile.
func (e *executor) read(key preparedKey) (*prepared, *refusal) {
	if p, ok := e.known.get(key); ok {
		return p, nil
	}
	text, name := key.text, key.name
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, e.limits.Tokens)
	if err != nil {
		return nil, invalid(err, errcode.ParseFailed)
	}
	if len(document.Operations) == 0 {
		return nil, invalid(gqlerror.Errorf("no operation provided"), errcode.ValidationFailed)
	}
	if errs := e.validation.check(document); len(errs) > 0 {
		return nil, invalid(errs, errcode.ValidationFailed)
	}
	operation := document.Operations.ForName(name)
	if operation == nil {
		return nil, invalid(gqlerror.Errorf("%s", noOperation(document.Operations, name)), errcode.ValidationFailed)
	}
	if len(document.Operations) > 1 {
		// The walk of the last operation has bound the variables in fragments to its own definitions, with their defaults.
		core.Walk(e.schema.Schema(), &ast.QueryDocument{Operations: ast.OperationList{operation}, Fragments: document.Fragments}, &core.Events{})
	}
	p := &prepared{document: document, operation: operation, nullable: nullableVariables(operation)}
	if e.schema.DependenceOf != nil {
		p.dependence = e.schema.DependenceOf(operation.SelectionSet)
	}
	if len(operation.VariableDefinitions) == 0 {
		p.cost = costOf(e.schema, operation, nil)
	}
	if e.schema.Compile != nil && p.cost <= e.limits.Cost {
		p.Executable = e.schema.Compile(operation, document.Fragments)
	}
	e.known.add(key, p, len(text), perToken*countTokens(text)+p.Bytes)
	return p, nil
}

const (
	// maxNamed is how many operations of a document an error names, each by up to maxOperationName bytes of its name.
	maxNamed         = 5
	maxOperationName = 30
)

// noOperation says which operations there are instead of the one that a request names, or does not name.
func noOperation(operations ast.OperationList, name string) string {
	var names []string
	for _, o := range operations[:min(len(operations), maxNamed)] {
		names = append(names, strconv.Quote(cutTo(o.Name, maxOperationName)))
	}
	there := strings.Join(names, ", ")
	if more := len(operations) - len(names); more > 0 {
		there += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case name == "":
		return fmt.Sprintf("the document has %d operations, so operationName must be one of %s", len(operations), there)
	case operations[0].Name == "":
		return fmt.Sprintf("there is no operation %q: the document's only one has no name, so leave operationName out", cutTo(name, maxOperationName))
	}
	return fmt.Sprintf("there is no operation %q: the document has %s", cutTo(name, maxOperationName), there)
}

// invalid refuses a document, or its variables, for the errors of gqlparser that err holds. If some are about limits, the
// others are dropped.
func invalid(err error, code string) *refusal {
	var errs, limits gqlerror.List
	var one *gqlerror.Error
	switch {
	case errors.As(err, &errs):
	case errors.As(err, &one):
		errs = gqlerror.List{one}
	default:
		errs = gqlerror.List{gqlerror.Wrap(err)}
	}
	refused := refusal{errors: errs}
	for _, err := range errs {
		errcode.Set(err, code)
		if over := (*refusal)(nil); errors.As(err, &over) {
			if limits == nil {
				refused = *over
			}
			limits = append(limits, err)
			refused.errors = limits
		}
	}
	return &refused
}
