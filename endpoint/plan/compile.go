package plan

import (
	"context"
	"slices"
	"strings"
	"unsafe"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// variant is the plan of an operation for one setting of the conditions in @skip and @include.
type variant struct {
	root       *selection
	top        []*selection          // the root alone
	parent     *graphql.FieldContext // of the fields at the root
	selections int                   // number of selections, each of which has a group
	columns    int                   // number of fields that have a column
	bytes      int                   // what the plan takes in memory, roughly
	serial     bool                  // fields at the root are executed one after the other
}

// selection is what is selected of one object type at one place of an answer.
type selection struct {
	id     int    // index of its group
	object string // the type
	via    *field // the field that leads here; nil at the root
	fields []field
	read   []*field // those of fields that have a column, and no resolver there or below
	wait   []*field // those of fields that have a resolver, or one below
	broken any      // why it cannot be executed: what gqlgen would panic with for each object
}

// field is a field of a selection.
type field struct {
	Field
	key      []byte // what the answer has before the value: { or a comma, the name, a colon
	typeName bool   // it is __typename, whose value is in key
	owner    *selection
	selected graphql.CollectedField
	list     bool
	nonNull  bool // the field's type is non-null
	elements bool // the type of the list's elements is non-null
	column   int  // index of its column; -1 if it has none
	rank     int  // its place in the order in which gqlgen reports errors
	constant map[string]any
	children []*selection                  // of each type that it can lead to
	abstract func(value any) (any, string) // of an interface or union
}

// maxFields is the maximum number of fields of a plan. A field of an interface counts for each of its types.
const maxFields = 10_000

// variant returns the plan for the values of variables.
func (o *Operation) variant(variables map[string]any) *variant {
	if o.only != nil {
		return o.only
	}
	var few [16]byte
	setting := few[:0]
	for _, name := range o.conditions {
		switch value, ok := variables[name].(bool); {
		case !ok:
			setting = append(setting, '?') // null, which makes a selection fail
		case value:
			setting = append(setting, '1')
		default:
			setting = append(setting, '0')
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	v, ok := o.variants[string(setting)]
	if !ok {
		v = compile(o, variables)
		if len(o.variants) < maxVariants {
			o.variants[string(setting)] = v
		}
	}
	return v
}

// compiler compiles one operation.
type compiler struct {
	schema  *Schema
	context *graphql.OperationContext // of gqlgen, for its CollectFields
	plan    *variant
	fields  int
}

// compile compiles an operation for the values of variables. It returns nil if the operation uses what has no
// binding.
func compile(o *Operation, variables map[string]any) *variant {
	c := compiler{schema: o.schema, plan: &variant{}, context: &graphql.OperationContext{
		Doc: &ast.QueryDocument{Fragments: o.fragments}, Variables: variables,
	}}
	var root *ast.Definition
	switch o.definition.Operation {
	case ast.Mutation:
		root, c.plan.serial = o.schema.Definition.Mutation, true
	case ast.Subscription:
		root = o.schema.Definition.Subscription
	default:
		root = o.schema.Definition.Query
	}
	if c.plan.root = c.selection(root, o.definition.SelectionSet, nil); c.plan.root == nil {
		return nil
	}
	c.plan.top, c.plan.parent = []*selection{c.plan.root}, &graphql.FieldContext{Object: root.Name}
	if c.plan.root.broken != nil {
		panic(c.plan.root.broken)
	}
	if o.definition.Operation == ast.Subscription && slices.ContainsFunc(c.plan.root.fields, func(f field) bool { return !f.source }) {
		return nil
	}
	return c.plan
}

// selection compiles what is selected of an object type.
func (c *compiler) selection(object *ast.Definition, set ast.SelectionSet, via *field) *selection {
	types := []string{object.Name}
	for _, implemented := range c.schema.Definition.GetImplements(object) {
		types = append(types, implemented.Name)
	}
	collected, broken := c.collect(set, types)
	s := &selection{id: c.plan.selections, object: object.Name, via: via, fields: make([]field, len(collected)), broken: broken}
	c.plan.selections++
	c.fields += len(collected)
	c.plan.bytes += int(unsafe.Sizeof(*s)) + len(collected)*int(unsafe.Sizeof(field{}))
	if c.fields > maxFields {
		return nil
	}
	before := byte('{')
	for i := range collected {
		f := &s.fields[i]
		f.owner, f.selected, f.column = s, collected[i], -1
		f.key = append(AppendString([]byte{before}, f.selected.Alias), ':')
		before = ','
		if slices.ContainsFunc(collected[:i], func(other graphql.CollectedField) bool { return other.Alias == f.selected.Alias }) {
			return nil // gqlgen writes the first one
		}
		if f.selected.Name == "__typename" {
			f.typeName, f.key = true, AppendString(f.key, object.Name)
		} else if !c.field(f, object) {
			return nil
		}
		f.rank = i
		if f.resolve != nil && (!c.plan.serial || s.via != nil) {
			f.rank += len(collected) // gqlgen resolves after reading
		}
		c.plan.bytes += len(f.key)
	}
	return s
}

// collect collects the fields of a selection as gqlgen does, which panics if a condition is null.
func (c *compiler) collect(set ast.SelectionSet, types []string) (fields []graphql.CollectedField, broken any) {
	defer func() { broken = recover() }()
	return graphql.CollectFields(c.context, set, types), nil
}

// field compiles a field of an object type; false if it has no binding.
func (c *compiler) field(f *field, object *ast.Definition) bool {
	definition := object.Fields.ForName(f.selected.Name)
	var bound bool
	if f.Field, bound = c.schema.Objects[object.Name][f.selected.Name]; !bound || definition == nil {
		return false
	}
	f.nonNull, f.list = definition.Type.NonNull, definition.Type.Elem != nil
	f.elements = f.list && definition.Type.Elem.NonNull
	f.constant = c.constant(f)
	if f.append != nil {
		return true
	}
	f.column = c.plan.columns
	c.plan.columns++
	resolves := f.resolve != nil
	defer func() {
		if resolves {
			f.owner.wait = append(f.owner.wait, f)
		} else {
			f.owner.read = append(f.owner.read, f)
		}
	}()
	target := c.schema.Definition.Types[definition.Type.Name()]
	if !target.IsCompositeType() {
		return true
	}
	if target.IsAbstractType() {
		if f.abstract, bound = c.schema.Abstract[target.Name]; !bound {
			return false
		}
	}
	for _, possible := range c.schema.Definition.GetPossibleTypes(target) {
		child := c.selection(possible, f.selected.Selections, f)
		if child == nil {
			return false
		}
		resolves = resolves || len(child.wait) > 0
		f.children = append(f.children, child)
	}
	return true
}

// constant returns the arguments of a field, parsed, if they are the same for each execution and cannot be modified
// by a resolver; else nil.
func (c *compiler) constant(f *field) (arguments map[string]any) {
	if f.args == nil {
		return nil
	}
	for _, definition := range f.selected.Definition.Arguments {
		if definition.Type.Elem != nil || !c.schema.Definition.Types[definition.Type.Name()].IsLeafType() {
			return nil
		}
		if argument := f.selected.Arguments.ForName(definition.Name); argument != nil && argument.Value.Kind == ast.Variable {
			return nil
		}
	}
	defer func() {
		if recover() != nil {
			arguments = nil // it is reported by each execution
		}
	}()
	arguments, err := f.args(context.Background(), f.selected.ArgumentMap(nil))
	if err != nil {
		return nil
	}
	return arguments
}

// unconditional returns a copy of the operation without @skip and @include.
func (o *Operation) unconditional() *Operation {
	definition := *o.definition
	definition.SelectionSet = bareSelections(o.definition.SelectionSet)
	bare := &Operation{schema: o.schema, definition: &definition}
	for _, fragment := range o.fragments {
		copied := *fragment
		copied.SelectionSet = bareSelections(fragment.SelectionSet)
		bare.fragments = append(bare.fragments, &copied)
	}
	return bare
}

func bareSelections(set ast.SelectionSet) ast.SelectionSet {
	bare := make(ast.SelectionSet, len(set))
	for i, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			field := *s
			field.Directives, field.SelectionSet = nil, bareSelections(s.SelectionSet)
			bare[i] = &field
		case *ast.InlineFragment:
			inline := *s
			inline.Directives, inline.SelectionSet = nil, bareSelections(s.SelectionSet)
			bare[i] = &inline
		case *ast.FragmentSpread:
			spread := *s
			spread.Directives = nil
			bare[i] = &spread
		}
	}
	return bare
}

// conditionsIn returns the names of the variables in @skip and @include of a selection and all below, sorted.
func conditionsIn(set ast.SelectionSet) []string {
	var names []string
	seen := map[string]bool{}
	var walk func(ast.SelectionSet)
	directives := func(list ast.DirectiveList) {
		for _, d := range list {
			for _, argument := range d.Arguments {
				if argument.Value.Kind == ast.Variable {
					names = append(names, argument.Value.Raw)
				}
			}
		}
	}
	walk = func(set ast.SelectionSet) {
		for _, s := range set {
			switch s := s.(type) {
			case *ast.Field:
				directives(s.Directives)
				walk(s.SelectionSet)
			case *ast.InlineFragment:
				directives(s.Directives)
				walk(s.SelectionSet)
			case *ast.FragmentSpread:
				directives(s.Directives)
				if !seen[s.Name] {
					seen[s.Name] = true
					walk(s.Definition.SelectionSet)
				}
			}
		}
	}
	walk(set)
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}
