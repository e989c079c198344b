package graph_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// author writes random documents that are valid by a schema: it knows no field of it.
type author struct {
	random    *rand.Rand
	schema    *ast.Schema
	samples   samples
	left      int    // selections that may still be written, roughly: then only leaves are
	gap       string // between selections
	fragments []*fragment
	variables []*variable
	written   map[string]bool // fields, arguments and members of inputs
}

// document is a document, one of its operations, and that operation's variables.
type document struct {
	text, operation string
	kind            ast.Operation
	variables       []*variable
}

// uses are the variables and fragments that an operation or a fragment refers to itself.
type uses struct {
	variables map[*variable]bool
	fragments map[*fragment]bool
}

func newUses() uses { return uses{map[*variable]bool{}, map[*fragment]bool{}} }

// all returns what an operation refers to, also through fragments.
func (u uses) all() uses {
	all := newUses()
	var add func(uses)
	add = func(u uses) {
		maps.Copy(all.variables, u.variables)
		for f := range u.fragments {
			if !all.fragments[f] {
				all.fragments[f] = true
				add(f.uses)
			}
		}
	}
	add(u)
	return all
}

type fragment struct {
	name   string
	on     string
	body   string
	uses   uses
	scope  *scope
	depth  int
	weight int
}

// write writes a document. Only a subscription has nothing but its operation's one root field.
func (a *author) write(kinds ...ast.Operation) document {
	a.gap = pick(a.random, []string{" ", " ", "\n", ",\n  ", "\r\n\t", " # comment\n"})
	a.left = 3 + a.random.IntN(40)
	var d document
	var definitions []string
	used := newUses()
	for i := range 1 + a.one(6)*(1+a.one(3)) {
		kind, name := pick(a.random, kinds), fmt.Sprint(pick(a.random, []string{"Op", "query", "on", "_"}), i)
		u := newUses()
		root := rootOf(a.schema, kind)
		body := ""
		if kind == ast.Subscription {
			body = "{" + a.field(u, root, &scope{}, 1, 1) + "}"
		} else {
			body = a.selections(u, root, &scope{}, 1, 1)
		}
		all := u.all()
		maps.Copy(used.fragments, all.fragments)
		variables := slices.SortedFunc(maps.Keys(all.variables), func(v, w *variable) int { return strings.Compare(v.name, w.name) })
		definitions = append(definitions, string(kind)+" "+name+definitionsOf(variables)+" "+body)
		if i == 0 || a.one(2) == 1 {
			d.kind, d.operation, d.variables = kind, name, variables
		}
	}
	if len(definitions) == 1 && a.one(2) == 1 {
		d.operation = ""
		if d.kind == ast.Query && len(d.variables) == 0 {
			definitions[0] = definitions[0][strings.Index(definitions[0], "{"):]
		}
	}
	for _, f := range a.fragments {
		if used.fragments[f] {
			definitions = append(definitions, "fragment "+f.name+" on "+f.on+" "+f.body)
		}
	}
	a.random.Shuffle(len(definitions), func(i, j int) { definitions[i], definitions[j] = definitions[j], definitions[i] })
	d.text = strings.Join(definitions, a.gap)
	return d
}

func rootOf(schema *ast.Schema, kind ast.Operation) *ast.Definition {
	return map[ast.Operation]*ast.Definition{ast.Query: schema.Query, ast.Mutation: schema.Mutation, ast.Subscription: schema.Subscription}[kind]
}

// one returns 1 in one of n cases, otherwise 0.
func (a *author) one(n int) int {
	if a.random.IntN(n) == 0 {
		return 1
	}
	return 0
}

func (a *author) chance(n int) bool { return a.one(n) == 1 }

// selections writes a selection set for a type. weight estimates how many objects it is evaluated for.
func (a *author) selections(u uses, on *ast.Definition, s *scope, depth, weight int) string {
	var parts []string
	for range 1 + a.random.IntN(5) {
		if part := a.selection(u, on, s, depth, weight); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "__typename")
	}
	return "{" + a.gap + strings.Join(parts, a.gap) + a.gap + "}"
}

func (a *author) selection(u uses, on *ast.Definition, s *scope, depth, weight int) string {
	a.left--
	switch n := a.random.IntN(20); {
	case n == 0:
		return a.leaf(u, on, s)
	case a.left <= 0: // decisions for fragments only would nest them without end
		return a.field(u, on, s, depth, weight)
	case n < 3:
		condition, inner := "", on
		if types := a.conditions(on); !a.chance(4) {
			inner = pick(a.random, types)
			condition = " on " + inner.Name
		}
		return "..." + condition + a.directives(u) + " " + a.selections(u, inner, s, depth, weight)
	case n < 6:
		return a.spread(u, on, s, depth, weight)
	default:
		return a.field(u, on, s, depth, weight)
	}
}

// leaf writes __typename.
func (a *author) leaf(u uses, on *ast.Definition, s *scope) string {
	f := &ast.FieldDefinition{Name: "__typename", Type: ast.NonNullNamedType("String", nil)}
	text, _ := a.named(s, entry{on: on, field: f.Name, result: f.Type.String()})
	return text + a.directives(u)
}

