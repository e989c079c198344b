package graph_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint/plan"
	"frontpage/tests/programtest"
	"frontpage/tests/require"
)

// For random documents with faults, NULL has the errors and effects of gqlgen's executor, and its data become gqlgen's once
// their nulls are passed on to the parents; HALT has no data and one of the errors.
func TestOnErrorAnswersLikeGqlgen(t *testing.T) {
	t.Parallel()
	p := newPair(t, differentialServer(t), 0)
	moved, halted := 0, 0
	for i := range uint64(programtest.Size(300, 3000)) { // #nosec G115 -- not negative
		if i%perDataset == 0 {
			for set := i; set == i || p.rated; set++ { // nothing is refused for its rate
				p.fill(rand.New(rand.NewPCG(*seed, set)))
			}
		}
		random := rand.New(rand.NewPCG(*seed, 1<<33+i))
		requests, _ := p.requests(random, kinds...)
		r := requests[0]
		r.faults = faults{salt: random.Uint64() | 1, share: 100}
		if i%4 == 0 {
			r.faults = faults{}
		}
		p.restore()
		wanted := p.sides[0].ask(r)
		stored := p.sides[0].stored(t)
		fail := func(difference string, got answer) {
			t.Fatalf("document %d of seed %d: %s, with onError %s\n%s\ngqlgen: %s\ngot:    %s", i, *seed, difference, r.onError, r, wanted, got)
		}

		r.onError = plan.Null
		got := p.sides[1].ask(r)
		if wanted.operation == nil || strings.Contains(got.body, "in an operation of their own") {
			continue // it is not executed
		}
		x, y := slices.Sorted(slices.Values(wanted.errors)), slices.Sorted(slices.Values(got.errors))
		switch {
		case !slices.Equal(x, y):
			fail("errors", got)
		case r.kind == ast.Mutation && p.sides[1].stored(t) != stored:
			fail("stores", got)
		case wanted.data == "" || got.data == "": // it is refused
			if wanted.data != got.data {
				fail("data", got)
			}
			continue
		}
		if slices.ContainsFunc(wanted.paths, func(path ast.Path) bool { return isEmptied(decoded(t, wanted.data), path) }) {
			continue
		}
		if all := propagated(wanted.operation.Operation.SelectionSet, decoded(t, got.data)); !reflect.DeepEqual(all, decoded(t, wanted.data)) {
			fail("data", got)
		}
		for _, path := range got.paths {
			if !leadsToNull(wanted.operation.Operation.SelectionSet, decoded(t, got.data), path) {
				fail("the null at "+path.String(), got)
			}
		}
		if name := unexplained(wanted.operation.Operation.SelectionSet, decoded(t, got.data), nil, got.paths); name != "" && r.faults.salt == 0 {
			fail(name+" is @semanticNonNull, and null without an error", got)
		}
		if got.data != wanted.data {
			moved++
		}

		p.restore()
		r.onError = plan.Halt
		got = p.sides[1].ask(r)
		switch {
		case len(wanted.errors) == 0 && got.data != wanted.data:
			fail("data", got)
		case len(wanted.errors) > 0 && (got.data != "null" || len(got.errors) != 1 || !slices.Contains(wanted.errors, got.errors[0])):
			fail("errors", got)
		case len(wanted.errors) > 0:
			halted++
		}
	}
	if moved == 0 || halted == 0 {
		t.Errorf("seed %d: %d answers differ with NULL and %d with HALT, want some", *seed, moved, halted)
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &value))
	return value
}

// isEmptied reports whether gqlgen made an empty list of one with an element, at a path, whose selection set ends in a panic, such as
// that of @include with a variable that is null in spite of its default.
func isEmptied(value any, path ast.Path) bool {
	for _, step := range path {
		switch parent := value.(type) {
		case map[string]any:
			name, _ := step.(ast.PathName)
			value = parent[string(name)]
		case []any:
			i, _ := step.(ast.PathIndex)
			if int(i) >= len(parent) {
				return true
			}
			value = parent[i]
		default:
			return false
		}
	}
	return false
}

// leadsToNull reports whether the value at a path is null, and none above it. The path of an error in an argument goes on from
// its field with the argument's name.
func leadsToNull(set ast.SelectionSet, value any, path ast.Path) bool {
	var field *ast.Field
	for _, step := range path {
		switch parent := value.(type) {
		case map[string]any:
			field = fieldsByAlias(set)[string(step.(ast.PathName))][0]
			set = below(set, field.Alias)
			value = parent[string(step.(ast.PathName))]
		case []any:
			value = parent[step.(ast.PathIndex)]
		default:
			name, ok := step.(ast.PathName)
			return value == nil && ok && field.Definition.Arguments.ForName(string(name)) != nil
		}
	}
	return value == nil
}

// unexplained returns the name of a field with @semanticNonNull that is null without an error, of an object at a path or below,
// or an empty text.
func unexplained(set ast.SelectionSet, value any, at ast.Path, errors []ast.Path) string {
	switch parent := value.(type) {
	case []any:
		for i, element := range parent {
			if name := unexplained(set, element, append(slices.Clip(at), ast.PathIndex(i)), errors); name != "" {
				return name
			}
		}
	case map[string]any:
		for alias, value := range parent {
			field, here := fieldsByAlias(set)[alias][0], append(slices.Clip(at), ast.PathName(alias))
			explained := slices.ContainsFunc(errors, func(path ast.Path) bool {
				return len(path) >= len(here) && slices.Equal(path[:len(here)], here)
			})
			if value == nil && !explained && field.Definition.Directives.ForName("semanticNonNull") != nil {
				return field.Name
			}
			if name := unexplained(below(set, alias), value, here, errors); name != "" {
				return name
			}
		}
	}
	return ""
}

// propagated returns what selections have of an object, with the nulls of non-null types passed on to their parents.
func propagated(set ast.SelectionSet, value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	fields := fieldsByAlias(set)
	for alias, value := range object {
		kind := fields[alias][0].Definition.Type
		completed := propagatedValue(kind, below(set, alias), value)
		if completed == nil && kind.NonNull {
			return nil
		}
		object[alias] = completed
	}
	return object
}

func propagatedValue(kind *ast.Type, set ast.SelectionSet, value any) any {
	list, isList := value.([]any)
	switch {
	case value == nil:
		return nil
	case isList && kind.Elem != nil:
		for i := range list {
			if list[i] = propagatedValue(kind.Elem, set, list[i]); list[i] == nil && kind.Elem.NonNull {
				return nil
			}
		}
		return list
	case len(set) > 0:
		return propagated(set, value)
	}
	return value
}

// below returns what is selected of the fields with an alias.
func below(set ast.SelectionSet, alias string) (all ast.SelectionSet) {
	for _, f := range fieldsByAlias(set)[alias] {
		all = append(all, f.SelectionSet...)
	}
	return all
}

// fieldsByAlias returns the fields of selections, also of those in fragments.
func fieldsByAlias(set ast.SelectionSet) map[string][]*ast.Field {
	fields := map[string][]*ast.Field{}
	var add func(ast.SelectionSet)
	add = func(set ast.SelectionSet) {
		for _, selection := range set {
			switch s := selection.(type) {
			case *ast.Field:
				fields[s.Alias] = append(fields[s.Alias], s)
			case *ast.InlineFragment:
				add(s.SelectionSet)
			case *ast.FragmentSpread:
				add(s.Definition.SelectionSet)
			}
		}
	}
	add(set)
	return fields
}
