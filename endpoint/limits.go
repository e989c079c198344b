package endpoint

import (
	"context"
	"fmt"
	"math"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/endpoint/measure"
	"frontpage/redisrepo/site"
)

// Limits bound what one document may ask for. A fragment counts at each of its spreads.
type Limits struct {
	Tokens     int
	Depth      int // nesting of fields, without those of introspection
	Aliases    int
	RootFields int
	Directives int
	Fields     int
	Cost       int // maximum number of objects and scalars in the response, by the sizes of its lists; see PointBytes
	PageSize   int // assumed size of a list whose size is not given: the site's page size
}

// PointBytes is the maximum size of what one point of cost stands for in a response: a name of at most
// maxAlias bytes and a scalar, or an object without its fields. A schema whose scalars can be longer sets their
// cost in its ComplexityRoot.
const PointBytes = 2_200

// maxAlias is the maximum length of an alias, bytes. A response repeats it for each element of a list.
const maxAlias = 100

// maxSchemas is how often an operation may ask for the schema: the standard introspection query does once. An alias of a
// field in __schema or __type counts as another time, since it repeats as much.
const maxSchemas = 2

// DefaultLimits allow every query of a site like this, and no document that costs a server seconds. The
// standard introspection query has 184 tokens; a page of 100 articles with every field costs about 8,000.
func DefaultLimits() Limits {
	return Limits{
		Tokens: 1500, Depth: 12, Aliases: 15, RootFields: 20, Directives: 20, Fields: 500, Cost: 10_000,
		PageSize: site.DefaultRules().PageSize,
	}
}

// check returns an error for each limit that an operation of the document exceeds.
func (l Limits) check(document *ast.QueryDocument) (errs gqlerror.List) {
	for i, tally := range measure.Operations(document) {
		for _, refused := range l.exceededBy(tally) {
			err := gqlerror.ErrorPosf(document.Operations[i].Position, "%s", refused.message)
			err.Err = refused
			errs = append(errs, err)
		}
	}
	return errs
}

// exceededBy returns a refusal for each limit that an operation exceeds.
func (l Limits) exceededBy(t measure.Tally) (exceeded []*refusal) {
	for _, limit := range []struct {
		code, things   string
		asked, allowed int
	}{
		{codeDepthLimit, "levels", t.Depth, l.Depth},
		{codeAliasLimit, "aliases", t.Aliases, l.Aliases},
		{codeAliasLimit, "bytes in an alias", t.Longest, maxAlias},
		{codeAliasLimit, "fields __schema and __type or aliases in them", t.Schemas, maxSchemas},
		{codeRootFieldLimit, "root fields", t.Width, l.RootFields},
		{codeDirectiveLimit, "directives", t.Directives, l.Directives},
		{codeFieldLimit, "fields", t.Fields, l.Fields},
	} {
		if limit.asked > limit.allowed {
			exceeded = append(exceeded, overLimit(limit.code, limit.things, limit.asked, limit.allowed))
		}
	}
	return exceeded
}

// costOf returns the cost of an operation: each scalar and each object costs at least 1, and a list costs its maximum
// length times the cost of an element. The calculation expands every spread of a fragment, so it relies on the other
// limits, which are checked before.
func costOf(schema graphql.ExecutableSchema, operation *ast.OperationDefinition, variables map[string]any) int {
	return complexity.Calculate(context.Background(), schema, operation, variables)
}

// costs refuses an operation whose response could be too large.
func (l Limits) costs(asked int) *refusal {
	if asked <= l.Cost {
		return nil
	}
	return overLimit(codeCostLimit, "points of complexity", asked, l.Cost)
}

// maxErrors is how many errors of one response are shown. A short document, and a page, can have thousands.
const maxErrors = 20

// boundResponse replaces errors beyond maxErrors by one that says how many they are. It also replaces data that is
// longer than the limit of cost allows, which happens only if the store holds longer values than this program
// writes.
func (l Limits) boundResponse(response *graphql.Response) {
	if size, allowed := len(response.Data), min(l.Cost, math.MaxInt32)*PointBytes; size > allowed {
		response.Data = []byte("null")
		response.Errors = gqlerror.List{overLimit(codeResponseLimit, "bytes in its response", size, allowed).shown()}
	}
	if more := len(response.Errors) - maxErrors; more > 0 {
		code := response.Errors[maxErrors].Extensions["code"]
		response.Errors = append(response.Errors[:maxErrors:maxErrors], &gqlerror.Error{
			Message: fmt.Sprintf("%d more errors are not shown", more), Extensions: map[string]any{"code": code},
		})
	}
}