// conditions returns the types that a fragment on a type may be for.
func (a *author) conditions(on *ast.Definition) []*ast.Definition {
	types := []*ast.Definition{on}
	for _, name := range on.Interfaces {
		types = append(types, a.schema.Types[name])
	}
	if on.IsAbstractType() {
		types = append(types, a.schema.GetPossibleTypes(on)...)
	}
	return types
}

// spread writes a spread of a fragment, old or new.
func (a *author) spread(u uses, on *ast.Definition, s *scope, depth, weight int) string {
	types := a.conditions(on)
	var f *fragment
	for _, old := range a.fragments {
		if a.chance(2) && depth <= old.depth && weight <= old.weight && slices.ContainsFunc(types, func(d *ast.Definition) bool { return d.Name == old.on }) {
			f = old
		}
	}
	if f == nil {
		inner := pick(a.random, types)
		f = &fragment{on: inner.Name, uses: newUses(), scope: &scope{}, depth: depth, weight: weight}
		f.body = a.selections(f.uses, inner, f.scope, depth, weight)
		f.name = fmt.Sprint("F", len(a.fragments))
		a.fragments = append(a.fragments, f)
	}
	if !s.merge(f.scope) {
		return ""
	}
	u.fragments[f] = true
	return "..." + f.name + a.directives(u)
}

// field writes a field, one in six times one that the response has already.
func (a *author) field(u uses, on *ast.Definition, s *scope, depth, weight int) string {
	var fields []*ast.FieldDefinition
	for _, f := range on.Fields {
		introspection := strings.HasPrefix(f.Name, "__")
		if leaf := a.schema.Types[f.Type.Name()].IsLeafType(); leaf || depth < 8 && weight < 100 && a.left > 0 {
			if !introspection || a.chance(40) {
				fields = append(fields, f)
			}
			if !leaf && !introspection && depth < 4 { // twice as likely as a scalar
				fields = append(fields, f)
			}
		}
	}
	if len(fields) == 0 {
		return a.leaf(u, on, s)
	}
	f := pick(a.random, fields)
	a.written[on.Name+"."+f.Name] = true
	of := a.schema.Types[f.Type.Name()]
	e := entry{on: on, field: f.Name, result: f.Type.String(), composite: !of.IsLeafType()}
	text, below := a.again(s, &e)
	if text == "" {
		e.arguments, e.variables = a.arguments(on.Name+"."+f.Name, f)
		text, below = a.named(s, e)
	}
	for _, v := range e.variables {
		u.variables[v] = true
	}
	text += e.arguments + a.directives(u)
	if e.composite {
		if f.Type.Elem != nil {
			weight *= 4
		}
		text += " " + a.selections(u, of, below, depth+1, weight)
	}
	return text
}

// again returns the name of a field of a type that the response has already, with the scope below it, or "". It
// replaces the arguments of e by those of that field.
func (a *author) again(s *scope, e *entry) (string, *scope) {
	if !a.chance(6) {
		return "", nil
	}
	for _, key := range s.order {
		for _, old := range s.slots[key].entries {
			if old.on == e.on && old.field == e.field {
				*e = old
				return nameOf(key, e.field), s.slots[key].below
			}
		}
	}
	return "", nil
}

// named chooses a response key for a field, and returns its text without arguments.
func (a *author) named(s *scope, e entry) (string, *scope) {
	key := e.field
	if a.chance(5) {
		key = pick(a.random, []string{"a", "b", "id", "name", "title", "nodes", "_", "__x", "A0"})
	}
	for n := 0; !s.fits(key, e); n++ {
		key = fmt.Sprint("k", len(s.order)+n)
	}
	return nameOf(key, e.field), s.add(key, e)
}

func nameOf(key, field string) string {
	if key == field {
		return field
	}
	return key + ": " + field
}

// arguments writes the arguments of a field, and returns the variables in them.
func (a *author) arguments(name string, f *ast.FieldDefinition) (string, []*variable) {
	u := newUses()
	var list []string
	for _, argument := range f.Arguments {
		required := argument.Type.NonNull && argument.DefaultValue == nil
		if required || a.chance(a.samples.rarity(argument.Name)) {
			a.written[name+"."+argument.Name] = true
			value := a.value(&u, argument.Type, argument.Name, argument.DefaultValue != nil)
			list = append(list, argument.Name+": "+literal(value))
		}
	}
	if list == nil {
		return "", nil
	}
	a.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return "(" + strings.Join(list, ", ") + ")", slices.Collect(maps.Keys(u.variables))
}

// directives writes none, @skip, @include, or both.
func (a *author) directives(u uses) string {
	text := ""
	for _, name := range []string{"skip", "include"} {
		if !a.chance(14) {
			continue
		}
		condition := a.value(&u, ast.NonNullNamedType("Boolean", nil), name, false)
		if _, constant := condition.(bool); constant && a.chance(2) { // most fields stay
			condition = name == "include"
		}
		text += " @" + name + "(if: " + literal(condition) + ")"
	}
	return text
}
