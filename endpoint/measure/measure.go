// Package measure says what a GraphQL document asks for, and what validating it takes, from the document alone and in a
// time that its length bounds.
package measure

import "github.com/vektah/gqlparser/v2/ast"

// Tally counts what an operation asks for. A fragment counts at each of its spreads.
type Tally struct {
	Depth      int // nesting of fields, without those of introspection
	Width      int // fields at the root
	Fields     int
	Aliases    int
	Longest    int // length of the longest alias, bytes
	Directives int
	Schemas    int // fields __schema and __type, and aliases in them
}

// maxCount is where counting stops: with fragments that spread each other twice, the count doubles with each
// fragment.
const maxCount = 1_000_000

func (t *Tally) add(other Tally) {
	t.Depth = max(t.Depth, other.Depth)
	t.Longest = max(t.Longest, other.Longest)
	t.Width = min(t.Width+other.Width, maxCount)
	t.Fields = min(t.Fields+other.Fields, maxCount)
	t.Aliases = min(t.Aliases+other.Aliases, maxCount)
	t.Directives = min(t.Directives+other.Directives, maxCount)
	t.Schemas = min(t.Schemas+other.Schemas, maxCount)
}

// Operations returns what each operation of a document asks for, in order.
func Operations(document *ast.QueryDocument) []Tally {
	m := &measure{document, map[*ast.FragmentDefinition]Tally{}, map[*ast.FragmentDefinition]bool{}}
	tallies := make([]Tally, len(document.Operations))
	for i, o := range document.Operations {
		tallies[i] = m.operation(o)
	}
	return tallies
}

// Introspects reports whether a field is about the schema.
func Introspects(field *ast.Field) bool { return field.Name == "__schema" || field.Name == "__type" }

// measure counts each fragment of a document once, so that its time is proportional to the document's length.
type measure struct {
	document *ast.QueryDocument
	known    map[*ast.FragmentDefinition]Tally
	busy     map[*ast.FragmentDefinition]bool // being counted: a spread of one is a cycle
}

// operation counts an operation, its own directives and those of its variables included.
func (m *measure) operation(o *ast.OperationDefinition) Tally {
	t := m.selections(o.SelectionSet)
	t.Directives += len(o.Directives)
	for _, variable := range o.VariableDefinitions {
		t.Directives += len(variable.Directives)
	}
	return t
}

func (m *measure) selections(set ast.SelectionSet) Tally {
	var t Tally
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			inside := m.selections(s.SelectionSet)
			if Introspects(s) {
				inside.Depth = 0 // the standard introspection query is 15 deep; gqlparser has a rule for it
				inside.Schemas = 1 + inside.Aliases
			}
			inside.Depth++
			inside.Width = 1
			inside.Fields++
			inside.Directives += len(s.Directives)
			if s.Alias != s.Name {
				inside.Aliases++
				inside.Longest = max(inside.Longest, len(s.Alias))
			}
			t.add(inside)
		case *ast.InlineFragment:
			t.add(m.selections(s.SelectionSet))
			t.Directives += len(s.Directives)
		case *ast.FragmentSpread:
			t.add(m.fragment(s.Name))
			t.Directives += len(s.Directives)
		}
	}
	return t
}

func (m *measure) fragment(name string) Tally {
	f := m.document.Fragments.ForName(name)
	if f == nil || m.busy[f] {
		return Tally{} // other rules reject these
	}
	if _, counted := m.known[f]; !counted {
		m.busy[f] = true
		t := m.selections(f.SelectionSet)
		t.Directives += len(f.Directives)
		m.known[f] = t
		delete(m.busy, f)
	}
	return m.known[f]
}
