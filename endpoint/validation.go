package endpoint

import (
	"fmt"
	"math"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"frontpage/endpoint/measure"
)

// validation checks documents in a time that limits bound: of gqlparser's rules, some take quadratic time.
type validation struct {
	schema     *ast.Schema
	limits     Limits
	plain      *rules.Rules // suggest nothing
	suggesting *rules.Rules // nil if no error may suggest names that the client did not send
}

func newValidation(schema *ast.Schema, scalars Scalars, limits Limits, introspection bool) *validation {
	v := &validation{schema: schema, limits: limits, plain: validationRules(scalars)}
	v.plain.ReplaceRule(rules.FieldsOnCorrectTypeRule.Name, rules.FieldsOnCorrectTypeRuleWithoutSuggestions.RuleFunc)
	v.plain.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
	v.plain.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	v.plain.ReplaceRule(rules.ScalarLeafsRule.Name, rules.ScalarLeafsRuleWithoutSuggestions.RuleFunc)
	v.plain.ReplaceRule(rules.ValuesOfCorrectTypeRule.Name, rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc)
	if introspection {
		v.suggesting = validationRules(scalars)
	} else {
		v.plain.AddRule("NoIntrospection", noIntrospection)
	}
	return v
}

// validationRules returns gqlparser's rules, which include a limit on introspection, and those that it lacks.
func validationRules(scalars Scalars) *rules.Rules {
	all := rules.NewDefaultRules()
	all.AddRule("ObjectsAreInputs", objectsAreInputs)
	all.AddRule("NumbersAreInRange", numbersAreInRange)
	all.AddRule("ScalarsParse", scalars.parse)
	return all
}

// check returns what is wrong with a document. What makes validation slow is refused before it.
func (v *validation) check(document *ast.QueryDocument) gqlerror.List {
	if errs := v.limits.check(document); len(errs) > 0 {
		return errs
	}
	if errs := measure.SpreadErrors(document); len(errs) > 0 {
		return errs
	}
	work := measure.Work(document)
	if work > measure.MaxWork {
		return presentable(&refusal{
			code: codeValidationLimit, asked: measure.MaxWork + 1, allowed: measure.MaxWork,
			message: "validating the document takes too long: select fewer equal fields, use fewer or shorter names and values, or send each operation alone",
		})
	}
	errs := validator.ValidateWithRules(v.schema, document, v.plain)
	if v.suggesting != nil && work <= measure.MaxWork/4 && suggestible(errs) {
		return validator.ValidateWithRules(v.schema, document, v.suggesting)
	}
	return errs
}

const (
	// maxSuggested is how many errors a document may have whose errors suggest names.
	maxSuggested = 10
	// maxMisspelt is the maximum length of an error about a name that gets a suggestion, bytes.
	maxMisspelt = 200
)

// suggestible reports whether the errors are few, and about short names: suggesting takes the length of a name times that
// of all names in the schema.
func suggestible(errs gqlerror.List) bool {
	for _, err := range errs {
		if len(err.Message) > maxMisspelt {
			return false
		}
	}
	return len(errs) > 0 && len(errs) <= maxSuggested
}

// anyScalar is the scalar of Apollo Federation whose values are objects: references to entities.
const anyScalar = "_Any"

// objectsAreInputs rejects {} as a value of a scalar or an enum. gqlparser accepts it, and gqlgen panics on
// @skip(if: {}).
func objectsAreInputs(events *core.Events, addError core.AddErrFunc) {
	events.OnValue(func(_ *core.Walker, value *ast.Value) {
		if value.Kind == ast.ObjectValue && value.Definition != nil && value.Definition.Kind != ast.InputObject && value.Definition.Name != anyScalar {
			addError(core.Message("%s is not an object", value.Definition.Name), core.At(value.Position))
		}
	})
}

// numbersAreInRange rejects numbers that no type has, or not the type Int. gqlparser accepts the first for scalars of the
// schema, and then panics; gqlgen finds the second when it executes the field, after other fields.
func numbersAreInRange(events *core.Events, addError core.AddErrFunc) {
	events.OnValue(func(_ *core.Walker, value *ast.Value) {
		if value.Kind != ast.IntValue && value.Kind != ast.FloatValue {
			return
		}
		number, err := value.Value(nil)
		whole, _ := number.(int64)
		if err != nil || value.Definition != nil && value.Definition.Name == "Int" && (whole < math.MinInt32 || whole > math.MaxInt32) {
			addError(core.Message("the number %s is out of range", value.Raw), core.At(value.Position))
		}
	})
}

// Scalars has a function for each scalar of a schema, which returns an error for an invalid value.
type Scalars map[string]func(value any) error

// parse rejects literals that are not values of the schema's scalars. gqlparser accepts all of them.
func (s Scalars) parse(events *core.Events, addError core.AddErrFunc) {
	events.OnValue(func(_ *core.Walker, value *ast.Value) {
		if value.Definition == nil || s[value.Definition.Name] == nil || value.Kind == ast.Variable || value.Kind == ast.NullValue ||
			value.Kind == ast.ObjectValue || value.Kind == ast.ListValue && value.ExpectedType.Elem != nil {
			return
		}
		parsed, err := value.Value(nil)
		switch {
		case err != nil: // a number out of range
			return
		case value.Kind == ast.EnumValue:
			err = fmt.Errorf("%s is not of type %s: give a text in quotes", value.Raw, value.Definition.Name)
		default:
			err = s[value.Definition.Name](parsed)
		}
		if err != nil {
			addError(core.Message("%s", err), core.At(value.Position))
		}
	})
}

func noIntrospection(events *core.Events, addError core.AddErrFunc) {
	events.OnField(func(_ *core.Walker, field *ast.Field) {
		if measure.Introspects(field) {
			refused := &refusal{code: codeNoIntrospection, message: "introspection is disabled"}
			addError(core.At(field.Position), func(err *gqlerror.Error) { err.Message, err.Err = refused.message, refused })
		}
	})
}
