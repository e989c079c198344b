package endpoint

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/core"

	"frontpage/redisrepo"
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
		PageSize: redisrepo.DefaultRules().PageSize,
	}
}

// objectsAreInputs rejects {} as a value of a scalar or an enum. gqlparser accepts it, and gqlgen panics on
// @skip(if: {}).
func objectsAreInputs(events *core.Events, addError core.AddErrFunc) {
	events.OnValue(func(_ *core.Walker, value *ast.Value) {
		if value.Kind == ast.ObjectValue && value.Definition != nil && value.Definition.Kind != ast.InputObject {
			addError(core.Message("%s is not an object", value.Definition.Name), core.At(value.Position))
		}
	})
}

// numbersAreInRange rejects numbers that no type has. gqlparser accepts them for scalars of the schema, and then panics.
func numbersAreInRange(events *core.Events, addError core.AddErrFunc) {
	events.OnValue(func(_ *core.Walker, value *ast.Value) {
		if value.Kind != ast.IntValue && value.Kind != ast.FloatValue {
			return
		}
		if _, err := value.Value(nil); err != nil {
			addError(core.Message("the number %s is out of range", value.Raw), core.At(value.Position))
		}
	})
}

func noIntrospection(events *core.Events, addError core.AddErrFunc) {
	events.OnField(func(_ *core.Walker, field *ast.Field) {
		if introspects(field) {
			addError(because(&refusal{code: codeNoIntrospection, message: "introspection is disabled"}), core.At(field.Position))
		}
	})
}

func introspects(field *ast.Field) bool { return field.Name == "__schema" || field.Name == "__type" }

// because turns a validator's error into a refusal.
func because(refused *refusal) core.ErrorOption {
	return func(err *gqlerror.Error) { err.Message, err.Err = refused.message, refused }
}

// check returns an error for each limit that an operation of the document exceeds.
func (l Limits) check(document *ast.QueryDocument) (errs gqlerror.List) {
	m := newMeasure(document)
	for _, operation := range document.Operations {
		for _, refused := range l.exceededBy(m.operation(operation)) {
			err := gqlerror.ErrorPosf(operation.Position, "%s", refused.message)
			err.Err = refused
			errs = append(errs, err)
		}
	}
	return errs
}

// exceededBy returns a refusal for each limit that an operation exceeds.
func (l Limits) exceededBy(t tally) (exceeded []*refusal) {
	for _, limit := range []struct {
		code, things   string
		asked, allowed int
	}{
		{codeDepthLimit, "levels", t.depth, l.Depth},
		{codeAliasLimit, "aliases", t.aliases, l.Aliases},
		{codeAliasLimit, "bytes in an alias", t.longest, maxAlias},
		{codeAliasLimit, "fields __schema and __type or aliases in them", t.schemas, maxSchemas},
		{codeRootFieldLimit, "root fields", t.width, l.RootFields},
		{codeDirectiveLimit, "directives", t.directives, l.Directives},
		{codeFieldLimit, "fields", t.fields, l.Fields},
	} {
		if limit.asked > limit.allowed {
			exceeded = append(exceeded, overLimit(limit.code, limit.things, limit.asked, limit.allowed))
		}
	}
	return exceeded
}
