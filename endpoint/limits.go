package endpoint

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"frontpage/redisrepo"
)

// Limits bound what one document may ask for. Fragments count wherever they are
// spread.
type Limits struct {
	Tokens     int // words and signs of the document
	Depth      int // levels of fields, without those of introspection
	Aliases    int
	RootFields int
	Directives int
	Fields     int
	Cost       int // of what is answered at most, see Schema
	PageSize   int // what a list without a size is taken for: the site's own page
}

// DefaultLimits leave room for every query of a site like this, and none for
// the documents that cost a server seconds. The standard introspection query
// has 184 tokens; a page of 100 with every field costs about 6,000.
func DefaultLimits() Limits {
	return Limits{
		Tokens: 1500, Depth: 12, Aliases: 15, RootFields: 20, Directives: 20, Fields: 500, Cost: 10_000,
		PageSize: redisrepo.DefaultRules().PageSize,
	}
}

// validationRules makes the rules for each document: gqlgen's, whose limit on
// introspection is one of them, and the limits. Without introspection none of
// them may tell the name of something that the client did not name.
func validationRules(limits Limits, introspection bool) func() *rules.Rules {
	return func() *rules.Rules {
		all := rules.NewDefaultRules()
		all.AddRule("Limits", limits.rule)
		all.AddRule("ObjectsAreInputs", objectsAreInputs)
		if !introspection {
			all.AddRule("NoIntrospection", noIntrospection)
			all.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
			all.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
			all.ReplaceRule(rules.ValuesOfCorrectTypeRule.Name, rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc)
		}
		return all
	}
}

// objectsAreInputs refuses {} where a scalar or an enum belongs. gqlparser lets
// it pass, and gqlgen panics on @skip(if: {}).
func objectsAreInputs(events *core.Events, addError core.AddErrFunc) {
	events.OnValue(func(_ *core.Walker, value *ast.Value) {
		if value.Kind == ast.ObjectValue && value.Definition != nil && value.Definition.Kind != ast.InputObject {
			addError(core.Message("%s is not an object", value.Definition.Name), core.At(value.Position))
		}
	})
}

func noIntrospection(events *core.Events, addError core.AddErrFunc) {
	events.OnField(func(_ *core.Walker, field *ast.Field) {
		if introspects(field) {
			addError(because(&refused{code: codeNoIntrospection, message: "introspection is switched off"}), core.At(field.Position))
		}
	})
}

func introspects(field *ast.Field) bool { return field.Name == "__schema" || field.Name == "__type" }

// because makes a validator's error a refusal.
func because(why *refused) core.ErrorOption {
	return func(err *gqlerror.Error) { err.Message, err.Err = why.message, why }
}

// rule measures each operation and refuses it for every limit that it is over.
// It does so before the walk is in the operation, and then empties the document:
// other rules take quadratic time.
func (l Limits) rule(events *core.Events, addError core.AddErrFunc) {
	m := measure{known: map[*ast.FragmentDefinition]tally{}, busy: map[*ast.FragmentDefinition]bool{}}
	var measured *ast.OperationDefinition
	// The walk looks at directives, even where there are none, before it goes into an operation.
	events.OnDirectiveList(func(walker *core.Walker, _ []*ast.Directive) {
		operation := walker.CurrentOperation
		if operation == nil || operation == measured {
			return
		}
		measured, m.document = operation, walker.Document
		t := m.selections(operation.SelectionSet)
		t.directives += len(operation.Directives)
		for _, variable := range operation.VariableDefinitions {
			t.directives += len(variable.Directives)
		}
		over := false
		for _, limit := range []struct {
			code, things   string
			asked, allowed int
		}{
			{codeDepthLimit, "levels", t.depth, l.Depth},
			{codeAliasLimit, "aliases", t.aliases, l.Aliases},
			{codeRootFieldLimit, "root fields", t.width, l.RootFields},
			{codeDirectiveLimit, "directives", t.directives, l.Directives},
			{codeFieldLimit, "fields", t.fields, l.Fields},
		} {
			if limit.asked > limit.allowed {
				over = true
				addError(because(overLimit(limit.code, limit.things, limit.asked, limit.allowed)), core.At(operation.Position))
			}
		}
		if over {
			operation.SelectionSet = nil
			for _, f := range walker.Document.Fragments {
				f.SelectionSet = nil
			}
		}
	})
}
